package engine

import (
	"errors"
	"slices"

	"github.com/axsched/ax"
)

// maxDurable is how many durable batches of a partition may be under way where they may follow each other: one is being
// synced, and the next is there when that is done. What piles up meanwhile makes the next one larger.
const maxDurable = 2

// Flush returns what the engines ask for: of a partition at most one batch that must be durable, and before it one of
// claims that need not wait for the disk, with the next numbers. Without Config.Pipelined a partition that has a batch
// under way is left out.
func (n *Node) Flush() (out []*Output) {
	for _, pt := range n.order {
		if pt.engine == nil || len(pt.flying) > 0 && !n.cfg.Pipelined {
			continue
		}
		if o := pt.engine.flushEarly(); o != nil {
			pt.flying = append(pt.flying, o)
			out = append(out, o)
		}
		durable, last := pt.durable()
		if durable >= maxDurable {
			continue
		}
		if o := pt.engine.flush(last); o != nil {
			pt.flying = append(pt.flying, o)
			out = append(out, o)
		}
	}
	return out
}

// durable returns how many durable batches are under way, and the last of them.
func (pt *part) durable() (n int, last *Output) {
	for _, o := range pt.flying {
		if o.serial != 0 {
			n, last = n+1, o
		}
	}
	return n, last
}

// Committed takes the results of writing outputs that Flush returned, one error per Output, in any order and in any parts, and
// returns those whose Sends, Replies, Ended, Held and Facts may follow now. An Output with an empty batch needs no write;
// its error is nil.
//
// Once one of a partition has failed, what else of it is under way is taken for failed too, whatever comes back: opening
// it again tells.
func (n *Node) Committed(outs []*Output, errs []error) (safe []*Output) {
	safe = outs[:0:0]
	for i, o := range outs {
		pt := n.parts[o.Batch.Partition]
		at := -1
		if pt != nil {
			at = slices.Index(pt.flying, o)
		}
		if at < 0 {
			n.unsend(o) // given up meanwhile
			continue
		}
		pt.flying = slices.Delete(pt.flying, at, at+1)
		if errs[i] == nil && pt.engine != nil {
			n.done(pt, o)
			safe = append(safe, o)
			continue
		}
		if refused := n.fail(pt, o, errs[i]); len(refused) > 0 {
			told := n.output()
			told.Batch.Partition, told.Replies = pt.p, refused
			safe = append(safe, told)
		}
	}
	return safe
}

func (n *Node) done(pt *part, o *Output) {
	e := pt.engine
	for _, id := range o.Batch.Admit {
		delete(e.inbox, id)
	}
	e.admitting -= len(o.Batch.Admit)
	for i, t := range o.Sends {
		n.attempts[t.Last.Token.Claim] = attempt{token: t.Last.Token, p: pt.p}
		e.handed(o.sent[i])
	}
	e.recent.durable(o.serial)
	e.away(o.Batch.Create)
	e.away(o.Batch.Move)
	n.Counts.add(o)
	n.settled(o)
}

// output returns an empty Output, a used one if there is one.
func (n *Node) output() *Output {
	if last := len(n.spare) - 1; last >= 0 {
		o := n.spare[last]
		n.spare = n.spare[:last]
		return o
	}
	return &Output{Batch: &ax.Batch{}}
}

// Recycle takes back an Output whose effects are done, to be filled again. Its Batch.Facts, and its Ended unless the
// store finishes tasks, are not reused: they belong to the archive.
func (n *Node) Recycle(o *Output) {
	b := o.Batch
	if len(n.spare) >= 4 || cap(b.Create)+cap(b.Move)+cap(b.Finish)+cap(b.Delete)+cap(o.Replies) > 1<<18 {
		return
	}
	clear(b.Create)
	clear(b.Move)
	clear(b.Delete)
	clear(b.Finish)
	clear(b.Remember)
	clear(o.Replies)
	clear(o.Sends)
	clear(o.Held)
	clear(o.sent)
	*b = ax.Batch{Finish: b.Finish[:0], Create: b.Create[:0], Move: b.Move[:0], Delete: b.Delete[:0], Remember: b.Remember[:0]}
	spent := Output{Batch: b, Replies: o.Replies[:0], Sends: o.Sends[:0], Settled: o.Settled[:0], Held: o.Held[:0], sent: o.sent[:0]}
	if n.cfg.Finishes { // no one else has the list
		clear(o.Ended)
		spent.Ended = o.Ended[:0]
	}
	*o = spent
	n.spare = append(n.spare, o)
}

func (n *Node) settled(o *Output) {
	for _, token := range o.Settled {
		if n.attempts[token.Claim].token == token { // another process may have had a claim of this number
			delete(n.attempts, token.Claim)
		}
	}
}

// fail throws the engine away, and keeps a failed output until its partition has been opened again. A store without room has refused the batch for
// good, so its callers are told.
func (n *Node) fail(pt *part, o *Output, err error) (refused []Reply) {
	if pt.engine != nil {
		pt.waiting = append(pt.waiting, pt.engine.out.Replies...)
		for _, r := range pt.engine.horizon.parked() {
			pt.waiting = append(pt.waiting, r.Reply)
		}
		n.unload(pt)
	}
	n.unsend(o)
	pt.failed = append(pt.failed, o)
	if pt.err == nil || errors.Is(pt.err, ax.ErrGap) && err != nil { // which only says that one before was refused
		pt.err = err
	}
	if errors.Is(err, ax.ErrNoSpace) {
		for _, r := range o.Replies {
			if r.Ticket != nil && r.Entry.Verb == ax.VerbSubmit {
				r.Answer = ax.Answer{Code: ax.Refused, ID: r.Answer.ID, Err: &ax.Error{Op: "submit", ID: r.Answer.ID, Err: ax.ErrNoSpace}}
				refused = append(refused, r)
			}
		}
		o.Replies = slices.DeleteFunc(o.Replies, func(r Reply) bool { return r.Entry.Verb == ax.VerbSubmit })
	}
	return refused
}

// Broken returns the partitions of which a batch came back with an error, and that error, once nothing of them is under
// way any more: open them again, or give them up if it is ErrFenced.
func (n *Node) Broken() (parts []ax.Partition, errs []error) {
	for _, pt := range n.order {
		if pt.engine == nil && len(pt.flying) == 0 {
			parts, errs = append(parts, pt.p), append(errs, pt.err)
		}
	}
	return parts, errs
}
