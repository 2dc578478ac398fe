package bench

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"time"
)

// Options are the flags. A zero field means the scenario's default.
type Options struct {
	Rounds     int           // alternating runs of each subject; medians count
	Duration   time.Duration // of one offered window
	Tasks      int
	Rate       int // offered tasks per second
	Workers    int
	Store      string // memory
	Batch      int    // submissions per call
	Submitters int    // goroutines that submit
	Only       string // throughput: batched or ones; empty: both
	Peer       string // afterfunc, gocron; empty: both
	Table      bool   // seed-library: also few workers on a hundredth of the tasks
	GOGC       int    // percent, as debug.SetGCPercent takes it, for us and for peers; 0: recommendedGOGC
	Pending    int    // throughput: bound on the tasks that have not ended
}

// Scenario is one load with its bounds.
type Scenario struct {
	Name     string
	About    string
	Defaults Options // what zero Options mean here
	Tiny     Options // sizes that take about a second, for the smoke test
	run      func(ctx context.Context, o Options, r *Result) error
}

// Scenarios returns all scenarios, in the order of `axbench list`.
func Scenarios() []Scenario {
	return []Scenario{wheelScenario, throughputScenario, latenessScenario, seedScenario, memoryScenario, peersScenario, locScenario}
}

// Find returns the scenario with a name.
func Find(name string) (Scenario, bool) {
	for _, s := range Scenarios() {
		if s.Name == name {
			return s, true
		}
	}
	return Scenario{}, false
}

// Run runs the scenario and tells log how it goes. The Result is complete if the error is nil; that something in it is
// wrong is not an error.
func (s Scenario) Run(ctx context.Context, o Options, log io.Writer) (*Result, error) {
	o = o.or(s.Defaults)
	if o.Store != "memory" {
		return nil, fmt.Errorf("bench: store %q: memory is the only one", o.Store)
	}
	o.GOGC = cmp.Or(o.GOGC, recommendedGOGC)
	defer debug.SetGCPercent(debug.SetGCPercent(o.GOGC))
	r := newResult(s.Name, log)
	r.set("gogc", float64(o.GOGC))
	r.set("rounds", float64(max(o.Rounds, 1)))
	before := processCPU()
	if err := s.run(ctx, o, r); err != nil {
		return nil, fmt.Errorf("bench: %s: %w", s.Name, err)
	}
	r.set("cpu_s", (processCPU() - before).Seconds())
	r.setDefault("rss_bytes", float64(residentBytes()))
	r.finish()
	return r, nil
}

// or fills in what is zero from d.
func (o Options) or(d Options) Options {
	for _, f := range []struct{ p, d *int }{
		{&o.Rounds, &d.Rounds}, {&o.Tasks, &d.Tasks}, {&o.Rate, &d.Rate}, {&o.Workers, &d.Workers},
		{&o.Batch, &d.Batch}, {&o.Submitters, &d.Submitters}, {&o.GOGC, &d.GOGC}, {&o.Pending, &d.Pending},
	} {
		if *f.p == 0 {
			*f.p = *f.d
		}
	}
	if o.Duration == 0 {
		o.Duration = d.Duration
	}
	if o.Store == "" {
		o.Store = "memory"
	}
	if o.Only == "" {
		o.Only = d.Only
	}
	if o.Peer == "" {
		o.Peer = d.Peer
	}
	return o
}
