package main

import (
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

// progress counts what there is to show now.
func (r *rig) progress() progress {
	now := time.Now()
	return progress{elapsed: now.Sub(r.started), total: r.work.total, tally: tallyOf(r.sched.Stats()),
		view: r.book.view(r.started, now)}
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
