package sim

import (
	"errors"
	"strings"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/invariant"
)

// kinds are those that every node has a handler for.
var kinds = []string{"a", "b", "c", "p"}

// errHandler is what handlers fail with.
var errHandler = errors.New("it did not work")

// run is one attempt with a node's workers: what pool.Run is in sched.
type run struct {
	n      *node
	task   *ax.Task
	p      ax.Partition
	token  ax.AttemptToken
	until  int64 // the deadline, on the boot clock
	cause  error // set by the first stop
	begun  bool
	gen    int // of the event that ends it
	act    act
	report ax.Report
}

// act is what a handler does in one attempt: for how long it takes, then how it ends.
type act struct {
	how   string // ok fail never after cancel panic
	takes time.Duration
	after time.Duration
	deaf  bool // it does not notice that its context ended
}

// script reads what a handler is to do in its n-th attempt: "fail:1s,after:2s:5s,ok:3s!". The last one holds for all
// further attempts; a "!" makes it deaf.
func readAct(payload []byte, n int32) (a act) {
	list := strings.Split(string(payload), ",")
	word := list[min(int(n), len(list))-1]
	word, a.deaf = strings.CutSuffix(word, "!")
	parts := strings.Split(word, ":")
	a.how = parts[0]
	if len(parts) > 1 {
		a.takes, _ = time.ParseDuration(parts[1])
	}
	if len(parts) > 2 {
		a.after, _ = time.ParseDuration(parts[2])
	}
	return a
}

func (r *run) err() error {
	switch r.act.how {
	case "ok":
		return nil
	case "never":
		return ax.NoRetry(errHandler)
	case "after":
		return ax.RetryAfter(r.act.after, errHandler)
	case "cancel":
		return ax.Cancel(errHandler)
	}
	return errHandler
}

// send hands a claimed attempt to a worker, which begins it a little later.
func (n *node) send(t *ax.Task) {
	r := &run{n: n, task: t, p: n.w.partition(t.ID), token: t.Last.Token, act: readAct(t.Payload, t.Attempt)}
	r.until = n.clock.read(n.w.now).Boot + t.Last.Deadline.Sub(n.wall()).Microseconds()
	if n.runs[r.token] != nil {
		n.w.book.Broke(invariant.OneAttempt, "%s is sent twice under %v", t.ID, r.token)
	}
	n.runs[r.token] = r
	if n.leaving {
		r.stop(ax.ErrShutdown)
	}
	wait := int64(0)
	if n.w.pick(4, "queue", t.ID, r.token.Claim) == 0 {
		wait = n.w.pick(30_000, "queued", t.ID, r.token.Claim)
	}
	n.after(wait, r.begin)
}

// stop ends the context of an attempt.
func (r *run) stop(cause error) {
	if r.cause != nil {
		return
	}
	r.cause = cause
	r.n.w.note("stop", r.task.ID, int64(r.token.Claim))
	if r.begun && !r.act.deaf {
		r.act.how = "fail" // it gives up
		r.finishAfter(r.n.w.pick(30_000, "notice", r.task.ID, r.token.Claim))
	}
}

func (r *run) begin() {
	if r.cause != nil {
		r.refuse()
		return
	}
	r.begun = true
	r.report.Started = r.n.wall()
	r.n.w.note("start", r.task.ID, int64(r.task.Run), int64(r.task.Attempt), int64(r.token.Claim))
	r.n.w.book.Began(r.task.ID, int(r.task.Run), int(r.task.Attempt), token(r.token))
	r.finishAfter(r.act.takes.Microseconds())
}

func (r *run) finishAfter(d int64) {
	r.gen++
	gen := r.gen
	r.n.after(d, func() {
		if r.gen == gen {
			r.finish(r.err())
		}
	})
}

// refuse is Pool.refuse.
func (r *run) refuse() {
	rep := &r.report
	rep.ID, rep.Token = r.task.ID, r.token
	rep.Outcome, rep.Returned, rep.Ended = ax.OutcomeInterrupted, true, r.n.wall()
	if r.cause == ax.ErrTimeout {
		rep.Outcome, rep.Returned, rep.Started = ax.OutcomeTimeout, false, rep.Ended
	}
	r.done()
}

// finish is Pool.finish.
func (r *run) finish(err error) {
	rep := &r.report
	rep.ID, rep.Token, rep.Ended = r.task.ID, r.token, r.n.wall()
	var control *ax.Control
	switch {
	case r.n.clock.read(r.n.w.now).Boot >= r.until:
		rep.Outcome = ax.OutcomeTimeout
	case err == nil:
		rep.Outcome, rep.Result = ax.OutcomeSuccess, []byte(`"done"`)
	case r.cause == ax.ErrShutdown:
		rep.Outcome, rep.Returned = ax.OutcomeInterrupted, true
	case r.cause == ax.ErrCanceled:
		rep.Outcome = ax.OutcomeCanceled
	default:
		rep.Outcome = ax.OutcomeFailed
	}
	if err != nil {
		rep.Error = err.Error()
		if errors.As(err, &control) && rep.Outcome == ax.OutcomeFailed {
			rep.Never, rep.After = control.Never, control.After
			if control.Cancel {
				rep.Outcome = ax.OutcomeCanceled
			}
		}
	}
	r.done()
}

// done takes the worker back with the report.
func (r *run) done() {
	n, w := r.n, r.n.w
	w.note("end", r.task.ID, int64(r.task.Run), int64(r.task.Attempt), int64(r.token.Claim), int64(r.report.Outcome))
	w.book.Returned(token(r.token), outcome(r.report.Outcome), r.report.After.Microseconds())
	delete(n.runs, r.token)
	n.over[r.token] = true
	w.retold[r.task.ID] = &r.report
	n.tell()
	n.acted = true
	if !w.opt.Mutant.report(n, r) {
		return
	}
	if !n.eng.Report(r.p, r.task.Kind, &r.report) {
		n.forward(&r.report, "", 0)
	}
}

// forward puts a report into the inbox of a partition that is no longer this process's, until it is safe there.
func (n *node) forward(r *ax.Report, again string, try uint64) {
	if n.w.opt.Mutant == Unforwarded {
		return
	}
	n.forwards++
	p := n.w.partition(r.ID)
	e := ax.Entry{ID: "report-" + r.Token.String() + again, Verb: ax.VerbReport, Version: 1, Added: r.Ended, By: n.executor, Report: r}
	n.after(n.w.delay("forward", e.ID, try), func() {
		n.forwards--
		if _, err := n.w.store.put(n, p, e); err != nil {
			n.forward(r, again, try+1)
		}
	})
}
