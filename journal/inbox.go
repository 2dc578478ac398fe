package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/axsched/ax"
	"github.com/axsched/ax/journal/record"
)

// Submit adds entries to the inbox of a partition and waits until they, and all that the answers rest on, are durable;
// see ax.Store. It does not look into unique windows: those the owner decides. ErrFull when the inbox would hold more
// than Config.Inbox. If ctx ends meanwhile the error is ErrUnknown: they may be durable.
func (b *Backend) Submit(ctx context.Context, id ax.Partition, entries []ax.Entry) ([]ax.Answer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.mu.Lock()
	answers, added, err := b.submit(id, entries)
	if err != nil {
		b.mu.Unlock()
		return nil, err
	}
	waiters := b.partitions[id].waiters
	c := make(chan error, 1) // its one value, which nobody may be waiting for
	if b.log.dead == nil && b.log.durable >= b.log.written {
		c <- nil
	} else {
		b.await(func(err error) { c <- err })
	}
	b.mu.Unlock()
	if added {
		for _, w := range waiters {
			nudge(w)
		}
	}
	select {
	case err := <-c:
		if err != nil {
			return nil, err
		}
		return answers, nil
	case <-ctx.Done():
		return nil, errors.Join(ax.ErrUnknown, ctx.Err())
	}
}

// submit answers entries, and writes those that are new.
func (b *Backend) submit(id ax.Partition, entries []ax.Entry) (answers []ax.Answer, added bool, err error) {
	if err := b.usable(); err != nil {
		return nil, false, err
	}
	p, err := b.partition("submit", id)
	if err != nil {
		return nil, false, err
	}
	answers = make([]ax.Answer, len(entries))
	fresh := map[string]*ax.Entry{} // of this call
	var list []*ax.Entry
	for i := range entries {
		e := &entries[i]
		if answers[i], err = b.answer(p, e, fresh); err != nil {
			return nil, false, err
		}
		if answers[i].Code == ax.Accepted {
			fresh[e.ID] = e
			list = append(list, e)
		}
	}
	switch {
	case len(list) == 0:
		return answers, false, nil
	case b.log.noRoom != nil:
		return nil, false, b.log.noRoom
	case len(p.inbox.items)+len(list) > b.cfg.Inbox:
		return nil, false, &ax.Error{Op: "submit", Field: "Inbox", Value: fmt.Sprint(b.cfg.Inbox),
			Reason: fmt.Sprintf("%d entries wait in partition %d for its owner", len(p.inbox.items), p.id), Err: ax.ErrFull}
	}
	w := b.log.frame(record.KindSubmit)
	w.Buf = record.AppendPartition(w.Buf, p.state())
	w.Section(record.TagEntry, len(list))
	for _, e := range list {
		w.Entry(e)
	}
	seg, at, err := b.log.write(&w)
	if err != nil {
		return nil, false, err
	}
	for i, e := range list {
		p.inbox.put(e.ID, *e, sealAt(seg.number, at)+uint64(i), seg.number)
	}
	return answers, true, nil
}

// nudge sends without waiting; it coalesces with what was not received yet.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// answer says what the partition knows of an entry: Accepted if nothing. fresh are the entries before it in the same
// call.
func (b *Backend) answer(p *partition, e *ax.Entry, fresh map[string]*ax.Entry) (ax.Answer, error) {
	waiting := fresh[e.ID]
	if q, ok := p.inbox.get(e.ID); ok {
		waiting = &q
	}
	r, _ := p.records.get(e.ID)
	if e.Verb != ax.VerbSubmit || e.Task == nil {
		if waiting != nil || r != nil && r.State == 0 {
			return ax.Answer{Code: ax.Known, ID: e.Target}, nil
		}
		return ax.Answer{Code: ax.Accepted, ID: e.Target}, nil
	}
	a := ax.Answer{Code: ax.Known, ID: e.ID}
	var hash uint64
	if s, live := p.live[b.hash.key(e.ID)]; live {
		t, err := b.read(s)
		if err != nil {
			return a, err
		}
		hash, a.State, a.Run = t.Hash, t.State, t.Run
	} else if r != nil && r.State != 0 {
		hash, a.State, a.Run = r.Hash, r.State, r.Run
	}
	opened := a.State > ax.Success && e.Task.Unique().By == ax.ByID
	if a.State == 0 || opened {
		if a = (ax.Answer{Code: ax.Accepted, ID: e.ID}); waiting == nil {
			return a, nil
		}
		a.Code = ax.Known
		if hash = 0; waiting.Task != nil {
			hash = waiting.Task.Hash
		}
	}
	if hash != e.Task.Hash {
		a.Code = ax.Conflict
	}
	return a, nil
}

// WatchInbox sends a hint after entries were added, and at once if some wait already; see ax.InboxWatcher. The channel is
// not closed: ctx says when no more comes.
func (b *Backend) WatchInbox(ctx context.Context, id ax.Partition) (<-chan struct{}, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.usable(); err != nil {
		return nil, err
	}
	p, err := b.partition("watch", id)
	if err != nil {
		return nil, err
	}
	c := make(chan struct{}, 1) // one pending hint: several additions are one
	p.waiters = append(slices.Clip(p.waiters), c)
	if len(p.inbox.items) > 0 {
		nudge(c)
	}
	context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		p.waiters = slices.DeleteFunc(slices.Clone(p.waiters), func(w chan struct{}) bool { return w == c })
	})
	return c, nil
}
