package engine

import (
	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/clock"
)

// Node is one scheduler process without its goroutines: the engines of the partitions it owns, the arbiter between
// them, and the table of the attempts in the hands of its own workers. Not safe for concurrent use.
//
// The driver calls, again and again: Advance; Admit and Report for what came in; Claim; Flush; then writes the batches
// in the order of their numbers and hands the results to Committed.
type Node struct {
	Counts Counts

	cfg      *Config
	now      clock.Now
	parts    map[ax.Partition]*part
	order    []*part // by partition, so that nothing depends on the order of a map
	kinds    map[string]*kind
	lanes    []*Lane            // those that may have something ready
	claims   uint64             // number of the last claim: it grows over all partitions, and so in each
	free     int                // workers without an attempt
	paused   bool               // no new claims
	attempts map[uint64]attempt // by the number of their claim
	cancels  []Cancel
	overran  []*ax.Task
	spare    []*Output // to be filled again
}

// attempt is one attempt in the hands of this node's workers.
type attempt struct {
	token  ax.AttemptToken
	p      ax.Partition
	report *ax.Report // set when it has ended, until a committed batch holds it
	away   bool       // it has ended, and its report goes through the inbox
}

// kind is a kind of task on this node.
type kind struct {
	gate    *gate // nil: no limit
	handled bool  // there is a handler
}

// Cancel asks that an attempt's context end with a cause.
type Cancel struct {
	Token ax.AttemptToken
	Cause error
}

// Filing is what a partition has for the archive; Node.Archived hands it back when the archive has it.
type Filing struct {
	Partition ax.Partition
	Ended     []*ax.Task
	Facts     []ax.Fact
	Parts     int // how many filings were merged into this one
}

// NewNode returns a node that owns nothing. free is its number of workers, kinds the kinds they have handlers for.
func NewNode(cfg Config, free int, kinds []string) *Node {
	cfg.Aging = cfg.Aging.WithDefaults()
	n := &Node{cfg: &cfg, free: free, parts: map[ax.Partition]*part{}, kinds: map[string]*kind{}, attempts: map[uint64]attempt{}}
	for _, name := range kinds {
		n.kind(name).handled = true
	}
	return n
}

func (n *Node) kind(name string) *kind {
	k := n.kinds[name]
	if k == nil {
		k = &kind{}
		if l, ok := n.cfg.Limits.Kinds[name]; ok && l != (Limit{}) {
			k.gate = newGate(l, n.now.Boot)
		}
		n.kinds[name] = k
	}
	return k
}

// Advance tells the time.
func (n *Node) Advance(now clock.Now) {
	n.now = now
	for _, pt := range n.order {
		if pt.engine != nil {
			pt.engine.Advance(now)
		}
	}
}

// Next returns after how many microseconds Advance or Claim has something to do.
func (n *Node) Next() (wait int64, ok bool) {
	for _, pt := range n.order {
		if pt.engine == nil {
			continue
		}
		if w, some := pt.engine.Next(); some && (!ok || w < wait) {
			wait, ok = w, true
		}
	}
	if n.free <= 0 || n.paused {
		return wait, ok
	}
	for _, l := range n.lanes { // ready, but too soon for the rate of their kind
		if g := l.kind.gate; g != nil && l.kind.handled && l.lane.Len() > 0 && !g.full() {
			if w := max(g.opens()-n.now.Boot, 0); !ok || w < wait {
				wait, ok = w, true
			}
		}
	}
	return wait, ok
}

// Admit takes in a request for a partition; see Engine.Admit. It reports false if the node does not own it.
func (n *Node) Admit(p ax.Partition, entry *ax.Entry, ticket any, i int, fromInbox bool) bool {
	pt := n.parts[p]
	switch {
	case pt == nil:
		return false
	case pt.engine != nil:
		pt.engine.Admit(entry, ticket, i, fromInbox)
	case !fromInbox:
		pt.waiting = append(pt.waiting, Reply{Entry: entry, Ticket: ticket, Index: i})
	}
	return true
}

