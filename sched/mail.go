package sched

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/engine"
	"github.com/axsched/ax/internal/pool"
)

// mailbox is how everybody reaches the loop: what comes in piles up here, and the loop takes all of it at once.
type mailbox struct {
	mu     sync.Mutex
	mail   mail
	closed bool
	wake   chan struct{} // holds one wake-up: several coalesce
}

// mail is what has come in since the loop looked last.
type mail struct {
	requests  []*request
	ended     []*pool.Run
	committed []committed
	filed     []engine.Filing
	inbox     []inboxPage
	calls     []func()
}

type committed struct {
	outs []*engine.Output
	errs []error
}

type inboxPage struct {
	p       ax.Partition
	entries []ax.Entry
	quiet   chan struct{} // set on the last page of a walk: closed once all that was admitted is committed
}

// reader waits to walk over the inbox of a partition again. It may not while admitted entries are on their way out of it,
// or it would find them a second time.
type reader struct {
	p     ax.Partition
	quiet chan struct{}
}

// post adds mail and wakes the loop; false if the loop has ended.
func (m *mailbox) post(add func(*mail)) bool {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return false
	}
	add(&m.mail)
	m.mu.Unlock()
	m.poke()
	return true
}

func (m *mailbox) poke() {
	select {
	case m.wake <- struct{}{}:
	default: // coalesces: a wake-up is pending
	}
}

// take exchanges the mail for an empty one, whose slices are reused.
func (m *mailbox) take(empty mail) mail {
	m.mu.Lock()
	full := m.mail
	m.mail = empty
	m.mu.Unlock()
	return full
}

// close refuses mail from now on and returns the rest.
func (m *mailbox) close() mail {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return m.mail
}

func (m *mail) reset() mail {
	clear(m.requests)
	clear(m.ended)
	clear(m.committed)
	clear(m.filed)
	clear(m.inbox)
	clear(m.calls)
	return mail{m.requests[:0], m.ended[:0], m.committed[:0], m.filed[:0], m.inbox[:0], m.calls[:0]}
}

// request is what one caller waits for: one answer for each of its entries.
type request struct {
	entries []ax.Entry
	answers []ax.Answer
	left    int           // loop only: answers still missing
	state   atomic.Int32  // untouched, admitted or withdrawn
	done    chan struct{} // receives once, when left is 0
	one     [1]ax.Entry   // backs entries of a single request
	oneA    [1]ax.Answer
}

const (
	untouched int32 = iota // nothing of it has had an effect
	admitted
	withdrawn // its caller has gone
)

// ask posts entries and waits for the answers. The error is ErrClosed, the context's error if nothing was done, or both
// the context's error and ErrUnknown if it may have been.
func (s *Scheduler) ask(ctx context.Context, r *request) error {
	r.left = len(r.entries)
	r.state.Store(untouched)
	if err := ctx.Err(); err != nil {
		return err
	}
	if !s.mail.post(func(m *mail) { m.requests = append(m.requests, r) }) {
		return &ax.Error{Op: string(r.entries[0].Verb), Err: ax.ErrClosed, Reason: "not started, or shut down"}
	}
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
	}
	if r.state.CompareAndSwap(untouched, withdrawn) {
		return context.Cause(ctx)
	}
	select {
	case <-r.done: // answered at the last moment
		return nil
	default:
		return &ax.Error{Op: string(r.entries[0].Verb), Err: errUnknown{context.Cause(ctx)}, Reason: "the same call again is safe"}
	}
}

// errUnknown is an error after which the outcome is unknown: a context's, or that of a store that has stopped.
type errUnknown struct{ cause error }

func (e errUnknown) Error() string   { return ax.ErrUnknown.Error() + ": " + e.cause.Error() }
func (e errUnknown) Unwrap() []error { return []error{ax.ErrUnknown, e.cause} }

// request returns a request with one entry from the pool.
func (s *Scheduler) request(e ax.Entry) *request {
	r := s.requests.Get().(*request)
	r.one[0] = e
	r.entries, r.answers = r.one[:], r.oneA[:]
	return r
}

// release gives a request back whose answer was received and copied.
func (s *Scheduler) release(r *request) {
	r.one[0], r.oneA[0] = ax.Entry{}, ax.Answer{}
	s.requests.Put(r)
}
