package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/sched"
)

// The kinds of the drill's tasks, and how many attempts one that kills its process has.
const (
	effectKind     = "effect"
	poisonKind     = "poison"
	poisonAttempts = 3
)

// worker is one process of the drill: it submits, runs handlers, and tells its parent, until it is killed.
type worker struct {
	with    drillWith
	out     io.Writer // one write per line, so that a kill leaves whole lines
	s       *sched.Scheduler
	effects *effects
}

// drillPart runs a worker. Its input ends when its parent does.
func drillPart(ctx context.Context, js []byte, in *bufio.Scanner, out io.Writer) error {
	w := &worker{out: out}
	if err := json.Unmarshal(js, &w.with); err != nil {
		return err
	}
	h, err := openJournal(w.with.Dir)
	if err != nil {
		return err
	}
	if w.effects, err = openEffects(w.with.Effects, w.with.Bare); err != nil {
		return err
	}
	mux := ax.NewMux()
	mux.Handle(effectKind, ax.HandlerFunc(w.effect))
	mux.Handle(poisonKind, ax.HandlerFunc(w.poison))
	w.s, err = sched.New(sched.Config{Mux: mux, Workers: w.with.Workers, Store: h.store, Registry: h.registry, OnEvent: w.event})
	if err != nil {
		return err
	}
	if err := w.s.Start(ctx); err != nil {
		return err
	}
	if w.with.Drain > 0 {
		err = w.drain(ctx)
	} else if err = w.submitAll(ctx); err == nil {
		in.Scan() // until the kill
	}
	_, stopped := w.s.Stop(ctx)
	err = errors.Join(err, stopped, w.effects.close(), h.close())
	if err == nil && w.with.Drain > 0 {
		w.tell("drained")
	}
	return err
}

func (w *worker) tell(format string, args ...any) { fmt.Fprintf(w.out, format+"\n", args...) }

// submitAll submits this round's tasks from a few goroutines, one by one and in batches, and those of the last round again that
// nobody knows the answer of.
func (w *worker) submitAll(ctx context.Context) error {
	const submitters = 3
	errs := make([]error, submitters)
	var all sync.WaitGroup
	for g := range submitters {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(w.with.Seed, uint64(g)))
			var subs []ax.Submission
			for i := g; i < len(w.with.Again) && errs[g] == nil; i += submitters {
				errs[g] = w.submit(ctx, []ax.Submission{submission(w.with.Again[i].ID, time.UnixMicro(w.with.Again[i].Due))})
			}
			for i := g; i < w.with.Tasks && errs[g] == nil; i += submitters {
				id := fmt.Sprintf("task-%04d-%04d", w.with.Round, i)
				if i < w.with.Poison {
					id = fmt.Sprintf("%s%04d-%04d", poisonID, w.with.Round, i)
				}
				due := time.Now()
				if rng.IntN(2) == 0 {
					due = due.Add(time.Duration(rng.Int64N(int64(200 * time.Millisecond))))
				}
				if subs = append(subs, submission(id, due)); rng.IntN(3) == 0 || i+submitters >= w.with.Tasks {
					errs[g] = w.submit(ctx, subs)
					subs = subs[:0]
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// submission follows from the id alone, but for its due time, so that it can be made again. Only a task that kills its process
// has few attempts: the others must outlive all kills.
func submission(id string, due time.Time) ax.Submission {
	due = due.Truncate(time.Microsecond)
	s := ax.Submission{ID: id, Kind: effectKind, At: due, Payload: []byte(id), MaxRetries: ax.MaxRetries,
		Backoff: ax.Backoff{Base: time.Millisecond, Cap: 20 * time.Millisecond, Jitter: 5 * time.Millisecond}}
	if isPoison(id) {
		s.Kind, s.MaxRetries = poisonKind, poisonAttempts-1
	}
	return s
}

func (w *worker) submit(ctx context.Context, subs []ax.Submission) error {
	for _, s := range subs {
		w.tell("submit %s %d", s.ID, micros(s.At))
	}
	answers, err := w.s.SubmitMany(ctx, subs)
	if err != nil {
		return err
	}
	for i, a := range answers {
		if a.Code != ax.Made && a.Code != ax.Known {
			return fmt.Errorf("submit %s: answered %v: %w", subs[i].ID, a.Code, a.Err)
		}
		w.tell("ack %s", subs[i].ID)
	}
	return nil
}

// effect is a handler that does something outside, once. It dawdles before and after, so that kills come everywhere, and one
// task in ten fails its first attempt after the effect.
func (w *worker) effect(ctx context.Context, t *ax.Task) error {
	w.start(ctx, t)
	dawdle()
	if err := w.effects.happen(ctx, t); err != nil {
		return err
	}
	dawdle()
	h := fnv.New32a()
	h.Write(t.Payload)
	if h.Sum32()%10 == 0 && ax.DeliveryFrom(ctx).Attempt == 1 {
		return errors.New("failed after its effect")
	}
	return nil
}

// poison is a handler that takes its process with it.
func (w *worker) poison(ctx context.Context, t *ax.Task) error {
	w.start(ctx, t)
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// start is the first line of every handler.
func (w *worker) start(ctx context.Context, t *ax.Task) {
	now := micros(time.Now())
	w.tell("start %s %s %d", t.ID, ax.TokenFrom(ctx), now)
}

// dawdle takes up to some milliseconds, often none.
func dawdle() { time.Sleep(time.Duration(max(rand.Int64N(10)-4, 0)) * time.Millisecond) }

func (w *worker) event(e sched.Event) {
	switch {
	case e.Overrun:
	case e.Task.State == ax.Held:
		w.tell("held %s", e.Task.ID)
	default:
		w.tell("ended %s %v", e.Task.ID, e.Task.State)
	}
}

// drain waits until nothing is pending, or nothing has ended for long, and tells what there is.
func (w *worker) drain(ctx context.Context) error {
	last, changed := -1, time.Now()
	for time.Since(changed) < w.with.Drain {
		now := w.s.Stats().Pending
		if now == 0 {
			break
		}
		if now != last {
			last, changed = now, time.Now()
		}
		time.Sleep(5 * time.Millisecond)
	}
	for after := ""; ; {
		page, err := w.s.List(ctx, sched.ListRequest{After: after, Limit: 1000})
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		for _, t := range page {
			w.tell("found %s %v", t.ID, t.State)
		}
		after = page[len(page)-1].ID
	}
	for q := (ax.Query{Limit: 1000}); ; {
		page, err := w.s.History(ctx, q)
		if err != nil {
			return err
		}
		for _, t := range page.Tasks {
			w.tell("found %s %v", t.ID, t.State)
		}
		if q.Page = page.Next; q.Page == "" {
			return nil
		}
	}
}
