package sched_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/axtest"
	"github.com/axsched/ax/memory"
	"github.com/axsched/ax/sched"
)

// starts returns the ids without their key, in the order in which those of a key started.
func startsOf(r *recorder, key string) (ids []string) {
	for _, s := range r.all() {
		if k, id, _ := strings.Cut(s.id, "/"); k == key {
			ids = append(ids, id)
		}
	}
	return ids
}

// The ordered tasks of a key run one after another by due time; other keys, and tasks that are not ordered, do not wait.
func TestOrderedKeys(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		s := begin(t, sched.Config{Mux: one(r.handler(sleep(time.Second))), Partitions: 3})
		var subs []ax.Submission
		for _, key := range []string{"a", "b", "c"} {
			for i := range 10 {
				subs = append(subs, ax.Submission{ID: fmt.Sprint(key, "/", i), Kind: "work", Ordered: true})
			}
		}
		subs = append(subs, ax.Submission{ID: "a/free", Kind: "work"})
		submitAll(t, s, subs)
		axtest.Wait(9*time.Second + 1)
		for _, key := range []string{"a", "b", "c"} {
			for i := range 10 {
				r.at(t, fmt.Sprint(key, "/", i), time.Duration(i)*time.Second)
			}
		}
		r.at(t, "a/free", 0)
		if r.most != 4 {
			t.Errorf("at most %d at once, want 4", r.most)
		}
	})
}

// The head blocks through its retries and its timeout; after it has ended in whatever way the next one goes on.
func TestOrderedHeadBlocks(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		mux := muxOf(map[string]ax.HandlerFunc{"work": r.handler(nil), "fail": r.handler(func(context.Context, *ax.Task) error { return errWork }),
			"stuck": r.handler(sleep(10 * time.Second)), "obey": r.handler(obey(time.Hour))})
		s := begin(t, sched.Config{Mux: mux})
		for _, sub := range []ax.Submission{
			{ID: "k/1", Kind: "fail", MaxRetries: 2, Backoff: ax.Backoff{Jitter: -1}},
			{ID: "k/2", Kind: "stuck", Timeout: time.Second},
			{ID: "k/3", Kind: "obey"},
			{ID: "k/4", Kind: "work"},
		} {
			sub.Ordered = true
			submit(t, s, sub)
		}
		axtest.Wait(20 * time.Second)
		r.at(t, "k/1", 0, time.Second, 3*time.Second)
		r.at(t, "k/2", 3*time.Second)
		r.at(t, "k/3", 13*time.Second)
		if x, err := s.Explain(t.Context(), "k/4"); err != nil || x.Why != sched.WhyOrder {
			t.Errorf("k/4 waits for %v, %v", x.Why, err)
		}
		s.Cancel(t.Context(), "k/3")
		axtest.Wait(0)
		r.at(t, "k/4", 20*time.Second)
	})
}

// What is due earlier goes before what has not been claimed; cancel, reschedule and run-now move within the line.
func TestOrderedLineMoves(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		mux := muxOf(map[string]ax.HandlerFunc{"work": r.handler(sleep(time.Second)), "block": r.handler(sleep(10 * time.Second))})
		s := begin(t, sched.Config{Mux: mux, Workers: 1})
		sub := func(id string, in time.Duration) {
			submit(t, s, ax.Submission{ID: "k/" + id, In: in, Ordered: true})
		}
		sub("a", 4*time.Second)
		sub("b", 5*time.Second)
		sub("c", 6*time.Second)
		sub("d", 7*time.Second)
		sub("e", time.Hour)
		submit(t, s, ax.Submission{ID: "block", Kind: "block", Priority: ax.P(0)})
		axtest.Wait(8 * time.Second) // a to d are due and wait for the worker
		for _, do := range []func() (ax.Answer, error){
			func() (ax.Answer, error) { return s.Cancel(t.Context(), "k/b") },
			func() (ax.Answer, error) { return s.RescheduleIn(t.Context(), "k/a", 3*time.Second) }, // the head leaves
			func() (ax.Answer, error) { return s.RunNow(t.Context(), "k/e") },
			func() (ax.Answer, error) { return s.Reschedule(t.Context(), "k/d", time.Now().Add(-5*time.Second)) },
		} {
			if a, err := do(); err != nil {
				t.Fatal(a, err)
			}
		}
		axtest.Wait(time.Minute)
		if got := startsOf(r, "k"); !slices.Equal(got, []string{"d", "c", "e", "a"}) {
			t.Errorf("order %v", got)
		}
	})
}

// An order survives a restart: the head that was being retried goes on being the head.
func TestOrderOverRestart(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock := axtest.NewClock()
		fail := true
		cfg := on(backend(clock, memory.Config{}), sched.Config{Clock: clock, Node: "n", Mux: one(r.handler(func(_ context.Context, t *ax.Task) error {
			if fail {
				return errWork
			}
			return nil
		}))})
		s := begin(t, cfg)
		for i := range 5 {
			submit(t, s, ax.Submission{ID: fmt.Sprint("k/", i), Ordered: true, Backoff: ax.Backoff{Base: time.Minute, Jitter: -1}})
		}
		axtest.Wait(time.Second)
		s.Drain(t.Context())
		fail = false
		begin(t, cfg)
		axtest.Wait(time.Hour)
		if got := startsOf(r, "k"); !slices.Equal(got, []string{"0", "0", "1", "2", "3", "4"}) {
			t.Errorf("order %v", got)
		}
		r.at(t, "k/0", 0, time.Minute)
		r.at(t, "k/4", time.Minute)
	})
}

// 1000 ordered tasks of 20 keys on many workers: never two of a key at once, always in order.
func TestOrderedUnderLoad(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		running := map[string]int{}
		s := begin(t, sched.Config{Workers: 50, Partitions: 4, Mux: one(r.handler(func(_ context.Context, task *ax.Task) error {
			r.mu.Lock()
			if running[task.Key()]++; running[task.Key()] > 1 {
				t.Errorf("two of %s at once", task.Key())
			}
			r.mu.Unlock()
			time.Sleep(time.Duration(len(task.ID)) * time.Millisecond)
			r.mu.Lock()
			running[task.Key()]--
			r.mu.Unlock()
			if task.Attempt == 1 && task.Seq%7 == 0 {
				return errWork
			}
			return nil
		}))})
		var subs []ax.Submission
		for i := range 1000 {
			subs = append(subs, ax.Submission{ID: fmt.Sprintf("k%d/%03d", i%20, i/20), Kind: "work", Ordered: true, Backoff: ax.Backoff{Base: time.Millisecond, Jitter: -1}})
		}
		submitAll(t, s, subs)
		axtest.Wait(time.Minute)
		for k := range 20 {
			if got := slices.Compact(startsOf(r, fmt.Sprint("k", k))); len(got) != 50 || !slices.IsSorted(got) {
				t.Errorf("key %d: %v", k, got)
			}
		}
		if st := s.Stats(); st.Succeeded != 1000 {
			t.Errorf("%d succeeded", st.Succeeded)
		}
	})
}
