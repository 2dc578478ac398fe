package sim

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/invariant"
)

// caller waits for the answer to one request.
type caller struct {
	w     *world
	id    int
	entry *ax.Entry
	hash  uint64
}

// answered tells the book what a caller was told by the owner.
func (c *caller) answered(n *node, a ax.Answer) {
	delete(n.calls, c.id)
	c.w.note("answer", c.entry.ID+c.entry.Target, int64(c.id), int64(a.Code), int64(a.State), int64(a.Run))
	c.w.book.Answered(c.id, c.answer(a))
}

func (c *caller) answer(a ax.Answer) invariant.Answer {
	target := c.entry.Target
	if target == "" {
		target = c.entry.ID
	}
	return invariant.Answer{Verb: string(c.entry.Verb), Code: invariant.Code(a.Code), Target: target, ID: a.ID, Hash: c.hash,
		State: invariant.State(a.State), Run: int(a.Run), Born: int64(c.entry.Made)}
}

// ask sends a request to the owner of its partition, or into the inbox if there is none, or if it is to go there.
func (w *world) ask(e *ax.Entry, by *node, inbox bool) {
	w.calls++
	c := &caller{w: w, id: w.calls, entry: e}
	key := e.Target
	if key == "" {
		key = e.ID
	}
	if e.Task != nil {
		c.hash = e.Task.Hash
	}
	p := w.partition(key)
	n := w.ownerNode(p)
	if n == nil || inbox {
		w.mail(c, p, by, 0)
		return
	}
	n.after(w.delay("ask", key, uint64(c.id)), func() {
		if o := n.parts[p]; !n.up || o == nil || n.leaving {
			w.mail(c, p, by, 0)
			return
		}
		n.tell()
		w.book.Asked(c.id)
		n.calls[c.id] = true
		w.note("ask", string(e.Verb)+" "+key, int64(c.id))
		if !n.eng.Admit(p, e, c, 0, false) {
			c.answered(n, ax.Answer{Code: ax.Refused, ID: key, Err: ax.ErrFenced})
		}
		n.acted = true
	})
}

// mail puts a request into the inbox, and tries again while the outcome is unknown.
func (w *world) mail(c *caller, p ax.Partition, by *node, try uint64) {
	w.at(w.delay("mail", c.entry.ID, uint64(c.id)<<8+try), func() {
		a, err := w.store.put(by, p, *c.entry)
		w.note("mailed", c.entry.ID+" "+c.entry.Target, int64(c.id), int64(a.Code), int64(a.State), int64(a.Run))
		if err != nil && !errors.Is(err, ax.ErrFull) {
			w.at(500_000, func() { w.mail(c, p, by, try+1) })
			return
		}
		w.book.True(c.answer(a))
	})
}

// ownerNode returns the process that schedules a partition, or nil.
func (w *world) ownerNode(p ax.Partition) *node {
	for _, n := range w.nodes {
		if n.up && !n.leaving {
			if o := n.parts[p]; o != nil && o.open {
				return n
			}
		}
	}
	return nil
}

// owner returns the token of the process that schedules a partition.
func (w *world) owner(p ax.Partition) ax.Token {
	if f := w.book.Floor(int(p)); f != (invariant.Token{}) {
		return ax.Token{Era: f.Era, Revision: f.Revision}
	}
	return ax.Token{}
}

// hint tells the owner that its inbox has something; sometimes it gets lost, then the owner finds out by looking.
func (w *world) hint(p ax.Partition, id string) {
	n := w.ownerNode(p)
	if n == nil || !w.calm && w.pick(4, "hint", id, 0) == 0 {
		return
	}
	o := n.parts[p]
	n.after(w.delay("hinted", id, 0), func() { n.poll(p, o) })
}

// pollAll looks into the inboxes of all partitions.
func (n *node) pollAll() {
	for _, p := range n.owned() {
		if o := n.parts[p]; o.open {
			n.poll(p, o)
		}
	}
	n.after(5_000_000, n.pollAll)
}

// poll reads an inbox; what it read arrives a little later. It is read again only once all of that is committed.
func (n *node) poll(p ax.Partition, o *own) {
	switch {
	case n.parts[p] != o || !o.open:
	case o.reading:
		o.hinted = true
	default:
		o.reading, o.hinted = true, false
		n.pollFrom(p, o, "")
	}
}

func (n *node) pollFrom(p ax.Partition, o *own, from string) {
	loaded := o.loaded
	page, err := n.w.store.scan(n, ax.ScanRequest{Partition: p, Token: o.lease.Token, Index: ax.IndexInbox, From: from, Limit: 4})
	if err != nil {
		page = ax.Page{}
	}
	n.after(n.w.delay("page", n.executor, n.w.seq), func() {
		if n.parts[p] != o || o.loaded != loaded {
			return
		}
		n.tell()
		for i := range page.Entries {
			n.acted = true
			n.w.note("admit", page.Entries[i].ID, int64(p))
			n.eng.Admit(p, &page.Entries[i], nil, 0, true)
		}
		if page.Next == "" {
			o.unquiet = true
			n.unquiet++
			return
		}
		n.pollFrom(p, o, page.Next)
	})
}

