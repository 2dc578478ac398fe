package journal

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/axsched/ax"
	"github.com/axsched/ax/journal/record"
)

// read returns the task that stands at a spot. The segments must stay: b.mu or b.files is held.
func (b *Backend) read(s spot) (*ax.Task, error) {
	var r windows
	return r.task(b, s)
}

// windows reads items one after the other. Items that stand near each other, in the order of the log, share a read.
type windows struct {
	base, moved window
}

type window struct {
	slot int
	from int64
	buf  []byte
	wide bool // read more than is asked for: more will follow
}

// windowSize is how much a wide window reads at once.
const windowSize = 256 << 10

func (r *windows) task(b *Backend, s spot) (*ax.Task, error) {
	body, seg, err := r.base.body(b, s.base)
	if err != nil {
		return nil, err
	}
	t, err := record.ReadTask(body)
	if err != nil {
		return nil, corrupt(seg, s.base.offset(), err)
	}
	if s.moved == 0 {
		return t, nil
	}
	if body, seg, err = r.moved.body(b, s.moved); err != nil {
		return nil, err
	}
	if err := record.ReadMove(body, t); err != nil {
		return nil, corrupt(seg, s.moved.offset(), err)
	}
	return t, nil
}

// body returns the body of the item at a place; it is valid until the next call.
func (w *window) body(b *Backend, p place) ([]byte, *segment, error) {
	item, seg, err := w.item(b, p)
	if err != nil {
		return nil, seg, err
	}
	return record.ItemBody(item), seg, nil
}

// item returns the item at a place, with its length in front; it is valid until the next call.
func (w *window) item(b *Backend, p place) ([]byte, *segment, error) {
	seg := b.segmentOf(p)
	if seg == nil {
		return nil, nil, fmt.Errorf("journal: an item stands in a segment that is gone: slot %d, offset %d", p.slot(), p.offset())
	}
	at := w.at(p)
	if n := record.ItemSize(at); n > 0 && n <= len(at) {
		return at[:n], seg, nil
	}
	n := p.size()
	if w.wide {
		n = max(n, windowSize)
	}
	if err := w.fetch(seg, p, n); err != nil {
		return nil, seg, err
	}
	n = record.ItemSize(w.buf)
	if n > len(w.buf) { // longer than its place says
		if err := w.fetch(seg, p, n); err != nil {
			return nil, seg, err
		}
	}
	if n == 0 || n > len(w.buf) {
		return nil, seg, corrupt(seg, p.offset(), record.ErrSum)
	}
	return w.buf[:n], seg, nil
}

// at returns what the window holds from a place on.
func (w *window) at(p place) []byte {
	skip := p.offset() - w.from
	if w.slot != p.slot() || skip < 0 || skip >= int64(len(w.buf)) {
		return nil
	}
	return w.buf[skip:]
}

func (w *window) fetch(seg *segment, p place, n int) error {
	w.slot, w.from = p.slot(), p.offset()
	w.buf = slices.Grow(w.buf[:0], n)[:n]
	k, err := seg.file.ReadAt(w.buf, p.offset())
	w.buf = w.buf[:k]
	if err != nil && err != io.EOF {
		return fmt.Errorf("journal: reading %s at %d: %w", seg.name, p.offset(), err)
	}
	return nil
}

// segmentOf returns the segment of a place. The slots change only with mu and files locked.
func (b *Backend) segmentOf(p place) *segment {
	if s := p.slot(); s < len(b.log.slots) {
		return b.log.slots[s]
	}
	return nil
}

// readAll reads the tasks of many spots, in their order in the log, and returns them in the order of the spots. b.files
// must be held, b.mu need not be.
func (b *Backend) readAll(spots []spot) ([]*ax.Task, error) {
	order := make([]int32, len(spots))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, k int32) int { return cmp.Compare(spots[i].base, spots[k].base) })
	r := windows{base: window{wide: len(spots) > 16}, moved: window{wide: len(spots) > 16}}
	tasks := make([]*ax.Task, len(spots))
	for _, i := range order {
		t, err := r.task(b, spots[i])
		if err != nil {
			return nil, err
		}
		tasks[i] = t
	}
	return tasks, nil
}
