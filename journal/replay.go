package journal

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/registry"
	"github.com/axsched/ax/journal/record"
)

// replay reads the log into memory. A frame may speak of what is not there: its beginning stood in a segment that was let
// go, and then a copy of it, or its end, stands behind.
type replay struct {
	b       *Backend
	orphans map[key]bool // moved, with no beginning and no end so far
	docs    map[string]ax.Document
	report  *Report // of Inspect and Repair: what is damaged is noted there and passed over
	now     *File   // of report: the present file
}

// all reads the segments of the log, oldest first.
func (r *replay) all(chain []found) error {
	l := &r.b.log
	for i, f := range chain {
		slot, err := l.freeSlot()
		if err != nil {
			return err
		}
		seg := &segment{number: f.number, slot: slot, name: f.name, file: f.file, filled: f.size}
		l.slots[slot] = seg
		l.order = append(l.order, seg)
		l.oldest = max(l.oldest, f.head.Oldest)
		var next *record.Segment
		if i+1 < len(chain) && chain[i+1].head.Before == f.number {
			next = &chain[i+1].head
		}
		r.begin(f)
		cut, err := r.segment(seg, f.size, next)
		if err != nil {
			for _, rest := range chain[i+1:] {
				rest.file.Close()
			}
			return err
		}
		if cut {
			return r.cut(seg, chain[i+1:])
		}
		if next != nil {
			seg.durable = max(seg.durable, int64(next.Durable))
		}
	}
	return r.complete()
}

// complete checks that nothing is missing.
func (r *replay) complete() error {
	l := &r.b.log
	if len(l.order) == 0 {
		return nil
	}
	if l.order[0].number > l.oldest {
		if err := r.damage(l.oldest, 0, 0, "the file is missing"); err != nil {
			return err
		}
	}
	if len(r.orphans) > 0 {
		return r.damage(l.order[0].number, 0, 0, fmt.Sprintf("%d tasks have changes and no beginning", len(r.orphans)))
	}
	return nil
}

// damage refuses what is damaged, unless it is to be noted and passed over.
func (r *replay) damage(number uint64, from, to int64, reason string) error {
	c := Corrupt{File: segmentName(number), Offset: from, Reason: reason}
	if r.report == nil {
		return &c
	}
	r.report.Damage = append(r.report.Damage, Damage{c, to})
	return nil
}

// segment reads one file. cut says that it ends in a torn tail that begins at seg.end, so that what comes after it in the
// log never became durable either.
func (r *replay) segment(seg *segment, size int64, next *record.Segment) (cut bool, err error) {
	if next != nil {
		size = min(size, int64(next.End))
	}
	s := scanner{r: seg.file, number: seg.number, size: size}
	for {
		if seg.end = s.offset; next != nil && seg.end == int64(next.End) {
			return false, nil
		}
		f, err := s.next()
		if err == nil {
			if err = r.frame(&f, seg, seg.end); err == nil {
				seg.durable = max(seg.durable, int64(f.Note)) // what follows may be in the system's cache only
				r.count(&f)
				continue
			}
			err = fmt.Errorf("%w, though its checksum is right", err)
		}
		if errors.Is(err, record.ErrVersion) {
			return false, fmt.Errorf("journal: %s at offset %d: %w", seg.name, seg.end, err)
		}
		if !errors.Is(err, record.ErrSum) {
			return false, err
		}
		reason, to, err := r.judge(&s, seg.end, next)
		if err != nil {
			return false, err
		}
		if reason == "" {
			return next != nil, r.tail(seg, size)
		}
		if err := r.damage(seg.number, seg.end, to, reason); err != nil {
			return false, err
		}
		s.offset = to
		if to >= size {
			seg.end = size
			return false, nil
		}
	}
}

// judge says why what does not check out at a place is damage, and where the next good frame begins; "" for a tail that a
// crash has torn.
func (r *replay) judge(s *scanner, bad int64, next *record.Segment) (reason string, to int64, err error) {
	durable, to, err := evidence(s, bad)
	switch {
	case err != nil:
		return "", 0, err
	case next != nil && int64(next.Durable) > bad:
		return fmt.Sprintf("the next file says that this one had been durable up to %d", next.Durable), to, nil
	case durable:
		return "what follows says that it had been durable", to, nil
	}
	return "", 0, nil
}

// tail tells of a torn tail, if there is something in it.
func (r *replay) tail(seg *segment, size int64) error {
	b := make([]byte, 4096)
	for from := seg.end; from < size; from += int64(len(b)) {
		n, err := seg.file.ReadAt(b[:min(int64(len(b)), size-from)], from)
		if slices.ContainsFunc(b[:n], func(c byte) bool { return c != 0 }) {
			r.b.cfg.Logger.Warn("the journal ends in a torn tail, of which nobody was told; it is cut off", "file", seg.name, "offset", seg.end)
			if r.now != nil {
				r.now.Torn = true
			}
			return nil
		}
		if err != nil && err != io.EOF {
			return fmt.Errorf("journal: reading %s: %w", seg.name, err)
		}
	}
	return nil
}

// cut leaves out the segments behind a torn tail: nothing in them may say that it was durable.
func (r *replay) cut(seg *segment, rest []found) error {
	for _, f := range rest {
		defer f.file.Close()
		s := scanner{r: f.file, number: f.number, size: f.size}
		durable, _, err := evidence(&s, 0)
		if err != nil {
			return err
		}
		if durable {
			if err := r.damage(seg.number, seg.end, seg.end, "a later file says that it had been durable"); err != nil {
				return err
			}
		}
		r.b.cut = append(r.b.cut, f.name)
	}
	return r.complete()
}

