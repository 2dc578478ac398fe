package storetest

import (
	"fmt"
	"slices"

	"github.com/axsched/ax"
)

// stock is how many items the paging cases put into every index: no multiple of their limits.
const stock = 23

// stocked fills every index of partition 0, in an order that is not the index's.
func (t *T) stocked() (*owner, map[ax.Index][]string) {
	o := t.own(0)
	var b ax.Batch
	want := map[ax.Index][]string{}
	for k := range stock {
		i := (k * 7) % stock
		n := fmt.Sprintf("n%02d", i)
		states := map[ax.Index]ax.State{ax.IndexWaiting: ax.Created, ax.IndexRunning: ax.Running, ax.IndexHeld: ax.Held, ax.IndexEnded: ax.Success + ax.State(i%4)}
		for _, s := range states {
			b.Create = append(b.Create, in(t.task(0, fmt.Sprintf("%s-%d", n, s)), s))
		}
		// due times fall while ids rise, and two tasks share each
		b.Create = append(b.Create, with(t.task(0, n), func(a *ax.Task) { a.At = start - ax.Time(i/2)*1_000_003 }))
		b.Remember = append(b.Remember, &ax.IDRecord{ID: n, State: ax.Success, Ended: start - ax.Time(i/2)*1_000_003, Until: start * 2})
		b.Jobs = append(b.Jobs, ax.JobState{UID: n})
		b.Instances = append(b.Instances, &ax.Instance{ID: n})
		b.Reasons = append(b.Reasons, ax.Reason{Job: n, Code: "paused", From: start, To: start, Count: 1})
		b.Outgoing = append(b.Outgoing, ax.Outgoing{Entry: request(n, ax.VerbFollowUp, "x")})
		b.Facts = append(b.Facts, ax.Fact{ID: n})
		want[ax.IndexFacts] = append(want[ax.IndexFacts], n)
		want[ax.IndexInbox] = append(want[ax.IndexInbox], n)
		t.submit(0, request(n, ax.VerbCancel, "x"))
	}
	o.must(b)
	sorted := func(i ax.Index, less func(a, b string) int, list []string) {
		slices.SortFunc(list, less)
		want[i] = list
	}
	byName := func(a, b string) int { return slices.Compare([]byte(a), []byte(b)) }
	at := map[string]ax.Time{}
	byTime := func(a, b string) int {
		if d := at[a] - at[b]; d != 0 {
			return int(d)
		}
		return byName(a, b)
	}
	for _, a := range b.Create {
		at[a.ID] = a.At
		for i, in := range map[ax.Index]bool{ax.IndexDue: a.State == ax.Scheduled, ax.IndexWaiting: a.State == ax.Created,
			ax.IndexRunning: a.State == ax.Running, ax.IndexHeld: a.State == ax.Held, ax.IndexEnded: a.State.Terminal()} {
			if in {
				want[i] = append(want[i], a.ID)
			}
		}
	}
	for _, r := range b.Remember {
		at[r.ID] = r.Ended
	}
	for _, i := range []ax.Index{ax.IndexWaiting, ax.IndexRunning, ax.IndexHeld, ax.IndexEnded} {
		sorted(i, byName, want[i])
	}
	sorted(ax.IndexDue, byTime, want[ax.IndexDue])
	sorted(ax.IndexIDs, byTime, names(ax.Page{IDs: b.Remember}))
	sorted(ax.IndexJobs, byName, names(ax.Page{Jobs: b.Jobs}))
	sorted(ax.IndexInstances, byName, names(ax.Page{Instances: b.Instances}))
	sorted(ax.IndexReasons, byName, names(ax.Page{Reasons: b.Reasons}))
	sorted(ax.IndexOutgoing, byName, names(ax.Page{Outgoing: b.Outgoing}))
	return o, want
}

