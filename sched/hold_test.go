package sched_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/axtest"
	"github.com/axsched/ax/memory"
	"github.com/axsched/ax/sched"
)

// heldTask leaves a task whose attempt was in the hands of a process that died, and a scheduler that has taken over.
func heldTask(t *testing.T, r *recorder, sub ax.Submission, cfg sched.Config) (s *sched.Scheduler, b *memory.Backend) {
	t.Helper()
	clock := axtest.NewClock()
	b = backend(clock, memory.Config{})
	stuck := make(chan struct{})
	dying := axtest.Start(t, on(b, sched.Config{Clock: clock, Node: "dying",
		Mux: one(r.handler(func(context.Context, *ax.Task) error { <-stuck; return nil }))}))
	sub.ID = "a"
	submit(t, dying, sub)
	axtest.Wait(0)
	kill(t, dying, stuck)
	cfg.Clock, cfg.Node = clock, "next"
	s = begin(t, on(b, cfg))
	axtest.Wait(0)
	return s, b
}

// An attempt whose process died without a word is HELD where the task says so, until a person decides. Real work never
// starts again by itself.
func TestHeldAndResolved(t *testing.T) {
	for _, c := range []struct {
		name    string
		resolve ax.Resolution
		retries int
		state   ax.State // at once
		end     ax.State
		starts  int // by the new process
	}{
		{"success", ax.ResolveSuccess, 3, ax.Success, ax.Success, 0},
		{"fail", ax.ResolveFail, 3, ax.Failed, ax.Failed, 0},
		{"retry", ax.ResolveRetry, 3, ax.Scheduled, ax.Success, 1},
		{"retry, none left", ax.ResolveRetry, ax.NoRetries, ax.Failed, ax.Failed, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *recorder) {
				var events eventLog
				s, _ := heldTask(t, r, ax.Submission{HoldLost: true, MaxRetries: c.retries}, sched.Config{Mux: one(r.handler(nil)), OnEvent: events.add})
				ctx := t.Context()
				axtest.Wait(48 * time.Hour)
				task := axtest.RequireState(t, s, "a", ax.Held)
				if task.Last.Outcome != ax.OutcomeLost || s.Stats().Held != 1 || s.Stats().Pending != 1 || len(events.all()) != 1 {
					t.Errorf("outcome %v, %d held, %d events", task.Last.Outcome, s.Stats().Held, len(events.all()))
				}
				if x, err := s.Explain(ctx, "a"); err != nil || x.Why != sched.WhyHeld {
					t.Errorf("it waits for %v, %v", x.Why, err)
				}
				_, err := s.RunNow(ctx, "a")
				if !errors.Is(err, ax.ErrRunning) {
					t.Errorf("run now: %v", err)
				}
				_, err = s.RescheduleIn(ctx, "a", 0)
				if !errors.Is(err, ax.ErrRunning) {
					t.Errorf("reschedule: %v", err)
				}
				a, err := s.Resolve(ctx, "a", c.resolve)
				want(t, "resolve", a, err, ax.Done, c.state, nil)
				axtest.Wait(time.Hour)
				axtest.RequireState(t, s, "a", c.end)
				if n := len(r.of("a")) - 1; n != c.starts {
					t.Errorf("%d further starts, want %d", n, c.starts)
				}
				_, err = s.Resolve(ctx, "a", c.resolve)
				if !errors.Is(err, ax.ErrFinished) && !errors.Is(err, ax.ErrNoTask) {
					t.Errorf("resolved again: %v", err)
				}
				facts, err := s.Facts(ctx, "a")
				kinds := []ax.FactKind{}
				for _, f := range facts {
					kinds = append(kinds, f.What)
				}
				if !slices.Equal(kinds, []ax.FactKind{ax.FactLost, ax.FactResolve}) {
					t.Errorf("facts %v, %v", kinds, err)
				}
				if s.Stats().Held != 0 {
					t.Error("still counted as held")
				}
			})
		})
	}
}

