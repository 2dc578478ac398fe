package engine

import "hash/maphash"

// farSet is which tasks are far: a 64-bit hash of each id, some 10 to 20 bytes a task, and no pointer for the collector to
// follow. Two ids of one hash are taken for one another only in that a task is looked for which is not there.
type farSet struct {
	seed maphash.Seed
	ids  map[uint64]struct{}
	more map[uint64]int // how many others have the same hash; as good as always empty
	n    int
}

func (f *farSet) add(id string) {
	h := maphash.String(f.seed, id)
	if _, taken := f.ids[h]; taken {
		f.more[h]++
	} else {
		f.ids[h] = struct{}{}
	}
	f.n++
}

func (f *farSet) has(id string) bool {
	_, ok := f.ids[maphash.String(f.seed, id)]
	return ok
}

func (f *farSet) remove(id string) {
	h := maphash.String(f.seed, id)
	switch {
	case f.more[h] > 1:
		f.more[h]--
	case f.more[h] == 1:
		delete(f.more, h)
	default:
		delete(f.ids, h)
	}
	f.n--
}
