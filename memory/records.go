package memory

import (
	"cmp"
	"hash/maphash"
	"slices"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/index"
	"github.com/axsched/ax/internal/ready"
)

// records is what stays known of ids. A record stands in the index and in two queues: by Until, and by Ended, which is
// the order in which the oldest go when there are too many. Letting go of one costs O(1) nearly always.
//
// A queue is not told when a record is replaced or forgotten: an entry counts if the index holds this very record.
type records struct {
	byID  *index.Index[ax.IDRecord]
	until ready.Queue[queuedRecord] // until.Len() <= 2 byID.Len() + slack after every change, and so is ended.Len()
	ended ready.Queue[queuedRecord]
	n     uint64 // records so far: breaks ties by age
}

// queuedRecord makes a record wait in a ready.Queue, whose own way of dropping entries it does not use.
type queuedRecord struct{ *ax.IDRecord }

// Ticket never changes.
func (queuedRecord) Ticket() uint32 { return 0 }

// slack is how many stale entries are never worth a rebuild.
const slack = 1024

func newRecords(seed maphash.Seed) records {
	return records{byID: index.New(seed, func(r *ax.IDRecord) string { return r.ID })}
}

// remember keeps records in place of earlier ones of the same ids.
func (k *records) remember(list []*ax.IDRecord) {
	for _, r := range list {
		k.byID.Put(r)
		k.queue(r)
	}
	if max(k.until.Len(), k.ended.Len()) > 2*k.byID.Len()+slack {
		k.tidy()
	}
}

func (k *records) queue(r *ax.IDRecord) {
	k.n++
	k.until.Push(int64(r.Until), k.n, queuedRecord{r})
	k.ended.Push(int64(r.Ended), k.n, queuedRecord{r})
}

func (k *records) forget(id string) { k.byID.Delete(id) }

// tidy makes the queues anew, without stale entries.
func (k *records) tidy() {
	all := make([]*ax.IDRecord, 0, k.byID.Len())
	for r := range k.byID.All() {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *ax.IDRecord) int {
		return cmp.Or(cmp.Compare(a.Ended, b.Ended), cmp.Compare(a.ID, b.ID))
	})
	k.until, k.ended = ready.Queue[queuedRecord]{}, ready.Queue[queuedRecord]{}
	for _, r := range all {
		k.queue(r)
	}
}

// prune forgets what has run out at now, and the oldest by Ended beyond keep. It returns the newest Ended among the
// tasks it forgot, 0 if there was none.
func (k *records) prune(now ax.Time, keep int) (newest ax.Time) {
	drop := func(r *ax.IDRecord) {
		if k.byID.Get(r.ID) != r { // replaced, or forgotten before
			return
		}
		k.byID.Delete(r.ID)
		if r.State != 0 {
			newest = max(newest, r.Ended)
		}
	}
	for {
		r, until, _, ok := k.until.Head()
		if !ok || ax.Time(until) >= now {
			break
		}
		k.until.Pop()
		drop(r.IDRecord)
	}
	for k.byID.Len() > keep {
		r, ok := k.ended.Pop()
		if !ok {
			break
		}
		drop(r.IDRecord)
	}
	if max(k.until.Len(), k.ended.Len()) > 2*k.byID.Len()+slack {
		k.tidy()
	}
	return newest
}
