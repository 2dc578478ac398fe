package engine

import (
	"time"

	"github.com/axsched/ax"
)

// report decides what follows from the end of an attempt.
func (e *Engine) report(r *ax.Report) ax.Answer {
	e.out.Settled = append(e.out.Settled, r.Token)
	it := e.items.Get(r.ID)
	if it == nil || it.task.Last == nil || it.task.Last.Token != r.Token || it.task.State != ax.Running && it.task.State != ax.Held {
		e.node.Counts.Stale++
		e.fact(r.ID, 0, ax.FactStale, r.Executor, r.Token.String()+" "+r.Outcome.String())
		return ax.Answer{Code: ax.Refused, ID: r.ID, Err: &ax.Error{Op: "report", ID: r.ID, Err: ax.ErrFenced,
			Reason: "another attempt is current, or the task has ended"}}
	}
	t := *it.task
	last := e.closing(&t)
	last.Started, last.Ended, last.Outcome = r.Started, r.Ended, r.Outcome
	last.Error, last.Result = clip(r.Error, ax.MaxErrorText), r.Result
	last.Returned = r.Returned || r.Started == 0
	e.settle(it, &t, last, r.After, r.Never)
	return ax.Answer{Code: ax.Done, ID: t.ID, State: it.task.State, Run: t.Run}
}

// closing gives t a copy of its last attempt, stamped as settled, that may be completed.
func (e *Engine) closing(t *ax.Task) *ax.Attempt {
	last := *t.Last
	last.Settled = ax.Time(e.now.Wall)
	t.Last = &last
	return t.Last
}

// settle moves a task on by the outcome of its last attempt.
func (e *Engine) settle(it *item, t *ax.Task, last *ax.Attempt, after time.Duration, never bool) {
	canceled := t.Marks&ax.CancelAsked != 0
	switch {
	case last.Outcome == ax.OutcomeSuccess:
		e.end(it, t, ax.Success)
	case last.Outcome == ax.OutcomeTimeout && (t.Flags&ax.RetryOnTimeout == 0 || canceled):
		e.end(it, t, ax.Timeout)
	case canceled || last.Outcome == ax.OutcomeCanceled:
		if last.Outcome == ax.OutcomeFailed {
			last.Outcome = ax.OutcomeCanceled
		}
		e.end(it, t, ax.Canceled)
	case last.Returned:
		last.Outcome = ax.OutcomeInterrupted
		t.Attempt--
		e.fact(t.ID, t.Run, ax.FactReturned, last.Executor, "")
		e.again(it, t, 0)
	case never:
		e.end(it, t, ax.Failed)
	case last.Outcome == ax.OutcomeTimeout:
		e.retryOrFail(it, t, after, ax.Timeout)
	default:
		e.retryOrFail(it, t, after, ax.Failed)
	}
}

// retryOrFail gives a task its next attempt, or ends it when all are used up.
func (e *Engine) retryOrFail(it *item, t *ax.Task, after time.Duration, end ax.State) {
	if int(t.Attempt) > int(t.MaxRetries) {
		e.end(it, t, end)
		return
	}
	if after <= 0 {
		after = t.Backoff().Wait(int(t.Attempt), e.cfg.Rand)
	}
	t.Marks |= ax.Retrying
	e.again(it, t, after)
}

// again puts a task back to SCHEDULED, due after a while of elapsed time.
func (e *Engine) again(it *item, t *ax.Task, after time.Duration) {
	e.stopped(it)
	now := ax.Time(e.now.Wall)
	t.State, t.Marks = ax.Scheduled, t.Marks&^ax.TimedOut
	t.At = min(now.Add(after), ax.MaxTime)
	t.Boot, t.BootAt = 0, 0
	if e.cfg.BootTag != 0 {
		t.Boot, t.BootAt = e.cfg.BootTag, e.now.Boot+int64(ax.Time(0).Add(after))
	}
	e.set(it, t)
	if t.Attempt == 0 { // handed back before it counted: its place in its key is open again
		e.unchain(it)
	}
	e.schedule(it)
}

