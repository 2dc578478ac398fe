package main

import (
	"time"

	"github.com/axsched/ax/sched"
)

// quantiles are the numbers that lateness is shown by.
type quantiles struct {
	n                        int // of how many
	p50, p90, p99, p999, max time.Duration
}

// quantilesIn returns those of a histogram, to about 3 %: cheap enough for a view that is drawn five times a second.
func quantilesIn(h *sched.Histogram) quantiles {
	return quantiles{h.Count(), h.Quantile(0.5), h.Quantile(0.9), h.Quantile(0.99), h.Quantile(0.999), h.Max()}
}

// quantilesOf returns the exact ones of sorted durations.
func quantilesOf(sorted []time.Duration) quantiles {
	n := len(sorted)
	if n == 0 {
		return quantiles{}
	}
	at := func(q float64) time.Duration { return sorted[min(int(q*float64(n)), n-1)] }
	return quantiles{n, at(0.5), at(0.9), at(0.99), at(0.999), sorted[n-1]}
}
