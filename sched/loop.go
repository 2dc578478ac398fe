package sched

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/clock"
	"github.com/axsched/ax/internal/engine"
	"github.com/axsched/ax/internal/pool"
)

// recheck is the longest the loop sleeps while something waits: the wall clock may be stepped, and Go's timers stop
// while the machine is suspended.
const recheck = time.Minute

// pruneAfter is how many id records the store may have that the engine has forgotten, before it is told to forget them
// too: enough for one call to be worth it.
const pruneAfter = 10_000

// loop owns the node. Each turn takes in all that has come, tells the time, hands out capacity, and has the changes
// written; what depends on a write happens in the turn that hears of it. It never runs a handler and never waits for I/O.
func (s *Scheduler) loop() {
	var spare mail
	var pace pace
	for {
		<-s.mail.wake
		if pace.hurried(s.now.Boot) {
			runtime.Gosched() // let more come in: a turn for each task would cost more than the tasks
		}
		m := s.mail.take(spare)
		s.turn(&m)
		spare = m.reset()
		if s.shut != nil && s.shut.over {
			s.finish()
			return
		}
	}
}

// pace tells whether turns follow each other so fast that each has little to do.
type pace struct {
	since int64 // start of the present millisecond, boot time in microseconds
	turns int   // since then
}

// busyTurns is how many turns within a millisecond are too many: a turn has a fixed cost of a few microseconds.
const busyTurns = 50

func (p *pace) hurried(now int64) bool {
	if now-p.since > 1000 {
		p.since, p.turns = now, 0
	}
	p.turns++
	return p.turns > busyTurns
}

// turn is one round: read it as the life of a task.
func (s *Scheduler) turn(m *mail) {
	s.turnClock()
	s.node.Advance(s.now) // 3 wheel, 4 ready: first, so that all below happens now
	for _, call := range m.calls {
		call()
	}
	s.hear(m.committed) // 2 commit: what was written is safe, and what waited for it may happen
	if s.pipe != nil {
		s.hear(s.pipe.take())
	}
	for _, r := range m.ended { // 7 report, 8 settle
		s.report(r)
	}
	for i := range m.filed { // 9 terminal
		s.filings -= m.filed[i].Parts
		s.node.Archived(m.filed[i])
	}
	if s.roomer != nil {
		s.noRoom = s.roomer.Room()
	}
	for _, r := range m.requests { // 1 submit
		s.admit(r)
	}
	for i := range m.inbox {
		for j := range m.inbox[i].entries {
			if e := &m.inbox[i].entries[j]; s.noRoom == nil || !creates(e) { // else it stays there, and is found again
				s.node.Admit(m.inbox[i].p, e, nil, 0, true)
			}
		}
		if m.inbox[i].quiet != nil {
			s.readers = append(s.readers, reader{m.inbox[i].p, m.inbox[i].quiet})
		}
	}
	s.readers = slices.DeleteFunc(s.readers, func(r reader) bool {
		quiet := s.node.InboxQuiet(r.p)
		if quiet {
			close(r.quiet)
		}
		return quiet
	})
	s.makeRoom()
	s.node.Pause(s.shut != nil || !s.leases.trusted(s.now.Boot))
	s.node.Claim() // 5 dispatch
	s.interrupt()
	s.commit()
	s.look()
	s.step()
	s.setAlarm()
}

// turnClock reads the clocks for this turn.
func (s *Scheduler) turnClock() {
	var changes []clock.Change
	s.now, changes = s.watch.read()
	for _, c := range changes {
		by := time.Duration(c.By) * time.Microsecond
		if c.Kind == clock.Step {
			s.stats.ClockSteps++
			s.cfg.Logger.Warn("wall clock was stepped", "by", by)
		} else {
			s.stats.Suspends++
			s.cfg.Logger.Warn("machine was suspended", "for", by)
		}
	}
}

// admit hands a caller's entries to the partitions they belong to.
func (s *Scheduler) admit(r *request) {
	if !r.state.CompareAndSwap(untouched, admitted) {
		return
	}
	for i := range r.entries {
		s.admitOne(r, i)
	}
}

