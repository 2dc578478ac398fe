package engine

import (
	"cmp"
	"errors"
	"slices"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/clock"
)

// Node is one scheduler process without its goroutines: the engines of the partitions it owns, the arbiter between
// them, and the table of the attempts in the hands of its own workers. Not safe for concurrent use.
//
// The driver calls, again and again: Advance; Admit and Report for what came in; Claim; Flush; then writes the batches
// and hands the results to Committed.
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

// part is a partition this node owns.
type part struct {
	p       ax.Partition
	token   ax.Token
	engine  *Engine // nil while it must be opened again
	flying  *Output // handed to the driver and not committed
	failed  *Output // came back with an error
	waiting []Reply // admitted while there is no engine
	err     error   // what it came back with
	gone    gauges  // of the engine that was thrown away: they count until the next one is loaded
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

// Own makes the node schedule a partition, from what its store held after Open under the token. It is also how a
// partition is brought back after Broken named it: then what was lost with the failed batches is done again.
func (n *Node) Own(p ax.Partition, token ax.Token, l *Loaded) *Output {
	pt := n.parts[p]
	if pt == nil {
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
	pt.engine = newEngine(n, p, token, l.Opened, n.now)
	pt.engine.load(l)
	pt.engine.unsettled()
	safe := n.output() // what may happen at once
	safe.Batch.Partition, safe.Batch.Facts = p, l.Facts
	failed, waiting := pt.failed, pt.waiting
	pt.failed, pt.waiting = nil, nil
	switch {
	case failed == nil:
	case failed.Batch.Number > 0 && failed.Batch.Number <= l.Opened.Number: // it was written after all
		safe.Replies = append(safe.Replies, failed.Replies...)
		safe.Held = append(safe.Held, failed.Held...)
		safe.Ended = append(safe.Ended, failed.Ended[failed.Known:]...)
		n.settled(failed)
		n.Counts.add(failed)
	default:
		for i := range failed.Replies {
			n.again(pt, failed.Replies[i])
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
	for _, o := range []*Output{pt.flying, pt.failed} {
		if o != nil {
			replies = append(replies, o.Replies...)
		}
	}
	replies = append(replies, pt.waiting...)
	if pt.engine != nil {
		replies = append(replies, pt.engine.out.Replies...)
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
	pt.gone = gauges{c.Created, c.Scheduled, c.Running, c.Held, c.Overrun}
	n.unsend(e.out)
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

// Flush returns what the engines ask for, of each partition that has no batch under way: what piles up meanwhile is the
// next one.
func (n *Node) Flush() (out []*Output) {
	for _, pt := range n.order {
		if pt.engine == nil || pt.flying != nil {
			continue
		}
		if o := pt.engine.flush(); o != nil {
			pt.flying = o
			out = append(out, o)
		}
	}
	return out
}

// Committed takes the results of writing what Flush returned, one error per Output, in the order of Flush, and returns
// the outputs whose Sends, Replies, Ended, Held and Facts may follow now. An Output with an empty batch needs no write;
// its error is nil.
func (n *Node) Committed(outs []*Output, errs []error) (safe []*Output) {
	safe = outs[:0:0]
	for i, o := range outs {
		pt := n.parts[o.Batch.Partition]
		switch {
		case pt == nil || pt.flying != o:
			n.unsend(o) // given up meanwhile
		case errs[i] != nil:
			pt.flying = nil
			if refused := n.fail(pt, o, errs[i]); len(refused) > 0 {
				told := n.output()
				told.Batch.Partition, told.Replies = pt.p, refused
				safe = append(safe, told)
			}
		default:
			pt.flying = nil
			n.done(pt, o)
			safe = append(safe, o)
		}
	}
	return safe
}

func (n *Node) done(pt *part, o *Output) {
	for _, id := range o.Batch.Admit {
		delete(pt.engine.inbox, id)
	}
	pt.engine.admitting -= len(o.Batch.Admit)
	for i, t := range o.Sends {
		n.attempts[t.Last.Token.Claim] = attempt{token: t.Last.Token, p: pt.p}
		pt.engine.handed(o.sent[i])
	}
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

// fail keeps a failed output until its partition has been opened again. A store without room has refused the batch for
// good, so its callers are told.
func (n *Node) fail(pt *part, o *Output, err error) (refused []Reply) {
	pt.waiting = append(pt.waiting, pt.engine.out.Replies...)
	n.unload(pt)
	n.unsend(o)
	pt.failed, pt.err = o, err
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

// Broken returns the partitions whose last batch came back with an error, and that error: open them again, or give them
// up if it is ErrFenced.
func (n *Node) Broken() (parts []ax.Partition, errs []error) {
	for _, pt := range n.order {
		if pt.engine == nil {
			parts, errs = append(parts, pt.p), append(errs, pt.err)
		}
	}
	return parts, errs
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
