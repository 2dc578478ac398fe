package main

import (
	"slices"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/sched"
)

// verdict is what the book and the receipt say together.
type verdict struct {
	submitted int // acknowledged by ax
	refused   int // submitted, but not taken
	asked     int // tasks that the service was asked for
	requests  int // more than asked if some were retried
	answered  int // by the present start

	last time.Time // when ax acknowledged the last one

	early, lost, twice finding
	again              finding // not a broken promise: a kill had cut the attempt before off
	strays             int
	late               []time.Duration // sorted
	stopped            []time.Duration // likewise, of tasks that were due while nothing ran
}

// finding is how many tasks are concerned, and the first few of them.
type finding struct {
	n   int
	ids []string
}

// named is how many ids a report names, before "and so many more".
const named = 5

func (f *finding) add(id string) {
	f.n++
	if len(f.ids) < named {
		f.ids = append(f.ids, id)
	}
}

// audit compares each task with what came of it:
//
//	early  asked for before its due time
//	lost   acknowledged by any start, never asked for in any, and not on the receipt as returned, running or waiting
//	twice  asked for again after it was done, or under a token that was not newer
//	again  asked for again after a kill that cut the attempt before off, or came before its answer was written down
func (b *book) audit(receipt sched.Receipt) verdict {
	excused := make(map[string]bool, len(receipt.Returned)+len(receipt.Running))
	for _, list := range [][]*ax.Task{receipt.Returned, receipt.Running} {
		for _, task := range list {
			excused[task.ID] = true
		}
	}
	waiting, now := receipt.Waiting, time.Now().UnixMicro()
	b.mu.Lock()
	defer b.mu.Unlock()
	v := verdict{strays: b.strays, answered: b.done - b.base.done, last: b.last, late: make([]time.Duration, 0, len(b.late))}
	for i := range b.entries {
		e := &b.entries[i]
		v.requests += int(e.requests)
		switch {
		case e.acked:
			v.submitted++
		case e.refused:
			v.refused++
		}
		if !e.acked && e.requests > 0 {
			v.strays++
		}
		switch {
		case e.twice:
			v.twice.add(e.id)
		case e.again:
			v.again.add(e.id)
		}
		switch {
		case e.requests > 0:
			v.asked++
			if e.stopped {
				v.stopped = append(v.stopped, e.late())
			} else {
				v.late = append(v.late, e.late())
			}
			if e.late() < 0 {
				v.early.add(e.id)
			}
		case !e.acked || excused[e.id]:
		case waiting > 0 && e.due() > now:
			waiting-- // one of those that the receipt only counts
		default:
			v.lost.add(e.id)
		}
	}
	slices.Sort(v.late)
	slices.Sort(v.stopped)
	return v
}

// kept reports whether every promise was kept.
func (v *verdict) kept() bool { return v.early.n+v.lost.n+v.twice.n+v.strays == 0 }
