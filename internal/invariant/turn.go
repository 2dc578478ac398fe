package invariant

import "fmt"

// Turn is what one node could have claimed, and what it did.
type Turn struct {
	Node    string // its process
	Clock   Clock
	Workers int
	Handled map[string]bool // kinds
	InHand  int             // attempts its workers have or are to have, these claims included
	ByKind  map[string]int  // of InHand
	Stopped bool            // it may not claim now
	Tasks   []Seen          // all it holds, after the claims
	Claims  []*Task
	Counts  *Counts // nil: they may not be compared now
}

// Seen is a task as a node holds it. Busy: its partition waits for a write, so nothing of it can be claimed.
type Seen struct {
	*Task
	Busy   bool
	Absent bool // not in its memory
	Ended  bool // absent because it has ended, in a batch that is not written yet
}

// Counts are a node's own counts of the tasks it holds.
type Counts struct{ Created, Scheduled, Running, Held, Overrun int }

// Turn judges the claims of a node at one instant, all those together.
func (b *Book) Turn(t *Turn) {
	b.counts(t)
	use := inUse(t)
	for _, c := range t.Claims {
		if head := use.retrying[c.Key]; c.Ordered && head != nil && head.ID != c.ID {
			b.Broke(Ordered, "%v is claimed, %v keeps its key for its retry", c, head)
		}
	}
	for _, c := range t.Claims {
		if !c.due(t.Clock) {
			b.Broke(NeverEarly, "%v is claimed at wall %d boot %d, due at %d, boot %d of %d", c, t.Clock.Wall, t.Clock.Boot, c.At, c.BootAt, c.Boot)
		}
	}
	if t.InHand > t.Workers {
		b.Broke(WorkersBounded, "%s has %d attempts for %d workers", t.Node, t.InHand, t.Workers)
	}
	for kind, l := range b.rules.Kinds {
		if n := t.ByKind[kind]; l.Concurrent > 0 && n > l.Concurrent {
			b.Broke(Limits, "%s has %d attempts of kind %s, the limit is %d", t.Node, n, kind, l.Concurrent)
		}
	}
	for _, u := range t.Tasks {
		if u.State != Scheduled || u.Absent {
			continue
		}
		early := t.Clock
		early.Wall, early.Boot = early.Wall-1000, early.Boot-1000 // a wheel's tick
		if !u.due(early) {
			continue
		}
		b.overtaken(t, u.Task)
		if u.Busy || !b.mayStart(t, u.Task, use) {
			continue
		}
		if !t.Stopped && t.InHand < t.Workers {
			b.Broke(NoIdleWorker, "%v may start on %s, which has %d attempts for %d workers", u.Task, t.Node, t.InHand, t.Workers)
		}
		for _, c := range t.Claims {
			if b.before(u.Task, c, t.Clock.Wall) {
				b.Broke(BestFirst, "%v is claimed, %v (level %d, since %d) goes before it (level %d, since %d)", c, u.Task, u.Level, u.since(), c.Level, c.since())
			}
		}
	}
}

// Claimed judges how fast claims follow each other. owner changes with every take-over of its
// partition.
func (b *Book) Claimed(t *Turn, c *Task, owner string) {
	b.rate(fmt.Sprint(t.Node, " kind ", c.Kind), b.rules.Kinds[c.Kind], t.Clock.Boot)
	b.rate(fmt.Sprint(owner, " key ", c.Key), b.rules.key(c), t.Clock.Boot)
	b.rate(fmt.Sprint(owner, " job ", c.Job), b.rules.job(c), t.Clock.Boot)
}

func (b *Book) rate(name string, l Limit, now int64) {
	if l.PerSecond <= 0 {
		return
	}
	period, burst := max(int64(1e6/l.PerSecond), 1), max(l.Burst, 1)
	times := append(b.rates[name], now)
	b.rates[name] = times
	for k := int64(1); ; k++ { // burst+k starts take at least k periods
		i := len(times) - burst - int(k)
		if i < 0 || k > 8 {
			return
		}
		if took := now - times[i]; took < k*period {
			b.Broke(Rates, "%s: %d starts in %d µs, its rate is one in %d µs with a burst of %d", name, burst+int(k), took, period, burst)
		}
	}
}

// usage is what a node's tasks take of the limits, and the heads of ordered keys.
type usage struct {
	keys, jobs map[string]int
	busy       map[string]*Task // ordered keys whose head has begun
	retrying   map[string]*Task // of those: whose head waits for its retry
}

