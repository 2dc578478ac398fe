package record

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/axsched/ax"
)

func appendUint(dst []byte, n uint64) []byte { return binary.AppendUvarint(dst, n) }

func appendInt(dst []byte, n int64) []byte { return binary.AppendVarint(dst, n) }

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func appendBytes(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

func appendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func appendToken(dst []byte, t ax.Token) []byte {
	return appendUint(binary.LittleEndian.AppendUint32(dst, t.Era), t.Revision)
}

// appendStamp writes an instant near another one; zero stays zero.
func appendStamp(dst []byte, t, near ax.Time) []byte {
	if t == 0 {
		return append(dst, 0)
	}
	return appendInt(append(dst, 1), int64(t)-int64(near))
}

// reader takes values off the front of bytes. After the first that is not there it returns zeros, and bad says so.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) fail() { r.b, r.bad = nil, true }

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.fail()
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.fail()
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *reader) bool() bool { return r.byte() != 0 }

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) int() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

// int32 and the like refuse what does not fit: cutting it off would be another value.
func (r *reader) int32() int32 {
	v := r.int()
	if int64(int32(v)) != v {
		r.fail()
	}
	return int32(v)
}

func (r *reader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) raw() []byte {
	n := r.uint()
	if n > uint64(len(r.b)) {
		r.fail()
		return nil
	}
	return r.take(int(n))
}

func (r *reader) string() string { return string(r.raw()) }

// bytes returns a copy, nil if there are none.
func (r *reader) bytes() []byte {
	b := r.raw()
	if len(b) == 0 {
		return nil
	}
	return append(make([]byte, 0, len(b)), b...)
}

func (r *reader) time() ax.Time { return ax.Time(r.int()) }

func (r *reader) duration() time.Duration { return time.Duration(r.int()) }

func (r *reader) stamp(near ax.Time) ax.Time {
	if !r.bool() {
		return 0
	}
	return near + ax.Time(r.int())
}

func (r *reader) token() ax.Token { return ax.Token{Era: r.u32(), Revision: r.uint()} }

// count reads how many follow, each of at least so many bytes, so that a wrong number allocates nothing.
func (r *reader) count(least int) int {
	n := r.uint()
	if n > uint64(len(r.b)/least) {
		r.fail()
		return 0
	}
	return int(n)
}

// end returns an error if something was missing or is left over.
func (r *reader) end(what string) error {
	if r.bad || len(r.b) > 0 {
		return fmt.Errorf("%w: %s is malformed", ErrSum, what)
	}
	return nil
}
