package journal

import (
	"fmt"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/disk"
)

// How often the housekeeper looks without being asked.
const (
	lookEvery   = time.Hour
	roomEvery   = time.Second // after a full disk
	expireLeast = time.Minute
)

// housekeeper fills the next segment ahead, moves what is alive forward, and lets go of finished tasks that are too old,
// whenever there is something to do. It ends with Close.
func (b *Backend) housekeeper() {
	zeros := make([]byte, fillChunk)
	for {
		again := min(b.prepare(zeros), b.expire())
		if b.forward() {
			continue
		}
		timer := time.NewTimer(again)
		select {
		case <-b.need:
		case <-timer.C:
		case <-b.stop:
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// prepare makes the next segment if there is none, and returns after how long it is to be called again.
func (b *Backend) prepare(zeros []byte) time.Duration {
	b.mu.Lock()
	want, number := b.log.spareWant, b.log.tip().number+1
	if b.log.spare != nil || b.usable() != nil {
		b.mu.Unlock()
		return lookEvery
	}
	b.mu.Unlock()
	f, err := b.makeSpare(number, want, zeros)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		if b.log.noRoom == nil && !b.closed {
			b.cfg.Logger.Error("the journal has no room for its next segment: submissions are refused until it has", "bytes", want, "error", err)
			b.log.noRoom = &ax.Error{Op: "submit", Field: "disk", Value: "full", Reason: fmt.Sprintf(
				"the journal has no room for its next %d MiB; it tries again each second: %v", want>>20, err), Err: ax.ErrNoSpace}
		}
		return roomEvery
	}
	if b.log.noRoom != nil {
		b.cfg.Logger.Info("the journal has room again")
		b.log.noRoom = nil
	}
	b.log.spare = &segment{number: number, name: segmentName(number), file: f, filled: want}
	return lookEvery
}

// makeSpare fills a file with zeros and syncs it, a little at a time, so that the syncs of the log find little to wait
// for. Without a head it is no segment yet, and an opening removes it.
func (b *Backend) makeSpare(number uint64, size int64, zeros []byte) (disk.File, error) {
	dir, name := b.log.fs, segmentName(number)
	f, err := dir.Create(name)
	if err != nil {
		return nil, err
	}
	const step = 1 << 20
	for from := int64(0); from < size && err == nil; from += step {
		if err = fill(f, from, min(from+step, size), zeros); err == nil {
			err = f.Sync()
		}
		select {
		case <-b.stop:
			err = ax.ErrClosed
		default:
		}
	}
	if err == nil {
		err = dir.SyncDir()
	}
	if err != nil {
		f.Close()
		_ = dir.Remove(name) // the next opening does it
		return nil, err
	}
	return f, nil
}

// expire lets go of finished tasks that are older than KeepFor, and returns after how long it is to be called again.
func (b *Backend) expire() time.Duration {
	if b.cfg.KeepFor == 0 {
		return lookEvery
	}
	before := ax.At(b.cfg.Now()).Add(-b.cfg.KeepFor)
	b.mu.Lock()
	defer b.mu.Unlock()
	a := &b.archive
	for n := 1; a.head < len(a.queue); n++ {
		if f := &a.slab[a.queue[a.head]]; f.at() >= before {
			return max(min(f.at().Sub(before), lookEvery), expireLeast)
		}
		a.dropOldest(b)
		if n%scanSlice == 0 { // let commits through
			b.mu.Unlock()
			b.mu.Lock()
		}
	}
	for a.factHead < len(a.factQueue) {
		id := a.factQueue[a.factHead]
		if f, ok := a.facts.get(id); ok && f.At >= before {
			break
		}
		a.dropFact(id)
		a.factHead++
	}
	return lookEvery
}