// load hands the documents to the registry, each in the order of its revisions.
func (r *replay) load(reg *registry.Registry) {
	list := make([]ax.Document, 0, len(r.docs))
	for _, d := range r.docs {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b ax.Document) int { return cmp.Compare(a.Revision, b.Revision) })
	for _, d := range list {
		reg.Load(d)
	}
}

// frame takes in one frame of a segment.
func (r *replay) frame(f *record.Frame, seg *segment, at int64) error {
	b := r.b
	in := into{r: r, seg: seg, serial: sealAt(seg.number, at)}
	sections, skip := f.Payload, int64(record.HeaderSize)
	switch f.Kind {
	case record.KindSegment, record.KindClose:
		return nil
	case record.KindDrop:
		n, err := record.ReadDropped(f.Payload)
		b.log.oldest = max(b.log.oldest, n)
		return err
	case record.KindArchivePrune:
		p, err := record.ReadPruned(f.Payload)
		if err == nil {
			b.archive.prune(b, p.Before, int(p.Keep))
		}
		return err
	case record.KindBatch:
		head, rest, err := record.ReadBatchHead(f.Payload)
		if err != nil {
			return err
		}
		if in.p, err = b.partition("open", head.Partition); err != nil {
			return err
		}
		if gap := head.Number - in.p.number - 1; r.report != nil && in.p.number > 0 && head.Number > in.p.number+1 {
			r.report.Batches += int64(gap)
		}
		in.p.restore(record.Partition{Token: head.Token, Number: head.Number, Wrote: head.Token})
		sections = rest
	case record.KindSubmit, record.KindOpen, record.KindPrune, record.KindKeep:
		state, rest, err := record.ReadPartitionHead(f.Payload)
		if err != nil {
			return err
		}
		if in.p, err = b.partition("open", state.ID); err != nil {
			return err
		}
		in.p.restore(state)
		sections = rest
	case record.KindDocument, record.KindArchive:
	}
	in.kept = f.Kind == record.KindKeep
	skip += int64(len(f.Payload) - len(sections))
	return record.Walk(sections, func(tag record.Tag, offset, size int, body []byte) error {
		return in.item(tag, placeAt(seg.slot, at+skip+int64(offset), size), body)
	})
}

// into is where the items of a frame go.
type into struct {
	r      *replay
	p      *partition // nil for documents and the archive
	seg    *segment
	serial uint64
	n      uint64 // items so far that have a place in an order
	kept   bool
}

// item takes in one item.
func (in *into) item(tag record.Tag, at place, body []byte) error {
	b, p := in.r.b, in.p
	switch tag {
	case record.TagDocument:
		d, err := record.ReadDocument(body)
		if err != nil {
			return err
		}
		if in.r.docs == nil {
			in.r.docs = map[string]ax.Document{}
		}
		in.r.docs[fmt.Sprintf("%s\x00%s\x00%d", d.Class, d.Name, d.Revision)] = d
		b.file(d.Class, d.Name, d.Revision, at)
		return nil
	case record.TagFull:
		peek, err := record.PeekTask(body)
		if err != nil {
			return err
		}
		k := b.hash.keyOf(peek.ID)
		if p != nil && !in.kept {
			b.remove(p, k)
			delete(in.r.orphans, k)
		}
		b.archive.file(b, k, peek.Run, spot{base: at, when: whenOf(peek.At, peek.State)})
		return nil
	case record.TagArchived:
		f, err := record.ReadFact(body)
		if err == nil {
			b.archive.addFact(f, in.serial+in.n, in.seg.number)
			in.n++
		}
		return err
	}
	if p == nil {
		return fmt.Errorf("%w: tag %d outside of a partition", record.ErrVersion, tag)
	}
	switch tag {
	case record.TagCreate, record.TagMove, record.TagFinish:
		return in.task(tag, at, body)
	case record.TagDelete:
		k := b.hash.keyOf(body)
		b.remove(p, k)
		delete(in.r.orphans, k)
		return nil
	case record.TagEntry:
		e, err := record.ReadEntry(body)
		if err == nil {
			p.inbox.put(e.ID, e, in.serial+in.n, in.seg.number)
			in.n++
		}
		return err
	case record.TagKeptEntry:
		serial, rest, err := record.ReadKept(body)
		if err != nil {
			return err
		}
		e, err := record.ReadEntry(rest)
		if err == nil {
			p.inbox.put(e.ID, e, serial, in.seg.number)
		}
		return err
	case record.TagKeptFact:
		serial, rest, err := record.ReadKept(body)
		if err != nil {
			return err
		}
		f, err := record.ReadFact(rest)
		if err == nil {
			p.facts.put(f.ID, f, serial, in.seg.number)
		}
		return err
	}
	var one ax.Batch // the rest goes the way of a batch of one item
	if err := record.ReadItem(&one, tag, body); err != nil {
		return err
	}
	p.keep(&one, in.seg.number, in.serial+in.n)
	if tag == record.TagFact {
		in.n++
	}
	return nil
}

// task takes in the item of a task.
func (in *into) task(tag record.Tag, at place, body []byte) error {
	b, p := in.r.b, in.p
	peek, err := record.PeekTask(body)
	if err != nil {
		return err
	}
	k, when := b.hash.keyOf(peek.ID), whenOf(peek.At, peek.State)
	if tag == record.TagCreate {
		delete(in.r.orphans, k)
		b.set(p, k, spot{base: at, when: when})
		return nil
	}
	s, live := p.live[k]
	if tag == record.TagFinish {
		delete(in.r.orphans, k)
		if live {
			b.remove(p, k)
			s.moved, s.when = at, when
			b.archive.file(b, k, peek.Run, s)
		}
		return nil
	}
	if !live {
		in.r.orphans[k] = true
		return nil
	}
	s.moved, s.when = at, when
	b.set(p, k, s)
	return nil
}
