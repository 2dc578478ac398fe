package sched_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/axtest"
	"github.com/axsched/ax/internal/registry"
	"github.com/axsched/ax/memory"
	"github.com/axsched/ax/sched"
)

// disk is a store whose durable batches take a while, one call after the other, and do not hold up whoever begins them.
type disk struct {
	*memory.Backend
	sync  time.Duration // for each call
	calls chan syncing
	fail  func(call int) (before, after bool) // whether a call is refused, or done and its outcome not known
	begun atomic.Int64
	most  atomic.Int64
	under atomic.Int64
	full  atomic.Pointer[ax.Error]
	dead  atomic.Pointer[ax.Error]
	mu    sync.Mutex
	bad   map[ax.Partition]bool // guarded by mu; nothing is taken up until it is opened again
}

type syncing struct {
	batches []ax.Partition
	errs    []error
	lost    bool
	done    func([]error)
}

func newDisk(t *testing.T, b *memory.Backend, sync time.Duration) *disk {
	d := &disk{Backend: b, sync: sync, calls: make(chan syncing, 100), bad: map[ax.Partition]bool{}}
	go d.syncer()
	t.Cleanup(func() { close(d.calls) })
	return d
}

func (d *disk) syncer() {
	for c := range d.calls {
		time.Sleep(d.sync)
		d.mu.Lock()
		for i, p := range c.batches {
			if c.errs[i] == nil && (c.lost || d.bad[p]) {
				c.errs[i], d.bad[p] = ax.ErrUnknown, true
			}
			if dead := d.dead.Load(); dead != nil {
				c.errs[i] = fmt.Errorf("%w: %w", ax.ErrUnknown, dead)
			}
		}
		d.mu.Unlock()
		d.under.Add(-1)
		c.done(c.errs)
	}
}

func (d *disk) Begin(batches []*ax.Batch, done func([]error)) {
	call := syncing{errs: make([]error, len(batches)), done: done}
	var before bool
	if n := d.begun.Add(1); d.fail != nil {
		before, call.lost = d.fail(int(n))
	}
	durable := false
	d.mu.Lock()
	for i, b := range batches {
		call.batches = append(call.batches, b.Partition)
		if before || d.bad[b.Partition] {
			call.errs[i] = ax.ErrUnknown
			continue
		}
		call.errs[i] = d.Apply(context.Background(), batches[i:i+1])[0]
		durable = durable || call.errs[i] == nil && b.Durability == ax.Durable
	}
	d.mu.Unlock()
	if !durable {
		done(call.errs)
		return
	}
	d.most.Store(max(d.most.Load(), d.under.Add(1)))
	d.calls <- call
}

func (d *disk) Open(ctx context.Context, p ax.Partition, token ax.Token) (ax.Opened, error) {
	if err := d.dead.Load(); err != nil {
		return ax.Opened{}, err
	}
	d.mu.Lock()
	delete(d.bad, p)
	d.mu.Unlock()
	return d.Backend.Open(ctx, p, token)
}

func (d *disk) Room() error {
	if err := d.full.Load(); err != nil {
		return err
	}
	return nil
}

// Batches follow each other while one is synced, and the claim of a task that is safe waits for none of them.
func TestClaimsWaitForNoSync(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock := axtest.NewClock()
		d := newDisk(t, backend(clock, memory.Config{}), 100*time.Millisecond)
		s := begin(t, sched.Config{Store: d, Registry: d, Mux: one(r.handler(sleep(time.Second))), Clock: clock})
		submit(t, s, ax.Submission{ID: "due", In: time.Second})
		began := time.Now()
		var group sync.WaitGroup
		for i := range 40 { // writes that never pause, over the second
			group.Go(func() {
				time.Sleep(time.Duration(i) * 40 * time.Millisecond)
				submit(t, s, ax.Submission{ID: fmt.Sprint("busy-", i), In: time.Hour})
			})
		}
		group.Wait()
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("40 submissions in a row of 40 ms took %v", took)
		}
		if starts := r.of("due"); len(starts) != 1 || starts[0].at > 1101*time.Millisecond {
			t.Errorf("started %v; it was safe at 100 ms and due 1 s after it was submitted", starts)
		} else if starts[0].at > 1001*time.Millisecond {
			t.Errorf("waited for a sync: started at %v", starts[0].at)
		}
		if n := d.most.Load(); n != 2 {
			t.Errorf("%d durable writes at once, want 2", n)
		}
		axtest.Wait(2 * time.Hour)
		if n := len(r.all()); n != 41 {
			t.Errorf("%d tasks ran", n)
		}
	})
}

