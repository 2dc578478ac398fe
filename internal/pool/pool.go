// Package pool runs handlers on a fixed number of goroutines.
//
// Attempts wait in one queue. A worker takes the next one without being woken while there is one; a woken worker wakes
// the next before it runs its handler, so that handing over a thousand attempts costs the caller one wake-up. Workers
// are started when they are first needed, and the one that went idle last is woken first.
//
// Guaranteed: every attempt that was sent is reported exactly once, also if its handler panics or ends its goroutine;
// at most as many handlers run as there are workers. Not guaranteed: that a canceled handler stops. Go cannot stop it;
// its worker stays taken until it returns.
package pool

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/axsched/ax"
)

// Run is one attempt on its way through the pool.
type Run struct {
	ax.Delivery
	Partition ax.Partition
	Until     int64     // the deadline on the clock that Clock.Mono reads
	UntilBoot int64     // the same on the boot-time clock, which counts while the machine is suspended
	Report    ax.Report // complete when done is called

	mu       sync.Mutex
	cancel   context.CancelCauseFunc // guarded by mu; set while the handler runs
	cause    error                   // guarded by mu; set by the first Cancel
	finished bool                    // guarded by mu
}

// Cancel ends the context of the attempt with a cause; an attempt whose handler has not begun is not begun. Only the
// first call counts, and none after the handler has returned.
func (r *Run) Cancel(cause error) {
	r.mu.Lock()
	if r.cause == nil && !r.finished {
		r.cause = cause
		if r.cancel != nil {
			r.cancel(cause)
		}
	}
	r.mu.Unlock()
}

// Clock is what the pool reads: the wall clock for stamps, and elapsed microseconds for how long an attempt takes, which
// a step of the wall clock must not change. Mono stands still while the machine is suspended and is cheap; Boot does not
// and is a system call: it is asked only when the wall clock says that something of the kind may have happened.
type Clock interface {
	Now() time.Time
	Mono() int64
	Boot() int64
}

// Pool is a fixed number of workers. Safe for concurrent use.
type Pool struct {
	handlers map[string]ax.Handler // immutable
	clock    Clock                 // immutable
	done     func(*Run)            // called by the workers

	mu     sync.Mutex
	queue  []*Run          // guarded by mu; from head on
	head   int             // guarded by mu
	idle   []chan struct{} // guarded by mu; one for each worker that sleeps, the latest last
	left   int             // guarded by mu; workers that may still be started
	waking bool            // guarded by mu; a worker was woken or started and has not looked into the queue yet
	closed bool            // guarded by mu
	group  sync.WaitGroup
}

// New returns a pool that has not started any worker. done is called for every run, on the worker's goroutine.
func New(workers int, handlers map[string]ax.Handler, clock Clock, done func(*Run)) *Pool {
	return &Pool{handlers: handlers, clock: clock, done: done, left: workers}
}

// Send hands over attempts, in the order in which they are to begin. It does not wait.
func (p *Pool) Send(runs []*Run) {
	p.mu.Lock()
	p.queue = append(p.queue, runs...)
	p.wake()
	p.mu.Unlock()
}

// Close lets the workers end once the queue is empty. It does not wait; Wait does.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	for _, c := range p.idle {
		c <- struct{}{}
	}
	p.idle = nil
	p.mu.Unlock()
}

// Wait returns when all workers have ended, after Close.
func (p *Pool) Wait() { p.group.Wait() }

// wake gets one more worker going if there is work for it, one at a time: the next is woken by the one that is on its way
// now, if there still is work then. Short handlers are so run by few workers that need no waking. mu must be held.
func (p *Pool) wake() {
	switch n := len(p.idle); {
	case p.waking || p.head == len(p.queue):
	case n > 0:
		p.waking = true
		p.idle[n-1] <- struct{}{} // has room for one, and its worker waits
		p.idle = p.idle[:n-1]
	case p.left > 0:
		p.waking = true
		p.left--
		p.group.Go(p.work)
	}
}

