package ax_test

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax"
)

func TestNewID(t *testing.T) {
	at := time.Date(2026, 11, 30, 2, 30, 0, 0, time.UTC)
	var ids []string
	for i := range 2000 {
		ids = append(ids, ax.NewID(at.Add(time.Duration(i)*time.Millisecond)))
	}
	for _, d := range []time.Duration{time.Hour, 24 * time.Hour, 10_000 * 24 * time.Hour, 100_000 * 24 * time.Hour} {
		ids = append(ids, ax.NewID(at.Add(d)))
	}
	if !slices.IsSorted(ids) {
		t.Error("ids do not sort by time")
	}
	seen := map[string]bool{}
	for range 10_000 { // of one millisecond
		id := ax.NewID(at)
		if seen[id] || len(id) != 26 || ax.CheckID(id) != nil || id != strings.ToLower(id) || id[:10] != ids[0][:10] {
			t.Fatalf("%q, seen before: %v", id, seen[id])
		}
		seen[id] = true
	}
}

// The partition of a key is a matter of storage: it may never change. And keys spread evenly.
func TestPartitionOf(t *testing.T) {
	for _, c := range []struct {
		key  string
		n    int
		want ax.Partition
	}{
		{"", 16, partitionGolden[0]}, {"a", 16, partitionGolden[1]}, {"b", 16, partitionGolden[2]}, {"customer-42", 16, partitionGolden[3]}, {"order-123", 16, partitionGolden[4]},
		{"customer-42", 3, partitionGolden[5]}, {"customer-42", 4096, partitionGolden[6]}, {strings.Repeat("x", 100), 1000, partitionGolden[7]}, {"customer-42", 1, 0}, {"a", 0, 0}, {"a", -1, 0},
	} {
		if got := ax.PartitionOf(c.key, c.n); got != c.want {
			t.Errorf("%q of %d: %d, want %d", c.key, c.n, got, c.want)
		}
		h := fnv.New64a()
		h.Write([]byte(c.key))
		if sum := h.Sum64(); c.n > 0 && c.want != ax.Partition((sum^sum>>32)%uint64(c.n)) {
			t.Errorf("%q of %d is not FNV-1a, folded", c.key, c.n)
		}
	}
	for _, n := range []int{2, 3, 16, 64} {
		for _, form := range []string{"customer-%d", "%d", "k%05d", "%x", "order-2026-%d-x"} {
			counts := make([]int, n)
			const keys = 20_000
			for i := range keys {
				counts[ax.PartitionOf(fmt.Sprintf(form, i), n)]++
			}
			mean := float64(keys) / float64(n)
			chi := 0.0 // of n−1 degrees of freedom: mean n−1, deviation √(2(n−1))
			for _, c := range counts {
				chi += (float64(c) - mean) * (float64(c) - mean) / mean
			}
			if chi > float64(n)+8*float64(n) {
				t.Errorf("%s over %d: from %d to %d, chi² %.0f", form, n, slices.Min(counts), slices.Max(counts), chi)
			}
			if least := slices.Min(counts); float64(least) < 0.8*mean {
				t.Errorf("%s over %d: the smallest has %d of %.0f", form, n, least, mean)
			}
		}
	}
}

func TestKeyOfAndJob(t *testing.T) {
	for id, want := range map[string][2]string{
		"customer-42/close-991":               {"customer-42", ""},
		"plain":                               {"plain", ""},
		"uid/@20261130T023000.000Z":           {"uid", "uid"},
		"uid/@20261130T023000.000Z#7":         {"uid", "uid"},
		"uid/!request-1":                      {"uid", "uid"},
		"uid/@20261130T023000.000Z~backfill1": {"uid", "uid"},
		"uid/x@":                              {"uid", ""},
		"uid/":                                {"uid", ""},
		"":                                    {"", ""},
	} {
		task := &ax.Task{ID: id}
		if ax.KeyOf(id) != want[0] || task.Key() != want[0] || task.Job() != want[1] {
			t.Errorf("%q: key %q, job %q", id, task.Key(), task.Job())
		}
		if want[1] != "" && ax.CheckID(id) == nil {
			t.Errorf("a caller can make %q", id)
		}
	}
}

// The content hash is stored, and compared with what later versions make: it may never change. What says when, and how the
// id was come by, is not in it.
func TestContentHash(t *testing.T) {
	now := time.Unix(1796005800, 0)
	hash := func(s ax.Submission) uint64 {
		t.Helper()
		if s.Kind == "" {
			s.Kind = "work"
		}
		task, err := s.Task(now, 0)
		if err != nil {
			t.Fatal(err)
		}
		return task.Hash
	}
	forms := []ax.Submission{
		{}, {Kind: "other"}, {Payload: []byte("p")}, {Payload: []byte{}}, {Timeout: time.Second}, {MaxRetries: 1}, {MaxRetries: ax.NoRetries}, {Priority: ax.P(0)}, {Priority: ax.P(99)},
		{Ordered: true}, {HoldLost: true}, {RetryOnTimeout: true}, {Headers: map[string]string{"a": "b"}}, {Headers: map[string]string{"a": "b", "c": "d"}}, {Headers: map[string]string{"ab": ""}},
		{Backoff: ax.Backoff{Base: time.Second}}, {Backoff: ax.Backoff{Cap: time.Second}}, {Backoff: ax.Backoff{Jitter: time.Second}}, {Backoff: ax.Backoff{Full: true}},
		{Unique: ax.Unique{By: ax.ByID, Window: time.Hour}}, {Unique: ax.Unique{By: ax.ByID, Window: time.Minute}},
	}
	seen := map[uint64]int{}
	for i, s := range forms {
		h := hash(s)
		if h != hashGolden[i] {
			t.Errorf("form %d: %#x, want %#x", i, h, hashGolden[i])
		}
		if j, taken := seen[h]; taken && i != 3 { // an empty payload is none
			t.Errorf("%d and %d have the same hash", i, j)
		}
		seen[h] = i
	}
	base := hash(ax.Submission{Payload: []byte("1")})
	for i, s := range []ax.Submission{{Args: 1}, {Payload: []byte("1"), In: time.Hour}, {Payload: []byte("1"), At: now}, {Payload: []byte("1"), ID: "x"}, {Payload: []byte("1"), Key: "k"},
		{Payload: []byte("1"), Made: now}, {Payload: []byte("1"), Timeout: ax.DefaultTimeout}, {Payload: []byte("1"), MaxRetries: ax.DefaultRetries}, {Payload: []byte("1"), Priority: ax.P(50)}} {
		if hash(s) != base {
			t.Errorf("%d: %+v is another submission", i, s)
		}
	}
}
