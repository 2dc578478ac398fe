package sched_test

import (
	"context"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/memory"
	"github.com/axsched/ax/sched"
)

// around is a store whose Apply is called through a function.
type around struct {
	ax.Store
	apply func(batches []*ax.Batch, do func() []error) []error
}

func (a *around) Apply(ctx context.Context, batches []*ax.Batch) []error {
	return a.apply(batches, func() []error { return a.Store.Apply(ctx, batches) })
}

// with puts a backend behind an apply function into a configuration. The store is no Finisher then: its archive is told
// afterwards, as with a store that has none of its own.
func with(b *memory.Backend, cfg sched.Config, apply func(batches []*ax.Batch, do func() []error) []error) sched.Config {
	cfg.Store, cfg.Registry, cfg.Archive = &around{b, apply}, b, b.Archive()
	return cfg
}

// slow makes every write take d.
func slow(d time.Duration) func([]*ax.Batch, func() []error) []error {
	return func(_ []*ax.Batch, do func() []error) []error { time.Sleep(d); return do() }
}

// unknown answers that nobody knows, for every batch.
func unknown(batches []*ax.Batch) []error {
	errs := make([]error, len(batches))
	for i := range errs {
		errs[i] = ax.ErrUnknown
	}
	return errs
}