func (p *Pool) work() {
	woken := make(chan struct{}, 1) // room for the one wake-up, so that the waker does not wait
	p.mu.Lock()
	p.waking = false
	for {
		r := p.next(woken)
		if r == nil {
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
		if !p.run(r) { // the handler ended this goroutine: another takes its place
			return
		}
		p.mu.Lock()
	}
}

// next takes the first attempt of the queue, waiting for one; nil once the pool is closed. mu must be held, and is held
// when it returns.
func (p *Pool) next(woken chan struct{}) *Run {
	for p.head == len(p.queue) {
		if p.closed {
			return nil
		}
		p.idle = append(p.idle, woken)
		p.mu.Unlock()
		<-woken
		p.mu.Lock()
		p.waking = false
	}
	r := p.queue[p.head]
	p.queue[p.head] = nil
	if p.head++; p.head == len(p.queue) {
		p.queue, p.head = p.queue[:0], 0
	}
	p.wake()
	return r
}

// run runs one attempt and reports it. It does not return if the handler calls runtime.Goexit.
func (p *Pool) run(r *Run) (alive bool) {
	ctx, cancel := ax.WithDelivery(context.Background(), &r.Delivery)
	r.mu.Lock()
	if r.cause != nil {
		r.finished = true
		r.mu.Unlock()
		p.refuse(r)
		return true
	}
	r.cancel = cancel
	r.mu.Unlock()

	r.Report.Started = ax.At(p.clock.Now())
	begin := p.clock.Mono()
	err := errGoexit
	defer func() {
		if v := recover(); v != nil {
			err, alive = fmt.Errorf("panic: %v\n\n%s", v, debug.Stack()), true
		}
		p.finish(r, begin, err)
		cancel(nil)
		if !alive {
			p.mu.Lock()
			p.left++
			p.wake()
			p.mu.Unlock()
		}
		p.done(r)
	}()
	if h := p.handlers[r.Task.Kind]; h != nil {
		err = h.Handle(ctx, r.Task)
	} else {
		err = ax.ErrNoHandler
	}
	return true
}

var errGoexit = errors.New("the handler ended its goroutine (runtime.Goexit)")

// refuse reports an attempt that was canceled before its handler began: it does not count.
func (p *Pool) refuse(r *Run) {
	r.Report.ID, r.Report.Token = r.Task.ID, r.Token
	r.Report.Outcome, r.Report.Returned, r.Report.Ended = ax.OutcomeInterrupted, true, ax.At(p.clock.Now())
	if r.cause == ax.ErrTimeout {
		r.Report.Outcome, r.Report.Returned, r.Report.Started = ax.OutcomeTimeout, false, r.Report.Ended
	}
	p.done(r)
}

// noticed is by how much wall and monotonic clock must part during an attempt for a suspend to be looked for.
const noticed = 10 * time.Millisecond

// finish completes the report of an attempt that began when Mono read begin.
func (p *Pool) finish(r *Run, begin int64, err error) {
	end := p.clock.Mono()
	r.mu.Lock()
	r.finished = true
	cause := r.cause
	r.mu.Unlock()
	rep := &r.Report
	rep.ID, rep.Token, rep.Ended = r.Task.ID, r.Token, r.Report.Started+ax.Time(max(end-begin, 0))
	var control *ax.Control
	errors.As(err, &control)
	apart := p.clock.Now().Sub(rep.Started.Time()) - time.Duration(end-begin)*time.Microsecond
	suspended := apart > noticed && p.clock.Boot() >= r.UntilBoot
	switch {
	case end >= r.Until, suspended, cause == ax.ErrTimeout:
		rep.Outcome = ax.OutcomeTimeout
	case err == nil:
		rep.Outcome, rep.Result = ax.OutcomeSuccess, r.Result()
		return
	case cause == ax.ErrShutdown && control == nil:
		rep.Outcome, rep.Returned = ax.OutcomeInterrupted, true
	case cause == ax.ErrCanceled:
		rep.Outcome = ax.OutcomeCanceled
	default:
		rep.Outcome = ax.OutcomeFailed
	}
	if err == nil {
		rep.Error = ax.ErrTimeout.Error()
		return
	}
	rep.Error = err.Error()
	if c, ok := err.(*ax.Control); ok && c.Err != nil {
		rep.Error = c.Err.Error() // the handler's words, not ax's
	}
	if control != nil && rep.Outcome == ax.OutcomeFailed {
		rep.Never, rep.After = control.Never, control.After
		if control.Cancel {
			rep.Outcome = ax.OutcomeCanceled
		}
	}
}
