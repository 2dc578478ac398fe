package engine

import (
	"cmp"
	"slices"

	"github.com/axsched/ax"
)

// part is a partition this node owns.
type part struct {
	p       ax.Partition
	token   ax.Token
	engine  *Engine   // nil while it must be opened again
	flying  []*Output // handed to the driver and not come back, in the order of their numbers
	failed  []*Output // came back with an error, or after one that did
	waiting []Reply   // admitted while there is no engine
	err     error     // what the first of failed came back with
	gone    gauges    // of the engine that was thrown away: they count until the next one is loaded
}

// Own makes the node schedule a partition, from what its store held after Open under the token. It is also how a
// partition is brought back after Broken named it: then what was lost with the failed batches is done again.
func (n *Node) Own(p ax.Partition, token ax.Token, l *Loaded) *Output {
	pt := n.parts[p]
	first := pt == nil
	if first {
		for _, t := range l.Tasks {
			if !t.State.Terminal() {
				n.Counts.Submitted++
			}
		}
		pt = &part{p: p}
		n.parts[p] = pt
		n.order = append(n.order, pt)
		slices.SortFunc(n.order, func(a, b *part) int { return cmp.Compare(a.p, b.p) })
	}
	n.Counts.take(pt.gone)
	pt.token, pt.err, pt.gone = token, nil, gauges{}
	pt.engine = newEngine(n, p, token, l, first, n.now)
	pt.engine.load(l)
	pt.engine.unsettled()
	safe := n.output() // what may happen at once
	safe.Batch.Partition, safe.Batch.Facts = p, l.Facts
	failed, waiting := pt.failed, pt.waiting
	pt.failed, pt.waiting = nil, nil
	slices.SortFunc(failed, func(o, p *Output) int { return cmp.Compare(o.Batch.Number, p.Batch.Number) })
	for _, o := range failed {
		if o.Batch.Number > 0 && o.Batch.Number <= l.Opened.Number { // it was written after all
			safe.Replies = append(safe.Replies, o.Replies...)
			safe.Held = append(safe.Held, o.Held...)
			safe.Ended = append(safe.Ended, o.Ended[o.Known:]...)
			n.settled(o)
			n.Counts.add(o)
			continue
		}
		for i := range o.Replies {
			n.again(pt, o.Replies[i])
		}
	}
	for i := range waiting {
		n.again(pt, waiting[i])
	}
	return safe
}

func (n *Node) again(pt *part, r Reply) {
	if r.Ticket != nil { // entries of the inbox are found there again
		pt.engine.Admit(r.Entry, r.Ticket, r.Index, false)
	}
}

// Drop gives up a partition. What was not committed is answered ErrUnknown: it may have been written. The attempts of
// its tasks run on, and their reports are for the next owner; those that came and may not have been written are returned,
// to be put into its inbox.
func (n *Node) Drop(p ax.Partition) (replies []Reply, reports []*ax.Report) {
	pt := n.parts[p]
	if pt == nil {
		return nil, nil
	}
	for _, a := range n.attempts {
		if a.p == p && a.report != nil {
			reports = append(reports, a.report)
		}
	}
	slices.SortFunc(reports, func(r, s *ax.Report) int { return r.Token.Compare(s.Token) })
	for _, r := range reports {
		n.away(r.Token)
	}
	for _, o := range slices.Concat(pt.failed, pt.flying) {
		replies = append(replies, o.Replies...)
		n.unsend(o) // now: if the partition comes back before its answer, its claims are sent from what the store holds
	}
	replies = append(replies, pt.waiting...)
	if pt.engine != nil {
		replies = append(replies, pt.engine.out.Replies...)
		for _, r := range pt.engine.horizon.parked() {
			replies = append(replies, r.Reply)
		}
		n.unload(pt)
	}
	n.Counts.take(pt.gone)
	for i := range replies {
		replies[i].Answer = ax.Answer{Code: ax.Refused, ID: replies[i].Answer.ID, Err: ax.ErrUnknown}
	}
	delete(n.parts, p)
	n.order = slices.DeleteFunc(n.order, func(q *part) bool { return q == pt })
	return slices.DeleteFunc(replies, func(r Reply) bool { return r.Ticket == nil }), reports
}

// away notes that the report of an attempt goes through the inbox. The attempt stays in the table, or it would be taken
// for one that was never sent if the partition comes back before its report.
func (n *Node) away(token ax.AttemptToken) {
	if a, known := n.attempts[token.Claim]; known && a.token == token {
		a.report, a.away = nil, true
		n.attempts[token.Claim] = a
	}
}

// unload forgets an engine. Claims that were not handed out give their workers back.
func (n *Node) unload(pt *part) {
	e := pt.engine
	pt.engine = nil
	var c Counts
	for it := range e.items.All() {
		c.gauge(it.task.State, 1)
		if it.task.Marks&ax.TimedOut != 0 {
			c.Overrun++
		}
	}
	if e.horizon != nil {
		c.Scheduled += e.horizon.far.n
	}
	pt.gone = gauges{c.Created, c.Scheduled, c.Running, c.Held, c.Overrun}
	n.unsend(e.out)
	if e.early != nil {
		n.unsend(e.early)
	}
	n.lanes = slices.DeleteFunc(n.lanes, func(l *Lane) bool { return l.engine == e })
}

// unsend gives back the workers of claims whose sends will not happen.
func (n *Node) unsend(o *Output) {
	for i := range o.Sends {
		n.free++
		if g := n.kind(o.Sends[i].Kind).gate; g != nil {
			g.running--
		}
	}
	o.Sends, o.sent = nil, nil
}
