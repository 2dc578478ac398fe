package engine_test

import (
	"context"
	"hash/maphash"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/clock"
	"github.com/axsched/ax/internal/engine"
	"github.com/axsched/ax/memory"
)

// BenchmarkLife takes tasks through their whole life, in turns of 500, with the memory store on the same goroutine: what
// the scheduler's loop and its writer do for each task.
func BenchmarkLife(b *testing.B) {
	const turn = 500
	store := memory.New(memory.Config{})
	lease, err := store.Acquire(context.Background(), "partition", "0", "bench", 1<<40, nil)
	if err != nil {
		b.Fatal(err)
	}
	opened, err := store.Open(context.Background(), 0, lease.Token)
	if err != nil {
		b.Fatal(err)
	}
	n := engine.NewNode(engine.Config{Name: "bench", BootTag: 1, MaxPending: 1 << 30, Window: 3600e9, Remember: 1_000_000,
		Rand: rand.New(rand.NewPCG(1, 2)), Seed: maphash.MakeSeed(), Finishes: true}, turn, []string{"noop"})
	now := clock.Now{Wall: 1_800_000_000_000_000, Boot: 1_000_000_000}
	n.Advance(now)
	n.Own(0, lease.Token, &engine.Loaded{Opened: opened})
	commit := func() (sends []*ax.Task) {
		outs := n.Flush()
		for _, o := range outs {
			errs := store.Apply(context.Background(), []*ax.Batch{o.Batch})
			for _, safe := range n.Committed([]*engine.Output{o}, errs) {
				sends = append(sends, safe.Sends...)
				n.Recycle(safe)
			}
		}
		return sends
	}
	ids := make([]string, b.N+turn)
	for i := range ids {
		ids[i] = "order-" + strconv.Itoa(i)
	}
	payload := []byte("some payload")
	entries := make([]ax.Entry, turn)
	b.ReportAllocs()
	b.ResetTimer()
	for done := 0; done < b.N; done += turn {
		now.Wall += 1000
		now.Boot += 1000
		n.Advance(now)
		for i := range entries {
			t := &ax.Task{ID: ids[done+i], Kind: "noop", Payload: payload, Timeout: 1000, State: ax.Scheduled, Run: 1, Due: ax.Time(now.Wall), At: ax.Time(now.Wall)}
			entries[i] = ax.Entry{ID: t.ID, Verb: ax.VerbSubmit, Version: 1, Task: t}
			n.Admit(0, &entries[i], &entries, i, false)
		}
		n.Claim()
		for _, t := range commit() {
			n.Report(0, t.Kind, &ax.Report{ID: t.ID, Token: t.Last.Token, Outcome: ax.OutcomeSuccess, Started: t.Last.Claimed, Ended: t.Last.Claimed})
		}
		commit()
	}
}
