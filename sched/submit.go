package sched

import (
	"context"
	"fmt"
	"time"

	"github.com/axsched/ax"
)

// Submit asks for one task. It returns when the task is safe in the store, not when it has run. Answer.Code is Made, or
// Known if the same submission was made before (State and Run say how it stands; for a unique window ID names the task
// that holds it).
//
// Errors: ErrInvalid (field and value in *ax.Error), ErrConflict, ErrExpired, ErrFull, ErrNoHandler, ErrClosed, ErrNoSpace,
// and the context's error; if that comes with ErrUnknown the task may have been created, and the same call with the
// same ID is safe. Safe for concurrent use; the submission's Payload and Headers are copied.
func (s *Scheduler) Submit(ctx context.Context, sub ax.Submission) (ax.Answer, error) {
	var boot int64
	if sub.In > 0 { // the reading is a system call
		boot = s.cfg.Clock.Boot()
	}
	e, err := s.entry(&sub, s.cfg.Clock.Now(), boot)
	if err != nil {
		return ax.Answer{Code: ax.Refused, Err: err}, err
	}
	r := s.request(e)
	if err := s.ask(ctx, r); err != nil {
		return ax.Answer{Code: ax.Refused, ID: e.ID, Err: err}, err // not released: the loop may still hold it
	}
	a := r.answers[0]
	s.release(r)
	return a, errorOf(&a)
}

// SubmitMany asks for many tasks at once, which costs far less than one by one. There is one answer per submission, in
// order; one that is refused (Code Refused, Conflict or Expired, with Err) does not affect the others. The error is set
// only if the answers are not known: ErrClosed, or the context's.
func (s *Scheduler) SubmitMany(ctx context.Context, subs []ax.Submission) ([]ax.Answer, error) {
	now, boot := s.cfg.Clock.Now(), s.cfg.Clock.Boot()
	answers := make([]ax.Answer, len(subs))
	r := &request{entries: make([]ax.Entry, 0, len(subs)), done: make(chan struct{}, 1)}
	var at []int32 // which submission an entry is from, if one was refused
	for i := range subs {
		e, err := s.entry(&subs[i], now, boot)
		if err != nil {
			answers[i] = ax.Answer{Code: ax.Refused, ID: subs[i].ID, Err: err}
			if at == nil {
				at = make([]int32, i, len(subs))
				for k := range at {
					at[k] = int32(k)
				}
			}
			continue
		}
		r.entries = append(r.entries, e)
		if at != nil {
			at = append(at, int32(i))
		}
	}
	if len(r.entries) == 0 {
		return answers, nil
	}
	r.answers = answers
	if len(r.entries) < len(subs) {
		r.answers = make([]ax.Answer, len(r.entries))
	}
	if err := s.ask(ctx, r); err != nil {
		return nil, err
	}
	for j := range r.answers {
		i := j
		if at != nil {
			i = int(at[j])
		}
		answers[i] = r.answers[j]
		answers[i].Err = errorOf(&answers[i])
	}
	return answers, nil
}

// entry checks a submission and makes the request for it.
func (s *Scheduler) entry(sub *ax.Submission, now time.Time, boot int64) (ax.Entry, error) {
	t, err := sub.Task(now, s.cfg.MaxPayload)
	if err != nil {
		return ax.Entry{}, err
	}
	if s.cfg.RefuseUnknownKinds && s.handlers[t.Kind] == nil {
		return ax.Entry{}, &ax.Error{Op: "submit", ID: t.ID, Field: "Kind", Value: fmt.Sprintf("%q", t.Kind), Err: ax.ErrNoHandler}
	}
	if sub.At.IsZero() { // relative: by elapsed time
		t.Boot = s.bootTag
		if sub.In > 0 { // else at once, whenever that is for the owner
			t.BootAt = int64(ax.Time(boot).Add(sub.In))
		}
	}
	return ax.Entry{ID: t.ID, Verb: ax.VerbSubmit, Version: 1, Added: ax.At(now), Task: t, Made: ax.At(sub.Made)}, nil
}

// errorOf turns an answer that is no success into an error.
func errorOf(a *ax.Answer) error {
	switch a.Code {
	case ax.Conflict:
		return &ax.Error{Op: "submit", ID: a.ID, State: a.State, Err: ax.ErrConflict}
	case ax.Expired:
		return &ax.Error{Op: "submit", ID: a.ID, Err: ax.ErrExpired}
	}
	return a.Err
}

