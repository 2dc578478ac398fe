package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/axsched/ax/internal/wheel" // the one exception: an unpublished module measures a part that is not exported
)

var wheelScenario = Scenario{
	Name:     "wheel",
	About:    "a million timers: set and cancel, memory, and all due at once, against time.AfterFunc",
	Defaults: Options{Rounds: 3, Tasks: 1_000_000, Workers: 2},
	Tiny:     Options{Rounds: 1, Tasks: 20_000},
	run:      runWheel,
}

// churn is what setting and canceling costs with many timers outstanding.
type churn struct {
	once   []float64 // ns to set a timer and cancel it at once, as a timeout that is not needed
	random []float64 // ns to cancel a random one of those outstanding and set it anew
	allocs []float64 // objects per pair, the larger of the two
	bytes  []float64 // per outstanding timer
}

func runWheel(ctx context.Context, o Options, r *Result) error {
	var ours, peer churn
	d := drawChurn(o.Tasks)
	for round := range o.Rounds {
		churnWheel(d, &ours)
		churnAfterFunc(d, &peer)
		r.progress("round %d: add + cancel, %d outstanding: wheel %.0f ns (a random one: %.0f), AfterFunc %.0f ns (%.0f)", round+1,
			o.Tasks, ours.once[round], ours.random[round], peer.once[round], peer.random[round])
	}
	ours.report(r, "wheel")
	peer.report(r, "AfterFunc")
	once, random := median(peer.once)/median(ours.once), median(peer.random)/median(ours.random)
	r.set("ratio", min(once, random))
	r.set("add_cancel_ns", median(ours.once))
	r.set("bytes_per_task", median(ours.bytes))
	r.atLeast("add + cancel against AfterFunc, times faster", once, 2)
	r.atLeast("cancel a random one + add, times faster", random, 2)
	r.atMost("add + cancel, ns", median(ours.once), 200)
	r.atMost("allocations per add + cancel", median(ours.allocs), 0)
	r.atMost("bytes per waiting timer", median(ours.bytes), 80)
	return runStorms(ctx, o, r)
}

func (c *churn) report(r *Result, what string) {
	r.row(Row{"what": what, "add_cancel_ns": median(c.once), "random_ns": median(c.random), "allocs": median(c.allocs),
		"bytes": median(c.bytes)})
}

// measure times one pair of operations of either kind, over all that was drawn.
func (c *churn) measure(d draw, once, random func(i int, pick int32)) {
	for _, m := range []struct {
		ns *[]float64
		do func(int, int32)
	}{{&c.once, once}, {&c.random, random}} {
		objects, start := mallocs(), time.Now()
		for i, pick := range d.picks {
			m.do(i, pick)
		}
		*m.ns = append(*m.ns, float64(time.Since(start))/float64(d.n))
		allocs := perTask(mallocs()-objects, d.n)
		if m.ns == &c.random {
			allocs = max(allocs, c.allocs[len(c.allocs)-1])
			c.allocs = c.allocs[:len(c.allocs)-1]
		}
		c.allocs = append(c.allocs, allocs)
	}
}

// draw is a churn drawn beforehand: the same for both.
type draw struct {
	picks  []int32
	delays []time.Duration // half an hour to one and a half: none comes due meanwhile
	n      int
}

func drawChurn(n int) draw {
	rng := rand.New(rand.NewPCG(1, 2))
	d := draw{picks: make([]int32, n), delays: make([]time.Duration, n), n: n}
	for i := range d.picks {
		d.picks[i] = rng.Int32N(int32(n))
		d.delays[i] = 30*time.Minute + time.Duration(rng.Int64N(int64(time.Hour)))
	}
	return d
}

// churnWheel reads the clock for each timer set, as AfterFunc does.
func churnWheel(d draw, c *churn) {
	clean()
	before := settledMemory()
	base := time.Now()
	w := wheel.New[uint32](0)
	timers := make([]wheel.Timer[uint32], d.n)
	add := func(t *wheel.Timer[uint32], delay time.Duration) { w.Add(t, (time.Since(base) + delay).Microseconds()) }
	for i := range timers {
		add(&timers[i], d.delays[i])
	}
	c.bytes = append(c.bytes, float64(settledMemory().held-before.held)/float64(d.n))
	var extra wheel.Timer[uint32]
	c.measure(d, func(i int, _ int32) {
		add(&extra, d.delays[i])
		w.Remove(&extra)
	}, func(i int, pick int32) {
		w.Remove(&timers[pick])
		add(&timers[pick], d.delays[i])
	})
}

func churnAfterFunc(d draw, c *churn) {
	clean()
	before := settledMemory()
	timers := make([]*time.Timer, d.n)
	for i := range timers {
		timers[i] = time.AfterFunc(d.delays[i], func() {})
	}
	c.bytes = append(c.bytes, float64(settledMemory().held-before.held)/float64(d.n))
	c.measure(d, func(i int, _ int32) {
		time.AfterFunc(d.delays[i], func() {}).Stop()
	}, func(i int, pick int32) {
		timers[pick].Stop()
		timers[pick] = time.AfterFunc(d.delays[i], func() {})
	})
	for _, t := range timers {
		t.Stop()
	}
}

// perTask leaves out the few objects that reading the counters itself costs.
func perTask(objects uint64, n int) float64 {
	const own = 16
	if objects <= own {
		return 0
	}
	return float64(objects) / float64(n)
}

