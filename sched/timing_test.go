package sched_test

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/axtest"
	"github.com/axsched/ax/memory"
	"github.com/axsched/ax/sched"
)

// Huge, zero and negative delays: never early, never wrapped round; what lies far ahead is listed with its exact time.
func TestC36_HugeZeroAndNegativeDelays(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		s := begin(t, sched.Config{Mux: one(r.handler(nil))})
		now := time.Now()
		year := func(y int) time.Time { return time.Date(y, 12, 31, 23, 59, 59, 999_999_999, time.UTC) }
		far := []ax.Submission{
			{ID: "max", In: math.MaxInt64},
			{ID: "max-1us", In: math.MaxInt64 - 1000},
			{ID: "9999", At: year(9999).Truncate(time.Microsecond)},
			{ID: "2400", At: year(2400).Truncate(time.Microsecond)},
			{ID: "2^31-1", In: math.MaxInt32 * time.Millisecond},
			{ID: "2^31", In: (math.MaxInt32 + 1) * time.Millisecond},
		}
		far[4].ID, far[5].ID = "timer31", "timer32"
		due := func(sub ax.Submission) ax.Time {
			if sub.At.IsZero() {
				return ax.At(now).Add(sub.In)
			}
			return ax.At(sub.At)
		}
		for _, sub := range far {
			submit(t, s, sub)
		}
		for _, sub := range []ax.Submission{{ID: "zero"}, {ID: "minus", In: -time.Millisecond}, {ID: "least", In: math.MinInt64},
			{ID: "1970", At: time.Unix(0, 0)}, {ID: "zone", At: time.Time{}}, {ID: "before1970", At: time.Unix(-1, 0)}} {
			submit(t, s, sub)
		}
		axtest.Wait(3 * time.Second)
		for _, sub := range far {
			if task := axtest.RequireState(t, s, sub.ID, ax.Scheduled); task.Due != due(sub) || task.At != due(sub) {
				t.Errorf("%s is due %v, at %v, want %v", sub.ID, task.Due, task.At, due(sub))
			}
		}
		for _, id := range []string{"zero", "minus", "least", "1970", "zone", "before1970"} {
			r.at(t, id, 0)
			axtest.RequireState(t, s, id, ax.Success)
		}
		if page, err := s.List(t.Context(), sched.ListRequest{}); err != nil || len(page) != len(far) {
			t.Errorf("%d are listed, want %d: %v", len(page), len(far), err)
		}
		axtest.Wait(math.MaxInt32*time.Millisecond + time.Hour)
		r.at(t, "timer31", math.MaxInt32*time.Millisecond)
		r.at(t, "timer32", (math.MaxInt32+1)*time.Millisecond)
		if n := len(r.all()); n != 8 {
			t.Errorf("%d tasks ran, want 8", n)
		}
		if st := s.Stats(); st.Scheduled != 4 {
			t.Errorf("%d wait, want 4", st.Scheduled)
		}
	})
}

// A reschedule takes the same delays.
func TestC36_HugeReschedules(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		s := begin(t, sched.Config{Mux: one(r.handler(nil))})
		submit(t, s, ax.Submission{ID: "a", In: time.Minute})
		submit(t, s, ax.Submission{ID: "b", In: time.Minute})
		now := ax.At(time.Now())
		if _, err := s.RescheduleIn(t.Context(), "a", math.MaxInt64); err != nil {
			t.Fatal(err)
		}
		if _, err := s.RescheduleIn(t.Context(), "b", -time.Hour); err != nil {
			t.Fatal(err)
		}
		axtest.Wait(time.Hour)
		if task := axtest.RequireState(t, s, "a", ax.Scheduled); task.Due != now.Add(math.MaxInt64) {
			t.Errorf("due %v", task.Due)
		}
		r.at(t, "b", 0)
	})
}

// counting is a clock that can count how often it is read.
type counting struct {
	*axtest.Clock
	reads atomic.Int64
}

func (c *counting) Mono() int64 { c.reads.Add(1); return c.Clock.Mono() }

