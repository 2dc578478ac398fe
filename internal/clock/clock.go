package clock

import "math"

const (
	// tolerance is what two clocks may differ by between two readings, in microseconds: above the hold-ups of a busy
	// machine between two reads, below what anybody would notice as late.
	tolerance = 100_000

	// slewDivisor is 1 / 500 ppm, the fastest slew of adjtime and of the kernel's NTP discipline.
	slewDivisor = 2000
)

// Reading is one look at the machine's clocks, in microseconds.
type Reading struct {
	Wall int64 // since 1970 UTC
	Boot int64 // elapsed, suspend included
	Mono int64 // elapsed, suspend excluded
}

// Now is the judged time, in microseconds.
type Now struct {
	Wall int64 // since 1970 UTC, corrected by the offset
	Boot int64 // elapsed, suspend included; never lower than the one before
}

// Kind says what happened to a clock.
type Kind uint8

const (
	Step    Kind = 1 + iota // the wall clock was set
	Suspend                 // the machine slept
)

// String returns the kind as logs and metrics write it.
func (k Kind) String() string {
	switch k {
	case Step:
		return "step"
	case Suspend:
		return "suspend"
	}
	return "unknown"
}

// Change is one thing that happened to the clocks between two readings.
type Change struct {
	Kind Kind
	By   int64 // microseconds; for a Step, how far Wall jumped, negative for backwards; for a Suspend, how long it was
}

// Stats counts what a Guard saw. Sizes are microseconds, without sign except for Drift.
type Stats struct {
	Steps, StepSum, StepMax          int64
	Suspends, SuspendSum, SuspendMax int64
	Anomalies                        int64 // intervals in which Boot or Mono ran backwards
	Drift                            int64 // Wall against Boot, as far as it was not reported as a Step
}

// Guard judges readings. The zero value is ready. It belongs to one goroutine.
type Guard struct {
	last   Reading // the reading before; meaningful once seen
	seen   bool
	boot   int64 // highest Boot read
	offset int64 // set by SetOffset
	stats  Stats
}

// SetOffset sets the measured correction of the wall clock: Now.Wall is Wall + us from the next Observe on. A change of the
// offset is not reported as a Step; the one who sets it knows.
func (g *Guard) SetOffset(us int64) { g.offset = us }

// Stats returns the counts so far.
func (g *Guard) Stats() Stats { return g.stats }

// Observe judges a reading against the one before and returns the time, and what happened in between, a Suspend before a
// Step. The first reading is taken as it is. The slice is the caller's, and nil if nothing happened.
func (g *Guard) Observe(r Reading) (Now, []Change) {
	var changes []Change
	if g.seen {
		changes = g.judge(sub(r.Wall, g.last.Wall), sub(r.Boot, g.last.Boot), sub(r.Mono, g.last.Mono))
		g.boot = max(g.boot, r.Boot)
	} else {
		g.seen, g.boot = true, r.Boot
	}
	g.last = r
	return Now{Wall: add(r.Wall, g.offset), Boot: g.boot}, changes
}

// judge looks at how far each clock ran between two readings.
func (g *Guard) judge(wall, boot, mono int64) (changes []Change) {
	if boot < 0 || mono < 0 {
		g.stats.Anomalies++
	}
	if slept := sub(boot, mono); mono >= 0 && slept > tolerance {
		changes = append(changes, Change{Suspend, slept})
		g.stats.Suspends++
		g.stats.SuspendSum = add(g.stats.SuspendSum, slept)
		g.stats.SuspendMax = max(g.stats.SuspendMax, slept)
	}
	apart := sub(wall, max(boot, 0)) // a Boot that ran backwards says nothing about Wall
	switch size := max(apart, -apart); {
	case wall < 0, boot >= 0 && size > tolerance+boot/slewDivisor:
		changes = append(changes, Change{Step, apart})
		g.stats.Steps++
		g.stats.StepSum = add(g.stats.StepSum, size)
		g.stats.StepMax = max(g.stats.StepMax, size)
	case boot >= 0:
		g.stats.Drift = add(g.stats.Drift, apart)
	}
	return changes
}

// add returns a + b, held within ±math.MaxInt64, so that the result can be negated.
func add(a, b int64) int64 {
	switch sum := a + b; {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0, sum == math.MinInt64:
		return -math.MaxInt64
	default:
		return sum
	}
}

// sub returns a - b, held like add.
func sub(a, b int64) int64 {
	switch diff := a - b; {
	case a >= b && diff < 0:
		return math.MaxInt64
	case a < b && (diff >= 0 || diff == math.MinInt64):
		return -math.MaxInt64
	default:
		return diff
	}
}
