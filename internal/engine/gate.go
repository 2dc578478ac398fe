package engine

import (
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/clock"
	"github.com/axsched/ax/internal/ready"
	"github.com/axsched/ax/internal/wheel"
)

// Limits bound how many tasks run at once and how fast they start. Keys and Jobs override EachKey and EachJob.
type Limits struct {
	Kinds   map[string]Limit
	Keys    map[string]Limit
	Jobs    map[string]Limit
	EachKey Limit
	EachJob Limit
}

// Limit bounds one kind, key or job. Zero fields do not bound.
type Limit struct {
	Concurrent int     // attempts running at once
	PerSecond  float64 // attempts started per second, spaced evenly
	Burst      int     // starts that may come at once after a pause; 0 means 1
}

// gate enforces one Limit. The rate is a GCRA (generic cell rate algorithm, ITU-T I.371): tat is the instant, on the
// boot-time clock in microseconds, at which a start would be exactly on rate; a start may come burst−1 periods before.
type gate struct {
	limit   Limit
	period  int64 // microseconds between starts, 0 without a rate
	running int
	tat     int64
	parked  ready.Lane[*item]
	timer   wheel.Timer[*gate] // armed while something is parked for the rate
	name    string
	owner   map[string]*gate // where it is filed, to be dropped when idle; nil: stays
}

func newGate(l Limit, now int64) *gate {
	g := &gate{limit: l, tat: now}
	if l.PerSecond > 0 {
		g.period = max(int64(float64(time.Second/time.Microsecond)/l.PerSecond), 1)
	}
	return g
}

// opens returns when the rate admits the next start; now or before means at once.
func (g *gate) opens() int64 {
	if g.period == 0 {
		return -1 << 62
	}
	return g.tat - int64(max(g.limit.Burst, 1)-1)*g.period
}

// full reports whether as many run as may.
func (g *gate) full() bool { return g.limit.Concurrent > 0 && g.running >= g.limit.Concurrent }

func (g *gate) open(now int64) bool { return !g.full() && g.opens() <= now }

func (g *gate) enter(now int64) {
	g.running++
	if g.period > 0 {
		g.tat = max(g.tat, now) + g.period
	}
}

// gates are those of the keys and jobs of a partition, made when first needed.
type gates struct {
	limits Limits
	aging  Aging
	keys   map[string]*gate
	jobs   map[string]*gate
	wheel  *wheel.Wheel[*gate]
	wall   int64 // this instant, on the wall clock; all other instants here are of the boot-time clock
	none   bool  // no limit on any key or job: the common case, decided once
	batch  []*gate
}

func newGates(l Limits, aging Aging, now clock.Now) gates {
	none := len(l.Keys) == 0 && len(l.Jobs) == 0 && l.EachKey == (Limit{}) && l.EachJob == (Limit{})
	return gates{limits: l, aging: aging, keys: map[string]*gate{}, jobs: map[string]*gate{},
		wheel: wheel.New[*gate](now.Boot), wall: now.Wall, none: none}
}

// of returns the gates a task must pass, nil where there is none.
func (gs *gates) of(t *ax.Task, now int64) (key, job *gate) {
	if gs.none {
		return nil, nil
	}
	find := func(name string, each Limit, some map[string]Limit, filed map[string]*gate) *gate {
		if g := filed[name]; g != nil {
			return g
		}
		l, named := some[name]
		if !named {
			l = each
		}
		if l == (Limit{}) {
			return nil
		}
		g := newGate(l, now)
		g.parked.Aging, g.name, g.owner, g.timer.Value = gs.aging, name, filed, g
		filed[name] = g
		return g
	}
	key = find(t.Key(), gs.limits.EachKey, gs.limits.Keys, gs.keys)
	if uid := t.Job(); uid != "" {
		job = find(uid, gs.limits.EachJob, gs.limits.Jobs, gs.jobs)
	}
	return key, job
}

// blocked returns the first gate that a task does not pass now.
func (gs *gates) blocked(t *ax.Task, now int64) *gate {
	key, job := gs.of(t, now)
	switch {
	case key != nil && !key.open(now):
		return key
	case job != nil && !job.open(now):
		return job
	}
	return nil
}

func (gs *gates) enter(t *ax.Task, now int64) {
	key, job := gs.of(t, now)
	for _, g := range [2]*gate{key, job} {
		if g != nil {
			g.enter(now)
		}
	}
}

// park lets an item wait at a gate. It no longer competes at its other gate, so the next one there may go on.
func (gs *gates) park(g *gate, it *item, now int64, unpark func(*item)) {
	it.where = parked
	it.atJob = g == gs.jobs[it.task.Job()]
	g.parked.Push(it.task.Priority.Level(), since(it.task), it.task.Seq, it)
	gs.rearm(g, now)
	gs.passOn(it.task, now, unpark)
}

// passOn lets the next ones go on at the gates of a task that has stopped competing without having entered.
func (gs *gates) passOn(t *ax.Task, now int64, unpark func(*item)) {
	key, job := gs.of(t, now)
	for _, g := range [2]*gate{key, job} {
		if g != nil && g.open(now) {
			gs.admit(g, now, unpark)
		}
	}
}

// rearm wakes the gate when its rate next matters: for those parked, or to be dropped.
func (gs *gates) rearm(g *gate, now int64) {
	switch {
	case g.parked.Len() > 0 && !g.full() && g.opens() > now:
		gs.wheel.Add(&g.timer, g.opens())
	case g.parked.Len() == 0 && g.running == 0 && g.tat > now:
		gs.wheel.Add(&g.timer, g.tat)
	}
}

// left says that a parked item has changed its ticket.
func (gs *gates) left(it *item) {
	g := gs.keys[it.task.Key()]
	if it.atJob {
		g = gs.jobs[it.task.Job()]
	}
	g.parked.Left(it.task.Priority.Level())
}

// leave ends the stay of an attempt and lets the next one go on.
func (gs *gates) leave(t *ax.Task, now int64, unpark func(*item)) {
	key, job := gs.of(t, now)
	for _, g := range [2]*gate{key, job} {
		if g != nil {
			g.running--
			gs.admit(g, now, unpark)
		}
	}
}

// advance lets go on what waited for a rate.
func (gs *gates) advance(now, wall int64, unpark func(*item)) {
	gs.wall = wall
	if gs.none {
		return
	}
	gs.batch = gs.batch[:0]
	gs.wheel.Advance(now, func(t *wheel.Timer[*gate]) { gs.batch = append(gs.batch, t.Value) })
	for _, g := range gs.batch {
		gs.admit(g, now, unpark)
	}
}

// admit sends as many parked items back to their lanes as the gate has room for; each asks again at its claim.
func (gs *gates) admit(g *gate, now int64, unpark func(*item)) {
	if g.opens() <= now {
		room := g.parked.Len()
		if g.limit.Concurrent > 0 {
			room = min(room, g.limit.Concurrent-g.running)
		}
		if g.period > 0 {
			room = min(room, int((now-g.opens())/g.period)+1)
		}
		for range room {
			if it, ok := g.parked.Pop(gs.wall); ok { // waiting is counted on the wall clock
				unpark(it)
			}
		}
	}
	gs.rearm(g, now)
	if g.running == 0 && g.parked.Len() == 0 && g.tat <= now && g.owner != nil {
		gs.wheel.Remove(&g.timer)
		delete(g.owner, g.name)
	}
}
