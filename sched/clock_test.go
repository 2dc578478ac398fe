package sched_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/axtest"
	"github.com/axsched/ax/memory"
	"github.com/axsched/ax/sched"
)

// The wall clock jumps by four minutes: a relative delay is not touched, an absolute time follows the corrected clock.
func TestC46_WallClockSteps(t *testing.T) {
	for _, step := range []time.Duration{4 * time.Minute, -4 * time.Minute} {
		t.Run(step.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *recorder) {
				clock, log := axtest.NewClock(), &logBook{}
				s := begin(t, sched.Config{Mux: one(r.handler(nil)), Clock: clock, Logger: log.logger()})
				submit(t, s, ax.Submission{ID: "relative", In: 10 * time.Minute})
				submit(t, s, ax.Submission{ID: "absolute", At: clock.Now().Add(10 * time.Minute)})
				submit(t, s, ax.Submission{ID: "soon", At: clock.Now().Add(3 * time.Minute)})
				axtest.Wait(2 * time.Minute)
				clock.Step(step)
				s.Stats() // wakes the loop, as any call does; by itself it looks within a minute
				axtest.Wait(time.Hour)
				r.at(t, "relative", 10*time.Minute)
				r.at(t, "absolute", 10*time.Minute-step)
				r.at(t, "soon", max(3*time.Minute-step, 2*time.Minute)) // jumped over: at once
				if st := s.Stats(); st.ClockSteps != 1 || st.Suspends != 0 {
					t.Errorf("%d steps and %d suspends, want 1 and 0", st.ClockSteps, st.Suspends)
				}
				if !strings.Contains(log.String(), `msg="wall clock was stepped" by=`+step.String()) {
					t.Errorf("the log does not tell the step of %v: %s", step, log)
				}
			})
		})
	}
}

// A step that nothing wakes the scheduler for is noticed within a minute.
func TestC46_StepIsNoticedWithinAMinute(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock := axtest.NewClock()
		s := begin(t, sched.Config{Mux: one(r.handler(nil)), Clock: clock})
		submit(t, s, ax.Submission{ID: "a", At: clock.Now().Add(10 * time.Hour)})
		axtest.Wait(time.Hour + 10*time.Second)
		clock.Step(9 * time.Hour)
		axtest.Wait(time.Minute)
		r.at(t, "a", time.Hour+time.Minute)
	})
}

// The wall clock goes back while a due task waits for a worker: it is put off until the clock says so again.
func TestC46_NeverEarlyAfterAStepBack(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock := axtest.NewClock()
		mux := muxOf(map[string]ax.HandlerFunc{"work": r.handler(nil), "slow": r.handler(sleep(time.Hour))})
		s := begin(t, sched.Config{Mux: mux, Clock: clock, Workers: 1})
		submit(t, s, ax.Submission{ID: "first", Kind: "slow", Timeout: 2 * time.Hour})
		submit(t, s, ax.Submission{ID: "absolute", At: clock.Now().Add(30 * time.Minute)})
		submit(t, s, ax.Submission{ID: "relative", In: 30 * time.Minute})
		axtest.Wait(45 * time.Minute)
		clock.Step(-40 * time.Minute) // both are due and wait for the worker; one is no longer due
		axtest.Wait(3 * time.Hour)
		r.at(t, "relative", time.Hour)
		r.at(t, "absolute", 70*time.Minute)
		if st := s.Stats(); st.HeldBack != 1 || st.ClockSteps != 1 {
			t.Errorf("held back %d times, %d steps", st.HeldBack, st.ClockSteps)
		}
	})
}

// The machine sleeps: what is due by the wall clock, or by elapsed time, comes within a minute of waking.
func TestC48_MachineSuspended(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock, log := axtest.NewClock(), &logBook{}
		s := begin(t, sched.Config{Mux: one(r.handler(nil)), Clock: clock, Logger: log.logger()})
		submit(t, s, ax.Submission{ID: "seven", At: clock.Now().Add(7 * time.Hour)})
		submit(t, s, ax.Submission{ID: "relative", In: 7 * time.Hour})
		submit(t, s, ax.Submission{ID: "asleep", In: 5*time.Hour + 20*time.Minute})
		axtest.Wait(5 * time.Hour)
		clock.Suspend(42 * time.Minute)
		axtest.Wait(time.Minute)
		if got := r.of("asleep"); len(got) != 1 || got[0].at > 5*time.Hour+time.Minute {
			t.Errorf("due while the machine slept: started %v", got)
		}
		axtest.Wait(2 * time.Hour)
		for _, id := range []string{"seven", "relative"} {
			if got := r.of(id); len(got) != 1 || got[0].at < 7*time.Hour-42*time.Minute || got[0].at > 7*time.Hour-41*time.Minute {
				t.Errorf("%s started %v, want within a minute of %v", id, got, 7*time.Hour-42*time.Minute)
			}
		}
		if st := s.Stats(); st.Suspends != 1 || st.ClockSteps != 0 {
			t.Errorf("%d suspends and %d steps, want 1 and 0", st.Suspends, st.ClockSteps)
		}
		if !strings.Contains(log.String(), "for=42m0s") {
			t.Errorf("the log does not tell the suspend: %s", log)
		}
	})
}

