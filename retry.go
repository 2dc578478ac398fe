package ax

import (
	"math/rand/v2"
	"time"
)

// Backoff says how long to wait before the next attempt: Base × 2^(attempt−1), at most Cap, plus a random spread.
// The spread remains at the cap, so that tasks that failed together do not come back together. The zero value means
// the defaults: 1 s, 10 min, 500 ms.
type Backoff struct {
	Base   time.Duration // before the first retry; 0 = 1 s
	Cap    time.Duration // the most, before the jitter; 0 = 10 min
	Jitter time.Duration // a random extra from 0 to this; 0 = 500 ms; negative = none
	Full   bool          // instead: anything from 1 ms to the computed wait ("full jitter")
}

// WithDefaults fills in what is zero.
func (b Backoff) WithDefaults() Backoff {
	if b.Base == 0 {
		b.Base = time.Second
	}
	if b.Cap == 0 {
		b.Cap = 10 * time.Minute
	}
	if b.Jitter == 0 {
		b.Jitter = 500 * time.Millisecond
	}
	return b
}

// Wait returns the wait after the given attempt, from 1. It never overflows, is never below 1 ms and never above Cap
// plus Jitter. Defaults must have been filled in.
func (b Backoff) Wait(attempt int, rng *rand.Rand) time.Duration {
	wait := b.Cap
	if shift := max(attempt-1, 0); shift < 62 && b.Base <= b.Cap>>shift {
		wait = b.Base << shift
	}
	if b.Full {
		return time.Millisecond + time.Duration(rng.Int64N(int64(max(wait-time.Millisecond, 0))+1))
	}
	if b.Jitter > 0 {
		wait += time.Duration(rng.Int64N(int64(b.Jitter) + 1))
	}
	return max(wait, time.Millisecond)
}
