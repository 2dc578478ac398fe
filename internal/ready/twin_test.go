package ready

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/quick"
	"time"
)

// task is what waits in these tests.
type task struct {
	name   int
	ticket uint32
	level  int
	since  int64
	seq    uint64
}

func (t *task) Ticket() uint32 { return t.ticket }

// twin is a lane that sorts all it has before each look.
type twin struct {
	aging Aging
	all   []*task
}

func (w *twin) sort(now int64) {
	rank := func(t *task) int { return w.aging.Level(t.level, now-t.since) }
	slices.SortStableFunc(w.all, func(a, b *task) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.since, b.since), cmp.Compare(a.seq, b.seq))
	})
}

// A lane does what its dumb twin does, under random pushes, pops, removals and the passing of time.
func TestLaneLikeItsTwin(t *testing.T) {
	for round := range 300 {
		seed := rand.Uint64()
		rng := rand.New(rand.NewPCG(seed, 0))
		aging := []Aging{Aging{}.WithDefaults(), {Off: true}, {After: time.Millisecond, Step: time.Millisecond}, {After: time.Second, Step: 1}}[round%4]
		levels := []int{1, 3, 100}[round%3]
		l, w := Lane[*task]{Aging: aging}, &twin{aging: aging}
		now, seq, names := int64(1_000_000), uint64(0), 0
		push := func(v *task) {
			l.Push(v.level, v.since, v.seq, v)
			w.all = append(w.all, v)
		}
		for step := range 1500 {
			switch n := rng.IntN(10); {
			case n < 5:
				names++
				seq++
				v := &task{name: names, level: rng.IntN(levels), since: now - rng.Int64N(3)*rng.Int64N(1_000_000), seq: seq << 20}
				if n == 0 {
					v.seq = rng.Uint64N(seq)<<20 | uint64(names) // a retry has an old number; no two are the same
				}
				push(v)
			case n < 7:
				w.sort(now)
				got, ok := l.Pop(now)
				if ok != (len(w.all) > 0) || ok && got.name != w.all[0].name {
					t.Fatalf("seed %d step %d: popped %+v, want %+v", seed, step, got, w.all[:min(len(w.all), 1)])
				}
				if ok {
					w.all = w.all[1:]
				}
			case n == 7 && len(w.all) > 0: // leaves by another way
				i := rng.IntN(len(w.all))
				v := w.all[i]
				v.ticket++
				l.Left(v.level)
				w.all = slices.Delete(w.all, i, i+1)
				if rng.IntN(2) == 0 { // and comes back
					push(v)
				}
			case n == 8:
				now += rng.Int64N(50_000_000)
			}
			w.sort(now)
			rank, ok := l.Head(now)
			if l.Len() != len(w.all) || ok != (len(w.all) > 0) {
				t.Fatalf("seed %d step %d: %d wait, head %v; want %d", seed, step, l.Len(), ok, len(w.all))
			}
			if ok {
				if v := w.all[0]; rank != (Rank{aging.Level(v.level, now-v.since), v.since, v.seq}) {
					t.Fatalf("seed %d step %d: head %+v, want %+v", seed, step, rank, v)
				}
			}
		}
		for len(w.all) > 0 {
			w.sort(now)
			if got, ok := l.Pop(now); !ok || got != w.all[0] {
				t.Fatalf("seed %d, emptying: %+v, want %+v", seed, got, w.all[0])
			}
			w.all = w.all[1:]
		}
		if _, ok := l.Pop(now); ok || l.Len() != 0 {
			t.Fatalf("seed %d: something is left", seed)
		}
	}
}

// Equals are first in, first out, 100,000 of them, and the line gives back its memory.
func TestFirstInFirstOut(t *testing.T) {
	var q Queue[*task]
	const n = 100_000
	for i := range n {
		q.Push(7, uint64(i), &task{name: i})
	}
	for i := range n {
		if v, since, seq, ok := q.Head(); !ok || v.name != i || since != 7 || seq != uint64(i) {
			t.Fatalf("head %d is %+v", i, v)
		}
		if v, ok := q.Pop(); !ok || v.name != i {
			t.Fatalf("number %d is %+v", i, v)
		}
	}
	if q.Len() != 0 || cap(q.line) > 1<<16 {
		t.Errorf("%d left, room for %d", q.Len(), cap(q.line))
	}
}

