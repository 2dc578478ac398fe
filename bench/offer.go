package bench

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// mostPerCall bounds what one call submits, as a careful application would.
const mostPerCall = 1000

// plan says when each task is offered and when it is due, in nanoseconds since the ledger's base; sorted by send.
type plan struct {
	send, due   []int64
	first, last int64 // due times: the offered window
	at          int   // its first task in the ledger
}

// shift moves a plan that begins at now, with the task at of the ledger.
func (p plan) shift(now int64, at int) plan {
	now = now / 1000 * 1000
	q := plan{send: slices.Clone(p.send), due: slices.Clone(p.due), first: p.first + now, last: p.last + now, at: at}
	for i := range q.send {
		q.send[i] += now
		q.due[i] += now
	}
	return q
}

// newPlan draws n tasks that are due at a fixed rate, each offered up to span before that. Nothing is due in the first
// half second, in which the first span's worth is handed over at once.
func newPlan(n, rate int, span time.Duration) plan {
	const lead = 500 * time.Millisecond
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	type task struct{ send, due int64 }
	tasks := make([]task, n)
	for i := range tasks {
		due := int64(lead) + int64(i)*int64(time.Second)/int64(rate)
		tasks[i] = task{max(due-rng.Int64N(int64(span)), 0), due}
	}
	first, last := tasks[0].due, tasks[n-1].due
	slices.SortFunc(tasks, func(a, b task) int { return int(a.send - b.send) })
	p := plan{send: make([]int64, n), due: make([]int64, n), first: first, last: last}
	for i, t := range tasks {
		p.send[i], p.due[i] = t.send, t.due/1000*1000
	}
	return p
}

// subject is what a load is offered to. It is made empty and started; one goroutine offers, unless a scenario says
// otherwise.
type subject interface {
	// submit hands over tasks from up to to. Their due times stand in the ledger; one that is not after now, which is the
	// instant of the call, means at once. Their fates are in the ledger when it returns.
	submit(l *ledger, from, to int, now int64)

	// stop ends the subject and says what became of the tasks, of which submitted were offered.
	stop(l *ledger, submitted int) tally
}

// offer hands over a plan in open loop, a batch about every millisecond.
func offer(ctx context.Context, s subject, l *ledger, p plan) error {
	for i := 0; i < len(p.send); {
		now := l.now()
		j := i
		for j < len(p.send) && p.send[j] <= now && j-i < mostPerCall {
			j++
		}
		if i == j {
			time.Sleep(max(time.Millisecond, time.Duration(p.send[i]-now)))
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			continue
		}
		for k := i; k < j; k++ {
			l.due[p.at+k] = max(p.due[k], now) // nobody can ask for the past
		}
		s.submit(l, p.at+i, p.at+j, now)
		i = j
	}
	return nil
}

// flood hands over n tasks that are due at once, in calls of batch, from several goroutines, as fast as they are taken.
func flood(s subject, l *ledger, n, batch, submitters int) {
	var all sync.WaitGroup
	for g := range submitters {
		all.Go(func() {
			for from, end := n*g/submitters, n*(g+1)/submitters; from < end; from += batch {
				to, now := min(from+batch, end), l.now()
				for k := from; k < to; k++ {
					l.due[k] = now
				}
				s.submit(l, from, to, now)
			}
		})
	}
	all.Wait()
}
