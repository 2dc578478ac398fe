package wheel

import (
	"math/rand/v2"
	"testing"
)

const million = 1_000_000

// BenchmarkAddCancel cancels and adds a random one of a million outstanding timers that are due within the span.
func BenchmarkAddCancel(b *testing.B) {
	for _, c := range []struct {
		name string
		span int64
	}{{"30s", 30 * sec}, {"1h", hour}, {"400d", 400 * day}} {
		b.Run(c.name, func(b *testing.B) {
			rnd := rand.New(rand.NewPCG(1, 2))
			w := New[*task](0)
			timers := make([]Timer[*task], million)
			for i := range timers {
				w.Add(&timers[i], rnd.Int64N(c.span))
			}
			const mask = 1<<20 - 1 // random timers all over the million, so that the caches do not help
			whens, picks := make([]int64, mask+1), make([]int32, mask+1)
			for i := range whens {
				whens[i], picks[i] = rnd.Int64N(c.span), rnd.Int32N(million)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				t := &timers[picks[i&mask]]
				w.Remove(t)
				w.Add(t, whens[i&mask])
			}
		})
	}
}

// BenchmarkDrainOneMillisecond fires a million timers that are due in the same millisecond: in the order of their memory, in
// random order, and in random order from a coarse level.
func BenchmarkDrainOneMillisecond(b *testing.B) {
	timers := make([]Timer[*task], million)
	order := make([]int, million)
	for i := range order {
		order[i] = i
	}
	shuffled := rand.New(rand.NewPCG(1, 2)).Perm(million)
	for _, c := range []struct {
		name  string
		order []int
		ahead int64
	}{{"in-order", order, 2 * ms}, {"shuffled", shuffled, 2 * ms}, {"shuffled-cascaded", shuffled, 2 * hour}} {
		b.Run(c.name, func(b *testing.B) {
			fired := 0
			for b.Loop() {
				b.StopTimer()
				due := 5 * ms
				w := New[*task](due - c.ahead)
				for _, i := range c.order {
					w.Add(&timers[i], due)
				}
				b.StartTimer()
				w.Advance(due, func(*Timer[*task]) { fired++ })
			}
			if fired != b.N*million {
				b.Fatalf("fired %d of %d", fired, b.N*million)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(fired), "ns/timer")
			b.ReportMetric(float64(fired)/b.Elapsed().Seconds(), "timers/s")
		})
	}
}

// BenchmarkAdvanceEmpty advances an empty wheel by a hundred years.
func BenchmarkAdvanceEmpty(b *testing.B) {
	w := New[*task](0)
	now := int64(0)
	fire := func(*Timer[*task]) {}
	for b.Loop() {
		now = (now + 100*365*day) & (1<<62 - 1)
		w.Advance(now, fire)
	}
}

// BenchmarkRebase places a million timers anew.
func BenchmarkRebase(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	now := int64(1 << 60)
	w := New[*task](now)
	timers := make([]Timer[*task], million)
	for i := range timers {
		w.Add(&timers[i], now+rnd.Int64N(hour))
	}
	for b.Loop() {
		now -= sec
		w.Rebase(now)
	}
}
