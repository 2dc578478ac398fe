package sim

import (
	"fmt"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/invariant"
)

// fault does what an operation says goes wrong; false if it is no such operation.
func (w *world) fault(op *Op, n *node) bool {
	d := op.dur("for").Microseconds()
	switch op.Do {
	case "pause": // the process stands still, its clocks go on
		n.paused = max(n.paused, w.now+d)
	case "suspend": // the machine sleeps
		n.paused = max(n.paused, w.now+d)
		n.clock.slept += d
	case "crash":
		n.crash(d, op.has("reboot"), op.has("power"))
	case "late": // what it writes next is long on its way, perhaps longer than it lives
		n.late = d
	case "stop":
		n.after(0, func() { n.leave(d) })
	case "step":
		n.clock.offset += op.dur("by").Microseconds()
	case "drift":
		n.clock.drift(w.now, int64(op.num("ppm", 0)))
	case "give":
		n.after(0, func() {
			for _, p := range n.owned() {
				if n.handover < 0 && !n.leaving && n.parts[p].open {
					n.give(p)
				}
			}
		})
	case "fail":
		w.store.arm(fault{op.Node, op.get("call"), op.has("after"), op.num("times", 1)})
	case "nospace":
		w.noSpace = w.now + d
	case "nofiling":
		w.noFiling = w.now + d
	default:
		return false
	}
	return true
}

// heal ends the first phase: from now on nothing goes wrong.
func (w *world) heal() {
	w.note("heal", "")
	w.calm = true
	w.noSpace, w.noFiling, w.store.armed = 0, 0, nil
	for _, n := range w.nodes {
		n.clock.drift(w.now, 0)
		n.clock.offset = 0
		n.paused = min(n.paused, w.now)
	}
	w.at(1_000_000, w.settle)
}

// patience is how long the second phase may take: longer than the longest chain of attempts that a script may ask for.
const patience = 3 * 3600 * 1_000_000

// settle looks now and then whether all has ended. Tasks that are far in the future are canceled; then the workers are
// counted, by giving each node as many tasks as it should have free ones.
func (w *world) settle() {
	if w.now > epoch+w.cfg.Length.Microseconds()+patience {
		w.book.Finish()
		w.book.Broke(invariant.Progress, "%d tasks and %d entries after %d hours", len(w.live(false)), w.book.Waiting(), patience/3_600_000_000)
		return
	}
	for _, t := range w.live(false) {
		if t.State == invariant.Scheduled && t.At > w.now+1_800_000_000 {
			w.ask(&ax.Entry{ID: "late-" + t.ID, Verb: ax.VerbCancel, Version: 1, Added: ax.Time(w.now), Target: t.ID}, w.nodes[0], false)
		}
	}
	if w.quiet() && len(w.live(true)) > 0 || w.now > epoch+w.cfg.Length.Microseconds()+600_000_000 {
		for _, t := range w.live(true) { // it blocks its key, or is all that is left: a person decides
			if t.State == invariant.Held {
				w.resolved++
				w.ask(&ax.Entry{ID: fmt.Sprint("decide-", w.resolved), Verb: ax.VerbResolve, Version: 1, Added: ax.Time(w.now), Target: t.ID,
					Resolve: ax.Resolution(1 + w.resolved%3)}, w.nodes[0], false)
			}
		}
	}
	if !w.quiet() || len(w.live(true)) > 0 {
		w.at(3_000_000, w.settle)
		return
	}
	if !w.probed {
		w.probed = true
		w.probe()
		w.at(3_000_000, w.settle)
		return
	}
	w.finish()
}

// live returns the tasks that have not ended, by id; with held ones on demand.
func (w *world) live(held bool) (list []*invariant.Task) {
	w.book.Each(func(t *invariant.Task) {
		if !t.State.Terminal() && (held || t.State != invariant.Held) {
			list = append(list, t)
		}
	})
	sortByID(list)
	return list
}

// quiet reports whether nothing is going on.
func (w *world) quiet() bool {
	busy := false
	w.book.Each(func(t *invariant.Task) { busy = busy || t.State != invariant.Held })
	if busy {
		return false
	}
	open := 0
	for _, n := range w.nodes {
		if !n.up || n.leaving || len(n.runs) > 0 || n.forwards > 0 || n.writing > 0 || n.filings > 0 || !n.eng.Idle(false) {
			return false
		}
		for _, o := range n.parts {
			if o.open {
				open++
			}
		}
	}
	return open == w.cfg.Partitions && w.book.Waiting() == w.odd
}

// probe gives every node as much as it can do at once, and each limited kind its share.
func (w *world) probe() {
	for _, n := range w.nodes {
		for i, k := 0, 0; i < w.cfg.Workers && k < 2000; k++ {
			id := probeID(n.id, k)
			if o := n.parts[w.partition(id)]; o != nil {
				kind := "p"
				if l := w.cfg.Limits["kind.b"]; i < l.Concurrent {
					kind = "b"
				}
				i++
				w.do(&Op{Node: n.id, Do: "submit", Args: []string{"id=" + id, "kind=" + kind, "do=ok:2s"}})
			}
		}
	}
}

// finish judges what is left at the very end.
func (w *world) finish() {
	w.note("finish", "")
	w.book.Finish()
	for p := range ax.Partition(w.cfg.Partitions) {
		n := w.ownerNode(p)
		for _, index := range []ax.Index{ax.IndexDue, ax.IndexWaiting, ax.IndexRunning, ax.IndexEnded, ax.IndexFacts} {
			page, err := w.store.Scan(ctx, ax.ScanRequest{Partition: p, Token: n.parts[p].lease.Token, Index: index})
			if left := len(page.Tasks) + len(page.Facts); err != nil || left > 0 {
				w.book.Broke(invariant.NothingLeft, "index %d of partition %d has %d items (%v)", index, p, left, err)
			}
		}
		n.eng.Live(func(t *ax.Task) {
			if t.State != ax.Held {
				w.book.Broke(invariant.NothingLeft, "%s holds %v", n.name, t)
			}
		})
	}
	for _, n := range w.nodes {
		if far := n.eng.Far(); far > 0 {
			w.book.Broke(invariant.NothingLeft, "%s takes %d tasks for far", n.name, far)
		}
	}
	w.heap = nil
}
