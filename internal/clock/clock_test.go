package clock

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

const (
	ms     = int64(1000)
	sec    = 1000 * ms
	minute = 60 * sec
)

// machine is a fake machine with a guard that looks at it.
type machine struct {
	Reading
	guard   Guard
	now     Now
	changes []Change
}

func boot(wall int64) *machine {
	m := &machine{Reading: Reading{Wall: wall, Boot: 3 * sec, Mono: 2 * sec}}
	m.look()
	return m
}

// pass lets time pass, one look every so often, with the wall clock off by ppm.
func (m *machine) pass(total, every, ppm int64) {
	for ; total > 0; total -= every {
		d := min(every, total)
		m.Wall += d + d*ppm/1_000_000
		m.Boot += d
		m.Mono += d
		m.look()
	}
}

func (m *machine) look() {
	before := m.now
	now, changes := m.guard.Observe(m.Reading)
	if before != (Now{}) && now.Boot < before.Boot {
		panic("Now.Boot ran backwards")
	}
	m.now = now
	m.changes = append(m.changes, changes...)
}

func (m *machine) want(t *testing.T, changes ...Change) {
	t.Helper()
	if !slices.Equal(m.changes, changes) {
		t.Fatalf("changes %v, want %v", m.changes, changes)
	}
}

// A delayed task of 10 min is due on Boot, so that the step does not touch it; an absolute one follows Wall.
func TestC46_WallSteps(t *testing.T) {
	for _, step := range []int64{4 * minute, -4 * minute} {
		m := boot(1_764_460_800 * sec)
		submitted := m.now
		m.pass(2*minute, sec, 0)
		m.want(t)
		m.Wall += step
		m.look()
		m.want(t, Change{Step, step})
		if got := m.now.Boot - submitted.Boot; got != 2*minute {
			t.Fatalf("Boot ran %d over the step", got)
		}
		if got := m.now.Wall - submitted.Wall; got != 2*minute+step {
			t.Fatalf("Wall ran %d over the step", got)
		}
		m.pass(8*minute, sec, 0)
		if got := m.now.Boot - submitted.Boot; got != 10*minute {
			t.Fatalf("the delay of 10 min took %d", got)
		}
		m.want(t, Change{Step, step})
		if s := m.guard.Stats(); s != (Stats{Steps: 1, StepSum: 4 * minute, StepMax: 4 * minute}) {
			t.Fatalf("stats %+v", s)
		}
	}
}

func TestC46_StepWhileTimePasses(t *testing.T) {
	m := boot(0)
	m.Wall += 30*sec - 4*minute
	m.Boot += 30 * sec
	m.Mono += 30 * sec
	m.look()
	m.want(t, Change{Step, -4 * minute})
}

func TestC48_Suspend(t *testing.T) {
	m := boot(1_764_460_800 * sec)
	m.pass(minute, sec, 0)
	start := m.now
	m.Wall += 42 * minute
	m.Boot += 42 * minute
	m.look()
	m.want(t, Change{Suspend, 42 * minute})
	if m.now.Boot-start.Boot != 42*minute || m.now.Wall-start.Wall != 42*minute {
		t.Fatalf("from %v to %v: time asleep must count", start, m.now)
	}
	m.Wall += 31 * minute // asleep once more, and set on waking
	m.Boot += 30 * minute
	m.look()
	m.want(t, Change{Suspend, 42 * minute}, Change{Suspend, 30 * minute}, Change{Step, minute})
	if s := m.guard.Stats(); s != (Stats{1, minute, minute, 2, 72 * minute, 42 * minute, 0, 0}) {
		t.Fatalf("stats %+v", s)
	}
}

func TestSlewIsNoStep(t *testing.T) {
	for _, ppm := range []int64{500, -500} {
		for _, every := range []int64{ms, sec, minute, 24 * 60 * minute} {
			m := boot(0)
			m.pass(20*every, every, ppm)
			m.want(t)
			if s := m.guard.Stats(); s.Drift != 20*(every*ppm/1_000_000) {
				t.Errorf("look every %d us: drift %d", every, s.Drift)
			}
		}
	}
}

