package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/sched"
)

// drainWait bounds how long an interrupt lets running tasks finish; the slowest takes 0.8 s.
const drainWait = 5 * time.Second

// pollEvery is how often the program looks whether all is done, and how closely the last second is told from the rest.
const pollEvery = 100 * time.Millisecond

// run is the program but for its signals: ctx ends at the first one. It returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parseFlags(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage
	}
	w, code := o.workload(ctx, stdin, stderr)
	if code != exitOK {
		return code
	}
	p := newPaper(stdout, os.Getenv)
	r := &rig{options: o, stderr: stderr, screen: o.screen(p)}
	r.log = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	var end *outcome
	err = r.open(w)
	if err == nil {
		end, err = r.execute(ctx)
	}
	err = errors.Join(err, r.close(end))
	if end != nil {
		end.print(p)
	}
	if err != nil {
		fmt.Fprintln(stderr, "orders:", trouble(o.dir, err))
	}
	switch {
	case errors.As(err, new(usageError)):
		return exitUsage
	case err != nil || !end.ok():
		return exitBroken
	}
	return exitOK
}

// workload draws the tasks or reads them. A code other than exitOK ends the program; it has been said why.
func (o *options) workload(ctx context.Context, stdin io.Reader, stderr io.Writer) (workload, int) {
	if o.tasks == "" {
		return drawn(o.n, o.spread, o.seed), exitOK
	}
	f, err := readTasks(ctx, o.tasks, stdin)
	if ctx.Err() != nil {
		return workload{}, exitInterrupted
	}
	if err != nil {
		fmt.Fprintln(stderr, "orders:", err)
		return workload{}, exitUsage
	}
	f.printProblems(stderr)
	switch {
	case f.bad > 0 && !o.skipBad:
		fmt.Fprintf(stderr, "orders: %s, %s: nothing was submitted (-skip-bad runs the good ones)\n",
			plural(f.bad, "bad line"), plural(len(f.tasks), "good one"))
	case len(f.tasks) == 0:
		fmt.Fprintf(stderr, "orders: %s has no tasks\n", f.name)
	default:
		return listed(f), exitOK
	}
	return workload{}, exitUsage
}

// rig is everything that takes part in a run.
type rig struct {
	options
	work   workload
	log    *slog.Logger
	stderr io.Writer
	book   *book
	screen screen
	home   *home // nil in memory

	ledger   *ledger
	sched    *sched.Scheduler
	failures failures
	started  time.Time
	before   tally // of earlier starts of the run: what had ended
}

// execute runs the workload, from the first submit to the last line of the ledger. With an error, the run ended before
// its time; what is known of it is there all the same, unless it did not even begin.
func (r *rig) execute(ctx context.Context) (end *outcome, err error) {
	config := sched.Config{
		Workers:     r.workers,
		WaitForRoom: true, // more tasks than MaxPending are submitted as the first ones end
		OnEvent:     r.failures.note,
		Logger:      r.log,
	}
	sub := submitter{book: r.book, work: r.work}
	file := ""
	if h := r.home; h != nil {
		config.Store, config.Registry = h.backend, h.backend
		sub.notes = h.notes
		if h.continuing {
			sub.again = h.run.Started
		}
		_, file = h.ledgers()
	}
	if r.ledger, err = startLedger(r.book, file, r.stderr); err != nil {
		return nil, err
	}
	defer r.ledger.close(false)
	r.screen.title(r)
	shop := newShop(r.ledger.addr, r.workers)
	defer shop.close()
	if err := shop.warm(min(r.workers, r.work.total)); err != nil {
		return nil, err
	}
	config.Mux = shop.mux()
	if r.sched, err = sched.New(config); err != nil {
		return nil, err
	}
	sub.sched = r.sched
	if err := r.sched.Start(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	r.started = time.Now()
	r.ledger.began(r.started)
	cpu := cpuTime()
	err = r.takeUp(&sub)

	submitting, stop := context.WithCancel(ctx)
	submitted := make(chan error, 1) // one answer, which nobody may be waiting for
	go func() { submitted <- sub.all(submitting) }()
	all := false
	if err == nil {
		all, err = r.watch(ctx, submitted)
	}
	stop()
	receipt, took, err := r.drain(ctx, err)
	if !all {
		err = errors.Join(err, <-submitted) // the drain has ended it
	}
	end = &outcome{
		rig: r, receipt: receipt, interrupted: ctx.Err() != nil, drained: took, ran: time.Since(r.started),
		stats: r.sched.Stats(), clockMoved: clockMoved(r.started, time.Now()),
	}
	left := len(receipt.Returned) + len(receipt.Running) + receipt.Waiting
	end.complete = all && err == nil && left == 0
	err = errors.Join(err, r.ledger.close(err == nil && len(receipt.Running) == 0))
	end.cpu, end.ledgerCPU = cpuTime()-cpu, r.ledger.cpu()
	end.verdict = r.book.audit(receipt)
	return end, err
}

// watch shows the progress until all tasks have ended, or ctx has, or something broke. all is whether submitting ended,
// so that the channel has nothing more to say.
func (r *rig) watch(ctx context.Context, submitted <-chan error) (all bool, err error) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-submitted:
			if err != nil {
				return true, err
			}
			all, submitted = true, nil
		case <-tick.C:
			p := r.progress()
			r.screen.show(p)
			if all && p.done+p.failed >= p.submitted {
				return all, nil
			}
		case <-r.ledger.ended:
			return all, errors.New("the service has ended")
		case <-ctx.Done():
			return all, nil
		}
	}
}

// drain stops the scheduler, and goes on showing the progress while the last tasks run. broken is what ended the run, if
// that was an error: then nothing is waited for.
func (r *rig) drain(ctx context.Context, broken error) (receipt sched.Receipt, took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainWait)
	defer cancel()
	began := time.Now()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if broken != nil {
			receipt, err = r.sched.Stop(ctx)
		} else {
			receipt, err = r.sched.Drain(ctx)
		}
	}()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p := r.progress()
			p.draining = true
			r.screen.show(p)
		case <-done:
			p := r.progress()
			p.final = true
			r.screen.show(p)
			return receipt, time.Since(began), errors.Join(broken, err)
		}
	}
}

// failures keeps the first few tasks that did not succeed, and why.
type failures struct {
	mu    sync.Mutex
	first []string // guarded by mu
}

// note is called by ax for each task that ended.
func (f *failures) note(e sched.Event) {
	if e.Overrun || e.Task.State == ax.Success {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.first) < named {
		f.first = append(f.first, fmt.Sprintf("%s %s: %.200s", e.Task.ID, e.Task.State, e.Task.LastError()))
	}
}

func (f *failures) list() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first
}

// clockMoved returns by how much the wall clock was set between two instants, beside the time that passed. The ledger
// goes by the wall clock, as a service would.
func clockMoved(from, to time.Time) time.Duration {
	return to.Round(0).Sub(from.Round(0)) - to.Sub(from)
}
