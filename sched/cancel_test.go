package sched_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/axtest"
	"github.com/axsched/ax/memory"
	"github.com/axsched/ax/sched"
)

// Cancel at every stage of a task's life.
func TestC90_CancelAtEveryStage(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		mux := muxOf(map[string]ax.HandlerFunc{
			"work": r.handler(nil), "block": r.handler(sleep(time.Minute)), "obey": r.handler(obey(time.Hour)),
			"ignore":     r.handler(sleep(10 * time.Second)),
			"ignore-err": r.handler(func(context.Context, *ax.Task) error { time.Sleep(10 * time.Second); return errWork }),
			"fail":       r.handler(func(context.Context, *ax.Task) error { return errWork }),
		})
		s := begin(t, sched.Config{Mux: mux, Workers: 4, Limits: sched.Limits{Kinds: map[string]sched.Limit{"work": {Concurrent: 1}}}})
		ctx := t.Context()
		cancel := func(stage, id string, state ax.State, is error) {
			t.Helper()
			code := ax.Done
			if is != nil {
				code = ax.Refused
			}
			for _, again := range []string{"", ", again"} { // repeated: the same answer
				a, err := s.Cancel(ctx, id)
				want(t, stage+again, a, err, code, state, is)
				var e *ax.Error
				if is != nil && (!errors.As(err, &e) || e.State != state || e.ID != id) {
					t.Errorf("%s%s: %+v", stage, again, e)
				}
			}
		}
		submit(t, s, ax.Submission{ID: "delayed", In: time.Hour})
		cancel("delayed", "delayed", ax.Canceled, nil)

		submit(t, s, ax.Submission{ID: "obey", Kind: "obey"})
		submit(t, s, ax.Submission{ID: "ignore", Kind: "ignore"})
		submit(t, s, ax.Submission{ID: "ignore-err", Kind: "ignore-err"})
		submit(t, s, ax.Submission{ID: "block", Kind: "block"})
		axtest.Wait(0)
		submit(t, s, ax.Submission{ID: "queued"})
		axtest.RequireState(t, s, "queued", ax.Scheduled)
		cancel("queued", "queued", ax.Canceled, nil)

		axtest.Wait(time.Second)
		cancel("running, ignoring", "ignore", ax.Running, nil)
		cancel("running, ignoring, error", "ignore-err", ax.Running, nil)
		axtest.Wait(time.Second)
		if task := axtest.RequireState(t, s, "ignore", ax.Running); task.Marks&ax.CancelAsked == 0 {
			t.Error("the request is not shown")
		}
		a, err := s.Cancel(ctx, "obey")
		want(t, "running, co-operative", a, err, ax.Done, ax.Running, nil)
		axtest.Wait(0)
		if task := axtest.RequireState(t, s, "obey", ax.Canceled); task.Last.Outcome != ax.OutcomeCanceled || task.LastError() != ax.ErrCanceled.Error() || task.At != ax.At(r.base.Add(2*time.Second)) {
			t.Errorf("%v: outcome %v, error %q", task, task.Last.Outcome, task.LastError())
		}
		cancel("canceled while running", "obey", ax.Canceled, nil)
		axtest.Wait(8 * time.Second)
		axtest.RequireState(t, s, "ignore", ax.Success) // it returned nil: the work is done
		if task := axtest.RequireState(t, s, "ignore-err", ax.Canceled); task.Last.Outcome != ax.OutcomeCanceled || len(task.Attempts()) != 1 {
			t.Errorf("outcome %v, %d attempts", task.Last.Outcome, len(task.Attempts()))
		}
		cancel("succeeded", "ignore", ax.Success, ax.ErrFinished)

		submit(t, s, ax.Submission{ID: "retry", Kind: "fail"})
		axtest.Wait(500 * time.Millisecond)
		axtest.RequireState(t, s, "retry", ax.Scheduled)
		cancel("waiting for its retry", "retry", ax.Canceled, nil)

		submit(t, s, ax.Submission{ID: "failed", Kind: "fail", MaxRetries: ax.NoRetries})
		axtest.Wait(0)
		cancel("failed", "failed", ax.Failed, ax.ErrFinished)
		cancel("unknown", "nobody", 0, ax.ErrNoTask)

		axtest.Wait(2 * time.Hour)
		for id, starts := range map[string]int{"delayed": 0, "queued": 0, "retry": 1, "obey": 1, "ignore": 1, "ignore-err": 1, "failed": 1} {
			if n := len(r.of(id)); n != starts {
				t.Errorf("%s started %d times, want %d", id, n, starts)
			}
		}
		cancel("succeeded long ago", "ignore", 0, ax.ErrNoTask) // its id was forgotten after an hour
		if facts, err := s.Facts(ctx, "queued"); err != nil || len(facts) != 1 || facts[0].What != ax.FactCancel {
			t.Errorf("facts %v, %v", facts, err)
		}
	})
}

