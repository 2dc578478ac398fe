package sched

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/engine"
)

// outbox passes things from the loop to one goroutine without the loop ever waiting.
type outbox[T any] struct {
	mu     sync.Mutex
	list   []T           // guarded by mu
	closed bool          // guarded by mu
	more   chan struct{} // holds one wake-up: several coalesce
	most   int           // 0: no bound, since what is put must stay somewhere
}

func newOutbox[T any](most int) *outbox[T] {
	return &outbox[T]{more: make(chan struct{}, 1), most: most}
}

// put adds one; false if the box is full.
func (o *outbox[T]) put(v T) bool {
	o.mu.Lock()
	full := o.most > 0 && len(o.list) >= o.most
	if !full {
		o.list = append(o.list, v)
	}
	o.mu.Unlock()
	o.poke()
	return !full
}

func (o *outbox[T]) poke() {
	select {
	case o.more <- struct{}{}:
	default: // coalesces
	}
}

func (o *outbox[T]) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.poke()
}

// take waits for something and takes all of it; ok is false once the box is closed and this was the last.
func (o *outbox[T]) take() (list []T, ok bool) {
	for {
		<-o.more
		o.mu.Lock()
		list, o.list = o.list, nil
		closed := o.closed
		o.mu.Unlock()
		if len(list) > 0 || closed {
			if closed {
				o.poke()
			}
			return list, !closed
		}
	}
}

// archivist hands finished tasks to the archive, and tells the loop what it has. Until then they stay in the store.
func (s *Scheduler) archivist(ctx context.Context) {
	for {
		list, ok := s.archive.take()
		var tasks []*ax.Task
		var facts []ax.Fact
		for i := range list {
			tasks, facts = append(tasks, list[i].Ended...), append(facts, list[i].Facts...)
		}
		for pause := retryPause; len(list) > 0; pause = min(2*pause, time.Second) {
			err := s.cfg.Archive.Append(ctx, tasks, facts)
			if err == nil {
				s.mail.post(func(m *mail) { m.filed = append(m.filed, merge(list)...) })
				break
			}
			s.cfg.Logger.Warn("could not archive; what ended stays in the store", "tasks", len(tasks), "error", err)
			if ctx.Err() != nil || !s.pause(pause) {
				break
			}
		}
		if !ok {
			return
		}
	}
}

// merge joins the filings of each partition, so that the loop has one of each.
func merge(list []engine.Filing) []engine.Filing {
	var out []engine.Filing
	for _, f := range list {
		i := slices.IndexFunc(out, func(g engine.Filing) bool { return g.Partition == f.Partition })
		if i < 0 {
			out = append(out, engine.Filing{Partition: f.Partition})
			i = len(out) - 1
		}
		out[i].Ended, out[i].Facts = append(out[i].Ended, f.Ended...), append(out[i].Facts, f.Facts...)
		out[i].Parts += f.Parts
	}
	return out
}