// Writes fail before they are done or after, with others behind them under way: nobody gets a wrong answer, every task runs to
// its end, none is lost or done twice by the books.
func TestPipelinedWritesFail(t *testing.T) {
	for _, every := range []int{2, 3, 7} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprint("every ", every, ", after ", after), func(t *testing.T) {
				bubble(t, func(t *testing.T, r *recorder) {
					clock := axtest.NewClock()
					d := newDisk(t, backend(clock, memory.Config{Partitions: 2}), 3*time.Millisecond)
					d.fail = func(call int) (bool, bool) {
						fails := call%every == 0 && call < 300*every
						return fails && !after, fails && after
					}
					cfg := sched.Config{Store: d, Registry: d, Clock: clock, Partitions: 2, Workers: 5, Limits: sched.Limits{EachKey: sched.Limit{Concurrent: 2}}}
					cfg.Mux = one(r.handler(func(_ context.Context, task *ax.Task) error {
						time.Sleep(2 * time.Millisecond)
						if task.Attempt == 1 && len(task.ID)%3 == 0 {
							return errWork
						}
						return nil
					}))
					s := begin(t, cfg)
					const n = 120
					var group sync.WaitGroup
					for i := range n {
						group.Go(func() {
							time.Sleep(time.Duration(i) * time.Millisecond)
							sub := ax.Submission{ID: fmt.Sprintf("k%d/%d", i%7, i), Kind: "work", In: time.Duration(i%5) * time.Millisecond, Ordered: i%2 == 0, Backoff: ax.Backoff{Base: 5 * time.Millisecond}}
							a, err := s.Submit(t.Context(), sub)
							if err != nil || a.Code != ax.Made {
								t.Errorf("submission %d: %v %v", i, a.Code, err)
							}
							if a, err = s.Submit(t.Context(), sub); err != nil || a.Code != ax.Known {
								t.Errorf("submission %d again: %v %v", i, a.Code, err)
							}
						})
					}
					group.Wait()
					axtest.Wait(10 * time.Minute)
					for i := range n {
						id := fmt.Sprintf("k%d/%d", i%7, i)
						task := axtest.RequireState(t, s, id, ax.Success)
						tries := 1
						if len(id)%3 == 0 {
							tries = 2
						}
						if starts, noted := len(r.of(id)), begun(task); starts != tries || noted != tries || int(task.Attempt) != tries {
							t.Errorf("%s started %d times, %d are noted, the last is number %d, want %d", id, starts, noted, task.Attempt, tries)
						}
					}
					if st := s.Stats(); st.Submitted != n || st.Succeeded != n || st.Pending != 0 || st.Running != 0 {
						t.Errorf("%+v", st)
					}
				})
			})
		}
	}
}

// While the store says that it has no room, nothing is created, here or from the inbox, and all else goes on.
func TestNoRoom(t *testing.T) {
	for _, wait := range []bool{false, true} {
		t.Run(fmt.Sprint("wait for room ", wait), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *recorder) {
				clock := axtest.NewClock()
				b := backend(clock, memory.Config{})
				d := newDisk(t, b, time.Millisecond)
				s := begin(t, sched.Config{Store: d, Registry: d, Mux: one(r.handler(sleep(time.Second))), Clock: clock, WaitForRoom: wait, MaxPending: 4})
				submitAll(t, s, many(3, "t", ax.Submission{}))
				submit(t, s, ax.Submission{ID: "later", In: time.Hour})
				line := make(chan error, 1) // its one value
				if wait {
					go func() {
						_, err := s.Submit(context.Background(), ax.Submission{ID: "in-line", Kind: "work"})
						line <- err
					}()
					axtest.Wait(0)
				}
				d.full.Store(&ax.Error{Op: "submit", Reason: "the disk is full: 3 MiB are left", Err: ax.ErrNoSpace})
				refused := func(what string, a ax.Answer, err error) {
					t.Helper()
					if a.Code != ax.Refused || !errors.Is(err, ax.ErrNoSpace) || !strings.Contains(fmt.Sprint(err), "3 MiB are left") {
						t.Errorf("%s: %v %v", what, a.Code, err)
					}
				}
				axtest.Wait(500 * time.Millisecond)
				a, err := s.Submit(t.Context(), ax.Submission{ID: "more", Kind: "work"})
				refused("a submission", a, err)
				if wait {
					if err := <-line; !errors.Is(err, ax.ErrNoSpace) {
						t.Errorf("who waited in line hears %v", err)
					}
				}
				if _, err := d.Submit(t.Context(), 0, []ax.Entry{{ID: "from-inbox", Verb: ax.VerbSubmit, Version: 1, Task: &ax.Task{ID: "from-inbox", Kind: "work", State: ax.Scheduled, Run: 1, Timeout: 60_000}},
					{ID: "c", Verb: ax.VerbCancel, Version: 1, Target: "later"}}); err != nil {
					t.Fatal(err)
				}
				axtest.Wait(2 * time.Second)
				for i := range 3 {
					axtest.RequireState(t, s, fmt.Sprint("t-", i), ax.Success)
				}
				axtest.RequireState(t, s, "later", ax.Canceled)
				a, err = s.Rerun(t.Context(), "t-0")
				refused("a re-run", a, err)
				if n := len(r.of("from-inbox")); n != 0 {
					t.Error("created from the inbox without room")
				}
				calls := d.begun.Load()
				axtest.Wait(time.Minute)
				if n := d.begun.Load() - calls; n > 0 {
					t.Errorf("%d writes in a quiet minute", n)
				}
				d.full.Store(nil)
				axtest.Wait(10 * time.Second)
				axtest.RequireState(t, s, "from-inbox", ax.Success)
				submit(t, s, ax.Submission{ID: "more"})
			})
		})
	}
}

