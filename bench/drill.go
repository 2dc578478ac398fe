package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"
)

var drillScenario = Scenario{
	Name:     "drill",
	About:    "a process with a journal is killed (kill -9) at random, again and again: nothing lost, no effect twice",
	Defaults: Options{Rounds: 200, Tasks: 60, Workers: 8, Duration: 2 * time.Minute, Store: onJournal, Kind: "kill"},
	Tiny:     Options{Rounds: 20, Duration: 30 * time.Second},
	stores:   onJournal,
	untimed:  true,
	run:      runDrill,
}

// drillWith is what a worker is told: one process of the drill.
type drillWith struct {
	Dir     string // of the journal
	Effects string // the database file
	Round   int    // from 0
	Seed    uint64
	Workers int
	Tasks   int           // to submit
	Poison  int           // of these: tasks that kill their process
	Again   []drillAgain  // to submit again: the process before was killed before it could tell of an answer
	Bare    bool          // without package once: to prove that the drill finds what it should
	Drain   time.Duration // not zero: submit nothing, wait until all have ended, for at most this long, and tell how
}

// drillAgain is a submission whose answer nobody knows.
type drillAgain struct {
	ID  string
	Due int64
}

// Processes live for a random time from killFrom to killTo from their start on, and one in openingEvery for less than
// killFrom, so that it dies while it opens.
const (
	killFrom     = 20 * time.Millisecond
	killTo       = 400 * time.Millisecond
	openingEvery = 8
)

// poisonEvery is how many rounds share one task that kills its process.
const poisonEvery = 8

// drill is the parent. It is never killed, and the ledger is in its memory.
type drill struct {
	o       Options
	bare    bool
	r       *Result
	rng     *rand.Rand
	dir     string
	ledger  *drillLedger
	kills   int // processes that were killed, by the parent or by a task
	opening int // of these: before they told anything
}

func runDrill(ctx context.Context, o Options, r *Result) error {
	if o.Kind != "kill" {
		return fmt.Errorf("kind %q: kill is the only one", o.Kind)
	}
	d, err := newDrill(ctx, o, r)
	if err != nil {
		return err
	}
	err = d.run(ctx)
	if len(r.Wrong) > 0 {
		r.progress("kept for a look: %s", d.dir)
		return err
	}
	return errors.Join(err, os.RemoveAll(d.dir))
}

func newDrill(ctx context.Context, o Options, r *Result) (*drill, error) {
	dir, err := os.MkdirTemp(o.Dir, "axbench-drill-")
	if err != nil {
		return nil, err
	}
	seed := rand.Uint64()
	r.progress("seed %d", seed)
	d := &drill{o: o, r: r, rng: rand.New(rand.NewPCG(seed, 0)), dir: dir, ledger: newDrillLedger()}
	if err := makeEffects(ctx, d.effects()); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return d, nil
}

func (d *drill) run(ctx context.Context) error {
	err := d.rounds(ctx)
	if err == nil {
		err = d.drain(ctx)
	}
	if ended, ok := errors.AsType[*workerError](err); ok { // the gravest result of all, and no reason not to tell the rest
		d.ledger.bad("%v", ended)
		err = nil
	}
	if err != nil {
		return err
	}
	e, err := openEffects(d.effects(), false)
	if err != nil {
		return err
	}
	counts, err := e.count(ctx)
	if err = errors.Join(err, e.close()); err != nil {
		return err
	}
	d.ledger.settle(counts)
	d.report()
	return nil
}

// workerError is a worker that ended by itself: it could not open what the one before left, or was refused something.
type workerError struct {
	round int
	err   error
}

func (e *workerError) Error() string {
	return fmt.Sprintf("the worker of round %d ended by itself: %v", e.round, e.err)
}

func (d *drill) rounds(ctx context.Context) error {
	for round := range d.o.Rounds {
		with := d.with(round)
		with.Tasks, with.Again = d.o.Tasks, d.ledger.unanswered()
		if round%poisonEvery == poisonEvery/2 {
			with.Poison = 1
		}
		if err := d.process(ctx, with, d.life(round)); err != nil {
			return err
		}
		if round%20 == 19 {
			d.r.progress("round %d: %d kills, %d tasks, %d attempts", round+1, d.kills, len(d.ledger.tasks), d.ledger.attempts)
		}
	}
	return nil
}

// life draws how long the process of a round lives.
func (d *drill) life(round int) time.Duration {
	from, to := killFrom, killTo
	if round%openingEvery == openingEvery-1 {
		from, to = time.Millisecond, killFrom
	}
	return from + time.Duration(d.rng.Int64N(int64(to-from)))
}

func (d *drill) effects() string { return d.dir + "/effects.sqlite3" }

func (d *drill) with(round int) drillWith {
	return drillWith{Dir: d.dir + "/journal", Effects: d.effects(), Round: round, Seed: d.rng.Uint64(), Workers: d.o.Workers, Bare: d.bare}
}

// process runs one worker, which is killed after a time unless that is zero, and notes all it tells.
func (d *drill) process(ctx context.Context, with drillWith, life time.Duration) error {
	c, err := startChild(ctx, "drill", with)
	if err != nil {
		return err
	}
	if life > 0 {
		timer := time.AfterFunc(life, c.kill)
		defer timer.Stop()
	}
	told := 0
	for c.lines.Scan() {
		d.ledger.hear(c.lines.Text())
		told++
	}
	err = errors.Join(c.lines.Err(), c.end())
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case c.killed():
		d.kills++
		if told == 0 {
			d.opening++
		}
		return nil
	case err != nil:
		return &workerError{with.Round, err}
	}
	return nil
}

// drain lets what is left end. Nobody kills a worker any more but the tasks that kill theirs, each at most a few times.
func (d *drill) drain(ctx context.Context) error {
	bound, cancel := context.WithTimeout(ctx, d.o.Duration)
	defer cancel()
	for round := d.o.Rounds; !d.ledger.drained; round++ {
		with := d.with(round)
		with.Drain = stall
		err := d.process(bound, with, 0)
		switch {
		case err != nil && ctx.Err() == nil && bound.Err() != nil:
			d.ledger.bad("not drained after %v and %d processes", d.o.Duration, round-d.o.Rounds+1)
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

func (d *drill) report() {
	l, r := d.ledger, d.r
	for _, line := range l.wrong {
		r.wrong("%s", line)
	}
	r.total.add(l.tally)
	r.set("kills", float64(d.kills))
	r.set("kills_while_opening", float64(d.opening))
	r.set("attempts", float64(l.attempts))
	r.set("poison", float64(l.poison))
	r.progress("%d kills (%d while opening), %d tasks, %d attempts: %d succeeded, %d poison tasks failed, lost %d, effects twice %d, held %d, early %d",
		d.kills, d.opening, l.tally.submitted, l.attempts, l.tally.succeeded, l.tally.failed, l.tally.lost, l.tally.duplicates, l.tally.held, l.tally.early)
}
