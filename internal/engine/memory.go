package engine

import (
	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/index"
	"github.com/axsched/ax/internal/ready"
)

// memory is what is known of tasks that have left: id records, for as long as the dedupe window or a unique window
// says, and who holds the unique windows that are closed. The store keeps the same records.
type memory struct {
	window int64 // microseconds
	most   int
	ids    *index.Index[known]
	queue  ready.Queue[*known] // by Until
	holder map[string]string   // unique names of live tasks, and who holds them
	floor  ax.Time             // something that ended then, or before, was forgotten
}

type known struct {
	ax.IDRecord
	ticket uint32
}

// Ticket makes a record wait in a ready.Queue for the end of its window.
func (k *known) Ticket() uint32 { return k.ticket }

func newMemory(cfg *Config, floor ax.Time) memory {
	return memory{
		window: cfg.Window.Microseconds(), most: max(cfg.Remember, 1), floor: floor,
		ids:    index.New(cfg.Seed, func(k *known) string { return k.ID }),
		holder: make(map[string]string),
	}
}

// note keeps a record, in the place of an earlier one of the same id.
func (m *memory) note(r ax.IDRecord) {
	k := &known{IDRecord: r}
	if old := m.ids.Put(k); old != nil {
		old.ticket++
		m.queue.Left()
	}
	m.queue.Push(int64(r.Until), uint64(r.Ended), k)
}

// drop forgets a record before its time.
func (m *memory) drop(id string) {
	if old := m.ids.Delete(id); old != nil {
		old.ticket++
		m.queue.Left()
	}
}

// forget drops what has run out, and what is too many.
func (m *memory) forget(now ax.Time) {
	for {
		k, until, _, ok := m.queue.Head()
		if !ok || ax.Time(until) > now && m.queue.Len() <= m.most {
			return
		}
		m.queue.Pop()
		m.ids.Delete(k.ID)
		m.floor = max(m.floor, k.Ended)
	}
}

// find returns the record of an id.
func (m *memory) find(id string, now ax.Time) (ax.IDRecord, bool) {
	if k := m.ids.Get(id); k != nil && k.Until > now {
		return k.IDRecord, true
	}
	return ax.IDRecord{}, false
}

// holderOf returns the task that keeps a unique name taken, and how it ended if it has.
func (m *memory) holderOf(name string, now ax.Time) (ax.IDRecord, bool) {
	if id, ok := m.holder[name]; ok {
		return ax.IDRecord{Holder: id}, true
	}
	return m.find(name, now)
}

// until returns how long a task that ended stays known by its id.
func (m *memory) until(t *ax.Task) ax.Time {
	until := t.At + ax.Time(m.window)
	if u := t.Unique(); u.By == ax.ByID {
		until = max(until, t.Created.Add(u.Window))
	}
	return until
}

// reopens reports whether a task that ended lets its id be used again at once: a unique id whose work was not done.
func reopens(by ax.UniqueBy, s ax.State) bool {
	return by == ax.ByID && (s == ax.Failed || s == ax.Timeout || s == ax.Canceled)
}
