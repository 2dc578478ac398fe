package bench

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// fate is what the submitter was told about a task.
type fate uint8

const (
	unasked fate = iota
	acknowledged
	refused
)

// ledger is the outside record: what was asked for, and what then happened, by task. It knows nothing of the subject.
// Readings are nanoseconds since base, on the monotonic clock, or on the wall clock where tasks are due by that.
//
// A task's due, slack and fate are written by its submitter, start and runs by the handler; back, and all reading, comes
// after both, but for await, which reads runs.
type ledger struct {
	base  time.Time
	wall  bool
	due   []int64  // asked for
	slack []int64  // by how much the subject may lawfully take the due time to be later: the time the call took, for relative delays
	fate  []fate   // what the submit was answered
	back  []bool   // given back, unfinished, by the receipt
	start []int64  // first line of the handler, first run
	runs  []uint32 // how often that line ran; atomic
}

func newLedger(n int, wall bool) *ledger {
	return &ledger{wall: wall, due: make([]int64, n), slack: make([]int64, n), fate: make([]fate, n), back: make([]bool, n),
		start: make([]int64, n), runs: make([]uint32, n)}
}

// begin starts the ledger's clock. The base is a whole microsecond, the unit ax counts in.
func (l *ledger) begin() {
	now := time.Now()
	l.base = now.Add(-time.Duration(now.Nanosecond() % 1000))
}

// now reads the ledger's clock.
func (l *ledger) now() int64 {
	if l.wall {
		return time.Now().UnixNano() - l.base.UnixNano()
	}
	return int64(time.Since(l.base))
}

// ran is the first line of every handler.
func (l *ledger) ran(i int) {
	now := l.now()
	if atomic.LoadUint32(&l.runs[i]) == 0 {
		l.start[i] = now
	}
	atomic.AddUint32(&l.runs[i], 1)
}

// await returns when the first n tasks have started that were not refused, when none has for longer than stall, or with
// the context's error. It looks every millisecond, at what is new only.
func (l *ledger) await(ctx context.Context, n int) error {
	changed := time.Now()
	for next := 0; next < n && time.Since(changed) < stall; {
		if now := l.firstWaiting(next, n); now > next {
			next, changed = now, time.Now()
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// firstWaiting returns the first task from next up to to that has neither started nor been refused, or to.
func (l *ledger) firstWaiting(next, to int) int {
	for next < to && (atomic.LoadUint32(&l.runs[next]) > 0 || l.fate[next] == refused) {
		next++
	}
	return next
}

// acknowledged returns how many of the tasks from up to to were.
func (l *ledger) acknowledged(from, to int) (n int) {
	for _, f := range l.fate[from:to] {
		if f == acknowledged {
			n++
		}
	}
	return n
}

// waits says that so many tasks are in the store that are due much later, of which the receipt gives only the count.
func (l *ledger) waits(n int) {
	for i, now := 0, l.now(); i < len(l.due) && n > 0; i++ {
		if l.fate[i] == acknowledged && l.runs[i] == 0 && !l.back[i] && l.due[i] > now {
			l.back[i] = true
			n--
		}
	}
}

// started returns how many tasks have started by an instant.
func (l *ledger) started(by int64) (n int) {
	for i, runs := range l.runs {
		if runs > 0 && l.start[i] <= by {
			n++
		}
	}
	return n
}

// lateness returns the lateness of every task that started, sorted. least is what it is if the subject may count a relative
// delay from the end of the call.
func (l *ledger) lateness() (late, least []int64) {
	for i, runs := range l.runs {
		if runs > 0 {
			late = append(late, l.start[i]-l.due[i])
			least = append(least, l.start[i]-l.due[i]-l.slack[i])
		}
	}
	slices.Sort(late)
	slices.Sort(least)
	return late, least
}

// tally counts tasks by what became of them. The subject gives the first group, the ledger the second.
type tally struct {
	submitted                                          int // by the submitter's own count
	succeeded, failed, held, skipped, refused, pending int
	lost, duplicates, early, unasked                   int
	ledgerStarted, ledgerAcknowledged, ledgerGivenBack int
	faults                                             []string // what else is wrong
}

// outside fills in what the ledger knows.
func (t *tally) outside(l *ledger) {
	for i, runs := range l.runs {
		acked := l.fate[i] == acknowledged
		if acked {
			t.ledgerAcknowledged++
		}
		if l.back[i] {
			t.ledgerGivenBack++
		}
		switch {
		case runs > 0 && !acked:
			t.unasked++
		case acked && runs == 0 && !l.back[i]:
			t.lost++
		}
		if runs > 0 {
			t.ledgerStarted++
			t.duplicates += int(runs - 1)
			if l.start[i] < l.due[i] {
				t.early++
			}
		}
	}
}

// check returns what is wrong with a round.
func (t *tally) check() (wrong []string) {
	wrong = t.faults
	bad := func(is bool, format string, args ...any) {
		if is {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	sum := t.succeeded + t.failed + t.held + t.skipped + t.refused + t.pending
	bad(t.submitted != sum, "submitted %d, but succeeded %d + failed %d + held %d + skipped %d + refused %d + pending %d = %d",
		t.submitted, t.succeeded, t.failed, t.held, t.skipped, t.refused, t.pending, sum)
	bad(t.early > 0, "%d tasks started early", t.early)
	bad(t.lost > 0, "%d acknowledged tasks never started and were not given back", t.lost)
	bad(t.duplicates > 0, "%d starts too many", t.duplicates)
	bad(t.unasked > 0, "%d tasks started that were not acknowledged", t.unasked)
	bad(t.succeeded > t.ledgerStarted, "%d counted as SUCCESS, but only %d started", t.succeeded, t.ledgerStarted)
	return wrong
}

func (t *tally) add(u tally) {
	t.submitted += u.submitted
	t.succeeded += u.succeeded
	t.failed += u.failed
	t.held += u.held
	t.skipped += u.skipped
	t.refused += u.refused
	t.pending += u.pending
	t.lost += u.lost
	t.duplicates += u.duplicates
	t.early += u.early
	t.unasked += u.unasked
}
