package sched_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/axtest"
	"github.com/axsched/ax/memory"
	"github.com/axsched/ax/sched"
)

// 5000 tasks of 20 ms, 4 workers and room for 16 more: what does not fit is refused in sight of its submitter and counted,
// and the dispatcher survives.
func TestC44_OverflowIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		s := begin(t, sched.Config{Mux: one(r.handler(sleep(20 * time.Millisecond))), Workers: 4, MaxPending: 20})
		ran, refused := 0, 0
		for i := range 5000 {
			_, err := s.Submit(t.Context(), ax.Submission{ID: fmt.Sprint("t-", i), Kind: "work"})
			var e *ax.Error
			switch {
			case err == nil:
				ran++
			case errors.Is(err, ax.ErrFull) && errors.As(err, &e) && e.ID == fmt.Sprint("t-", i):
				refused++
			default:
				t.Fatal(err)
			}
			if i%100 == 99 {
				time.Sleep(20 * time.Millisecond)
			}
		}
		axtest.Wait(time.Second)
		if n := len(r.all()); n != ran || r.most != 4 {
			t.Errorf("%d ran of %d, at most %d at once", n, ran, r.most)
		}
		if st := s.Stats(); st.Succeeded != ran || st.Refused != refused || refused == 0 || ran < 20 {
			t.Errorf("%d ran, %d refused; stats %d and %d", ran, refused, st.Succeeded, st.Refused)
		}
		submit(t, s, ax.Submission{ID: "later"})
		axtest.Wait(20 * time.Millisecond)
		axtest.RequireState(t, s, "later", ax.Success)
	})
}

// Without a bound that matters, all that is due is held back and run: 5000 of 20 ms on 4 workers take 25 s.
func TestC44_OverflowIsHeldBack(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		s := begin(t, sched.Config{Mux: one(r.handler(sleep(20 * time.Millisecond))), Workers: 4})
		submitAll(t, s, many(5000, "t", ax.Submission{}))
		axtest.Wait(0)
		if st := s.Stats(); st.Running != 4 || st.Ready != 4996 {
			t.Errorf("%d run, %d ready", st.Running, st.Ready)
		}
		axtest.Wait(25*time.Second - 1)
		if st := s.Stats(); st.Succeeded != 4996 {
			t.Errorf("%d succeeded before the last are done", st.Succeeded)
		}
		axtest.Wait(1)
		submit(t, s, ax.Submission{ID: "later"})
		axtest.Wait(0)
		if st := s.Stats(); st.Succeeded != 5000 || r.most != 4 {
			t.Errorf("%d succeeded, at most %d at once", st.Succeeded, r.most)
		}
	})
}

// One submission a second against a handler of 5 s, one at a time, for 30 min: never more than 100 wait, each further one
// is refused, one runs every 5 s.
func TestC106_FasterThanItCanRun(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		s := begin(t, sched.Config{Mux: one(r.handler(sleep(5 * time.Second))), MaxPending: 101,
			Limits: sched.Limits{Kinds: map[string]sched.Limit{"work": {Concurrent: 1}}}})
		made, full, most := 0, 0, 0
		for i := range 1800 {
			switch _, err := s.Submit(t.Context(), ax.Submission{ID: fmt.Sprint("t-", i), Kind: "work"}); {
			case err == nil:
				made++
			case errors.Is(err, ax.ErrFull):
				full++
			default:
				t.Fatal(err)
			}
			st := s.Stats()
			most = max(most, st.Pending)
			axtest.Wait(time.Second)
		}
		if n := len(r.all()); n != 360 && n != 361 || r.most != 1 {
			t.Errorf("%d started in 30 min, %d at once", n, r.most)
		}
		if made+full != 1800 || most != 101 || full < 1300 {
			t.Errorf("%d created, %d refused, at most %d pending", made, full, most)
		}
	})
}

// A kind whose handlers all hang delays no other, if it has a limit of its own; neither does one with a rate.
func TestC107_OneSlowKindBlocksNoOther(t *testing.T) {
	for name, limit := range map[string]sched.Limit{"concurrency": {Concurrent: 4}, "rate": {PerSecond: 1, Burst: 2}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *recorder) {
				mux := muxOf(map[string]ax.HandlerFunc{"X": r.handler(sleep(10 * time.Millisecond)),
					"Y": r.handler(func(ctx context.Context, _ *ax.Task) error { <-ctx.Done(); return ctx.Err() })})
				s := begin(t, sched.Config{Mux: mux, Workers: 8, Limits: sched.Limits{Kinds: map[string]sched.Limit{"Y": limit}}})
				due := map[string]time.Duration{}
				for i := range 60 * 100 {
					id := fmt.Sprint("x-", i)
					due[id] = time.Duration(i) * 10 * time.Millisecond
					submit(t, s, ax.Submission{ID: id, Kind: "X", In: due[id]})
				}
				for i := range 60 * 10 {
					submit(t, s, ax.Submission{Kind: "Y", In: time.Duration(i) * 100 * time.Millisecond, Timeout: 3 * time.Second, Priority: ax.P(0), MaxRetries: ax.NoRetries})
				}
				axtest.Wait(time.Minute)
				late := time.Duration(0)
				n := 0
				for _, st := range r.all() {
					if d, ok := due[st.id]; ok {
						late = max(late, st.at-d)
						n++
					}
				}
				if n != 6000 || late != 0 {
					t.Errorf("%d of X started, the latest by %v", n, late)
				}
			})
		})
	}
}