func (s *Scheduler) admitOne(r *request, i int) {
	e := &r.entries[i]
	switch id := e.ID; {
	case s.shut != nil && creates(e):
		s.answer(r, i, ax.Answer{Code: ax.Refused, ID: id, Err: &ax.Error{Op: string(e.Verb), ID: id, Err: ax.ErrClosed, Reason: "shutting down"}})
	case s.noRoom != nil && creates(e): // to wait for the end of tasks makes no room on a disk
		s.answer(r, i, ax.Answer{Code: ax.Refused, ID: cmp.Or(id, e.Target), Err: &ax.Error{Op: string(e.Verb), ID: cmp.Or(id, e.Target), Err: ax.ErrNoSpace, Reason: reason(s.noRoom)}})
	case s.cfg.WaitForRoom && e.Verb == ax.VerbSubmit && len(s.waiters) > 0:
		s.wait(r, i) // behind those that wait already
	default:
		key := e.Target
		if key == "" {
			key = id
		}
		if !s.node.Admit(s.partition(key), e, r, i, false) {
			s.answer(r, i, ax.Answer{Code: ax.Refused, ID: key, Err: s.notOurs(e.Verb, key)})
		}
	}
}

// creates reports whether a request makes a task.
func creates(e *ax.Entry) bool { return e.Verb == ax.VerbSubmit || e.Verb == ax.VerbRerun }

// reason returns what an error of ax says beside its kind, or all that another one says.
func reason(err error) string {
	var e *ax.Error
	if errors.As(err, &e) && e.Reason != "" {
		return e.Reason
	}
	return err.Error()
}

// notOurs says why a request finds no owner here.
func (s *Scheduler) notOurs(verb ax.Verb, id string) error {
	if err := s.gone[s.partition(id)]; errors.Is(err, ax.ErrClosed) {
		return &ax.Error{Op: string(verb), ID: id, Err: err, Reason: "the store has stopped: open it anew, with a new scheduler"}
	}
	return &ax.Error{Op: string(verb), ID: id, Err: ax.ErrFenced, Reason: "this process does not own the partition now"}
}

func (s *Scheduler) partition(id string) ax.Partition {
	if s.cfg.Partitions == 1 {
		return 0
	}
	return ax.PartitionOf(ax.KeyOf(id), s.cfg.Partitions)
}

// answer gives a caller one answer, and lets it go with the last.
func (s *Scheduler) answer(r *request, i int, a ax.Answer) {
	switch a.Code {
	case ax.Refused, ax.Conflict, ax.Expired:
		s.stats.Refused++
	case ax.Known:
		s.stats.Known++
	}
	r.answers[i] = a
	if r.left--; r.left == 0 {
		r.done <- struct{}{} // has room for the one
	}
}

// wait puts a submission into the line for room. Until it is admitted its caller may still withdraw, if it is alone.
func (s *Scheduler) wait(r *request, i int) {
	s.waiters = append(s.waiters, waiter{r, i})
	if len(r.entries) == 1 {
		r.state.Store(untouched)
	}
}

// makeRoom admits waiting submissions as tasks end.
func (s *Scheduler) makeRoom() {
	room := s.cfg.MaxPending - s.node.Counts.Pending()
	n := 0
	for n < len(s.waiters) && (room > 0 || s.shut != nil || s.noRoom != nil) {
		w := s.waiters[n]
		n++
		if len(w.r.entries) == 1 && !w.r.state.CompareAndSwap(untouched, admitted) {
			continue // withdrawn
		}
		room--
		rest := s.waiters
		s.waiters = nil // admitOne must not send it back to the line
		s.admitOne(w.r, w.i)
		s.waiters = append(rest, s.waiters...)
	}
	clear(s.waiters[:n])
	s.waiters = s.waiters[n:]
}