// The driver stands still for 5 s while 1000 timers become due, and then in uneven steps; each handler adds one more task
// that is due now. All 2000 run once, in order, and how late they were is recorded.
func TestC37_StalledDriverCatchesUp(t *testing.T) {
	for name, stalls := range map[string][]time.Duration{"at once": {5 * time.Second}, "1.8 ticks": uneven(5*time.Second, 1800*time.Microsecond)} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *recorder) {
				clock := axtest.NewClock()
				var s *sched.Scheduler
				mux := one(r.handler(func(ctx context.Context, task *ax.Task) error {
					if task.Key() == "extra" {
						return nil
					}
					_, err := s.Submit(ctx, ax.Submission{Key: "extra", ID: task.ID, Kind: "work"})
					return err
				}))
				s = begin(t, sched.Config{Mux: mux, Clock: clock, Workers: 1})
				var order []string
				subs := many(1000, "t", ax.Submission{})
				for i := range subs {
					subs[i].In = time.Duration(i+1) * 5 * time.Millisecond
					order = append(order, subs[i].ID)
				}
				submitAll(t, s, subs)
				for _, d := range stalls {
					clock.Suspend(d) // the loop's timer does not see it
					s.Stats()        // wakes the loop
				}
				axtest.Wait(0)
				starts := r.all()
				if len(starts) != 2000 {
					t.Fatalf("%d starts, want 2000", len(starts))
				}
				for _, st := range starts {
					if st.at != 0 {
						t.Fatalf("%s started %v after the catch-up", st.id, st.at)
					}
				}
				if len(stalls) == 1 { // all were due when the first one ran: those added later come after them
					for i, want := range order {
						if starts[i].id != want {
							t.Fatalf("start %d is %s, want %s", i, starts[i].id, want)
						}
					}
				}
				st := s.Stats()
				if st.Lateness.Count() != 2000 || len(stalls) == 1 && st.Lateness.Max() != 5*time.Second-5*time.Millisecond {
					t.Errorf("lateness of %d recorded, at most %v", st.Lateness.Count(), st.Lateness.Max())
				}
			})
		})
	}
}

func uneven(total, step time.Duration) (steps []time.Duration) {
	for ; total > 0; total -= step {
		steps = append(steps, min(step, total))
	}
	return steps
}

// A slow handler that ignores its context, and one that panics, delay nobody.
func TestC41_SlowHandlerHoldsNothingUp(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		mux := muxOf(map[string]ax.HandlerFunc{"slow": r.handler(sleep(5 * time.Second)), "work": r.handler(nil),
			"panic": r.handler(func(context.Context, *ax.Task) error { panic("boom") })})
		s := begin(t, sched.Config{Mux: mux, Workers: 4})
		ms := time.Millisecond
		submit(t, s, ax.Submission{ID: "A", Kind: "slow", In: 100 * ms})
		submit(t, s, ax.Submission{ID: "B", In: 150 * ms})
		submit(t, s, ax.Submission{ID: "C", Kind: "panic", In: 200 * ms, MaxRetries: ax.NoRetries})
		submit(t, s, ax.Submission{ID: "D", In: 250 * ms})
		axtest.Wait(time.Second)
		r.at(t, "A", 100*ms)
		r.at(t, "B", 150*ms)
		r.at(t, "C", 200*ms)
		r.at(t, "D", 250*ms)
		axtest.RequireState(t, s, "A", ax.Running)
		axtest.RequireState(t, s, "C", ax.Failed)
		axtest.Wait(5 * time.Second)
		axtest.RequireState(t, s, "A", ax.Success)
		if late := s.Stats().Lateness; late.Count() != 4 || late.Max() != 0 {
			t.Errorf("%d starts, the latest by %v", late.Count(), late.Max())
		}
	})
}

// The published loop kept one of several pending tasks, or spun.
func TestC43_EveryPendingTaskRuns(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		s := begin(t, sched.Config{Mux: one(r.handler(nil))})
		for i, id := range []string{"A", "B", "C"} {
			submit(t, s, ax.Submission{ID: id, In: time.Duration(i+1) * 10 * time.Second})
		}
		axtest.Wait(time.Minute)
		r.at(t, "A", 10*time.Second)
		r.at(t, "B", 20*time.Second)
		r.at(t, "C", 30*time.Second)
		submit(t, s, ax.Submission{ID: "X", In: 60 * time.Second})
		submit(t, s, ax.Submission{ID: "Y", In: time.Second}) // wakes the one who waits for X
		axtest.Wait(time.Hour)
		r.at(t, "Y", 61*time.Second)
		r.at(t, "X", 120*time.Second)
	})
}

// Whoever waits sleeps: at most one look a minute with something pending, none without.
func TestC43_WaitingCostsNothing(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock := &counting{Clock: axtest.NewClock()}
		s := begin(t, sched.Config{Mux: one(r.handler(nil)), Clock: clock})
		axtest.Wait(time.Second)
		clock.reads.Store(0)
		axtest.Wait(24 * time.Hour)
		if n := clock.reads.Load(); n != 0 {
			t.Errorf("%d looks at the clock with nothing to do", n)
		}
		submitAll(t, s, many(3, "t", ax.Submission{In: time.Hour}))
		axtest.Wait(time.Second)
		clock.reads.Store(0)
		axtest.Wait(10 * time.Second)
		if n := clock.reads.Load(); n != 0 {
			t.Errorf("%d looks at the clock in 10 s", n)
		}
		axtest.Wait(10 * time.Minute)
		if n := clock.reads.Load(); n > 20 { // a turn reads it twice
			t.Errorf("%d looks at the clock in 10 min", n)
		}
	})
}

