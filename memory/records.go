package memory

import (
	"cmp"
	"container/heap"
	"hash/maphash"
	"math"
	"slices"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/index"
)

// records is what stays known of ids. A record stands in the index and in two calendars: by Until, and by Ended, which
// is the order in which the oldest go when there are too many. Both let go of many records for a constant cost each; a
// queue would do if Until grew with Ended, but unique windows reach up to a year ahead.
//
// A calendar is not told when a record is replaced or forgotten: an entry counts if the index holds this very record.
type records struct {
	byID  *index.Index[ax.IDRecord]
	until calendar // until.n <= 2 byID.Len() + slack after every change, and so is ended.n
	ended calendar
}

// slack is how many stale entries are never worth a rebuild.
const slack = 1024

func newRecords(seed maphash.Seed) records {
	return records{
		byID:  index.New(seed, func(r *ax.IDRecord) string { return r.ID }),
		until: calendar{days: map[ax.Time][]*ax.IDRecord{}, when: func(r *ax.IDRecord) ax.Time { return r.Until }},
		ended: calendar{days: map[ax.Time][]*ax.IDRecord{}, when: func(r *ax.IDRecord) ax.Time { return r.Ended }},
	}
}

// remember keeps records in place of earlier ones of the same ids.
func (k *records) remember(list []*ax.IDRecord) {
	if len(list) == 0 {
		return
	}
	for _, r := range list {
		k.byID.Put(r)
		k.until.add(r)
		k.ended.add(r)
	}
	k.tidy()
}

func (k *records) forget(id string) { k.byID.Delete(id) }

// tidy makes the calendars anew, without stale entries, when those are too many.
func (k *records) tidy() {
	if max(k.until.n, k.ended.n) <= 2*k.byID.Len()+slack {
		return
	}
	k.until.clear()
	k.ended.clear()
	for r := range k.byID.All() {
		k.until.add(r)
		k.ended.add(r)
	}
}

// prune forgets what has run out at now, and the oldest by (Ended, ID) beyond keep. It returns the newest Ended among
// the tasks it forgot, 0 if there was none.
func (k *records) prune(now ax.Time, keep int) (newest ax.Time) {
	drop := func(r *ax.IDRecord) {
		k.byID.Delete(r.ID)
		if r.State != 0 {
			newest = max(newest, r.Ended)
		}
	}
	live := func(r *ax.IDRecord) bool { return k.byID.Get(r.ID) == r }
	k.until.each(now, func(day []*ax.IDRecord) (rest []*ax.IDRecord) {
		for _, r := range day {
			switch {
			case !live(r):
			case r.Until < now:
				drop(r)
			default:
				rest = append(rest, r)
			}
		}
		return rest
	})
	k.ended.each(math.MaxInt64, func(day []*ax.IDRecord) []*ax.IDRecord {
		day = slices.DeleteFunc(day, func(r *ax.IDRecord) bool { return !live(r) })
		excess := max(0, min(k.byID.Len()-keep, len(day)))
		if excess == 0 {
			return day
		}
		slices.SortFunc(day, func(a, b *ax.IDRecord) int {
			return cmp.Or(cmp.Compare(a.Ended, b.Ended), cmp.Compare(a.ID, b.ID))
		})
		for _, r := range day[:excess] {
			drop(r)
		}
		return slices.Clone(day[excess:]) // not the array, which would keep the dropped ones
	})
	k.tidy()
	return newest
}

// calendar keeps records by a time in days of about a second, earliest day first.
type calendar struct {
	when func(*ax.IDRecord) ax.Time // immutable
	days map[ax.Time][]*ax.IDRecord // by when / dayLength
	heap days                       // the keys of days, each once
	n    int                        // records in all days, stale ones included
}

// dayLength is how far apart records of one day are: short, so that little is sorted or looked at twice, and long
// enough for the map to be much smaller than the records.
const dayLength = ax.Time(1 << 20) // microseconds

func (c *calendar) clear() { c.days, c.heap, c.n = map[ax.Time][]*ax.IDRecord{}, nil, 0 }

func (c *calendar) add(r *ax.IDRecord) {
	day := c.when(r) / dayLength
	list := c.days[day]
	if list == nil {
		heap.Push(&c.heap, day)
	}
	c.days[day] = append(list, r)
	c.n++
}

// each hands every day that begins by now to visit, earliest first, and keeps what it returns of it. It stops after a
// day of which something is left.
func (c *calendar) each(now ax.Time, visit func([]*ax.IDRecord) []*ax.IDRecord) {
	for len(c.heap) > 0 && c.heap[0] <= now/dayLength {
		day := c.heap[0]
		had := len(c.days[day])
		rest := visit(c.days[day])
		c.n -= had - len(rest)
		if len(rest) > 0 {
			c.days[day] = rest
			return
		}
		delete(c.days, day)
		heap.Pop(&c.heap)
	}
}

// days is a heap of day numbers, for container/heap.
type days []ax.Time

func (d days) Len() int           { return len(d) }
func (d days) Less(i, j int) bool { return d[i] < d[j] }
func (d days) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }
func (d *days) Push(v any)        { *d = append(*d, v.(ax.Time)) }
func (d *days) Pop() any {
	last := (*d)[len(*d)-1]
	*d = (*d)[:len(*d)-1]
	return last
}
