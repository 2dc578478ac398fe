package journal

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/disk"
	"github.com/axsched/ax/journal/record"
)

// log is the files: where the next frame goes, and what waits for the disk. Backend.mu guards all of it.
type log struct {
	fs         disk.FS // immutable
	era        uint32  // immutable
	partitions int     // immutable
	now        func() time.Time
	slots      []*segment      // by place.slot; slot 0 is never used
	order      []*segment      // from the oldest to the present one
	spare      *segment        // the next segment, filled and durable, in no slot yet; nil while it is being made
	spareWant  int64           // how large the next spare is to be
	need       chan<- struct{} // immutable; holds one: there is no spare
	most       int64           // the largest a spare becomes
	oldest     uint64

	written uint64   // bytes written by this opening
	durable uint64   // of written
	waiters []waiter // in the order of upTo
	noRoom  error    // why there is no spare, if there is no space for it
	dead    error    // why nothing is written any more; for good
	closing bool

	buf []byte // scratch: the frame being built

	syncs     int64
	syncTimes histogram
}

// waiter is told when everything up to a point is durable, or never will be.
type waiter struct {
	upTo uint64
	done func(error)
}

func (l *log) tip() *segment { return l.order[len(l.order)-1] }

// frame begins a frame that will be written next. Nothing else may be written before write has it.
func (l *log) frame(kind record.Kind) record.Writer {
	return record.Writer{Buf: record.Begin(l.buf[:0], kind)}
}

// write completes a frame and appends it to the log. It returns where it stands. The frame is there for every process
// from then on, and durable once log.durable has passed what log.written is now.
func (l *log) write(w *record.Writer) (seg *segment, at int64, err error) {
	b := w.Buf
	l.buf = b[:0]
	if cap(l.buf) > 8<<20 {
		l.buf = nil
	}
	if len(b)-record.HeaderSize > record.MaxPayload {
		return nil, 0, &ax.Error{Op: "write", Field: "size", Value: fmt.Sprint(len(b)), Reason: "a batch may have 1 GiB", Err: ax.ErrInvalid}
	}
	if err := l.makeWay(int64(len(b))); err != nil {
		return nil, 0, err
	}
	seg = l.tip()
	at = seg.end
	record.Seal(b, sealAt(seg.number, at), uint32(seg.durable))
	if err := l.put(seg, b); err != nil {
		return nil, 0, err
	}
	return seg, at, nil
}

// put appends bytes to a segment.
func (l *log) put(seg *segment, b []byte) error {
	if _, err := seg.file.WriteAt(b, seg.end); err != nil {
		if isFull(err) { // what was written of it is written over by the next
			return &ax.Error{Op: "write", Reason: err.Error(), Err: ax.ErrNoSpace}
		}
		return l.die(fmt.Errorf("writing %s: %w", seg.name, err))
	}
	seg.end += int64(len(b))
	l.written += uint64(len(b))
	return nil
}

// isFull reports whether an error says that the device, or what we may use of it, is full.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// makeWay makes sure that the present segment takes n more bytes, by going on to the next one if there is one. Without
// one the present segment grows.
func (l *log) makeWay(n int64) error {
	seg := l.tip()
	if seg.end+n <= seg.filled || l.spare == nil && seg.end+n <= segmentLimit {
		return nil
	}
	if l.spare == nil {
		return &ax.Error{Op: "write", Reason: "there is no next segment", Err: ax.ErrNoSpace}
	}
	return l.advance()
}

// advance makes the spare the present segment.
func (l *log) advance() error {
	slot, err := l.freeSlot()
	if err != nil {
		return err
	}
	before, seg := l.tip(), l.spare
	seg.slot, l.spare = slot, nil
	l.spareWant = min(2*seg.filled, l.most)
	select {
	case l.need <- struct{}{}:
	default: // it knows
	}
	return l.enter(seg, before.number, before.end, before.durable)
}

// enter writes the head of a new segment and makes it the present one.
func (l *log) enter(seg *segment, before uint64, end, durable int64) error {
	b := record.AppendSegment(record.Begin(nil, record.KindSegment), record.Segment{
		Number: seg.number, Before: before, End: uint64(end), Durable: uint64(durable), Oldest: l.oldest,
		Era: l.era, Partitions: uint32(l.partitions), Made: ax.At(l.now())})
	record.Seal(b, sealAt(seg.number, 0), 0)
	if err := l.put(seg, b); err != nil {
		return err
	}
	l.slots[seg.slot] = seg
	l.order = append(l.order, seg)
	return nil
}

func (l *log) freeSlot() (int, error) {
	for i := 1; i < len(l.slots); i++ {
		if l.slots[i] == nil {
			return i, nil
		}
	}
	if len(l.slots) > maxSlot {
		return 0, &ax.Error{Op: "write", Field: "segments", Value: fmt.Sprint(maxSlot), Reason: "no more are possible", Err: ax.ErrNoSpace}
	}
	l.slots = append(l.slots, nil)
	return len(l.slots) - 1, nil
}

// die stops the log for good. It returns the error that everybody gets from now on.
func (l *log) die(cause error) error {
	if l.dead == nil {
		l.dead = &ax.Error{Op: "journal", Reason: "the disk failed, and what it holds is not known until the directory is opened anew: " + cause.Error(), Err: ax.ErrClosed}
	}
	return l.dead
}

// size is how many bytes the segments take.
func (l *log) size() (n int64) {
	for _, seg := range l.order {
		n += max(seg.end, 0)
	}
	return n
}
