package record

import (
	"encoding/binary"
	"fmt"

	"github.com/axsched/ax"
)

// Writer appends sections to a payload. Buf is what was written; it may be read, and replaced between sections.
type Writer struct {
	Buf []byte
}

// Section begins a section of n items; one of no items is left out.
func (w *Writer) Section(tag Tag, n int) {
	if n > 0 {
		w.Buf = appendUint(append(w.Buf, byte(tag)), uint64(n))
	}
}

// lengthSize is how many bytes an item's length is written in. It is written after the body, into a place of fixed size:
// as a uvarint that may have more bytes than it needs.
const lengthSize = 4

// Item appends one item, whose body f appends, and returns where it begins in Buf and how many bytes it takes with its
// length in front. Bodies are limited to 256 MiB, above all limits on what they hold.
func (w *Writer) Item(f func(dst []byte) []byte) (at, size int) {
	at = w.open()
	w.Buf = f(w.Buf)
	return at, w.close(at)
}

func (w *Writer) open() (at int) {
	at = len(w.Buf)
	w.Buf = append(w.Buf, 0, 0, 0, 0)
	return at
}

func (w *Writer) close(at int) (size int) {
	n := len(w.Buf) - at - lengthSize
	w.Buf[at] = byte(n) | 0x80
	w.Buf[at+1] = byte(n>>7) | 0x80
	w.Buf[at+2] = byte(n>>14) | 0x80
	w.Buf[at+3] = byte(n >> 21 & 0x7f)
	return len(w.Buf) - at
}

// Task appends a whole task as an item, Move what a move changes; the results are those of Item.
func (w *Writer) Task(t *ax.Task) (at, size int) {
	at = w.open()
	w.Buf = AppendTask(w.Buf, t)
	return at, w.close(at)
}

// Move appends what a move changes in a task as an item.
func (w *Writer) Move(t *ax.Task) (at, size int) {
	at = w.open()
	w.Buf = AppendMove(w.Buf, t)
	return at, w.close(at)
}

// Strings appends a section of ids or names.
func (w *Writer) Strings(tag Tag, list []string) {
	w.Section(tag, len(list))
	for _, s := range list {
		w.Buf = appendString(w.Buf, s)
	}
}

// Record appends an id record.
func (w *Writer) Record(k *ax.IDRecord) {
	at := w.open()
	w.Buf = appendRecord(w.Buf, k)
	w.close(at)
}

// Entry appends an inbox entry.
func (w *Writer) Entry(e *ax.Entry) {
	at := w.open()
	w.Buf = AppendEntry(w.Buf, e)
	w.close(at)
}

// Job appends a job state.
func (w *Writer) Job(j *ax.JobState) {
	at := w.open()
	w.Buf = appendJob(w.Buf, j)
	w.close(at)
}

// Instance appends an instance.
func (w *Writer) Instance(in *ax.Instance) {
	at := w.open()
	w.Buf = appendInstance(w.Buf, in)
	w.close(at)
}

// Reason appends a reason.
func (w *Writer) Reason(r *ax.Reason) {
	at := w.open()
	w.Buf = appendReason(w.Buf, r)
	w.close(at)
}

// Outgoing appends an outgoing entry.
func (w *Writer) Outgoing(o *ax.Outgoing) {
	at := w.open()
	w.Buf = appendOutgoing(w.Buf, o)
	w.close(at)
}

// Fact appends a fact.
func (w *Writer) Fact(f *ax.Fact) {
	at := w.open()
	w.Buf = appendFact(w.Buf, f)
	w.close(at)
}

// KeptEntry appends an inbox entry with its place in the inbox, KeptFact a fact with its place among the others.
func (w *Writer) KeptEntry(serial uint64, e *ax.Entry) {
	at := w.open()
	w.Buf = AppendEntry(AppendKept(w.Buf, serial), e)
	w.close(at)
}

// KeptFact appends a fact with its place among the others.
func (w *Writer) KeptFact(serial uint64, f *ax.Fact) {
	at := w.open()
	w.Buf = appendFact(AppendKept(w.Buf, serial), f)
	w.close(at)
}

// Raw appends an item as it was written before, with its length in front, and returns where it begins.
func (w *Writer) Raw(item []byte) (at int) {
	at = len(w.Buf)
	w.Buf = append(w.Buf, item...)
	return at
}

// Document appends a revision of a document.
func (w *Writer) Document(d *ax.Document) {
	at := w.open()
	w.Buf = AppendDocument(w.Buf, d)
	w.close(at)
}

// Walk calls f for every item of the sections in b: its tag, where it begins in b, its size with the length in front, and
// its body. It stops at the first error of f. Errors of its own: ErrSum, ErrVersion.
func Walk(b []byte, f func(tag Tag, at, size int, body []byte) error) error {
	r := reader{b: b}
	for len(r.b) > 0 {
		tag := Tag(r.byte())
		if tag == 0 || tag > lastTag {
			return fmt.Errorf("%w: tag %d", ErrVersion, tag)
		}
		for n := r.count(1); n > 0; n-- {
			at := len(b) - len(r.b)
			body := r.raw()
			if r.bad {
				break
			}
			if err := f(tag, at, len(b)-len(r.b)-at, body); err != nil {
				return err
			}
		}
		if r.bad {
			return fmt.Errorf("%w: a section of tag %d is malformed", ErrSum, tag)
		}
	}
	return nil
}

// ItemSize returns how many bytes the item at the beginning of b takes with its length in front; more than len(b) if b is
// only a part of it. 0 if b is too short to say, or is no item.
func ItemSize(b []byte) int {
	n, k := binary.Uvarint(b)
	if k <= 0 || n > MaxPayload {
		return 0
	}
	return k + int(n)
}

// ItemBody returns the body of the item at the beginning of b, nil if there is none.
func ItemBody(b []byte) []byte {
	r := reader{b: b}
	body := r.raw()
	if r.bad {
		return nil
	}
	return body
}
