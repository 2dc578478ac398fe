package engine

import (
	"github.com/axsched/ax"
)

// Admit takes in one request. The answer is given in a Reply of the next Output, once the batch that holds its effect
// is safe; ticket and i come back in it. fromInbox says that the entry lies in the store's inbox and is to leave it.
// The entry must stay unchanged until it is answered; a submitted Task that does not come from the inbox is taken over.
func (e *Engine) Admit(entry *ax.Entry, ticket any, i int, fromInbox bool) {
	if fromInbox {
		if e.inbox[entry.ID] {
			return
		}
		if !knownVerb(entry.Verb) || entry.Version > 1 {
			e.inbox[entry.ID] = true // seen; it stays in the store's inbox for a version that knows it
			e.node.Counts.UnknownVerbs++
			e.fact(entry.Target, 0, ax.FactVerb, entry.By, string(entry.Verb))
			return
		}
		e.inbox[entry.ID] = true
		e.admitting++
	}
	e.admitOrPark(request{Reply{Entry: entry, Ticket: ticket, Index: i}, fromInbox})
}

// admitOrPark decides a request, or puts it aside until what it is about has been looked up.
func (e *Engine) admitOrPark(r request) {
	if e.horizon == nil || !e.horizon.park(e, r) {
		e.take(r)
	}
}

// take decides a request.
func (e *Engine) take(r request) {
	if r.inbox {
		e.out.Batch.Admit = append(e.out.Batch.Admit, r.Entry.ID)
	}
	r.Answer = e.admit(r.Entry, !r.inbox)
	if r.Ticket != nil || r.inbox {
		e.out.Replies = append(e.out.Replies, r.Reply)
	}
}

func knownVerb(v ax.Verb) bool {
	switch v {
	case ax.VerbSubmit, ax.VerbCancel, ax.VerbReschedule, ax.VerbRun, ax.VerbRerun, ax.VerbResolve, ax.VerbReport:
		return true
	}
	return false
}

func (e *Engine) admit(entry *ax.Entry, own bool) ax.Answer {
	switch entry.Verb {
	case ax.VerbSubmit:
		return e.submit(entry, own)
	case ax.VerbReport:
		return e.report(entry.Report)
	case ax.VerbRerun:
		return e.rerun(entry)
	}
	it := e.items.Get(entry.Target)
	if it == nil {
		return e.gone(entry)
	}
	t := it.task
	if t.State.Terminal() {
		if entry.Verb == ax.VerbCancel && t.State == ax.Canceled {
			return ax.Answer{Code: ax.Done, ID: t.ID, State: t.State, Run: t.Run}
		}
		return refuse(entry, t.ID, t.State, ax.ErrFinished)
	}
	switch entry.Verb {
	case ax.VerbCancel:
		e.cancel(it, entry.By)
	case ax.VerbResolve:
		return e.resolve(it, entry)
	default:
		if t.State != ax.Scheduled {
			return refuse(entry, t.ID, t.State, ax.ErrRunning)
		}
		e.moveDue(it, entry)
	}
	return ax.Answer{Code: ax.Done, ID: t.ID, State: it.task.State, Run: t.Run}
}

// gone answers for a task that is not live: it has ended, or was never here.
func (e *Engine) gone(entry *ax.Entry) ax.Answer {
	r, ok := e.memory.find(entry.Target, ax.Time(e.now.Wall))
	switch {
	case !ok:
		return refuse(entry, entry.Target, 0, ax.ErrNoTask)
	case entry.Verb == ax.VerbCancel && r.State == ax.Canceled:
		return ax.Answer{Code: ax.Done, ID: r.ID, State: r.State, Run: r.Run}
	}
	return refuse(entry, r.ID, r.State, ax.ErrFinished)
}

func refuse(entry *ax.Entry, id string, s ax.State, err error) ax.Answer {
	return ax.Answer{Code: ax.Refused, ID: id, State: s, Err: &ax.Error{Op: string(entry.Verb), ID: id, State: s, Err: err}}
}

