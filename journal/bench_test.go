package journal_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/journal"
)

// owner opens partition 0 and returns its token.
func owner(t testing.TB, b *journal.Backend) ax.Token {
	t.Helper()
	l, err := b.Acquire(t.Context(), "partition", "0", "test", time.Hour, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Open(t.Context(), 0, l.Token); err != nil {
		t.Fatal(err)
	}
	return l.Token
}

// BenchmarkLives creates and finishes tasks in batches of 1,000, two of them on their way at a time, durable.
func BenchmarkLives(b *testing.B) {
	j := open(b, b.TempDir(), journal.Config{})
	token := owner(b, j)
	const size = 1000
	now := ax.At(time.Now())
	number, n := uint64(0), 0
	begin := func(batch *ax.Batch, slots chan struct{}) {
		number++
		batch.Token, batch.Number = token, number
		<-slots
		j.Begin([]*ax.Batch{batch}, func(errs []error) {
			if errs[0] != nil {
				b.Error(errs[0])
			}
			slots <- struct{}{}
		})
	}
	slots := make(chan struct{}, 2)
	slots <- struct{}{}
	slots <- struct{}{}
	for b.Loop() {
		var create, finish ax.Batch
		for range size {
			n++
			t := ax.Task{ID: fmt.Sprintf("order-close-%08d", n), Kind: "order.close", Payload: make([]byte, 64), Hash: uint64(n), Seq: uint64(n), Created: now,
				Timeout: 30_000, State: ax.Running, Run: 1, Attempt: 1, Due: now, At: now,
				Last: &ax.Attempt{Run: 1, N: 1, Token: ax.AttemptToken{Token: token, Claim: uint64(n)}, Executor: "host-1234#01jk2n3v4w", Claimed: now}}
			done := t
			done.State, done.Last = ax.Success, &ax.Attempt{Run: 1, N: 1, Token: t.Last.Token, Executor: t.Last.Executor, Claimed: now, Started: now, Ended: now, Settled: now, Outcome: ax.OutcomeSuccess}
			create.Create = append(create.Create, &t)
			finish.Finish = append(finish.Finish, &done)
			finish.Remember = append(finish.Remember, &ax.IDRecord{ID: t.ID, Hash: t.Hash, State: ax.Success, Run: 1, Ended: now, Until: now + 3_600_000_000})
		}
		begin(&create, slots)
		begin(&finish, slots)
		if n%100_000 == 0 {
			j.Prune(b.Context(), 0, token, now, 100_000)
		}
	}
	<-slots
	<-slots
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "lives/s")
	s := j.Stats()
	b.Logf("%+v", s)
}

// BenchmarkOpen opens a journal with so many pending tasks.
func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := b.TempDir()
			j, err := journal.Open(dir, journal.Config{})
			if err != nil {
				b.Fatal(err)
			}
			token, now := owner(b, j), ax.At(time.Now())
			for i := 0; i < n; i += 1000 {
				batch := &ax.Batch{Token: token, Number: uint64(i/1000 + 1)}
				for k := range 1000 {
					batch.Create = append(batch.Create, &ax.Task{ID: fmt.Sprintf("order-close-%08d", i+k), Kind: "order.close", Payload: make([]byte, 64),
						Hash: 1, Seq: uint64(i + k), Created: now, Timeout: 30_000, State: ax.Scheduled, Run: 1, Due: now + ax.Time(i+k)*3600, At: now + ax.Time(i+k)*3600})
				}
				if errs := j.Apply(b.Context(), []*ax.Batch{batch}); errs[0] != nil {
					b.Fatal(errs[0])
				}
			}
			b.Logf("%+v", j.Stats())
			j.Close()
			for b.Loop() {
				if j, err = journal.Open(dir, journal.Config{}); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				j.Close()
				b.StartTimer()
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)*1e9/float64(n), "ns/task")
		})
	}
}
