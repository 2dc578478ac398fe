package engine

import (
	"cmp"
	"slices"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/index"
	"github.com/axsched/ax/internal/ready"
)

// memory is what is known of tasks that have left: id records, for as long as the dedupe window or a unique window
// says, and who holds the unique windows that are closed. The store keeps the same records.
type memory struct {
	window int64 // microseconds
	most   int
	ids    *index.Index[ax.IDRecord]
	queue  ready.Queue[known] // by Until; an entry counts if ids holds this very record
	holder map[string]string  // unique names of live tasks, and who holds them
	floor  ax.Time            // something that ended then, or before, was forgotten
	forgot int                // how many, since the store was told last
}

// known is a record that waits for the end of its window.
type known struct{ *ax.IDRecord }

// Ticket makes it wait in a ready.Queue.
func (known) Ticket() uint32 { return 0 }

func newMemory(cfg *Config, floor ax.Time) memory {
	return memory{
		window: cfg.Window.Microseconds(), most: max(cfg.Remember, 1), floor: floor,
		ids:    index.New(cfg.Seed, func(r *ax.IDRecord) string { return r.ID }),
		holder: make(map[string]string),
	}
}

// note keeps a record, in the place of an earlier one of the same id.
func (m *memory) note(r *ax.IDRecord) {
	m.ids.Put(r)
	m.queue.Push(int64(r.Until), uint64(r.Ended), known{r})
	if m.queue.Len() > 2*m.ids.Len()+1024 {
		m.tidy()
	}
}

// tidy makes the queue anew, without the entries of records that were replaced.
func (m *memory) tidy() {
	all := make([]*ax.IDRecord, 0, m.ids.Len())
	for r := range m.ids.All() {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *ax.IDRecord) int {
		return cmp.Or(cmp.Compare(a.Until, b.Until), cmp.Compare(a.Ended, b.Ended), cmp.Compare(a.ID, b.ID))
	})
	m.queue = ready.Queue[known]{}
	for _, r := range all {
		m.queue.Push(int64(r.Until), uint64(r.Ended), known{r})
	}
}

// drop forgets a record before its time.
func (m *memory) drop(id string) { m.ids.Delete(id) }

// forget drops what has run out, and what is too many.
func (m *memory) forget(now ax.Time) {
	for {
		k, until, _, ok := m.queue.Head()
		if !ok || ax.Time(until) > now && m.ids.Len() <= m.most {
			return
		}
		m.queue.Pop()
		if m.ids.Get(k.ID) == k.IDRecord {
			m.ids.Delete(k.ID)
			m.floor = max(m.floor, k.Ended)
			m.forgot++
		}
	}
}

// find returns the record of an id.
func (m *memory) find(id string, now ax.Time) (*ax.IDRecord, bool) {
	if r := m.ids.Get(id); r != nil && r.Until > now {
		return r, true
	}
	return nil, false
}

// holderOf returns the task that keeps a unique name taken, and how it ended if it has.
func (m *memory) holderOf(name string, now ax.Time) (*ax.IDRecord, bool) {
	if id, ok := m.holder[name]; ok {
		return &ax.IDRecord{Holder: id}, true
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
