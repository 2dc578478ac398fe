package memory

import (
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/index"
)

// partition is the truth about one slice of the key space.
type partition struct {
	id       ax.Partition // immutable
	archive  *Archive     // immutable; has a lock of its own, taken after mu
	capacity int          // immutable; live tasks, 0 = no bound
	room     int          // immutable; inbox entries

	mu     sync.Mutex // guards all below
	token  ax.Token   // the floor: no batch of another token is applied; zero until the first Open
	number uint64     // of the last batch applied
	wrote  ax.Token   // who applied it
	floor  ax.Time    // what Prune returned last

	tasks     *index.Index[ax.Task]
	records   records
	inbox     queue[ax.Entry]
	facts     queue[ax.Fact]
	jobs      map[string]ax.JobState
	instances map[string]*ax.Instance
	reasons   map[string]ax.Reason
	outgoing  map[string]ax.Outgoing

	walks   map[ax.Index]*walk
	waiters []chan struct{} // of WatchInbox; replaced, never changed, so that a copy may be read without mu
	undo    []*ax.Task      // scratch of change: what each step so far replaced
}

func newPartition(id ax.Partition, cfg Config, archive *Archive, seed maphash.Seed) *partition {
	return &partition{
		id: id, archive: archive, capacity: cfg.Capacity, room: cfg.Inbox,
		tasks:   index.New(seed, func(t *ax.Task) string { return t.ID }),
		records: newRecords(seed),
		inbox:   queue[ax.Entry]{byID: map[string]queued[ax.Entry]{}}, facts: queue[ax.Fact]{byID: map[string]queued[ax.Fact]{}},
		jobs: map[string]ax.JobState{}, instances: map[string]*ax.Instance{},
		reasons: map[string]ax.Reason{}, outgoing: map[string]ax.Outgoing{},
		walks: map[ax.Index]*walk{},
	}
}

// open makes token the owner. One lock makes "fence first, read after" a matter of course.
func (p *partition) open(token ax.Token) (ax.Opened, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if token.IsZero() || token.Compare(p.token) < 0 {
		return ax.Opened{}, ax.ErrFenced
	}
	p.token = token
	clear(p.walks)
	return ax.Opened{Number: p.number, Floor: p.floor}, nil
}

// apply checks fence and number, and changes the partition if all of the batch is possible.
func (p *partition) apply(b *ax.Batch) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case b.Token.IsZero() || b.Token != p.token:
		return ax.ErrFenced
	case b.Number == p.number && b.Token == p.wrote:
		return nil // the repeat of the last one
	case b.Number != p.number+1:
		return ax.ErrGap
	}
	if err := p.change(b); err != nil {
		return err
	}
	p.keep(b)
	p.number, p.wrote = b.Number, b.Token
	return nil
}

// change does to the live tasks what the batch asks: deletes, finishes, creates, then moves. At the first that is not
// possible it takes everything back. (Looking first and changing after would find every task twice.)
func (p *partition) change(b *ax.Batch) error {
	before := p.tasks.Len()
	defer func() { clear(p.undo); p.undo = p.undo[:0] }()
	for _, id := range b.Delete {
		p.undo = append(p.undo, p.tasks.Delete(id))
	}
	for _, t := range b.Finish {
		p.undo = append(p.undo, p.tasks.Delete(t.ID))
	}
	for _, t := range b.Create {
		p.undo = append(p.undo, p.tasks.Put(t))
	}
	for _, t := range b.Move {
		old := p.tasks.Put(t)
		p.undo = append(p.undo, old)
		if old == nil {
			return p.back(b, &ax.Error{Op: "apply", ID: t.ID, State: t.State, Field: "Move", Value: fmt.Sprint("run ", t.Run),
				Reason: "no such task is live", Err: ax.ErrInvalid})
		}
	}
	if n := p.tasks.Len(); p.capacity > 0 && n > p.capacity && n > before {
		return p.back(b, &ax.Error{Op: "apply", Field: "Capacity", Value: fmt.Sprint(p.capacity),
			Reason: fmt.Sprintf("%d tasks are live in partition %d", before, p.id), Err: ax.ErrNoSpace})
	}
	return nil
}

// back undoes the steps of change from the last to the first, and returns err.
func (p *partition) back(b *ax.Batch, err error) error {
	for i := len(p.undo) - 1; i >= 0; i-- {
		old := p.undo[i]
		switch at := i - len(b.Delete) - len(b.Finish); {
		case old != nil:
			p.tasks.Put(old)
		case at >= len(b.Create):
			p.tasks.Delete(b.Move[at-len(b.Create)].ID)
		case at >= 0:
			p.tasks.Delete(b.Create[at].ID)
		}
	}
	return err
}

// keep does the rest of a batch, in which nothing can fail.
func (p *partition) keep(b *ax.Batch) {
	p.archive.file(b.Finish)
	p.records.remember(b.Remember)
	for _, id := range b.Forget {
		p.records.forget(id)
	}
	p.admit(b.Admit)
	for _, j := range b.Jobs {
		p.jobs[j.UID] = j
	}
	for _, uid := range b.DropJobs {
		delete(p.jobs, uid)
	}
	for _, in := range b.Instances {
		p.instances[in.ID] = in
	}
	for _, id := range b.DropInst {
		delete(p.instances, id)
	}
	for _, r := range b.Reasons {
		p.reasons[r.Name()] = r
	}
	for _, name := range b.DropWhy {
		delete(p.reasons, name)
	}
	for _, o := range b.Outgoing {
		p.outgoing[o.Entry.ID] = o
	}
	for _, id := range b.Relayed {
		delete(p.outgoing, id)
	}
	for _, f := range b.Facts {
		p.facts.put(f.ID, f)
	}
	for _, id := range b.Filed {
		p.facts.drop(id)
	}
}