// A delay far beyond the lease: one run, at the due time, and no attempt before.
func TestC51_DelayLongerThanTheLease(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock := axtest.NewClock()
		b := backend(clock, memory.Config{})
		s := begin(t, on(b, sched.Config{Mux: one(r.handler(nil)), Clock: clock, Workers: 3, LeaseTTL: 30 * time.Second}))
		submit(t, s, ax.Submission{ID: "long", In: 6 * time.Hour})
		submit(t, s, ax.Submission{ID: "31s", In: 31 * time.Second})
		axtest.Wait(6*time.Hour - 1)
		r.at(t, "31s", 31*time.Second)
		if task := axtest.RequireState(t, s, "long", ax.Scheduled); task.Last != nil || task.Attempt != 0 {
			t.Errorf("an attempt before it is due: %+v", task.Last)
		}
		axtest.Wait(time.Hour)
		r.at(t, "long", 6*time.Hour)
	})
}

// Nobody listens for 10 s across the due time: all run once somebody does.
func TestC52_NobodyListens(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock := axtest.NewClock()
		b := backend(clock, memory.Config{})
		cfg := on(b, sched.Config{Mux: one(r.handler(nil)), Clock: clock, Node: "n"})
		s := begin(t, cfg)
		submitAll(t, s, many(1000, "t", ax.Submission{In: 5 * time.Second}))
		receipt, err := s.Drain(t.Context())
		if err != nil || len(receipt.Returned) != 1000 {
			t.Fatalf("%d returned, %v", len(receipt.Returned), err)
		}
		axtest.Wait(10 * time.Second)
		if n := len(r.all()); n != 0 {
			t.Fatalf("%d ran with nobody there", n)
		}
		s = begin(t, cfg)
		axtest.Wait(0)
		runOnce(t, r, 1000, 10*time.Second)
		if st := s.Stats(); st.Succeeded != 1000 || st.Lateness.Max() != 5*time.Second {
			t.Errorf("%d succeeded, the latest by %v", st.Succeeded, st.Lateness.Max())
		}
	})
}

// runOnce checks that n tasks started once each, all at one instant.
func runOnce(t *testing.T, r *recorder, n int, at time.Duration) {
	t.Helper()
	seen := map[string]int{}
	for _, s := range r.all() {
		if seen[s.id]++; seen[s.id] > 1 || s.at != at {
			t.Errorf("%s started, the %d. time, at %v", s.id, seen[s.id], s.at)
		}
	}
	if len(seen) != n {
		t.Errorf("%d tasks started, want %d", len(seen), n)
	}
}

// A move or a cancel in the very instant in which the task becomes due: the old time or the new one, never both, never
// neither. In a bubble all that happens at one instant happens at once, on all processors.
func TestC55_MoveOrCancelAtTheLastMoment(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		s := begin(t, sched.Config{Mux: one(r.handler(nil))})
		const rounds = 1000
		var late [4]int
		for i := range rounds {
			id := fmt.Sprint("k-", i)
			submit(t, s, ax.Submission{ID: id, In: 5 * time.Millisecond})
			due := time.Since(r.base) + 5*time.Millisecond
			time.Sleep(5 * time.Millisecond)
			var a ax.Answer
			var err error
			switch i % 4 {
			case 0:
				a, err = s.RescheduleIn(t.Context(), id, 2*time.Second)
			case 1:
				a, err = s.Reschedule(t.Context(), id, time.Now().Add(2*time.Second))
			case 2:
				a, err = s.Cancel(t.Context(), id)
			case 3:
				a, err = s.RunNow(t.Context(), id)
			}
			axtest.Wait(0)
			started := len(r.of(id))
			tooLate := err != nil || a.State == ax.Running
			if tooLate {
				late[i%4]++
			}
			switch {
			case i%4 == 3:
				r.at(t, id, due)
			case err == nil && a.State == ax.Running: // asked: its handler may not have begun, and then does not
				if state := axtest.Get(t, s, id).State; (state == ax.Success) != (started == 1) || !state.Terminal() {
					t.Fatalf("round %d: asked to stop: %v after %d starts", i, state, started)
				}
			case tooLate && started != 1, !tooLate && started != 0:
				t.Fatalf("round %d: answer %v %v, error %v, and %d starts", i, a.Code, a.State, err, started)
			}
			axtest.Wait(3 * time.Second)
			if total := len(r.of(id)); i%4 == 2 && total != started || i%4 != 2 && total != 1 {
				t.Fatalf("round %d: %d starts in the end", i, total)
			}
			if i%4 < 2 && !tooLate {
				r.at(t, id, due+2*time.Second)
			}
		}
		t.Logf("too late of %d each: move %d, move by the wall clock %d, cancel %d, run now %d", rounds/4, late[0], late[1], late[2], late[3])
	})
}