// submit creates a task, unless it is here already, or was.
func (e *Engine) submit(entry *ax.Entry, own bool) ax.Answer {
	t, now, run := entry.Task, ax.Time(e.now.Wall), int32(1)
	if it := e.items.Get(t.ID); it != nil {
		if !reopens(t.Unique().By, it.task.State) {
			return repeat(t, it.task.Hash, it.task.State, it.task.Run)
		}
		run = it.task.Run + 1 // the archive keeps one record per id and run
	}
	r, known := e.memory.find(t.ID, now)
	if known && !reopens(t.Unique().By, r.State) {
		return repeat(t, r.Hash, r.State, r.Run)
	}
	if known {
		run = r.Run + 1
	}
	if entry.Made != 0 && entry.Made <= e.memory.floor {
		return ax.Answer{Code: ax.Expired, ID: t.ID}
	}
	var name string
	if t.Unique().By == ax.ByContent {
		name = t.UniqueName()
		if r, taken := e.memory.holderOf(name, now); taken {
			return e.knownBy(r)
		}
	}
	if e.node.Counts.Pending() >= e.cfg.MaxPending {
		return ax.Answer{Code: ax.Refused, ID: t.ID, Err: &ax.Error{Op: "submit", ID: t.ID, Err: ax.ErrFull,
			Reason: "MaxPending tasks have not ended"}}
	}
	fresh := t
	if !own || t.Seq != 0 { // it lies in the inbox, or in a batch that failed
		fresh = new(*t)
	}
	e.seq++
	fresh.Created, fresh.Seq, fresh.Run = now, e.seq, run
	if fresh.Boot != 0 && fresh.Boot != e.cfg.BootTag { // relative, by the clock of another machine
		fresh.Boot, fresh.BootAt = 0, 0
	} else if fresh.Boot != 0 && fresh.BootAt == 0 {
		fresh.BootAt = e.now.Boot // at once
	}
	if name != "" {
		e.memory.holder[name] = t.ID
	}
	if known {
		e.memory.drop(t.ID)
	}
	e.create(fresh)
	return ax.Answer{Code: ax.Made, ID: t.ID, State: fresh.State, Run: fresh.Run}
}

func repeat(t *ax.Task, hash uint64, s ax.State, run int32) ax.Answer {
	a := ax.Answer{Code: ax.Known, ID: t.ID, State: s, Run: run}
	if hash != t.Hash {
		a.Code = ax.Conflict
	}
	return a
}

// knownBy answers a submission whose unique window is closed with the task that closed it.
func (e *Engine) knownBy(r *ax.IDRecord) ax.Answer {
	a := ax.Answer{Code: ax.Known, ID: r.Holder, State: r.State, Run: r.Run}
	if it := e.items.Get(r.Holder); it != nil {
		a.State, a.Run = it.task.State, it.task.Run
	}
	return a
}

// create makes a task live.
func (e *Engine) create(t *ax.Task) {
	it := &item{task: t}
	it.timer.Value = it
	if old := e.items.Put(it); old != nil { // the run before, not archived yet
		e.leave(old)
		if old.pos != 0 { // it ended in this very batch: the next run takes its place there
			it.pos = old.pos
			e.retouch(old, it)
		}
	}
	e.node.Counts.gauge(t.State, 1)
	e.recent.note(t)
	e.out.tally[0]++
	if it.pos != 0 {
		e.replace(it)
	} else {
		b := e.out.Batch
		b.Create = append(b.Create, t)
		it.pos = int32(len(b.Create))
		e.touched = append(e.touched, it)
	}
	e.schedule(it)
}

func (e *Engine) retouch(old, it *item) {
	for i := range e.touched {
		if e.touched[i] == old {
			e.touched[i] = it
		}
	}
	old.pos = 0
}

// replace makes a change that is already in the batch a create: it opens a new run, and only a create writes all fields.
func (e *Engine) replace(it *item) {
	if it.pos < 0 {
		e.unlist(it)
		e.out.Batch.Create = append(e.out.Batch.Create, it.task)
		it.pos = int32(len(e.out.Batch.Create))
		return
	}
	e.out.Batch.Create[it.pos-1] = it.task
}

