package bench

import (
	"context"
	"fmt"
	"time"
)

var peersScenario = Scenario{
	Name:     "peers",
	About:    "the same delayed work on gocron and on time.AfterFunc: throughput, p99 lateness, memory (-peer for one of them, or river-sqlite)",
	Defaults: Options{Rounds: 3, Duration: 3 * time.Second, Tasks: 100_000, Rate: 10_000, Workers: 100, Batch: 1000, Submitters: 2},
	Tiny:     Options{Rounds: 1, Duration: 200 * time.Millisecond, Tasks: 1_000, Rate: 1_000},
	stores:   "memory journal",
	run:      runPeers,
}

// rival is one of the subjects compared, and what its rounds gave.
type rival struct {
	name  string
	start func(l *ledger, n int) (subject, error)

	perSecond, p99, bytes []float64
}

func runPeers(ctx context.Context, o Options, r *Result) error {
	if o.Peer == riverPeer {
		return runRiver(ctx, o, r)
	}
	rivals := []*rival{{name: "ax", start: func(l *ledger, n int) (subject, error) { return newAx(ctx, o.place(), l, n, o.Workers, nil) }}}
	if o.Peer != "gocron" {
		rivals = append(rivals, &rival{name: "afterfunc", start: newAfterFunc})
	}
	if o.Peer != "afterfunc" {
		rivals = append(rivals, &rival{name: "gocron", start: newCron})
	}
	if o.Peer != "" && len(rivals) != 2 || o.Peer != "" && rivals[1].name != o.Peer {
		return fmt.Errorf("peer %q: gocron, afterfunc and river-sqlite are known", o.Peer)
	}
	p := newPlan(max(int(float64(o.Rate)*o.Duration.Seconds()), 1), o.Rate, delays)
	for round := range o.Rounds {
		for _, v := range rivals {
			if err := v.round(ctx, o, p, r); err != nil {
				return fmt.Errorf("%s: %w", v.name, err)
			}
			r.progress("round %d: %-9s %7.0f/s, p99 %8.2f ms, %4.0f bytes per pending task", round+1, v.name,
				v.perSecond[round], v.p99[round], v.bytes[round])
		}
	}
	r.comparison(rivals)
	return nil
}

// comparison sets the ratios of every peer to ax; the smallest is the result's.
func (r *Result) comparison(rivals []*rival) {
	ours := rivals[0]
	r.set("per_s", median(ours.perSecond))
	r.set("p99_ms", median(ours.p99))
	r.set("bytes_per_task", median(ours.bytes))
	least := 0.0
	for _, peer := range rivals[1:] {
		for _, c := range []struct {
			what       string
			ours, peer float64
			ratio      float64
		}{
			{"throughput", median(ours.perSecond), median(peer.perSecond), median(ours.perSecond) / median(peer.perSecond)},
			{"p99_ms", median(ours.p99), median(peer.p99), median(peer.p99) / max(median(ours.p99), 1e-3)},
			{"bytes", median(ours.bytes), median(peer.bytes), median(peer.bytes) / median(ours.bytes)},
		} {
			r.row(Row{"peer": peer.name, "what": c.what, "ax": c.ours, "theirs": c.peer, "ratio": c.ratio})
			if least == 0 || c.ratio < least {
				least = c.ratio
			}
		}
		r.set("peer_p99_ms", median(peer.p99))
	}
	r.set("ratio", least)
}

// round measures one subject: tasks due at once, tasks at a rate, and tasks waiting.
func (v *rival) round(ctx context.Context, o Options, p plan, r *Result) error {
	rate, err := v.flood(ctx, o, r)
	if err != nil {
		return err
	}
	l, err := v.on(len(p.send), r, func(s subject, l *ledger) error {
		if err := offer(ctx, s, l, p); err != nil {
			return err
		}
		return finish(ctx, s, l, len(p.send))
	})
	if err != nil {
		return err
	}
	late, _ := l.lateness()
	bytes, err := v.memory(o, r)
	v.perSecond = append(v.perSecond, rate)
	v.p99 = append(v.p99, inMillis(quantile(late, 0.99)))
	v.bytes = append(v.bytes, bytes)
	return err
}

// on runs a load on a fresh subject and ends it.
func (v *rival) on(n int, r *Result, load func(subject, *ledger) error) (*ledger, error) {
	l := newLedger(n, false)
	clean()
	s, err := v.start(l, n)
	if err != nil {
		return nil, err
	}
	err = load(s, l)
	if t := s.stop(l, n); v.name == "ax" {
		r.add(t)
	} else if t.lost+t.duplicates+t.early > 0 || t.faults != nil {
		r.progress("note: %s: %d early, %d lost, %d duplicates %v", v.name, t.early, t.lost, t.duplicates, t.faults)
	}
	return l, err
}

func (v *rival) flood(ctx context.Context, o Options, r *Result) (perSecond float64, err error) {
	_, err = v.on(o.Tasks, r, func(s subject, l *ledger) error {
		start := time.Now()
		flood(s, l, o.Tasks, o.Batch, o.Submitters)
		err := finish(ctx, s, l, o.Tasks)
		perSecond = float64(o.Tasks) / time.Since(start).Seconds()
		return err
	})
	return perSecond, err
}

// memory returns the bytes that a task due in an hour takes, all of its closures, timers and goroutines included.
func (v *rival) memory(o Options, r *Result) (perTask float64, err error) {
	_, err = v.on(o.Tasks, r, func(s subject, l *ledger) error {
		before := settledMemory()
		for from := 0; from < o.Tasks; from += mostPerCall {
			to, now := min(from+mostPerCall, o.Tasks), l.now()
			for i := from; i < to; i++ {
				l.due[i] = now + int64(time.Hour)
			}
			s.submit(l, from, to, now)
		}
		perTask = float64(settledMemory().held-before.held) / float64(o.Tasks)
		return nil
	})
	return perTask, err
}

// finish waits until n tasks have ended, or at least started, if that is all a subject can tell.
func finish(ctx context.Context, s subject, l *ledger, n int) error {
	if can, ok := s.(interface {
		settle(ctx context.Context, l *ledger, from, to int) error
	}); ok {
		return can.settle(ctx, l, 0, n)
	}
	return l.await(ctx, n)
}
