package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/axsched/ax"
)

// submit adds what is new to the inbox, all of it or nothing.
func (p *partition) submit(entries []ax.Entry) ([]ax.Answer, error) {
	p.mu.Lock()
	answers := make([]ax.Answer, len(entries))
	before := len(p.inbox.byID)
	var added []string
	for i := range entries {
		e := &entries[i]
		answers[i] = p.answer(e)
		if answers[i].Code == ax.Accepted {
			p.inbox.put(e.ID, *e)
			added = append(added, e.ID)
		}
	}
	waiters := p.waiters
	full := len(added) > 0 && before+len(added) > p.room
	if full {
		for _, id := range added {
			p.inbox.drop(id)
		}
	}
	p.mu.Unlock()
	if full {
		return nil, &ax.Error{Op: "submit", Field: "Inbox", Value: fmt.Sprint(p.room),
			Reason: fmt.Sprintf("%d entries wait in partition %d for its owner", before, p.id), Err: ax.ErrFull}
	}
	if len(added) > 0 {
		for _, c := range waiters {
			nudge(c)
		}
	}
	return answers, nil
}

// nudge sends without waiting; it coalesces with what was not received yet.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// answer says what the partition knows of an entry: Accepted if nothing.
func (p *partition) answer(e *ax.Entry) ax.Answer {
	if e.Verb != ax.VerbSubmit || e.Task == nil {
		_, waits := p.inbox.byID[e.ID]
		r := p.records.byID.Get(e.ID)
		if waits || r != nil && r.State == 0 {
			return ax.Answer{Code: ax.Known, ID: e.Target}
		}
		return ax.Answer{Code: ax.Accepted, ID: e.Target}
	}
	a := ax.Answer{Code: ax.Known, ID: e.ID}
	var hash uint64
	if t := p.tasks.Get(e.ID); t != nil {
		hash, a.State, a.Run = t.Hash, t.State, t.Run
	} else if r := p.records.byID.Get(e.ID); r != nil && r.State != 0 {
		hash, a.State, a.Run = r.Hash, r.State, r.Run
	}
	opened := a.State > ax.Success && e.Task.Unique().By == ax.ByID
	if a.State == 0 || opened {
		q, waits := p.inbox.byID[e.ID]
		if a = (ax.Answer{Code: ax.Accepted, ID: e.ID}); !waits {
			return a
		}
		a.Code = ax.Known
		if hash = 0; q.value.Task != nil {
			hash = q.value.Task.Hash
		}
	}
	if hash != e.Task.Hash {
		a.Code = ax.Conflict
	}
	return a
}

// admit takes entries out of the inbox. What was not a submission stays known by a record: a submission is known by
// its task, or was refused and may come again.
func (p *partition) admit(ids []string) {
	var known []*ax.IDRecord
	for _, id := range ids {
		q, ok := p.inbox.byID[id]
		if !ok {
			continue
		}
		p.inbox.drop(id)
		if e := &q.value; e.Verb != ax.VerbSubmit && p.records.byID.Get(id) == nil {
			known = append(known, &ax.IDRecord{ID: id, Ended: e.Added, Until: e.Added.Add(ax.AdmitWindow)})
		}
	}
	p.records.remember(known)
}

// watch registers a channel until ctx ends.
func (p *partition) watch(ctx context.Context) <-chan struct{} {
	c := make(chan struct{}, 1) // one pending hint: several additions are one
	p.mu.Lock()
	p.waiters = append(slices.Clip(p.waiters), c)
	waits := len(p.inbox.byID) > 0
	p.mu.Unlock()
	if waits {
		nudge(c)
	}
	context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.waiters = slices.DeleteFunc(slices.Clone(p.waiters), func(w chan struct{}) bool { return w == c })
	})
	return c
}
