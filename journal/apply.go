package journal

import (
	"context"
	"fmt"

	"github.com/axsched/ax"
	"github.com/axsched/ax/journal/record"
)

// Apply writes batches and waits until they are as durable as they ask; see ax.Store. The batches of a call are written
// one after the other, and share a sync. It answers ErrUnknown only when the disk failed, and then everything is refused
// from there on. A context that ends meanwhile is not looked at.
func (b *Backend) Apply(ctx context.Context, batches []*ax.Batch) []error {
	if err := ctx.Err(); err != nil {
		return all(len(batches), err)
	}
	c := make(chan []error, 1) // its one value
	b.Begin(batches, func(errs []error) { c <- errs })
	return <-c
}

// Begin writes batches and does not wait for the disk; see ax.Pipeliner.
func (b *Backend) Begin(batches []*ax.Batch, done func([]error)) {
	errs := make([]error, len(batches))
	durable := false
	b.mu.Lock()
	for i, batch := range batches {
		if errs[i] = b.begin(batches[:i], errs, batch); errs[i] == nil && batch.Durability == ax.Durable {
			durable = true
		}
	}
	if durable {
		b.await(func(err error) {
			for i := range errs {
				if errs[i] == nil {
					errs[i] = err
				}
			}
			done(errs)
		})
		b.mu.Unlock()
		return
	}
	b.mu.Unlock()
	done(errs)
}

func all(n int, err error) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// begin checks one batch, writes it, and changes the index. What was written of a batch that is refused does not count.
func (b *Backend) begin(before []*ax.Batch, errs []error, batch *ax.Batch) error {
	if err := b.usable(); err != nil {
		return err
	}
	p, err := b.partition("apply", batch.Partition)
	if err != nil {
		return err
	}
	for i := len(before) - 1; i >= 0; i-- {
		if before[i].Partition == batch.Partition {
			if errs[i] != nil {
				return ax.ErrGap
			}
			break
		}
	}
	switch {
	case batch.Token.IsZero() || batch.Token != p.token:
		return ax.ErrFenced
	case batch.Number == p.number && batch.Token == p.wrote:
		return nil // the repeat of the last one
	case batch.Number != p.number+1:
		return ax.ErrGap
	}
	c := &b.change
	defer c.reset()
	c.look(&b.hash, batch)
	if err := c.check(p, batch); err != nil {
		return err
	}
	if b.log.noRoom != nil && len(batch.Create) > len(batch.Delete) {
		return b.log.noRoom
	}
	seg, at, err := b.log.write(c.encode(b.log.frame(record.KindBatch), p, batch))
	if err != nil {
		return err
	}
	b.index(p, batch, seg, at)
	p.keep(batch, seg.number, sealAt(seg.number, at))
	p.number, p.wrote = batch.Number, batch.Token
	return nil
}

// change is scratch for one batch: the keys of its tasks, and where their items stand in the frame.
type change struct {
	deletes, finishes, creates, moves []key
	full                              []bool       // of finishes: written whole
	items                             []item       // finishes, creates, moves
	dropped                           map[key]bool // deletes, if there are any
	gone                              map[key]bool // of check
}

type item struct{ at, size int }

func (c *change) reset() {
	c.deletes, c.finishes, c.creates, c.moves = c.deletes[:0], c.finishes[:0], c.creates[:0], c.moves[:0]
	c.full, c.items = c.full[:0], c.items[:0]
	clear(c.dropped)
	clear(c.gone)
}

// look makes the keys of a batch.
func (c *change) look(h *hasher, b *ax.Batch) {
	if c.gone == nil {
		c.dropped, c.gone = map[key]bool{}, map[key]bool{}
	}
	for _, id := range b.Delete {
		k := h.key(id)
		c.deletes = append(c.deletes, k)
		c.dropped[k] = true
	}
	for _, t := range b.Finish {
		c.finishes = append(c.finishes, h.key(t.ID))
	}
	for _, t := range b.Create {
		c.creates = append(c.creates, h.key(t.ID))
	}
	for _, t := range b.Move {
		c.moves = append(c.moves, h.key(t.ID))
	}
}

