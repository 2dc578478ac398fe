package sched

import (
	"context"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/engine"
)

// Why says what a task that has not ended waits for.
type Why = engine.Why

// The causes; see engine.Why for what each means.
const (
	WhyNotDue     = engine.WhyNotDue
	WhyRetry      = engine.WhyRetry
	WhyRunning    = engine.WhyRunning
	WhyOverrun    = engine.WhyOverrun
	WhyHeld       = engine.WhyHeld
	WhyOrder      = engine.WhyOrder
	WhyLimit      = engine.WhyLimit
	WhyNoExecutor = engine.WhyNoExecutor
	WhyPaused     = engine.WhyPaused
	WhyBusy       = engine.WhyBusy
	WhyBacklog    = engine.WhyBacklog
)

// Explained is the answer of Explain: the task, what it waits for, and behind what.
type Explained = engine.Explained

// Explain says why a task has not run yet, or that it runs. Errors: ErrFinished with the state if it has ended,
// ErrNoTask, ErrInvalid, ErrClosed, the context's.
func (s *Scheduler) Explain(ctx context.Context, id string) (Explained, error) {
	if err := ax.CheckTarget(id); err != nil {
		return Explained{}, err
	}
	var x Explained
	var ok bool
	if err := s.callAndWait(ctx, "explain", func() { x, ok = s.node.Explain(s.partition(id), id) }); err != nil {
		return Explained{}, err
	}
	if ok {
		return x, nil
	}
	t, err := s.Get(ctx, id)
	if err != nil {
		return Explained{}, err
	}
	if t.State.Terminal() {
		return Explained{Task: t}, &ax.Error{Op: "explain", ID: id, State: t.State, Err: ax.ErrFinished}
	}
	if t.State == ax.Scheduled && t.At > ax.At(s.cfg.Clock.Now()) { // beyond the horizon
		return Explained{Task: t, Why: WhyNotDue}, nil
	}
	return Explained{Task: t, Why: WhyPaused}, nil // its partition is being opened again
}

// callAndWait has the loop call f, and returns when it has.
func (s *Scheduler) callAndWait(ctx context.Context, op string, f func()) error {
	done := make(chan struct{})
	ok := s.mail.post(func(m *mail) {
		m.calls = append(m.calls, func() { f(); close(done) })
	})
	if !ok {
		return &ax.Error{Op: op, Err: ax.ErrClosed}
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
