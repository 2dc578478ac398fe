package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// options are the flags, checked.
type options struct {
	n       int
	spread  time.Duration
	workers int
	tasks   string
	skipBad bool
	seed    uint64
	plain   bool
	quiet   bool
	dir     string // where the run is kept; not used in memory
	memory  bool
	fresh   bool
	set     map[string]bool // flags that were given
}

// The bounds of a drawn workload.
const (
	maxTasks  = 10_000_000
	maxSpread = 24 * time.Hour
)

const usage = `orders: 100,000 tasks of a shop on ax, checked by an outside ledger.

  orders                     the workload of the article
  orders -n 5000 -spread 5s  a smaller one
  orders -tasks FILE         your own tasks, JSON lines or CSV ("-": stdin)
  orders -memory             nothing on disk

Ctrl-C drains and prints the receipt, a second one exits at once. The next start continues the run, also one that was
killed; after a run that is done it begins another.

`

// parseFlags reads the flags. What is wrong with them has been written to stderr when it returns an error;
// flag.ErrHelp means that help was asked for.
func parseFlags(args []string, stderr io.Writer) (options, error) {
	var o options
	fs := flag.NewFlagSet("orders", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		io.WriteString(stderr, usage)
		fs.PrintDefaults()
	}
	fs.IntVar(&o.n, "n", 100_000, "how many `tasks`")
	fs.DurationVar(&o.spread, "spread", 30*time.Second, "delays are drawn from 0 to this")
	fs.IntVar(&o.workers, "workers", 2_000, "how many tasks may run at once")
	fs.StringVar(&o.tasks, "tasks", "", "read the tasks from `FILE` instead, JSON lines or CSV (\"-\": stdin)")
	fs.BoolVar(&o.skipBad, "skip-bad", false, "with -tasks: list bad lines and run the others")
	fs.Uint64Var(&o.seed, "seed", 1, "of the random delays")
	fs.BoolVar(&o.plain, "plain", false, "a line a second, also in a terminal")
	fs.BoolVar(&o.quiet, "quiet", false, "no progress, only the report")
	fs.StringVar(&o.dir, "dir", defaultDir(), "keep the run in `DIR`")
	fs.BoolVar(&o.memory, "memory", false, "keep the run in memory: it ends with the program")
	fs.BoolVar(&o.fresh, "fresh", false, "begin anew, also if there is a run to continue, without what was there")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if err := o.check(fs); err != nil {
		fmt.Fprintf(stderr, "orders: %v (orders -h lists the flags)\n", err)
		return o, err
	}
	return o, nil
}

// defaultDir is where a run is kept if nobody says where; "" if the system has no place for it.
func defaultDir() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "ax-orders")
}

func (o *options) check(fs *flag.FlagSet) error {
	var drawn []string // flags that say what the drawn workload is
	o.set = make(map[string]bool)
	fs.Visit(func(f *flag.Flag) {
		o.set[f.Name] = true
		if f.Name == "n" || f.Name == "spread" || f.Name == "seed" {
			drawn = append(drawn, "-"+f.Name)
		}
	})
	switch {
	case fs.NArg() > 0:
		return fmt.Errorf("unexpected argument %q: tasks are read with -tasks FILE", fs.Arg(0))
	case o.n < 1 || o.n > maxTasks:
		return fmt.Errorf("-n %d: from 1 to 10,000,000 tasks", o.n)
	case o.spread < 0 || o.spread > maxSpread:
		return fmt.Errorf("-spread %v: from 0 to 24h", o.spread)
	case o.workers < 1 || o.workers > 20_000:
		return fmt.Errorf("-workers %d: from 1 to 20,000, each may hold a connection", o.workers)
	case o.tasks != "" && len(drawn) > 0:
		return fmt.Errorf("%s and -tasks: the file says how many tasks there are, and when", strings.Join(drawn, ", "))
	case o.tasks == "" && o.skipBad:
		return errors.New("-skip-bad needs -tasks FILE")
	case o.memory && (o.fresh || o.set["dir"]):
		return errors.New("-memory keeps nothing on disk: leave out -dir and -fresh")
	case !o.memory && o.dir == "":
		return errors.New("there is no directory for caches here: say with -dir where the run is kept, or use -memory")
	}
	return nil
}
