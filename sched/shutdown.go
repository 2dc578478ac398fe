package sched

import (
	"context"
	"slices"
	"time"

	"cmp"

	"github.com/axsched/ax"
)

// Receipt is what a shutdown leaves. Every task that this process created, or found in the store, is in exactly one of the
// four: submitted = Done + len(Returned) + len(Running) + Waiting.
type Receipt struct {
	Done     int        // ended, in whatever terminal state
	Returned []*ax.Task // not ended, HELD ones included; in a durable store they are also there. By due time
	Running  []*ax.Task // their handlers were asked to stop and have not returned
	Waiting  int        // due beyond Config.Horizon: they are in the store, and are not listed, as there may be millions
}

// stopGrace is how long a shutdown waits for handlers once their contexts have ended.
const stopGrace = time.Second

// shutdown is the loop's side of Drain and Stop.
type shutdown struct {
	cut     bool // contexts of running handlers have ended
	abandon bool // do not wait for them any longer
	over    bool // all is written, the loop may end
}

// stops is what the callers of Drain and Stop wait for.
type stops struct {
	finished chan struct{} // closed when the receipt is there
	receipt  Receipt       // immutable once finished is closed
}

func (s *stops) init() { s.finished = make(chan struct{}) }

func (s *stops) finish(r Receipt) {
	s.receipt = r
	close(s.finished)
}

// Drain shuts down gracefully: submissions are refused with ErrClosed, no further attempt starts, and handlers that run
// may finish until ctx ends. Then their contexts end with the cause ErrShutdown; an attempt whose handler stops for it is
// handed back and does not count. Handlers that have not returned a second later are left behind, in Receipt.Running.
// The error is that of ctx if it ended before all handlers had finished. A scheduler that was never started gives an
// empty receipt, and cannot be started any more. Neither may be called from a handler or from OnEvent: it waits for them.
// Calling Drain or Stop again, also at the same time, returns the same receipt.
func (s *Scheduler) Drain(ctx context.Context) (Receipt, error) { return s.stop(ctx, false) }

// Stop shuts down at once: as Drain, but the contexts of running handlers end right away. ctx bounds the wait for them,
// beside the second that Drain grants.
func (s *Scheduler) Stop(ctx context.Context) (Receipt, error) { return s.stop(ctx, true) }

// Receipt returns what the shutdown left; ok is false before it has ended.
func (s *Scheduler) Receipt() (r Receipt, ok bool) {
	select {
	case <-s.stops.finished:
		return s.stops.receipt, true
	default:
		return Receipt{}, false
	}
}

func (s *Scheduler) stop(ctx context.Context, cut bool) (Receipt, error) {
	s.starting.Lock() // Start may be under way
	if !s.started {   // never started: nothing to stop, and nothing may start any more
		s.started = true
		s.stops.finish(Receipt{})
	}
	s.starting.Unlock()
	ask := func(change func(*shutdown)) {
		s.mail.post(func(m *mail) {
			m.calls = append(m.calls, func() {
				if s.shut == nil {
					s.shut = &shutdown{}
				}
				change(s.shut)
			})
		})
	}
	ask(func(d *shutdown) { d.cut = d.cut || cut })
	var err error
	if !cut {
		select {
		case <-s.stops.finished:
			return s.stops.receipt, nil
		case <-ctx.Done():
			err = context.Cause(ctx)
			ask(func(d *shutdown) { d.cut = true })
		}
	}
	grace := make(chan struct{})
	t := s.cfg.Clock.NewTimer(sync1(grace))
	t.Reset(stopGrace)
	defer t.Stop()
	select {
	case <-s.stops.finished:
		return s.stops.receipt, err
	case <-grace:
	case <-orNever(ctx, cut):
		err = context.Cause(ctx)
	}
	ask(func(d *shutdown) { d.abandon = true })
	<-s.stops.finished
	return s.stops.receipt, err
}

func orNever(ctx context.Context, cut bool) <-chan struct{} {
	if cut {
		return ctx.Done()
	}
	return nil
}

// step moves a shutdown on, at the end of a turn.
func (s *Scheduler) step() {
	d := s.shut
	if d == nil {
		return
	}
	if d.cut {
		for _, r := range s.runs {
			r.Cancel(ax.ErrShutdown)
		}
	}
	done := len(s.runs) == 0 && s.filings == 0 || d.abandon
	d.over = done && s.node.Idle(d.abandon) && s.writing == 0 && len(s.waiters) == 0
}

// finish ends the loop: what is left goes into the receipt, and everything that was started is stopped.
func (s *Scheduler) finish() {
	var r Receipt
	running := map[string]bool{}
	for _, run := range s.runs {
		running[run.Task.ID] = true
	}
	s.node.Live(func(t *ax.Task) {
		if t.State == ax.Running && running[t.ID] {
			r.Running = append(r.Running, t)
		} else {
			r.Returned = append(r.Returned, t)
		}
	})
	for _, list := range [][]*ax.Task{r.Returned, r.Running} {
		slices.SortFunc(list, func(a, b *ax.Task) int { return cmp.Or(cmp.Compare(a.Due, b.Due), cmp.Compare(a.Seq, b.Seq)) })
	}
	r.Waiting = s.node.Far()
	r.Done = s.node.Counts.Done()
	rest := s.mail.close()
	for _, call := range rest.calls {
		call()
	}
	s.snapshot()
	for _, req := range rest.requests {
		if req.state.CompareAndSwap(untouched, admitted) {
			for i := range req.entries {
				s.answer(req, i, ax.Answer{Code: ax.Refused, ID: req.entries[i].ID,
					Err: &ax.Error{Op: string(req.entries[i].Verb), ID: req.entries[i].ID, Err: ax.ErrClosed, Reason: "shut down"}})
			}
		}
	}
	for p := range ax.Partition(s.cfg.Partitions) { // of partitions that could not be written any more
		replies, _ := s.node.Drop(p) // their attempts are provably stopped once this process is gone
		for _, reply := range replies {
			if req, ok := reply.Ticket.(*request); ok {
				s.answer(req, reply.Index, reply.Answer)
			}
		}
	}
	s.alarm.Stop()
	s.pool.Close()
	close(s.commits)
	s.archive.close()
	s.events.close()
	s.prunes.close()
	s.lookups.close()
	s.cancel()
	close(s.dying)
	s.group.Wait()
	if len(r.Running) > 0 { // the leases run out by themselves: until then nobody takes these attempts for dead
		for _, t := range r.Running {
			s.cfg.Logger.Error("handler did not stop and was left behind", "id", t.ID, "kind", t.Kind)
		}
	} else {
		s.leases.releaseAll(s.cfg.Registry)
		s.pool.Wait()
	}
	s.stops.finish(r)
}
