package memory

import (
	"context"
	"fmt"

	"github.com/axsched/ax"
)

// Submit adds entries to the inbox of a partition; see ax.Store. ErrFull when the inbox would hold more than Config.Inbox.
// It does not look into unique windows: those the owner decides.
func (b *Backend) Submit(ctx context.Context, p ax.Partition, entries []ax.Entry) ([]ax.Answer, error) {
	part, err := b.at(ctx, "submit", p)
	if err != nil {
		return nil, err
	}
	return part.submit(entries)
}

// Open makes token the owner of a partition; see ax.Store.
func (b *Backend) Open(ctx context.Context, p ax.Partition, token ax.Token) (ax.Opened, error) {
	part, err := b.at(ctx, "open", p)
	if err != nil {
		return ax.Opened{}, err
	}
	return part.open(token)
}

// Scan reads a page of an index; see ax.Store. The first page of a walk costs a sort of the index, the others nothing of
// the kind. The tasks are those that were handed in.
func (b *Backend) Scan(ctx context.Context, req ax.ScanRequest) (ax.Page, error) {
	part, err := b.at(ctx, "scan", req.Partition)
	if err != nil {
		return ax.Page{}, err
	}
	if req.Index < ax.IndexDue || req.Index > ax.IndexFacts {
		return ax.Page{}, &ax.Error{Op: "scan", Field: "Index", Value: fmt.Sprint(req.Index), Reason: "no such index", Err: ax.ErrInvalid}
	}
	return part.scan(req)
}

// Apply writes batches; see ax.Store. It keeps the tasks and instances that it is given and copies no bytes. It never
// answers ErrUnknown. ErrNoSpace when a batch would leave more live tasks than Config.Capacity, and more than before.
func (b *Backend) Apply(ctx context.Context, batches []*ax.Batch) []error {
	errs := make([]error, len(batches))
	for i, batch := range batches {
		part, err := b.at(ctx, "apply", batch.Partition)
		switch {
		case err != nil:
			errs[i] = err
		case failedBefore(batches[:i], errs, batch.Partition):
			errs[i] = ax.ErrGap
		default:
			errs[i] = part.apply(batch)
		}
	}
	return errs
}

// Begin is Apply, done before it returns: memory waits for nothing; see ax.Pipeliner.
func (b *Backend) Begin(batches []*ax.Batch, done func(errs []error)) {
	done(b.Apply(context.Background(), batches))
}

// failedBefore reports whether an earlier batch of the same partition failed. The list is as long as a node's
// partitions, so that no set is needed.
func failedBefore(batches []*ax.Batch, errs []error, p ax.Partition) bool {
	for i := len(batches) - 1; i >= 0; i-- {
		if batches[i].Partition == p {
			return errs[i] != nil
		}
	}
	return false
}

// Get returns a live task; see ax.Store. It is the one that was handed in.
func (b *Backend) Get(ctx context.Context, id string) (*ax.Task, error) {
	part, err := b.at(ctx, "get", ax.PartitionOf(ax.KeyOf(id), len(b.partitions)))
	if err != nil {
		return nil, err
	}
	part.mu.Lock()
	t := part.tasks.Get(id)
	part.mu.Unlock()
	if t == nil {
		return nil, &ax.Error{Op: "get", ID: id, Err: ax.ErrNoTask}
	}
	return t, nil
}

// Prune forgets id records; see ax.Store. A record costs a constant, however many stay.
func (b *Backend) Prune(ctx context.Context, p ax.Partition, token ax.Token, now ax.Time, keep int) (ax.Time, error) {
	part, err := b.at(ctx, "prune", p)
	if err != nil {
		return 0, err
	}
	part.mu.Lock()
	defer part.mu.Unlock()
	if token.IsZero() || token != part.token {
		return 0, ax.ErrFenced
	}
	if newest := part.records.prune(now, max(keep, 0)); newest != 0 {
		part.floor = max(part.floor, newest+1) // an id may have been made in the instant in which its task ended
	}
	return part.floor, nil
}

// WatchInbox sends a hint after entries were added, and at once if some wait already; see ax.InboxWatcher. The channel
// is not closed: ctx says when no more comes.
func (b *Backend) WatchInbox(ctx context.Context, p ax.Partition) (<-chan struct{}, error) {
	part, err := b.at(ctx, "watch", p)
	if err != nil {
		return nil, err
	}
	return part.watch(ctx), nil
}