// Cancel ends a task that has not started: CANCELED. If an attempt runs, its context ends with ErrCanceled and what the
// handler returns decides (Answer.State is RUNNING): nil is SUCCESS, anything else CANCELED. No further attempt starts.
// Canceling twice is answered alike.
// Errors: ErrFinished with the state, ErrNoTask, ErrClosed, the context's.
func (s *Scheduler) Cancel(ctx context.Context, id string) (ax.Answer, error) {
	return s.change(ctx, ax.Entry{Verb: ax.VerbCancel, Target: id})
}

// Reschedule moves a task that has not started, or that waits for a retry, to another instant of the wall clock.
// Errors: ErrRunning, ErrFinished, ErrNoTask, ErrInvalid, ErrClosed, the context's.
func (s *Scheduler) Reschedule(ctx context.Context, id string, at time.Time) (ax.Answer, error) {
	due := ax.At(at)
	if at.Year() > 9999 || due > ax.MaxTime || due <= 0 {
		err := &ax.Error{Op: "reschedule", ID: id, Field: "at", Value: at.String(), Reason: "from 1970 to 9999", Err: ax.ErrInvalid}
		return ax.Answer{Code: ax.Refused, ID: id, Err: err}, err
	}
	return s.change(ctx, ax.Entry{Verb: ax.VerbReschedule, Target: id, Task: &ax.Task{Due: due}})
}

// RescheduleIn is Reschedule to a time from now, which passes as Submission.In does.
func (s *Scheduler) RescheduleIn(ctx context.Context, id string, d time.Duration) (ax.Answer, error) {
	d = max(d, 0)
	due := &ax.Task{Due: min(ax.At(s.cfg.Clock.Now()).Add(d), ax.MaxTime), Boot: s.bootTag,
		BootAt: int64(ax.Time(s.cfg.Clock.Boot()).Add(d))}
	return s.change(ctx, ax.Entry{Verb: ax.VerbReschedule, Target: id, Task: due})
}

// RunNow makes a waiting task due now, also one that waits for its retry. Its priority and limits still hold.
// Errors: as Reschedule.
func (s *Scheduler) RunNow(ctx context.Context, id string) (ax.Answer, error) {
	return s.change(ctx, ax.Entry{Verb: ax.VerbRun, Target: id})
}

// Rerun opens the next run of a finished task: the same id, kind and payload, due now, with all its attempts anew.
// Answer.Run is its number. Errors: ErrRunning if it has not ended, ErrNoTask if the archive does not have it (any more),
// ErrFull, ErrClosed, the context's.
func (s *Scheduler) Rerun(ctx context.Context, id string) (ax.Answer, error) {
	t, err := s.Get(ctx, id)
	if err != nil {
		return ax.Answer{Code: ax.Refused, ID: id, Err: err}, err
	}
	if !t.State.Terminal() {
		err := &ax.Error{Op: "rerun", ID: id, State: t.State, Err: ax.ErrRunning}
		return ax.Answer{Code: ax.Refused, ID: id, State: t.State, Err: err}, err
	}
	return s.change(ctx, ax.Entry{Verb: ax.VerbRerun, Target: id, Task: t})
}

// Resolve applies a person's decision to a HELD task. Errors: ErrRunning if it is not HELD, ErrFinished, ErrNoTask.
func (s *Scheduler) Resolve(ctx context.Context, id string, r ax.Resolution) (ax.Answer, error) {
	if r < ax.ResolveSuccess || r > ax.ResolveFail {
		err := &ax.Error{Op: "resolve", ID: id, Field: "resolution", Value: fmt.Sprint(r), Reason: "ResolveSuccess, ResolveRetry or ResolveFail", Err: ax.ErrInvalid}
		return ax.Answer{Code: ax.Refused, ID: id, Err: err}, err
	}
	return s.change(ctx, ax.Entry{Verb: ax.VerbResolve, Target: id, Resolve: r})
}

// change asks for a change of one task.
func (s *Scheduler) change(ctx context.Context, e ax.Entry) (ax.Answer, error) {
	if err := ax.CheckTarget(e.Target); err != nil {
		return ax.Answer{Code: ax.Refused, ID: e.Target, Err: err}, err
	}
	e.Version, e.Added = 1, ax.At(s.cfg.Clock.Now())
	r := s.request(e)
	if err := s.ask(ctx, r); err != nil {
		return ax.Answer{Code: ax.Refused, ID: e.Target, Err: err}, err
	}
	a := r.answers[0]
	s.release(r)
	return a, a.Err
}