// InboxQuiet reports whether no entry of a partition's inbox is admitted and not yet committed. Only then may the inbox
// be read again: an entry that was read before it was committed would be admitted twice.
func (n *Node) InboxQuiet(p ax.Partition) bool {
	pt := n.parts[p]
	return pt == nil || pt.engine != nil && pt.engine.admitting == 0
}

// Report takes in the end of an attempt of this node's own workers, and frees the worker. It reports false if the
// partition is no longer this node's: the report belongs into its inbox.
func (n *Node) Report(p ax.Partition, kind string, r *ax.Report) bool {
	n.free++
	if g := n.kind(kind).gate; g != nil {
		g.running--
	}
	pt := n.parts[p]
	if pt == nil {
		n.away(r.Token)
		return false
	}
	if a, known := n.attempts[r.Token.Claim]; known {
		a.report = r
		n.attempts[r.Token.Claim] = a
	}
	if pt.engine != nil {
		pt.engine.report(r)
	}
	return true
}

// Archived says that the archive has a filing.
func (n *Node) Archived(f Filing) {
	pt := n.parts[f.Partition]
	if pt == nil || pt.engine == nil {
		return
	}
	pt.engine.archived(f.Ended)
	for i := range f.Facts {
		pt.engine.out.Batch.Filed = append(pt.engine.out.Batch.Filed, f.Facts[i].ID)
	}
}

// Lost says that an executor is gone; see Engine.lost.
func (n *Node) Lost(executor string, interrupted bool) {
	for _, pt := range n.order {
		if pt.engine != nil {
			pt.engine.lost(executor, interrupted)
		}
	}
}

// Pause stops new claims, or lets them go on.
func (n *Node) Pause(paused bool) { n.paused = paused }

// Claim is the arbiter: it gives every free worker the first of all that is ready on this node.
func (n *Node) Claim() {
	for n.free > 0 && !n.paused {
		best := n.best()
		if best == nil {
			return
		}
		if !best.engine.claim(best) {
			continue
		}
		n.free--
		if g := best.kind.gate; g != nil {
			g.enter(n.now.Boot)
		}
	}
}

// best returns the lane whose first task goes before those of all others, nil if nothing can start now. Lanes are few:
// one for each kind that has something ready in each partition; empty ones are dropped from the list here.
func (n *Node) best() (best *Lane) {
	var first rank
	for i := 0; i < len(n.lanes); i++ {
		l := n.lanes[i]
		if l.lane.Len() == 0 {
			l.listed = false
			last := len(n.lanes) - 1
			n.lanes[i] = n.lanes[last]
			n.lanes[last] = nil
			n.lanes = n.lanes[:last]
			i--
			continue
		}
		if !l.kind.handled || l.kind.gate != nil && !l.kind.gate.open(n.now.Boot) {
			continue
		}
		r, _ := l.lane.Head(n.now.Wall)
		if at := (rank{r, l.engine.p, l}); best == nil || at.before(&first) {
			best, first = l, at
		}
	}
	return best
}

// Forgetful returns the partitions that have forgotten id records which their store still has, many or after a while,
// and what Store.Prune wants to know to do the same.
func (n *Node) Forgetful(least int) (list []Forgotten) {
	for _, pt := range n.order {
		if pt.engine != nil && !n.cfg.Alone && pt.engine.memory.forgot > least {
			pt.engine.memory.forgot = 0
			list = append(list, Forgotten{pt.p, pt.token, ax.Time(n.now.Wall), n.cfg.Remember})
		}
	}
	return list
}

// Forgotten are the arguments of Store.Prune.
type Forgotten struct {
	Partition ax.Partition
	Token     ax.Token
	Now       ax.Time
	Keep      int
}

// TakeCancels returns the attempts whose contexts are to end, at once: no write has to come before.
func (n *Node) TakeCancels() []Cancel {
	c := n.cancels
	n.cancels = nil
	return c
}

// TakeOverran returns the tasks whose attempts have passed their deadline since it was called last.
func (n *Node) TakeOverran() []*ax.Task {
	t := n.overran
	n.overran = nil
	return t
}
