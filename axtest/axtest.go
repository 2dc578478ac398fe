package axtest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/sched"
)

// Start makes a scheduler, starts it, and stops it when the test ends. A nil Clock in cfg becomes a NewClock.
func Start(t testing.TB, cfg sched.Config) *sched.Scheduler {
	t.Helper()
	if cfg.Clock == nil {
		cfg.Clock = NewClock()
	}
	s, err := sched.New(cfg)
	if err != nil {
		t.Fatalf("axtest: new scheduler: %v", err)
	}
	t.Cleanup(func() { s.Stop(context.Background()) })
	if err := s.Start(context.Background()); err != nil {
		t.Fatalf("axtest: start scheduler: %v", err)
	}
	return s
}

// Submit asks for a task, which must be created, and returns it as it was then.
func Submit(t testing.TB, s *sched.Scheduler, sub ax.Submission) *ax.Task {
	t.Helper()
	answer, err := s.Submit(context.Background(), sub)
	if err != nil || answer.Code != ax.Made {
		t.Fatalf("axtest: submit %s %s: %v, error %v; want created", sub.Kind, sub.ID, answer.Code, err)
	}
	task, err := s.Get(context.Background(), answer.ID)
	if err != nil {
		t.Fatalf("axtest: submit %s: get %s: %v", sub.Kind, answer.ID, err)
	}
	return task
}

// Wait lets d pass and then waits until every other goroutine of the bubble waits for something. Inside of a synctest
// bubble only. Wait(0) only lets things settle.
func Wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// Get returns a task, which must be live or in the archive.
func Get(t testing.TB, s *sched.Scheduler, id string) *ax.Task {
	t.Helper()
	task, err := s.Get(context.Background(), id)
	if err != nil {
		t.Fatalf("axtest: get %s: %v", id, err)
	}
	return task
}

// RequireState fails the test unless the task is in that state, and returns it.
func RequireState(t testing.TB, s *sched.Scheduler, id string, state ax.State) *ax.Task {
	t.Helper()
	task := Get(t, s, id)
	if task.State != state {
		t.Fatalf("axtest: task %v (error %q): want %v", task, task.LastError(), state)
	}
	return task
}

// RequireSubmitted fails the test unless n tasks of a kind were submitted so far, live and finished ones together, and
// returns them: the live ones by id, then the finished ones, newest first. A task that was run again counts once. One
// that ends in this very moment may be missed: call Wait(0) before, if handlers may be at work.
func RequireSubmitted(t testing.TB, s *sched.Scheduler, kind string, n int) []*ax.Task {
	t.Helper()
	all, err := live(s, kind)
	if err != nil {
		t.Fatalf("axtest: list %s: %v", kind, err)
	}
	seen := map[string]bool{}
	for _, task := range all {
		seen[task.ID] = true
	}
	for q := (ax.Query{Kind: kind, Limit: 1000}); ; {
		page, err := s.History(context.Background(), q)
		if err != nil {
			t.Fatalf("axtest: history of %s: %v", kind, err)
		}
		for _, task := range page.Tasks {
			if !seen[task.ID] {
				seen[task.ID] = true
				all = append(all, task)
			}
		}
		if q.Page = page.Next; q.Page == "" {
			break
		}
	}
	if len(all) != n {
		t.Fatalf("axtest: %d tasks of kind %q were submitted, want %d; the first are %v", len(all), kind, n, all[:min(len(all), 10)])
	}
	return all
}

// live returns the tasks of a kind that have not ended, or that the shutdown returned.
func live(s *sched.Scheduler, kind string) (all []*ax.Task, err error) {
	for req := (sched.ListRequest{Kind: kind, Limit: 1000}); ; {
		page, err := s.List(context.Background(), req)
		if receipt, over := s.Receipt(); over && errors.Is(err, ax.ErrClosed) {
			for _, task := range append(receipt.Returned, receipt.Running...) {
				if task.Kind == kind {
					all = append(all, task)
				}
			}
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < req.Limit {
			return all, nil
		}
		req.After = page[len(page)-1].ID
	}
}

// Work runs one attempt of a task through its handler, in a scheduler of its own, and returns what became of the task:
// ended, or SCHEDULED again if it is to be retried. Task.Last is the attempt, Task.Result its result. It runs at once,
// whatever the submission says about when.
func Work(t testing.TB, mux *ax.Mux, sub ax.Submission) *ax.Task {
	t.Helper()
	sub.In, sub.At = 0, time.Time{}
	handlers, err := mux.Handlers()
	if err != nil {
		t.Fatalf("axtest: mux: %v", err)
	}
	handler := handlers[sub.Kind]
	if handler == nil {
		t.Fatalf("axtest: no handler for kind %q", sub.Kind)
	}
	began := make(chan struct{})
	one := ax.NewMux()
	one.Handle(sub.Kind, ax.HandlerFunc(func(ctx context.Context, task *ax.Task) error {
		close(began)
		return handler.Handle(ctx, task)
	}))
	s := Start(t, sched.Config{Mux: one, Workers: 1, Limits: sched.Limits{EachKey: onlyOne}})
	id := Submit(t, s, sub).ID
	<-began
	s.Drain(context.Background())
	return Get(t, s, id)
}

// onlyOne lets one attempt of a key start, and the next one in 30 years.
var onlyOne = sched.Limit{PerSecond: 1e-9}
