package sched_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/axtest"
	"github.com/axsched/ax/memory"
	"github.com/axsched/ax/sched"
)

// unwatched is a store without the optional capabilities of the memory store, but for its archive.
type unwatched struct{ ax.Store }

// entryFor is a submission as another process puts it into the inbox.
func entryFor(t *testing.T, now time.Time, sub ax.Submission) ax.Entry {
	t.Helper()
	if sub.Kind == "" {
		sub.Kind = "work"
	}
	task, err := sub.Task(now, 0)
	if err != nil {
		t.Fatal(err)
	}
	return ax.Entry{ID: task.ID, Verb: ax.VerbSubmit, Version: 1, Added: ax.At(now), By: "other", Task: task, Made: ax.At(sub.Made)}
}

// What another process puts into the store's inbox is admitted: at once with a watch, within 200 ms without.
func TestInbox(t *testing.T) {
	for name, watched := range map[string]bool{"watched": true, "polled": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *recorder) {
				clock := axtest.NewClock()
				b := backend(clock, memory.Config{Partitions: 3})
				cfg := on(b, sched.Config{Mux: muxOf(map[string]ax.HandlerFunc{"work": r.handler(nil), "obey": r.handler(obey(time.Hour))}), Clock: clock, Partitions: 3})
				if !watched {
					cfg.Store, cfg.Archive = unwatched{b}, b.Archive()
				}
				put(t, b, entryFor(t, clock.Now(), ax.Submission{ID: "early"})) // nobody is there yet
				s := begin(t, cfg)
				axtest.Wait(time.Minute)
				at := func() time.Duration { return time.Since(r.base) }
				put(t, b, entryFor(t, clock.Now(), ax.Submission{ID: "a"}))
				put(t, b, entryFor(t, clock.Now(), ax.Submission{ID: "b", Kind: "obey"}))
				put(t, b, entryFor(t, clock.Now(), ax.Submission{ID: "c", In: time.Hour}))
				put(t, b, entryFor(t, clock.Now(), ax.Submission{ID: "d", In: time.Hour}))
				late := at()
				axtest.Wait(time.Second)
				for _, id := range []string{"a", "b"} {
					got := r.of(id)
					if len(got) != 1 || watched && got[0].at != late || got[0].at > late+200*time.Millisecond {
						t.Errorf("%s, put at %v, started at %v", id, late, got)
					}
				}
				r.at(t, "early", 0)
				verb := func(id string, v ax.Verb, target string, e ax.Entry) {
					e.ID, e.Verb, e.Version, e.Added, e.Target, e.By = id, v, 1, ax.At(clock.Now()), target, "a person"
					put(t, b, e)
				}
				verb("req-1", ax.VerbCancel, "b", ax.Entry{})
				verb("req-2", ax.VerbRun, "c", ax.Entry{})
				verb("req-3", ax.VerbReschedule, "d", ax.Entry{Task: &ax.Task{Due: ax.At(clock.Now().Add(2 * time.Hour))}})
				verb("req-1", ax.VerbCancel, "b", ax.Entry{}) // again: the same request
				axtest.Wait(time.Second)
				axtest.RequireState(t, s, "b", ax.Canceled)
				axtest.RequireState(t, s, "c", ax.Success)
				axtest.Wait(3 * time.Hour)
				if got := r.of("d"); len(got) != 1 || got[0].at < 2*time.Hour+time.Minute {
					t.Errorf("d started %v", got)
				}
				facts, err := s.Facts(t.Context(), "b")
				if err != nil || len(facts) != 1 || facts[0].By != "a person" {
					t.Errorf("facts %+v, %v", facts, err)
				}
			})
		})
	}
}

// The inbox decides repeats and conflicts as the owner does: 1000 entries by 10 processes, most of them twice.
func TestInboxIsIdempotent(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock := axtest.NewClock()
		b := backend(clock, memory.Config{Partitions: 2})
		s := begin(t, on(b, sched.Config{Mux: one(r.handler(nil)), Clock: clock, Partitions: 2}))
		var group sync.WaitGroup
		for g := range 10 {
			group.Go(func() {
				for i := range 200 {
					id := fmt.Sprint("t-", (g*100+i)%1000) // each by two of them
					if i%3 == 0 {
						s.Submit(context.Background(), ax.Submission{ID: id, Kind: "work"})
					}
					put(t, b, entryFor(t, clock.Now(), ax.Submission{ID: id}))
				}
			})
		}
		group.Wait()
		axtest.Wait(time.Minute)
		runOnce(t, r, 1000, 0)
		if st := s.Stats(); st.Submitted != 1000 || st.Succeeded != 1000 {
			t.Errorf("%d submitted, %d succeeded", st.Submitted, st.Succeeded)
		}
	})
}

// A verb of a later version is kept and shown, and blocks nothing.
func TestInboxUnknownVerb(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock := axtest.NewClock()
		b := backend(clock, memory.Config{})
		cfg := on(b, sched.Config{Mux: one(r.handler(nil)), Clock: clock, Node: "n"})
		s := begin(t, cfg)
		put(t, b, ax.Entry{ID: "future", Verb: "teleport", Version: 1, Added: ax.At(clock.Now()), Target: "a"})
		put(t, b, ax.Entry{ID: "newer", Verb: ax.VerbCancel, Version: 9, Added: ax.At(clock.Now()), Target: "a"})
		put(t, b, entryFor(t, clock.Now(), ax.Submission{ID: "a"}))
		axtest.Wait(time.Hour)
		axtest.RequireState(t, s, "a", ax.Success)
		facts, err := s.Facts(t.Context(), "a")
		if err != nil || len(facts) != 2 || facts[0].What != ax.FactVerb {
			t.Errorf("facts %+v, %v", facts, err)
		}
		s.Drain(t.Context())
		leases, err := b.Acquire(t.Context(), "partition", "0", "me", time.Minute, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Open(t.Context(), 0, leases.Token); err != nil {
			t.Fatal(err)
		}
		page, err := b.Scan(t.Context(), ax.ScanRequest{Token: leases.Token, Index: ax.IndexInbox})
		if err != nil || len(page.Entries) != 2 {
			t.Errorf("%d entries are kept, %v", len(page.Entries), err)
		}
	})
}
