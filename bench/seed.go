package bench

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

var seedScenario = Scenario{
	Name:     "seed-library",
	About:    "the article's workload: delays of 0 to 30 s, handlers that sleep 50, 200 or 800 ms (-table: with few workers)",
	Defaults: Options{Rounds: 1, Duration: 30 * time.Second, Tasks: 100_000, Workers: 2_000},
	Tiny:     Options{Rounds: 1, Duration: 200 * time.Millisecond, Tasks: 200, Workers: 200},
	stores:   "memory journal",
	run:      runSeed,
}

// seedPlan draws the article's tasks: all submitted at the start, each after a delay below span, with a sleep.
func seedPlan(n int, span time.Duration) (p plan, sleeps []time.Duration) {
	rng := rand.New(rand.NewPCG(7, 7))
	p = plan{send: make([]int64, n), due: make([]int64, n), last: int64(span)}
	sleeps = make([]time.Duration, n)
	for i := range n {
		p.due[i] = rng.Int64N(int64(span)) / 1000 * 1000
		switch share := rng.IntN(100); {
		case share < 20:
			sleeps[i] = 50 * time.Millisecond
		case share < 50:
			sleeps[i] = 200 * time.Millisecond
		default:
			sleeps[i] = 800 * time.Millisecond
		}
	}
	return p, sleeps
}

func runSeed(ctx context.Context, o Options, r *Result) error {
	var late spread
	var rates []float64
	for round := range o.Rounds {
		got, err := seedOnce(ctx, r, o.place(), o.Tasks, o.Duration, o.Workers)
		if err != nil {
			return err
		}
		late.add(got.late)
		rates = append(rates, got.perSecond)
		r.progress("round %d: %d tasks, %d workers: %.0f/s, p99 %.2f ms, max %.2f ms", round+1, o.Tasks, o.Workers,
			got.perSecond, late.p99[round], late.most[round])
		r.atLeast("share that ended SUCCESS", float64(got.tally.succeeded)/float64(o.Tasks), 1)
	}
	r.setSpread(late)
	r.set("per_s", median(rates))
	r.atMost("p99 lateness, ms", median(late.p99), 5)
	r.row(Row{"workers": o.Workers, "tasks": o.Tasks, "per_s": median(rates), "p99_ms": median(late.p99)})
	if o.Table {
		return seedTable(ctx, o, r)
	}
	return nil
}

// seedTable runs a hundredth of the tasks with few workers. The handlers only sleep, so the settings run side by side:
// the longest takes two minutes.
func seedTable(ctx context.Context, o Options, r *Result) error {
	workers := []int{4, 8, 16, 32}
	rows, errs := make([]offered, len(workers)), make([]error, len(workers))
	parts := make([]*Result, len(workers))
	r.progress("table: %v workers, %d tasks each, side by side; about two minutes", workers, o.Tasks/100)
	var all sync.WaitGroup
	for i, w := range workers {
		parts[i] = newResult(r.Scenario, r.log)
		all.Go(func() { rows[i], errs[i] = seedOnce(ctx, parts[i], o.place(), max(o.Tasks/100, 1), o.Duration, w) })
	}
	all.Wait()
	for i, w := range workers {
		if errs[i] != nil {
			return errs[i]
		}
		r.Wrong = append(r.Wrong, parts[i].Wrong...)
		r.total.add(parts[i].total)
		r.row(Row{"workers": w, "tasks": max(o.Tasks/100, 1), "per_s": rows[i].perSecond,
			"p50_ms": inMillis(quantile(rows[i].late, 0.5)), "p99_ms": inMillis(quantile(rows[i].late, 0.99))})
	}
	return nil
}

// seedOnce runs n of the article's tasks. The rate is over the whole run, to the last SUCCESS: with too few workers that
// is what they can do, and with enough of them the offered rate less the last sleep.
func seedOnce(ctx context.Context, r *Result, at place, n int, span time.Duration, workers int) (offered, error) {
	p, sleeps := seedPlan(n, span)
	l := newLedger(n, false)
	clean()
	s, err := newAx(ctx, at, l, n, workers, func(i int) { time.Sleep(sleeps[i]) })
	if err != nil {
		return offered{}, err
	}
	s.relative = true
	start := time.Now()
	if err := offer(ctx, s, l, p); err != nil {
		return offered{}, err
	}
	r.progress("%d tasks submitted in %v", n, time.Since(start).Round(time.Millisecond))
	err = s.settle(ctx, l, 0, n)
	took := time.Since(start)
	t := s.stop(l, n)
	r.add(t)
	late, least := l.lateness()
	r.compare(late, least, s.quantile)
	return offered{late: late, perSecond: float64(t.succeeded) / took.Seconds(), tally: t}, err
}