// cancel ends what has not started and asks what has.
func (e *Engine) cancel(it *item, by string) {
	t := *it.task
	switch t.State {
	case ax.Running:
		if t.Marks&ax.CancelAsked != 0 {
			return
		}
		t.Marks |= ax.CancelAsked
		e.set(it, &t)
		e.node.cancels = append(e.node.cancels, Cancel{t.Last.Token, ax.ErrCanceled})
	default: // a HELD task too: a person, or its owner, has decided
		if t.State == ax.Held {
			e.closing(&t)
		}
		e.end(it, &t, ax.Canceled)
	}
	e.fact(t.ID, t.Run, ax.FactCancel, by, "")
}

// moveDue gives a waiting task another due time.
func (e *Engine) moveDue(it *item, entry *ax.Entry) {
	t := *it.task
	what := ax.FactRunNow
	if entry.Verb == ax.VerbReschedule {
		what = ax.FactReschedule
		t.Due, t.At, t.Boot, t.BootAt = entry.Task.Due, entry.Task.Due, entry.Task.Boot, entry.Task.BootAt
		if t.Boot != e.cfg.BootTag {
			t.Boot, t.BootAt = 0, 0
		}
	} else {
		now := ax.Time(e.now.Wall)
		t.Due, t.At, t.Boot, t.BootAt = min(t.Due, now), now, 0, 0
	}
	e.leave(it)
	e.set(it, &t)
	if t.Attempt == 0 {
		e.unchain(it)
	}
	e.schedule(it)
	e.fact(t.ID, t.Run, what, entry.By, t.Due.String())
}

// rerun opens the next run of a finished task: the same id, kind and payload, due now.
func (e *Engine) rerun(entry *ax.Entry) ax.Answer {
	t := entry.Task
	if it := e.items.Get(t.ID); it != nil {
		switch {
		case it.task.Run > t.Run:
			return ax.Answer{Code: ax.Known, ID: t.ID, State: it.task.State, Run: it.task.Run}
		case !it.task.State.Terminal():
			return refuse(entry, t.ID, it.task.State, ax.ErrRunning)
		}
		t = it.task
	} else if r, ok := e.memory.find(t.ID, ax.Time(e.now.Wall)); ok && r.Run > t.Run {
		return ax.Answer{Code: ax.Known, ID: t.ID, State: r.State, Run: r.Run}
	}
	if e.node.Counts.Pending() >= e.cfg.MaxPending {
		return refuse(entry, t.ID, t.State, ax.ErrFull)
	}
	next := *t
	now := ax.Time(e.now.Wall)
	e.seq++
	next.Run, next.Attempt, next.State, next.Marks, next.Seq = t.Run+1, 0, ax.Scheduled, 0, e.seq
	next.Due, next.At, next.Boot, next.BootAt = now, now, 0, 0
	if next.Run%maxHistory == 0 && next.Last != nil {
		next.Last = new(*next.Last)
		next.Last.Prev = nil
	}
	if t.Unique().By == ax.ByContent {
		if name := t.UniqueName(); e.memory.holder[name] == "" {
			e.memory.holder[name] = t.ID
		}
	}
	e.memory.drop(t.ID)
	e.create(&next)
	e.fact(next.ID, next.Run, ax.FactRerun, entry.By, "")
	return ax.Answer{Code: ax.Done, ID: t.ID, State: next.State, Run: next.Run}
}

// resolve applies a person's decision to a HELD task.
func (e *Engine) resolve(it *item, entry *ax.Entry) ax.Answer {
	t := *it.task
	if t.State != ax.Held {
		return refuse(entry, t.ID, t.State, ax.ErrRunning)
	}
	e.fact(t.ID, t.Run, ax.FactResolve, entry.By, "")
	e.closing(&t)
	switch {
	case entry.Resolve == ax.ResolveSuccess:
		e.end(it, &t, ax.Success)
	case t.Marks&ax.CancelAsked != 0: // acknowledged: no further attempt
		e.end(it, &t, ax.Canceled)
	case entry.Resolve == ax.ResolveRetry:
		e.retryOrFail(it, &t, 0, ax.Failed)
	default:
		e.end(it, &t, ax.Failed)
	}
	return ax.Answer{Code: ax.Done, ID: t.ID, State: it.task.State, Run: t.Run}
}