// end moves a task to a terminal state. What waited for it goes on, and the archive gets it.
func (e *Engine) end(it *item, t *ax.Task, s ax.State) {
	e.stopped(it)
	t.State, t.At, t.Marks = s, ax.Time(e.now.Wall), t.Marks&^(ax.Retrying|ax.TimedOut)
	t.Boot, t.BootAt = 0, 0
	it.where = ended
	e.out.Ended = append(e.out.Ended, t)
	e.out.tally[s]++
	if e.cfg.Finishes {
		e.change(it, t)
		e.recent.note(t)
		if it.pos != 0 {
			e.unlist(it)
		}
		e.out.Batch.Finish = append(e.out.Batch.Finish, t)
		e.remove(t.ID)
		e.remember(t)
	} else {
		e.set(it, t)
	}
	e.unchain(it)
	if t.Unique().By == ax.ByContent {
		e.closeWindow(t)
	}
}

// remember keeps the id of a task that is no longer live.
func (e *Engine) remember(t *ax.Task) {
	r := &ax.IDRecord{ID: t.ID, Hash: t.Hash, State: t.State, Run: t.Run, Ended: t.At, Until: e.memory.until(t)}
	e.note(r)
}

func (e *Engine) note(r *ax.IDRecord) {
	e.memory.note(r)
	if !e.cfg.Alone {
		e.out.Batch.Remember = append(e.out.Batch.Remember, r)
	}
}

// closeWindow keeps a unique window closed after a success, and opens it after anything else.
func (e *Engine) closeWindow(t *ax.Task) {
	name := t.UniqueName()
	if e.memory.holder[name] != t.ID {
		return
	}
	delete(e.memory.holder, name)
	if until := t.Created.Add(t.Unique().Window); t.State == ax.Success && until > t.At {
		r := &ax.IDRecord{ID: name, Hash: t.Hash, State: t.State, Run: t.Run, Ended: t.At, Until: until, Holder: t.ID}
		e.note(r)
	}
}

// stopped takes an item out of where it is, and frees what its attempt took.
func (e *Engine) stopped(it *item) {
	was := it.task.State
	if it.task.Marks&ax.TimedOut != 0 {
		e.node.Counts.Overrun--
	}
	e.leave(it)
	if (was == ax.Running || was == ax.Held) && !e.gates.none {
		e.gates.leave(it.task, e.now.Boot, e.ready)
	}
}

// hold leaves a task whose attempt's fate is unknown to a person, or to a late report. It keeps what it took: its
// place in its key, and its share of the limits.
func (e *Engine) hold(it *item, t *ax.Task, why string) {
	e.leave(it)
	if it.task.Marks&ax.TimedOut != 0 {
		e.node.Counts.Overrun--
	}
	last := *t.Last
	last.Outcome = ax.OutcomeLost
	t.Last, t.State, t.Marks = &last, ax.Held, t.Marks&^ax.TimedOut
	e.set(it, t)
	it.where = held
	e.fact(t.ID, t.Run, ax.FactLost, t.Last.Executor, why)
	e.out.Held = append(e.out.Held, t)
}

// Lost says that an executor is gone. interrupted: its attempts are provably stopped, and the retry policy applies to
// them; otherwise nobody knows, and each task's own lost policy decides.
func (e *Engine) lost(executor string, interrupted bool) {
	var hit []*item
	for it := range e.items.All() {
		if it.task.State == ax.Running && it.task.Last.Executor == executor {
			hit = append(hit, it)
		}
	}
	sortBySeq(hit)
	for _, it := range hit {
		t := *it.task
		last := e.closing(&t)
		last.Outcome = ax.OutcomeLost
		if interrupted {
			last.Outcome = ax.OutcomeInterrupted
		} else if t.Flags&ax.HoldLost != 0 {
			e.hold(it, &t, "executor lost")
			continue
		}
		e.abandoned(it, &t, last, "executor "+executor+" was lost")
	}
}

// abandoned settles an attempt that nobody will report: the task is tried again by its policy, unless it is to be canceled.
func (e *Engine) abandoned(it *item, t *ax.Task, last *ax.Attempt, why string) {
	if t.Marks&ax.CancelAsked != 0 {
		e.end(it, t, ax.Canceled)
		return
	}
	last.Error = why
	e.retryOrFail(it, t, 0, ax.Failed)
}

// archived lets go of tasks that the archive has: from now on only their ids are known.
func (e *Engine) archived(tasks []*ax.Task) {
	b := e.out.Batch
	for _, t := range tasks {
		it := e.items.Get(t.ID)
		if it == nil || it.task != t { // a newer run has taken its place
			continue
		}
		e.remove(t.ID)
		b.Delete = append(b.Delete, t.ID)
		e.remember(t)
	}
}