// The store stops for good, as one does whose disk has failed: who waits hears that nobody knows, who comes later that it has
// stopped, both why, and a shutdown ends.
func TestStoreStops(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock := axtest.NewClock()
		d := newDisk(t, backend(clock, memory.Config{}), 100*time.Millisecond)
		s := axtest.Start(t, sched.Config{Store: d, Registry: d, Mux: one(r.handler(obey(time.Hour))), Clock: clock})
		submit(t, s, ax.Submission{ID: "runs"})
		var group sync.WaitGroup
		for i := range 5 {
			group.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				_, err := s.Submit(context.Background(), ax.Submission{ID: fmt.Sprint("w", i), Kind: "work", In: time.Hour})
				if !errors.Is(err, ax.ErrUnknown) || !errors.Is(err, ax.ErrClosed) || !strings.Contains(fmt.Sprint(err), "input/output error") {
					t.Errorf("who waits hears %v", err)
				}
			})
		}
		d.dead.Store(&ax.Error{Op: "journal", Reason: "the disk failed: input/output error", Err: ax.ErrClosed})
		group.Wait()
		axtest.Wait(time.Minute)
		_, err := s.Submit(t.Context(), ax.Submission{ID: "late", Kind: "work"})
		if !errors.Is(err, ax.ErrClosed) || errors.Is(err, ax.ErrUnknown) || !strings.Contains(fmt.Sprint(err), "input/output error") {
			t.Errorf("who comes later hears %v", err)
		}
		began := time.Now()
		s.Stop(t.Context())
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("stopping took %v", took)
		}
	})
}

// opening is a store that one process at a time has open.
type opening struct {
	*memory.Backend
	*registry.Registry
	era uint32
}

func (o *opening) Era() uint32  { return o.era }
func (o *opening) Close() error { o.Registry.Close(); return nil }

// What a process left running when it died is tried again at once by the next, and counts, also what is to be held when nobody
// knows: here it is known. A task that kills its process each time fails in the end.
func TestTheDeadAreKnown(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock := axtest.NewClock()
		b := backend(clock, memory.Config{})
		var life atomic.Int64
		mux := one(r.handler(func(_ context.Context, task *ax.Task) error {
			if task.ID == "poison" || life.Load() == 1 {
				time.Sleep(12 * time.Hour) // its process dies
			}
			return nil
		}))
		var s *sched.Scheduler
		for life.Add(1); life.Load() <= 4; life.Add(1) {
			era := uint32(1_900_000_000 + life.Load())
			o := &opening{b, registry.New(registry.Config{Now: clock.Now, Era: era}), era}
			s = axtest.Start(t, sched.Config{Store: o, Registry: o, Mux: mux, Clock: clock})
			if life.Load() == 1 {
				submit(t, s, ax.Submission{ID: "poison", MaxRetries: 2, HoldLost: true, Backoff: ax.Backoff{Base: time.Second}, Timeout: time.Hour})
				submit(t, s, ax.Submission{ID: "victim", HoldLost: true, Backoff: ax.Backoff{Base: time.Second}, Timeout: time.Hour})
				submit(t, s, ax.Submission{ID: "canceled", HoldLost: true, Timeout: time.Hour})
				axtest.Wait(0)
				if _, err := s.Cancel(t.Context(), "canceled"); err != nil {
					t.Fatal(err)
				}
			}
			axtest.Wait(time.Minute)
			if st := s.Stats(); st.Held != 0 {
				t.Errorf("life %d: %d held", life.Load(), st.Held)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			s.Stop(ctx) // the handlers do not return: they are left behind
		}
		axtest.RequireState(t, s, "victim", ax.Success)
		axtest.RequireState(t, s, "canceled", ax.Canceled)
		poison := axtest.RequireState(t, s, "poison", ax.Failed)
		if poison.Attempt != 3 || poison.Last.Outcome != ax.OutcomeInterrupted || poison.Last.Error != "its process ended before it did" || len(r.of("poison")) != 3 {
			t.Errorf("%d starts, attempt %d ended as %v: %q", len(r.of("poison")), poison.Attempt, poison.Last.Outcome, poison.Last.Error)
		}
	})
}
