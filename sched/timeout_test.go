package sched_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/axtest"
	"github.com/axsched/ax/memory"
	"github.com/axsched/ax/sched"
)

// A success in time is a success, however long the store takes to write it, and however long it took to write the claim.
func TestC87_SuccessJustInTime(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock := axtest.NewClock()
		mux := one(r.handler(sleep(4990 * time.Millisecond)))
		s := begin(t, with(backend(clock, memory.Config{}), sched.Config{Mux: mux, Clock: clock}, slow(200*time.Millisecond)))
		submit(t, s, ax.Submission{ID: "a", Timeout: 5 * time.Second})
		axtest.Wait(10 * time.Second)
		task := axtest.RequireState(t, s, "a", ax.Success)
		if len(task.Attempts()) != 1 || task.Last.Outcome != ax.OutcomeSuccess {
			t.Errorf("%d attempts, the last %v", len(task.Attempts()), task.Last.Outcome)
		}
		if len(r.all()) != 1 {
			t.Errorf("started %v", r.all())
		}
	})
}

// The store is away for 10 s when the attempt ends: before it is written, or after without a word. It is written once.
func TestC87_StoreAwayAtCompletion(t *testing.T) {
	for name, applied := range map[string]bool{"not written": false, "written and not answered": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *recorder) {
				clock := axtest.NewClock()
				var down atomic.Bool
				cfg := with(backend(clock, memory.Config{}), sched.Config{Clock: clock, Mux: one(r.handler(func(context.Context, *ax.Task) error {
					time.Sleep(4990 * time.Millisecond)
					down.Store(true)
					return nil
				}))}, func(b []*ax.Batch, do func() []error) []error {
					if down.Load() {
						if applied {
							do()
						}
						return unknown(b)
					}
					return do()
				})
				s := begin(t, cfg)
				submit(t, s, ax.Submission{ID: "a", Timeout: 5 * time.Second})
				axtest.Wait(15 * time.Second)
				down.Store(false)
				axtest.Wait(2 * time.Second)
				task := axtest.RequireState(t, s, "a", ax.Success)
				if len(task.Attempts()) != 1 || task.Last.Ended.Sub(task.Last.Started) != 4990*time.Millisecond {
					t.Errorf("attempts %+v", task.Attempts())
				}
				if len(r.all()) != 1 {
					t.Errorf("started %v", r.all())
				}
			})
		})
	}
}

// A cancel in the instant in which the handler returns does not undo what it did.
func TestC87_CancelRightAfterSuccess(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		s := begin(t, sched.Config{Mux: one(r.handler(sleep(time.Millisecond)))})
		for i := range 200 {
			id := fmt.Sprint("t-", i)
			submit(t, s, ax.Submission{ID: id})
			time.Sleep(time.Millisecond)
			a, err := s.Cancel(t.Context(), id)
			if err != nil && !errors.Is(err, ax.ErrFinished) || err == nil && a.State != ax.Running {
				t.Fatalf("%v %v %v", a.Code, a.State, err)
			}
			axtest.Wait(0)
			axtest.RequireState(t, s, id, ax.Success)
		}
	})
}

