package bench

import (
	"context"
	"fmt"
	"time"
)

// Against River the same work is done durably by both: ax on the journal.

// riverLooks is how often River looks for jobs that will be due: those that are due before it looks again are late by up to
// that. It can not be set.
const riverLooks = 5 * time.Second

// riverPeer is what -peer says for it. The sizes are such that River is done in a minute, at a rate that it keeps up with.
const riverPeer = "river-sqlite"

// onlyNow is what -only says to leave the delayed work out.
const onlyNow = "now"

var riverDefaults = Options{Store: onJournal, Rounds: 1, Duration: 5 * time.Second, Tasks: 20_000, Rate: 500, Batch: 1000, Submitters: 2}

// ahead are the two ways that delayed work is offered: due soon, as ax's other scenarios do, and not before River has looked.
var ahead = []struct {
	what string
	by   time.Duration
}{{"delays of 0 to 2 s", 0}, {"delays of 6 to 8 s", riverLooks + time.Second}}

// durable is one of those compared, and what its rounds gave.
type durable struct {
	rival
	late [2]spread // as ahead
}

func runRiver(ctx context.Context, o Options, r *Result) error {
	ours := &durable{rival: rival{name: "ax", start: func(l *ledger, n int) (subject, error) {
		return newAx(ctx, place{onJournal, o.Dir}, l, n, riverWorkers, nil)
	}}}
	all := []*durable{ours}
	for _, synchronous := range []string{"FULL", "NORMAL"} {
		all = append(all, &durable{rival: rival{name: "river " + synchronous, start: func(l *ledger, _ int) (subject, error) {
			return newRiver(o.Dir, synchronous, l)
		}}})
	}
	for round := range o.Rounds {
		for _, d := range all {
			if err := d.round(ctx, o, r); err != nil {
				return fmt.Errorf("%s: %w", d.name, err)
			}
			r.progress("round %d: %-12s %.0f/s", round+1, d.name, d.perSecond[round])
		}
	}
	r.set("per_s", median(ours.perSecond))
	r.set("ratio", median(ours.perSecond)/median(all[1].perSecond))
	if o.Only != onlyNow {
		r.setSpread(ours.late[0])
		r.set("peer_p99_ms", median(all[1].late[0].p99))
	}
	for _, d := range all {
		r.row(Row{"peer": d.name, "what": "at once", "per_s": median(d.perSecond), "ratio": median(ours.perSecond) / median(d.perSecond)})
		for i, a := range ahead {
			if o.Only == onlyNow {
				break
			}
			r.row(Row{"peer": d.name, "what": a.what, "p50_ms": median(d.late[i].p50), "p99_ms": median(d.late[i].p99)})
		}
	}
	r.atLeast("times the throughput of River, both safe from a power cut", median(ours.perSecond)/median(all[1].perSecond), 50)
	return nil
}

// round measures one subject: tasks due at once, and tasks due at a rate, in both ways.
func (d *durable) round(ctx context.Context, o Options, r *Result) error {
	rate, err := d.flood(ctx, o, r)
	if err != nil {
		return err
	}
	d.perSecond = append(d.perSecond, rate)
	if o.Only == onlyNow {
		return nil
	}
	for i, a := range ahead {
		p := newPlan(max(int(float64(o.Rate)*o.Duration.Seconds()), 1), o.Rate, delays).later(a.by)
		l, err := d.on(len(p.send), r, func(s subject, l *ledger) error {
			if err := offer(ctx, s, l, p); err != nil {
				return err
			}
			return finish(ctx, s, l, len(p.send))
		})
		if err != nil {
			return err
		}
		late, _ := l.lateness()
		d.late[i].add(late)
		r.progress("%s: p99 %.2f ms with %s", d.name, inMillis(quantile(late, 0.99)), a.what)
	}
	return nil
}

// later returns a plan whose tasks are offered at the same time and due later.
func (p plan) later(by time.Duration) plan {
	q := p.shift(0, p.at)
	q.first, q.last = p.first+int64(by), p.last+int64(by)
	for i := range q.due {
		q.due[i] += int64(by)
	}
	return q
}
