package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/axsched/ax"
	"github.com/axsched/ax/memory"
	"github.com/axsched/ax/storetest"
)

// TestFaulty walks a plan, effect by effect, and looks at what the store holds after it.
func TestFaulty(t *testing.T) {
	ctx := context.Background()
	m := memory.New(memory.Config{})
	f, err := storetest.NewFaulty(m, `
		apply 2 refuse     # the second is not done
		apply 3 lose
		apply 4-5 nospace
		apply 7- hold
		submit * nospace
		get 2 lose
		open 2 refuse
		scan 1 refuse
		prune 1 holdafter`)
	if err != nil {
		t.Fatal(err)
	}
	var held []string
	f.Hold = func(_ context.Context, method string, n int) { held = append(held, fmt.Sprint(method, n)) }
	token := ax.Token{Era: 1, Revision: 1}
	for _, want := range []error{nil, ax.ErrUnknown} {
		if _, err := f.Open(ctx, 0, token); !errors.Is(err, want) {
			t.Errorf("Open = %v, want %v", err, want)
		}
	}
	task := func(id string) *ax.Task { return &ax.Task{ID: id, Kind: "k", State: ax.Scheduled, Run: 1} }
	create := func(n uint64, id string) []*ax.Batch {
		return []*ax.Batch{{Token: token, Number: n, Create: []*ax.Task{task(id)}}}
	}
	for i, step := range []struct {
		batches []*ax.Batch
		want    []error
		live    bool
	}{
		{create(1, "a"), []error{nil}, true},
		{create(2, "b"), []error{ax.ErrUnknown}, false},
		{create(2, "b"), []error{ax.ErrUnknown}, true},
		{create(3, "c"), []error{ax.ErrNoSpace}, false},
		{append([]*ax.Batch{{Token: token, Number: 3}}, append(create(4, "d"), &ax.Batch{Token: token, Number: 5})...), []error{nil, ax.ErrNoSpace, ax.ErrGap}, false},
		{create(4, "e"), []error{nil}, true},
		{create(5, "f"), []error{nil}, true},
	} {
		errs := f.Apply(ctx, step.batches)
		for j, want := range step.want {
			if !errors.Is(errs[j], want) {
				t.Errorf("call %d, batch %d: %v, want %v", i+1, j, errs[j], want)
			}
		}
		for _, b := range step.batches {
			for _, c := range b.Create {
				if _, err := m.Get(ctx, c.ID); (err == nil) != step.live {
					t.Errorf("after call %d task %s is live: %v, want %v", i+1, c.ID, err == nil, step.live)
				}
			}
		}
	}
	if _, err := f.Submit(ctx, 0, []ax.Entry{{ID: "x"}}); !errors.Is(err, ax.ErrNoSpace) {
		t.Errorf("Submit = %v, want ErrNoSpace", err)
	}
	for _, want := range []error{nil, ax.ErrUnknown, nil} {
		if _, err := f.Get(ctx, "a"); !errors.Is(err, want) {
			t.Errorf("Get = %v, want %v", err, want)
		}
	}
	if _, err := f.Scan(ctx, ax.ScanRequest{Token: token, Index: ax.IndexDue}); !errors.Is(err, ax.ErrUnknown) {
		t.Errorf("Scan = %v, want ErrUnknown", err)
	}
	if _, err := f.Prune(ctx, 0, token, 1, 1); err != nil {
		t.Errorf("Prune = %v", err)
	}
	if got := strings.Join(held, " "); got != "apply7 prune1" {
		t.Errorf("Hold was called for %q, want apply7 prune1", got)
	}
	if f.Calls("apply") != 7 {
		t.Errorf("Calls(apply) = %d, want 7", f.Calls("apply"))
	}
}

// TestFaultyIsAStore: without faults a wrapped store passes the suite.
func TestFaultyIsAStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		m := newMemory()
		f, err := storetest.NewFaulty(m, "apply 1000000 refuse\n# nothing else\n")
		if err != nil {
			t.Fatal(err)
		}
		return storetest.Harness{Store: f, Registry: m, Partitions: 2}
	})
}

func TestFaultyPlan(t *testing.T) {
	for _, plan := range []string{"apply", "apply 1", "apply 1 explode", "write 1 lose", "apply 0 lose", "apply x lose", "apply 5-3 lose", "apply 1-x lose", "apply 1 lose now"} {
		if _, err := storetest.NewFaulty(newMemory(), "get 1 lose\n"+plan); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("plan %q: %v, want an error about line 2", plan, err)
		}
	}
}
