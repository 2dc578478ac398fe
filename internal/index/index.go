// Package index finds values by a string that each of them holds: a hash set of pointers, made for millions of entries.
//
// A Go map from string to pointer costs about 38 bytes an entry, for a key that the value holds already. Here an entry
// costs a slot of 10 bytes, and 12.5 to 19 bytes with the slots that are free.
//
// # Model
//
//	hash    64 bits of the key under the seed: 8 choose one of 256 tables, 16 are the slot's tag
//	home    tag * slots / 65536: where an entry would be; it is there or, without a free slot between, after it
//	tag     kept beside the pointer, 0 = free slot: home and most comparisons are decided without reading the value
//
// Tables use open addressing with linear probing at a load of at most 0.8, and grow by half, each on its own, so that no
// step takes long: a table of a full index of 1,000,000 has about 4,000 entries. Growing and deleting read tags only. A
// delete moves later entries of its run back (no tombstones), so a table does not age. Rejected: 8 bytes a slot without
// the tag, since every probe would then read a value and its key, two cache misses each.
//
// # Guaranteed
//
//   - At most one value per key, and at most 19 bytes an entry (for tables above a few entries, until All shrinks to none).
//   - Nothing is allocated but tables when they grow or shrink.
//
// # Not guaranteed
//
//   - The order of All, which depends on the seed: nothing may be decided by it.
//   - Safety for concurrent use: an index belongs to one goroutine or one lock. Nothing may change during All.
//   - Speed above some 13 million entries, where several homes fall together: it goes down slowly.
//
// # How it fails
//
// A value whose key changes while it is in an index is lost to it.
package index

import (
	"hash/maphash"
	"iter"
)

const (
	tables   = 256 // one in 256 entries is moved by a step of growth
	least    = 8   // slots of the smallest table, kept when it becomes empty: one line of pointers
	tagSpace = 1 << 16
)

// Index holds pointers by their key. Make it with New.
type Index[T any] struct {
	seed   maphash.Seed     // immutable
	key    func(*T) string  // immutable
	n      int              // = sum of table.n
	tables [tables]table[T] // by the low 8 bits of the hash
}

// table is one open-addressed hash table. len(tags) = len(values), n <= 0.8 len(tags); values[i] is nil exactly when tags[i] is 0;
// between the home of an entry and its slot no slot is free.
type table[T any] struct {
	tags   []uint16
	values []*T
	n      int
}

// New returns an empty index of values by key. The seed is any; two indexes may share one.
func New[T any](seed maphash.Seed, key func(*T) string) *Index[T] {
	return &Index[T]{seed: seed, key: key}
}

// Len returns the number of values.
func (x *Index[T]) Len() int { return x.n }

// Slots returns the number of slots, free ones included; each takes 10 bytes.
func (x *Index[T]) Slots() (n int) {
	for i := range x.tables {
		n += len(x.tables[i].tags)
	}
	return n
}

// Get returns the value with the key, or nil.
func (x *Index[T]) Get(key string) *T {
	t, tag := x.place(key)
	if i := t.find(x.key, key, tag); i >= 0 && t.tags[i] != 0 {
		return t.values[i]
	}
	return nil
}

// Put adds v and returns the value of the same key that it replaces, or nil.
func (x *Index[T]) Put(v *T) (old *T) {
	key := x.key(v)
	t, tag := x.place(key)
	i := t.find(x.key, key, tag)
	if i >= 0 && t.tags[i] != 0 {
		old, t.values[i] = t.values[i], v
		return old
	}
	if (t.n+1)*5 > len(t.tags)*4 {
		t.resize(max(least, len(t.tags)+len(t.tags)/2))
		i = t.free(tag)
	}
	t.tags[i], t.values[i] = tag, v
	t.n++
	x.n++
	return nil
}

// Delete removes the value with the key and returns it, or nil.
func (x *Index[T]) Delete(key string) (old *T) {
	t, tag := x.place(key)
	i := t.find(x.key, key, tag)
	if i < 0 || t.tags[i] == 0 {
		return nil
	}
	old = t.values[i]
	t.n--
	x.n--
	t.close(i)
	if size := len(t.tags); size > least && t.n < size/4 {
		t.resize(max(least, t.n*2)) // half full: far from growing again
	}
	return old
}

// All walks over the values, in no order that means anything. The index must not change meanwhile.
func (x *Index[T]) All() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range x.tables {
			for _, v := range x.tables[i].values {
				if v != nil && !yield(v) {
					return
				}
			}
		}
	}
}

// Part iterates over one of several parts that together hold every value once, for a walk in steps. The order and the
// rules are those of All; what moves between two steps may be seen twice or not at all only if it was deleted or put.
func (x *Index[T]) Part(part, of int) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := part; i < tables; i += of {
			for _, v := range x.tables[i].values {
				if v != nil && !yield(v) {
					return
				}
			}
		}
	}
}

// place returns the table of a key and its tag in it.
func (x *Index[T]) place(key string) (*table[T], uint16) {
	h := maphash.String(x.seed, key)
	return &x.tables[h%tables], max(uint16(h>>8), 1)
}

func (t *table[T]) home(tag uint16) int { return int(uint64(tag) * uint64(len(t.tags)) / tagSpace) }

// find returns the slot of the key, or the free slot where it would be put, or -1 in a table without slots.
func (t *table[T]) find(keyOf func(*T) string, key string, tag uint16) int {
	if len(t.tags) == 0 {
		return -1
	}
	for i := t.home(tag); ; i++ {
		if i == len(t.tags) {
			i = 0
		}
		if t.tags[i] == 0 || t.tags[i] == tag && keyOf(t.values[i]) == key {
			return i
		}
	}
}

// free returns the first free slot from the home of tag.
func (t *table[T]) free(tag uint16) int {
	i := t.home(tag)
	for t.tags[i] != 0 {
		if i++; i == len(t.tags) {
			i = 0
		}
	}
	return i
}

// close empties slot i and moves back what a free slot there would hide.
func (t *table[T]) close(i int) {
	size := len(t.tags)
	for j := i; ; {
		if j++; j == size {
			j = 0
		}
		if t.tags[j] == 0 {
			break
		}
		// The entry in j may move to i if its home does not lie between them: i is no further from j than its home is.
		if from := j - t.home(t.tags[j]); (from+size)%size >= (j-i+size)%size {
			t.tags[i], t.values[i] = t.tags[j], t.values[j]
			i = j
		}
	}
	t.tags[i], t.values[i] = 0, nil
}

// resize moves all entries to a table of another size, more than t.n.
func (t *table[T]) resize(size int) {
	old := *t
	t.tags, t.values = make([]uint16, size), make([]*T, size)
	for i, tag := range old.tags {
		if tag != 0 {
			j := t.free(tag)
			t.tags[j], t.values[j] = tag, old.values[i]
		}
	}
}
