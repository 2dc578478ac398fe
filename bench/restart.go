package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

var restartScenario = Scenario{
	Name:     "restart",
	About:    "a journal full of tasks far off, closed or killed, and opened by a new process: how long until the first task runs",
	Defaults: Options{Rounds: 1, Tasks: 1_000_000, Store: onJournal},
	Tiny:     Options{Rounds: 1, Tasks: 3_000},
	stores:   onJournal,
	run:      runRestart,
}

// Beside the tasks far off, which are due from an hour on over a day, a journal holds some that are due already when it is
// opened, and some that become due soon after the last of them was submitted.
const (
	restartDue   = 100
	restartSoon  = 300
	restartAfter = time.Second          // until the first of those that are due soon, for the end of one process and the start of another,
	restartEach  = 3 * time.Microsecond // and for what that has to read: for each task far off
	restartOver  = 2 * time.Second      // from the first of them to the last
)

// restartWith is what both parts are told.
type restartWith struct {
	Dir             string
	Far, Due, Soon  int
	GOGC            int
	After, WaitMost time.Duration
}

// restartFilled is what the part that fills tells.
type restartFilled struct {
	PerSecond float64 // acknowledged
	Held      int64   // bytes of heap and stacks, settled, above those before the first task
}

// restartOpened is what the part that opens tells.
type restartOpened struct {
	Open, Start, First  time.Duration // the journal is open; the scheduler has started; the first handler has begun: all from the start
	Late                []int64       // ns, sorted: of the tasks that became due after the start
	Ran, Again          int           // tasks that ran, and starts beyond the first of a task
	Early, Far, Pending int           // started too early; far off and ran; not ended, by ax's count, in the end
	Held                int64         // bytes of heap and stacks, settled
}

func runRestart(ctx context.Context, o Options, r *Result) error {
	if o.Only != "" && o.Only != "clean" && o.Only != "kill" {
		return fmt.Errorf("only %q: clean and kill are known", o.Only)
	}
	empty, _, err := restartOnce(ctx, o, r, 0, false)
	if err != nil {
		return err
	}
	var first, open, late, live, opened, disk []float64
	for range o.Rounds {
		for _, kill := range []bool{false, true} {
			if o.Only == "clean" && kill || o.Only == "kill" && !kill {
				continue
			}
			got, filled, err := restartOnce(ctx, o, r, o.Tasks, kill)
			if err != nil {
				return err
			}
			row := Row{"what": "closed", "tasks": o.Tasks, "first_ms": millis(got.First), "open_ms": millis(got.Open),
				"start_ms": millis(got.Start), "soon_p99_ms": inMillis(quantile(got.Late, 0.99)), "filled_per_s": filled.PerSecond,
				"disk_bytes_per_task": filled.disk, "bytes_per_task": float64(filled.Held) / float64(o.Tasks),
				"bytes_per_task_opened": float64(got.Held-empty.Held) / float64(o.Tasks)}
			if kill {
				row["what"] = "killed"
			}
			r.row(row)
			first, open = append(first, millis(got.First)), append(open, millis(got.Open))
			late = append(late, inMillis(quantile(got.Late, 0.99)))
			live, opened = append(live, row["bytes_per_task"].(float64)), append(opened, row["bytes_per_task_opened"].(float64))
			disk = append(disk, filled.disk)
		}
	}
	r.set("max_ms", maxOf(first))
	r.set("open_ms", maxOf(open))
	r.set("p99_ms", maxOf(late))
	r.set("bytes_per_task", maxOf(live))
	r.set("bytes_per_task_opened", maxOf(opened))
	r.set("disk_bytes_per_task", maxOf(disk))
	r.atMost("ms from the opening to the first task", maxOf(first), 3000)
	return nil
}

// filled is what came of filling, and the bytes on the disk for each task.
type filled struct {
	restartFilled
	disk float64
}

// restartOnce fills a journal with far tasks far off, ends the process that did, and opens the journal in another one.
func restartOnce(ctx context.Context, o Options, r *Result, far int, kill bool) (got restartOpened, was filled, err error) {
	dir, err := os.MkdirTemp(o.Dir, "axbench-restart-")
	if err != nil {
		return got, was, err
	}
	defer os.RemoveAll(dir)
	with := restartWith{Dir: dir, Far: far, Due: restartDue, Soon: restartSoon, GOGC: o.GOGC,
		After: restartAfter + time.Duration(far)*restartEach, WaitMost: stall}
	c, err := startChild(ctx, "restart-fill", with)
	if err != nil {
		return got, was, err
	}
	if err := c.tells(&was.restartFilled); err != nil {
		return got, was, err
	}
	if kill {
		c.kill()
	}
	if err := c.end(); err != nil && !(kill && c.killed()) {
		return got, was, err
	}
	bytes, err := diskBytes(dir)
	if err != nil {
		return got, was, err
	}
	was.disk = float64(bytes) / float64(max(far, 1))
	if c, err = startChild(ctx, "restart-open", with); err != nil {
		return got, was, err
	}
	if err := errors.Join(c.tells(&got), c.end()); err != nil {
		return got, was, err
	}
	r.add(got.tally(with))
	r.progress("%d far off, killed %v: open after %v, first task after %v", far, kill, got.Open.Round(time.Millisecond),
		got.First.Round(time.Millisecond))
	return got, was, nil
}

// tally counts what was asked of the first process and what the second did.
func (got restartOpened) tally(with restartWith) tally {
	near := with.Due + with.Soon
	t := tally{submitted: with.Far + near, succeeded: got.Ran, pending: got.Pending, early: got.Early, duplicates: got.Again,
		ledgerStarted: got.Ran, lost: max(with.Far+near-got.Ran-got.Pending, 0)}
	if got.Far > 0 {
		t.faults = append(t.faults, fmt.Sprintf("%d tasks ran that are due in an hour or later", got.Far))
	}
	return t
}

// tells reads a line of JSON from the child.
func (c *child) tells(v any) error {
	line, err := c.next()
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(line), v)
}

func millis(d time.Duration) float64 { return inMillis(int64(d)) }

func maxOf(list []float64) (most float64) {
	for _, v := range list {
		most = max(most, v)
	}
	return most
}
