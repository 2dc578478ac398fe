package journal

import (
	"fmt"
	"time"

	"github.com/axsched/ax"
)

// await calls done once everything written so far is durable, from the syncing goroutine, or with the error of a log that
// has died. mu must be held; done must not take it if it is called by await itself, and that is what it returns.
func (b *Backend) await(done func(error)) {
	b.log.waiters = append(b.log.waiters, waiter{b.log.written, done})
	b.wake.Signal()
}

// flushed waits until everything written so far is durable. mu must be held, and is free when it returns.
func (b *Backend) flushed() error {
	if b.log.dead != nil || b.log.durable >= b.log.written {
		err := b.log.dead
		b.mu.Unlock()
		return err
	}
	c := make(chan error, 1) // its one value
	b.await(func(err error) { c <- err })
	b.mu.Unlock()
	return <-c
}

// syncer makes the log durable whenever somebody waits for it: what comes while it syncs shares the next one. It is the
// only one that syncs segments, and ends when the Backend is closed and nobody waits.
func (b *Backend) syncer() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		for len(b.log.waiters) == 0 && !b.log.closing {
			b.wake.Wait()
		}
		if len(b.log.waiters) == 0 {
			return
		}
		if b.log.dead == nil {
			b.syncOnce()
		}
		done, durable, dead := b.finished(), b.log.durable, b.log.dead
		b.mu.Unlock()
		for _, w := range done {
			if w.upTo <= durable {
				w.done(nil)
			} else {
				w.done(fmt.Errorf("%w: %w", ax.ErrUnknown, dead))
			}
		}
		b.mu.Lock()
	}
}

// finished takes the waiters whose time has come out of the line.
func (b *Backend) finished() (done []waiter) {
	l := &b.log
	n := 0
	for n < len(l.waiters) && (l.waiters[n].upTo <= l.durable || l.dead != nil) {
		n++
	}
	done = l.waiters[:n:n]
	if l.waiters = l.waiters[n:]; len(l.waiters) == 0 {
		l.waiters = nil
	}
	return done
}

// syncOnce syncs what is written now, without holding mu meanwhile. The older segments go first: that something of a
// segment is durable means that all before it is.
func (b *Backend) syncOnce() {
	l := &b.log
	type part struct {
		seg *segment
		end int64
	}
	var parts []part
	upTo := l.written
	for _, seg := range l.order {
		if seg.end > seg.durable {
			parts = append(parts, part{seg, seg.end})
		}
	}
	b.mu.Unlock()
	began := time.Now()
	var err error
	for i := 0; i < len(parts) && err == nil; i++ {
		if err = parts[i].seg.file.Sync(); err != nil {
			err = fmt.Errorf("syncing %s: %w", parts[i].seg.name, err)
		}
	}
	took := time.Since(began)
	b.mu.Lock()
	l.syncs++
	l.syncTimes.add(took)
	if err != nil {
		b.cfg.Logger.Error("the journal has stopped: a sync failed", "error", err)
		l.die(err)
		return
	}
	for _, p := range parts {
		p.seg.durable = p.end
	}
	l.durable = upTo
}
