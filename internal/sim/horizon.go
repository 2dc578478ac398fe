package sim

import (
	"errors"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/engine"
	"github.com/axsched/ax/internal/invariant"
)

// look reads what the engines want to know of tasks that are far off.
func (n *node) look() {
	for _, w := range n.eng.TakeWindows() {
		n.acted = true
		n.readWindow(w, "", 0)
	}
	for _, w := range n.eng.TakeWanted() {
		n.acted = true
		n.fetch(w, 0)
	}
}

// readWindow reads a window page by page. A page is on its way for a while after it was read, so that it may be out of date.
func (n *node) readWindow(w engine.Window, from string, try uint64) {
	n.after(n.w.delay("window", n.executor, n.w.seq), func() {
		page, err := n.w.store.scan(n, ax.ScanRequest{Partition: w.Partition, Token: w.Token, Index: ax.IndexDue, After: w.After, To: w.To, From: from, Limit: 5})
		if errors.Is(err, ax.ErrFenced) {
			return
		}
		if err != nil {
			n.after(int64(min(10_000<<min(try, 7), 1_000_000)), func() { n.readWindow(w, from, try+1) })
			return
		}
		n.after(n.w.delay("found", n.executor, n.w.seq), func() {
			n.tell()
			n.acted = true
			n.w.note("found", n.name, int64(w.Partition), int64(w.To-epoch), int64(len(page.Tasks)))
			if n.w.opt.Mutant.reads(&w) {
				n.eng.Found(w, page.Tasks)
			}
			if page.Next == "" {
				n.eng.Read(w)
				return
			}
			n.readWindow(w, page.Next, 0)
		})
	})
}

// fetch looks up one task.
func (n *node) fetch(w engine.Wanted, try uint64) {
	n.after(n.w.delay("get", w.ID, n.w.seq), func() {
		t, err := n.w.store.get(n, w.ID)
		if err != nil && !errors.Is(err, ax.ErrNoTask) {
			n.after(int64(min(10_000<<min(try, 7), 1_000_000)), func() { n.fetch(w, try+1) })
			return
		}
		n.after(n.w.delay("fetched", w.ID, n.w.seq), func() {
			n.tell()
			n.acted = true
			n.w.note("fetched", w.ID)
			if n.w.opt.Mutant == Blind && n.w.pick(3, "blind", w.ID, uint64(n.w.now)) == 0 {
				t = nil
			}
			n.eng.Fetched(w, t)
		})
	})
}

// get is Get.
func (s *store) get(n *node, id string) (*ax.Task, error) {
	if s.fails(n, "get") {
		return nil, ax.ErrUnknown
	}
	if s.disk != nil {
		s.sync(len(s.disk.log))
	}
	return s.Get(ctx, id)
}

// mostLate is how long a task may be due while its owner's engine takes it for far, at a store of the usual speed: a window is read
// long before, unless a clock was stepped.
const mostLate = 20_000_000

// absent shows the book the tasks of a node's partitions that its engines do not have in memory.
func (n *node) absent(seen map[string]bool) (list []invariant.Seen) {
	if n.w.cfg.Horizon == 0 {
		return nil
	}
	c := n.judged()
	n.w.book.Each(func(t *invariant.Task) {
		p := n.w.partition(t.ID)
		if o := n.parts[p]; t.State != invariant.Scheduled || seen[t.ID] || o == nil || !o.open || o.failed {
			return
		}
		list = append(list, invariant.Seen{Task: t, Busy: true, Absent: true, Ended: n.eng.Counted(p) && !n.eng.IsFar(p, t.ID)})
		if !n.eng.IsFar(p, t.ID) || !t.IsDue(c) {
			delete(n.missed, t.ID)
			return
		}
		since := n.missed[t.ID]
		switch {
		case since == 0 || since < n.paused:
			n.missed[t.ID] = n.w.now
		case n.w.now-since > mostLate && n.w.cfg.Slow == 1 && n.w.store.disk == nil:
			n.w.book.Broke(invariant.NotLate, "%v has been due for %d µs, and %s takes it for far", t, n.w.now-since, n.name)
		}
	})
	return list
}