// check refuses a batch that moves a task which is not live. A task that the batch itself creates may be moved, one that
// it removes may not.
func (c *change) check(p *partition, b *ax.Batch) error {
	if len(c.moves) == 0 {
		return nil
	}
	for _, k := range c.finishes {
		c.gone[k] = true
	}
	created := false // whether gone knows what is created, which few batches need
	for i, k := range c.moves {
		if _, live := p.live[k]; live && !c.gone[k] && !c.dropped[k] {
			continue
		}
		if !created {
			created = true
			for _, k := range c.creates {
				c.gone[k] = false
			}
		}
		if gone, known := c.gone[k]; !known || gone {
			return &ax.Error{Op: "apply", ID: b.Move[i].ID, State: b.Move[i].State, Field: "Move",
				Value: fmt.Sprint("run ", b.Move[i].Run), Reason: "no such task is live", Err: ax.ErrInvalid}
		}
	}
	return nil
}

// encode writes the payload of a batch. A task that ends is written whole only if the log has it nowhere else.
func (c *change) encode(w record.Writer, p *partition, b *ax.Batch) *record.Writer {
	w.Buf = record.AppendBatchHead(w.Buf, b)
	w.Strings(record.TagDelete, b.Delete)
	moved := 0
	for i := range b.Finish {
		_, live := p.live[c.finishes[i]]
		c.full = append(c.full, !live || c.dropped[c.finishes[i]])
		if !c.full[i] {
			moved++
		}
	}
	c.items = append(c.items, make([]item, len(b.Finish))...)
	w.Section(record.TagFull, len(b.Finish)-moved)
	for i, t := range b.Finish {
		if c.full[i] {
			c.items[i].at, c.items[i].size = w.Task(t)
		}
	}
	w.Section(record.TagFinish, moved)
	for i, t := range b.Finish {
		if !c.full[i] {
			c.items[i].at, c.items[i].size = w.Move(t)
		}
	}
	w.Section(record.TagCreate, len(b.Create))
	for _, t := range b.Create {
		at, size := w.Task(t)
		c.items = append(c.items, item{at, size})
	}
	w.Section(record.TagMove, len(b.Move))
	for _, t := range b.Move {
		at, size := w.Move(t)
		c.items = append(c.items, item{at, size})
	}
	w.Rest(b)
	return &w
}

// index changes the index by a batch that was written at a place.
func (b *Backend) index(p *partition, batch *ax.Batch, seg *segment, at int64) {
	c := &b.change
	where := func(i int) place { return placeAt(seg.slot, at+int64(c.items[i].at), c.items[i].size) }
	for _, k := range c.deletes {
		b.remove(p, k)
	}
	for i, t := range batch.Finish {
		s := b.remove(p, c.finishes[i])
		if c.full[i] {
			s.base, s.moved = where(i), 0
		} else {
			s.moved = where(i)
		}
		s.when = whenOf(t.At, t.State)
		b.archive.file(b, c.finishes[i], t.Run, s)
	}
	n := len(batch.Finish)
	for i, t := range batch.Create {
		b.set(p, c.creates[i], spot{base: where(n + i), when: whenOf(t.At, t.State)})
	}
	n += len(batch.Create)
	for i, t := range batch.Move {
		s := p.live[c.moves[i]]
		s.moved, s.when = where(n+i), whenOf(t.At, t.State)
		b.set(p, c.moves[i], s)
	}
}

// set writes a spot into the index of the live tasks, remove takes one out; both keep count of what is alive in the log.
func (b *Backend) set(p *partition, k key, s spot) {
	b.alive += s.size() - p.live[k].size()
	p.live[k] = s
}

func (b *Backend) remove(p *partition, k key) spot {
	s := p.live[k]
	b.alive -= s.size()
	delete(p.live, k)
	return s
}
