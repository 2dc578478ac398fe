package sched_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/axtest"
	"github.com/axsched/ax/memory"
	"github.com/axsched/ax/sched"
)

// The attempt token of a key grows over attempts, runs, restarts, handovers and deaths, as a value and as text.
func TestTokenGrows(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock := axtest.NewClock()
		b := backend(clock, memory.Config{Partitions: 3})
		stuck := make(chan struct{})
		dying := false
		mux := one(r.handler(func(ctx context.Context, task *ax.Task) error {
			switch {
			case ax.TokenFrom(ctx) != task.Last.Token || ax.TokenFrom(ctx).IsZero():
				t.Errorf("the context says %v, the task %v", ax.TokenFrom(ctx), task.Last.Token)
			case dying:
				<-stuck
			case task.Attempt%3 != 0:
				return errWork
			}
			return nil
		}))
		var keys []string
		for k := range 20 {
			keys = append(keys, fmt.Sprint("key", k))
		}
		for round := range 4 { // two nodes by turns, which run down in good order
			s := begin(t, on(b, sched.Config{Mux: mux, Clock: clock, Node: fmt.Sprint("node", round%2), Partitions: 3}))
			for _, key := range keys {
				submit(t, s, ax.Submission{ID: fmt.Sprint(key, "/", round)})
				submit(t, s, ax.Submission{ID: fmt.Sprint(key, "/later", round), In: time.Minute})
			}
			axtest.Wait(time.Minute + 1500*time.Millisecond) // some wait for their retry
			for _, key := range keys {
				if _, err := s.Rerun(t.Context(), fmt.Sprint(key, "/", round)); err != nil {
					t.Fatal(err)
				}
			}
			axtest.Wait(500 * time.Millisecond)
			s.Drain(t.Context())
		}
		dying = true
		s := axtest.Start(t, on(b, sched.Config{Mux: mux, Clock: clock, Node: "dying", Partitions: 3}))
		axtest.Wait(time.Minute)
		kill(t, s, stuck)
		dying = false
		last := begin(t, on(b, sched.Config{Mux: mux, Clock: clock, Node: "last", Partitions: 3}))
		axtest.Wait(time.Hour)
		newest := map[string]ax.AttemptToken{}
		starts := r.all()
		slices.SortStableFunc(starts, func(a, b start) int { // attempts that begin at one instant run side by side, in any order
			return cmp.Or(cmp.Compare(a.at, b.at), a.token.Compare(b.token))
		})
		for _, st := range starts {
			key := ax.KeyOf(st.id)
			old := newest[key]
			if st.token.Compare(old) <= 0 || !old.IsZero() && st.token.String() <= old.String() {
				t.Fatalf("%s at %v: token %v after %v", st.id, st.at, st.token, old)
			}
			newest[key] = st.token
		}
		if n := len(starts); len(newest) != 20 || n < 20*4*6 {
			t.Errorf("%d keys, %d attempts", len(newest), n)
		}
		if st := last.Stats(); st.Pending != 0 {
			t.Errorf("%d pending at the end", st.Pending)
		}
	})
}

// A new era begins above all tokens of the one before, though its backend begins from nothing.
func TestTokenGrowsOverEras(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		var last ax.AttemptToken
		for range 5 {
			s := begin(t, sched.Config{Mux: one(r.handler(nil))})
			submit(t, s, ax.Submission{ID: "k"})
			axtest.Wait(0)
			starts := r.all()
			if got := starts[len(starts)-1].token; got.Compare(last) <= 0 {
				t.Errorf("token %v after %v", got, last)
			} else {
				last = got
			}
			s.Drain(t.Context())
			time.Sleep(time.Nanosecond) // a backend made at the very same instant begins alike
		}
	})
}
