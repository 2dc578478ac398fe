package main

import (
	"slices"
	"time"
)

// view is what the book shows while the program runs, by the ledger's clock.
type view struct {
	last, all quantiles // lateness in the last second, and so far
	rate      int       // answers in the last second
	rates     []int     // answers in each second so far
	early     int
}

// view counts up to now, which must not go back from call to call. started is when the run began.
func (b *book) view(started, now time.Time) view {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.samples) > 1 && now.Sub(b.samples[1].at) >= time.Second {
		b.samples = b.samples[1:]
	}
	since := sample{started, b.base.done, b.base.late}
	if len(b.samples) > 0 {
		since = b.samples[0]
	}
	v := view{early: b.early, all: quantilesIn(&b.hist), last: quantilesOf(slices.Sorted(slices.Values(b.late[since.late:])))}
	if d := now.Sub(since.at).Seconds(); d > 0 {
		v.rate = int(float64(b.done-since.done)/d + 0.5)
	}
	b.samples = append(b.samples, sample{now, b.done, len(b.late)})
	whole := int(now.Sub(started) / time.Second)
	for len(b.rates) < whole {
		b.rates = append(b.rates, v.rate)
	}
	v.rates = slices.Clone(b.rates)
	return v
}
