package sched

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/engine"
)

// look has read what the engines want to know of tasks that are not in memory, as they are due beyond the horizon.
func (s *Scheduler) look() {
	for _, w := range s.node.TakeWindows() {
		s.group.Go(func() { s.readWindow(w) })
	}
	if wanted := s.node.TakeWanted(); len(wanted) > 0 {
		s.lookups.put(wanted)
	}
}

// readWindow reads a window, page by page, until its end or that of the scheduler. The next page is read when the loop has
// had the one before, so that no more than one is held.
func (s *Scheduler) readWindow(w engine.Window) {
	req := ax.ScanRequest{Partition: w.Partition, Token: w.Token, Index: ax.IndexDue, After: w.After, To: w.To}
	for {
		var page ax.Page
		if !s.untilRead(func(ctx context.Context) (err error) {
			page, err = s.cfg.Store.Scan(ctx, req)
			return err
		}) {
			return
		}
		had := make(chan struct{})
		s.call(func() {
			defer close(had)
			s.node.Found(w, page.Tasks)
			if page.Next == "" {
				s.node.Read(w)
			}
		})
		select {
		case <-had:
		case <-s.dying:
			return
		}
		if req.From = page.Next; req.From == "" {
			return
		}
	}
}

// lookupsAtOnce is how many tasks are looked up at the same time: a store may make each wait for a sync, which they share.
const lookupsAtOnce = 16

// lookup reads the tasks that somebody asks for.
func (s *Scheduler) lookup() {
	for {
		lists, ok := s.lookups.take()
		var all []engine.Wanted
		for _, list := range lists {
			all = append(all, list...)
		}
		tasks, known := make([]*ax.Task, len(all)), make([]bool, len(all))
		var group sync.WaitGroup
		for first := range min(lookupsAtOnce, len(all)) {
			group.Go(func() {
				for i := first; i < len(all); i += lookupsAtOnce {
					known[i] = s.untilRead(func(ctx context.Context) (err error) {
						tasks[i], err = s.cfg.Store.Get(ctx, all[i].ID)
						if errors.Is(err, ax.ErrNoTask) {
							tasks[i], err = nil, nil
						}
						return err
					})
				}
			})
		}
		group.Wait()
		s.call(func() {
			for i, w := range all {
				if known[i] {
					s.node.Fetched(w, tasks[i])
				}
			}
		})
		if !ok {
			return
		}
	}
}

// untilRead reads from the store until it succeeds. It gives up, and reports false, when the partition is another's, the store
// has stopped, or the scheduler ends: then nobody waits for it any more.
func (s *Scheduler) untilRead(read func(context.Context) error) bool {
	for pause := retryPause; ; pause = min(2*pause, time.Second) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		err := read(ctx)
		cancel()
		if err == nil {
			return true
		}
		if errors.Is(err, ax.ErrFenced) || errors.Is(err, ax.ErrClosed) || !s.pause(pause) {
			return false
		}
	}
}

// beyond calls f with the tasks that are not in memory, in the order of their due time. What moves while it reads may be missing, or
// in memory by then.
func (s *Scheduler) beyond(ctx context.Context, f func(*ax.Task)) error {
	if s.horizon == 0 {
		return nil
	}
	for p := range ax.Partition(s.cfg.Partitions) {
		var token ax.Token
		var after ax.Time
		if err := s.callAndWait(ctx, "list", func() { token, after = s.node.Token(p), s.node.UpTo(p) }); err != nil {
			return err
		}
		if token.IsZero() {
			continue
		}
		req := ax.ScanRequest{Partition: p, Token: token, Index: ax.IndexDue, After: after}
		for {
			page, err := s.cfg.Store.Scan(ctx, req)
			if err != nil {
				return err
			}
			for _, t := range page.Tasks {
				f(t)
			}
			if req.From = page.Next; req.From == "" {
				break
			}
		}
	}
	return nil
}
