package record_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/journal/record"
)

var update = flag.Bool("update", false, "write testdata/golden.hex anew")

// sample is a batch with every field set.
func sample() *ax.Batch {
	token := ax.Token{Era: 1764547200, Revision: 7}
	last := &ax.Attempt{Run: 2, N: 2, Token: ax.AttemptToken{Token: token, Claim: 9}, Executor: "host-1#abc", Ready: 5_000, Claimed: 5_100,
		Started: 5_200, Ended: 6_000, Settled: 6_100, Deadline: 90_000, Outcome: ax.OutcomeFailed, Error: "no route to host",
		Prev: &ax.Attempt{Run: 1, N: 1, Token: ax.AttemptToken{Token: token, Claim: 3}, Executor: "host-0#xyz", Claimed: -5, Outcome: ax.OutcomeSuccess,
			Returned: true, Result: []byte("ok")}}
	full := &ax.Task{ID: "customer-42/close-991", Kind: "order.close", Payload: []byte(`{"order":991}`), Hash: math.MaxUint64, Seq: 12,
		Created: 1_764_547_200_000_000, Timeout: math.MaxUint32, MaxRetries: -1, Priority: ax.P(99), Flags: ax.Ordered | ax.HoldLost,
		State: ax.Scheduled, Marks: ax.Retrying, Boot: 77, Run: 2, Attempt: 2, Due: 4_000, At: 8_000, BootAt: -4, Last: last,
		Extra: &ax.Extra{Headers: map[string]string{"traceparent": "00-1", "a": ""}, Backoff: ax.Backoff{Base: time.Second, Cap: time.Hour, Jitter: -1, Full: true},
			Unique: ax.Unique{By: ax.ByContent, Window: time.Minute}, Shard: &ax.Shard{Index: 3, Total: 8, Params: "p"}}}
	plain := &ax.Task{ID: "x", Kind: "k", State: ax.Created, Run: 1}
	entry := ax.Entry{ID: "e1", Verb: ax.VerbReport, Version: 1, Added: 5, By: "me", Target: "x", Made: 3, Resolve: ax.ResolveRetry, Body: []byte{1},
		Task: full, Report: &ax.Report{ID: "x", Token: last.Token, Executor: "e", Outcome: ax.OutcomeTimeout, Started: 1, Ended: 2, After: 3, Never: true,
			Returned: true, Error: "err", Result: []byte("r")}}
	return &ax.Batch{
		Partition: 3, Token: token, Number: 1 << 40, Durability: ax.Written,
		Delete: []string{"gone", ""}, Finish: []*ax.Task{full}, Create: []*ax.Task{plain, full}, Move: []*ax.Task{moved(full)},
		Remember: []*ax.IDRecord{{ID: "r", Hash: 5, State: ax.Failed, Run: 2, Ended: 6, Until: 7, Holder: "h"}}, Forget: []string{"f"}, Admit: []string{"a"},
		Jobs: []ax.JobState{{UID: "u", Revision: 2, Cursor: 3, Runs: 4, Paused: true, Note: "n", Body: []byte("b")}}, DropJobs: []string{"d"},
		Instances: []*ax.Instance{{ID: "u/@1", Job: "u", Fire: 1, Revision: 2, Total: 3, Made: 4, Ended: 5, Failed: 6, State: ax.Running, Plan: []byte("p")}},
		DropInst:  []string{"i"}, Reasons: []ax.Reason{{Job: "u", Revision: 1, From: 2, To: 3, Count: 4, Code: "paused"}}, DropWhy: []string{"w"},
		Outgoing: []ax.Outgoing{{To: 5, Entry: entry}}, Relayed: []string{"o"},
		Facts: []ax.Fact{{ID: "f1", At: 1, Task: "x", Run: 2, What: ax.FactCancel, By: "b", Text: "t"}}, Filed: []string{"f0"},
	}
}

// moved returns a task with only the fields that a move writes.
func moved(t *ax.Task) *ax.Task {
	return &ax.Task{ID: t.ID, State: t.State, Marks: t.Marks, Boot: t.Boot, Run: t.Run, Attempt: t.Attempt, Due: t.Due, At: t.At, BootAt: t.BootAt, Last: t.Last}
}

func frameOf(b *ax.Batch, place uint64, note uint32) []byte {
	f := record.AppendBatch(record.Begin(nil, record.KindBatch), b)
	record.Seal(f, place, note)
	return f
}

func TestBatch(t *testing.T) {
	want := sample()
	f, err := record.Parse(frameOf(want, 99, 7), 99)
	if err != nil || f.Kind != record.KindBatch || f.Note != 7 {
		t.Fatalf("parsed as %v note %d: %v", f.Kind, f.Note, err)
	}
	got, err := record.ReadBatch(f.Payload)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read back\n%+v\nwant\n%+v", got, want)
	}
}

