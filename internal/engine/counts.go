package engine

import (
	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/ready"
)

// Counts are what a node has seen. Created to Held are the live tasks of its partitions in each state; the rest only
// grows.
type Counts struct {
	Created, Scheduled, Running, Held   int
	Overrun                             int // running, past their deadline
	Success, Failed, TimedOut, Canceled int
	Submitted                           int // tasks created, re-runs included
	Stale                               int // reports of attempts that were not current
	HeldBack                            int // claims put off, since the wall clock had gone back
	UnknownVerbs                        int
	Anomalies                           int // moves that the transition table forbids
}

// Pending returns how many tasks have not ended.
func (c *Counts) Pending() int { return c.Created + c.Scheduled + c.Running + c.Held }

func (c *Counts) move(from, to ax.State) {
	if from == to {
		return
	}
	if from == 0 {
		c.Submitted++
	}
	c.gauge(from, -1)
	c.gauge(to, 1)
}

func (c *Counts) gauge(s ax.State, by int) {
	switch s {
	case ax.Created:
		c.Created += by
	case ax.Scheduled:
		c.Scheduled += by
	case ax.Running:
		c.Running += by
	case ax.Held:
		c.Held += by
	case ax.Success:
		c.Success += max(by, 0)
	case ax.Failed:
		c.Failed += max(by, 0)
	case ax.Timeout:
		c.TimedOut += max(by, 0)
	case ax.Canceled:
		c.Canceled += max(by, 0)
	}
}

// rank orders lanes by their heads; the partition breaks ties, so that the order is total.
type rank struct {
	ready.Rank
	p    ax.Partition
	lane *Lane
}

func (r *rank) before(s *rank) bool {
	if r.Rank != s.Rank {
		return r.Rank.Before(s.Rank)
	}
	return r.p < s.p
}
