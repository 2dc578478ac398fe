package sched_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/axtest"
	"github.com/axsched/ax/sched"
)

// flood runs 4 workers on 20 ms tasks of priority 1 at 110 % of what they can do for some time, with 100 tasks of priority
// 10 from the start, and returns when those of each priority started.
func flood(t *testing.T, r *recorder, aging sched.Aging, d time.Duration) (low, high []time.Duration, s *sched.Scheduler) {
	t.Helper()
	s = begin(t, sched.Config{Mux: one(r.handler(sleep(20 * time.Millisecond))), Workers: 4, Aging: aging})
	submitAll(t, s, many(4, "high-first", ax.Submission{Priority: ax.P(1)}))
	submitAll(t, s, many(100, "low", ax.Submission{Priority: ax.P(10)}))
	const perSecond = 220 // 4 workers do 200
	for i := range int(d / (50 * time.Millisecond)) {
		submitAll(t, s, many(perSecond/20, fmt.Sprint("high-", i), ax.Submission{Priority: ax.P(1)}))
		time.Sleep(50 * time.Millisecond)
	}
	axtest.Wait(d)
	for _, st := range r.all() {
		if st.id[0] == 'l' {
			low = append(low, st.at)
		} else {
			high = append(high, st.at)
		}
	}
	if st := s.Stats(); st.Pending != 0 || len(low) != 100 {
		t.Fatalf("%d pending, %d low ones started", st.Pending, len(low))
	}
	return low, high, s
}

// Low priority under a constant flood starts within the bound that the settings imply, and the flood keeps its share.
func TestC93_LowPriorityUnderAFlood(t *testing.T) {
	for _, c := range []struct {
		name   string
		aging  sched.Aging
		within bool // the bound lies inside of the flood
	}{
		{"the seed's settings", sched.Aging{After: 40 * time.Second, Step: 30 * time.Second}, false},
		{"ten times faster", sched.Aging{After: 4 * time.Second, Step: 3 * time.Second}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *recorder) {
				low, high, s := flood(t, r, c.aging, 2*time.Minute)
				bound := c.aging.Bound(10)
				// At level 0 they wait only for each other, and for a worker.
				most := bound + 100/4*20*time.Millisecond + 20*time.Millisecond
				if last := slices.Max(low); last > most {
					t.Errorf("the last low one started after %v, the bound is %v", last, most)
				}
				if first := slices.Min(low); c.within && first < 20*time.Second {
					t.Errorf("the first low one started after %v already", first)
				}
				inTime := 0
				for _, at := range high {
					if at < 2*time.Minute {
						inTime++
					}
				}
				if share := float64(inTime) / (200 * 120); share < 0.8 {
					t.Errorf("the flood had %.0f %% of the workers", 100*share)
				}
				for i := range 100 {
					if task := axtest.Get(t, s, fmt.Sprint("low-", i)); task.Priority.Level() != 10 {
						t.Fatalf("the priority shown is %d", task.Priority.Level())
					}
				}
			})
		})
	}
}

// With aging off the order is strict: no low one starts while a high one waits.
func TestC93_StrictWithoutAging(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		low, high, _ := flood(t, r, sched.Aging{Off: true}, 2*time.Minute)
		if last := slices.Max(high); slices.Min(low) < last {
			t.Errorf("a low one started at %v, the last high one at %v", slices.Min(low), last)
		}
	})
}

// Equals go in the order of their submission, 10,000 of them, submitted in every way.
func TestC95_FirstInFirstOut(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		s := begin(t, sched.Config{Mux: one(r.handler(nil)), Workers: 1})
		at := time.Now().Add(time.Hour)
		var order []string
		for i := range 100 {
			subs := many(99, fmt.Sprint("b", i), ax.Submission{At: at})
			order = append(order, submitAll(t, s, subs)...)
			one := ax.Submission{ID: fmt.Sprint("s-", i), Kind: "work", At: at}
			order = append(order, one.ID)
			submit(t, s, one)
		}
		axtest.Wait(2 * time.Hour)
		if got := r.ids(); !slices.Equal(got, order) {
			for i := range got {
				if got[i] != order[i] {
					t.Fatalf("%d started, number %d is %s, want %s", len(got), i, got[i], order[i])
				}
			}
			t.Fatalf("%d started", len(got))
		}
	})
}

// Due comes before priority: what is due starts, though something better is due in a second.
func TestC95_DueBeforePriority(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		s := begin(t, sched.Config{Mux: one(r.handler(sleep(5 * time.Second))), Workers: 1})
		submit(t, s, ax.Submission{ID: "B", In: 11 * time.Second, Priority: ax.P(0)})
		submit(t, s, ax.Submission{ID: "A", In: 10 * time.Second, Priority: ax.P(99)})
		axtest.Wait(time.Minute)
		r.at(t, "A", 10*time.Second)
		r.at(t, "B", 15*time.Second)
	})
}

// A retry keeps the place of its first due time: it goes before everything that was due later.
func TestC95_RetryKeepsItsPlace(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		s := begin(t, sched.Config{Workers: 1, Mux: one(r.handler(func(_ context.Context, t *ax.Task) error {
			time.Sleep(time.Millisecond)
			if t.ID == "t-10" && t.Attempt == 1 {
				return errWork
			}
			return nil
		}))})
		submitAll(t, s, many(5000, "t", ax.Submission{Backoff: ax.Backoff{Jitter: -1}}))
		axtest.Wait(time.Minute)
		r.at(t, "t-10", 10*time.Millisecond, 1011*time.Millisecond) // 11 ms when it failed, and 1 s
	})
}

// Nobody jumps the queue with a due time in the past.
func TestDueInThePastDoesNotJumpTheQueue(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		s := begin(t, sched.Config{Mux: one(r.handler(sleep(time.Second))), Workers: 1})
		submit(t, s, ax.Submission{ID: "block"})
		axtest.Wait(100 * time.Millisecond)
		submit(t, s, ax.Submission{ID: "now"})
		axtest.Wait(time.Millisecond)
		submit(t, s, ax.Submission{ID: "1999", At: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)})
		axtest.Wait(time.Minute)
		if got := r.ids(); !slices.Equal(got, []string{"block", "now", "1999"}) {
			t.Errorf("order %v", got)
		}
	})
}

// All levels, submitted in a mixed order, start by level.
func TestLevelsInOrder(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		s := begin(t, sched.Config{Mux: muxOf(map[string]ax.HandlerFunc{"work": r.handler(nil), "other": r.handler(nil), "block": r.handler(sleep(time.Second))}),
			Workers: 1, Partitions: 4})
		submit(t, s, ax.Submission{ID: "block", Kind: "block"})
		axtest.Wait(0)
		var subs []ax.Submission
		for i := range 100 {
			level := i * 37 % 100
			subs = append(subs, ax.Submission{ID: fmt.Sprintf("l-%02d", level), Kind: []string{"work", "other"}[i%2], Priority: ax.P(level)})
		}
		submitAll(t, s, subs)
		axtest.Wait(time.Minute)
		got := r.ids()[1:]
		if !slices.IsSorted(got) || len(got) != 100 {
			t.Errorf("order %v", got)
		}
	})
}
