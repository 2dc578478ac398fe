package bench

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/sched"
)

// kind is the one kind of the bench's tasks.
const kind = "bench"

// axSubject is ax in this process.
type axSubject struct {
	ctx      context.Context // of the run: where a store is stuck, submits end with it
	s        *sched.Scheduler
	home     home
	id       func(i int) string
	payload  int           // bytes
	timeout  time.Duration // zero: ax's default
	relative bool          // ask for a delay instead of an instant
	stats    sched.Stats   // once stopped
	refusal  atomic.Pointer[error]
	buffers  sync.Pool // of *buffer
}

// newAx starts a scheduler for n tasks that l records. work, if any, follows the first line of the handler.
func newAx(ctx context.Context, at place, l *ledger, n, workers int, work func(i int)) (*axSubject, error) {
	return newBoundedAx(ctx, at, l, n, n, workers, work)
}

// newBoundedAx is newAx with a bound on the tasks that have not ended: at it, a submit waits.
func newBoundedAx(ctx context.Context, at place, l *ledger, n, pending, workers int, work func(i int)) (*axSubject, error) {
	mux := ax.NewMux()
	run := func(_ context.Context, t *ax.Task) error {
		i := indexOf(t)
		l.ran(i)
		if work != nil {
			work(i)
		}
		return nil
	}
	if err := mux.Handle(kind, ax.HandlerFunc(run)); err != nil {
		return nil, err
	}
	h, err := at.open()
	if err != nil {
		return nil, err
	}
	s, err := sched.New(sched.Config{Mux: mux, Workers: workers, MaxPending: pending, WaitForRoom: true,
		Store: h.store, Registry: h.registry})
	if err == nil {
		err = s.Start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	a := &axSubject{ctx: ctx, s: s, home: h, id: idsOf(n), payload: 8}
	l.begin()
	return a, nil
}

// idsOf returns ids out of one string for all, so that a submission allocates only what ax does.
func idsOf(n int) func(i int) string {
	const size = len("task0000042")
	var b strings.Builder
	b.Grow(n * size)
	for i := range n {
		fmt.Fprintf(&b, "task%07d", i)
	}
	all := b.String()
	return func(i int) string { return all[i*size : (i+1)*size] }
}

// indexOf returns a task's place in the ledger: the first bytes of its payload.
func indexOf(t *ax.Task) int { return int(binary.LittleEndian.Uint32(t.Payload)) }

// one fills in the submission of a task; payload has room for the index.
func (a *axSubject) one(l *ledger, i int, now int64, payload []byte) ax.Submission {
	binary.LittleEndian.PutUint32(payload, uint32(i))
	s := ax.Submission{ID: a.id(i), Kind: kind, Payload: payload, Timeout: a.timeout}
	switch due := l.due[i]; {
	case due <= now: // at once
	case a.relative:
		s.In = time.Duration(due - now)
	default:
		s.At = l.base.Add(time.Duration(due))
	}
	return s
}

// answered writes down how long the call took: a relative delay may count from any instant of it, and so may "at once".
func (a *axSubject) answered(l *ledger, from, to int, now int64) {
	took := l.now() - now
	for i := from; i < to; i++ {
		if a.relative || l.due[i] <= now {
			l.slack[i] = took
		}
	}
}

func (a *axSubject) submit(l *ledger, from, to int, now int64) {
	b, _ := a.buffers.Get().(*buffer)
	if b == nil {
		b = new(buffer)
	}
	defer a.buffers.Put(b)
	b.submissions = b.submissions[:0]
	b.payloads = slices.Grow(b.payloads[:0], a.payload*(to-from))[:a.payload*(to-from)]
	for i := from; i < to; i++ {
		b.submissions = append(b.submissions, a.one(l, i, now, b.payloads[a.payload*(i-from):a.payload*(i-from+1)]))
	}
	if to-from == 1 {
		answer, err := a.s.Submit(a.ctx, b.submissions[0])
		a.note(l, from, answer, err)
	} else {
		answers, err := a.s.SubmitMany(a.ctx, b.submissions)
		for i := from; i < to; i++ {
			if err != nil {
				a.note(l, i, ax.Answer{}, err)
			} else {
				a.note(l, i, answers[i-from], nil)
			}
		}
	}
	a.answered(l, from, to, now)
}

// buffer is what a submitter fills again and again: ax copies what it keeps, and the bench's garbage is not ax's.
type buffer struct {
	submissions []ax.Submission
	payloads    []byte
}

// note writes down a task's fate.
func (a *axSubject) note(l *ledger, i int, answer ax.Answer, err error) {
	if err == nil && answer.Code == ax.Made {
		l.fate[i] = acknowledged
		return
	}
	l.fate[i] = refused
	first := cmp.Or(err, answer.Err)
	if first == nil {
		first = fmt.Errorf("answered %v", answer.Code)
	}
	a.refusal.CompareAndSwap(nil, &first)
}

// quantile is ax's own metric, once stopped.
func (a *axSubject) quantile(q float64) time.Duration { return a.stats.Lateness.Quantile(q) }

// settle returns when every acknowledged one of the tasks from up to to has ended, in whatever state, or when none has for
// longer than stall: then the tally shows what is missing. It looks into the ledger first, which costs ax nothing.
func (a *axSubject) settle(ctx context.Context, l *ledger, from, to int) error {
	const look = 500 * time.Millisecond // between two looks at ax's counts while tasks are waiting
	acked, done, next := l.acknowledged(from, to), 0, from
	looked, progress := time.Now(), time.Now()
	for time.Since(progress) < stall {
		next = l.firstWaiting(next, to)
		if next == to || time.Since(looked) > look {
			looked = time.Now()
			got := ended(a.s.Stats())
			if got >= acked {
				return nil
			}
			if got > done {
				done, progress = got, looked
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// stall is how long a load may make no progress before it is given up: longer than any sleep of a handler, and than any
// pause of a machine that is good enough to measure on.
const stall = 20 * time.Second

func (a *axSubject) stop(l *ledger, submitted int) tally {
	bound, cancel := context.WithTimeout(context.Background(), stall) // of its own: what a run that was given up left is told too
	defer cancel()
	receipt, err := a.s.Stop(bound)
	t := tally{submitted: submitted, pending: len(receipt.Returned) + len(receipt.Running) + receipt.Waiting}
	if err != nil {
		t.faults = append(t.faults, fmt.Sprintf("stop: %v", err))
	}
	for _, list := range [][]*ax.Task{receipt.Returned, receipt.Running} {
		for _, task := range list {
			l.back[indexOf(task)] = true
		}
	}
	l.waits(receipt.Waiting)
	for _, f := range l.fate {
		if f == refused {
			t.refused++
		}
	}
	if first := a.refusal.Load(); first != nil {
		t.faults = append(t.faults, fmt.Sprintf("%d submissions were refused, the first with: %v", t.refused, *first))
	}
	a.stats = a.s.Stats()
	t.succeeded = int(a.stats.Succeeded)
	t.failed = int(a.stats.Failed + a.stats.TimedOut + a.stats.Canceled)
	t.outside(l)
	if all := receipt.Done + t.pending; all != t.ledgerAcknowledged {
		t.faults = append(t.faults, fmt.Sprintf("the receipt speaks of %d tasks, %d were acknowledged", all, t.ledgerAcknowledged))
	}
	if err := a.home.close(); err != nil {
		t.faults = append(t.faults, fmt.Sprintf("close the store: %v", err))
	}
	return t
}

func ended(st sched.Stats) int {
	return int(st.Succeeded + st.Failed + st.TimedOut + st.Canceled + st.Held)
}