// A kind without a handler waits, visibly, and blocks nobody; a process that has one runs it. Or it is refused, as configured.
func TestC107_KindWithoutHandler(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock := axtest.NewClock()
		b := backend(clock, memory.Config{})
		s := begin(t, on(b, sched.Config{Mux: one(r.handler(nil)), Clock: clock, Node: "n", Workers: 1}))
		submitAll(t, s, many(100, "other", ax.Submission{Kind: "other", Priority: ax.P(0)}))
		submitAll(t, s, many(10, "t", ax.Submission{Priority: ax.P(99)}))
		axtest.Wait(0)
		if st := s.Stats(); st.Succeeded != 10 || st.Scheduled != 100 || st.Unhandled != 100 || st.Ready != 0 {
			t.Errorf("succeeded %d, scheduled %d, unhandled %d, ready %d", st.Succeeded, st.Scheduled, st.Unhandled, st.Ready)
		}
		if page, err := s.List(t.Context(), sched.ListRequest{Kind: "other", Limit: 1000}); err != nil || len(page) != 100 {
			t.Errorf("%d are listed, %v", len(page), err)
		}
		axtest.Wait(24 * time.Hour)
		s.Drain(t.Context())
		s = begin(t, on(b, sched.Config{Mux: muxOf(map[string]ax.HandlerFunc{"other": r.handler(nil)}), Clock: clock, Node: "n"}))
		axtest.Wait(0)
		if st := s.Stats(); st.Succeeded != 100 || st.Unhandled != 0 {
			t.Errorf("a process that has the handler: %d succeeded, %d unhandled", st.Succeeded, st.Unhandled)
		}
		strict := begin(t, sched.Config{Mux: one(r.handler(nil)), RefuseUnknownKinds: true})
		_, err := strict.Submit(t.Context(), ax.Submission{ID: "a", Kind: "other"})
		var e *ax.Error
		if !errors.Is(err, ax.ErrNoHandler) || !errors.As(err, &e) || e.Field != "Kind" || e.Value != `"other"` {
			t.Errorf("refused with %v", err)
		}
		submit(t, strict, ax.Submission{ID: "b"})
	})
}

// WaitForRoom: a submission waits, in line, until there is room, its context ends, or the scheduler is shut down.
func TestWaitForRoom(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		s := begin(t, sched.Config{Mux: one(r.handler(sleep(time.Second))), Workers: 1, MaxPending: 2, WaitForRoom: true})
		submitAll(t, s, many(2, "first", ax.Submission{}))
		var mu sync.Mutex
		made := map[string]time.Duration{}
		var group sync.WaitGroup
		for i := range 5 {
			axtest.Wait(0) // in this order
			group.Go(func() {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				if i == 1 { // gives up before there is room
					time.AfterFunc(500*time.Millisecond, cancel)
				}
				id := fmt.Sprint("wait-", i)
				a, err := s.Submit(ctx, ax.Submission{ID: id, Kind: "work"})
				switch {
				case i == 1 && (!errors.Is(err, context.Canceled) || errors.Is(err, ax.ErrUnknown)):
					t.Errorf("the one who gives up hears %v", err)
				case i != 1 && (err != nil || a.Code != ax.Made):
					t.Errorf("%s: %v %v", id, a.Code, err)
				case i != 1:
					mu.Lock()
					made[id] = time.Since(r.base)
					mu.Unlock()
				}
			})
		}
		axtest.Wait(0)
		if st := s.Stats(); st.Waiting != 5 || st.Pending != 2 {
			t.Errorf("%d wait, %d pending", st.Waiting, st.Pending)
		}
		group.Wait()
		axtest.Wait(time.Minute)
		for i, at := range map[string]time.Duration{"wait-0": time.Second, "wait-2": 2 * time.Second, "wait-3": 3 * time.Second, "wait-4": 4 * time.Second} {
			if made[i] != at {
				t.Errorf("%s was created at %v, want %v", i, made[i], at)
			}
		}
		if _, err := s.Get(t.Context(), "wait-1"); !errors.Is(err, ax.ErrNoTask) {
			t.Errorf("the one who gave up: %v", err)
		}
		if st := s.Stats(); st.Succeeded != 6 || st.Waiting != 0 {
			t.Errorf("%d succeeded, %d wait", st.Succeeded, st.Waiting)
		}
	})
}

