package pool

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/axsched/ax"
)

// bubbleClock reads the bubble's time.
type bubbleClock struct{ base time.Time }

func (bubbleClock) Now() time.Time { return time.Now() }
func (c bubbleClock) Mono() int64  { return time.Since(c.base).Microseconds() }
func (c bubbleClock) Boot() int64  { return time.Since(c.base).Microseconds() }

// book collects reports by token.
type book struct {
	mu      sync.Mutex
	reports map[uint64][]ax.Report
}

func (b *book) done(r *Run) {
	b.mu.Lock()
	b.reports[r.Token.Claim] = append(b.reports[r.Token.Claim], r.Report)
	b.mu.Unlock()
}

func (b *book) only(t *testing.T, claim uint64) ax.Report {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.reports[claim]); n != 1 {
		t.Fatalf("attempt %d has %d reports, want 1", claim, n)
	}
	return b.reports[claim][0]
}

func run(kind string, claim uint64, until int64) *Run {
	return &Run{Until: until, UntilBoot: until, Delivery: ax.Delivery{
		Task: &ax.Task{ID: fmt.Sprint("t", claim), Kind: kind, Run: 1}, Attempt: 1, Token: ax.AttemptToken{Claim: claim}}}
}

// Whatever a handler does, its attempt is reported exactly once, and says what became of it.
func TestOutcomes(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		name    string
		handler ax.HandlerFunc
		cause   error // the context is canceled with it while the handler runs
		want    ax.Report
		text    string // that the error contains
	}{
		{"nil", func(context.Context, *ax.Task) error { return nil }, nil, ax.Report{Outcome: ax.OutcomeSuccess}, ""},
		{"result", func(ctx context.Context, _ *ax.Task) error { return ax.Return(ctx, 7) }, nil, ax.Report{Outcome: ax.OutcomeSuccess, Result: []byte("7")}, ""},
		{"error", func(context.Context, *ax.Task) error { return boom }, nil, ax.Report{Outcome: ax.OutcomeFailed}, "boom"},
		{"panic", func(context.Context, *ax.Task) error { panic("ouch") }, nil, ax.Report{Outcome: ax.OutcomeFailed}, "panic: ouch"},
		{"goexit", func(context.Context, *ax.Task) error { runtime.Goexit(); return nil }, nil, ax.Report{Outcome: ax.OutcomeFailed}, "Goexit"},
		{"no retry", func(context.Context, *ax.Task) error { return ax.NoRetry(boom) }, nil, ax.Report{Outcome: ax.OutcomeFailed, Never: true}, "boom"},
		{"retry after", func(context.Context, *ax.Task) error { return ax.RetryAfter(time.Hour, boom) }, nil, ax.Report{Outcome: ax.OutcomeFailed, After: time.Hour}, "boom"},
		{"cancel itself", func(context.Context, *ax.Task) error { return ax.Cancel(boom) }, nil, ax.Report{Outcome: ax.OutcomeCanceled}, "boom"},
		{"too late, though nil", func(context.Context, *ax.Task) error { <-time.After(2 * time.Second); return nil }, nil, ax.Report{Outcome: ax.OutcomeTimeout}, "timeout"},
		{"canceled", func(ctx context.Context, _ *ax.Task) error { <-ctx.Done(); return context.Cause(ctx) }, ax.ErrCanceled, ax.Report{Outcome: ax.OutcomeCanceled}, "canceled"},
		{"canceled, and done all the same", func(ctx context.Context, _ *ax.Task) error { <-ctx.Done(); return nil }, ax.ErrCanceled, ax.Report{Outcome: ax.OutcomeSuccess}, ""},
		{"shut down", func(ctx context.Context, _ *ax.Task) error { <-ctx.Done(); return ctx.Err() }, ax.ErrShutdown, ax.Report{Outcome: ax.OutcomeInterrupted, Returned: true}, "canceled"},
		{"shut down, and decided", func(ctx context.Context, _ *ax.Task) error { <-ctx.Done(); return ax.NoRetry(boom) }, ax.ErrShutdown, ax.Report{Outcome: ax.OutcomeFailed, Never: true}, "boom"},
		{"timed out", func(ctx context.Context, _ *ax.Task) error { <-ctx.Done(); return ctx.Err() }, ax.ErrTimeout, ax.Report{Outcome: ax.OutcomeTimeout}, "deadline exceeded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &book{reports: map[uint64][]ax.Report{}}
				p := New(1, map[string]ax.Handler{"work": c.handler}, bubbleClock{time.Now()}, b.done)
				r, next := run("work", 1, 1_000_000), run("other", 2, math.MaxInt64)
				p.Send([]*Run{r})
				synctest.Wait()
				if c.cause != nil {
					r.Cancel(c.cause)
					r.Cancel(errors.New("the second cause does not count"))
				}
				p.Send([]*Run{next}) // the only worker must have survived, or have been replaced
				p.Close()
				p.Wait()
				got := b.only(t, 1)
				if got.Outcome != c.want.Outcome || got.Never != c.want.Never || got.After != c.want.After ||
					got.Returned != c.want.Returned || string(got.Result) != string(c.want.Result) || !strings.Contains(got.Error, c.text) {
					t.Errorf("report %+v, want %+v with %q", got, c.want, c.text)
				}
				if got.Started == 0 || got.Ended < got.Started {
					t.Errorf("started %v, ended %v", got.Started, got.Ended)
				}
				if other := b.only(t, 2); other.Outcome != ax.OutcomeFailed || other.Error != ax.ErrNoHandler.Error() {
					t.Errorf("a kind without a handler: %+v", other)
				}
			})
		})
	}
}

