package bench

import (
	"slices"
	"time"
)

// agreement is how far ax's own metric may be from the ledger's.
const agreement = time.Millisecond

// compare holds ax's own lateness against the ledger's, at each quantile that at least ten tasks lie beyond: the two read
// the clock a few instructions apart, and between them a single task may lose its processor for longer than the
// agreement. Where ax may lawfully count a relative delay from any instant of the call, any of them agrees.
func (r *Result) compare(late, least []int64, own func(q float64) time.Duration) {
	for _, q := range []float64{0.5, 0.99, 0.999} {
		if float64(len(late))*(1-q) < 10 {
			continue
		}
		ours, high, low := own(q), time.Duration(quantile(late, q)), time.Duration(quantile(least, q))
		r.progress("lateness p%g: ledger %v, ax's metric %v", q*100, high, ours)
		tolerance := agreement + ours/metricSteps
		if ours > high+tolerance || ours < low-tolerance {
			r.wrong("lateness p%g: ax's metric says %v, the ledger %v", q*100, ours, high)
		}
	}
}

// metricSteps is the resolution of ax's histogram: its buckets are at most 1/metricSteps of their value wide.
const metricSteps = 32

// latenessNumbers sets the quantiles.
func (r *Result) latenessNumbers(late []int64) {
	r.set("p50_ms", inMillis(quantile(late, 0.5)))
	r.set("p99_ms", inMillis(quantile(late, 0.99)))
	r.set("p999_ms", inMillis(quantile(late, 0.999)))
	r.set("max_ms", inMillis(quantile(late, 1)))
}

// spread collects the quantiles of several rounds; its medians count.
type spread struct{ p50, p99, p999, most []float64 }

func (s *spread) add(sorted []int64) {
	s.p50 = append(s.p50, inMillis(quantile(sorted, 0.5)))
	s.p99 = append(s.p99, inMillis(quantile(sorted, 0.99)))
	s.p999 = append(s.p999, inMillis(quantile(sorted, 0.999)))
	s.most = append(s.most, inMillis(quantile(sorted, 1)))
}

// set sets the medians, and the largest of all rounds as the maximum.
func (r *Result) setSpread(s spread) {
	r.set("p50_ms", median(s.p50))
	r.set("p99_ms", median(s.p99))
	r.set("p999_ms", median(s.p999))
	r.set("max_ms", slices.Max(s.most))
}
