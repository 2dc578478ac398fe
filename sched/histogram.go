package sched

import (
	"math/bits"
	"time"
)

// Histogram counts durations in buckets that grow with them: below 32 µs exact to 1 µs, above that to about 3 %; of those
// beyond 19 h only the longest is known. It takes a fixed 8 KiB, can be added up, and its zero value is ready to use. The
// scheme is that of HdrHistogram (Tene), with 5 bits below the leading one.
type Histogram struct {
	counts [1024]uint64
	total  uint64
	most   time.Duration
}

const subBits = 5

func bucketOf(us uint64) int {
	if us < 1<<subBits {
		return int(us)
	}
	shift := bits.Len64(us) - subBits - 1
	return min(shift<<subBits+int(us>>shift), 1023)
}

// upper returns the largest duration of a bucket.
func (h *Histogram) upper(i int) time.Duration {
	switch {
	case i == len(h.counts)-1:
		return h.most
	case i < 1<<subBits:
		return time.Duration(i) * time.Microsecond
	}
	shift := i>>subBits - 1
	us := (uint64(i&(1<<subBits-1)|1<<subBits)+1)<<shift - 1
	return time.Duration(us) * time.Microsecond
}

// Add counts one duration; negative ones count as 0.
func (h *Histogram) Add(d time.Duration) {
	h.counts[bucketOf(uint64(max(d, 0)/time.Microsecond))]++
	h.total++
	h.most = max(h.most, d)
}

// Count returns how many were added.
func (h Histogram) Count() int { return int(h.total) }

// Max returns the longest.
func (h Histogram) Max() time.Duration { return h.most }

// Quantile returns a bound that the share q (0 to 1) of the durations does not exceed, exact to the bucket; 0 if none
// were added.
func (h Histogram) Quantile(q float64) time.Duration {
	want, seen := uint64(q*float64(h.total)+0.999999), uint64(0)
	for i, n := range h.counts {
		if seen += n; n > 0 && seen >= max(want, 1) {
			return min(h.upper(i), h.most)
		}
	}
	return h.most
}

// Bucket is one bar: Count durations up to UpTo, and above the bar before.
type Bucket struct {
	UpTo  time.Duration
	Count uint64
}

// Buckets returns the bars that are not empty, shortest first.
func (h Histogram) Buckets() []Bucket {
	var bars []Bucket
	for i, n := range h.counts {
		if n > 0 {
			bars = append(bars, Bucket{h.upper(i), n})
		}
	}
	return bars
}
