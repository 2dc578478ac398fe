package sched_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/axtest"
	"github.com/axsched/ax/memory"
	"github.com/axsched/ax/sched"
)

// A drain with a deadline of 10 s: A ends in time, B honors the end of its context, C ignores it; 50 wait; 20 more come.
func TestC96_DrainWithDeadline(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock := axtest.NewClock()
		b := backend(clock, memory.Config{})
		mux := muxOf(map[string]ax.HandlerFunc{"work": r.handler(nil), "A": r.handler(sleep(3 * time.Second)),
			"B": r.handler(obey(time.Hour)), "C": r.handler(sleep(60 * time.Second))})
		cfg := on(b, sched.Config{Mux: mux, Clock: clock, Workers: 3, Node: "first"})
		s := axtest.Start(t, cfg)
		for _, id := range []string{"A", "B", "C"} {
			submit(t, s, ax.Submission{ID: id, Kind: id})
		}
		waiting := submitAll(t, s, many(50, "w", ax.Submission{}))
		axtest.Wait(0)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		begun := time.Now()
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() {
				time.Sleep(time.Duration(i+1) * 500 * time.Millisecond)
				if a, err := s.Submit(context.Background(), ax.Submission{Kind: "work"}); !errors.Is(err, ax.ErrClosed) || a.Code != ax.Refused {
					t.Errorf("a submission during the drain: %v %v", a.Code, err)
				}
			})
		}
		receipt, err := s.Drain(ctx)
		if took := time.Since(begun); took != 11*time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the drain took %v, error %v", took, err)
		}
		group.Wait()
		var returned []string
		for _, task := range receipt.Returned {
			returned = append(returned, task.ID)
			if task.Attempt != 0 || task.State != ax.Scheduled || task.Due != ax.At(r.base) {
				t.Errorf("returned: %v", task)
			}
		}
		if receipt.Done != 1 || !slices.Equal(sorted(returned), sorted(append(waiting, "B"))) {
			t.Errorf("%d done, %d returned: %v", receipt.Done, len(returned), returned)
		}
		if len(receipt.Running) != 1 || receipt.Running[0].ID != "C" {
			t.Errorf("running: %v", receipt.Running)
		}
		books(t, s)
		axtest.RequireState(t, s, "A", ax.Success)
		if task := axtest.Get(t, s, "B"); task.Last.Outcome != ax.OutcomeInterrupted || !task.Last.Returned {
			t.Errorf("B: %+v", task.Last)
		}
		again, err := s.Stop(context.Background())
		if err != nil || again.Done != receipt.Done || len(again.Returned) != len(receipt.Returned) {
			t.Errorf("asked again: %d done, %d returned, %v", again.Done, len(again.Returned), err)
		}
		axtest.Wait(time.Minute) // C ends, and nobody hears of it; the lease runs out

		cfg.Node, cfg.Workers = "second", 100
		next := begin(t, cfg)
		axtest.Wait(0)
		if st := next.Stats(); st.Succeeded != 50 {
			t.Errorf("%d of the 50 ran elsewhere at once", st.Succeeded)
		}
		if n := len(r.of("B")); n != 2 {
			t.Errorf("B started %d times", n)
		}
		axtest.RequireState(t, next, "B", ax.Running)
		axtest.Wait(2 * time.Hour) // C, whose fate nobody knows, runs again: the default in one process
		if starts := r.of("C"); len(starts) != 2 || starts[1].at < time.Minute {
			t.Errorf("C started %v", starts)
		}
	})
}

// What a drain hands back runs elsewhere at once, not after a lease has run out.
func TestC96_HandedBackAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock := axtest.NewClock()
		cfg := on(backend(clock, memory.Config{}), sched.Config{Mux: one(r.handler(obey(time.Hour))), Clock: clock, Workers: 2, Node: "first"})
		s := axtest.Start(t, cfg)
		ids := submitAll(t, s, many(10, "t", ax.Submission{}))
		axtest.Wait(time.Second)
		if receipt, err := s.Stop(context.Background()); err != nil || len(receipt.Returned) != 10 || len(receipt.Running) != 0 {
			t.Fatalf("%+v %v", receipt, err)
		}
		cfg.Node, cfg.Workers = "second", 10
		begin(t, cfg)
		axtest.Wait(0)
		for _, id := range ids {
			starts := r.of(id)
			if last := starts[len(starts)-1]; last.at != time.Second || last.attempt != 1 {
				t.Errorf("%s: %+v", id, starts)
			}
		}
	})
}