// Those that left otherwise do not pile up: the entries they leave behind never outnumber the others by much.
func TestStaleEntriesAreDropped(t *testing.T) {
	var q Queue[*task]
	rng := rand.New(rand.NewPCG(1, 2))
	var live []*task
	for i := range 200_000 {
		v := &task{name: i}
		q.Push(rng.Int64N(1000), uint64(i), v)
		live = append(live, v)
		if len(live) > 100 {
			k := rng.IntN(len(live))
			live[k].ticket++
			q.Left()
			live = slices.Delete(live, k, k+1)
		}
		if entries := len(q.line) - q.head + len(q.heap); entries > 2*q.Len()+65 || q.Len() != len(live) {
			t.Fatalf("%d entries for %d that wait, want %d", entries, q.Len(), len(live))
		}
	}
}

// The level falls by one after After and by one after every Step, never below 0, and never rises.
func TestAgingLevel(t *testing.T) {
	a := Aging{}.WithDefaults()
	if a != (Aging{After: 40 * time.Second, Step: 30 * time.Second}) {
		t.Fatalf("defaults %+v", a)
	}
	for _, c := range []struct {
		level  int
		waited time.Duration
		want   int
	}{{50, 0, 50}, {50, 40*time.Second - time.Microsecond, 50}, {50, 40 * time.Second, 49}, {50, 70*time.Second - time.Microsecond, 49}, {50, 70 * time.Second, 48},
		{50, time.Hour, 0}, {1, 40 * time.Second, 0}, {0, time.Hour, 0}, {99, 1 << 62, 0}, {99, -time.Hour, 99}} {
		if got := a.Level(c.level, c.waited.Microseconds()); got != c.want {
			t.Errorf("level %d after %v: %d, want %d", c.level, c.waited, got, c.want)
		}
		if got := (Aging{Off: true}).Level(c.level, c.waited.Microseconds()); got != c.level {
			t.Errorf("off: level %d became %d", c.level, got)
		}
	}
	law := func(after, step uint32, level uint8, waited int64, more uint32) bool {
		a := Aging{After: time.Duration(after) * time.Microsecond, Step: time.Duration(step) * time.Microsecond}.WithDefaults()
		n := int(level % 100)
		w := waited >> 2
		first, then := a.Level(n, w), a.Level(n, w+int64(more))
		return first >= 0 && first <= n && then <= first && a.Level(n, a.Bound(n).Microseconds()) == 0 &&
			(n == 0 || a.Level(n, a.Bound(n).Microseconds()-1) > 0) && a.Level(n, max(a.After.Microseconds()-1, 0)) >= n-1
	}
	if err := quick.Check(law, &quick.Config{MaxCount: 50_000}); err != nil {
		t.Error(err)
	}
	if (Aging{Off: true}).Bound(50) >= 0 || (Aging{Off: true}).Bound(0) != 0 || a.Bound(50) != 25*time.Minute+10*time.Second || a.Bound(99) != 49*time.Minute+40*time.Second {
		t.Error("the bound")
	}
}

// The bound holds: what is at level 0 goes before all that became due later, whatever its level.
func TestBoundHolds(t *testing.T) {
	a := Aging{After: time.Second, Step: time.Second}
	l := Lane[*task]{Aging: a}
	low := &task{level: 9}
	l.Push(9, 0, 1, low)
	bound := a.Bound(9).Microseconds()
	for now := int64(0); now < bound; now += 100_000 {
		v := &task{level: 0}
		l.Push(0, now, uint64(now)+2, v)
		if got, _ := l.Pop(now); got == low {
			t.Fatalf("it went at %d already", now)
		}
	}
	l.Push(0, bound-1, 1<<60, &task{level: 0})
	if got, _ := l.Pop(bound); got != low {
		t.Errorf("at its bound %+v goes first", got)
	}
}

func TestRank(t *testing.T) {
	ranks := []Rank{{0, 5, 9}, {0, 6, 1}, {1, 0, 0}, {1, 0, 1}, {1, 1, 0}, {2, -5, 0}}
	for i, r := range ranks {
		for j, s := range ranks {
			if r.Before(s) != (i < j) {
				t.Errorf("%+v before %+v: %v", r, s, r.Before(s))
			}
		}
	}
}

func BenchmarkLane(b *testing.B) {
	l := Lane[*task]{Aging: Aging{}.WithDefaults()}
	v := make([]*task, 1024)
	for i := range v {
		v[i] = &task{level: 50}
		l.Push(50, int64(i), uint64(i), v[i])
	}
	seq := uint64(len(v))
	for b.Loop() {
		got, _ := l.Pop(int64(seq))
		seq++
		l.Push(50, int64(seq), seq, got)
	}
}