// effects does what was waiting for a write: answer, send, archive, tell.
func (s *Scheduler) effects(o *engine.Output) {
	for i := range o.Replies {
		p := &o.Replies[i]
		r, ok := p.Ticket.(*request)
		if !ok {
			continue
		}
		if s.cfg.WaitForRoom && isFull(&p.Answer) && s.shut == nil {
			s.wait(r, p.Index)
			continue
		}
		s.answer(r, p.Index, p.Answer)
	}
	if len(o.Sends) > 0 {
		s.send(o.Sends)
	}
	f := engine.Filing{Partition: o.Batch.Partition, Ended: o.Ended, Facts: o.Batch.Facts, Parts: 1}
	if s.finishes {
		f.Ended = nil
	}
	if len(f.Ended)+len(f.Facts) > 0 {
		s.filings++
		s.archive.put(f)
	}
	if s.cfg.OnEvent != nil {
		for _, t := range o.Ended[o.Known:] {
			s.tell(Event{Task: t})
		}
		for _, t := range o.Held {
			s.tell(Event{Task: t})
		}
	}
	s.node.Recycle(o)
}

func isFull(a *ax.Answer) bool {
	e, ok := a.Err.(*ax.Error)
	return ok && e.Err == ax.ErrFull && e.Op == "submit"
}

// send hands claimed attempts to the workers.
func (s *Scheduler) send(claimed []*ax.Task) {
	s.sending = s.sending[:0]
	mono := s.cfg.Clock.Mono()
	for _, t := range claimed {
		timeout := t.Timeout.Duration() // counts from now, however long the claim took to be written
		r := &pool.Run{Partition: s.partition(t.ID), Until: mono + timeout.Microseconds(), UntilBoot: s.now.Boot + timeout.Microseconds(), Delivery: ax.Delivery{
			Task: t, Token: t.Last.Token, Attempt: t.Attempt, Deadline: ax.Time(s.now.Wall).Add(timeout), Logger: s.cfg.Logger}}
		s.runs[r.Token.Claim] = r
		s.sending = append(s.sending, r)
		if s.shut != nil && s.shut.cut {
			r.Cancel(ax.ErrShutdown)
		}
	}
	s.pool.Send(s.sending)
	clear(s.sending)
}

// report takes back a worker with what became of its attempt.
func (s *Scheduler) report(r *pool.Run) {
	delete(s.runs, r.Token.Claim)
	if r.Report.Started != 0 && r.Attempt == 1 {
		s.stats.Lateness.Add(max(r.Report.Started.Sub(max(r.Task.Due, r.Task.Created)), 0))
	}
	if !s.node.Report(r.Partition, r.Task.Kind, &r.Report) {
		s.forward(r.Partition, &r.Report)
	}
}

// interrupt ends the contexts that are to end: of attempts that timed out or are to be canceled.
func (s *Scheduler) interrupt() {
	for _, c := range s.node.TakeCancels() {
		if r := s.runs[c.Token.Claim]; r != nil {
			r.Cancel(c.Cause)
		}
	}
	for _, t := range s.node.TakeOverran() {
		s.cfg.Logger.Warn("attempt passed its timeout", "id", t.ID, "kind", t.Kind, "run", t.Run, "attempt", t.Attempt)
		s.tell(Event{Task: t, Overrun: true})
	}
}

// pruner lets the store forget the ids that the engines have forgotten.
func (s *Scheduler) pruner() {
	for {
		lists, ok := s.prunes.take()
		for _, list := range lists {
			for _, f := range list {
				if _, err := s.cfg.Store.Prune(context.Background(), f.Partition, f.Token, f.Now, f.Keep); err != nil {
					s.cfg.Logger.Warn("could not prune id records", "partition", f.Partition, "error", err)
				}
			}
		}
		if !ok {
			return
		}
	}
}

// setAlarm sleeps until the next instant at which something is to be done.
func (s *Scheduler) setAlarm() {
	wait, ok := s.node.Next()
	if !ok {
		s.alarm.Stop()
		return
	}
	s.alarm.Reset(min(time.Duration(wait)*time.Microsecond, recheck))
}

// tell passes an event on, without waiting for who listens.
func (s *Scheduler) tell(e Event) {
	if s.cfg.OnEvent != nil && !s.events.put(e) {
		s.stats.EventsDropped++
	}
}

func (s *Scheduler) announcer() {
	for {
		list, ok := s.events.take()
		for _, e := range list {
			s.cfg.OnEvent(e)
		}
		if !ok {
			return
		}
	}
}

func (s *Scheduler) String() string { return fmt.Sprintf("ax scheduler %s", s.cfg.Node) }
