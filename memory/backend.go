package memory

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/registry"
)

// Config sets the bounds of a Backend. The zero value is usable.
type Config struct {
	// Partitions is the number of partitions, fixed for the life of the Backend; 0 means 1. The partition of a task is
	// ax.PartitionOf its key among them.
	Partitions int
	// Now is the only clock: leases expire by it, documents are stamped with it, and the era is its second at New.
	// nil means time.Now.
	Now func() time.Time
	// Keep is how many finished tasks, and how many facts, the archive holds; the oldest go first. 0 means 100,000:
	// some 50 MB with small payloads.
	Keep int
	// Capacity is how many live tasks a partition holds; a batch that would create more is refused with ErrNoSpace.
	// 0 means no bound.
	Capacity int
	// Inbox is how many entries the inbox of a partition holds; entries beyond it are refused with ErrFull. 0 means
	// 1,000,000: about a second of the highest rate of submissions, several hundred MB.
	Inbox int
}

func (c Config) withDefaults() Config {
	if c.Partitions == 0 {
		c.Partitions = 1
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Keep == 0 {
		c.Keep = 100_000
	}
	if c.Inbox == 0 {
		c.Inbox = 1_000_000
	}
	return c
}

// Backend is Store and Registry of one system, with an Archive beside it. Make it with New. All methods are safe for
// concurrent use.
type Backend struct {
	*registry.Registry              // immutable after New
	partitions         []*partition // immutable after New
	archive            *Archive     // immutable after New
	closed             atomic.Bool
}

var (
	_ ax.Store        = (*Backend)(nil)
	_ ax.InboxWatcher = (*Backend)(nil)
	_ ax.Finisher     = (*Backend)(nil)
	_ ax.Pipeliner    = (*Backend)(nil)
	_ ax.Registry     = (*Backend)(nil)
	_ ax.Archive      = (*Archive)(nil)
)

// New returns an empty Backend. It starts nothing. It panics if a number in cfg is negative.
func New(cfg Config) *Backend {
	cfg = cfg.withDefaults()
	if min(cfg.Partitions, cfg.Keep, cfg.Capacity, cfg.Inbox) < 0 {
		panic(fmt.Sprintf("memory: a number in Config is negative: %+v", cfg))
	}
	seed := maphash.MakeSeed()
	now := cfg.Now() // tokens begin at the nanosecond inside the second: a Backend made later in it grants higher ones
	b := &Backend{archive: NewArchive(cfg.Keep), Registry: registry.New(registry.Config{
		Now: cfg.Now, Era: uint32(now.Unix()), Revision: uint64(now.Nanosecond())})}
	for i := range cfg.Partitions {
		b.partitions = append(b.partitions, newPartition(ax.Partition(i), cfg, b.archive, seed))
	}
	return b
}

// Partitions returns the number of partitions.
func (b *Backend) Partitions() int { return len(b.partitions) }

// Archive returns the archive, always the same. (Store and Archive both have a Get and a Prune, so that one value cannot
// be both.)
func (b *Backend) Archive() ax.Archive { return b.archive }

// Close ends the Backend: every later call of Store and Registry answers ErrClosed, and what Watch returned is closed.
// The archive stays readable. Always nil.
func (b *Backend) Close() error {
	b.closed.Store(true)
	b.Registry.Close()
	return nil
}

// usable returns why a call may not start: the context has ended, or the Backend is closed.
func (b *Backend) usable(ctx context.Context) error {
	if b.closed.Load() {
		return ax.ErrClosed
	}
	return ctx.Err()
}

// at returns the partition of a request, or why there is none.
func (b *Backend) at(ctx context.Context, op string, p ax.Partition) (*partition, error) {
	if err := b.usable(ctx); err != nil {
		return nil, err
	}
	if p < 0 || int(p) >= len(b.partitions) {
		return nil, &ax.Error{Op: op, Field: "Partition", Value: fmt.Sprint(p),
			Reason: fmt.Sprintf("from 0 to %d", len(b.partitions)-1), Err: ax.ErrInvalid}
	}
	return b.partitions[p], nil
}
