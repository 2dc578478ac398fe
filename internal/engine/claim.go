package engine

import (
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/ready"
)

// Lane is the ready tasks of one kind in one partition, as the arbiter sees them.
type Lane struct {
	engine *Engine
	kind   *kind
	lane   ready.Lane[*item]
	listed bool // in Node.lanes
}

// claim gives the first task of a lane to an executor: SCHEDULED to RUNNING, with the next attempt token. It reports
// whether it claimed one; if not, the first task was moved to where it must wait, and the lane may be asked again.
func (e *Engine) claim(l *Lane) bool {
	it, ok := l.lane.Pop(e.now.Wall)
	if !ok {
		return false
	}
	it.where = nowhere
	if !e.isDue(it.task) { // the wall clock went back since it was seen to be due
		e.node.Counts.HeldBack++
		if it.task.Attempt == 0 {
			e.unchain(it)
		}
		e.schedule(it)
		e.gates.passOn(it.task, e.now.Boot, e.ready) // it was let through for nothing
		return false
	}
	if !e.gates.none {
		if g := e.gates.blocked(it.task, e.now.Boot); g != nil {
			e.gates.park(g, it, e.now.Boot, e.ready)
			return false
		}
		e.gates.enter(it.task, e.now.Boot)
	}
	t := *it.task
	now := ax.Time(e.now.Wall)
	if t.Attempt%maxHistory == maxHistory-1 && t.Last != nil {
		t.Last = new(*t.Last)
		t.Last.Prev = nil
	}
	e.node.claims++
	t.State, t.Attempt, t.Marks = ax.Running, t.Attempt+1, t.Marks&^ax.Retrying
	t.Last = &ax.Attempt{
		Run: t.Run, N: t.Attempt, Token: ax.AttemptToken{Token: e.token, Claim: e.node.claims}, Executor: e.cfg.Name,
		Ready: t.At + ax.Time(it.late)*100, Claimed: now, Deadline: now.Add(t.Timeout.Duration()), Prev: t.Last,
	}
	if e.recent.clear(&t) {
		e.claimEarly(it, &t)
		return true
	}
	e.set(it, &t)
	e.send(it)
	return true
}

// maxHistory bounds the attempts a task carries: every so many, the older ones are let go.
const maxHistory = 100

// send has an attempt handed to a worker, once its claim is safe.
func (e *Engine) send(it *item) { e.sendWith(e.out, it) }

func (e *Engine) sendWith(o *Output, it *item) {
	it.where, it.onWall, it.over = running, false, false
	o.Sends = append(o.Sends, it.task)
	o.sent = append(o.sent, it)
}

// handed begins to watch over an attempt: its timer is the deadline. The timeout counts from here, so that a store that
// takes long to write the claim takes nothing from the handler.
func (e *Engine) handed(it *item) {
	if it.where != running {
		return
	}
	e.boot.Add(&it.timer, e.now.Boot+it.task.Timeout.Duration().Microseconds())
	if it.task.Marks&ax.CancelAsked != 0 { // asked for while the claim was being written
		e.node.cancels = append(e.node.cancels, Cancel{it.task.Last.Token, ax.ErrCanceled})
	}
}

// lifeLimit is how long after its claim an attempt in the hands of another process may stay unheard of.
func lifeLimit(t *ax.Task) time.Duration { return 2*t.Timeout.Duration() + time.Minute }

// deadline marks an attempt as timed out and asks its handler to stop. The slot stays taken until the handler returns.
// An attempt somewhere else of which nothing is heard until its life limit is HELD: nobody knows.
func (e *Engine) deadline(it *item) {
	t := *it.task
	if it.over {
		if t.Last.Executor != e.cfg.Name {
			e.hold(it, &t, "life limit")
		}
		return
	}
	it.over = true
	e.boot.Add(&it.timer, e.now.Boot+(lifeLimit(&t)-t.Timeout.Duration()).Microseconds())
	t.Marks |= ax.TimedOut
	e.set(it, &t)
	e.node.Counts.Overrun++
	e.node.overran = append(e.node.overran, &t)
	e.node.cancels = append(e.node.cancels, Cancel{t.Last.Token, ax.ErrTimeout})
}
