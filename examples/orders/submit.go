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

// submitAll submits the tasks in batches, and notes in the book what was asked for and what was acknowledged. It stops
// before the next batch when ctx ends, with a nil error.
func submitAll(ctx context.Context, s *sched.Scheduler, w workload, b *book) error {
	batch := make([]ax.Submission, 0, batchSize)
	for task := range w.tasks {
		batch = append(batch, task)
		if len(batch) < batchSize {
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		if err := submit(ctx, s, batch, b); err != nil {
			return err
		}
		batch = batch[:0]
	}
	if len(batch) == 0 || ctx.Err() != nil {
		return nil
	}
	return submit(ctx, s, batch, b)
}

// submit submits one batch. The interrupt does not cut a call short, so that its answers are known: draining ends it.
func submit(ctx context.Context, s *sched.Scheduler, batch []ax.Submission, b *book) error {
	b.ask(batch, time.Now())
	answers, err := s.SubmitMany(context.WithoutCancel(ctx), batch)
	b.acknowledge(batch, answers, time.Now())
	if errors.Is(err, ax.ErrClosed) && ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("submitting: %w", err)
	}
	return nil
}