// quiet lets inboxes be read again whose entries are committed.
func (n *node) quiet() {
	if n.unquiet == 0 {
		return
	}
	for _, p := range n.owned() {
		if o := n.parts[p]; o.open && o.unquiet && (n.eng.InboxQuiet(p) || n.w.opt.Mutant == Reread) {
			o.reading, o.unquiet = false, false
			n.unquiet--
			if o.hinted {
				n.poll(p, o)
			}
		}
	}
}

// do is one operation of the script.
func (w *world) do(op *Op) {
	w.note("op "+op.Do, op.get("id"), int64(op.Node))
	var n *node
	if op.Node > 0 && op.Node <= len(w.nodes) {
		n = w.nodes[op.Node-1]
	}
	if w.fault(op, n) {
		return
	}
	if n == nil {
		n = w.nodes[0]
	}
	id := op.get("id")
	e := &ax.Entry{ID: fmt.Sprintf("r%d-%s-%s", op.At.Microseconds(), op.Do, id), Version: 1, Added: n.wall(), By: "someone", Target: id}
	switch op.Do {
	case "submit":
		w.submit(op, n)
		return
	case "repeat":
		if first := w.subs[id]; first != nil {
			w.submit(first, n)
		}
		return
	case "cancel":
		e.Verb = ax.VerbCancel
	case "runnow":
		e.Verb = ax.VerbRun
	case "reschedule":
		e.Verb, e.Task = ax.VerbReschedule, &ax.Task{Due: n.wall().Add(op.dur("in"))}
		if op.get("at") != "" {
			e.Task.Due = ax.Time(epoch).Add(op.dur("at"))
		} else {
			e.Task.Boot, e.Task.BootAt = n.clock.tag, n.clock.read(w.now).Boot+op.dur("in").Microseconds()
		}
	case "resolve":
		e.Verb = ax.VerbResolve
		e.Resolve = ax.Resolution(op.num("as", 1))
	case "rerun":
		runs, _, err := w.arch.Get(ctx, id)
		if err != nil || len(runs) == 0 {
			return
		}
		if _, err := w.store.Get(ctx, id); err == nil {
			return // sched says that it has not ended
		}
		if !w.book.IsLast(id, runs[0].Hash, int(runs[0].Run)) {
			return // an earlier life of the id, which has long been forgotten: the archive keeps the first it gets
		}
		e.Verb, e.Task = ax.VerbRerun, runs[0]
	case "report":
		r := w.retold[id]
		if r == nil || n.eng == nil {
			return
		}
		n.forward(r, fmt.Sprint("-", op.At.Microseconds()), 0)
		return
	case "odd":
		e.Verb = "dance"
		w.odd++
		w.mail(&caller{w: w, entry: e}, w.partition(id), n, 0)
		return
	default:
		w.book.Broke(invariant.NoPanic, "the script says %q", op.String())
		return
	}
	w.ask(e, n, op.has("inbox"))
}

// submit asks for a task.
func (w *world) submit(op *Op, n *node) {
	sub := ax.Submission{ID: op.get("id"), Kind: op.get("kind"), Payload: []byte(op.get("do")), Priority: ax.P(op.num("level", ax.DefaultLevel)),
		Timeout: op.dur("timeout"), MaxRetries: op.num("retries", 0), RetryOnTimeout: op.has("retrytimeout"), HoldLost: op.has("hold"),
		Ordered: op.has("ordered"), In: op.dur("in"),
		Backoff: ax.Backoff{Base: op.dur("base"), Cap: op.dur("cap"), Jitter: op.dur("jitter"), Full: op.has("full")}}
	if sub.ID == "" { // a script may leave it out; ax's own ids are random
		sub.ID = fmt.Sprint("t", op.At.Microseconds())
	}
	switch {
	case op.has("byid"):
		sub.Unique = ax.Unique{By: ax.ByID, Window: op.dur("window")}
	case op.has("bycontent"):
		sub.Unique = ax.Unique{By: ax.ByContent, Window: op.dur("window")}
	}
	if op.get("at") != "" {
		sub.At, sub.In = ax.Time(epoch).Add(op.dur("at")).Time(), 0
	}
	derived := strings.Contains(sub.ID, "/@")
	if derived {
		sub.ID = "job"
	}
	t, err := sub.Task(n.wall().Time(), 0)
	if err != nil {
		w.book.Broke(invariant.NoPanic, "the script says %q: %v", op.String(), err)
		return
	}
	if derived {
		t.ID = op.get("id")
	}
	if sub.At.IsZero() {
		t.Boot, t.BootAt = n.clock.tag, n.clock.read(w.now).Boot+(max(sub.In, 0)+time.Microsecond-1).Microseconds()
	}
	e := &ax.Entry{ID: t.ID, Verb: ax.VerbSubmit, Version: 1, Added: n.wall(), By: n.name, Task: t}
	if op.has("made") { // a retry carries when the id was made
		if w.born[op] == 0 {
			w.born[op] = e.Added
		}
		e.Made = w.born[op]
	}
	if w.subs[t.ID] == nil {
		w.subs[t.ID] = op
	}
	w.ask(e, n, op.has("inbox"))
}
