package bench

import (
	"context"
	"time"
)

var latenessScenario = Scenario{
	Name:     "lateness",
	About:    "how late tasks start that are due at a fixed rate, in turns with time.AfterFunc",
	Defaults: Options{Rounds: 3, Duration: 5 * time.Second, Rate: 10_000, Workers: 100},
	Tiny:     Options{Rounds: 1, Duration: 300 * time.Millisecond, Rate: 5_000},
	stores:   "memory journal",
	run:      runLateness,
}

// delays are from 0 to this; the article's are longer, but what is due later only waits.
const delays = 2 * time.Second

func runLateness(ctx context.Context, o Options, r *Result) error {
	p := newPlan(max(int(float64(o.Rate)*o.Duration.Seconds()), 1), o.Rate, delays)
	var ours, peer spread
	var rates []float64
	for round := range o.Rounds {
		got, err := offerAx(ctx, r, o.place(), p, o.Workers)
		if err != nil {
			return err
		}
		ours.add(got.late)
		rates = append(rates, got.perSecond)
		there, err := offerPeer(ctx, p)
		if err != nil {
			return err
		}
		peer.add(there.late)
		r.progress("round %d: %.0f/s, p99 %.2f ms, max %.2f ms; AfterFunc p99 %.2f ms", round+1, got.perSecond,
			ours.p99[round], ours.most[round], peer.p99[round])
	}
	r.setSpread(ours)
	r.set("per_s", median(rates))
	r.set("peer_p99_ms", median(peer.p99))
	r.set("ratio", median(peer.p99)/max(median(ours.p99), 1e-3))
	limit := max(2, median(peer.p99)+1.2)
	switch {
	case o.Rate > 10_000:
		limit = 10
	case o.Store == onJournal:
		limit = 5
	}
	r.atMost("p99 lateness, ms", median(ours.p99), limit)
	r.atLeast("reached share of the rate", median(rates)/float64(o.Rate), 0.98)
	return nil
}

// offered is what an open-loop round gave.
type offered struct {
	late      []int64 // sorted
	perSecond float64 // succeeded within the offered window
	tally     tally
}

// offerAx offers a plan to ax, and checks what came of it.
func offerAx(ctx context.Context, r *Result, at place, p plan, workers int) (offered, error) {
	n := len(p.send)
	l := newLedger(n, true)
	clean()
	s, err := newAx(ctx, at, l, n, workers, nil)
	if err != nil {
		return offered{}, err
	}
	rate := make(chan float64, 1) // its one value, when the window is over
	go func() {
		time.Sleep(time.Duration(p.last - l.now()))
		rate <- perSecond(int(s.s.Stats().Succeeded), p)
	}()
	err = offer(ctx, s, l, p)
	reached := <-rate
	if err == nil {
		err = s.settle(ctx, l, 0, n)
	}
	got := offered{perSecond: reached, tally: s.stop(l, n)}
	r.add(got.tally)
	late, least := l.lateness()
	r.compare(late, least, s.quantile)
	got.late = late
	return got, err
}

// offerPeer offers a plan to time.AfterFunc.
func offerPeer(ctx context.Context, p plan) (offered, error) {
	n := len(p.send)
	l := newLedger(n, false)
	clean()
	s, err := newAfterFunc(l, n)
	if err != nil {
		return offered{}, err
	}
	err = offer(ctx, s, l, p)
	if err == nil {
		err = l.await(ctx, n)
	}
	got := offered{tally: s.stop(l, n), perSecond: perSecond(l.started(p.last), p)}
	got.late, _ = l.lateness()
	return got, err
}

// perSecond is a rate over the offered window, which holds one interval less than tasks.
func perSecond(n int, p plan) float64 {
	window := time.Duration(p.last - p.first).Seconds()
	if window == 0 {
		return 0
	}
	return float64(n) / (window * float64(len(p.send)) / float64(len(p.send)-1))
}
