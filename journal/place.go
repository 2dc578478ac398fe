package journal

import (
	"hash/maphash"

	"github.com/axsched/ax"
)

// key stands for an id: 128 bits of hash, so that two ids never share one in practice (in a hundred billion tasks, with a
// probability of 10^-17), and neither the id nor a pointer need be in memory.
type key [2]uint64

// hasher makes keys. Its seeds are this process's own: nobody can choose ids that fall together.
type hasher [2]maphash.Seed

func newHasher() hasher { return hasher{maphash.MakeSeed(), maphash.MakeSeed()} }

func (h *hasher) key(id string) key {
	return key{maphash.String(h[0], id), maphash.String(h[1], id)}
}

func (h *hasher) keyOf(id []byte) key {
	return key{maphash.Bytes(h[0], id), maphash.Bytes(h[1], id)}
}

// place is where an item stands in the log: the slot of its segment, the offset in it, and its size in units of 16 bytes,
// rounded up. 0 is nowhere.
type place uint64

const (
	slotBits   = 14
	offsetBits = 36
	sizeBits   = 14
	sizeUnit   = 16

	maxSlot  = 1<<slotBits - 1
	sizeMost = 1<<sizeBits - 1 // this many units, or more
)

func placeAt(slot int, offset int64, size int) place {
	units := min((size+sizeUnit-1)/sizeUnit, sizeMost)
	return place(slot)<<(offsetBits+sizeBits) | place(offset)<<sizeBits | place(units)
}

func (p place) slot() int     { return int(p >> (offsetBits + sizeBits)) }
func (p place) offset() int64 { return int64(p >> sizeBits & (1<<offsetBits - 1)) }

// size is at least the size of the item, but for one of more than 256 KiB.
func (p place) size() int { return int(p&sizeMost) * sizeUnit }

// spot is what the index knows of a live task.
type spot struct {
	base  place // the whole task
	moved place // what moved since; nowhere if nothing did
	when  int64 // At and State: the lower four bits
}

func whenOf(at ax.Time, s ax.State) int64 { return int64(at)<<4 | int64(s)&15 }

func (s spot) at() ax.Time     { return ax.Time(s.when >> 4) }
func (s spot) state() ax.State { return ax.State(s.when & 15) }
func (s spot) size() int64     { return int64(s.base.size() + s.moved.size()) }

func (s spot) in(slot int) bool {
	return s.base.slot() == slot || s.moved != 0 && s.moved.slot() == slot
}
