package engine

import (
	"maps"
	"slices"

	"github.com/axsched/ax"
)

// Find returns a live task of a partition this node owns.
func (n *Node) Find(p ax.Partition, id string) *ax.Task {
	if pt := n.parts[p]; pt != nil && pt.engine != nil {
		if it := pt.engine.items.Get(id); it != nil {
			return it.task
		}
	}
	return nil
}

// LivePart is Live for one of several parts of the tasks, which together are all of them.
func (n *Node) LivePart(part, of int, f func(*ax.Task)) {
	for _, pt := range n.order {
		if pt.engine == nil {
			continue
		}
		for it := range pt.engine.items.Part(part, of) {
			if !it.task.State.Terminal() {
				f(it.task)
			}
		}
	}
}

// Ready returns how many tasks are due and wait only for a worker or for their kind's limit.
func (n *Node) Ready() int { ready, _ := n.ready(); return ready }

// Unhandled returns how many tasks are due and have no handler on this node.
func (n *Node) Unhandled() int { _, unhandled := n.ready(); return unhandled }

func (n *Node) ready() (ready, unhandled int) {
	for _, l := range n.lanes {
		if l.kind.handled {
			ready += l.lane.Len()
		} else {
			unhandled += l.lane.Len()
		}
	}
	return ready, unhandled
}

// Token returns the token under which a partition is owned, zero if it is not.
func (n *Node) Token(p ax.Partition) ax.Token {
	if pt := n.parts[p]; pt != nil {
		return pt.token
	}
	return ax.Token{}
}

// Elsewhere returns the other executors whose attempts were running when a partition was loaded, and may still be.
func (n *Node) Elsewhere() []string {
	seen := map[string]bool{}
	for _, pt := range n.order {
		if pt.engine == nil || !pt.engine.foreign {
			continue
		}
		pt.engine.foreign = false
		for it := range pt.engine.items.All() {
			if it.task.State == ax.Running && it.task.Last.Executor != n.cfg.Name {
				pt.engine.foreign = true
				seen[it.task.Last.Executor] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// Live calls f with every task that is not terminal, in no particular order.
func (n *Node) Live(f func(*ax.Task)) { n.LivePart(0, 1, f) }

// Running returns how many attempts its own workers hold.
func (n *Node) Running() int {
	running := 0
	for _, a := range n.attempts {
		if a.report == nil && !a.away {
			running++
		}
	}
	return running
}

// Idle reports whether nothing waits to be flushed or is under way. A partition that could not be written, and waits to
// be opened again, counts as idle if broken is set.
func (n *Node) Idle(broken bool) bool {
	for _, pt := range n.order {
		switch {
		case pt.engine == nil && !broken, len(pt.flying) > 0:
			return false
		case pt.engine != nil && !broken && len(pt.engine.horizon.parked()) > 0:
			return false
		case pt.engine != nil && (pt.engine.early != nil || !pt.engine.out.Batch.Empty() || len(pt.engine.out.Replies) > 0):
			return false
		}
	}
	return true
}
