package bench

import (
	"sync/atomic"
	"time"

	"github.com/go-co-op/gocron/v2"
)

// afterFunc is the standard library: a timer per task, a goroutine per firing.
type afterFunc struct {
	timers []*time.Timer // of what is not due at once: an application keeps them, or it could not cancel
}

func newAfterFunc(l *ledger, n int) (subject, error) {
	a := &afterFunc{timers: make([]*time.Timer, n)}
	l.begin()
	return a, nil
}

func (a *afterFunc) submit(l *ledger, from, to int, now int64) {
	for i := from; i < to; i++ {
		l.fate[i] = acknowledged
		run := func() { l.ran(i) }
		if l.due[i] <= now {
			go run()
		} else {
			a.timers[i] = time.AfterFunc(time.Duration(l.due[i]-l.now()), run)
		}
	}
}

func (a *afterFunc) stop(l *ledger, submitted int) tally {
	for i, t := range a.timers {
		if t != nil && t.Stop() {
			l.back[i] = true
		}
	}
	return peerTally(l, submitted)
}

// cron is gocron with one-time jobs.
type cron struct {
	s     gocron.Scheduler
	fault atomic.Pointer[error] // the first thing it refused
}

func newCron(l *ledger, _ int) (subject, error) {
	s, err := gocron.NewScheduler()
	if err != nil {
		return nil, err
	}
	s.Start()
	l.begin()
	return &cron{s: s}, nil
}

func (c *cron) submit(l *ledger, from, to int, _ int64) {
	for i := from; i < to; i++ {
		at := gocron.OneTimeJobStartImmediately()
		if l.due[i] > l.now()+int64(50*time.Microsecond) { // gocron refuses what is past when it looks
			at = gocron.OneTimeJobStartDateTime(l.base.Add(time.Duration(l.due[i])))
		}
		l.fate[i] = acknowledged
		if _, err := c.s.NewJob(gocron.OneTimeJob(at), gocron.NewTask(func() { l.ran(i) })); err != nil {
			l.fate[i] = refused
			c.fault.CompareAndSwap(nil, &err)
		}
	}
}

func (c *cron) stop(l *ledger, submitted int) tally {
	err := c.s.Shutdown()
	for i := range l.back {
		l.back[i] = l.runs[i] == 0 // it keeps no list of what it did not run
	}
	t := peerTally(l, submitted)
	if err != nil {
		t.faults = append(t.faults, err.Error())
	}
	if first := c.fault.Load(); first != nil {
		t.faults = append(t.faults, (*first).Error())
	}
	return t
}

// peerTally is what the ledger can tell of a subject that keeps no counts.
func peerTally(l *ledger, submitted int) tally {
	t := tally{submitted: submitted}
	t.outside(l)
	for _, f := range l.fate {
		if f == refused {
			t.refused++
		}
	}
	t.succeeded = t.ledgerStarted
	t.pending = submitted - t.succeeded - t.refused
	return t
}
