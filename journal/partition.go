package journal

import (
	"github.com/axsched/ax"
	"github.com/axsched/ax/journal/record"
)

// partition is what memory knows of one slice of the key space. Backend.mu guards it.
type partition struct {
	id     ax.Partition // immutable
	token  ax.Token     // the floor: no batch of another token is applied; zero until the first Open
	number uint64       // of the last batch applied
	wrote  ax.Token     // who applied it
	floor  ax.Time      // what Prune returned last

	live      map[key]spot
	records   shelf[*ax.IDRecord]
	inbox     shelf[ax.Entry]
	facts     shelf[ax.Fact] // not yet filed
	jobs      shelf[ax.JobState]
	instances shelf[*ax.Instance]
	reasons   shelf[ax.Reason]
	outgoing  shelf[ax.Outgoing]

	walks   map[ax.Index]*walk
	waiters []chan struct{} // of WatchInbox; replaced, never changed, so that a copy may be read without mu
}

func newPartition(id ax.Partition) *partition {
	return &partition{id: id, live: map[key]spot{}, walks: map[ax.Index]*walk{}}
}

func (p *partition) state() record.Partition {
	return record.Partition{ID: p.id, Token: p.token, Number: p.number, Wrote: p.wrote, Floor: p.floor}
}

// restore takes over the state of a partition as it was written.
func (p *partition) restore(s record.Partition) {
	if s.Token.Compare(p.token) > 0 {
		p.token = s.Token
	}
	if s.Number >= p.number {
		p.number, p.wrote = s.Number, s.Wrote
	}
	p.floor = max(p.floor, s.Floor)
}

// keep does what a batch says of everything but tasks, which stands in a segment at a place in the order.
func (p *partition) keep(b *ax.Batch, segment, serial uint64) {
	for _, r := range b.Remember {
		p.records.put(r.ID, r, serial, segment)
	}
	for _, id := range b.Forget {
		p.records.drop(id)
	}
	for _, id := range b.Admit {
		p.admit(id, segment)
	}
	for _, j := range b.Jobs {
		p.jobs.put(j.UID, j, serial, segment)
	}
	for _, uid := range b.DropJobs {
		p.jobs.drop(uid)
	}
	for _, in := range b.Instances {
		p.instances.put(in.ID, in, serial, segment)
	}
	for _, id := range b.DropInst {
		p.instances.drop(id)
	}
	for _, r := range b.Reasons {
		p.reasons.put(r.Name(), r, serial, segment)
	}
	for _, name := range b.DropWhy {
		p.reasons.drop(name)
	}
	for _, o := range b.Outgoing {
		p.outgoing.put(o.Entry.ID, o, serial, segment)
	}
	for _, id := range b.Relayed {
		p.outgoing.drop(id)
	}
	for i, f := range b.Facts {
		p.facts.put(f.ID, f, serial+uint64(i), segment)
	}
	for _, id := range b.Filed {
		p.facts.drop(id)
	}
}

// admit takes an entry out of the inbox. What was not a submission stays known by a record: a submission is known by its
// task, or was refused and may come again.
func (p *partition) admit(id string, segment uint64) {
	e, waits := p.inbox.get(id)
	if !waits {
		return
	}
	p.inbox.drop(id)
	if _, known := p.records.get(id); e.Verb != ax.VerbSubmit && !known {
		p.records.put(id, &ax.IDRecord{ID: id, Ended: e.Added, Until: e.Added.Add(ax.AdmitWindow)}, 0, segment)
	}
}
