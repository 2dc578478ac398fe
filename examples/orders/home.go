package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/journal"
)

// home is the directory that a run survives in. One process has it open: the lock of the journal sees to that.
//
//	run.json    which run there is; written before its first task is submitted
//	store-1/    the journal; later runs go on with it, -fresh begins another
//	acked-3     which tasks of run 3 ax has acknowledged, and when
//	ledger-3.2  what the service was asked for while run 3 was started for the second time
//	tasks-3     a copy of the tasks file, if the tasks of run 3 are from one
type home struct {
	dir        string
	run        *runFile
	store      string // directory of the journal
	backend    *journal.Backend
	continuing bool // the run was begun by an earlier start
	notes      *notes
}

var (
	storeName = regexp.MustCompile(`^store-\d+$`)
	ours      = regexp.MustCompile(`^(store|acked|ledger|tasks)-(\d+)(\.\d+)?$`)
)

// usageError is what the flags are to blame for.
type usageError struct{ error }

// openHome opens the directory of a run: the one that is to be continued, or a new one of the workload w.
func openHome(o *options, w workload) (*home, error) {
	h := &home{dir: o.dir}
	if err := h.take(o, w); err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

func (h *home) take(o *options, w workload) (err error) {
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		return err
	}
	if h.run, err = h.lock(o, w.total); err != nil {
		return err
	}
	if h.continuing = h.run != nil && !h.run.Finished && !o.fresh; h.continuing {
		err = h.same(o, w)
	} else {
		err = h.begin(o, w)
	}
	if err != nil {
		return err
	}
	h.clean()
	h.notes, err = openNotes(h.name("acked"), h.run.Total)
	return err
}

// lock opens the journal that the run file names, and returns the file as it stands while nobody else can change it; nil
// if there is none. What -fresh is going to leave behind need not be whole.
func (h *home) lock(o *options, total int) (*runFile, error) {
	for {
		run, err := readRun(h.dir)
		if err != nil && !o.fresh {
			return nil, err
		}
		h.store = fmt.Sprint("store-", max(h.highest("store"), 1))
		if run != nil {
			h.store = run.Store
			if !run.Finished && !o.fresh {
				total = run.Total
			}
		}
		err = h.open(total)
		if corrupt := (*journal.Corrupt)(nil); err != nil && !(o.fresh && errors.As(err, &corrupt)) {
			return nil, err
		}
		now, err := readRun(h.dir)
		if err != nil && !o.fresh {
			return nil, err
		}
		if reflect.DeepEqual(now, run) {
			return run, nil
		}
		if err := h.shut(); err != nil { // another start was between the two
			return nil, err
		}
	}
}

// open opens the journal.
func (h *home) open(total int) (err error) {
	// The archive keeps all of the run, to count what failed in earlier starts. No Logger: trouble says it.
	h.backend, err = journal.Open(filepath.Join(h.dir, h.store), journal.Config{Keep: max(total, 100_000)})
	return err
}

// same checks that the flags ask for the run that is there.
func (h *home) same(o *options, w workload) error {
	run := h.run
	ok := true
	switch {
	case o.tasks != "":
		kept, err := os.ReadFile(h.name("tasks"))
		ok = run.Source != "" && err == nil && bytes.Equal(kept, w.input)
	case run.Source != "":
		ok = !o.set["n"] && !o.set["spread"] && !o.set["seed"]
	default:
		ok = (!o.set["n"] || o.n == run.Total) && (!o.set["spread"] || o.spread == run.Spread) && (!o.set["seed"] || o.seed == run.Seed)
	}
	if ok {
		return nil
	}
	return usageError{fmt.Errorf("run %d in %s has other tasks and is not done: without -n, -spread, -seed and -tasks it is continued, with -fresh another begins",
		run.Number, h.dir)}
}

