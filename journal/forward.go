package journal

import (
	"fmt"

	"github.com/axsched/ax"
	"github.com/axsched/ax/journal/record"
)

// forwardChunk is how many items are written again at once: a frame of some 50 KB, well below a millisecond under mu.
const forwardChunk = 256

// forward lets go of the oldest segment if the log is longer than it need be, and reports whether it did. What is still
// alive in it is written again at the end of the log first. The oldest goes first, so that no removal is forgotten before
// what it removes.
//
// The housekeeper alone calls it: nobody else takes segments away, so that what is read here needs no lock.
func (b *Backend) forward() bool {
	b.mu.Lock()
	old := b.surplus()
	before := b.log.written
	b.mu.Unlock()
	if old == nil {
		return false
	}
	for _, step := range []func(*segment) error{b.moveTasks, b.moveArchived, b.moveSmall, b.moveDocuments, b.letGo} {
		if err := step(old); err != nil {
			b.cfg.Logger.Warn("the journal could not shorten its log", "file", old.name, "error", err)
			return false
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if moved := int64(b.log.written - before); moved > old.end/4*3 { // hardly worth it: wait until there is more to gain
		b.rest = b.log.written + uint64(b.log.size()/2)
	}
	return true
}

// surplus returns the oldest segment if the log is more than twice as long as what is alive in it, and longer than a few
// segments.
func (b *Backend) surplus() *segment {
	l := &b.log
	alive := b.alive
	for _, p := range b.partitions {
		alive += 100 * int64(len(p.records.items)+len(p.inbox.items)+len(p.facts.items)+len(p.jobs.items)+len(p.instances.items))
	}
	alive += 100 * int64(len(b.archive.facts.items))
	old := l.order[0]
	if b.usable() != nil || len(l.order) < 2 || old.end > old.durable || l.written < b.rest ||
		l.size() < 2*alive+4*l.tip().filled {
		return nil
	}
	return old
}

// moveTasks writes the live tasks of a segment again.
func (b *Backend) moveTasks(old *segment) error {
	for _, p := range b.partitions {
		var keys []key
		b.mu.Lock()
		n := 0
		for k, s := range p.live {
			if s.in(old.slot) {
				keys = append(keys, k)
			}
			if n++; n%scanSlice == 0 { // let commits through
				b.mu.Unlock()
				b.mu.Lock()
			}
		}
		b.mu.Unlock()
		for len(keys) > 0 {
			n := min(len(keys), forwardChunk)
			if err := b.moveLive(p, keys[:n]); err != nil {
				return err
			}
			keys = keys[n:]
		}
	}
	return nil
}

// moveLive writes a few live tasks again. One that changes while it is read is read again: it may have its beginning here
// still.
func (b *Backend) moveLive(p *partition, keys []key) error {
	for len(keys) > 0 {
		spots := make([]spot, 0, len(keys))
		still := keys[:0]
		b.mu.Lock()
		for _, k := range keys {
			if s, ok := p.live[k]; ok {
				spots, still = append(spots, s), append(still, k)
			}
		}
		b.mu.Unlock()
		tasks, err := b.readAll(spots)
		if err != nil {
			return err
		}
		b.mu.Lock()
		var same []int
		keys = keys[:0:0]
		for i, k := range still {
			switch now, ok := p.live[k]; {
			case ok && now == spots[i]:
				same = append(same, i)
			case ok:
				keys = append(keys, k)
			}
		}
		w := b.keepFrame(p)
		w.Section(record.TagCreate, len(same))
		err = b.writeAgain(w, same, tasks, func(i int, at place) {
			s := spots[i]
			s.base, s.moved = at, 0
			b.set(p, still[i], s)
		})
		b.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// keepFrame begins a frame of things that are written again.
func (b *Backend) keepFrame(p *partition) record.Writer {
	w := b.log.frame(record.KindKeep)
	w.Buf = record.AppendPartition(w.Buf, p.state())
	return w
}

// writeAgain completes a frame with some of tasks, whole, and says where each stands. mu must be held.
func (b *Backend) writeAgain(w record.Writer, which []int, tasks []*ax.Task, moved func(i int, at place)) error {
	if err := b.usable(); err != nil || len(which) == 0 {
		return err
	}
	items := make([]item, len(which))
	for n, i := range which {
		items[n].at, items[n].size = w.Task(tasks[i])
	}
	seg, at, err := b.log.write(&w)
	if err != nil {
		return err
	}
	for n, i := range which {
		moved(i, placeAt(seg.slot, at+int64(items[n].at), items[n].size))
	}
	return nil
}

// moveArchived writes the finished tasks of a segment again.
func (b *Backend) moveArchived(old *segment) error {
	var list []int32
	b.mu.Lock()
	for i := range b.archive.slab {
		if f := &b.archive.slab[i]; f.used && f.in(old.slot) {
			list = append(list, int32(i))
		}
	}
	b.mu.Unlock()
	for len(list) > 0 {
		n := min(len(list), forwardChunk)
		if err := b.moveFiled(list[:n]); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

func (b *Backend) moveFiled(list []int32) error {
	before := make([]filed, len(list))
	spots := make([]spot, len(list))
	b.mu.Lock()
	for n, i := range list {
		before[n] = b.archive.slab[i]
		spots[n] = before[n].spot
	}
	b.mu.Unlock()
	same := func(n int) bool { // it is not gone, nor has another taken its place
		now := &b.archive.slab[list[n]]
		return now.used && now.key == before[n].key && now.spot == spots[n]
	}
	b.mu.Lock()
	var which []int
	var read []spot
	for n := range list {
		if before[n].used && same(n) {
			which, read = append(which, n), append(read, spots[n])
		}
	}
	b.mu.Unlock()
	got, err := b.readAll(read)
	if err != nil {
		return err
	}
	tasks := make([]*ax.Task, len(list))
	for i, n := range which {
		tasks[n] = got[i]
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	left := which[:0]
	for _, n := range which {
		if same(n) {
			left = append(left, n)
		}
	}
	w := b.log.frame(record.KindArchive)
	w.Section(record.TagFull, len(left))
	return b.writeAgain(w, left, tasks, func(n int, at place) {
		f := &b.archive.slab[list[n]]
		b.alive -= f.size()
		f.base, f.moved = at, 0
		b.alive += f.size()
	})
}

// moveSmall writes what is in memory whole again, as far as it was written last in a segment, and the state of the
// partitions.
func (b *Backend) moveSmall(old *segment) error {
	for _, p := range b.partitions {
		err := firstOf(
			again(b, p, &p.records, old, record.TagRemember, func(w *record.Writer, k kept[*ax.IDRecord]) { w.Record(k.v) }),
			again(b, p, &p.inbox, old, record.TagKeptEntry, func(w *record.Writer, k kept[ax.Entry]) { w.KeptEntry(k.serial, &k.v) }),
			again(b, p, &p.facts, old, record.TagKeptFact, func(w *record.Writer, k kept[ax.Fact]) { w.KeptFact(k.serial, &k.v) }),
			again(b, p, &p.jobs, old, record.TagJob, func(w *record.Writer, k kept[ax.JobState]) { w.Job(&k.v) }),
			again(b, p, &p.instances, old, record.TagInstance, func(w *record.Writer, k kept[*ax.Instance]) { w.Instance(k.v) }),
			again(b, p, &p.reasons, old, record.TagReason, func(w *record.Writer, k kept[ax.Reason]) { w.Reason(&k.v) }),
			again(b, p, &p.outgoing, old, record.TagOutgoing, func(w *record.Writer, k kept[ax.Outgoing]) { w.Outgoing(&k.v) }),
			again(b, p, &b.archive.facts, old, record.TagArchived, func(w *record.Writer, k kept[ax.Fact]) { w.Fact(&k.v) }),
			b.writeState(p),
		)
		if err != nil {
			return err
		}
	}
	return nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *Backend) writeState(p *partition) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.usable(); err != nil {
		return err
	}
	w := b.keepFrame(p)
	_, _, err := b.log.write(&w)
	return err
}

// again writes those items of a shelf again that were written last in a segment.
func again[T any](b *Backend, p *partition, s *shelf[T], old *segment, tag record.Tag, write func(*record.Writer, kept[T])) error {
	var ids []string
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for id, k := range s.items {
		if k.segment == old.number {
			ids = append(ids, id)
		}
		if n++; n%scanSlice == 0 { // let commits through
			b.mu.Unlock()
			b.mu.Lock()
		}
	}
	for len(ids) > 0 {
		chunk := ids[:min(len(ids), forwardChunk)]
		ids = ids[len(chunk):]
		here := chunk[:0]
		for _, id := range chunk {
			if k, ok := s.items[id]; ok && k.segment == old.number {
				here = append(here, id)
			}
		}
		if err := b.usable(); err != nil || len(here) == 0 {
			if err != nil {
				return err
			}
			continue
		}
		w := b.keepFrame(p)
		w.Section(tag, len(here))
		for _, id := range here {
			write(&w, s.items[id])
		}
		seg, _, err := b.log.write(&w)
		if err != nil {
			return err
		}
		for _, id := range here {
			k := s.items[id]
			k.segment = seg.number
			s.items[id] = k
		}
		b.mu.Unlock() // let commits through
		b.mu.Lock()
	}
	return nil
}

// moveDocuments writes the documents of a segment again, byte by byte.
func (b *Backend) moveDocuments(old *segment) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var from window
	for id, at := range b.documents { // few: they are written by people
		if at.slot() != old.slot {
			continue
		}
		if err := b.usable(); err != nil {
			return err
		}
		item, _, err := from.item(b, at)
		if err != nil {
			return err
		}
		w := b.log.frame(record.KindDocument)
		w.Section(record.TagDocument, 1)
		n := w.Raw(item)
		seg, begin, err := b.log.write(&w)
		if err != nil {
			return err
		}
		b.documents[id] = placeAt(seg.slot, begin+int64(n), len(item))
	}
	return nil
}

// letGo writes that a segment is needed no more, waits until that is durable, and removes it.
func (b *Backend) letGo(old *segment) error {
	b.mu.Lock()
	if err := b.usable(); err != nil {
		b.mu.Unlock()
		return err
	}
	w := b.log.frame(record.KindDrop)
	next := b.log.order[1].number // not always the next number
	w.Buf = record.AppendDropped(w.Buf, next)
	if _, _, err := b.log.write(&w); err != nil {
		b.mu.Unlock()
		return err
	}
	b.log.oldest = next
	if err := b.flushed(); err != nil {
		return err
	}
	b.files.Lock() // whoever reads in it has ended
	b.mu.Lock()
	b.log.slots[old.slot] = nil
	b.log.order = b.log.order[1:]
	b.mu.Unlock()
	b.files.Unlock()
	old.file.Close()
	if err := b.log.fs.Remove(old.name); err != nil {
		return fmt.Errorf("removing it: %w", err) // the next opening does it
	}
	return nil
}