// Without HoldLost it is retried by its policy, and ends when no attempt is left.
func TestLostIsRetried(t *testing.T) {
	for name, retries := range map[string]int{"retries left": 3, "none left": ax.NoRetries} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *recorder) {
				s, _ := heldTask(t, r, ax.Submission{MaxRetries: retries, Backoff: ax.Backoff{Jitter: -1}}, sched.Config{Mux: one(r.handler(nil))})
				axtest.Wait(time.Hour)
				task := axtest.Get(t, s, "a")
				if first := task.Attempts()[0]; first.Outcome != ax.OutcomeLost || first.Error == "" {
					t.Errorf("the first attempt: %+v", first)
				}
				if retries > 0 && (task.State != ax.Success || len(r.of("a")) != 2) || retries < 0 && (task.State != ax.Failed || len(r.of("a")) != 1) {
					t.Errorf("%v after %d starts", task, len(r.of("a")))
				}
			})
		})
	}
}

// A late report of the lost attempt settles a HELD task while its token is current; after a decision it is only noted.
func TestLateReport(t *testing.T) {
	for name, decided := range map[string]bool{"before a decision": false, "after it": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *recorder) {
				s, b := heldTask(t, r, ax.Submission{HoldLost: true}, sched.Config{Mux: one(r.handler(nil))})
				task := axtest.RequireState(t, s, "a", ax.Held)
				if decided {
					if _, err := s.Resolve(t.Context(), "a", ax.ResolveFail); err != nil {
						t.Fatal(err)
					}
				}
				put(t, b, ax.Entry{ID: "late", Verb: ax.VerbReport, Version: 1, Added: task.Last.Claimed, Target: "a", Report: &ax.Report{
					ID: "a", Token: task.Last.Token, Executor: task.Last.Executor, Outcome: ax.OutcomeSuccess,
					Started: task.Last.Claimed, Ended: task.Last.Claimed.Add(time.Second), Result: []byte("late")}})
				axtest.Wait(time.Minute)
				task = axtest.Get(t, s, "a")
				st := s.Stats()
				if decided && (task.State != ax.Failed || st.Stale != 1) || !decided && (task.State != ax.Success || string(task.Result()) != "late" || st.Stale != 0) {
					t.Errorf("%v, result %q, %d stale", task, task.Result(), st.Stale)
				}
			})
		})
	}
}

// A HELD task can be canceled: that is a decision too.
func TestCancelHeld(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		s, _ := heldTask(t, r, ax.Submission{HoldLost: true}, sched.Config{Mux: one(r.handler(nil))})
		a, err := s.Cancel(t.Context(), "a")
		want(t, "cancel", a, err, ax.Done, ax.Canceled, nil)
		axtest.Wait(0)
		axtest.RequireState(t, s, "a", ax.Canceled)
	})
}

// What ran when the process died and had been asked to stop is CANCELED, not tried again.
func TestLostAfterCancel(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock := axtest.NewClock()
		b := backend(clock, memory.Config{})
		stuck := make(chan struct{})
		dying := axtest.Start(t, on(b, sched.Config{Clock: clock, Node: "dying", Mux: one(r.handler(func(context.Context, *ax.Task) error { <-stuck; return nil }))}))
		submit(t, dying, ax.Submission{ID: "a"})
		axtest.Wait(0)
		dying.Cancel(t.Context(), "a")
		kill(t, dying, stuck)
		s := begin(t, on(b, sched.Config{Clock: clock, Node: "next", Mux: one(r.handler(nil))}))
		axtest.Wait(time.Hour)
		axtest.RequireState(t, s, "a", ax.Canceled)
		if len(r.all()) != 1 {
			t.Errorf("%d starts", len(r.all()))
		}
	})
}

// A second process that wants the same store is refused while the first one lives, and after the first has died until its
// lease has run out.
func TestTwoProcessesOneStore(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock := axtest.NewClock()
		b := backend(clock, memory.Config{})
		first := begin(t, on(b, sched.Config{Mux: one(r.handler(nil)), Clock: clock, Node: "first"}))
		for range 3 {
			axtest.Wait(time.Minute)
			second, err := sched.New(on(b, sched.Config{Clock: clock, Node: "second"}))
			if err != nil {
				t.Fatal(err)
			}
			if err := second.Start(t.Context()); !errors.Is(err, ax.ErrHeld) {
				t.Fatalf("a second owner: %v", err)
			}
			if _, err := second.Submit(t.Context(), ax.Submission{Kind: "work"}); !errors.Is(err, ax.ErrClosed) {
				t.Errorf("submit to one that did not start: %v", err)
			}
			if _, err := second.Drain(t.Context()); err != nil {
				t.Error(err)
			}
		}
		submit(t, first, ax.Submission{ID: "a"})
		first.Drain(t.Context())
		begin(t, on(b, sched.Config{Clock: clock, Node: "second"}))
	})
}