// A lease cannot be trusted after a suspend: nothing is handed out before it was renewed.
func TestC48_LeaseAfterSuspend(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock, log := axtest.NewClock(), &logBook{}
		b := backend(clock, memory.Config{})
		s := axtest.Start(t, on(b, sched.Config{Mux: one(r.handler(nil)), Clock: clock, Node: "old", Logger: log.logger()}))
		submit(t, s, ax.Submission{ID: "a", In: time.Hour})
		axtest.Wait(time.Minute)
		clock.Suspend(2 * time.Hour)
		other := begin(t, on(b, sched.Config{Mux: one(r.handler(nil)), Clock: clock, Node: "new"}))
		axtest.Wait(time.Hour)
		if got := r.of("a"); len(got) != 1 {
			t.Errorf("started %v", got)
		}
		if st := other.Stats(); st.Succeeded != 1 {
			t.Errorf("the new owner ran %d", st.Succeeded)
		}
		if _, err := s.Submit(t.Context(), ax.Submission{Kind: "work"}); err == nil {
			t.Error("the old owner still takes submissions")
		}
	})
}

// A timeout and an attempt's duration count elapsed time, whatever is done to the wall clock meanwhile.
func TestC50_TimeoutCountsElapsedTime(t *testing.T) {
	for _, step := range []time.Duration{2 * time.Minute, -2 * time.Minute} {
		t.Run(step.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *recorder) {
				clock := axtest.NewClock()
				mux := muxOf(map[string]ax.HandlerFunc{"fine": r.handler(sleep(59 * time.Second)), "slow": r.handler(obey(time.Hour))})
				s := begin(t, sched.Config{Mux: mux, Clock: clock})
				for _, kind := range []string{"fine", "slow"} {
					submit(t, s, ax.Submission{ID: kind, Kind: kind, In: 30 * time.Second, Timeout: time.Minute})
				}
				axtest.Wait(45 * time.Second)
				clock.Step(step)
				axtest.Wait(44 * time.Second)
				if task := axtest.RequireState(t, s, "fine", ax.Success); task.Last.Ended.Sub(task.Last.Started) != 59*time.Second {
					t.Errorf("ran from %v to %v", task.Last.Started, task.Last.Ended)
				}
				axtest.RequireState(t, s, "slow", ax.Running)
				axtest.Wait(time.Second)
				if task := axtest.RequireState(t, s, "slow", ax.Timeout); task.Last.Ended.Sub(task.Last.Started) != time.Minute {
					t.Errorf("ran from %v to %v", task.Last.Started, task.Last.Ended)
				}
				r.at(t, "fine", 30*time.Second)
				r.at(t, "slow", 30*time.Second)
			})
		})
	}
}

// Suspend counts for a timeout too: an attempt that slept past its deadline has timed out, also if nil comes then.
func TestC50_SuspendCountsForTheTimeout(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock := axtest.NewClock()
		s := begin(t, sched.Config{Mux: one(r.handler(sleep(30 * time.Second))), Clock: clock})
		submit(t, s, ax.Submission{ID: "a", Timeout: time.Minute})
		axtest.Wait(time.Second)
		clock.Suspend(time.Hour)
		axtest.Wait(time.Minute)
		axtest.RequireState(t, s, "a", ax.Timeout)
	})
}

// A task that another machine put into the inbox brings a boot time that says nothing here: it follows its due time on
// the wall clock of the owner.
func TestC50_ForeignBootTime(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock, foreign := axtest.NewClock(), axtest.NewClock()
		foreign.Step(-2 * time.Minute)
		foreign.Suspend(2*time.Minute + 100*time.Hour) // a boot time far ahead
		foreign.Step(-100 * time.Hour)                 // and a wall clock that agrees
		b := backend(clock, memory.Config{})
		begin(t, on(b, sched.Config{Mux: one(r.handler(nil)), Clock: clock}))
		sub := ax.Submission{ID: "a", Kind: "work", In: 30 * time.Second}
		task, err := sub.Task(foreign.Now(), 0)
		if err != nil {
			t.Fatal(err)
		}
		task.Boot, task.BootAt = foreign.BootTag(), foreign.Boot()+30e6
		put(t, b, ax.Entry{ID: "a", Verb: ax.VerbSubmit, Version: 1, Added: ax.At(foreign.Now()), Task: task})
		axtest.Wait(time.Minute)
		r.at(t, "a", 30*time.Second)
	})
}

// put adds an entry to the inbox of its partition, as another process does.
func put(t *testing.T, b *memory.Backend, e ax.Entry) {
	t.Helper()
	id := e.Target
	if id == "" && e.Task != nil {
		id = e.Task.ID
	}
	if _, err := b.Submit(context.Background(), ax.PartitionOf(ax.KeyOf(id), b.Partitions()), []ax.Entry{e}); err != nil {
		t.Fatal(err)
	}
}

// A restart on the same boot keeps a relative delay exact over a step of the wall clock; on another boot the stored due
// time rules.
func TestRelativeDelayOverRestarts(t *testing.T) {
	for name, reboot := range map[string]bool{"same boot": false, "another boot": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *recorder) {
				clock := axtest.NewClock()
				b := backend(clock, memory.Config{})
				cfg := on(b, sched.Config{Mux: one(r.handler(nil)), Clock: clock, Node: "n"})
				s := begin(t, cfg)
				submit(t, s, ax.Submission{ID: "a", In: time.Hour})
				axtest.Wait(10 * time.Minute)
				s.Drain(t.Context())
				clock.Step(20 * time.Minute)
				at := time.Hour
				if reboot {
					next := axtest.NewClock()
					next.Step(20 * time.Minute)
					cfg.Clock, at = next, 40*time.Minute
				}
				begin(t, cfg)
				axtest.Wait(2 * time.Hour)
				r.at(t, "a", at)
			})
		})
	}
}
