package main

import (
	"time"

	"github.com/axsched/ax"
)

// life is one start of the run, as its ledger saw it. Times are in microseconds since 1970.
type life struct {
	began int64 // when its scheduler was up; 0: not yet
	ended int64 // when it was over; while it is not, the last that is known of it
	clean bool  // no attempt was cut short
}

// settleGrace is how long after an answer a killed start may not have written it down yet, so that the task is done again:
// some milliseconds, unless the disk was busy.
const settleGrace = 5 * time.Second

// see notes that the present start was alive at an instant, and returns it. mu must be held.
func (b *book) see(at int64) *life {
	l := &b.lives[len(b.lives)-1]
	l.ended = max(l.ended, at)
	return l
}

// began notes that the scheduler of the present start is up.
func (b *book) began(at int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.see(at).began = at
}

// ended notes the end of the present start.
func (b *book) ended(clean bool, at int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.see(at).clean = clean
}

// next begins another start.
func (b *book) next() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lives = append(b.lives, life{})
}

// cut reports whether the latest request so far was cut off by a kill, as far as ax could know. mu must be held.
func (b *book) cut(e *entry) bool {
	l := &b.lives[e.life]
	if int(e.life) == len(b.lives)-1 || l.clean {
		return false
	}
	return e.answered == 0 || e.answered >= l.ended-settleGrace.Microseconds()
}

// enter adds a task of a run that is continued. n is what is noted of it, nil: nothing.
func (b *book) enter(sub ax.Submission, n *note) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entry(sub.ID)
	if n == nil {
		return // its window is known when it is submitted
	}
	if e.settle(sub, n); e.acked {
		b.before++
	}
}

// settled reports whether it is noted what became of a task, so that it need not be submitted.
func (b *book) settled(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, ok := b.index[id]
	return ok && (b.entries[i].acked || b.entries[i].refused)
}

// doneBefore counts the tasks that the service has answered.
func (b *book) doneBefore() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.entries {
		if b.entries[i].answered != 0 {
			n++
		}
	}
	return n
}

// acknowledgedBefore counts the tasks that ax had taken in before the present start.
func (b *book) acknowledgedBefore() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.before
}
