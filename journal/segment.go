package journal

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/axsched/ax/internal/disk"
	"github.com/axsched/ax/journal/record"
)

// segment is one file of the log. Its name is durable before anything stands on it: no sync of the log syncs the
// directory.
type segment struct {
	number uint64 // immutable; the first is 1
	slot   int    // its place in log.slots, once it is in use
	name   string // immutable
	file   disk.File

	end     int64 // up to where it is written
	filled  int64 // up to where the file was filled with zeros
	durable int64 // up to where it is durable
}

const (
	lockName   = "lock"
	segmentExt = ".log"
)

func segmentName(number uint64) string { return fmt.Sprintf("%010d%s", number, segmentExt) }

// numberOf reads the number of a segment out of its name, 0 if it is not the name of one.
func numberOf(name string) uint64 {
	digits, ok := strings.CutSuffix(name, segmentExt)
	n, err := strconv.ParseUint(digits, 10, 64)
	if !ok || err != nil || segmentName(n) != name {
		return 0
	}
	return n
}

// sealAt is the number that binds a frame to where it stands.
func sealAt(number uint64, offset int64) uint64 { return number<<offsetBits | uint64(offset) }

// fill writes zeros from an offset up to a size, so that a later sync has no metadata to write. It does not sync.
func fill(f disk.File, from, size int64, zeros []byte) error {
	for from < size {
		n, err := f.WriteAt(zeros[:min(size-from, int64(len(zeros)))], from)
		if err != nil {
			return err
		}
		from += int64(n)
	}
	return nil
}

// fillChunk is how much is written at once when a segment is filled: little, so that a sync of the log that comes
// meanwhile does not wait for much.
const fillChunk = 256 << 10

// scanner reads the frames of a segment from its beginning.
type scanner struct {
	r      io.ReaderAt
	number uint64
	size   int64
	offset int64 // of the next frame

	buf  []byte
	from int64 // where buf begins
}

// scanChunk is how much a scanner reads at once.
const scanChunk = 1 << 20

// window returns at least n bytes at the present offset, fewer only at the end of the file.
func (s *scanner) window(n int) ([]byte, error) {
	have := s.buf
	if skip := s.offset - s.from; skip >= 0 && skip <= int64(len(have)) {
		have = have[skip:]
	} else {
		have = nil
	}
	if len(have) >= n || s.offset+int64(len(have)) >= s.size {
		return have, nil
	}
	// A frame that was handed out points into buf: take another one.
	want := min(int64(max(n, scanChunk)), s.size-s.offset)
	buf := make([]byte, want)
	k, err := s.r.ReadAt(buf, s.offset)
	if err != nil && err != io.EOF {
		return nil, err
	}
	s.buf, s.from = buf[:k], s.offset
	return s.buf, nil
}

// next returns the frame at the present offset and moves behind it. ErrSum if there is none: the end, or damage. The
// payload stays valid.
func (s *scanner) next() (record.Frame, error) {
	head, err := s.window(record.HeaderSize)
	if err != nil {
		return record.Frame{}, err
	}
	n, ok := record.PayloadSize(head)
	if !ok || int64(n) > s.size-s.offset-record.HeaderSize {
		return record.Frame{}, record.ErrSum
	}
	b, err := s.window(record.HeaderSize + n)
	if err != nil {
		return record.Frame{}, err
	}
	f, err := record.Parse(b, sealAt(s.number, s.offset))
	if err != nil {
		return f, err
	}
	s.offset += int64(f.Size())
	return f, nil
}

// head reads the first frame of a segment.
func (s *scanner) head() (record.Segment, error) {
	f, err := s.next()
	if err != nil {
		return record.Segment{}, err
	}
	if f.Kind != record.KindSegment {
		return record.Segment{}, fmt.Errorf("%w: the first frame is of kind %s", record.ErrSum, f.Kind)
	}
	h, err := record.ReadSegment(f.Payload)
	if err == nil && h.Number != s.number {
		err = fmt.Errorf("%w: it says that it is file %d", record.ErrSum, h.Number)
	}
	return h, err
}

// seek moves to the next offset at which a frame checks out, false if there is none.
func (s *scanner) seek() (bool, error) {
	for s.offset < s.size {
		b, err := s.window(scanChunk)
		if err != nil {
			return false, err
		}
		if len(b) == 0 {
			return false, nil
		}
		skip := 0
		for skip < len(b) && (b[skip] == 0 || b[skip] > record.Version) {
			skip++
		}
		if s.offset += int64(skip); skip == len(b) {
			continue
		}
		at := s.offset
		_, err = s.next()
		s.offset = at
		if err == nil {
			return true, nil
		}
		s.offset++
	}
	return false, nil
}
