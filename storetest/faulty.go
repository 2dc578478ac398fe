package storetest

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/axsched/ax"
)

// Faulty is a store that fails as its plan says: by the number of the call, so that a run with the same calls fails the
// same way again. Where the plan says nothing it is the store it wraps, and its optional capabilities are not.
//
// A plan has a line for each fault, and # begins a comment:
//
//	method calls effect
//
// The method is one of submit, open, scan, apply, get, prune. Calls are counted for each method from 1, and written 3, 3-5,
// 3- (from the third on) or * (all). An Apply counts once, however many batches it carries. The effects are
//
//	refuse   nothing is done; the answer is ErrUnknown all the same
//	lose     it is done; the answer is ErrUnknown
//	nospace  as if the store were full: Submit, and each batch of Apply that creates tasks, and those of its partition after
//	         it, are refused with ErrNoSpace (ErrGap after it); the rest is done
//	hold     Hold is called before it is done: to wait in, or to change something
//	holdafter  Hold is called after it is done, before it is answered
//
// The first line that fits a call decides.
type Faulty struct {
	ax.Store
	// Hold is called by the faults hold and holdafter, with the method and the number of the call. Immutable.
	Hold func(ctx context.Context, method string, call int)

	plan []fault

	mu    sync.Mutex     // guards calls
	calls map[string]int // so far, by method
}

// fault is one line of a plan.
type fault struct {
	method   string
	from, to int // both inclusive
	effect   string
}

// NewFaulty wraps a store with the plan. The error says which line of the plan is none.
func NewFaulty(store ax.Store, plan string) (*Faulty, error) {
	f := &Faulty{Store: store, Hold: func(context.Context, string, int) {}, calls: map[string]int{}}
	lines := bufio.NewScanner(strings.NewReader(plan))
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		one, err := readFault(words)
		if err != nil {
			return nil, fmt.Errorf("storetest: plan line %d %.80q: %w", n, line, err)
		}
		f.plan = append(f.plan, one)
	}
	return f, nil
}

// always is later than any call.
const always = int(^uint(0) >> 1)

func readFault(words []string) (f fault, err error) {
	if len(words) != 3 {
		return f, fmt.Errorf("want three words: method calls effect")
	}
	f = fault{method: words[0], from: 1, to: always, effect: words[2]}
	if !slices.Contains([]string{"submit", "open", "scan", "apply", "get", "prune"}, f.method) {
		return f, fmt.Errorf("no method %q", f.method)
	}
	if !slices.Contains([]string{"refuse", "lose", "nospace", "hold", "holdafter"}, f.effect) {
		return f, fmt.Errorf("no effect %q", f.effect)
	}
	if words[1] == "*" {
		return f, nil
	}
	from, to, span := strings.Cut(words[1], "-")
	if f.from, err = strconv.Atoi(from); err != nil || f.from < 1 {
		return f, fmt.Errorf("calls %q: want 3, 3-5, 3- or *", words[1])
	}
	switch {
	case !span:
		f.to = f.from
	case to != "":
		if f.to, err = strconv.Atoi(to); err != nil || f.to < f.from {
			return f, fmt.Errorf("calls %q: want 3, 3-5, 3- or *", words[1])
		}
	}
	return f, nil
}

// Calls returns how often a method was called so far.
func (f *Faulty) Calls(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[method]
}

// around counts a call and does it with the effect the plan has for it.
func (f *Faulty) around(ctx context.Context, method string, do func() error, nospace func() error) error {
	f.mu.Lock()
	f.calls[method]++
	n := f.calls[method]
	f.mu.Unlock()
	effect := ""
	if i := slices.IndexFunc(f.plan, func(l fault) bool { return l.method == method && l.from <= n && n <= l.to }); i >= 0 {
		effect = f.plan[i].effect
	}
	switch effect {
	case "refuse":
		return ax.ErrUnknown
	case "lose":
		if err := do(); err != nil {
			return err
		}
		return ax.ErrUnknown
	case "nospace":
		return nospace()
	case "hold":
		f.Hold(ctx, method, n)
	case "holdafter":
		defer f.Hold(ctx, method, n)
	}
	return do()
}

func full() error { return ax.ErrNoSpace }

// Submit is the store's, with faults.
func (f *Faulty) Submit(ctx context.Context, p ax.Partition, entries []ax.Entry) (answers []ax.Answer, err error) {
	err = f.around(ctx, "submit", func() (err error) {
		answers, err = f.Store.Submit(ctx, p, entries)
		return err
	}, full)
	if err != nil {
		answers = nil
	}
	return answers, err
}

// Open is the store's, with faults.
func (f *Faulty) Open(ctx context.Context, p ax.Partition, token ax.Token) (o ax.Opened, err error) {
	err = f.around(ctx, "open", func() (err error) {
		o, err = f.Store.Open(ctx, p, token)
		return err
	}, full)
	if err != nil {
		o = ax.Opened{}
	}
	return o, err
}

// Scan is the store's, with faults.
func (f *Faulty) Scan(ctx context.Context, req ax.ScanRequest) (page ax.Page, err error) {
	err = f.around(ctx, "scan", func() (err error) {
		page, err = f.Store.Scan(ctx, req)
		return err
	}, full)
	if err != nil {
		page = ax.Page{}
	}
	return page, err
}

// Apply is the store's, with faults. A fault that loses the answer loses it for every batch that was applied.
func (f *Faulty) Apply(ctx context.Context, batches []*ax.Batch) []error {
	errs := make([]error, len(batches))
	err := f.around(ctx, "apply", func() error {
		copy(errs, f.Store.Apply(ctx, batches))
		return nil
	}, func() error {
		f.applyFull(ctx, batches, errs)
		return nil
	})
	for i := range errs {
		if errs[i] == nil {
			errs[i] = err
		}
	}
	return errs
}

// applyFull applies what creates no task.
func (f *Faulty) applyFull(ctx context.Context, batches []*ax.Batch, errs []error) {
	failed := map[ax.Partition]bool{}
	var rest []*ax.Batch
	var at []int
	for i, b := range batches {
		switch {
		case failed[b.Partition]:
			errs[i] = ax.ErrGap
		case len(b.Create) > 0:
			errs[i], failed[b.Partition] = ax.ErrNoSpace, true
		default:
			rest, at = append(rest, b), append(at, i)
		}
	}
	for i, err := range f.Store.Apply(ctx, rest) {
		errs[at[i]] = err
	}
}

// Get is the store's, with faults.
func (f *Faulty) Get(ctx context.Context, id string) (t *ax.Task, err error) {
	err = f.around(ctx, "get", func() (err error) {
		t, err = f.Store.Get(ctx, id)
		return err
	}, full)
	if err != nil {
		t = nil
	}
	return t, err
}

// Prune is the store's, with faults.
func (f *Faulty) Prune(ctx context.Context, p ax.Partition, token ax.Token, now ax.Time, keep int) (floor ax.Time, err error) {
	err = f.around(ctx, "prune", func() (err error) {
		floor, err = f.Store.Prune(ctx, p, token, now, keep)
		return err
	}, full)
	if err != nil {
		floor = 0
	}
	return floor, err
}
