package engine

import (
	"math"
	"slices"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/clock"
)

// horizon keeps tasks that are due much later out of memory: the store has them, and the engine knows only which they are.
//
//	            committed, and due beyond the horizon
//	resident ───────────────────────────────────────→ far
//	         ←─────────────────────────────────────── a window of time reaches it (Window, Found, Read)
//	         ←─────────────────────────────────────── somebody asks for it (Wanted, Fetched)
//
// Only a task that is SCHEDULED, has not been tried, and takes no unique name is ever far. A far task is in the store as it is:
// nobody but its owner changes it, and the owner does so only to residents. So what is read of a task is true as long as it
// has not been resident since the read began. Of those that have, residents say it better, and the others are in left.
//
// After a start the engine does not know yet who is far. A first walk over all beyond the horizon tells (the census). Until it has
// ended every id that is not known is looked up; ordered tasks do not begin, as one far off may keep their key for its
// retry; and submissions with a unique name wait, as one far off may have taken it. All else goes on.
type horizon struct {
	length int64   // microseconds
	upTo   ax.Time // what is due by then is resident
	ahead  int64   // wall clock less boot-time clock, the most that a task which follows the boot-time clock was given

	far    farSet
	counts bool // the census counts what it finds as submitted: it is the first of this process

	census walk
	window walk

	wanted map[string]*wanted
	asks   []Wanted
	asked  uint64
	named  []request // submissions with a unique name, that wait for the census
}

// walk is one reading of the store.
type walk struct {
	state walkState
	to    ax.Time         // of a window
	left  map[string]bool // ids that stopped being resident since it began
}

type walkState uint8

const (
	idle  walkState = iota
	asked           // to be handed to the driver
	reading
)

func (w *walk) begin(to ax.Time) { *w = walk{state: asked, to: to, left: map[string]bool{}} }

// request is one that is to be decided.
type request struct {
	Reply
	inbox bool
}

// wanted is what waits for one task to be looked up.
type wanted struct {
	n    uint64
	list []request
}

func newHorizon(e *Engine, upTo ax.Time, first bool) *horizon {
	if e.cfg.Horizon == 0 || upTo == 0 {
		return nil
	}
	h := &horizon{length: e.cfg.Horizon, upTo: upTo, ahead: math.MinInt64, counts: first, wanted: map[string]*wanted{},
		far: farSet{seed: e.cfg.Seed, ids: map[uint64]struct{}{}, more: map[uint64]int{}}}
	h.census.begin(0)
	return h
}

// base is the instant, as tasks have it in At, that the horizon is counted from. A task that follows the boot-time clock is
// due before At where the wall clock has been set back since.
func (h *horizon) base(now clock.Now) ax.Time {
	return ax.Time(max(now.Wall, now.Boot+max(h.ahead, now.Wall-now.Boot)))
}

// counted reports whether it is known who is far.
func (h *horizon) counted() bool { return h == nil || h.census.state == idle }

// advance tells the time, and asks for the next window when half of the horizon is left.
func (h *horizon) advance(now clock.Now) {
	to := h.base(now) + ax.Time(h.length)
	switch {
	case h.window.state != idle || to-ax.Time(h.length/2) <= h.upTo:
	case h.counted() && h.far.n == 0: // nothing there
		h.upTo = to
	default:
		h.window.begin(to)
	}
}

// next returns after how many microseconds advance has something to do.
func (h *horizon) next(now clock.Now) (wait int64, ok bool) {
	if h.window.state != idle || h.counted() && h.far.n == 0 {
		return 0, false
	}
	return max(int64(h.upTo-h.base(now))-h.length/2+1, 0), true
}

// gone notes that a task is no longer resident.
func (h *horizon) gone(id string) {
	for _, w := range [2]*walk{&h.census, &h.window} {
		if w.state != idle {
			w.left[id] = true
		}
	}
}

// remove takes a task out of the residents.
func (e *Engine) remove(id string) {
	e.items.Delete(id)
	if e.horizon != nil {
		e.horizon.gone(id)
	}
}

// mayLeave reports whether a task may be far.
func (h *horizon) mayLeave(t *ax.Task) bool {
	return t.State == ax.Scheduled && t.At > max(h.upTo, h.window.to) && t.Last == nil && t.Unique().By != ax.ByContent
}

// away lets the tasks of a batch that is durable leave, if they are far off and nothing newer is known of them.
func (e *Engine) away(tasks []*ax.Task) {
	h := e.horizon
	if h == nil {
		return
	}
	for _, t := range tasks {
		if !h.mayLeave(t) {
			continue
		}
		if it := e.items.Get(t.ID); it != nil && it.task == t && it.where == timed {
			e.leave(it)
			e.remove(t.ID)
			h.note(e, t)
		}
	}
}

// note makes a task far.
func (h *horizon) note(e *Engine, t *ax.Task) {
	h.far.add(t.ID)
	if e.followsBoot(t) {
		h.ahead = max(h.ahead, int64(t.At)-t.BootAt)
	}
}

// mayBeFar reports whether a task that is not resident may be in the store all the same.
func (h *horizon) mayBeFar(id string) bool {
	return h.far.has(id) || !h.counted() && !h.census.left[id]
}

// park puts a request aside if it cannot be decided yet, and reports whether it did.
func (h *horizon) park(e *Engine, r request) bool {
	id := r.Entry.Target
	if t := r.Entry.Task; t != nil && (r.Entry.Verb == ax.VerbSubmit || r.Entry.Verb == ax.VerbRerun) {
		if id = t.ID; t.Unique().By == ax.ByContent && !h.counted() {
			h.named = append(h.named, r)
			return true
		}
	}
	w := h.wanted[id] // what is asked for while the task is being read waits behind: it may make the task, or end it
	if r.Entry.Verb == ax.VerbReport || e.items.Get(id) != nil || w == nil && !h.mayBeFar(id) {
		return false
	}
	if w == nil {
		h.asked++
		w = &wanted{n: h.asked}
		h.wanted[id] = w
		h.asks = append(h.asks, Wanted{e.p, id, w.n, e})
	}
	w.list = append(w.list, r)
	return true
}

// unpark decides the requests that waited for a task.
func (e *Engine) unpark(id string) {
	w := e.horizon.wanted[id]
	if w == nil {
		return
	}
	delete(e.horizon.wanted, id)
	for _, r := range w.list {
		e.take(r)
	}
}

// parked returns the requests that wait, and how many they are.
func (h *horizon) parked() (list []request) {
	if h == nil {
		return nil
	}
	list = append(list, h.named...)
	order := make([]*wanted, 0, len(h.wanted))
	for _, w := range h.wanted {
		order = append(order, w)
	}
	slices.SortFunc(order, func(a, b *wanted) int { return int(a.n - b.n) })
	for _, w := range order {
		list = append(list, w.list...)
	}
	return list
}

// arrive makes a task resident that was read from the store.
func (e *Engine) arrive(t *ax.Task) {
	h := e.horizon
	if h.far.has(t.ID) {
		h.far.remove(t.ID)
	} else {
		h.count(e)
	}
	it := &item{task: t}
	it.timer.Value = it
	e.items.Put(it)
	e.seq = max(e.seq, t.Seq)
	if t.Unique().By == ax.ByContent {
		e.memory.holder[t.UniqueName()] = t.ID
	}
	if t.Attempt > 0 {
		e.rechain(it)
	}
	e.schedule(it)
}

// count counts a task that was not known before the census.
func (h *horizon) count(e *Engine) {
	e.node.Counts.Scheduled++
	if h.counts {
		e.node.Counts.Submitted++
	}
}