// begin begins a new run. The run file is the switch: what it names is there before, and what it no longer names is
// removed after.
func (h *home) begin(o *options, w workload) error {
	last := max(h.highest("acked"), h.highest("ledger"), h.highest("tasks"))
	if h.run != nil {
		last = max(last, h.run.Number)
	}
	if o.fresh {
		h.store = fmt.Sprint("store-", h.highest("store")+1)
	}
	h.run = &runFile{Version: runVersion, Number: last + 1, Store: h.store, Started: time.Now(), Total: w.total}
	if _, err := w.prefixed(h.run.prefix()); err != nil {
		return err
	}
	if w.input == nil {
		h.run.Spread, h.run.Seed = o.spread, o.seed
	} else {
		h.run.Source, h.run.SkipBad = w.source, o.skipBad
		if err := writeFile(h.name("tasks"), w.input); err != nil {
			return err
		}
	}
	if err := h.run.write(h.dir); err != nil || !o.fresh {
		return err
	}
	old := h.backend
	err := h.open(h.run.Total)
	if old != nil { // until now, so that nobody else took it up
		err = errors.Join(err, old.Close())
	}
	return err
}

// workload returns the workload of the run: w if it is new.
func (h *home) workload(w workload) (workload, error) {
	switch {
	case !h.continuing:
	case h.run.Source == "":
		w = drawn(h.run.Total, h.run.Spread, h.run.Seed)
	default:
		b, err := os.ReadFile(h.name("tasks"))
		if err != nil {
			return w, err
		}
		f, err := readInput(context.Background(), h.run.Source, bytes.NewReader(b))
		if err == nil && (len(f.tasks) != h.run.Total || f.bad > 0 && !h.run.SkipBad) {
			err = fmt.Errorf("%s holds other tasks than the run began with: -fresh begins anew, without what was there", h.name("tasks"))
		}
		if err != nil {
			return w, err
		}
		w = listed(f)
	}
	return w.prefixed(h.run.prefix())
}

// name returns where a file of the run is.
func (h *home) name(what string) string {
	return filepath.Join(h.dir, fmt.Sprint(what, "-", h.run.Number))
}

// highest returns the highest number that a file or directory of a kind has, 0 if there is none.
func (h *home) highest(kind string) (n int) {
	entries, _ := os.ReadDir(h.dir)
	for _, e := range entries {
		if m := ours.FindStringSubmatch(e.Name()); m != nil && m[1] == kind {
			number, _ := strconv.Atoi(m[2])
			n = max(n, number)
		}
	}
	return n
}

// clean removes what earlier runs have left. What cannot be removed is tried again by the next start.
func (h *home) clean() {
	entries, _ := os.ReadDir(h.dir)
	for _, e := range entries {
		m := ours.FindStringSubmatch(e.Name())
		if m == nil || e.Name() == h.run.Store || m[1] != "store" && m[2] == strconv.Itoa(h.run.Number) {
			continue
		}
		os.RemoveAll(filepath.Join(h.dir, e.Name()))
	}
}

// ledgers returns the ledgers of the run's starts so far, and where the next one is.
func (h *home) ledgers() (written []string, next string) {
	for i := 1; ; i++ {
		next = fmt.Sprint(h.name("ledger"), ".", i)
		if _, err := os.Stat(next); err != nil {
			return written, next
		}
		written = append(written, next)
	}
}

// failed counts the tasks that earlier starts have seen fail.
func (h *home) failed(ctx context.Context) (n int, err error) {
	for _, state := range []ax.State{ax.Failed, ax.Timeout, ax.Canceled} {
		q := ax.Query{Prefix: h.run.prefix(), State: state, Limit: 1000}
		for {
			page, err := h.backend.Archive().Query(ctx, q)
			if err != nil {
				return n, err
			}
			n += len(page.Tasks)
			if q.Page = page.Next; q.Page == "" {
				break
			}
		}
	}
	return n, nil
}

// finish notes that the run is done: the next start begins another.
func (h *home) finish() error {
	h.run.Finished = true
	return h.run.write(h.dir)
}

// shut closes the journal, which lets others in.
func (h *home) shut() error {
	if h.backend == nil {
		return nil
	}
	err := h.backend.Close()
	h.backend = nil
	return err
}

// close closes everything.
func (h *home) close() error {
	if h.notes == nil {
		return h.shut()
	}
	return errors.Join(h.notes.close(), h.shut())
}
