package storetest

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/axsched/ax"
)

// Harness is one empty store for one case, and what the suite may do with it.
type Harness struct {
	Store      ax.Store
	Registry   ax.Registry // of the same system: it grants the tokens
	Partitions int         // 1 or more; from 2 on the suite also checks that they are apart

	// Reopen closes store and registry in good order and opens them again, for backends that outlive it; else nil.
	Reopen func() (ax.Store, ax.Registry)

	// OwnerDecides says that the store has no id records at hand when Submit is called (a log): a repeat of what was
	// admitted may come into the inbox again, and its owner recognises it.
	OwnerDecides bool

	// Patience is how long to wait for another goroutine; 0 means a minute, far more than any healthy store needs.
	Patience time.Duration
}

// Case is one sentence of the contract.
type Case struct {
	Name     string
	Contract string
	Run      func(*T)
}

// Cases returns the suite, in the order of the contract.
func Cases() []Case {
	var all []Case
	for _, part := range [][]Case{taskCases(), batchCases(), fenceCases(), inboxCases(), answerCases(), scanCases(), recordCases(), restCases(), pipeCases(), lifeCases()} {
		all = append(all, part...)
	}
	return all
}

// Run runs every case as a subtest on a harness of its own.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			failures, skipped := Check(c, open(t))
			for _, f := range failures {
				t.Errorf("%s\n\tcontract: %s", f, c.Contract)
			}
			if skipped != "" {
				t.Skip(skipped)
			}
		})
	}
}

// Check runs one case and returns what it found wrong, and why it was not run if it was not.
func Check(c Case, h Harness) (failures []string, skipped string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	t := &T{Harness: h, ctx: ctx}
	defer func() {
		failures = t.failures
		switch stop := recover().(type) {
		case nil, stopCase:
			skipped = string(stopReason(stop))
		default:
			panic(stop)
		}
	}()
	c.Run(t)
	return
}

// stopCase is thrown to end a case: after a failure that makes the rest pointless (""), or to skip it (why).
type stopCase string

func stopReason(v any) stopCase {
	s, _ := v.(stopCase)
	return s
}

// T is what a case works with. Errorf may be called from any goroutine, the rest from the case's own.
type T struct {
	Harness
	ctx    context.Context // ends with the case
	leases map[ax.Partition]ax.Lease

	mu       sync.Mutex // guards failures
	failures []string
}

// Errorf notes a failure, with the line of the case.
func (t *T) Errorf(format string, args ...any) {
	where := ""
	for skip := 1; skip < 8; skip++ {
		_, file, line, ok := runtime.Caller(skip)
		base := filepath.Base(file)
		if ok && base != "kit.go" && base != "owner.go" {
			where = fmt.Sprintf("%s:%d: ", base, line)
			break
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failures = append(t.failures, where+fmt.Sprintf(format, args...))
}

// Fatalf notes a failure and ends the case.
func (t *T) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	panic(stopCase(""))
}

// Need skips the case if the harness lacks something.
func (t *T) Need(ok bool, what string) {
	if !ok {
		panic(stopCase(what))
	}
}

// patience is how long a wait for another goroutine may take.
func (t *T) patience() time.Duration { return cmp.Or(t.Patience, time.Minute) }

// wait ends the case unless c delivers in time.
func wait[V any](t *T, c <-chan V, what string) V {
	select {
	case v, open := <-c:
		if !open {
			t.Fatalf("the channel was closed instead of %s", what)
		}
		return v
	case <-time.After(t.patience()):
		t.Fatalf("waited %v for %s", t.patience(), what)
		panic("not reached")
	}
}
