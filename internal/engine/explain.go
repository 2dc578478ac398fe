package engine

import (
	"github.com/axsched/ax"
)

// Why says what a task that has not ended waits for, in the words that metrics and pages use too.
type Why string

// The causes. NotDue, Retry and Running are as they should be; the others are why a due task has not started.
const (
	WhyNotDue     Why = "not_due"     // its time has not come
	WhyRetry      Why = "retry"       // it waits for its next attempt
	WhyRunning    Why = "running"     // an attempt runs
	WhyOverrun    Why = "overrun"     // an attempt passed its timeout, and its handler has not returned
	WhyHeld       Why = "held"        // the fate of its attempt is unknown: a person decides
	WhyOrder      Why = "order"       // an ordered task of its key goes first: Behind
	WhyLimit      Why = "limit"       // a limit of its kind, key or job is reached: Behind names which
	WhyNoExecutor Why = "no_executor" // there is no handler for its kind here
	WhyPaused     Why = "paused"      // this process does not start anything now: it shuts down, or cannot renew its leases
	WhyBusy       Why = "busy"        // all workers are taken
	WhyBacklog    Why = "backlog"     // others go first, or the store is being written
)

// Explained is the answer to: why has it not run?
type Explained struct {
	Task   *ax.Task
	Why    Why
	Behind string // the task or the limit it waits behind, if there is one
	Before int    // for busy and backlog: how many ready tasks of this node compete for a worker
}

// Explain says what a live task waits for; ok is false if the node does not have it.
func (n *Node) Explain(p ax.Partition, id string) (x Explained, ok bool) {
	pt := n.parts[p]
	if pt == nil || pt.engine == nil {
		return x, false
	}
	e := pt.engine
	it := e.items.Get(id)
	if it == nil || it.task.State.Terminal() {
		return x, false
	}
	x.Task = it.task
	switch it.where {
	case timed:
		x.Why = WhyNotDue
		if it.task.Marks&ax.Retrying != 0 {
			x.Why = WhyRetry
		}
	case chained:
		x.Why = WhyOrder
		if c := e.chains[it.task.Key()]; c != nil && c.head != nil {
			x.Behind = c.head.task.ID
		}
	case parked:
		x.Why, x.Behind = WhyLimit, "key "+it.task.Key()
		if it.atJob {
			x.Behind = "job " + it.task.Job()
		}
	case running:
		x.Why = WhyRunning
		if it.task.Marks&ax.TimedOut != 0 {
			x.Why = WhyOverrun
		}
	case held:
		x.Why = WhyHeld
	case ready_:
		k := n.kind(it.task.Kind)
		switch {
		case !k.handled:
			x.Why = WhyNoExecutor
		case k.gate != nil && !k.gate.open(n.now.Boot):
			x.Why, x.Behind = WhyLimit, "kind "+it.task.Kind
		case n.paused:
			x.Why = WhyPaused
		case n.free <= 0:
			x.Why, x.Before = WhyBusy, n.Ready()
		default:
			x.Why, x.Before = WhyBacklog, n.Ready()
		}
	}
	return x, true
}
