package memory

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/axsched/ax"
)

// TestRecordsTwin does the same to records and to a plain map, and compares after every Prune.
func TestRecordsTwin(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			k, twin := newRecords(maphash.MakeSeed()), map[string]*ax.IDRecord{}
			now := ax.Time(rng.Int64N(3)) * 1_000_000_000
			spread := int64(1) << (10 + rng.IntN(25)) // of Until after Ended
			for range 200 {
				now += ax.Time(rng.Int64N(3_000_000))
				var batch []*ax.IDRecord
				for range rng.IntN(40) {
					r := &ax.IDRecord{ID: fmt.Sprint(rng.IntN(2000)), State: ax.State(rng.IntN(2)) * ax.Success,
						Ended: now - ax.Time(rng.Int64N(2_000_000)), Until: now + ax.Time(rng.Int64N(spread))}
					batch = append(batch, r)
					twin[r.ID] = r
				}
				k.remember(batch)
				for range rng.IntN(5) {
					id := fmt.Sprint(rng.IntN(2000))
					k.forget(id)
					delete(twin, id)
				}
				if rng.IntN(3) > 0 {
					continue
				}
				keep := rng.IntN(1500)
				got, want := k.prune(now, keep), plainPrune(twin, now, keep)
				if got != want {
					t.Fatalf("prune(%d, %d) = %d, want %d", now, keep, got, want)
				}
				if k.byID.Len() != len(twin) {
					t.Fatalf("%d records, want %d", k.byID.Len(), len(twin))
				}
				for id, r := range twin {
					if k.byID.Get(id) != r {
						t.Fatalf("record %s: %v, want %v", id, k.byID.Get(id), r)
					}
				}
				if most := 2*len(twin) + slack; k.until.Len() > most || k.ended.Len() > most {
					t.Fatalf("queues of %d and %d entries for %d records", k.until.Len(), k.ended.Len(), len(twin))
				}
			}
		})
	}
}

// plainPrune is records.prune once more, as plain as can be.
func plainPrune(m map[string]*ax.IDRecord, now ax.Time, keep int) (newest ax.Time) {
	drop := func(r *ax.IDRecord) {
		delete(m, r.ID)
		if r.State != 0 {
			newest = max(newest, r.Ended)
		}
	}
	var rest []*ax.IDRecord
	for _, r := range m {
		if r.Until < now {
			drop(r)
		} else {
			rest = append(rest, r)
		}
	}
	slices.SortFunc(rest, func(a, b *ax.IDRecord) int { return cmp.Or(cmp.Compare(a.Ended, b.Ended), cmp.Compare(a.ID, b.ID)) })
	for _, r := range rest[:max(0, len(rest)-keep)] {
		drop(r)
	}
	return newest
}

// TestQueueShrinks: a queue that was large and ran empty does not keep its room.
func TestQueueShrinks(t *testing.T) {
	q := queue[int]{byID: map[string]queued[int]{}}
	for i := range 2 * roomy {
		q.put(fmt.Sprint(i), i)
	}
	for i := range 2 * roomy {
		q.drop(fmt.Sprint(i))
	}
	if q.peak != 0 {
		t.Errorf("the queue remembers %d values, its map was not replaced", q.peak)
	}
	q.put("a", 1)
	if q.byID["a"].serial != 2*roomy+1 {
		t.Errorf("the serial number is %d, want it to go on", q.byID["a"].serial)
	}
}
