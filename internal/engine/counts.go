package engine

import (
	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/ready"
)

// Counts are what a node has seen. Created to Held are the live tasks of its partitions in each state, as of the batch
// being built; the rest only grows, and from Success to Submitted counts what has been written.
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

// Done returns how many tasks have ended.
func (c *Counts) Done() int { return c.Success + c.Failed + c.TimedOut + c.Canceled }

// gauge adds to the number of live tasks in a state.
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
	}
}

// add counts what a batch that was written has created and ended.
func (c *Counts) add(o *Output) {
	c.Submitted += o.tally[0]
	c.Success += o.tally[ax.Success]
	c.Failed += o.tally[ax.Failed]
	c.TimedOut += o.tally[ax.Timeout]
	c.Canceled += o.tally[ax.Canceled]
}

// gauges are the live tasks of one partition.
type gauges struct{ Created, Scheduled, Running, Held, Overrun int }

func (c *Counts) take(g gauges) {
	c.Created -= g.Created
	c.Scheduled -= g.Scheduled
	c.Running -= g.Running
	c.Held -= g.Held
	c.Overrun -= g.Overrun
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
