package bench

import (
	"context"
	"time"
)

var throughputScenario = Scenario{
	Name:     "throughput",
	About:    "submit to SUCCESS with a handler that does nothing: in batches, and one by one",
	Defaults: Options{Rounds: 3, Tasks: 1_000_000, Workers: 1000, Batch: 1000, Submitters: 2, Pending: 20_000},
	Tiny:     Options{Rounds: 1, Tasks: 5_000},
	stores:   "memory journal",
	run:      runThroughput,
}

// onesSubmitters is how many goroutines submit one by one; each waits for its answers, so they bound what is asked at once.
// With a disk to wait for they are what one of its syncs can be shared by.
func onesSubmitters(store string) int {
	if store == onJournal {
		return 64
	}
	return 8
}

// loading is one way to hand over the tasks, and the rates its rounds reached.
type loading struct {
	what                     string
	tasks, batch, submitters int
	least                    float64   // bound, tasks per second; 0: none
	rates, cpu               []float64 // tasks per second, and µs of processor time per task, the bench's included
}

func runThroughput(ctx context.Context, o Options, r *Result) error {
	batched := &loading{what: "in batches", tasks: o.Tasks, batch: o.Batch, submitters: o.Submitters, least: 400_000}
	ones := &loading{what: "one by one", tasks: max(o.Tasks/2, 1), batch: 1, submitters: onesSubmitters(o.Store), least: 150_000}
	if o.Store == onJournal {
		batched.least, ones.least = 100_000, 0
	}
	both := []*loading{batched, ones}
	switch {
	case o.Only == "batched":
		both = both[:1]
	case o.Only == "ones" || o.Batch == 1:
		ones.submitters = max(o.Submitters, ones.submitters)
		both = both[1:]
	}
	r.progress("at most %d tasks pending", o.Pending)
	var late spread
	for round := range o.Rounds {
		for i, s := range both {
			rate, cpu, lateness, err := throughputOnce(ctx, r, s, o)
			if err != nil {
				return err
			}
			s.rates, s.cpu = append(s.rates, rate), append(s.cpu, cpu)
			r.progress("round %d: %s: %.0f/s, %.2f µs of processor time each", round+1, s.what, rate, cpu)
			if i == 0 {
				late.add(lateness)
			}
		}
	}
	r.set("per_s", median(both[0].rates))
	r.setSpread(late)
	for _, s := range both {
		r.row(Row{"what": s.what, "batch": s.batch, "submitters": s.submitters, "per_s": median(s.rates), "cpu_us": median(s.cpu)})
		if s.least > 0 {
			r.atLeast("tasks per second "+s.what, median(s.rates), s.least)
		}
	}
	if ones.rates != nil {
		r.set("one_by_one_per_s", median(ones.rates))
	}
	return nil
}

// throughputOnce returns tasks that succeeded per second, from the first submit to the last SUCCESS, the processor time of
// one, and their lateness, which here is how long the backlog was.
func throughputOnce(ctx context.Context, r *Result, how *loading, o Options) (perSecond, cpu float64, late []int64, err error) {
	n := how.tasks
	l := newLedger(n, false)
	clean()
	s, err := newBoundedAx(ctx, o.place(), l, n, o.Pending, o.Workers, nil)
	if err != nil {
		return 0, 0, nil, err
	}
	start, used := time.Now(), processCPU()
	flood(s, l, n, how.batch, how.submitters)
	err = s.settle(ctx, l, 0, n)
	took := time.Since(start)
	cpu = float64((processCPU() - used).Nanoseconds()) / 1e3 / float64(n)
	t := s.stop(l, n)
	r.add(t)
	late, least := l.lateness()
	r.compare(late, least, s.quantile)
	return float64(t.succeeded) / took.Seconds(), cpu, late, err
}
