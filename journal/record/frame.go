package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Version is what this package writes. It reads versions 1 to Version.
const Version = 1

// HeaderSize is the length of a frame's header, and MaxPayload the most that may follow it, in bytes.
const (
	HeaderSize = 16
	MaxPayload = 1 << 30
)

// Why bytes are no record.
var (
	ErrSum     = errors.New("record: not what was written")
	ErrVersion = errors.New("record: written by a newer version")
)

// Kind says what a record is.
type Kind uint8

// The kinds of version 1.
const (
	KindSegment      Kind = iota + 1 // the first frame of a file: Segment
	KindBatch                        // a batch of a partition
	KindSubmit                       // entries added to an inbox
	KindOpen                         // a token has opened a partition: Partition
	KindPrune                        // id records were forgotten: Partition, then TagForget
	KindDocument                     // a revision of a document
	KindArchive                      // finished tasks and facts were added to the archive
	KindArchivePrune                 // Pruned
	KindKeep                         // what is still alive, written again: sections without a preamble
	KindDrop                         // files below a number are needed no more: Dropped
	KindClose                        // the store was closed: everything before is durable
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Frame is one record as it was found.
type Frame struct {
	Kind    Kind
	Note    uint32
	Payload []byte // part of what was handed to Parse
}

// Size is how many bytes the frame takes.
func (f *Frame) Size() int { return HeaderSize + len(f.Payload) }

// Begin appends an empty header for a record of a kind. The caller appends the payload and then calls Seal.
func Begin(dst []byte, kind Kind) []byte {
	return append(dst, Version, byte(kind), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
}

// Seal completes a frame, from its header to the end of its payload, for a place.
func Seal(frame []byte, place uint64, note uint32) {
	binary.LittleEndian.PutUint32(frame[4:], uint32(len(frame)-HeaderSize))
	binary.LittleEndian.PutUint32(frame[8:], note)
	binary.LittleEndian.PutUint32(frame[12:], sum(frame, place))
}

func sum(frame []byte, place uint64) uint32 {
	var head [20]byte
	copy(head[:], frame[:12])
	binary.LittleEndian.PutUint64(head[12:], place)
	return crc32.Update(crc32.Checksum(head[:], castagnoli), castagnoli, frame[HeaderSize:])
}

// PayloadSize reads the length of the payload out of a header. False if it is not the header of a record that this
// version can read; the payload may still turn out not to be what was written.
func PayloadSize(header []byte) (int, bool) {
	if len(header) < HeaderSize || header[0] == 0 || header[1] == 0 || header[2] != 0 || header[3] != 0 {
		return 0, false
	}
	n := binary.LittleEndian.Uint32(header[4:])
	return int(n), n <= MaxPayload
}

// Parse reads the frame at the beginning of b, which was sealed for place. Errors: ErrSum, ErrVersion.
func Parse(b []byte, place uint64) (Frame, error) {
	n, ok := PayloadSize(b)
	if !ok || len(b) < HeaderSize+n {
		return Frame{}, ErrSum
	}
	b = b[:HeaderSize+n]
	if binary.LittleEndian.Uint32(b[12:]) != sum(b, place) {
		return Frame{}, ErrSum
	}
	f := Frame{Kind: Kind(b[1]), Note: binary.LittleEndian.Uint32(b[8:]), Payload: b[HeaderSize:]}
	if b[0] > Version || f.Kind > KindClose {
		return f, fmt.Errorf("%w: version %d, kind %d; this one reads up to %d and %d", ErrVersion, b[0], f.Kind, Version, KindClose)
	}
	return f, nil
}

// String names the kind.
func (k Kind) String() string {
	if k >= 1 && k <= KindClose {
		return [...]string{"segment", "batch", "submit", "open", "prune", "document", "archive", "archive-prune", "keep", "drop", "close"}[k-1]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}
