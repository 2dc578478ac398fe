package engine

import (
	"cmp"
	"slices"

	"github.com/axsched/ax"
)

func sortBySeq(items []*item) {
	slices.SortFunc(items, func(a, b *item) int { return cmp.Compare(a.task.Seq, b.task.Seq) })
}

// Loaded is what a partition's store held when it was opened.
type Loaded struct {
	Opened ax.Opened
	Tasks  []*ax.Task // of all indexes; of IndexDue up to UpTo
	UpTo   ax.Time    // 0: all. With Config.Horizon as much after now
	IDs    []*ax.IDRecord
	Facts  []ax.Fact // not yet filed
}

// load takes in what the store holds. What the attempts of this node's own workers have become, its attempt table says.
func (e *Engine) load(l *Loaded) {
	for _, r := range l.IDs {
		e.memory.note(r)
	}
	e.memory.forget(ax.Time(e.now.Wall)) // what may be admitted before the next Advance must not pass for new
	var before []*ax.Task                // ended
	var dead []*item
	slices.SortFunc(l.Tasks, func(a, b *ax.Task) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, t := range l.Tasks {
		it := &item{task: t}
		it.timer.Value = it
		e.items.Put(it)
		e.seq = max(e.seq, t.Seq)
		if !t.State.Terminal() {
			e.node.Counts.gauge(t.State, 1)
			if t.Unique().By == ax.ByContent {
				e.memory.holder[t.UniqueName()] = t.ID
			}
		}
		switch t.State {
		case ax.Scheduled:
			if t.Attempt > 0 {
				e.rechain(it)
			}
			e.schedule(it)
		case ax.Running, ax.Held:
			e.hold1(it)
			switch {
			case t.Last.Token.Era < e.cfg.Era:
				dead = append(dead, it)
			case t.State == ax.Running:
				e.adopt(it)
			default:
				it.where = held
			}
		case ax.Success, ax.Failed, ax.Timeout, ax.Canceled:
			it.where = ended
			before = append(before, t)
		}
	}
	for _, it := range dead {
		e.outlived(it)
	}
	e.out.Ended, e.out.Known = append(before, e.out.Ended...), len(before)
}

// outlived settles an attempt of an era whose process is provably dead, running or HELD: it did not end, it counts, and the retry
// policy applies, so that a task that kills its process fails in the end.
func (e *Engine) outlived(it *item) {
	t := *it.task
	if t.Marks&ax.TimedOut != 0 {
		e.node.Counts.Overrun++ // as if it had been adopted
	}
	last := e.closing(&t)
	last.Outcome = ax.OutcomeInterrupted
	e.abandoned(it, &t, last, "its process ended before it did")
}

// hold1 gives a loaded task back what its attempt had taken: its place in its key, and its share of the limits.
func (e *Engine) hold1(it *item) {
	e.rechain(it)
	key, job := e.gates.of(it.task, e.now.Boot)
	for _, g := range [2]*gate{key, job} {
		if g != nil {
			g.running++
		}
	}
}

// adopt goes on watching over an attempt. One of this node's own that was never sent, since the answer to its claim
// was lost, is sent now; one whose report was lost with its batch is reported again.
func (e *Engine) adopt(it *item) {
	t := it.task
	a := e.node.attempts[t.Last.Token.Claim]
	if t.Last.Executor == e.cfg.Name && a.token != t.Last.Token {
		if g := e.node.kind(t.Kind).gate; e.node.free <= 0 || g != nil && g.full() { // its place has been given away: it was never started
			e.report(&ax.Report{ID: t.ID, Token: t.Last.Token, Executor: e.cfg.Name, Outcome: ax.OutcomeInterrupted, Ended: ax.Time(e.now.Wall)})
			return
		}
		e.send(it)
		e.node.free--
		if g := e.node.kind(t.Kind).gate; g != nil {
			g.running++
		}
		return
	}
	e.foreign = e.foreign || t.Last.Executor != e.cfg.Name
	left := t.Last.Deadline.Sub(ax.Time(e.now.Wall))
	it.where, it.onWall, it.over = running, false, t.Marks&ax.TimedOut != 0
	if it.over {
		e.node.Counts.Overrun++
		left += lifeLimit(t) - t.Timeout.Duration()
	}
	e.boot.Add(&it.timer, e.now.Boot+max(left.Microseconds(), 0))
	if t.Last.Executor == e.cfg.Name && a.report != nil {
		e.report(a.report)
	}
}

// unsettled reports again what ended while the partition could not be written and is not the current attempt of its
// task any more: it is stale, and only noted.
func (e *Engine) unsettled() {
	current := map[ax.AttemptToken]bool{}
	for _, token := range e.out.Settled { // reported by adopt, just now
		current[token] = true
	}
	for it := range e.items.All() {
		if it.task.State == ax.Running || it.task.State == ax.Held {
			current[it.task.Last.Token] = true
		}
	}
	var stale []*ax.Report
	for claim, a := range e.node.attempts {
		if a.p != e.p || a.report == nil && !a.away {
			continue
		}
		if a.away {
			if !current[a.token] {
				delete(e.node.attempts, claim) // its report has come, through the inbox
			}
			continue
		}
		if !current[a.token] {
			stale = append(stale, a.report)
		}
	}
	slices.SortFunc(stale, func(a, b *ax.Report) int { return a.Token.Compare(b.Token) })
	for _, r := range stale {
		e.report(r)
	}
}
