package bench

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// Options are the flags. A zero field means the scenario's default.
type Options struct {
	Rounds     int           // alternating runs of each subject; medians count
	Duration   time.Duration // of one offered window
	Tasks      int
	Rate       int // offered tasks per second
	Workers    int
	Store      string // memory or journal
	Dir        string // where a journal, or another file of a scenario, gets a directory of its own; empty: here
	Batch      int    // submissions per call
	Submitters int    // goroutines that submit
	Only       string // throughput: batched or ones; restart: clean or kill; river-sqlite: now; empty: all
	Peer       string // afterfunc, gocron, river-sqlite; empty: the first two
	Kind       string // drill: kill
	Table      bool   // seed-library: also few workers on a hundredth of the tasks
	GOGC       int    // percent, as debug.SetGCPercent takes it, for us and for peers; 0: recommendedGOGC
	Pending    int    // throughput: bound on the tasks that have not ended
}

// Scenario is one load with its bounds.
type Scenario struct {
	Name     string
	About    string
	Defaults Options // what zero Options mean here
	Tiny     Options // sizes that take a few seconds at most, for the smoke test
	stores   string  // what -store may say; empty: memory only
	untimed  bool    // what it finds does not depend on how fast the disk is
	run      func(ctx context.Context, o Options, r *Result) error
}

// Scenarios returns all scenarios, in the order of `axbench list`.
func Scenarios() []Scenario {
	return []Scenario{wheelScenario, throughputScenario, latenessScenario, seedScenario, memoryScenario,
		peersScenario, restartScenario, drillScenario, locScenario}
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

// most is how long a run may take: longer than any, so that one whose store is stuck ends and says so.
const most = 30 * time.Minute

// Run runs the scenario and tells log how it goes. The Result is complete if the error is nil; that something in it is
// wrong is not an error.
func (s Scenario) Run(ctx context.Context, o Options, log io.Writer) (*Result, error) {
	d := s.Defaults
	if o.Peer == riverPeer {
		d = riverDefaults
	}
	o = o.or(d)
	if !slices.Contains(s.on(), o.Store) {
		return nil, fmt.Errorf("bench: %s: store %q: want one of %v", s.Name, o.Store, s.on())
	}
	o.GOGC = cmp.Or(o.GOGC, recommendedGOGC)
	defer debug.SetGCPercent(debug.SetGCPercent(o.GOGC))
	ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("not done after %v", most))
	defer cancel()
	before := processCPU()
	r := newResult(s.Name, log)
	err := error(nil)
	if o.Store == onJournal && !s.untimed {
		r, err = s.onDisk(ctx, o, log, quiet)
	} else {
		err = s.run(ctx, o, r)
	}
	if err != nil {
		return nil, fmt.Errorf("bench: %s: %w", s.Name, err)
	}
	r.set("gogc", float64(o.GOGC))
	r.set("rounds", float64(max(o.Rounds, 1)))
	r.set("cpu_s", (processCPU() - before).Seconds())
	r.setDefault("rss_bytes", float64(residentBytes()))
	r.finish()
	return r, nil
}

// on returns the stores that the scenario can be run on.
func (s Scenario) on() []string { return strings.Fields(cmp.Or(s.stores, inMemory)) }

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
	o.Store = cmp.Or(o.Store, d.Store, inMemory)
	o.Dir = cmp.Or(o.Dir, d.Dir, ".")
	o.Only = cmp.Or(o.Only, d.Only)
	o.Peer = cmp.Or(o.Peer, d.Peer)
	o.Kind = cmp.Or(o.Kind, d.Kind)
	return o
}