// Two contexts: Drain lets handlers finish, Stop ends theirs, and what they return decides.
func TestShutdownAndHandlers(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		var seen []error
		mux := muxOf(map[string]ax.HandlerFunc{
			"nil": func(ctx context.Context, _ *ax.Task) error { <-ctx.Done(); return nil },
			"err": func(ctx context.Context, _ *ax.Task) error {
				<-ctx.Done()
				seen = append(seen, context.Cause(ctx))
				return errWork
			},
			"slow": func(ctx context.Context, _ *ax.Task) error {
				<-ctx.Done()
				time.Sleep(900 * time.Millisecond)
				return ctx.Err()
			},
		})
		s := begin(t, sched.Config{Mux: mux})
		for _, kind := range []string{"nil", "err", "slow"} {
			submit(t, s, ax.Submission{ID: kind, Kind: kind, MaxRetries: ax.NoRetries})
		}
		axtest.Wait(time.Hour / 4)
		begun := time.Now()
		receipt, err := s.Stop(context.Background())
		if took := time.Since(begun); err != nil || took != 900*time.Millisecond {
			t.Errorf("took %v, %v", took, err)
		}
		if receipt.Done != 1 || len(receipt.Returned) != 2 || len(receipt.Running) != 0 {
			t.Errorf("%+v", receipt)
		}
		axtest.RequireState(t, s, "nil", ax.Success)
		if len(seen) != 1 || !errors.Is(seen[0], ax.ErrShutdown) {
			t.Errorf("causes %v", seen)
		}
		for _, call := range []func() error{
			func() error { _, err := s.Submit(t.Context(), ax.Submission{Kind: "nil"}); return err },
			func() error { _, err := s.SubmitMany(t.Context(), []ax.Submission{{Kind: "nil"}}); return err },
			func() error { _, err := s.Cancel(t.Context(), "err"); return err },
			func() error { _, err := s.RunNow(t.Context(), "err"); return err },
			func() error { _, err := s.Rerun(t.Context(), "nil"); return err },
			func() error { _, err := s.List(t.Context(), sched.ListRequest{}); return err },
			func() error { return s.Start(t.Context()) },
		} {
			if err := call(); !errors.Is(err, ax.ErrClosed) {
				t.Errorf("after the end: %v", err)
			}
		}
	})
}

// The end of ctx bounds a Stop too.
func TestStopIsBoundedByItsContext(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		s := axtest.Start(t, sched.Config{Mux: one(sleep(time.Minute))})
		submit(t, s, ax.Submission{ID: "a"})
		axtest.Wait(time.Second)
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		begun := time.Now()
		receipt, err := s.Stop(ctx)
		if took := time.Since(begun); took != 100*time.Millisecond || !errors.Is(err, context.DeadlineExceeded) || len(receipt.Running) != 1 {
			t.Errorf("took %v, %v, %+v", took, err, receipt)
		}
		books(t, s)
		axtest.Wait(time.Minute)
	})
}

// Life cycle: not started, started twice, stopped before it started, stopped by many at once.
func TestLifecycle(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		s, err := sched.New(sched.Config{Clock: axtest.NewClock()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Submit(t.Context(), ax.Submission{Kind: "k"}); !errors.Is(err, ax.ErrClosed) {
			t.Errorf("submit before start: %v", err)
		}
		if _, ok := s.Receipt(); ok {
			t.Error("a receipt before the end")
		}
		if receipt, err := s.Drain(t.Context()); err != nil || receipt.Done+len(receipt.Returned) != 0 {
			t.Errorf("drain before start: %+v %v", receipt, err)
		}
		if err := s.Start(t.Context()); !errors.Is(err, ax.ErrClosed) {
			t.Errorf("start after drain: %v", err)
		}
		s = begin(t, sched.Config{Mux: one(sleep(time.Minute))})
		if err := s.Start(t.Context()); !errors.Is(err, ax.ErrStarted) {
			t.Errorf("started twice: %v", err)
		}
		submit(t, s, ax.Submission{ID: "a"})
		axtest.Wait(0)
		var group sync.WaitGroup
		var nils atomic.Int32
		for i := range 10 {
			group.Go(func() {
				stop := s.Drain
				if i == 9 {
					time.Sleep(59500 * time.Millisecond)
					stop = s.Stop // has no more to cut than a handler that ignores it
				}
				if receipt, err := stop(context.Background()); err == nil && receipt.Done == 1 {
					nils.Add(1)
				}
			})
		}
		group.Wait()
		if nils.Load() != 10 {
			t.Errorf("%d of 10 got the receipt", nils.Load())
		}
		if took := time.Since(r.base); took != time.Minute {
			t.Errorf("took %v", took)
		}
	})
}

