package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/registry"
	"github.com/axsched/ax/journal/record"
)

// Backend is Store and Registry of one system, with an Archive beside it, in one directory. Make it with Open. All
// methods are safe for concurrent use, Begin from one goroutine at a time.
type Backend struct {
	*registry.Registry // immutable after Open

	cfg  Config    // immutable
	hash hasher    // immutable
	lock io.Closer // immutable
	work sync.WaitGroup
	stop chan struct{} // closed by Close: the housekeeper ends
	need chan struct{} // holds one: the housekeeper has something to do

	files sync.RWMutex // held for reading while places are read without mu; for writing, before mu, to take a segment away

	mu         sync.Mutex // guards all below
	wake       sync.Cond  // of the syncer
	log        log
	partitions []*partition // the slice is immutable after Open
	archive    archive
	documents  map[string]place // by class, name and revision
	alive      int64            // bytes in the log that are not garbage, about: of tasks, and of what else is large
	change     change
	opening    bool
	cut        []string // while opening: segments behind a torn tail
	rest       uint64   // log.written from which on shortening the log is worth trying again
	closed     bool
}

var (
	_ ax.Store        = (*Backend)(nil)
	_ ax.Pipeliner    = (*Backend)(nil)
	_ ax.Roomer       = (*Backend)(nil)
	_ ax.Exclusive    = (*Backend)(nil)
	_ ax.InboxWatcher = (*Backend)(nil)
	_ ax.Finisher     = (*Backend)(nil)
	_ ax.Registry     = (*Backend)(nil)
	_ ax.Archive      = (*Archive)(nil)
)

// Partitions returns the number of partitions.
func (b *Backend) Partitions() int { return len(b.partitions) }

// Archive returns the archive of finished tasks.
func (b *Backend) Archive() ax.Archive { return &Archive{b} }

// Era returns the era of this opening; see ax.Exclusive.
func (b *Backend) Era() uint32 { return b.log.era }

// Room returns nil, or an error with ErrNoSpace while submissions, and batches that create tasks, are refused; see
// ax.Roomer.
func (b *Backend) Room() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.noRoom
}

// usable returns why a call may not start. mu must be held.
func (b *Backend) usable() error {
	if b.log.dead != nil {
		return b.log.dead
	}
	if b.closed {
		return ax.ErrClosed
	}
	return nil
}

// partition returns a partition, or why there is none.
func (b *Backend) partition(op string, p ax.Partition) (*partition, error) {
	if p < 0 || int(p) >= len(b.partitions) {
		return nil, &ax.Error{Op: op, Field: "Partition", Value: fmt.Sprint(p),
			Reason: fmt.Sprintf("from 0 to %d", len(b.partitions)-1), Err: ax.ErrInvalid}
	}
	return b.partitions[p], nil
}

// Open makes token the owner of a partition; see ax.Store.
func (b *Backend) Open(ctx context.Context, id ax.Partition, token ax.Token) (ax.Opened, error) {
	if err := ctx.Err(); err != nil {
		return ax.Opened{}, err
	}
	b.mu.Lock()
	opened, err := b.open(id, token)
	if err != nil {
		b.mu.Unlock()
		return ax.Opened{}, err
	}
	return opened, b.flushed()
}

func (b *Backend) open(id ax.Partition, token ax.Token) (ax.Opened, error) {
	if err := b.usable(); err != nil {
		return ax.Opened{}, err
	}
	p, err := b.partition("open", id)
	if err != nil {
		return ax.Opened{}, err
	}
	if token.IsZero() || token.Compare(p.token) < 0 {
		return ax.Opened{}, ax.ErrFenced
	}
	if token != p.token {
		state := p.state()
		state.Token = token
		w := b.log.frame(record.KindOpen)
		w.Buf = record.AppendPartition(w.Buf, state)
		if _, _, err := b.log.write(&w); err != nil {
			return ax.Opened{}, err
		}
	}
	p.token = token
	clear(p.walks)
	return ax.Opened{Number: p.number, Floor: p.floor}, nil
}

// Get returns a live task; see ax.Store. It reads it from the disk.
func (b *Backend) Get(ctx context.Context, id string) (*ax.Task, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.files.RLock()
	defer b.files.RUnlock()
	b.mu.Lock()
	if err := b.usable(); err != nil {
		b.mu.Unlock()
		return nil, err
	}
	p := b.partitions[ax.PartitionOf(ax.KeyOf(id), len(b.partitions))]
	s, ok := p.live[b.hash.key(id)]
	if err := b.flushed(); err != nil {
		return nil, err
	}
	if !ok {
		return nil, &ax.Error{Op: "get", ID: id, Err: ax.ErrNoTask}
	}
	return b.read(s)
}

// write writes a revision of a document for the Registry.
func (b *Backend) write(d ax.Document) (wait func() error, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.usable(); err != nil {
		return nil, err
	}
	if b.log.noRoom != nil && d.Body != nil {
		return nil, b.log.noRoom
	}
	w := b.log.frame(record.KindDocument)
	w.Section(record.TagDocument, 1)
	item, size := w.Item(func(dst []byte) []byte { return record.AppendDocument(dst, &d) })
	seg, at, err := b.log.write(&w)
	if err != nil {
		return nil, err
	}
	b.file(d.Class, d.Name, d.Revision, placeAt(seg.slot, at+int64(item), size))
	return func() error {
		b.mu.Lock()
		return b.flushed()
	}, nil
}

// file notes where a revision of a document stands.
func (b *Backend) file(class, name string, revision int64, at place) {
	id := fmt.Sprintf("%s\x00%s\x00%d", class, name, revision)
	b.alive += int64(at.size() - b.documents[id].size())
	b.documents[id] = at
}

// Close makes everything durable and releases the directory; see ax.Store. Calls in flight end, with ErrClosed or their
// result. The error is that of the last sync. Closing twice is allowed.
func (b *Backend) Close() error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		b.work.Wait()
		return nil
	}
	b.closed = true
	close(b.stop)
	b.mu.Unlock()
	b.Registry.Close()
	err := b.seal()
	b.work.Wait()
	b.files.Lock()
	defer b.files.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, seg := range b.log.order {
		seg.file.Close()
	}
	if b.log.spare != nil {
		b.log.spare.file.Close()
	}
	b.lock.Close()
	return err
}

// seal writes that the log ends here, makes it durable, and ends the syncer.
func (b *Backend) seal() error {
	b.mu.Lock()
	err := b.log.dead
	if err == nil {
		if err = b.flushed(); err == nil { // so that the last frame can say that all before it is durable
			b.mu.Lock()
			w := b.log.frame(record.KindClose)
			if _, _, err = b.log.write(&w); err == nil {
				err = b.flushed()
			} else {
				b.mu.Unlock()
				if errors.Is(err, ax.ErrNoSpace) { // what was to be written is; only its seal is missing
					err = nil
				}
			}
		}
		b.mu.Lock()
	}
	b.log.closing = true
	b.wake.Broadcast()
	b.mu.Unlock()
	return err
}
