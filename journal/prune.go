package journal

import (
	"context"
	"slices"

	"github.com/axsched/ax"
	"github.com/axsched/ax/journal/record"
)

// Prune forgets id records; see ax.Store. It looks at all of them, a few thousand at a time.
func (b *Backend) Prune(ctx context.Context, id ax.Partition, token ax.Token, now ax.Time, keep int) (ax.Time, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	b.mu.Lock()
	p, err := b.owned(id, token)
	if err != nil {
		b.mu.Unlock()
		return 0, err
	}
	for old := b.outdated(p, now, max(keep, 0)); len(old) > 0; {
		n := min(len(old), scanSlice)
		if _, err := b.owned(id, token); err != nil {
			b.mu.Unlock()
			return 0, err
		}
		if err := b.forget(p, old[:n]); err != nil {
			b.mu.Unlock()
			return 0, err
		}
		old = old[n:]
		b.mu.Unlock() // let commits through
		b.mu.Lock()
	}
	floor := p.floor
	return floor, b.flushed()
}

// owned returns a partition if a token owns it.
func (b *Backend) owned(id ax.Partition, token ax.Token) (*partition, error) {
	if err := b.usable(); err != nil {
		return nil, err
	}
	p, err := b.partition("prune", id)
	if err != nil {
		return nil, err
	}
	if token.IsZero() || token != p.token {
		return nil, ax.ErrFenced
	}
	return p, nil
}

// outdated returns the records that have run out, and the oldest beyond keep.
func (b *Backend) outdated(p *partition, now ax.Time, keep int) (old []*ax.IDRecord) {
	var stay []*ax.IDRecord
	n := 0
	for _, k := range p.records.items {
		if k.v.Until < now {
			old = append(old, k.v)
		} else {
			stay = append(stay, k.v)
		}
		if n++; n%scanSlice == 0 { // let commits through
			b.mu.Unlock()
			b.mu.Lock()
		}
	}
	if len(stay) > keep {
		b.mu.Unlock()
		slices.SortFunc(stay, func(r, s *ax.IDRecord) int { return int(min(max(r.Ended-s.Ended, -1), 1)) })
		b.mu.Lock()
		old = append(old, stay[:len(stay)-keep]...)
	}
	return old
}

// forget writes that records are forgotten, and forgets those that nobody has replaced meanwhile.
func (b *Backend) forget(p *partition, old []*ax.IDRecord) error {
	w := b.log.frame(record.KindPrune)
	var ids []string
	state := p.state()
	for _, r := range old {
		if now, _ := p.records.get(r.ID); now != r {
			continue
		}
		ids = append(ids, r.ID)
		if r.State != 0 { // an id may have been made in the instant in which its task ended
			state.Floor = max(state.Floor, r.Ended+1)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	w.Buf = record.AppendPartition(w.Buf, state)
	w.Strings(record.TagForget, ids)
	if _, _, err := b.log.write(&w); err != nil {
		return err
	}
	for _, id := range ids {
		p.records.drop(id)
	}
	p.floor = state.Floor
	return nil
}