// TestEveryField fails when a field is added to a type and not to the format: every field of the sample is set, and
// whatever is not written is read back as zero.
func TestEveryField(t *testing.T) {
	b := sample()
	for _, v := range []any{*b, *b.Create[1], *b.Create[1].Extra, *b.Create[1].Last, *b.Remember[0], b.Jobs[0], *b.Instances[0], b.Reasons[0],
		b.Outgoing[0], b.Outgoing[0].Entry, *b.Outgoing[0].Entry.Report, b.Facts[0]} {
		for i := range reflect.TypeOf(v).NumField() {
			name := reflect.TypeOf(v).Field(i).Name
			if reflect.ValueOf(v).Field(i).IsZero() && !(name == "Result" || name == "Returned") {
				t.Errorf("%T.%s is zero in the sample", v, name)
			}
		}
	}
}

// TestGolden reads what version 1 wrote on the day it was made. The bytes never change; a later version gets a file of
// its own.
func TestGolden(t *testing.T) {
	const file = "testdata/golden.hex"
	f := frameOf(sample(), 1<<36|4096, 512)
	if *update {
		if err := os.WriteFile(file, []byte(hex.Dump(f)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var raw []byte
	for line := range strings.Lines(string(text)) {
		if len(line) < 58 {
			continue
		}
		b, err := hex.DecodeString(strings.ReplaceAll(line[10:58], " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		raw = append(raw, b...)
	}
	if !bytes.Equal(raw, f) {
		t.Error("the sample is written otherwise than by version 1: raise Version")
	}
	p, err := record.Parse(raw, 1<<36|4096)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := record.ReadBatch(p.Payload); err != nil || !reflect.DeepEqual(got, sample()) {
		t.Errorf("read back %+v, %v", got, err)
	}
}

// TestEveryBit flips each bit of a frame, and cuts it off at each byte: none of that checks out.
func TestEveryBit(t *testing.T) {
	f := frameOf(sample(), 5, 0)
	for i := range len(f) * 8 {
		f[i/8] ^= 1 << (i % 8)
		if _, err := record.Parse(f, 5); !errors.Is(err, record.ErrSum) {
			t.Fatalf("bit %d flipped: %v", i, err)
		}
		f[i/8] ^= 1 << (i % 8)
	}
	for n := range f {
		if _, err := record.Parse(f[:n], 5); !errors.Is(err, record.ErrSum) {
			t.Fatalf("cut off at %d: %v", n, err)
		}
	}
	if _, err := record.Parse(f, 6); !errors.Is(err, record.ErrSum) {
		t.Errorf("at another place: %v", err)
	}
	if _, err := record.Parse(f, 5); err != nil {
		t.Errorf("as it was: %v", err)
	}
}

// TestNewer refuses what a later version might write.
func TestNewer(t *testing.T) {
	f := record.Begin(nil, record.KindBatch)
	f[0] = record.Version + 1
	record.Seal(f, 0, 0)
	if _, err := record.Parse(f, 0); !errors.Is(err, record.ErrVersion) {
		t.Errorf("a later version: %v", err)
	}
	f = record.Begin(nil, 200)
	record.Seal(f, 0, 0)
	if _, err := record.Parse(f, 0); !errors.Is(err, record.ErrVersion) {
		t.Errorf("an unknown kind: %v", err)
	}
	payload := append(record.AppendBatchHead(nil, &ax.Batch{}), 250, 1, 0)
	if _, err := record.ReadBatch(payload); !errors.Is(err, record.ErrVersion) {
		t.Errorf("an unknown tag: %v", err)
	}
}

// TestTaskSum finds damage to the body of a task that is read alone.
func TestTaskSum(t *testing.T) {
	for i := range len(record.AppendTask(nil, sample().Create[1])) {
		whole, move := record.AppendTask(nil, sample().Create[1]), record.AppendMove(nil, sample().Create[1])
		whole[i] ^= 0x40
		if _, err := record.ReadTask(whole); !errors.Is(err, record.ErrSum) {
			t.Errorf("byte %d of a task: %v", i, err)
		}
		if i < len(move) {
			move[i] ^= 0x40
			if err := record.ReadMove(move, new(ax.Task)); !errors.Is(err, record.ErrSum) {
				t.Errorf("byte %d of a move: %v", i, err)
			}
		}
	}
	if err := record.ReadMove(record.AppendMove(nil, sample().Create[1]), &ax.Task{ID: "another"}); !errors.Is(err, record.ErrSum) {
		t.Errorf("a move of another task: %v", err)
	}
}

func TestSmallThings(t *testing.T) {
	seg := record.Segment{Number: 3, Before: 2, End: 1 << 33, Durable: 5, Oldest: 1, Era: 7, Partitions: 16, Made: -1}
	if got, err := record.ReadSegment(record.AppendSegment(nil, seg)); err != nil || got != seg {
		t.Errorf("segment %+v, %v", got, err)
	}
	p := record.Partition{ID: 4, Token: ax.Token{Era: 1, Revision: 2}, Number: 3, Wrote: ax.Token{Era: 4, Revision: 5}, Floor: 6}
	if got, rest, err := record.ReadPartitionHead(append(record.AppendPartition(nil, p), 9)); err != nil || got != p || len(rest) != 1 {
		t.Errorf("partition %+v, %d bytes behind it, %v", got, len(rest), err)
	}
	for _, d := range []ax.Document{{Class: "job", Name: "n", Revision: 9, Body: []byte("b"), Changed: 4}, {Class: "c", Name: "", Body: []byte{}}, {Name: "deleted"}} {
		if got, err := record.ReadDocument(record.AppendDocument(nil, &d)); err != nil || !reflect.DeepEqual(got, d) {
			t.Errorf("document %+v, %v", got, err)
		}
	}
	if got, err := record.ReadPruned(record.AppendPruned(nil, record.Pruned{Before: 5, Keep: 6})); err != nil || got != (record.Pruned{Before: 5, Keep: 6}) {
		t.Errorf("pruned %+v, %v", got, err)
	}
	if got, err := record.ReadDropped(record.AppendDropped(nil, 77)); err != nil || got != 77 {
		t.Errorf("dropped %d, %v", got, err)
	}
	if _, err := record.ReadDropped([]byte{1, 1}); !errors.Is(err, record.ErrSum) {
		t.Errorf("something is left over: %v", err)
	}
}

// FuzzParse feeds arbitrary bytes to everything that reads: no panic, and what is accepted can be written again as it
// was.
func FuzzParse(f *testing.F) {
	f.Add(frameOf(sample(), 0, 0))
	f.Add(record.AppendBatch(nil, sample()))
	f.Add(record.AppendTask(nil, sample().Create[0]))
	e := sample().Outgoing[0].Entry
	f.Add(record.AppendEntry(nil, &e))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := record.Parse(b, 0); err == nil {
			b = p.Payload
		}
		if batch, err := record.ReadBatch(b); err == nil {
			again, err := record.ReadBatch(record.AppendBatch(nil, batch))
			if err != nil || !reflect.DeepEqual(normal(again), normal(batch)) {
				t.Errorf("read %+v, written again and read %+v, %v", batch, again, err)
			}
		}
		if task, err := record.ReadTask(b); err == nil {
			if again, err := record.ReadTask(record.AppendTask(nil, task)); err != nil || !reflect.DeepEqual(again, task) {
				t.Errorf("read %+v, written again and read %+v, %v", task, again, err)
			}
		}
		_ = record.ReadMove(b, new(ax.Task))
		_, _ = record.PeekTask(b)
		_, _ = record.ReadEntry(b)
		_, _ = record.ReadRecord(b)
		_, _ = record.ReadJob(b)
		_, _ = record.ReadInstance(b)
		_, _ = record.ReadReason(b)
		_, _ = record.ReadOutgoing(b)
		_, _ = record.ReadFact(b)
		_, _ = record.ReadDocument(b)
		_, _, _ = record.ReadPartitionHead(b)
		_, _ = record.ReadSegment(b)
		_, _ = record.ReadPruned(b)
		_, _ = record.ReadDropped(b)
		_, _, _ = record.ReadKept(b)
		record.ItemBody(b)
	})
}

// normal lets a finished task that was written as a move count as the whole one it is written as again.
func normal(b *ax.Batch) *ax.Batch {
	c := *b
	if len(c.Finish) == 0 {
		c.Finish = nil
	}
	return &c
}

// TestRandomBytes is the fuzzer's short form, with damage to good frames and sections, which blind bytes hardly reach.
func TestRandomBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	good := record.AppendBatch(nil, sample())
	for range 20_000 {
		b := bytes.Clone(good)
		for range 1 + rng.IntN(4) {
			b[rng.IntN(len(b))] = byte(rng.Uint32())
		}
		b = b[:rng.IntN(len(b)+1)]
		_, err := record.ReadBatch(b)
		if err != nil && !errors.Is(err, record.ErrSum) && !errors.Is(err, record.ErrVersion) {
			t.Fatalf("%x: %v", b, err)
		}
	}
}

func BenchmarkTask(b *testing.B) {
	t := &ax.Task{ID: "customer-42/close-991", Kind: "order.close", Payload: make([]byte, 64), Hash: 5, Seq: 100, Created: ax.At(time.Now()),
		Timeout: 30_000, State: ax.Scheduled, Run: 1, Due: ax.At(time.Now()), At: ax.At(time.Now())}
	var dst []byte
	b.Run("append", func(b *testing.B) {
		for b.Loop() {
			dst = record.AppendTask(dst[:0], t)
		}
		b.ReportMetric(float64(len(dst)), "bytes")
	})
	b.Run("peek", func(b *testing.B) {
		for b.Loop() {
			record.PeekTask(dst)
		}
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			record.ReadTask(dst)
		}
	})
}
