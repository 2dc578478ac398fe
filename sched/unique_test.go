package sched_test

import (
	"context"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/axtest"
	"github.com/axsched/ax/memory"
	"github.com/axsched/ax/sched"
)

// When is a unique window free again? The table at ax.Unique, by id and by content, with and without a key.
func TestC110_WhenIsAUniqueWindowFree(t *testing.T) {
	const window = 5 * time.Minute
	fail := func(context.Context, *ax.Task) error { return errWork }
	// A step lets time pass or does something to the first task; open says whether a second is then created.
	type step struct {
		name  string
		kind  string
		in    time.Duration
		retry int
		do    func(t *testing.T, s *sched.Scheduler, id string)
		state ax.State // of the first, when the second comes
		open  bool
	}
	pass := func(d time.Duration) func(*testing.T, *sched.Scheduler, string) {
		return func(*testing.T, *sched.Scheduler, string) { axtest.Wait(d) }
	}
	cancel := func(t *testing.T, s *sched.Scheduler, id string) {
		if _, err := s.Cancel(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		axtest.Wait(0)
	}
	steps := []step{
		{"waiting", "ok", time.Hour, 0, pass(0), ax.Scheduled, false},
		{"waiting, past the window", "ok", time.Hour, 0, pass(6 * time.Minute), ax.Scheduled, false},
		{"no handler, past the window", "nobody", 0, 0, pass(6 * time.Minute), ax.Scheduled, false},
		{"canceled while waiting", "ok", time.Hour, 0, cancel, ax.Canceled, true},
		{"running", "slow", 0, 0, pass(time.Minute), ax.Running, false},
		{"running, past the window", "slow", 0, 0, pass(6 * time.Minute), ax.Running, false},
		{"canceled while running, not returned", "slow", 0, 0, func(t *testing.T, s *sched.Scheduler, id string) {
			axtest.Wait(time.Second) // or it is canceled before its handler has begun
			cancel(t, s, id)
		}, ax.Running, false},
		{"to be retried", "fail", 0, 5, pass(time.Minute), ax.Scheduled, false},
		{"to be retried, past the window", "fail", 0, 5, pass(8 * time.Minute), ax.Scheduled, false},
		{"failed for good", "fail", 0, ax.NoRetries, pass(time.Second), ax.Failed, true},
		{"timed out", "slow", 0, 0, pass(15 * time.Minute), ax.Timeout, true},
		{"canceled by its handler", "cancel", 0, 0, pass(time.Second), ax.Canceled, true},
		{"succeeded, at +1 min", "ok", 0, 0, pass(time.Minute), ax.Success, false},
		{"succeeded, just inside of the window", "ok", 0, 0, pass(window - time.Millisecond), ax.Success, false},
	}
	for _, by := range []ax.UniqueBy{ax.ByID, ax.ByContent} {
		for _, key := range []string{"", "k"} {
			for _, c := range steps {
				t.Run(by.String()+"/key "+key+"/"+c.name, func(t *testing.T) {
					bubble(t, func(t *testing.T, r *recorder) {
						mux := muxOf(map[string]ax.HandlerFunc{"ok": r.handler(nil), "slow": r.handler(sleep(14 * time.Minute)),
							"fail": r.handler(fail), "cancel": r.handler(func(context.Context, *ax.Task) error { return ax.Cancel(nil) })})
						s := begin(t, sched.Config{Mux: mux})
						sub := ax.Submission{Key: key, Kind: c.kind, Payload: []byte("p"), In: c.in, MaxRetries: c.retry,
							Timeout: 13 * time.Minute, Backoff: ax.Backoff{Base: 2 * time.Minute, Jitter: -1}, Unique: ax.Unique{By: by, Window: window}}
						if by == ax.ByID {
							sub.ID = "id"
						}
						first := submit(t, s, sub)
						c.do(t, s, first.ID)
						axtest.RequireState(t, s, first.ID, c.state)
						sub.In = 2 * time.Hour // when does not count
						a, err := s.Submit(t.Context(), sub)
						if err != nil || (a.Code == ax.Made) != c.open || !c.open && (a.Code != ax.Known || a.ID != first.ID || a.State != c.state) {
							t.Fatalf("the second: %+v, error %v; the first is %s, %v", a, err, first.ID, c.state)
						}
						if by == ax.ByID && c.open && (a.ID != first.ID || a.Run != 2) {
							t.Errorf("reopened as %s run %d", a.ID, a.Run)
						}
						if !c.open {
							return
						}
						// The second holds the window now, and a third is refused by it.
						third, err := s.Submit(t.Context(), sub)
						if err != nil || third.Code != ax.Known || third.ID != a.ID {
							t.Errorf("the third: %+v, error %v", third, err)
						}
					})
				})
			}
		}
	}
}

// A wait in the queue that is longer than the window: the second is refused while the first waits, runs, and after its
// success only if the window, counted from when it was accepted, were not over.
func TestC110_QueueWaitLongerThanTheWindow(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		mux := muxOf(map[string]ax.HandlerFunc{"work": r.handler(nil), "block": r.handler(sleep(6 * time.Minute))})
		s := begin(t, sched.Config{Mux: mux, Workers: 1})
		submit(t, s, ax.Submission{ID: "block", Kind: "block"})
		sub := ax.Submission{Key: "k", Kind: "work", Unique: ax.Unique{By: ax.ByContent, Window: 5 * time.Minute}}
		first := submit(t, s, sub)
		axtest.Wait(6*time.Minute - 1)
		a, err := s.Submit(t.Context(), sub)
		want(t, "in the queue past its window", a, err, ax.Known, ax.Scheduled, nil)
		axtest.Wait(1)
		axtest.RequireState(t, s, first.ID, ax.Success)
		a, err = s.Submit(t.Context(), sub)
		want(t, "succeeded past its window", a, err, ax.Made, ax.Scheduled, nil)
	})
}

