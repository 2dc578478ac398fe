package sim

import (
	"slices"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/engine"
	"github.com/axsched/ax/internal/invariant"
	"github.com/axsched/ax/internal/registry"
	"github.com/axsched/ax/memory"
)

// disk makes the store one that writes a log to a disk: batches follow each other without waiting, are durable in order and
// some time later, and a cut of the power takes a tail of what is not. One process at a time has it.
//
// The book is told of a batch when it is as durable as it asks: of claims that go ahead at once, and so before the batches
// that they went ahead of. If one of those were about the same task, the book would not understand.
type disk struct {
	log     []func(*memory.Backend) // all that was done to the backend
	synced  int                     // so many of log survive a cut of the power
	begun   []*begun                // batches of log[synced:], and before if they were not told
	last    int64                   // when the last sync is done
	refuses map[ax.Partition]bool   // a write failed: nothing more is taken up until it is opened again

	era      uint32 // of this opening
	registry *registry.Registry
}

// begun is a batch that was taken up.
type begun struct {
	n    *node
	b    *ax.Batch
	upTo int // the length of the log with it
	told bool
}

// newEra is what a process does that opens the store: whoever had it is dead.
func (d *disk) newEra(w *world) {
	d.era = max(d.era+1, uint32(epoch/1_000_000))
	d.registry = registry.New(registry.Config{Now: w.clock, Era: d.era})
}

// do does something to the backend and its log. It is durable at once, and so is all before.
func (s *store) do(f func(*memory.Backend)) {
	f(s.Backend)
	if s.disk != nil {
		s.disk.log = append(s.disk.log, f)
		s.sync(len(s.disk.log))
	}
}

// sync makes the log durable up to a point.
func (s *store) sync(upTo int) {
	d := s.disk
	if d == nil {
		return
	}
	d.synced = max(d.synced, upTo)
	for len(d.begun) > 0 && d.begun[0].upTo <= d.synced {
		b := d.begun[0]
		d.begun = d.begun[1:]
		s.told(b)
	}
}

// told tells the book of a batch, if it was not told before.
func (s *store) told(b *begun) {
	if !b.told {
		b.told = true
		s.wrote(b.b)
	}
}

// ahead reports whether the backend has more of a partition than the book was told.
func (s *store) ahead(p ax.Partition) bool {
	return s.disk != nil && slices.ContainsFunc(s.disk.begun, func(b *begun) bool { return !b.told && b.b.Partition == p })
}

// begin is Begin: done is called with the results, at once or after a while, in order.
func (s *store) begin(n *node, batches []*ax.Batch, done func([]error)) {
	f, d := s.take(n, "apply"), s.disk
	if f != nil && !f.after {
		s.w.note("begin-refused", n.name)
		done(slices.Repeat([]error{ax.ErrUnknown}, len(batches)))
		return
	}
	errs, durable := make([]error, len(batches)), false
	for i, b := range batches {
		switch {
		case d.refuses[b.Partition]:
			errs[i] = ax.ErrUnknown
		case s.w.now < s.w.noSpace && len(b.Create) > 0:
			errs[i] = ax.ErrNoSpace
		default:
			c := clone(s.w.opt.Mutant.batch(s, b))
			write := func(m *memory.Backend) error { return m.Apply(ctx, []*ax.Batch{c})[0] }
			if errs[i] = write(s.Backend); errs[i] != nil {
				break
			}
			d.log = append(d.log, func(m *memory.Backend) { _ = write(m) })
			took := &begun{n: n, b: c, upTo: len(d.log)}
			d.begun = append(d.begun, took)
			if c.Durability == ax.Written {
				s.told(took)
			} else {
				durable = true
			}
		}
		s.w.note("begin", n.name, int64(b.Partition), int64(b.Number), int64(b.Durability), int64(len(b.Create)), int64(len(b.Move)), int64(len(b.Delete)), code(errs[i]))
	}
	finish := func() {
		for i, b := range batches {
			if f != nil || errs[i] == nil && d.refuses[b.Partition] {
				errs[i] = ax.ErrUnknown
				d.refuses[b.Partition] = true
			}
		}
		done(errs)
	}
	if !durable || s.w.opt.Mutant == Unsynced {
		finish()
		return
	}
	upTo, epoch := len(d.log), n.epoch
	slow := [...]int64{1, 15, 120}[s.w.pick(3, "disk", "", 0)] // from a good one to one that much piles up before
	d.last = max(d.last, s.w.now+slow*s.w.delay("sync", n.executor, uint64(upTo))+n.late)
	n.late = 0
	s.w.at(d.last-s.w.now, func() {
		if s.disk.era != d.era || n.epoch != epoch {
			return // its process is dead; what it wrote is there, or went with the power
		}
		s.sync(upTo)
		n.after(0, finish)
	})
}

// clone copies what of a batch its owner will use again.
func clone(b *ax.Batch) *ax.Batch {
	c := *b
	c.Delete, c.Finish, c.Create, c.Move = slices.Clone(b.Delete), slices.Clone(b.Finish), slices.Clone(b.Create), slices.Clone(b.Move)
	c.Remember, c.Admit, c.Facts, c.Filed = slices.Clone(b.Remember), slices.Clone(b.Admit), slices.Clone(b.Facts), slices.Clone(b.Filed)
	return &c
}

// cut is a cut of the power, after the process was killed: a tail of what is not durable is gone.
func (s *store) cut() {
	d := s.disk
	keep := d.synced + int(s.w.pick(int64(len(d.log)-d.synced+1), "torn", "", uint64(len(d.log))))
	s.w.note("power", "", int64(d.synced), int64(keep), int64(len(d.log)))
	lost := d.begun
	s.sync(keep)
	lost = lost[len(lost)-len(d.begun):]
	d.begun, d.log = nil, d.log[:keep:keep]
	s.Backend = s.w.backend()
	s.w.arch = s.Archive()
	for _, f := range d.log {
		f(s.Backend)
	}
	for _, b := range slices.Backward(lost) {
		for _, t := range b.b.Move {
			if b.told { // a claim
				s.w.note("undone", t.ID, int64(t.Last.Token.Claim))
				back, err := s.Get(ctx, t.ID)
				if err != nil {
					s.w.book.Broke(invariant.NeverLost, "%v was claimed, and is gone with the power", s.w.view(t))
					return
				}
				s.w.book.Undone(token(t.Last.Token), s.w.view(back))
			}
		}
	}
}

// begin has what the engines want written begun. What comes back at once has its effects once all is begun, as in sched.
func (n *node) begin() {
	for again := true; again; {
		outs := n.eng.Flush()
		var done []func()
		inside := true
		for _, of := range [...]ax.Durability{ax.Written, ax.Durable} {
			some := slices.DeleteFunc(slices.Clone(outs), func(o *engine.Output) bool { return o.Batch.Durability != of })
			if len(some) == 0 {
				continue
			}
			n.acted = true
			batches, back := n.beginning(some)
			if len(batches) == 0 {
				done = append(done, func() { back(nil) })
				continue
			}
			n.w.store.begin(n, batches, func(errs []error) {
				if inside {
					done = append(done, func() { back(errs) })
					return
				}
				back(errs)
			})
		}
		inside, again = false, len(done) > 0
		for _, f := range done {
			f()
		}
	}
}
