package main

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/axsched/ax"
)

// workload is the tasks to submit.
type workload struct {
	name  string // for the title
	total int
	tasks iter.Seq[ax.Submission]

	source string // the tasks file, and what stood in it
	input  []byte
}

// attemptTimeout bounds one attempt: the slowest call takes 0.8 s, and what takes ten times as long is lost.
const attemptTimeout = 8 * time.Second

// drawn is the workload of the article: n tasks, delays from 0 to spread, of ten tasks two close an order, three
// activate a coupon and five push a message. The same seed draws the same tasks.
func drawn(n int, spread time.Duration, seed uint64) workload {
	tasks := func(yield func(ax.Submission) bool) {
		rng := rand.New(rand.NewPCG(seed, 0))
		for i := range n {
			sub := draw(i)
			if spread > 0 {
				sub.In = time.Duration(rng.Int64N(int64(spread)))
			}
			sub.Timeout = attemptTimeout
			if !yield(sub) {
				return
			}
		}
	}
	return workload{name: "due within " + spread.String(), total: n, tasks: tasks}
}

// draw returns the i-th task, without a delay.
func draw(i int) ax.Submission {
	n := strconv.Itoa(i)
	switch i % 10 {
	case 0, 1:
		return ax.Submission{ID: "order-" + n, Kind: kindClose, Priority: ax.P(10),
			Args: CloseOrder{Order: n, Reason: "unpaid"}}
	case 2, 3, 4:
		return ax.Submission{ID: "coupon-" + n, Kind: kindActivate,
			Args: ActivateCoupon{Coupon: n, Customer: "c" + n}}
	}
	return ax.Submission{ID: "message-" + n, Kind: kindPush, Priority: ax.P(80),
		Args: PushMessage{Customer: "c" + n, Text: "the sale starts now"}}
}

// listed is a workload of tasks that were read.
func listed(f *tasksFile) workload {
	return workload{name: "from " + f.name, total: len(f.tasks), tasks: slices.Values(f.tasks), source: f.name, input: f.input.Bytes()}
}

// prefixed puts a prefix before each id, so that no run uses the ids of another. Only ids that were read may be too long
// for it.
func (w workload) prefixed(prefix string) (workload, error) {
	plain := w.tasks
	w.tasks = func(yield func(ax.Submission) bool) {
		for sub := range plain {
			sub.ID = prefix + sub.ID
			if !yield(sub) {
				return
			}
		}
	}
	if w.input == nil {
		return w, nil
	}
	for sub := range w.tasks {
		if _, err := sub.Task(time.Now(), 0); err != nil {
			return w, usageError{fmt.Errorf("%w: %s is the number of the run; make the id shorter, or use -memory", err, prefix)}
		}
	}
	return w, nil
}
