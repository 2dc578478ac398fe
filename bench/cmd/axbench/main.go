// Command axbench runs a load scenario and prints what it found:
//
//	axbench list
//	axbench SCENARIO [flags]        "axbench run SCENARIO" is the same
//
// Progress goes to stderr. With -json the last line of stdout is one JSON object. The exit status is 1 for a wrong result
// (a task early, lost or run twice, counts that do not add up, a metric that disagrees), 2 for bad usage, 3 if the
// scenario could not be run. A missed bound is reported and is not a failure.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"

	"github.com/axsched/ax/bench"
)

func main() {
	if status, is := bench.Child(); is { // a scenario started us again
		os.Exit(status)
	}
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	if len(args) > 1 && args[0] == "run" {
		args = args[1:]
	}
	if len(args) == 0 || args[0] == "list" {
		for _, s := range bench.Scenarios() {
			fmt.Printf("%-13s %s\n", s.Name, s.About)
		}
		return 0
	}
	scenario, ok := bench.Find(args[0])
	if !ok {
		fmt.Fprintf(os.Stderr, "axbench: no scenario %q; try axbench list\n", args[0])
		return 2
	}
	var o bench.Options // zero where no flag was given, so that a scenario may have other defaults for another peer
	var to profiles
	asJSON := false
	flags := flagsOf(scenario.Name, &o, bench.Options{}, &to, &asJSON)
	flags.Usage = func() {
		flagsOf(scenario.Name, new(bench.Options), scenario.Defaults, new(profiles), new(bool)).PrintDefaults()
	}
	if err := flags.Parse(args[1:]); err != nil {
		return 2
	}
	if flags.NArg() > 0 || o.Rounds < 0 || o.Tasks < 0 || o.Rate < 0 || o.Workers < 0 || o.Batch < 0 || o.Submitters < 0 || o.Duration < 0 {
		fmt.Fprintln(os.Stderr, "axbench: no argument may follow the flags, and no number may be negative")
		return 2
	}
	r, err := runScenario(scenario, o, to)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	if asJSON {
		line, err := r.MarshalJSON() // json.Marshal would escape < and >
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 3
		}
		fmt.Println(string(line))
	}
	if len(r.Wrong) > 0 {
		return 1
	}
	return 0
}

// flagsOf returns the flags of a scenario, with d as their defaults.
func flagsOf(scenario string, o *bench.Options, d bench.Options, to *profiles, asJSON *bool) *flag.FlagSet {
	flags := flag.NewFlagSet("axbench "+scenario, flag.ContinueOnError)
	flags.BoolVar(asJSON, "json", false, "print one JSON object on the last line")
	flags.StringVar(&to.cpu, "cpuprofile", "", "write a processor profile to this file")
	flags.StringVar(&to.allocs, "allocprofile", "", "write a profile of allocations to this file")
	flags.IntVar(&o.Rounds, "rounds", d.Rounds, "rounds of each subject, in turns")
	flags.DurationVar(&o.Duration, "duration", d.Duration, "length of an offered window")
	flags.IntVar(&o.Tasks, "tasks", d.Tasks, "how many tasks")
	flags.IntVar(&o.Rate, "rate", d.Rate, "tasks per second offered")
	flags.IntVar(&o.Workers, "workers", d.Workers, "handlers that may run at once")
	flags.StringVar(&o.Store, "store", d.Store, "where tasks are kept: memory or journal; empty for memory")
	flags.StringVar(&o.Dir, "dir", d.Dir, "where journals and databases get a directory of their own; empty for the current one")
	flags.IntVar(&o.Batch, "batch", d.Batch, "submissions per call")
	flags.IntVar(&o.Submitters, "submitters", d.Submitters, "goroutines that submit")
	flags.StringVar(&o.Only, "only", d.Only, "throughput: batched or ones; restart: clean or kill; peers -peer river-sqlite: now; empty for all")
	flags.StringVar(&o.Peer, "peer", d.Peer, "gocron, afterfunc or river-sqlite; empty for the first two")
	flags.StringVar(&o.Kind, "kind", d.Kind, "drill: what goes wrong")
	flags.BoolVar(&o.Table, "table", d.Table, "seed-library: also 4, 8, 16 and 32 workers on a hundredth of the tasks")
	flags.IntVar(&o.GOGC, "gogc", d.GOGC, "the collector's target, in percent, for ax and peers alike")
	flags.IntVar(&o.Pending, "pending", d.Pending, "throughput: bound on the tasks that have not ended, at which a submit waits")
	return flags
}

// profiles are where to write profiles to; empty: none.
type profiles struct{ cpu, allocs string }

func runScenario(s bench.Scenario, o bench.Options, to profiles) (*bench.Result, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if to.allocs != "" {
		f, err := os.Create(to.allocs)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		defer pprof.Lookup("allocs").WriteTo(f, 0)
	}
	if to.cpu != "" {
		f, err := os.Create(to.cpu)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return nil, err
		}
		defer pprof.StopCPUProfile()
	}
	return s.Run(ctx, o, os.Stderr)
}