// Batches wait too, each submission for itself; a shutdown answers those that still wait.
func TestWaitForRoomInBatches(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		s := begin(t, sched.Config{Mux: one(r.handler(sleep(time.Second))), Workers: 2, MaxPending: 4, WaitForRoom: true})
		answers, err := s.SubmitMany(t.Context(), many(20, "t", ax.Submission{}))
		if took := time.Since(r.base); err != nil || took != 8*time.Second {
			t.Errorf("20 into 4 places took %v, %v", took, err)
		}
		for i, a := range answers {
			if a.Code != ax.Made {
				t.Errorf("%d: %v %v", i, a.Code, a.Err)
			}
		}
		axtest.Wait(time.Minute)
		var closed atomic.Int32
		var group sync.WaitGroup
		submitAll(t, s, many(4, "full", ax.Submission{In: time.Hour}))
		for range 10 {
			group.Go(func() {
				if _, err := s.Submit(context.Background(), ax.Submission{Kind: "work"}); errors.Is(err, ax.ErrClosed) {
					closed.Add(1)
				}
			})
		}
		axtest.Wait(0)
		s.Drain(t.Context())
		group.Wait()
		if closed.Load() != 10 {
			t.Errorf("%d of 10 that waited heard ErrClosed", closed.Load())
		}
	})
}

// MaxPending counts what has not ended, over all partitions, and frees as tasks end in whatever way.
func TestMaxPending(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		s := begin(t, sched.Config{Mux: one(r.handler(sleep(time.Second))), MaxPending: 10, Partitions: 4})
		ids := submitAll(t, s, many(10, "t", ax.Submission{In: time.Hour}))
		full := func(what string, want bool) {
			t.Helper()
			_, err := s.Submit(t.Context(), ax.Submission{Kind: "work", In: time.Hour})
			if errors.Is(err, ax.ErrFull) != want || !want && err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		full("10 of 10", true)
		if a, err := s.Submit(t.Context(), ax.Submission{ID: ids[0], Kind: "work"}); err != nil || a.Code != ax.Known {
			t.Errorf("a repeat needs no room: %v %v", a.Code, err)
		}
		s.Cancel(t.Context(), ids[0])
		full("one was canceled", false)
		full("10 again", true)
		s.RunNow(t.Context(), ids[1])
		axtest.Wait(time.Second)
		full("one ended", false)
		full("10 again", true)
		answers, _ := s.SubmitMany(t.Context(), many(3, "u", ax.Submission{}))
		for _, a := range answers {
			if !errors.Is(a.Err, ax.ErrFull) {
				t.Errorf("in a batch: %+v", a)
			}
		}
		if _, err := s.Rerun(t.Context(), ids[1]); !errors.Is(err, ax.ErrFull) {
			t.Errorf("a re-run needs room: %v", err)
		}
	})
}

// A slow listener loses events beyond the bound, counted, and holds nothing up.
func TestSlowListener(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		release := make(chan struct{})
		var heard atomic.Int64
		s := begin(t, sched.Config{Mux: one(r.handler(nil)), OnEvent: func(sched.Event) { <-release; heard.Add(1) }})
		const n = 70_000
		for range n / 10_000 {
			var subs []ax.Submission
			for range 10_000 {
				subs = append(subs, ax.Submission{Kind: "work"})
			}
			submitAll(t, s, subs)
			axtest.Wait(0)
		}
		st := s.Stats()
		if st.Succeeded != n || st.EventsDropped == 0 || st.EventsDropped > n-65536 {
			t.Errorf("%d succeeded, %d events dropped", st.Succeeded, st.EventsDropped)
		}
		close(release)
		axtest.Wait(0)
		if got := heard.Load(); got != int64(n-st.EventsDropped) {
			t.Errorf("heard of %d, %d were dropped", got, st.EventsDropped)
		}
	})
}

// What has gone leaves nothing behind: memory does not grow with the number of tasks that were canceled.
func TestCanceledTasksAreFreed(t *testing.T) {
	if testing.Short() {
		t.Skip("a million tasks")
	}
	s := begin(t, sched.Config{Dedupe: sched.Dedupe{Max: 100}, Keep: 100})
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	cycle := func(round int) {
		ids := submitAll(t, s, many(5000, fmt.Sprint("r", round), ax.Submission{In: time.Hour}))
		var group sync.WaitGroup
		for g := range 10 {
			group.Go(func() {
				for _, id := range ids[g*500 : (g+1)*500] {
					if _, err := s.Cancel(context.Background(), id); err != nil {
						t.Errorf("%v", err)
					}
				}
			})
		}
		group.Wait()
	}
	for i := range 5 {
		cycle(i)
	}
	before := heap()
	for i := range 20 {
		cycle(5 + i)
	}
	if after := heap(); after > before+8<<20 {
		t.Errorf("the heap grew from %d to %d KiB over 100,000 canceled tasks", before>>10, after>>10)
	}
	if st := s.Stats(); st.Pending != 0 || st.Canceled != 125_000 {
		t.Errorf("%d pending, %d canceled", st.Pending, st.Canceled)
	}
}
