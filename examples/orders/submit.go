package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/sched"
)

// batchSize is how many tasks one call submits: enough that a call costs little per task, few enough that it takes
// milliseconds, and the first tasks run while the last ones are being submitted.
const batchSize = 1000

// submitter submits the tasks of a workload in batches, and notes what was asked for and what was acknowledged.
type submitter struct {
	sched *sched.Scheduler
	book  *book
	notes *notes // nil in memory
	work  workload
	again time.Time // when a run began that is continued: its first batch may have been submitted already. Zero if not
}

// rest returns the batches that are not known to be settled. A batch is good until the next one.
func (s *submitter) rest(yield func([]ax.Submission) bool) {
	batch := make([]ax.Submission, 0, batchSize)
	for task := range s.work.tasks {
		if s.book.settled(task.ID) {
			continue
		}
		if batch = append(batch, task); len(batch) < batchSize {
			continue
		}
		if !yield(batch) {
			return
		}
		batch = batch[:0]
	}
	if len(batch) > 0 {
		yield(batch)
	}
}

// first submits, in a run that is continued, the batch during which an earlier start may have been killed. Nobody knows
// how much of it was taken in, and that is no matter: the same id with the same content is one task.
func (s *submitter) first() error {
	if s.again.IsZero() {
		return nil
	}
	for batch := range s.rest {
		return s.submit(context.Background(), batch, s.again)
	}
	return nil
}

// all submits the rest. It stops before the next batch when ctx ends, with a nil error.
func (s *submitter) all(ctx context.Context) error {
	for batch := range s.rest {
		if ctx.Err() != nil {
			return nil
		}
		if err := s.submit(ctx, batch, time.Time{}); err != nil {
			return err
		}
	}
	return nil
}

// submit submits one batch. The interrupt does not cut a call short, so that its answers are known: draining ends it.
func (s *submitter) submit(ctx context.Context, batch []ax.Submission, again time.Time) error {
	asked := time.Now()
	since := asked
	if !again.IsZero() {
		since = again
	}
	s.book.ask(batch, since)
	answers, err := s.sched.SubmitMany(context.WithoutCancel(ctx), batch)
	told := s.book.acknowledge(batch, answers, asked, time.Now(), again)
	if err := s.notes.add(told); err != nil {
		return fmt.Errorf("submitting: %w", err)
	}
	if errors.Is(err, ax.ErrClosed) && ctx.Err() != nil {
		return nil
	}
	for _, a := range answers {
		if errors.Is(a.Err, ax.ErrNoSpace) {
			err = a.Err
		}
	}
	if err != nil {
		return fmt.Errorf("submitting: %w", err)
	}
	return nil
}
