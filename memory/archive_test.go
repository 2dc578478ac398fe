package memory_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/axsched/ax"
	"github.com/axsched/ax/archivetest"
	"github.com/axsched/ax/memory"
)

func TestArchive(t *testing.T) {
	archivetest.Run(t, func(t *testing.T) archivetest.Harness {
		return archivetest.Harness{Archive: memory.NewArchive(100_000)}
	})
}

// TestArchiveKeeps: the archive holds the last keep runs and facts, and lets go of all that belongs to the others.
func TestArchiveKeeps(t *testing.T) {
	const keep, n = 10, 105
	ctx := context.Background()
	a := memory.NewArchive(keep)
	ended := func(i int) *ax.Task {
		return &ax.Task{ID: fmt.Sprint("t", i%50), Run: int32(1 + i/50), State: ax.Success, At: ax.Time(1 + i)}
	}
	for i := range n {
		if err := a.Append(ctx, []*ax.Task{ended(i)}, []ax.Fact{{ID: fmt.Sprint("f", i), Task: fmt.Sprint("t", i%7), At: ax.Time(1 + i)}}); err != nil {
			t.Fatal(err)
		}
		page, err := a.Query(ctx, ax.Query{Limit: 1000})
		if want := min(i+1, keep); err != nil || len(page.Tasks) != want || page.Tasks[0].At != ax.Time(1+i) {
			t.Fatalf("after %d: %d tasks, %v, want the last %d", i+1, len(page.Tasks), err, want)
		}
	}
	facts := 0
	for i := range 50 {
		runs, f, err := a.Get(ctx, fmt.Sprint("t", i))
		facts += len(f)
		last := n - 1 - (n-1-i)%50
		if live := last >= n-keep; live != (len(runs) == 1) || live && runs[0].Run != ended(last).Run {
			t.Errorf("t%d: runs %v, %v; its last run was number %d of %d", i, runs, err, last, n)
		}
	}
	if facts != keep {
		t.Errorf("%d facts, want the last %d", facts, keep)
	}
	if err := a.Append(ctx, []*ax.Task{ended(n - 1), ended(n - 2)}, nil); err != nil {
		t.Fatal(err)
	}
	if page, err := a.Query(ctx, ax.Query{Limit: 1000}); err != nil || len(page.Tasks) != keep {
		t.Errorf("after a repeat: %d tasks, %v, want %d: a repeat pushes nothing out", len(page.Tasks), err, keep)
	}
}

// TestArchiveRunsPushedOut: several runs of one id leave one by one, in whatever order they came.
func TestArchiveRunsPushedOut(t *testing.T) {
	ctx := context.Background()
	a := memory.NewArchive(3)
	add := func(id string, run int32) {
		if err := a.Append(ctx, []*ax.Task{{ID: id, Run: run, State: ax.Failed, At: ax.Time(run)}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want string) {
		t.Helper()
		runs, _, err := a.Get(ctx, "a")
		var got strings.Builder
		for _, r := range runs {
			got.WriteString(fmt.Sprint(r.Run, " "))
		}
		if got.String() != want || want == "" != errors.Is(err, ax.ErrNoTask) {
			t.Errorf("runs %q, %v, want %q", got.String(), err, want)
		}
	}
	add("a", 3)
	add("a", 1)
	add("a", 2)
	check("3 2 1 ")
	add("b", 1) // the third run came first
	check("2 1 ")
	add("a", 5)
	check("5 2 ")
	add("b", 2)
	add("b", 3)
	check("5 ")
	add("b", 4)
	check("")
}
