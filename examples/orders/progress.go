package main

import (
	"fmt"
	"time"

	"github.com/axsched/ax/sched"
)

// progress is what is shown while the program runs.
type progress struct {
	elapsed time.Duration
	total   int
	tally
	view
	draining bool
	final    bool // the last one
}

// tally is how many tasks stand where, as ax counts them.
type tally struct {
	submitted, waiting, running, done, failed int
}

func tallyOf(st sched.Stats) tally {
	return tally{
		submitted: st.Submitted,
		waiting:   st.Scheduled,
		running:   st.Running,
		done:      st.Succeeded,
		failed:    st.Failed + st.TimedOut + st.Canceled,
	}
}

// tally counts the tasks of the run, those that had ended before this start too.
func (r *rig) tally() tally {
	t := tallyOf(r.sched.Stats())
	t.submitted += r.before.submitted
	t.done += r.before.done
	t.failed += r.before.failed
	return t
}

// progress counts what there is to show now.
func (r *rig) progress() progress {
	now := time.Now()
	return progress{elapsed: now.Sub(r.started), total: r.work.total, tally: r.tally(), view: r.book.view(r.started, now)}
}

// title says what is going to run, and where it is kept.
func (r *rig) title() string {
	what := plural(r.work.total, "task") + " " + r.work.name
	kept := "in memory"
	if r.home != nil {
		kept = "in " + r.home.dir
		if run := r.home.run; r.home.continuing {
			done := r.book.doneBefore()
			what = fmt.Sprintf("continuing run %d of %s: %s of %s done, %s to go", run.Number,
				run.Started.Local().Format(time.DateTime), count(done), what, count(r.work.total-done))
		}
	}
	return fmt.Sprintf("%s, %s, %s, service %s (pid %d)", what, kept, plural(r.workers, "worker"), r.ledger.addr, r.ledger.pid)
}

// screen shows the progress.
type screen interface {
	title(r *rig)    // once, before the first progress
	show(p progress) // ten times a second; a screen leaves out what is too often for it
}

// screen chooses how to show the progress on a paper.
func (o *options) screen(p *paper) screen {
	switch {
	case o.quiet:
		return quiet{}
	case o.plain || !p.terminal:
		return &plain{paper: p}
	}
	return &live{paper: p}
}

// quiet shows nothing.
type quiet struct{}

func (quiet) title(*rig)    {}
func (quiet) show(progress) {}
