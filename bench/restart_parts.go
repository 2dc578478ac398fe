package bench

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/sched"
)

// fillPart fills a journal, tells so, and closes it when its input ends. It has no handlers, so what is due stays.
func fillPart(ctx context.Context, js []byte, in *bufio.Scanner, out io.Writer) error {
	var with restartWith
	if err := json.Unmarshal(js, &with); err != nil {
		return err
	}
	debug.SetGCPercent(with.GOGC)
	h, err := openJournal(with.Dir)
	if err != nil {
		return err
	}
	s, err := sched.New(sched.Config{Mux: ax.NewMux(), Workers: 1, Store: h.store, Registry: h.registry, MaxPending: with.all()})
	if err != nil {
		return err
	}
	if err := s.Start(ctx); err != nil {
		return err
	}
	before, start := settledMemory(), time.Now()
	if err := with.submit(ctx, s); err != nil {
		return err
	}
	told := restartFilled{PerSecond: float64(with.Far) / time.Since(start).Seconds()}
	told.Held = settledMemory().held - before.held
	if err := with.submitNear(ctx, s); err != nil { // only now, so that none of them is due before the other process is there
		return err
	}
	if err := json.NewEncoder(out).Encode(told); err != nil {
		return err
	}
	in.Scan()
	_, err = s.Stop(ctx)
	return errors.Join(err, h.close())
}

// all is more than all tasks, as a bound for a scheduler that must take them.
func (with restartWith) all() int { return with.Far + with.Due + with.Soon + 1000 }

// submit submits the tasks far off: from an hour on, over a day; every other one by a delay instead of an instant.
func (with restartWith) submit(ctx context.Context, s *sched.Scheduler) error {
	subs := make([]ax.Submission, 0, mostPerCall)
	for i := range with.Far {
		after := farOff(i, with.Far)
		due := time.Now().Add(after)
		sub := ax.Submission{ID: fmt.Sprintf("order-close-%08d", i), Kind: kind, Timeout: 42 * time.Second, At: due,
			Payload: payload(64, with.Due+with.Soon+i, due)}
		if i%2 == 1 {
			sub.At, sub.In = time.Time{}, after
		}
		if subs = append(subs, sub); len(subs) == cap(subs) || i == with.Far-1 {
			if err := submitAll(ctx, s, subs); err != nil {
				return err
			}
			subs = subs[:0]
		}
	}
	return nil
}

// farOff says after what time a task is due. The step comes first: a day times the number of a task is more than a Duration holds.
func farOff(i, far int) time.Duration {
	return time.Hour + time.Duration(i)*(24*time.Hour/time.Duration(far))
}

// submitNear submits the tasks that are due at once, and soon.
func (with restartWith) submitNear(ctx context.Context, s *sched.Scheduler) error {
	var subs []ax.Submission
	now := time.Now()
	for i := range with.Due + with.Soon {
		due := now
		if i >= with.Due {
			due = now.Add(with.After + restartOver*time.Duration(i-with.Due)/time.Duration(with.Soon))
		}
		subs = append(subs, ax.Submission{ID: fmt.Sprintf("near-%08d", i), Kind: kind, At: due, Payload: payload(16, i, due)})
	}
	return submitAll(ctx, s, subs)
}

// payload holds a task's place in the ledger, and when it is due.
func payload(size, i int, due time.Time) []byte {
	b := make([]byte, size)
	binary.LittleEndian.PutUint32(b, uint32(i))
	binary.LittleEndian.PutUint64(b[4:], uint64(micros(due)))
	return b
}

func dueOf(t *ax.Task) int64 { return int64(binary.LittleEndian.Uint64(t.Payload[4:])) }

// submitAll submits tasks that must all be new.
func submitAll(ctx context.Context, s *sched.Scheduler, subs []ax.Submission) error {
	answers, err := s.SubmitMany(ctx, subs)
	if err != nil {
		return err
	}
	for i, a := range answers {
		if a.Code != ax.Made {
			return fmt.Errorf("submit %s: answered %v: %w", subs[i].ID, a.Code, a.Err)
		}
	}
	return nil
}

// openPart opens a journal that another process has filled, runs what is due and what becomes due soon, and tells how that went.
func openPart(ctx context.Context, js []byte, _ *bufio.Scanner, out io.Writer) error {
	var with restartWith
	if err := json.Unmarshal(js, &with); err != nil {
		return err
	}
	debug.SetGCPercent(with.GOGC)
	seen := newOpener(with)
	mux := ax.NewMux()
	mux.Handle(kind, ax.HandlerFunc(seen.handle))
	seen.begin = time.Now()
	h, err := openJournal(with.Dir)
	if err != nil {
		return err
	}
	told := restartOpened{Open: time.Since(seen.begin)}
	s, err := sched.New(sched.Config{Mux: mux, Workers: 100, Store: h.store, Registry: h.registry, MaxPending: with.all()})
	if err != nil {
		return err
	}
	if err := s.Start(ctx); err != nil {
		return err
	}
	told.Start = time.Since(seen.begin)
	seen.await(with.WaitMost, func() bool { return seen.allRan() && s.Stats().Pending >= with.Far })
	told.Held, told.Pending = settledMemory().held, s.Stats().Pending
	_, err = s.Stop(ctx)
	if err := errors.Join(err, h.close()); err != nil {
		return err
	}
	seen.tell(&told)
	return json.NewEncoder(out).Encode(told)
}

// opener is the ledger of the process that opens.
type opener struct {
	begin time.Time
	near  int
	due   []int64  // wall clock, in microseconds, as submitted; of the near tasks
	at    []int64  // likewise: first line of the handler
	runs  []uint32 // atomic
	first atomic.Int64
	far   atomic.Int64 // tasks that ran and are far off
}

func newOpener(with restartWith) *opener {
	n := with.Due + with.Soon
	return &opener{near: n, due: make([]int64, n), at: make([]int64, n), runs: make([]uint32, n)}
}

func (o *opener) handle(_ context.Context, t *ax.Task) error {
	now := time.Now()
	o.first.CompareAndSwap(0, int64(now.Sub(o.begin)))
	i := indexOf(t)
	if i >= o.near {
		o.far.Add(1)
		return nil
	}
	if atomic.AddUint32(&o.runs[i], 1) == 1 {
		o.due[i], o.at[i] = dueOf(t), micros(now)
	}
	return nil
}

func (o *opener) allRan() bool {
	for i := range o.runs {
		if atomic.LoadUint32(&o.runs[i]) == 0 {
			return false
		}
	}
	return true
}

// await looks every ten milliseconds whether something is so, for at most as long.
func (o *opener) await(most time.Duration, so func() bool) {
	for start := time.Now(); !so() && time.Since(start) < most; {
		time.Sleep(10 * time.Millisecond)
	}
}

// tell fills in what the ledger has. The scheduler must have stopped.
func (o *opener) tell(told *restartOpened) {
	told.First, told.Far = time.Duration(o.first.Load()), int(o.far.Load())
	started := micros(o.begin.Add(told.Start))
	for i, runs := range o.runs {
		if runs == 0 {
			continue
		}
		told.Ran++
		told.Again += int(runs - 1)
		if o.at[i] < o.due[i] {
			told.Early++
		}
		if o.due[i] > started {
			told.Late = append(told.Late, (o.at[i]-o.due[i])*1000)
		}
	}
	slices.Sort(told.Late)
}