// ranked reports whether a walk showed what it should: in the index's order, but for tasks of one rank (At in IndexDue, all
// in the other indexes of tasks), whose order is the store's.
func ranked(i ax.Index, seen, want []string) bool {
	if i > ax.IndexEnded {
		return slices.Equal(seen, want)
	}
	rank := map[string]int{} // of IndexDue, as stocked makes it
	for k, id := range want {
		if i == ax.IndexDue {
			rank[id] = (k + 1) / 2
		}
	}
	got := slices.Clone(seen)
	if !slices.IsSortedFunc(got, func(a, b string) int { return rank[a] - rank[b] }) {
		return false
	}
	exact := slices.Clone(want)
	slices.Sort(got)
	slices.Sort(exact)
	return slices.Equal(got, exact)
}

// scanCases are about reading the indexes.
func scanCases() []Case {
	return []Case{
		{"scan/order", "every index is walked in its order (of tasks of one At, and in the other indexes of tasks, in one of the store's), whatever the limit, each item once; limit 0 means 1000", func(t *T) {
			o, want := t.stocked()
			for _, i := range indexes {
				for _, limit := range []int{1, 2, 3, 7, stock - 1, stock, stock + 1, 1000} {
					if got := names(o.walk(i, limit)); !ranked(i, got, want[i]) {
						t.Errorf("index %d in pages of %d: %q, want %q", i, limit, got, want[i])
					}
				}
				page, err := t.Store.Scan(t.ctx, ax.ScanRequest{Token: o.token, Index: i})
				if err != nil || page.Next != "" || !ranked(i, names(page), want[i]) {
					t.Errorf("index %d without a limit: %q, next %q, %v", i, names(page), page.Next, err)
				}
			}
		}},
		{"scan/slice", "only the slice that belongs to the index is set", func(t *T) {
			o, want := t.stocked()
			for _, i := range indexes {
				page := o.walk(i, 1000)
				mine := [...]int{len(page.Tasks), len(page.Entries), len(page.IDs), len(page.Jobs), len(page.Instances), len(page.Reasons), len(page.Outgoing), len(page.Facts)}
				slot := max(int(i)-int(ax.IndexEnded), 0)
				if mine[slot] != len(want[i]) || items(page) != len(want[i]) {
					t.Errorf("index %d: slices of %v items, want %d in the one at %d", i, mine, len(want[i]), slot)
				}
			}
		}},
		{"scan/empty", "an empty index is one empty page", func(t *T) {
			o := t.own(0)
			for _, i := range indexes {
				page, err := t.Store.Scan(t.ctx, ax.ScanRequest{Token: o.token, Index: i, Limit: 1})
				if err != nil || items(page) != 0 || page.Next != "" {
					t.Errorf("index %d: %v, %v, want nothing", i, page, err)
				}
			}
		}},
		{"scan/to", "To ends a walk of IndexDue before the first task whose At is later", func(t *T) {
			o := t.own(0)
			var b ax.Batch
			for i := range 10 {
				b.Create = append(b.Create, with(t.task(0, fmt.Sprint(i)), func(a *ax.Task) { a.At = start + ax.Time(i) }))
			}
			b.Create = append(b.Create, with(t.task(0, "negative"), func(a *ax.Task) { a.At = -5 }), with(t.task(0, "last"), func(a *ax.Task) { a.At = ax.MaxTime }))
			o.must(b)
			for _, limit := range []int{1, 3, 4, 100} {
				for to, want := range map[ax.Time]int{start - 1: 1, start: 2, start + 4: 6, start + 9: 11, start + 100: 11, ax.MaxTime: 12, 0: 12} {
					n, req := 0, ax.ScanRequest{Token: o.token, Index: ax.IndexDue, To: to, Limit: limit}
					for {
						page, err := t.Store.Scan(t.ctx, req)
						if err != nil {
							t.Fatalf("Scan = %v", err)
						}
						if n += len(page.Tasks); page.Next == "" || n > 12 {
							break
						}
						req.From = page.Next
					}
					if n != want {
						t.Errorf("walk to %d in pages of %d: %d tasks, want %d", to, limit, n, want)
					}
				}
			}
		}},
		{"scan/after", "After begins a walk of IndexDue behind the last task whose At is not later: windows that follow each other show every task once", func(t *T) {
			o := t.own(0)
			var b ax.Batch
			const n = 40
			for i := range n {
				b.Create = append(b.Create, with(t.task(0, fmt.Sprintf("%02d", i)), func(a *ax.Task) { a.At = start + ax.Time(i/3) }))
			}
			b.Create = append(b.Create, in(with(t.task(0, "waits"), func(a *ax.Task) { a.At = start + 2 }), ax.Created))
			o.must(b)
			for _, limit := range []int{1, 3, 4, 100} {
				for _, width := range []ax.Time{1, 2, 5, n} {
					seen := map[string]int{}
					for from := start - 1; from < start+n; from += width {
						req := ax.ScanRequest{Token: o.token, Index: ax.IndexDue, After: from, To: from + width, Limit: limit}
						for {
							page, err := t.Store.Scan(t.ctx, req)
							if err != nil {
								t.Fatalf("Scan = %v", err)
							}
							for _, a := range page.Tasks {
								if seen[a.ID]++; a.At <= from || a.At > from+width {
									t.Errorf("a walk after %d to %d shows a task at %d", from, from+width, a.At)
								}
							}
							if req.From = page.Next; req.From == "" {
								break
							}
						}
					}
					for i := range n {
						if id := t.id(0, fmt.Sprintf("%02d", i)); seen[id] != 1 {
							t.Errorf("windows of %d in pages of %d show %s %d times, want once", width, limit, id, seen[id])
						}
					}
				}
			}
		}},
		{"scan/again", "a page may be asked for again, with the same From", func(t *T) {
			o, want := t.stocked()
			for _, i := range indexes {
				req := ax.ScanRequest{Token: o.token, Index: i, Limit: 5}
				var walk []string
				for {
					page, err := t.Store.Scan(t.ctx, req)
					again, err2 := t.Store.Scan(t.ctx, req)
					if err != nil || err2 != nil || Diff(names(again), names(page)) != "" || again.Next != page.Next {
						t.Fatalf("index %d from %q: %q (%v), again %q (%v)", i, req.From, names(page), err, names(again), err2)
					}
					walk = append(walk, names(page)...)
					if req.From = page.Next; req.From == "" {
						break
					}
				}
				if !ranked(i, walk, want[i]) {
					t.Errorf("index %d, each page twice: %q, want %q", i, walk, want[i])
				}
			}
		}},
		{"scan/both", "walks of several indexes, and two of one, do not disturb each other", func(t *T) {
			o, want := t.stocked()
			type state struct {
				req  ax.ScanRequest
				seen []string
				done bool
			}
			var walks []*state
			for _, i := range indexes {
				for _, limit := range []int{2, 5} {
					walks = append(walks, &state{req: ax.ScanRequest{Token: o.token, Index: i, Limit: limit}})
				}
			}
			for left := len(walks); left > 0; {
				for _, w := range walks {
					if w.done {
						continue
					}
					page, err := t.Store.Scan(t.ctx, w.req)
					if err != nil {
						t.Fatalf("Scan = %v", err)
					}
					w.seen = append(w.seen, names(page)...)
					if w.req.From = page.Next; page.Next == "" {
						w.done = true
						left--
					}
				}
			}
			for _, w := range walks {
				if !ranked(w.req.Index, w.seen, want[w.req.Index]) {
					t.Errorf("index %d, walked beside others in pages of %d: %q, want %q", w.req.Index, w.req.Limit, w.seen, want[w.req.Index])
				}
			}
		}},
		{"scan/windows", "walks of IndexDue with other bounds, and without, do not disturb each other", func(t *T) {
			o := t.own(0)
			var b ax.Batch
			const n = 60
			for i := range n {
				b.Create = append(b.Create, with(t.task(0, fmt.Sprintf("%02d", i)), func(a *ax.Task) { a.At = start + ax.Time(i/2) }))
			}
			o.must(b)
			type walk struct {
				after, to  ax.Time
				want, seen int
				from       string
				done       bool
			}
			walks := []*walk{ // the last to begin is bounded at both ends, inside of others
				{want: n}, {to: start + 9, want: 20}, {to: start + 19, want: 40}, {after: start + 4, want: n - 10},
				{after: start + 4, to: start + 9, want: 10}, {after: start + 9, to: start + 19, want: 20},
			}
			for left := len(walks); left > 0; {
				for _, w := range walks { // a page each
					if w.done {
						continue
					}
					page, err := t.Store.Scan(t.ctx, ax.ScanRequest{Token: o.token, Index: ax.IndexDue, After: w.after, To: w.to, Limit: 3, From: w.from})
					if err != nil {
						t.Fatalf("Scan = %v", err)
					}
					for _, a := range page.Tasks {
						if w.seen++; w.after != 0 && a.At <= w.after || w.to != 0 && a.At > w.to {
							t.Errorf("a walk after %d to %d shows a task at %d", w.after, w.to, a.At)
						}
					}
					if w.from = page.Next; w.from == "" || w.seen > n {
						w.done = true
						left--
					}
				}
			}
			for _, w := range walks {
				if w.seen != w.want {
					t.Errorf("the walk after %d to %d shows %d tasks, want %d", w.after, w.to, w.seen, w.want)
				}
			}
		}},
		{"scan/changes", "what Apply changes during a walk may or may not be seen, everything else is seen exactly once; an item is as it stands when its page is read", changes},
		{"scan/cursor", "a cursor that is none is ErrInvalid", func(t *T) {
			o, _ := t.stocked()
			_, err := t.Store.Scan(t.ctx, ax.ScanRequest{Token: o.token, Index: ax.IndexDue, From: "\x00 no cursor"})
			t.refused("Scan", err, ax.ErrInvalid)
		}},
	}
}

