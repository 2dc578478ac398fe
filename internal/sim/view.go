package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/engine"
	"github.com/axsched/ax/internal/invariant"
)

func probeID(node, k int) string { return fmt.Sprintf("probe%d-%d", node, k) }

func sortByID(list []*invariant.Task) {
	slices.SortFunc(list, func(a, b *invariant.Task) int { return strings.Compare(a.ID, b.ID) })
}

func token(t ax.AttemptToken) invariant.Token {
	return invariant.Token{Era: t.Era, Revision: t.Revision, Claim: t.Claim}
}

func outcome(o ax.Outcome) invariant.Outcome { return invariant.Outcome(o) }

// view shows a task to the book.
func (w *world) view(t *ax.Task) *invariant.Task {
	if v := w.seen[t]; v != nil {
		return v
	}
	b := t.Backoff()
	v := &invariant.Task{ID: t.ID, Key: t.Key(), Job: t.Job(), Kind: t.Kind, Hash: t.Hash, Seq: t.Seq, Level: t.Priority.Level(),
		Retries: int(t.MaxRetries), Created: int64(t.Created), Due: int64(t.Due), At: int64(t.At), BootAt: t.BootAt, Boot: t.Boot,
		Ordered: t.Flags&ax.Ordered != 0, RetryOnTimeout: t.Flags&ax.RetryOnTimeout != 0, HoldLost: t.Flags&ax.HoldLost != 0,
		ByID: t.Unique().By == ax.ByID, Window: t.Unique().Window.Microseconds(),
		Base: b.Base.Microseconds(), Cap: b.Cap.Microseconds(), Jitter: max(b.Jitter, 0).Microseconds(), Full: b.Full,
		State: invariant.State(t.State), CancelAsked: t.Marks&ax.CancelAsked != 0, TimedOut: t.Marks&ax.TimedOut != 0,
		Run: int(t.Run), Attempt: int(t.Attempt)}
	if t.Unique().By == ax.ByContent {
		v.Name = t.UniqueName()
	}
	if t.Last != nil {
		v.Last = attempt(t.Last)
		if t.Last.Prev != nil {
			v.Prev = attempt(t.Last.Prev)
		}
	}
	w.seen[t] = v
	return v
}

func attempt(a *ax.Attempt) invariant.Attempt {
	return invariant.Attempt{Token: token(a.Token), Run: int(a.Run), N: int(a.N), Executor: a.Executor,
		Ended: int64(a.Ended), Settled: int64(a.Settled), Outcome: outcome(a.Outcome), Returned: a.Returned}
}

// limits turns the configuration into what engines take; rules, into what the book takes.
func limits(c *Config) engine.Limits {
	l := engine.Limits{Kinds: map[string]engine.Limit{}, Keys: map[string]engine.Limit{}, Jobs: map[string]engine.Limit{}}
	for name, limit := range c.Limits {
		of, which, _ := strings.Cut(name, ".")
		switch of {
		case "kind":
			l.Kinds[which] = limit
		case "key":
			l.Keys[which] = limit
		case "job":
			l.Jobs[which] = limit
		case "eachkey":
			l.EachKey = limit
		case "eachjob":
			l.EachJob = limit
		}
	}
	return l
}

func rules(c *Config, s *Script) invariant.Rules {
	l := limits(c)
	all := func(m map[string]engine.Limit) map[string]invariant.Limit {
		out := map[string]invariant.Limit{}
		for name, limit := range m {
			out[name] = invariant.Limit(limit)
		}
		return out
	}
	r := invariant.Rules{Kinds: all(l.Kinds), Keys: all(l.Keys), Jobs: all(l.Jobs), EachKey: invariant.Limit(l.EachKey),
		EachJob: invariant.Limit(l.EachJob), AgeAfter: c.AgeAfter.Microseconds(), AgeStep: c.AgeStep.Microseconds(),
		Exclusive: c.Pipelined, Remember: c.Remember, Window: c.Window.Microseconds(), Stale: 10_000, Steady: true}
	if c.Nodes > 1 { // their clocks differ
		r.Stale = 250_000
	}
	if slices.ContainsFunc(s.Ops, func(o Op) bool { return o.Do == "step" || o.Do == "drift" }) {
		r.Stale, r.Steady = 600_000_000, false
	}
	return r
}

// everyTurn is how often a node's tasks are all looked at although it claimed nothing.
const everyTurn = 16

// watch shows the book what a node could have claimed, and what it did.
func (n *node) watch(claimed, stopped bool) {
	if n.turns++; !claimed && n.turns%everyTurn != 0 {
		return
	}
	c := &n.eng.Counts
	t := &invariant.Turn{Node: n.executor, Clock: n.judged(), Workers: n.w.cfg.Workers, Handled: handled, ByKind: map[string]int{},
		Stopped: stopped}
	failed := false
	for _, o := range n.parts {
		failed = failed || o.failed
	}
	if !failed { // what a broken partition held counts until it is loaded again
		t.Counts = &invariant.Counts{Created: c.Created, Scheduled: c.Scheduled - n.eng.Far(), Running: c.Running, Held: c.Held, Overrun: c.Overrun}
	}
	var fresh []*ax.Task
	seen := map[string]bool{}
	n.eng.Live(func(task *ax.Task) {
		p := n.w.partition(task.ID)
		seen[task.ID] = true
		t.Tasks = append(t.Tasks, invariant.Seen{Task: n.w.view(task), Busy: n.flying[p] != 0 || task.Flags&ax.Ordered != 0 && !n.eng.Counted(p)})
		if task.State == ax.Running && task.Last.Executor == n.executor && n.runs[task.Last.Token] == nil && n.claimed[task.Last.Token] == nil && !n.over[task.Last.Token] {
			fresh = append(fresh, task)
		}
	})
	t.Tasks = append(t.Tasks, n.absent(seen)...)
	slices.SortFunc(fresh, func(a, b *ax.Task) int { return a.Last.Token.Compare(b.Last.Token) })
	slices.SortFunc(t.Tasks, func(a, b invariant.Seen) int { return strings.Compare(a.ID, b.ID) })
	for _, task := range fresh {
		n.claimed[task.Last.Token] = task
		n.acted = true
		v := n.w.view(task)
		t.Claims = append(t.Claims, v)
		n.w.note("claim", task.ID, int64(task.Run), int64(task.Attempt), int64(task.Last.Token.Claim))
		n.w.book.Claimed(t, v, n.parts[n.w.partition(task.ID)].loaded)
	}
	t.InHand = len(n.runs) + len(n.claimed)
	for _, r := range n.runs {
		t.ByKind[r.task.Kind]++
	}
	for _, task := range n.claimed {
		t.ByKind[task.Kind]++
	}
	n.w.book.Turn(t)
}

var handled = map[string]bool{"a": true, "b": true, "c": true, "p": true}

// adopted notes the claims of this process that were found in the store: they were written, the answer was lost, and
// they are sent now.
func (n *node) adopted(p ax.Partition) {
	n.parts[p].loaded = fmt.Sprint(n.parts[p].serial, "/", n.w.seq)
	n.eng.Live(func(t *ax.Task) {
		if n.w.partition(t.ID) == p && t.State == ax.Running && t.Last.Executor == n.executor && n.runs[t.Last.Token] == nil && !n.over[t.Last.Token] {
			n.claimed[t.Last.Token] = t
			delete(n.reserved, t.Last.Token)
		}
	})
}