// A cancel while the claim is being written reaches the attempt: its handler is not begun, or hears of it at once.
func TestC90_BetweenClaimAndStart(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock := axtest.NewClock()
		s := begin(t, with(backend(clock, memory.Config{}), sched.Config{Mux: one(r.handler(obey(time.Hour))), Clock: clock}, slow(200*time.Millisecond)))
		submit(t, s, ax.Submission{ID: "a", In: time.Second})
		axtest.Wait(time.Second - time.Since(r.base) + 100*time.Millisecond) // the claim is halfway
		a, err := s.Cancel(t.Context(), "a")
		want(t, "between claim and start", a, err, ax.Done, ax.Running, nil)
		axtest.Wait(10 * time.Second)
		task := axtest.RequireState(t, s, "a", ax.Canceled)
		if task.Last.Ended > ax.At(r.base.Add(1300*time.Millisecond)) {
			t.Errorf("the attempt ended at %v", task.Last.Ended)
		}
	})
}

// 1000 races of a cancel against the start and against the completion: one terminal state, and it is what the handler did.
func TestC90_Races(t *testing.T) {
	for name, ends := range map[string]bool{"start": false, "completion": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *recorder) {
				did := map[string]error{} // of a task, by its own handler; read after Wait
				events := map[string]int{}
				s := begin(t, sched.Config{OnEvent: func(e sched.Event) { events[e.Task.ID]++ },
					Mux: one(r.handler(func(ctx context.Context, t *ax.Task) error {
						err := obey(time.Millisecond)(ctx, t)
						did[t.ID] = err
						return err
					}))})
				const ms = time.Millisecond
				tally := map[string]int{}
				for i := range 1000 {
					id := fmt.Sprint("t-", i)
					submit(t, s, ax.Submission{ID: id, In: ms, MaxRetries: 2})
					time.Sleep(ms)
					if ends {
						time.Sleep(ms)
					}
					a, err := s.Cancel(t.Context(), id)
					axtest.Wait(5 * time.Second)
					task, begun := axtest.Get(t, s, id), len(r.of(id))
					outcome, ran := did[id]
					tally[task.State.String()]++
					switch {
					case begun > 1, ran != (begun == 1), events[id] != 1:
						t.Fatalf("%s: %d starts, handler returned: %v, %d events", id, begun, ran, events[id])
					case ran && (outcome == nil) != (task.State == ax.Success), !ran && task.State != ax.Canceled:
						t.Fatalf("%s: the handler ran: %v, returned %v, the state is %v", id, ran, outcome, task.State)
					case err != nil && (!errors.Is(err, ax.ErrFinished) || task.State != ax.Success):
						t.Fatalf("%s: cancel says %v, the state is %v", id, err, task.State)
					case err == nil && a.State == ax.Canceled && task.State != ax.Canceled:
						t.Fatalf("%s: cancel says canceled, the state is %v", id, task.State)
					}
				}
				t.Log(tally)
			})
		})
	}
}