// storm is what happens when all tasks are due in the same millisecond.
type storm struct{ first, perSecond []float64 }

func runStorms(ctx context.Context, o Options, r *Result) error {
	list := []struct {
		what string
		run  func(context.Context, Options, *Result) (*ledger, error)
		storm
	}{{what: "wheel", run: stormWheel}, {what: "AfterFunc", run: stormAfterFunc}, {what: "scheduler", run: stormAx}}
	for round := range o.Rounds {
		for i := range list {
			clean()
			l, err := list[i].run(ctx, o, r)
			if err != nil {
				return fmt.Errorf("%s: %w", list[i].what, err)
			}
			late, _ := l.lateness()
			if late[0] < 0 && list[i].what != "AfterFunc" {
				r.wrong("%s: a timer fired %v early", list[i].what, time.Duration(-late[0]))
			}
			s := &list[i].storm
			s.first = append(s.first, inMillis(late[0]))
			s.perSecond = append(s.perSecond, float64(len(late))/time.Duration(late[len(late)-1]).Seconds())
			r.progress("round %d: %d due at once, %s: first start %.1f ms late, %.0f/s drained", round+1, len(late),
				list[i].what, s.first[round], s.perSecond[round])
		}
	}
	for _, s := range list {
		r.row(Row{"what": s.what + ", all due at once", "first_ms": median(s.first), "drained_per_s": median(s.perSecond)})
	}
	r.set("first_start_ms", median(list[0].first))
	r.set("drained_per_s", median(list[0].perSecond))
	r.set("peer_first_start_ms", median(list[1].first))
	r.set("sched_first_start_ms", median(list[2].first))
	r.set("sched_drained_per_s", median(list[2].perSecond))
	r.atMost("first start of all due at once, wheel, ms", median(list[0].first), 10)
	r.atMost("first start of all due at once, scheduler, ms", median(list[2].first), 10)
	r.atLeast("drained per second, wheel", median(list[0].perSecond), 1e6)
	return nil
}

// stormAhead is how long before they are due n timers are set: the slowest subject takes about 2 µs each, and a collection
// may come between.
func stormAhead(n int) time.Duration {
	return 300*time.Millisecond + time.Duration(n)*5*time.Microsecond
}

// stormWheel is a wheel with the least that makes a scheduler of it: one timer of the machine, and workers that get
// batches.
func stormWheel(ctx context.Context, o Options, _ *Result) (*ledger, error) {
	const batch = 256 // tasks per hand-over: amortizes the channel, and the first start waits for one batch only
	l := newLedger(o.Tasks, false)
	l.begin()
	w := wheel.New[uint32](0)
	timers := make([]wheel.Timer[uint32], o.Tasks)
	due := (l.now() + int64(stormAhead(o.Tasks))) / 1e6 * 1000 // a whole millisecond, in microseconds
	for i := range timers {
		timers[i].Value = uint32(i)
		l.due[i], l.fate[i] = due*1000, acknowledged
		w.Add(&timers[i], due)
	}
	work := make(chan []uint32, 64) // enough batches that neither side waits for the other to be scheduled
	var workers sync.WaitGroup
	for range o.Workers {
		workers.Go(func() {
			for tasks := range work {
				for _, i := range tasks {
					l.ran(int(i))
				}
			}
		})
	}
	next, _ := w.Next()
	for l.now() < next*1000 || w.Len() > 0 {
		time.Sleep(time.Duration(next*1000 - l.now()))
		out := make([]uint32, 0, batch)
		w.Advance(l.now()/1000, func(t *wheel.Timer[uint32]) {
			if out = append(out, t.Value); len(out) == batch {
				work <- out
				out = make([]uint32, 0, batch)
			}
		})
		work <- out
		if ctx.Err() != nil {
			break
		}
		if at, ok := w.Next(); ok {
			next = at
		}
	}
	close(work)
	workers.Wait()
	return l, context.Cause(ctx)
}

func stormAfterFunc(ctx context.Context, o Options, _ *Result) (*ledger, error) {
	l := newLedger(o.Tasks, false)
	s, err := newAfterFunc(l, o.Tasks)
	if err != nil {
		return nil, err
	}
	return l, stormOn(ctx, s, l, o.Tasks)
}

func stormAx(ctx context.Context, o Options, r *Result) (*ledger, error) {
	l := newLedger(o.Tasks, true)
	s, err := newAx(ctx, o.place(), l, o.Tasks, o.Workers, nil)
	if err != nil {
		return nil, err
	}
	err = stormOn(ctx, s, l, o.Tasks)
	if err == nil {
		err = s.settle(ctx, l, 0, o.Tasks)
	}
	r.add(s.stop(l, o.Tasks))
	return l, err
}

// stormOn submits everything for the same instant and waits until it has started.
func stormOn(ctx context.Context, s subject, l *ledger, n int) error {
	due := (l.now() + int64(stormAhead(n))) / 1e6 * 1e6
	for i := range l.due {
		l.due[i] = due
	}
	for from := 0; from < n; from += mostPerCall {
		s.submit(l, from, min(from+mostPerCall, n), l.now())
	}
	if late := l.now() - due; late > 0 {
		return fmt.Errorf("submitting took %v longer than was allowed for it", time.Duration(late))
	}
	return l.await(ctx, n)
}