// An attempt that is canceled while it waits for a worker does not begin, and does not count.
func TestCanceledBeforeItBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &book{reports: map[uint64][]ax.Report{}}
		release := make(chan struct{})
		p := New(1, map[string]ax.Handler{"work": ax.HandlerFunc(func(context.Context, *ax.Task) error { <-release; return nil })}, bubbleClock{time.Now()}, b.done)
		first, second, third := run("work", 1, math.MaxInt64), run("work", 2, math.MaxInt64), run("work", 3, math.MaxInt64)
		p.Send([]*Run{first, second, third})
		synctest.Wait()
		second.Cancel(ax.ErrCanceled)
		third.Cancel(ax.ErrTimeout)
		close(release)
		p.Close()
		p.Wait()
		if got := b.only(t, 2); got.Started != 0 || !got.Returned || got.Outcome != ax.OutcomeInterrupted {
			t.Errorf("canceled: %+v", got)
		}
		if got := b.only(t, 3); got.Outcome != ax.OutcomeTimeout || got.Returned {
			t.Errorf("timed out: %+v", got)
		}
		if got := b.only(t, 1); got.Outcome != ax.OutcomeSuccess {
			t.Errorf("the first: %+v", got)
		}
	})
}

// As many handlers run as there are workers, never more, and all of them if there is work: slow handlers do not depend
// on who wakes whom.
func TestAllWorkersWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers, tasks = 50, 500
		b := &book{reports: map[uint64][]ax.Report{}}
		var now, most atomic.Int64
		p := New(workers, map[string]ax.Handler{"work": ax.HandlerFunc(func(context.Context, *ax.Task) error {
			n := now.Add(1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			<-time.After(time.Second)
			now.Add(-1)
			return nil
		})}, bubbleClock{time.Now()}, b.done)
		start := time.Now()
		for i := range uint64(tasks) {
			p.Send([]*Run{run("work", i, math.MaxInt64)})
		}
		p.Close()
		p.Wait()
		if took := time.Since(start); took != tasks/workers*time.Second || most.Load() != workers {
			t.Errorf("took %v with at most %d at once, want %v and %d", took, most.Load(), tasks/workers*time.Second, workers)
		}
		for i := range uint64(tasks) {
			b.only(t, i)
		}
	})
}

// Under real concurrency, with every way to end and with cancels at any moment, each attempt has exactly one report.
func TestOneReportEach(t *testing.T) {
	const tasks = 20_000
	b := &book{reports: map[uint64][]ax.Report{}}
	var running atomic.Int64
	p := New(8, map[string]ax.Handler{"work": ax.HandlerFunc(func(ctx context.Context, t *ax.Task) error {
		if running.Add(1) > 8 {
			panic("more handlers than workers")
		}
		defer running.Add(-1)
		switch len(t.ID) + int(t.ID[len(t.ID)-1])%5 {
		case 5:
			panic("boom")
		case 6:
			runtime.Goexit()
		case 7:
			return ctx.Err()
		}
		return nil
	})}, bubbleClock{time.Now()}, b.done)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := uint64(0); i < tasks; {
		var some []*Run
		for range 1 + rng.IntN(50) {
			some = append(some, run("work", i, math.MaxInt64))
			i++
		}
		p.Send(some)
		some[rng.IntN(len(some))].Cancel(ax.ErrCanceled)
	}
	p.Close()
	p.Wait()
	if len(b.reports) < tasks {
		t.Fatalf("%d attempts reported, want at least %d", len(b.reports), tasks)
	}
	for claim := range b.reports {
		if got := b.only(t, claim); strings.Contains(got.Error, "more handlers") {
			t.Fatal(got.Error)
		}
	}
}