func TestThresholds(t *testing.T) {
	for _, c := range []struct {
		wall, boot, mono int64
		want             []Change
	}{
		{100 * ms, 0, 0, nil},
		{100*ms + 1, 0, 0, []Change{{Step, 100*ms + 1}}},
		{10*sec + 105*ms, 10 * sec, 10 * sec, nil},
		{10*sec + 105*ms + 1, 10 * sec, 10 * sec, []Change{{Step, 105*ms + 1}}},
		{10*sec - 105*ms, 10 * sec, 10 * sec, nil},
		{10*sec - 105*ms - 1, 10 * sec, 10 * sec, []Change{{Step, -105*ms - 1}}},
		{sec, sec, 900 * ms, nil},
		{sec, sec, 900*ms - 1, []Change{{Suspend, 100*ms + 1}}},
		{sec, sec, sec + 200*ms, nil},                        // Mono ahead of Boot is no suspend
		{-1, 10 * ms, 10 * ms, []Change{{Step, -10*ms - 1}}}, // backwards is a step, however small
	} {
		var g Guard
		g.Observe(Reading{})
		if _, got := g.Observe(Reading{c.wall, c.boot, c.mono}); !slices.Equal(got, c.want) {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}

func TestBootBackwards(t *testing.T) {
	m := boot(0)
	m.pass(minute, sec, 0)
	held := m.now.Boot
	m.Wall += 10 * ms
	m.Boot -= 10 * sec
	m.look()
	m.want(t)
	if m.now.Boot != held {
		t.Fatalf("Boot %d, want it held at %d", m.now.Boot, held)
	}
	m.pass(9*sec, sec, 0)
	if m.now.Boot != held {
		t.Fatalf("Boot %d before the clock caught up with %d", m.now.Boot, held)
	}
	m.Wall += minute // still judged while Boot is held
	m.look()
	m.want(t, Change{Step, minute})
	m.pass(2*sec, sec, 0)
	if m.now.Boot != held+sec {
		t.Fatalf("Boot %d after catching up, want %d", m.now.Boot, held+sec)
	}
	m.Mono -= minute
	m.look()
	m.want(t, Change{Step, minute})
	m.Wall -= ms // runs backwards together with Boot: a step by as much as Wall shows
	m.Boot -= sec
	m.look()
	m.want(t, Change{Step, minute}, Change{Step, -ms})
	if s := m.guard.Stats(); s.Anomalies != 3 || s.Drift != 0 {
		t.Fatalf("stats %+v", s)
	}
}

func TestFirstReadingIsNoChange(t *testing.T) {
	var g Guard
	now, changes := g.Observe(Reading{Wall: -5, Boot: -7, Mono: 9})
	if now != (Now{-5, -7}) || changes != nil {
		t.Fatalf("%v %v", now, changes)
	}
}

func TestOffset(t *testing.T) {
	m := boot(1000 * sec)
	m.guard.SetOffset(-7 * sec)
	m.pass(sec, sec, 0)
	m.want(t)
	if m.now.Wall != m.Wall-7*sec {
		t.Fatalf("Wall %d, want %d", m.now.Wall, m.Wall-7*sec)
	}
	m.guard.SetOffset(math.MaxInt64)
	m.look()
	if m.now.Wall != math.MaxInt64 {
		t.Fatalf("Wall %d after an absurd offset", m.now.Wall)
	}
}

// Absurd readings keep the guarantees: no wrapped size, Boot never backwards, no Wall backwards without a Step.
func TestAbsurdReadings(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	values := []int64{math.MinInt64, math.MinInt64 + 1, -sec, -1, 0, 1, sec, math.MaxInt64 - 1, math.MaxInt64}
	any := func() int64 { return values[rnd.IntN(len(values))] }
	var g Guard
	prev, _ := g.Observe(Reading{0, 0, 0})
	for range 100_000 {
		r := Reading{any(), any(), any()}
		now, changes := g.Observe(r)
		if now.Boot < prev.Boot {
			t.Fatalf("%+v: Boot from %d to %d", r, prev.Boot, now.Boot)
		}
		stepped := false
		for _, c := range changes {
			stepped = stepped || c.Kind == Step
			if c.Kind == Suspend && c.By <= 0 {
				t.Fatalf("%+v: %v", r, c)
			}
		}
		if now.Wall < prev.Wall && !stepped {
			t.Fatalf("%+v: Wall from %d to %d without a Step", r, prev.Wall, now.Wall)
		}
		prev = now
	}
	if s := g.Stats(); s.StepMax != math.MaxInt64 || s.StepSum != math.MaxInt64 || s.SuspendSum != math.MaxInt64 {
		t.Errorf("stats %+v", s)
	}
}

func TestSaturation(t *testing.T) {
	const lo, hi = math.MinInt64, math.MaxInt64
	for _, c := range []struct{ a, b, sum, diff int64 }{
		{0, 0, 0, 0},
		{-3, 5, 2, -8},
		{lo, lo, -hi, 0},
		{hi, hi, hi, 0},
		{lo, hi, -1, -hi},
		{hi, lo, -1, hi},
		{0, lo, -hi, hi},
		{lo, 0, -hi, -hi},
		{-1, lo, -hi, hi},
		{lo, 1, -hi, -hi},
		{-1, hi, hi - 1, -hi},
	} {
		if sum, diff := add(c.a, c.b), sub(c.a, c.b); sum != c.sum || diff != c.diff {
			t.Errorf("%d, %d: sum %d, difference %d", c.a, c.b, sum, diff)
		}
	}
}

func TestQuietObserveDoesNotAllocate(t *testing.T) {
	var g Guard
	r := Reading{Wall: 1000 * sec}
	if n := testing.AllocsPerRun(1000, func() {
		r.Wall += sec
		r.Boot += sec
		r.Mono += sec
		g.Observe(r)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestKindString(t *testing.T) {
	if Step.String() != "step" || Suspend.String() != "suspend" || Kind(0).String() != "unknown" {
		t.Error("the names of the kinds changed")
	}
}

func BenchmarkObserve(b *testing.B) {
	var g Guard
	r := Reading{}
	for b.Loop() {
		r.Wall += ms
		r.Boot += ms
		r.Mono += ms
		g.Observe(r)
	}
}
