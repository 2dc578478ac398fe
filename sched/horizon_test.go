package sched_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/axtest"
	"github.com/axsched/ax/memory"
	"github.com/axsched/ax/sched"
)

// reads is a disk that counts and fails reads.
type reads struct {
	*disk
	gets  atomic.Int64
	scans atomic.Int64
	down  atomic.Bool
}

func (r *reads) Get(ctx context.Context, id string) (*ax.Task, error) {
	r.gets.Add(1)
	if r.down.Load() {
		return nil, ax.ErrUnknown
	}
	return r.disk.Get(ctx, id)
}

func (r *reads) Scan(ctx context.Context, req ax.ScanRequest) (ax.Page, error) {
	r.scans.Add(1)
	if r.down.Load() {
		return ax.Page{}, ax.ErrUnknown
	}
	return r.disk.Scan(ctx, req)
}

func newReads(t *testing.T, b *memory.Backend) *reads {
	return &reads{disk: newDisk(t, b, time.Millisecond)}
}

// Tasks beyond the horizon run on time, over a restart too, and are looked at and changed like all others.
func TestBeyondTheHorizon(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock := axtest.NewClock()
		b := backend(clock, memory.Config{Partitions: 3})
		var store *reads
		start := func() *sched.Scheduler {
			store = newReads(t, b)
			return begin(t, sched.Config{Store: store, Registry: b, Mux: one(r.handler(nil)), Clock: clock, Partitions: 3, Horizon: time.Minute})
		}
		s := start()
		const n = 300
		var subs []ax.Submission
		for i := range n {
			subs = append(subs, ax.Submission{ID: fmt.Sprintf("t-%03d", i), Kind: "work", In: time.Duration(i) * 10 * time.Second})
		}
		submitAll(t, s, subs)
		axtest.Wait(time.Second)
		if st := s.Stats(); st.Pending != n-1 || st.Submitted != n {
			t.Errorf("%d pending of %d", st.Pending, st.Submitted)
		}
		list, err := s.List(t.Context(), sched.ListRequest{Limit: 1000})
		if err != nil || len(list) != n-1 || list[0].ID != "t-001" || list[n-2].ID != "t-299" {
			t.Errorf("%d listed, %v", len(list), err)
		}
		if page, err := s.List(t.Context(), sched.ListRequest{Limit: 10, After: "t-150", State: ax.Scheduled}); err != nil || len(page) != 10 || page[0].ID != "t-151" {
			t.Errorf("%d on the page, %v", len(page), err)
		}
		if x, err := s.Explain(t.Context(), "t-290"); err != nil || x.Why != sched.WhyNotDue {
			t.Errorf("explained: %v, %v", x.Why, err)
		}
		a, err := s.Submit(t.Context(), subs[200])
		want(t, "the same again", a, err, ax.Known, ax.Scheduled, nil)
		other := subs[200]
		other.Payload = []byte("other")
		a, err = s.Submit(t.Context(), other)
		want(t, "another of the same id", a, err, ax.Conflict, ax.Scheduled, ax.ErrConflict)
		a, err = s.Cancel(t.Context(), "t-250")
		want(t, "cancel", a, err, ax.Done, ax.Canceled, nil)
		a, err = s.RescheduleIn(t.Context(), "t-260", 10*time.Second)
		want(t, "reschedule", a, err, ax.Done, ax.Scheduled, nil)
		a, err = s.RunNow(t.Context(), "t-270")
		want(t, "run now", a, err, ax.Done, ax.Scheduled, nil)
		if _, err = s.Cancel(t.Context(), "nobody"); !errors.Is(err, ax.ErrNoTask) {
			t.Errorf("cancel of nobody: %v", err)
		}
		axtest.Wait(20 * time.Minute)
		receipt, err := s.Drain(t.Context())
		if err != nil || receipt.Waiting == 0 || receipt.Done+len(receipt.Returned)+receipt.Waiting != n || len(receipt.Returned) > 20 {
			t.Errorf("%v: done %d, returned %d, waiting %d", err, receipt.Done, len(receipt.Returned), receipt.Waiting)
		}
		s = start()
		a, err = s.Submit(t.Context(), subs[280])
		want(t, "the same after a restart", a, err, ax.Known, ax.Scheduled, nil)
		axtest.Wait(2 * time.Hour)
		for i := range n {
			id, due := fmt.Sprintf("t-%03d", i), time.Duration(i)*10*time.Second
			starts := r.of(id)
			switch {
			case i == 250:
				if len(starts) != 0 {
					t.Error("the canceled one ran")
				}
			case len(starts) != 1:
				t.Errorf("%s ran %d times", id, len(starts))
			case i == 260 || i == 270:
				if starts[0].at > 15*time.Second {
					t.Errorf("%s started after %v", id, starts[0].at)
				}
			case starts[0].at < due || starts[0].at > due+10*time.Millisecond:
				t.Errorf("%s started after %v, it was due after %v", id, starts[0].at, due)
			}
		}
		if st := s.Stats(); st.Pending != 0 {
			t.Errorf("%d pending", st.Pending)
		}
		scans := store.scans.Load()
		axtest.Wait(time.Hour)
		if n := store.scans.Load() - scans; n > 3*2*3600/5 { // the inboxes
			t.Errorf("%d scans in an idle hour", n)
		}
	})
}

// Who asks for a far task while the store cannot be read waits, and all else goes on; a shutdown does not wait for it.
func TestLookUpWhileAway(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock := axtest.NewClock()
		b := backend(clock, memory.Config{})
		store := newReads(t, b)
		s := axtest.Start(t, sched.Config{Store: store, Registry: b, Mux: one(r.handler(nil)), Clock: clock, Horizon: time.Minute})
		submit(t, s, ax.Submission{ID: "far", In: time.Hour})
		submit(t, s, ax.Submission{ID: "other", In: time.Hour})
		axtest.Wait(time.Second)
		store.down.Store(true)
		canceled := make(chan error, 1) // its one value
		go func() { _, err := s.Cancel(context.Background(), "far"); canceled <- err }()
		axtest.Wait(30 * time.Second)
		if _, err := s.Submit(t.Context(), ax.Submission{ID: "near", Kind: "work"}); err != nil {
			t.Error(err)
		}
		axtest.Wait(time.Second)
		if len(r.of("near")) != 1 {
			t.Error("the near one did not run")
		}
		select {
		case err := <-canceled:
			t.Errorf("answered without knowing: %v", err)
		default:
		}
		if n := store.gets.Load(); n > 100 {
			t.Errorf("%d reads in half a minute", n)
		}
		store.down.Store(false)
		axtest.Wait(2 * time.Second)
		if err := <-canceled; err != nil {
			t.Error(err)
		}
		store.down.Store(true)
		go func() { _, err := s.Cancel(context.Background(), "other"); canceled <- err }()
		axtest.Wait(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		began := time.Now()
		if _, err := s.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("drain: %v", err)
		}
		if took := time.Since(began); took > 7*time.Second {
			t.Errorf("the drain took %v", took)
		}
		if err := <-canceled; !errors.Is(err, ax.ErrUnknown) {
			t.Errorf("who waits hears %v", err)
		}
	})
}
