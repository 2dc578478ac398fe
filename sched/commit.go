package sched

import (
	"context"
	"slices"
	"sync"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/engine"
)

// maxWriting is how many Apply calls may be under way at once, each with what all partitions had ready: one is being
// written while the next is being built.
const maxWriting = 2

// commit has written what the engines want written, and does what waited for it if that is known at once.
func (s *Scheduler) commit() {
	if s.pipe != nil {
		s.begin()
	} else if s.writing < maxWriting { // otherwise it piles up, and makes the next one larger
		if outs := s.node.Flush(); len(outs) > 0 {
			s.writing++
			s.commits <- outs // has room: at most maxWriting are under way
		}
	}
	if forgotten := s.node.Forgetful(pruneAfter); len(forgotten) > 0 {
		s.prunes.put(forgotten)
	}
	parts, errs := s.node.Broken()
	for i, p := range parts {
		s.reopen(p, errs[i])
	}
}

// hear hands the results of writes to the engines, and does what waited for them.
func (s *Scheduler) hear(list []committed) {
	for i := range list {
		c := &list[i]
		s.writing--
		for k, o := range c.outs {
			if c.errs[k] == nil && !o.Batch.Empty() {
				delete(s.pauses, o.Batch.Partition)
			}
		}
		for _, o := range s.node.Committed(c.outs, c.errs) {
			s.effects(o)
		}
	}
}

// begin hands batches to a store that does not make the loop wait. What it has done by then has its effects in this turn,
// and makes room for what had to wait.
func (s *Scheduler) begin() {
	for {
		outs := s.node.Flush()
		if len(outs) == 0 {
			return
		}
		for _, of := range [...]ax.Durability{ax.Written, ax.Durable} { // claims first: they have the lower numbers
			if some := durability(outs, of); len(some) > 0 {
				s.writing++
				s.pipe.begin(some)
			}
		}
		got := s.pipe.take()
		s.hear(got)
		if len(got) == 0 {
			return
		}
	}
}

// durability returns those of outs that ask for it. A call for both would be done only when the slower is.
func durability(outs []*engine.Output, of ax.Durability) []*engine.Output {
	other := func(o *engine.Output) bool { return o.Batch.Durability != of }
	if !slices.ContainsFunc(outs, other) {
		return outs
	}
	return slices.DeleteFunc(slices.Clone(outs), other)
}

// pipe is a store that lets batches follow each other. The loop begins writes; what became of them comes back on any
// goroutine, also within the call.
type pipe struct {
	store ax.Pipeliner // immutable
	wake  func()       // immutable

	mu     sync.Mutex
	inside bool        // guarded by mu; the loop is in Begin, and will look when it returns
	done   []committed // guarded by mu
}

// begin hands over what is to be written. Loop only; take follows.
func (p *pipe) begin(outs []*engine.Output) {
	p.mu.Lock()
	p.inside = true
	p.mu.Unlock()
	batches := batchesOf(outs)
	if len(batches) == 0 {
		p.add(committed{outs, make([]error, len(outs))})
		return
	}
	p.store.Begin(batches, func(errs []error) { p.add(committed{outs, errorsOf(outs, errs)}) })
}

func (p *pipe) add(c committed) {
	p.mu.Lock()
	p.done = append(p.done, c)
	inside := p.inside
	p.mu.Unlock()
	if !inside {
		p.wake()
	}
}

// take returns what has been done since it was called last. Loop only.
func (p *pipe) take() []committed {
	p.mu.Lock()
	defer p.mu.Unlock()
	done := p.done
	p.done, p.inside = nil, false
	return done
}

// write is a writer's goroutine.
func (s *Scheduler) write() {
	for outs := range s.commits {
		errs := make([]error, len(outs))
		if batches := batchesOf(outs); len(batches) > 0 {
			errs = errorsOf(outs, s.cfg.Store.Apply(context.Background(), batches)) // not to be given up halfway
		}
		s.mail.post(func(m *mail) { m.committed = append(m.committed, committed{outs, errs}) })
	}
}

// batchesOf returns what of outputs is to be written.
func batchesOf(outs []*engine.Output) []*ax.Batch {
	batches := make([]*ax.Batch, 0, len(outs))
	for _, o := range outs {
		if !o.Batch.Empty() {
			batches = append(batches, o.Batch)
		}
	}
	return batches
}

// errorsOf returns one error for each output, from those for batchesOf.
func errorsOf(outs []*engine.Output, got []error) []error {
	if len(got) == len(outs) {
		return got
	}
	errs := make([]error, len(outs))
	for i, o := range outs {
		if !o.Batch.Empty() {
			errs[i], got = got[0], got[1:]
		}
	}
	return errs
}