// Handlers that ignore their context: they are shown as overrun from the deadline on, keep their worker until they return,
// and are TIMEOUT then, though they return nil. No second copy runs beside the first. Normal tasks get through.
func TestC89_HandlerIgnoresItsContext(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		var events eventLog
		mux := muxOf(map[string]ax.HandlerFunc{"stuck": r.handler(sleep(20 * time.Second)), "work": r.handler(nil)})
		s := begin(t, sched.Config{Mux: mux, Workers: 4, OnEvent: events.add})
		stuck := submitAll(t, s, many(10, "stuck", ax.Submission{Kind: "stuck", Timeout: 2 * time.Second, MaxRetries: 2}))
		submitAll(t, s, many(100, "normal", ax.Submission{}))
		axtest.Wait(2*time.Second - 1)
		if st := s.Stats(); st.Running != 4 || st.Overrun != 0 {
			t.Errorf("just before the deadline: %d run, %d overrun", st.Running, st.Overrun)
		}
		axtest.Wait(1)
		if st := s.Stats(); st.Running != 4 || st.Overrun != 4 {
			t.Errorf("at the deadline: %d run, %d overrun", st.Running, st.Overrun)
		}
		axtest.Wait(0) // the figures may come before what they count is written
		for _, id := range stuck[:4] {
			if task := axtest.RequireState(t, s, id, ax.Running); task.Marks&ax.TimedOut == 0 {
				t.Errorf("%s is not shown as timed out", id)
			}
		}
		axtest.Wait(18 * time.Second)
		for _, id := range stuck[:4] {
			if task := axtest.RequireState(t, s, id, ax.Timeout); task.Marks != 0 || task.Last.Outcome != ax.OutcomeTimeout {
				t.Errorf("%s: marks %v, outcome %v", id, task.Marks, task.Last.Outcome)
			}
		}
		axtest.Wait(40*time.Second - 1) // 10 in groups of 4, 4 and 2
		if st := s.Stats(); st.TimedOut != 8 || st.Succeeded != 100 || st.Running != 2 || r.most != 4 {
			t.Errorf("%d timed out, %d succeeded, %d run, at most %d at once", st.TimedOut, st.Succeeded, st.Running, r.most)
		}
		axtest.Wait(1)
		if st := s.Stats(); st.TimedOut != 10 || st.Pending != 0 || st.Overrun != 0 {
			t.Errorf("%d timed out, %d pending, %d overrun", st.TimedOut, st.Pending, st.Overrun)
		}
		for _, id := range stuck {
			if n := len(r.of(id)); n != 1 {
				t.Errorf("%s started %d times", id, n)
			}
		}
		overran := 0
		for _, e := range events.all() {
			if e.Overrun {
				overran++
			}
		}
		if overran != 10 {
			t.Errorf("%d events told an overrun, want 10", overran)
		}
	})
}

// With RetryOnTimeout the next attempt waits until the handler of the last has returned.
func TestC89_RetryOnTimeoutWaitsForTheHandler(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		s := begin(t, sched.Config{Mux: one(r.handler(sleep(20 * time.Second))), Workers: 4})
		submit(t, s, ax.Submission{ID: "a", Timeout: 2 * time.Second, MaxRetries: 2, RetryOnTimeout: true,
			Backoff: ax.Backoff{Base: time.Second, Jitter: -1}})
		axtest.Wait(2 * time.Minute)
		r.at(t, "a", 0, 21*time.Second, 43*time.Second)
		if task := axtest.RequireState(t, s, "a", ax.Timeout); len(task.Attempts()) != 3 || r.most != 1 {
			t.Errorf("%d attempts, %d at once", len(task.Attempts()), r.most)
		}
	})
}

// What a handler finds in its context at the deadline.
func TestTimeoutContext(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		var deadline time.Time
		var err, cause error
		s := begin(t, sched.Config{Mux: one(func(ctx context.Context, _ *ax.Task) error {
			deadline, _ = ctx.Deadline()
			<-ctx.Done()
			err, cause = ctx.Err(), context.Cause(ctx)
			return cause
		})})
		submit(t, s, ax.Submission{ID: "a", Timeout: 1500 * time.Microsecond, MaxRetries: 5}) // rounded up to 2 ms
		axtest.Wait(time.Second)
		task := axtest.RequireState(t, s, "a", ax.Timeout)
		if took := task.Last.Ended.Sub(task.Last.Started); took != 2*time.Millisecond || len(task.Attempts()) != 1 {
			t.Errorf("ran for %v, %d attempts", took, len(task.Attempts()))
		}
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(cause, ax.ErrTimeout) || !deadline.Equal(r.base.Add(2*time.Millisecond)) {
			t.Errorf("err %v, cause %v, deadline %v", err, cause, deadline)
		}
	})
}

// A handler that returns on the deadline to the microsecond is late; just before it is in time.
func TestTimeoutIsExact(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		mux := muxOf(map[string]ax.HandlerFunc{"in-time": sleep(time.Second - time.Microsecond), "late": sleep(time.Second)})
		s := begin(t, sched.Config{Mux: mux})
		for _, kind := range []string{"in-time", "late"} {
			submit(t, s, ax.Submission{ID: kind, Kind: kind, Timeout: time.Second})
		}
		axtest.Wait(2 * time.Second)
		axtest.RequireState(t, s, "in-time", ax.Success)
		axtest.RequireState(t, s, "late", ax.Timeout)
	})
}
