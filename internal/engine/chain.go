package engine

import (
	"maps"
	"slices"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/ready"
)

// chain holds the due ordered tasks of one key. Only the head may be in a lane, run, be held or wait for its retry; the
// others wait here by due time.
type chain struct {
	head    *item
	waiting ready.Queue[*item]
}

// chain lets a due ordered item wait for its turn.
func (e *Engine) chain(it *item) {
	key := it.task.Key()
	c := e.chains[key]
	if c == nil {
		c = &chain{}
		e.chains[key] = c
	}
	if c.head == it { // its retry is due: it has kept its place
		e.ready(it)
		return
	}
	it.where = chained
	c.waiting.Push(since(it.task), it.task.Seq, it)
	e.turn(key, c)
}

// turn puts the first in due order at the head, unless the head was claimed before.
func (e *Engine) turn(key string, c *chain) {
	if !e.horizon.counted() { // one that is far off, and waits for its retry, may be the head
		return
	}
	next, _, _, ok := c.waiting.Head()
	if h := c.head; h != nil {
		if !ok || h.task.Attempt > 0 || h.where != ready_ && h.where != parked || !goesBefore(next.task, h.task) {
			return
		}
		e.leave(h)
		h.where = chained
		c.waiting.Push(since(h.task), h.task.Seq, h)
	}
	if c.head, ok = c.waiting.Pop(); !ok {
		delete(e.chains, key)
		return
	}
	e.ready(c.head)
}

// turnAll does what turn put off.
func (e *Engine) turnAll() {
	for _, key := range slices.Sorted(maps.Keys(e.chains)) {
		e.turn(key, e.chains[key])
	}
}

func goesBefore(t, u *ax.Task) bool {
	return since(t) < since(u) || since(t) == since(u) && t.Seq < u.Seq
}

// unchain gives up an item's place at the head of its key, if it had it.
func (e *Engine) unchain(it *item) {
	if it.task.Flags&ax.Ordered == 0 {
		return
	}
	key := it.task.Key()
	if c := e.chains[key]; c != nil {
		if c.head == it {
			c.head = nil
		}
		if c.head == nil {
			e.turn(key, c)
		}
	}
}

// rechain makes a loaded item, whose attempt had begun, the head of its key again.
func (e *Engine) rechain(it *item) {
	if it.task.Flags&ax.Ordered == 0 {
		return
	}
	key := it.task.Key()
	c := e.chains[key]
	if c == nil {
		c = &chain{}
		e.chains[key] = c
	}
	if h := c.head; h != nil {
		e.leave(h)
		h.where = chained
		c.waiting.Push(since(h.task), h.task.Seq, h)
	}
	c.head = it
}
