package sched_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/axtest"
	"github.com/axsched/ax/memory"
	"github.com/axsched/ax/sched"
)

// Concurrency of a kind, of each key, of one key and of a job.
func TestConcurrencyLimits(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		most := map[string]int{}
		now := map[string]int{}
		note := func(group string, by int) {
			r.mu.Lock()
			defer r.mu.Unlock()
			now[group] += by
			most[group] = max(most[group], now[group])
		}
		handler := r.handler(func(_ context.Context, task *ax.Task) error {
			for _, g := range []string{"kind " + task.Kind, "key " + task.Key()} {
				note(g, 1)
				defer note(g, -1)
			}
			time.Sleep(time.Second)
			return nil
		})
		s := begin(t, sched.Config{Workers: 100, Mux: muxOf(map[string]ax.HandlerFunc{"work": handler, "small": handler, "free": handler}),
			Limits: sched.Limits{
				Kinds:   map[string]sched.Limit{"small": {Concurrent: 3}},
				EachKey: sched.Limit{Concurrent: 2},
				Keys:    map[string]sched.Limit{"vip": {Concurrent: 5}, "none": {}},
			}})
		var subs []ax.Submission
		for _, key := range []string{"a", "b", "vip", "none"} {
			for i := range 20 {
				subs = append(subs, ax.Submission{ID: fmt.Sprint(key, "/", i), Kind: "work"})
			}
		}
		for i := range 20 {
			subs = append(subs, ax.Submission{ID: fmt.Sprint("s", i), Kind: "small"})
		}
		submitAll(t, s, subs)
		axtest.Wait(0)
		if x, err := s.Explain(t.Context(), "a/19"); err != nil || x.Why != sched.WhyLimit {
			t.Errorf("a/19 waits for %v, %v", x.Why, err)
		}
		axtest.Wait(time.Minute)
		for group, want := range map[string]int{"kind small": 3, "key a": 2, "key b": 2, "key vip": 5, "key none": 20} {
			if most[group] != want {
				t.Errorf("%s: at most %d at once, want %d", group, most[group], want)
			}
		}
		last := map[string]time.Duration{}
		for _, st := range r.all() {
			last[ax.KeyOf(st.id)[:1]] = max(last[ax.KeyOf(st.id)[:1]], st.at)
		}
		for key, want := range map[string]time.Duration{"a": 9 * time.Second, "b": 9 * time.Second, "v": 3 * time.Second, "n": 0, "s": 6 * time.Second} {
			if last[key] != want {
				t.Errorf("the last of %s started at %v, want %v: limits must not leave workers idle", key, last[key], want)
			}
		}
	})
}

// Rates are spaced evenly and hold over pauses; a burst may come at once after one.
func TestRateLimits(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		s := begin(t, sched.Config{Mux: muxOf(map[string]ax.HandlerFunc{"work": r.handler(nil), "rated": r.handler(nil)}), Limits: sched.Limits{
			Kinds:   map[string]sched.Limit{"rated": {PerSecond: 10}},
			EachKey: sched.Limit{PerSecond: 2, Burst: 3},
		}})
		submitAll(t, s, many(30, "r", ax.Submission{Kind: "rated"})) // each its own key
		var subs []ax.Submission
		for i := range 9 {
			subs = append(subs, ax.Submission{ID: fmt.Sprint("k/", i), Kind: "work"})
		}
		submitAll(t, s, subs)
		axtest.Wait(time.Minute)
		for i := range 30 {
			r.at(t, fmt.Sprint("r-", i), time.Duration(i)*100*time.Millisecond)
		}
		for i := range 9 {
			r.at(t, fmt.Sprint("k/", i), time.Duration(max(i-2, 0))*500*time.Millisecond)
		}
		for i := range 5 { // after a pause the burst is there again
			submit(t, s, ax.Submission{ID: fmt.Sprint("k/again", i)})
		}
		axtest.Wait(time.Minute)
		for i := range 5 {
			r.at(t, fmt.Sprint("k/again", i), time.Minute+time.Duration(max(i-2, 0))*500*time.Millisecond)
		}
	})
}

// A task at a closed gate does not stand in the way of those behind it, and leaves its place when it is canceled, moved
// or its gate's next one may go.
func TestLimitedTasksStepAside(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		s := begin(t, sched.Config{Mux: one(r.handler(sleep(10 * time.Second))), Workers: 2, Limits: sched.Limits{EachKey: sched.Limit{Concurrent: 1}}})
		for i := range 4 {
			submit(t, s, ax.Submission{ID: fmt.Sprint("a/", i), Priority: ax.P(0)})
		}
		submit(t, s, ax.Submission{ID: "b/0", Priority: ax.P(99)})
		axtest.Wait(0)
		r.at(t, "b/0", 0)
		s.Cancel(t.Context(), "a/1")
		s.RescheduleIn(t.Context(), "a/2", time.Hour)
		axtest.Wait(2 * time.Hour)
		r.at(t, "a/0", 0)
		r.at(t, "a/1")
		r.at(t, "a/3", 10*time.Second)
		r.at(t, "a/2", time.Hour)
	})
}

// What a lost attempt, or a HELD one, takes of a limit stays taken until it is decided, also over a restart.
func TestLimitsOverRestart(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock := axtest.NewClock()
		b := backend(clock, memory.Config{})
		stuck := make(chan struct{})
		limits := sched.Limits{EachKey: sched.Limit{Concurrent: 1}}
		first := axtest.Start(t, on(b, sched.Config{Clock: clock, Node: "first", Limits: limits,
			Mux: one(r.handler(func(context.Context, *ax.Task) error { <-stuck; return nil }))}))
		submit(t, first, ax.Submission{ID: "k/1", HoldLost: true})
		submit(t, first, ax.Submission{ID: "k/2"})
		axtest.Wait(0)
		kill(t, first, stuck)
		s := begin(t, on(b, sched.Config{Clock: clock, Node: "next", Limits: limits, Mux: one(r.handler(nil))}))
		axtest.Wait(time.Hour)
		axtest.RequireState(t, s, "k/1", ax.Held)
		axtest.RequireState(t, s, "k/2", ax.Scheduled)
		if a, err := s.Resolve(t.Context(), "k/1", ax.ResolveSuccess); err != nil || a.State != ax.Success {
			t.Fatal(a, err)
		}
		axtest.Wait(0)
		axtest.RequireState(t, s, "k/2", ax.Success)
	})
}
