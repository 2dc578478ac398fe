package memory

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/axsched/ax"
)

// life makes n tasks in three stages: as they are created, claimed and ended.
func life(n int) (created, running, ended []*ax.Task) {
	values := make([]ax.Task, 3*n)
	for i := range n {
		t := &values[3*i]
		*t = ax.Task{ID: fmt.Sprintf("customer-%d/close-%d", i%1000, i), Kind: "close", State: ax.Scheduled, Run: 1, At: ax.Time(i)}
		values[3*i+1], values[3*i+2] = *t, *t
		values[3*i+1].State, values[3*i+2].State = ax.Running, ax.Success
		created, running, ended = append(created, t), append(running, &values[3*i+1]), append(ended, &values[3*i+2])
	}
	return created, running, ended
}

// BenchmarkApply measures one operation on one task, in batches, with 1,000,000 others live. A life is five of them: a
// create, two moves, a delete and an id record; records are pruned as fast as they come.
func BenchmarkApply(b *testing.B) {
	const others, window = 1_000_000, 100_000
	store := New(Config{})
	token := ax.Token{Era: 1, Revision: 1}
	if _, err := store.Open(context.Background(), 0, token); err != nil {
		b.Fatal(err)
	}
	number := uint64(0)
	apply := func(batch *ax.Batch) {
		number++
		batch.Token, batch.Number = token, number
		if err := store.Apply(context.Background(), []*ax.Batch{batch})[0]; err != nil {
			b.Fatal(err)
		}
	}
	all, running, ended := life(others + window)
	apply(&ax.Batch{Create: all[:others]})
	all, running, ended = all[others:], running[others:], ended[others:]
	at := ax.Time(0)
	for _, size := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprint("batch=", size), func(b *testing.B) {
			b.ReportAllocs()
			ids, records := make([]string, size), make([]*ax.IDRecord, size)
			for done := 0; done < b.N; done += 5 * size {
				from := done / 5 % (window - size)
				for i := range size {
					at++
					ids[i] = all[from+i].ID
					records[i] = &ax.IDRecord{ID: ids[i], State: ax.Success, Run: 1, Ended: at, Until: at + 3_600_000_000}
				}
				apply(&ax.Batch{Create: all[from : from+size]})
				apply(&ax.Batch{Move: running[from : from+size]})
				apply(&ax.Batch{Move: ended[from : from+size]})
				apply(&ax.Batch{Delete: ids, Remember: records})
				if done%(5*window) < 5*size {
					if _, err := store.Prune(context.Background(), 0, token, at, window); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
	runtime.KeepAlive(store)
}

// BenchmarkArchive measures the archiving of one finished task in batches of 1,000, when the archive is full.
func BenchmarkArchive(b *testing.B) {
	const n = 400_000
	_, _, ended := life(n)
	a := NewArchive(100_000)
	b.ReportAllocs()
	for done := 0; done < b.N; done += 1000 {
		from := done % n
		if err := a.Append(context.Background(), ended[from:from+1000], nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWalk measures the walk over a million tasks by due time, a task at a time.
func BenchmarkWalk(b *testing.B) {
	store := New(Config{})
	token := ax.Token{Era: 1, Revision: 1}
	if _, err := store.Open(context.Background(), 0, token); err != nil {
		b.Fatal(err)
	}
	all, _, _ := life(1_000_000)
	store.Apply(context.Background(), []*ax.Batch{{Token: token, Number: 1, Create: all}})
	seen := 0
	for b.Loop() {
		req := ax.ScanRequest{Token: token, Index: ax.IndexDue}
		for {
			page, err := store.Scan(context.Background(), req)
			if err != nil {
				b.Fatal(err)
			}
			seen += len(page.Tasks)
			if req.From = page.Next; req.From == "" {
				break
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(seen), "ns/task")
}
