package index

import (
	"fmt"
	"hash/maphash"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

type item struct {
	id string
	_  int
}

func newItems() *Index[item] {
	return New(maphash.MakeSeed(), func(v *item) string { return v.id })
}

// twin is a Go map beside the index: whatever is done to both must have the same answers.
type twin struct {
	t *testing.T
	x *Index[item]
	m map[string]*item
}

func (w twin) put(v *item) {
	if got, want := w.x.Put(v), w.m[v.id]; got != want {
		w.t.Fatalf("Put(%q) = %v, the map says %v", v.id, got, want)
	}
	w.m[v.id] = v
}

func (w twin) drop(id string) {
	if got, want := w.x.Delete(id), w.m[id]; got != want {
		w.t.Fatalf("Delete(%q) = %v, the map says %v", id, got, want)
	}
	delete(w.m, id)
}

func (w twin) get(id string) {
	if got, want := w.x.Get(id), w.m[id]; got != want {
		w.t.Fatalf("Get(%q) = %v, the map says %v", id, got, want)
	}
}

// check compares everything, and the promise that is behind the probing.
func (w twin) check() {
	w.t.Helper()
	if w.x.Len() != len(w.m) {
		w.t.Fatalf("Len = %d, the map says %d", w.x.Len(), len(w.m))
	}
	seen := map[string]*item{}
	for v := range w.x.All() {
		if seen[v.id] != nil {
			w.t.Fatalf("All yields %q twice", v.id)
		}
		seen[v.id] = v
	}
	if !maps.Equal(seen, w.m) {
		w.t.Fatalf("All yields %d values, the map holds %d", len(seen), len(w.m))
	}
	for i := range w.x.tables {
		tab, n := &w.x.tables[i], 0
		for at, tag := range tab.tags {
			if (tag == 0) != (tab.values[at] == nil) {
				w.t.Fatalf("table %d slot %d: tag %d and value %v", i, at, tag, tab.values[at])
			}
			if tag == 0 {
				continue
			}
			n++
			for j := tab.home(tag); j != at; j = (j + 1) % len(tab.tags) {
				if tab.tags[j] == 0 {
					w.t.Fatalf("table %d: slot %d is free between home and slot %d", i, j, at)
				}
			}
		}
		if n != tab.n || n*5 > len(tab.tags)*4 {
			w.t.Fatalf("table %d: n = %d, %d of %d slots used", i, tab.n, n, len(tab.tags))
		}
	}
}

// run does what the bytes say: one operation per two bytes, on few ids in one table or many in all.
func run(t *testing.T, ops []byte, few bool) {
	w := twin{t, newItems(), map[string]*item{}}
	for len(ops) >= 3 {
		id := fmt.Sprint("id-", (int(ops[1])<<8|int(ops[2]))%4096)
		if few {
			id = fmt.Sprint(ops[1] % 32)
		}
		switch ops[0] % 4 {
		case 0, 1:
			w.put(&item{id: id})
		case 2:
			w.drop(id)
		default:
			w.get(id)
		}
		ops = ops[3:]
	}
	w.check()
	for id := range maps.Clone(w.m) {
		w.drop(id)
	}
	w.check()
	if w.x.Slots() > tables*least {
		t.Fatalf("an empty index keeps %d slots", w.x.Slots())
	}
}

func TestTwin(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 0))
		ops := make([]byte, 3*(1+rng.IntN(50_000)))
		bias := rng.IntN(256) // from growing to shrinking
		for i := range ops {
			ops[i] = byte(rng.Uint32())
			if i%3 == 0 && rng.IntN(256) < bias {
				ops[i] = 2
			}
		}
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { run(t, ops, seed%2 == 0) })
	}
}

func FuzzTwin(f *testing.F) {
	f.Add([]byte{0, 1, 1, 0, 1, 2, 2, 1, 1, 3, 1, 2}, true)
	f.Fuzz(run)
}

// TestCrowd fills one small table around its end, where runs wrap, with every order of deletes of a run.
func TestCrowd(t *testing.T) {
	for start := range 8 {
		for order := range 24 {
			var tab table[item]
			tab.resize(8)
			key := func(v *item) string { return v.id }
			ids := []string{"a", "b", "c", "d"}
			tags := map[string]uint16{}
			for i, id := range ids {
				tags[id] = uint16(((start+i/2)%8)*8192 + 1 + i)
				at := tab.find(key, id, tags[id])
				tab.tags[at], tab.values[at] = tags[id], &item{id: id}
			}
			left := slices.Clone(ids)
			for k := 4; k > 0; k-- {
				pick := order % k
				order /= k
				tab.close(tab.find(key, left[pick], tags[left[pick]]))
				left = slices.Delete(left, pick, pick+1)
				for _, id := range ids {
					at := tab.find(key, id, tags[id])
					if found := tab.tags[at] != 0; found != slices.Contains(left, id) {
						t.Fatalf("start %d: %s found = %v with %v left", start, id, found, left)
					}
				}
			}
		}
	}
}

func TestBytesPerEntry(t *testing.T) {
	x := newItems()
	const n = 1_000_000
	items := make([]item, n)
	worst := 0.0
	for i := range items {
		items[i].id = fmt.Sprintf("customer-%d/close-%d", i%1000, i)
		x.Put(&items[i])
		if i >= 100_000 && i%10_000 == 0 {
			worst = max(worst, float64(x.Slots()*10)/float64(i+1))
		}
	}
	per := float64(x.Slots()*10) / n
	t.Logf("%.1f bytes an entry at %d, %.1f at worst from 100,000 on", per, n, worst)
	if per > 19 || worst > 19 {
		t.Errorf("%.1f bytes an entry, %.1f at worst; the package promises 19", per, worst)
	}
}

func TestAllocatesOnlyToGrow(t *testing.T) {
	x := newItems()
	items := make([]item, 10_000)
	for i := range items {
		items[i].id = fmt.Sprint(i)
		x.Put(&items[i])
	}
	i := 0
	if n := testing.AllocsPerRun(10_000, func() {
		v := &items[i%len(items)]
		x.Get(v.id)
		x.Delete(v.id)
		x.Put(v)
		i++
	}); n != 0 {
		t.Errorf("%v allocations for a Get, a Delete and a Put without growth", n)
	}
}

// BenchmarkIndex measures one operation at 1,000,000 entries, in random order, beside a Go map.
func BenchmarkIndex(b *testing.B) {
	const n = 1_000_000
	rng := rand.New(rand.NewPCG(1, 2))
	items := make([]item, 2*n)
	for i := range items {
		items[i].id = fmt.Sprintf("customer-%d/close-%d", i%1000, i)
	}
	at := rng.Perm(n)
	x, m := newItems(), map[string]*item{}
	for _, i := range at {
		x.Put(&items[i])
		m[items[i].id] = &items[i]
	}
	b.Run("get", func(b *testing.B) {
		for i := range b.N {
			x.Get(items[at[i%n]].id)
		}
	})
	b.Run("get/map", func(b *testing.B) {
		for i := range b.N {
			_ = m[items[at[i%n]].id]
		}
	})
	b.Run("absent", func(b *testing.B) {
		for i := range b.N {
			x.Get(items[n+at[i%n]].id)
		}
	})
	b.Run("delete+put", func(b *testing.B) {
		for i := range b.N {
			v := x.Delete(items[at[i%n]].id)
			x.Put(v)
		}
	})
	b.Run("delete+put/map", func(b *testing.B) {
		for i := range b.N {
			id := items[at[i%n]].id
			v := m[id]
			delete(m, id)
			m[id] = v
		}
	})
}