// By content the window opens when it is over; other content, another kind or another key is never in it.
func TestC110_WindowByContent(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		s := begin(t, sched.Config{Mux: muxOf(map[string]ax.HandlerFunc{"work": r.handler(nil), "other": r.handler(nil)})})
		sub := ax.Submission{Key: "k", Kind: "work", Payload: []byte("p"), Unique: ax.Unique{By: ax.ByContent, Window: 5 * time.Minute}}
		submit(t, s, sub)
		axtest.Wait(time.Minute)
		for what, change := range map[string]func(*ax.Submission){
			"payload": func(s *ax.Submission) { s.Payload = []byte("q") },
			"kind":    func(s *ax.Submission) { s.Kind = "other" },
			"key":     func(s *ax.Submission) { s.Key = "l" },
			"no key":  func(s *ax.Submission) { s.Key = "" },
			"not so":  func(s *ax.Submission) { s.Unique = ax.Unique{} },
		} {
			other := sub
			change(&other)
			a, err := s.Submit(t.Context(), other)
			if a.Code != ax.Made {
				t.Errorf("another %s: %v %v", what, a.Code, err)
			}
		}
		for what, change := range map[string]func(*ax.Submission){
			"priority": func(s *ax.Submission) { s.Priority = ax.P(1) },
			"id":       func(s *ax.Submission) { s.ID = "x" },
			"time":     func(s *ax.Submission) { s.In = time.Hour },
		} {
			other := sub
			change(&other)
			a, err := s.Submit(t.Context(), other)
			want(t, "another "+what, a, err, ax.Known, ax.Success, nil)
		}
		axtest.Wait(4 * time.Minute)
		a, err := s.Submit(t.Context(), sub)
		want(t, "when the window is over", a, err, ax.Made, ax.Scheduled, nil)
	})
}

// The process of the first is gone, and nobody knows what became of it: retried, it still holds the window; HELD too.
func TestC110_ExecutorKilled(t *testing.T) {
	for name, hold := range map[string]bool{"retry": false, "hold": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *recorder) {
				clock := axtest.NewClock()
				b := backend(clock, memory.Config{})
				stuck := make(chan struct{})
				dying := axtest.Start(t, on(b, sched.Config{Clock: clock, Node: "dying",
					Mux: one(r.handler(func(context.Context, *ax.Task) error { <-stuck; return nil }))}))
				sub := ax.Submission{Key: "k", Kind: "work", HoldLost: hold, Unique: ax.Unique{By: ax.ByContent, Window: time.Minute}}
				first := submit(t, dying, sub)
				axtest.Wait(0)
				kill(t, dying, stuck)
				s := begin(t, on(b, sched.Config{Clock: clock, Node: "next", Mux: one(r.handler(obey(time.Hour)))}))
				axtest.Wait(5 * time.Minute)
				state := ax.Running
				if hold {
					state = ax.Held
				}
				axtest.RequireState(t, s, first.ID, state)
				a, err := s.Submit(t.Context(), sub)
				want(t, "the second", a, err, ax.Known, state, nil)
				if a, err := s.Cancel(t.Context(), first.ID); err != nil {
					t.Fatal(a, err)
				}
				axtest.Wait(0)
				a, err = s.Submit(t.Context(), sub)
				want(t, "after a cancel", a, err, ax.Made, ax.Scheduled, nil)
			})
		})
	}
}

// kill ends a scheduler whose handlers wait for stuck as far as a test can: it leaves them behind, and its leases are not
// released but run out, as those of a process that was killed. What its handlers do after that reaches nobody.
func kill(t *testing.T, s *sched.Scheduler, stuck chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if receipt, _ := s.Stop(ctx); len(receipt.Running) == 0 {
		t.Fatal("nothing was running: it cannot die in the middle of it")
	}
	time.Sleep(11 * time.Second) // longer than the lease
	close(stuck)
}
