package storetest

import (
	"fmt"
	"slices"

	"github.com/axsched/ax"
)

// prune calls Prune and ends the case if it fails.
func (o *owner) prune(now ax.Time, keep int) ax.Time {
	floor, err := o.t.Store.Prune(o.t.ctx, o.p, o.token, now, keep)
	if err != nil {
		o.t.Fatalf("Prune(%d, %d) = %v", now, keep, err)
	}
	return floor
}

// recordCases are about what stays known of ids.
func recordCases() []Case {
	ended := func(id string, at, until ax.Time) *ax.IDRecord {
		return &ax.IDRecord{ID: id, Hash: 7, State: ax.Success, Run: 1, Ended: at, Until: until}
	}
	return []Case{
		{"record/fields", "an id record comes back with every field; a later one of the same id replaces it; Forget removes it", func(t *T) {
			o := t.own(0)
			x, y := filled[ax.IDRecord](1), filled[ax.IDRecord](2)
			a, b := &x, &y
			o.must(ax.Batch{Remember: []*ax.IDRecord{a, b}})
			o = t.own(0)
			got := o.scan(ax.IndexIDs).IDs
			slices.SortFunc(got, func(x, y *ax.IDRecord) int { return int(y.Ended - x.Ended) })
			t.same("id records", got, []*ax.IDRecord{a, b})
			c := y
			c.ID = a.ID
			o.must(ax.Batch{Remember: []*ax.IDRecord{&c}, Forget: []string{filled[ax.IDRecord](2).ID}})
			t.same("the records after a replacement", o.scan(ax.IndexIDs).IDs, []*ax.IDRecord{&c})
			o.must(ax.Batch{Forget: []string{a.ID}})
			o.holds(ax.IndexIDs)
		}},
		{"record/order", "inside a batch Remember comes before Forget", func(t *T) {
			o := t.own(0)
			o.must(ax.Batch{Remember: []*ax.IDRecord{ended("a", 1, 2)}, Forget: []string{"a"}})
			o.holds(ax.IndexIDs)
		}},
		{"record/until", "Prune forgets the records whose Until is before now, and no others", func(t *T) {
			o := t.own(0)
			var list []*ax.IDRecord
			for i := range 30 { // Until falls while Ended rises, some far apart
				list = append(list, ended(fmt.Sprintf("r%02d", i), start+ax.Time(i), start+ax.Time(1000*(30-i))+ax.Time(i%3)*5_000_000))
			}
			o.must(ax.Batch{Remember: list[:15]})
			o.must(ax.Batch{Remember: list[15:]})
			for _, now := range []ax.Time{0, start, start + 1001, start + 15_000, start + 15_001, start + 5_000_000, start + 9_000_000, start + 20_000_000} {
				o.prune(now, 1000)
				list = slices.DeleteFunc(list, func(r *ax.IDRecord) bool { return r.Until < now })
				o.holds(ax.IndexIDs, names(ax.Page{IDs: list})...)
			}
		}},
		{"record/replaced", "a record that was replaced or forgotten goes by the new one's times, or is gone", func(t *T) {
			o := t.own(0)
			o.must(ax.Batch{Remember: []*ax.IDRecord{ended("a", 1, 10), ended("b", 2, 10), ended("c", 3, 10)}})
			o.must(ax.Batch{Remember: []*ax.IDRecord{ended("a", 9, 1000)}, Forget: []string{"b"}})
			o.must(ax.Batch{Remember: []*ax.IDRecord{ended("b", 8, 1000)}})
			o.prune(11, 100)
			o.holds(ax.IndexIDs, "b", "a")
			o.prune(11, 1)
			o.holds(ax.IndexIDs, "a")
		}},
		{"record/keep", "Prune forgets the oldest beyond keep, by Ended", func(t *T) {
			o := t.own(0)
			var list []*ax.IDRecord
			for k := range 40 {
				i := (k * 11) % 40
				list = append(list, ended(fmt.Sprintf("r%02d", i), start+ax.Time(i)*700_000, start*2))
			}
			o.must(ax.Batch{Remember: list})
			slices.SortFunc(list, func(a, b *ax.IDRecord) int { return int(a.Ended - b.Ended) })
			for _, keep := range []int{50, 40, 39, 22, 21, 3, 0} {
				o.prune(start, keep)
				list = list[max(0, len(list)-keep):]
				o.holds(ax.IndexIDs, names(ax.Page{IDs: list})...)
			}
		}},
		{"record/floor", "the floor lies just above the newest Ended of a forgotten task, never falls, and is what Open returns", func(t *T) {
			o := t.own(0)
			if o.opened.Floor != 0 {
				t.Errorf("Opened.Floor of a new partition = %d, want 0", o.opened.Floor)
			}
			floor := func(what string, got, newest ax.Time) {
				o.open()
				if got <= newest && newest != 0 || got > newest+1 || got != o.opened.Floor {
					t.Errorf("floor %s = %d, Opened.Floor %d, want just above %d", what, got, o.opened.Floor, newest)
				}
			}
			entry := &ax.IDRecord{ID: "entry", Ended: start + 500, Until: 5} // no task: nothing can be made twice
			o.must(ax.Batch{Remember: []*ax.IDRecord{ended("a", start+10, start+100), ended("b", start+30, start+50), ended("c", start+20, start+300), entry}})
			floor("before anything ran out", o.prune(4, 100), 0)
			floor("after an entry ran out", o.prune(6, 100), 0)
			floor("after b ran out", o.prune(start+60, 100), start+30)
			floor("after a, which ended earlier, ran out", o.prune(start+200, 100), start+30)
			o = t.own(0)
			floor("with the next owner", o.prune(start+200, 100), start+30)
			o.must(ax.Batch{Remember: []*ax.IDRecord{ended("d", start+40, start+9000)}})
			floor("after c made room", o.prune(start+200, 1), start+30)
			floor("after d made room", o.prune(start+200, 0), start+40)
			o.must(ax.Batch{Remember: []*ax.IDRecord{ended("e", start+50, start+9000)}, Forget: []string{"e"}})
			floor("after a Forget", o.prune(start+9001, 0), start+40)
		}},
	}
}
