package engine

import "github.com/axsched/ax"

// Window is a part of IndexDue that the driver is to read: After < At <= To, all above After if To is 0. What it reads goes to
// Node.Found, page by page in the order of the store, and its end to Node.Read. A page is handed over once.
type Window struct {
	Partition ax.Partition
	Token     ax.Token
	After, To ax.Time
	engine    *Engine
}

// Wanted is a task that the driver is to look up with Store.Get, for Node.Fetched.
type Wanted struct {
	Partition ax.Partition
	ID        string
	n         uint64
	engine    *Engine
}

// found takes in a page of a walk.
func (e *Engine) found(w *walk, tasks []*ax.Task) {
	h := e.horizon
	for _, t := range tasks {
		if t.State != ax.Scheduled || e.items.Get(t.ID) != nil || w.left[t.ID] || !h.mayBeFar(t.ID) {
			continue
		}
		if w == &h.census && h.mayLeave(t) {
			if !h.far.has(t.ID) {
				h.count(e)
				h.note(e, t)
				e.seq = max(e.seq, t.Seq)
			}
			continue
		}
		e.arrive(t)
		e.unpark(t.ID)
	}
}

// read ends a walk.
func (e *Engine) read(w *walk) {
	h := e.horizon
	if w == &h.window {
		h.upTo = w.to
		*w = walk{}
		return
	}
	*w = walk{}
	e.turnAll()
	named := h.named
	h.named = nil
	for _, r := range named {
		e.admitOrPark(r)
	}
}

// fetched takes in what the store has of a task that somebody asks for; nil if it has none.
func (e *Engine) fetched(w Wanted, t *ax.Task) {
	if waits := e.horizon.wanted[w.ID]; waits == nil || waits.n != w.n {
		return // it has come with a window
	}
	if t != nil && t.State == ax.Scheduled && e.items.Get(t.ID) == nil {
		e.arrive(t)
	}
	e.unpark(w.ID)
	if t != nil {
		e.away([]*ax.Task{t}) // it was only looked at
	}
}

// TakeWindows returns what the driver is to read beside everything else, each once.
func (n *Node) TakeWindows() (list []Window) {
	for _, pt := range n.order {
		e := pt.engine
		if e == nil || e.horizon == nil {
			continue
		}
		h := e.horizon
		if h.census.state == asked {
			h.census.state = reading
			list = append(list, Window{e.p, e.token, h.upTo, 0, e})
		}
		if h.window.state == asked {
			h.window.state = reading
			list = append(list, Window{e.p, e.token, h.upTo, h.window.to, e})
		}
	}
	return list
}

// walk returns the walk of a window, nil if its engine has been thrown away.
func (n *Node) walk(w *Window) *walk {
	if pt := n.parts[w.Partition]; pt == nil || pt.engine != w.engine {
		return nil
	}
	if w.To == 0 {
		return &w.engine.horizon.census
	}
	return &w.engine.horizon.window
}

// Found takes in a page of a window.
func (n *Node) Found(w Window, tasks []*ax.Task) {
	if of := n.walk(&w); of != nil {
		w.engine.found(of, tasks)
	}
}

// Read says that a window was read to its end.
func (n *Node) Read(w Window) {
	if of := n.walk(&w); of != nil {
		w.engine.read(of)
	}
}

// TakeWanted returns the tasks that the driver is to look up, each once.
func (n *Node) TakeWanted() (list []Wanted) {
	for _, pt := range n.order {
		if pt.engine != nil && pt.engine.horizon != nil {
			list = append(list, pt.engine.horizon.asks...)
			pt.engine.horizon.asks = nil
		}
	}
	return list
}

// Fetched takes in what the store has of a wanted task; nil if it has none.
func (n *Node) Fetched(w Wanted, t *ax.Task) {
	if pt := n.parts[w.Partition]; pt != nil && pt.engine == w.engine {
		w.engine.fetched(w, t)
	}
}

// Far returns how many tasks are known to be due beyond the horizon, and are in the store only. They are part of
// Counts.Scheduled.
func (n *Node) Far() (far int) {
	for _, pt := range n.order {
		if pt.engine != nil && pt.engine.horizon != nil {
			far += pt.engine.horizon.far.n
		}
	}
	return far
}

// UpTo returns until when the tasks of a partition are in memory that are due by then; 0 if all are.
func (n *Node) UpTo(p ax.Partition) ax.Time {
	if pt := n.parts[p]; pt != nil && pt.engine != nil && pt.engine.horizon != nil {
		return pt.engine.horizon.upTo
	}
	return 0
}

// IsFar reports whether a task is known to be due beyond the horizon.
func (n *Node) IsFar(p ax.Partition, id string) bool {
	pt := n.parts[p]
	return pt != nil && pt.engine != nil && pt.engine.horizon != nil && pt.engine.horizon.far.has(id)
}

// Counted reports whether it is known which tasks of a partition are far; see horizon.
func (n *Node) Counted(p ax.Partition) bool {
	pt := n.parts[p]
	return pt == nil || pt.engine == nil || pt.engine.horizon.counted()
}
