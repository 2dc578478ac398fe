package ax

import (
	"crypto/rand"
	"encoding/binary"
	"hash/crc64"
	"time"
)

// NewID returns an id of 26 characters from the time (milliseconds) and 80 random bits: it sorts by time as text, and
// two processes do not make the same one. Make an id before the first try of a submission, then a retry is safe.
func NewID(now time.Time) string {
	var raw [16]byte
	rand.Read(raw[6:])
	ms := uint64(now.UnixMilli())
	binary.BigEndian.PutUint16(raw[0:], uint16(ms>>32))
	binary.BigEndian.PutUint32(raw[2:], uint32(ms))
	const digits = "0123456789abcdefghjkmnpqrstvwxyz" // base 32 without i l o u, as in Crockford's alphabet
	hi, lo := binary.BigEndian.Uint64(raw[:8]), binary.BigEndian.Uint64(raw[8:])
	var id [26]byte
	for i := len(id) - 1; i >= 0; i-- {
		id[i] = digits[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return string(id[:])
}

// PartitionOf returns the partition of a key among n: the same on every machine and in every version.
func PartitionOf(key string, n int) Partition {
	h := uint64(offset64)
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * prime64
	}
	h ^= h >> 32 // fold, since the low bits of FNV alone spread short keys badly
	return Partition(h % uint64(max(n, 1)))
}

// FNV-1a, 64 bits (Fowler, Noll, Vo): http://www.isthe.com/chongo/tech/comp/fnv/.
const (
	offset64 = 14695981039346656037
	prime64  = 1099511628211
)

// contentHash covers all that a submission says about the work but not when: a retry of "in 15 minutes" is the same
// submission.
func contentHash(t *Task) uint64 {
	h := uint64(offset64)
	word := func(n uint64) { h = (h ^ n) * prime64; h ^= h >> 29 }
	text := func(s string) {
		for i := range len(s) {
			h = (h ^ uint64(s[i])) * prime64
		}
		word(uint64(len(s)))
	}
	text(t.Kind)
	word(crc64.Checksum(t.Payload, crc64.MakeTable(crc64.ECMA)))
	word(uint64(len(t.Payload)))
	word(uint64(t.Timeout)<<32 | uint64(uint16(t.MaxRetries))<<16 | uint64(t.Priority.Level())<<8 | uint64(t.Flags))
	if x := t.Extra; x != nil {
		var sum uint64 // headers in any order
		for k, v := range x.Headers {
			keep := h
			text(k)
			text(v)
			sum += h
			h = keep
		}
		word(sum)
		word(uint64(x.Backoff.Base))
		word(uint64(x.Backoff.Cap))
		word(uint64(x.Backoff.Jitter))
		word(uint64(x.Unique.By)<<56 ^ uint64(x.Unique.Window))
		if x.Backoff.Full {
			word(1)
		}
	}
	return h
}