// changes walks two indexes of tasks, and between the pages deletes, moves, reschedules and creates tasks behind and
// before the walk.
func changes(t *T) {
	for _, limit := range []int{1, 4, 7} {
		o := t.own(0)
		const n = 60
		name := func(i int) string { return fmt.Sprintf("l%d-%02d", limit, i) }
		now := map[string]*ax.Task{} // as they stand
		var b ax.Batch
		for i := range n {
			a := with(t.task(0, name(i)), func(a *ax.Task) { a.At = start + ax.Time(i/3*30) }) // three of one instant
			b.Create, now[a.ID] = append(b.Create, a), a
		}
		o.must(b)
		req := ax.ScanRequest{Token: o.token, Index: ax.IndexDue, Limit: limit}
		seen := map[string]int{}
		for step := 0; ; step++ {
			page, err := t.Store.Scan(t.ctx, req)
			if err != nil {
				t.Fatalf("Scan = %v", err)
			}
			for _, a := range page.Tasks {
				seen[a.ID]++
				if want := now[a.ID]; want == nil || want.State != ax.Scheduled {
					t.Errorf("limit %d: the walk shows %s, which is not in the index", limit, a.ID)
				} else {
					t.same("a task of a page", a, want)
				}
			}
			if req.From = page.Next; req.From == "" {
				break
			}
			if step > 2*n {
				t.Fatalf("limit %d: the walk does not end", limit)
			}
			// Tasks 3k+1 and 3k+2 change at some time, 3k never does; new ones are numbered from n on.
			var b ax.Batch
			i := (step * 17) % n
			id := t.id(0, name(i))
			switch old := now[id]; {
			case i%3 == 0 || old == nil || old.State != ax.Scheduled:
			case i%3 == 1:
				b.Delete = []string{id}
				delete(now, id)
			case step%3 == 0:
				now[id] = in(old, ax.Running)
				b.Move = []*ax.Task{now[id]}
			case step%3 == 1: // in its place
				now[id] = with(old, func(a *ax.Task) { a.Attempt++ })
				b.Move = []*ax.Task{now[id]}
			default:
				now[id] = with(old, func(a *ax.Task) { a.At += 100; a.Marks = ax.Retrying })
				b.Move = []*ax.Task{now[id]}
			}
			if step < 20 {
				a := with(t.task(0, name(n+step)), func(a *ax.Task) { a.At = start + ax.Time(step*31) })
				b.Create, now[a.ID] = []*ax.Task{a}, a
			}
			o.must(b)
		}
		for i := 0; i < n; i += 3 {
			if id := t.id(0, name(i)); seen[id] != 1 {
				t.Errorf("limit %d: task %s, which did not change, was seen %d times, want once", limit, id, seen[id])
			}
		}
		var all []string
		for id := range now {
			all = append(all, id)
		}
		slices.Sort(all)
		o.must(ax.Batch{Delete: all})
	}
}
