package bench

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

var memoryScenario = Scenario{
	Name:     "memory",
	About:    "heap per pending task, idle processor use with them, and lateness and collector pauses beside them",
	Defaults: Options{Rounds: 1, Duration: 10 * time.Second, Tasks: 1_000_000, Rate: 10_000, Workers: 100},
	Tiny:     Options{Rounds: 1, Duration: 300 * time.Millisecond, Tasks: 10_000, Rate: 2_000},
	stores:   "memory journal",
	run:      runMemory,
}

// recommendedGOGC is what the docs recommend for a process that holds many pending tasks: the collector then marks them
// four times less often than by default, for memory that GOMEMLIMIT bounds. That is less than once in the offered window,
// so one collection is forced half way through: without it the pause and the lateness would be those of no collection.
const recommendedGOGC = 400

func runMemory(ctx context.Context, o Options, r *Result) error {
	load := newPlan(max(int(float64(o.Rate)*o.Duration.Seconds()), 1), o.Rate, delays)
	waiting, all := o.Tasks, o.Tasks+len(load.send)
	l := newLedger(all, true)
	clean()
	s, err := newAx(ctx, o.place(), l, all, o.Workers, nil)
	if err != nil {
		return err
	}
	s.id = func(i int) string { return fmt.Sprintf("order-close-%08d", i) } // 20 bytes, of its own, as a caller's would be
	s.payload, s.timeout, s.relative = 64, 42*time.Second, true
	before := settledMemory()
	for from := 0; from < waiting; from += mostPerCall {
		to, now := min(from+mostPerCall, waiting), l.now()
		for i := from; i < to; i++ {
			l.due[i] = now + int64(time.Hour) + int64(i)*int64(time.Hour)/int64(waiting)
		}
		s.submit(l, from, to, now)
	}
	perTask := float64(settledMemory().held-before.held) / float64(waiting)
	r.set("bytes_per_task", perTask)
	r.progress("%d tasks pending: %.0f bytes each", waiting, perTask)
	r.atMost("bytes of heap per pending task", perTask, 350)

	idle := idleShare(ctx, o.Duration)
	r.set("idle_cpu_percent", 100*idle)
	r.atMost("idle processor use, percent of a core", 100*idle, 0.2)

	settledMemory()
	cycles, _ := collections(0)
	s.relative = false
	forced := make(chan uint32, 1) // its one value: how many collections had to be forced
	go func() {
		time.Sleep(o.Duration / 2)
		n := uint32(0)
		if now, _ := collections(cycles); now == cycles {
			runtime.GC() // it marks beside the load, as any other
			n++
		}
		forced <- n
	}()
	err = offer(ctx, s, l, load.shift(l.now(), waiting))
	if err == nil {
		err = s.settle(ctx, l, waiting, all)
	}
	r.set("gc_forced", float64(<-forced))
	now, pause := collections(cycles)
	r.set("rss_bytes", float64(residentBytes()))
	r.set("gc_cycles", float64(now-cycles))
	r.set("gc_pause_ms", inMillis(int64(pause)))
	r.add(s.stop(l, all))
	late, least := l.lateness()
	r.latenessNumbers(late)
	r.compare(late, least, s.quantile)
	r.progress("at %d/s beside them, GOGC=%d: p99 %.2f ms, p99.9 %.2f ms, %d collections, longest pause %.3f ms", o.Rate, o.GOGC,
		inMillis(quantile(late, 0.99)), inMillis(quantile(late, 0.999)), now-cycles, inMillis(int64(pause)))
	return err
}

// idleShare returns the share of one core this process uses while nothing is due. The memory that filling left behind is
// given back first, or the runtime would do that meanwhile.
func idleShare(ctx context.Context, d time.Duration) float64 {
	clean()
	time.Sleep(min(time.Second, d))
	start, used := time.Now(), processCPU()
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return (processCPU() - used).Seconds() / time.Since(start).Seconds()
}
