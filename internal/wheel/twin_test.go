package wheel

import (
	"cmp"
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var seedFlag = flag.Uint64("seed", 0, "seed of TestTwin; 0 = a new one")

// twin is the dumb second implementation: a sorted slice. It restates the package comment and shares no code with Wheel.
type twin struct {
	tick    int64 // floor of the last now
	seq     int
	entries []entry
}

type entry struct {
	id      int
	when    int64
	tick    int64
	seq     int
	overdue bool
	round   int // an overdue entry fires in an Advance of a later round
}

func divFloor(a, b int64) int64 {
	q := a / b
	if a%b != 0 && a < 0 {
		q--
	}
	return q
}

func (m *twin) remove(id int) bool {
	n := len(m.entries)
	m.entries = slices.DeleteFunc(m.entries, func(e entry) bool { return e.id == id })
	return len(m.entries) < n
}

func (m *twin) add(id int, when int64, round int) {
	m.remove(id)
	m.seq++
	tick := divFloor(when, ms)
	if tick*ms != when {
		tick++
	}
	m.entries = append(m.entries, entry{id, when, tick, m.seq, tick <= m.tick, round})
}

// pop returns the next entry to fire in the Advance of this round to now, and takes it out.
func (m *twin) pop(now int64, round int) (entry, bool) {
	target := divFloor(now, ms)
	if target < m.tick {
		return entry{}, false
	}
	slices.SortFunc(m.entries, func(a, b entry) int {
		if a.overdue != b.overdue {
			if a.overdue {
				return -1
			}
			return 1
		}
		if a.overdue {
			return a.seq - b.seq
		}
		return cmp.Or(cmp.Compare(a.tick, b.tick), a.seq-b.seq)
	})
	for i, e := range m.entries {
		if e.overdue && e.round == round {
			continue
		}
		if !e.overdue && e.tick > target {
			break
		}
		m.entries = slices.Delete(m.entries, i, i+1)
		if !e.overdue {
			m.tick = e.tick
		}
		return e, true
	}
	m.tick = target
	return entry{}, false
}

func (m *twin) rebase(now int64) {
	if tick := divFloor(now, ms); tick < m.tick {
		m.tick = tick
		for i := range m.entries {
			m.entries[i].overdue = m.entries[i].tick <= tick
		}
	}
}

// compare runs steps random operations on a wheel and on its twin. pick(n) decides: 0 <= pick(n) < n.
func compare(t *testing.T, steps int, pick func(n int64) int64) {
	t.Helper()
	const ids = 40
	bases := []int64{0, -5 * sec, 1764460800 * sec, 1<<21*ms - 3*ms, -(1 << 50), math.MaxInt64 / 2}
	now := bases[pick(int64(len(bases)))]
	w, m := New[int](now), &twin{tick: divFloor(now, ms)}
	timers := make([]Timer[int], ids)
	for i := range timers {
		timers[i].Value = i
	}
	round := 0
	span := func() int64 {
		scales := []int64{1, ms, 20 * ms, 600 * ms, 33 * sec, 3 * hour, 400 * day, 2000 * 365 * day}
		s := scales[pick(int64(len(scales)))]
		return pick(s*3 + 1)
	}
	change := func() {
		id := int(pick(ids))
		switch pick(4) {
		case 0:
			if got, want := w.Remove(&timers[id]), m.remove(id); got != want {
				t.Fatalf("Remove(%d) = %v, twin says %v", id, got, want)
			}
		case 1: // at or before now
			when := now - span()
			w.Add(&timers[id], when)
			m.add(id, when, round)
		default:
			when := now + span()
			w.Add(&timers[id], when)
			m.add(id, when, round)
		}
	}
	for range steps {
		switch pick(8) {
		case 0:
			if pick(3) == 0 {
				back := now - span()
				w.Rebase(back)
				m.rebase(back)
				now = back
			}
		case 1, 2:
			round++
			old := now
			if now < math.MaxInt64/4*3 {
				now += span()
			}
			at := now
			if pick(20) == 0 {
				at = old - span() // a no-op, or an Advance within the tick
			}
			w.Advance(at, func(tm *Timer[int]) {
				want, ok := m.pop(at, round)
				if !ok || want.id != tm.Value || want.when != tm.When() {
					t.Fatalf("fired %d (due %d) at %d; twin says %+v, %v", tm.Value, tm.When(), at, want, ok)
				}
				if tm.When() > at || tm.Armed() {
					t.Fatalf("fired %d (due %d) at %d: early or armed", tm.Value, tm.When(), at)
				}
				for range pick(3) {
					change()
				}
			})
			if e, ok := m.pop(at, round); ok {
				t.Fatalf("not fired at %d: %+v", at, e)
			}
			if at < now {
				now = max(at, old)
			}
		default:
			change()
		}
		check(t, w, m, timers)
	}
}

func check(t *testing.T, w *Wheel[int], m *twin, timers []Timer[int]) {
	t.Helper()
	if w.Len() != len(m.entries) {
		t.Fatalf("Len = %d, twin has %d", w.Len(), len(m.entries))
	}
	next, ok := w.Next()
	if ok != (len(m.entries) > 0) {
		t.Fatalf("Next says %v with %d timers", ok, len(m.entries))
	}
	for _, e := range m.entries {
		if !timers[e.id].Armed() || timers[e.id].When() != e.when {
			t.Fatalf("timer %d is not as the twin has it: %+v", e.id, e)
		}
		if first := max(e.tick, m.tick); divFloor(next, ms) > first {
			t.Fatalf("Next = %d is later than the firing of %+v", next, e)
		}
	}
	n := 0
	for tm := range w.All() {
		n++
		if !tm.Armed() {
			t.Fatalf("All handed out %d, which is not armed", tm.Value)
		}
	}
	if n != w.Len() {
		t.Fatalf("All handed out %d of %d", n, w.Len())
	}
}

func TestTwin(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("rerun: go test ./internal/wheel -run TestTwin -seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	rounds := 2000
	if testing.Short() {
		rounds = 200
	}
	for range rounds {
		compare(t, 300, rnd.Int64N)
	}
}

func FuzzWheel(f *testing.F) {
	f.Add([]byte{0})
	f.Add([]byte("\x00\x03\x00\x02\x05\xff\x01\x07\xff\xff\x00\x01\x02\x03\x04\x05\x06\x07"))
	f.Add([]byte("\x02\x07\x01\x03\x04\x80\x00\x07\x01\x02\x05\x80\x00\x01\x04\xff\xff\x01\x02\x03\x01\x03\x03\x00\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			t.Skip("long inputs only take time")
		}
		pick := func(n int64) int64 {
			var v uint64
			for limit := uint64(1); limit < uint64(n) && len(data) > 0 && limit < 1<<56; limit <<= 8 {
				v = v<<8 | uint64(data[0])
				data = data[1:]
			}
			return int64(v % uint64(n))
		}
		steps := min(len(data), 500)
		compare(t, steps, pick)
	})
}
