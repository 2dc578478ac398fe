// Package record is the form in which ax writes what it must not lose: versioned, checksummed records of batches and of
// everything else that changes a store. It knows no device: package journal puts records into files, another backend may
// put the same ones elsewhere, one to a value.
//
// # Model
//
//	frame    16 bytes of header, then the payload
//	  0  version  1 byte   Version
//	  1  kind     1 byte   what the payload is
//	  2  zero     2 bytes
//	  4  length   4 bytes  of the payload, little endian, as all fixed numbers here
//	  8  note     4 bytes  for the device: it says there what it likes
//	 12  sum      4 bytes  CRC-32C of the other 12 bytes, of the place, and of the payload
//
//	payload  a preamble that depends on the kind, then sections
//	section  tag 1 byte, count uvarint, so many items
//	item     length uvarint, body
//
// The place is a number that is not written: where the device has put the frame. A frame that was moved, or that an
// earlier life of the same file left behind, does not check out. The body of a task ends with a CRC-32C of its own, since
// a device may read it back alone.
//
// A task is written whole (TagCreate, TagFull), or only what a move changes (TagMove, TagFinish): the fields from State
// on, and Due.
//
// # Guaranteed
//
//   - Arbitrary bytes are refused with an error, never with a panic, and allocate no more than about their own length.
//   - What was written is read back as the same value. (Empty slices and maps come back as nil.)
//   - Later versions read what earlier ones wrote. testdata/golden.hex holds the first.
//
// # How it fails
//
// ErrSum for bytes that are not what was written, ErrVersion for those of a version, a kind or a tag that this one does
// not know: a newer program wrote them, and skipping them would lose something.
package record