// Run ends with its context, within ShutdownWait, and says so by nil; or when somebody else stops it.
func TestRun(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		for name, handler := range map[string]ax.HandlerFunc{"quick": sleep(time.Second), "slow": obey(time.Hour)} {
			s, err := sched.New(sched.Config{Mux: one(handler), Clock: axtest.NewClock(), ShutdownWait: 5 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- s.Run(ctx) }()
			axtest.Wait(0)
			submit(t, s, ax.Submission{ID: "a"})
			axtest.Wait(0)
			begun := time.Now()
			cancel()
			if err := <-done; err != nil {
				t.Errorf("%s: %v", name, err)
			}
			receipt, ok := s.Receipt()
			if took := time.Since(begun); name == "quick" && took != time.Second || name == "slow" && took != 5*time.Second || !ok || receipt.Done+len(receipt.Returned) != 1 {
				t.Errorf("%s: took %v, receipt %v %+v", name, took, ok, receipt)
			}
			if err := s.Run(t.Context()); !errors.Is(err, ax.ErrClosed) {
				t.Errorf("%s: run again: %v", name, err)
			}
		}
	})
}

// The task in the dispatcher's hand: at whatever moment the end comes, while 10 goroutines submit, every task that was
// created is done or in the receipt, and no submission is answered wrongly. Real concurrency.
func TestC98_NothingFallsThrough(t *testing.T) {
	rounds := 1000
	if testing.Short() {
		rounds = 50
	}
	for name, opts := range map[string]struct {
		cut, many, soon bool
	}{"drain": {}, "stop": {cut: true}, "drain, many": {many: true}, "stop, tasks that run": {cut: true, soon: true}, "drain, tasks that run": {soon: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for round := range rounds / 5 {
				nothingFallsThrough(t, round, opts.cut, opts.many, opts.soon)
			}
		})
	}
}

func nothingFallsThrough(t *testing.T, round int, cut, batches, soon bool) {
	t.Helper()
	ctx := context.Background()
	var ran atomic.Int64
	s, err := sched.New(sched.Config{Workers: 2, Mux: one(func(ctx context.Context, _ *ax.Task) error { ran.Add(1); return ctx.Err() })})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(ctx); err != nil {
		t.Fatal(err)
	}
	const submitters, each = 10, 10
	var mu sync.Mutex
	made := map[string]bool{}
	var refused int
	var group, started sync.WaitGroup
	begun := make(chan struct{})
	started.Add(submitters)
	note := func(id string, a ax.Answer, err error) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil && a.Code == ax.Made:
			made[id] = true
		case errors.Is(err, ax.ErrClosed):
			refused++
		default:
			t.Errorf("round %d: %s: %v %v", round, id, a.Code, err)
		}
	}
	for g := range submitters {
		group.Go(func() {
			sub := func(i int) ax.Submission {
				sub := ax.Submission{ID: fmt.Sprint("t-", g, "-", i), Kind: "work", In: time.Hour}
				if soon {
					sub.In = 0
				}
				return sub
			}
			started.Done()
			<-begun
			if batches {
				var subs []ax.Submission
				for i := range each {
					subs = append(subs, sub(i))
				}
				answers, err := s.SubmitMany(ctx, subs)
				for i := range each {
					if err != nil {
						note(subs[i].ID, ax.Answer{}, err)
					} else {
						note(subs[i].ID, answers[i], answers[i].Err)
					}
				}
				return
			}
			for i := range each {
				a, err := s.Submit(ctx, sub(i))
				note(a.ID, a, err)
			}
		})
	}
	started.Wait()
	close(begun)
	for range rand.IntN(200) { // at a random moment
		s.Receipt()
	}
	stop := s.Drain
	if cut {
		stop = s.Stop
	}
	receipt, err := stop(ctx)
	if err != nil {
		t.Fatalf("round %d: %v", round, err)
	}
	group.Wait()
	if len(made)+refused != submitters*each || receipt.Done+len(receipt.Returned)+len(receipt.Running) != len(made) {
		t.Fatalf("round %d: %d created, %d refused; %d done, %d returned, %d running", round, len(made), refused, receipt.Done, len(receipt.Returned), len(receipt.Running))
	}
	seen := map[string]bool{}
	for _, task := range append(receipt.Returned, receipt.Running...) {
		if !made[task.ID] || seen[task.ID] || task.Due == 0 || !soon && task.Due.Sub(task.Created) < 59*time.Minute {
			t.Fatalf("round %d: returned %v, created %v, twice %v", round, task, made[task.ID], seen[task.ID])
		}
		seen[task.ID] = true
	}
	for id := range made {
		task, err := s.Get(ctx, id)
		if err != nil || task.State.Terminal() == seen[id] {
			t.Fatalf("round %d: %s: %v %v, in the receipt: %v", round, id, task, err, seen[id])
		}
	}
	if !soon && ran.Load() != 0 {
		t.Fatalf("round %d: %d ran that are not due", round, ran.Load())
	}
	if st := s.Stats(); st.Submitted != len(made) || st.Anomalies != 0 {
		t.Fatalf("round %d: stats say submitted %d, anomalies %d; %d were created", round, st.Submitted, st.Anomalies, len(made))
	}
}
