package journal

import (
	"math/bits"
	"time"
)

// Stats tells how the journal is doing.
type Stats struct {
	Segments int   // files of the log
	Bytes    int64 // in them
	Alive    int64 // of these, about: what is not garbage

	Live    int // tasks that have not ended
	Ended   int // finished tasks in the archive
	Records int // ids that are remembered

	Syncs    int64         // since the directory was opened
	SyncP50  time.Duration // of the time a sync took, up to 10 % above
	SyncP99  time.Duration
	SyncMost time.Duration

	NoRoom bool // see Backend.Room
}

// Stats returns the numbers of this instant.
func (b *Backend) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := &b.log
	s := Stats{Segments: len(l.order), Bytes: l.size(), Alive: b.alive, Ended: b.archive.count(), Syncs: l.syncs,
		SyncP50: l.syncTimes.quantile(0.5), SyncP99: l.syncTimes.quantile(0.99), SyncMost: l.syncTimes.most, NoRoom: l.noRoom != nil}
	for _, p := range b.partitions {
		s.Live += len(p.live)
		s.Records += len(p.records.items)
	}
	return s
}

// histogram counts durations in buckets that grow by an eighth of a power of two.
type histogram struct {
	counts [64 * 8]int64
	n      int64
	most   time.Duration
}

func (h *histogram) add(d time.Duration) {
	h.n++
	h.most = max(h.most, d)
	h.counts[bucketOf(d)]++
}

func bucketOf(d time.Duration) int {
	v := uint64(max(d, 1))
	top := bits.Len64(v) - 1
	if top < 3 {
		return int(v)
	}
	return top*8 + int(v>>(top-3)&7)
}

// quantile returns the upper end of the bucket in which a quantile lies.
func (h *histogram) quantile(q float64) time.Duration {
	rank := int64(q * float64(h.n))
	for i, n := range h.counts {
		if rank -= n; rank < 0 && n > 0 {
			if top := i / 8; top >= 3 {
				return min(time.Duration((uint64(8+i%8)+1)<<(top-3)), h.most)
			}
			return time.Duration(i)
		}
	}
	return h.most
}