func inUse(t *Turn) usage {
	u := usage{map[string]int{}, map[string]int{}, map[string]*Task{}, map[string]*Task{}}
	for _, s := range t.Tasks {
		if open(s.State) {
			u.keys[s.Key]++
			u.jobs[s.Job]++
		}
		if s.Ordered && !s.Ended && (open(s.State) || s.State == Scheduled && s.Attempt > 0) {
			u.busy[s.Key] = s.Task
		}
		if s.Ordered && s.State == Scheduled && s.Attempt > 0 && !s.Ended {
			u.retrying[s.Key] = s.Task
		}
	}
	return u
}

// mayStart reports whether a due task may surely start on the node now. Of those with a rate it does not say so.
func (b *Book) mayStart(t *Turn, u *Task, use usage) bool {
	kind, key, job := b.rules.Kinds[u.Kind], b.rules.key(u), b.rules.job(u)
	switch {
	case !t.Handled[u.Kind],
		kind.PerSecond > 0 || key.PerSecond > 0 || job.PerSecond > 0,
		kind.Concurrent > 0 && t.ByKind[u.Kind] >= kind.Concurrent,
		key.Concurrent > 0 && use.keys[u.Key] >= key.Concurrent,
		job.Concurrent > 0 && use.jobs[u.Job] >= job.Concurrent:
		return false
	}
	if key.Concurrent+job.Concurrent > 0 && b.reserved(t, u, use) {
		return false
	}
	if !u.Ordered {
		return true
	}
	if head := use.busy[u.Key]; head != nil {
		return head.ID == u.ID
	}
	for _, o := range t.Tasks { // only the first in due order: one that is due within the tick may be it, or was before the clock went back
		if o.Ordered && o.Key == u.Key && o.State == Scheduled && o.ID != u.ID && (o.due(t.Clock) || !b.rules.Steady) && inOrder(o.Task, u) {
			return false
		}
	}
	return true
}

// reserved reports whether the places that are left of a task's key and job may be kept for others of it, which were let
// through and now wait for their own kind's limit.
func (b *Book) reserved(t *Turn, u *Task, use usage) bool {
	key, job := use.keys[u.Key], use.jobs[u.Job]
	for _, o := range t.Tasks {
		if o.ID == u.ID || o.State != Scheduled || !o.due(t.Clock) || b.rules.Kinds[o.Kind].zero() {
			continue
		}
		if o.Key == u.Key {
			key++
		}
		if o.Job == u.Job {
			job++
		}
	}
	return limitReached(b.rules.key(u), key) || limitReached(b.rules.job(u), job)
}

func limitReached(l Limit, n int) bool { return l.Concurrent > 0 && n >= l.Concurrent }

// overtaken judges the claims of ordered tasks against one that is due.
func (b *Book) overtaken(t *Turn, u *Task) {
	for _, c := range t.Claims {
		if u.Ordered && c.Ordered && c.Key == u.Key && c.ID != u.ID {
			if u.Attempt > 0 || c.Attempt == 1 && inOrder(u, c) {
				b.Broke(Ordered, "%v (since %d) is claimed, %v (since %d) goes before it", c, c.since(), u, u.since())
			}
		}
	}
}

func inOrder(t, u *Task) bool {
	return t.since() < u.since() || t.since() == u.since() && t.Seq < u.Seq
}

// before reports whether u goes before c at an instant.
func (b *Book) before(u, c *Task, wall int64) bool {
	lu, lc := b.rules.level(u, wall), b.rules.level(c, wall)
	switch {
	case lu != lc:
		return lu < lc
	case u.since() != c.since():
		return u.since() < c.since()
	}
	return false // the order among equals over partitions is the arbiter's
}

func (b *Book) counts(t *Turn) {
	var c Counts
	for _, s := range t.Tasks {
		switch s.State {
		case Created:
			c.Created++
		case Scheduled:
			if !s.Absent {
				c.Scheduled++
			}
		case Running:
			c.Running++
			if s.TimedOut {
				c.Overrun++
			}
		case Held:
			c.Held++
		}
	}
	if t.Counts != nil && c != *t.Counts {
		b.Broke(CountsTrue, "%s counts %+v and holds %+v", t.Node, *t.Counts, c)
	}
	heads := map[string]*Task{}
	for _, s := range t.Tasks {
		if s.Ordered && open(s.State) {
			if h := heads[s.Key]; h != nil {
				b.Broke(Ordered, "%v and %v are open at once", h, s.Task)
			}
			heads[s.Key] = s.Task
		}
	}
}
