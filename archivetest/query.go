package archivetest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/axsched/ax"
)

// walk reads all pages of a query.
func (t *T) walk(q ax.Query) (all []*ax.Task) {
	want := q.Limit
	if want == 0 {
		want = 100
	}
	for range 5000 {
		page, err := t.Archive.Query(t.ctx, q)
		if err != nil {
			t.Fatalf("Query(%+v) = %v", q, err)
		}
		if n := len(page.Tasks); n > want || page.Next != "" && n < want {
			t.Errorf("Query(%+v): a page of %d, next %q", q, n, page.Next)
		}
		all = append(all, page.Tasks...)
		if q.Page = page.Next; q.Page == "" {
			return all
		}
	}
	t.Fatalf("Query: the walk does not end")
	return nil
}

// finds checks what a query selects, in pages of several sizes: the wanted tasks, newest first. Those that ended in one
// instant may come in any order, but the same at each page size.
func (t *T) finds(what string, q ax.Query, want []*ax.Task) {
	want = slices.Clone(want)
	name := func(a *ax.Task) string { return fmt.Sprint(a.ID, " run ", a.Run) }
	order := func(a, b *ax.Task) int {
		return cmp.Or(cmp.Compare(b.At, a.At), strings.Compare(a.ID, b.ID), cmp.Compare(a.Run, b.Run))
	}
	slices.SortFunc(want, order)
	var first []*ax.Task
	for i, limit := range []int{0, 1, 7, 1000} {
		q.Limit = limit
		got := t.walk(q)
		if i == 0 {
			first = got
		}
		if d := difference(names(got, name), names(first, name)); d != "" {
			t.Errorf("%s: pages of %d come in another order: %s", what, limit, d)
		}
		if !slices.IsSortedFunc(got, func(a, b *ax.Task) int { return cmp.Compare(b.At, a.At) }) {
			t.Errorf("%s: not newest first: %q", what, names(got, name))
		}
		got = slices.Clone(got)
		slices.SortFunc(got, order)
		if g, w := names(got, name), names(want, name); !slices.Equal(g, w) {
			t.Errorf("%s in pages of %d: %.300q, want %.300q", what, limit, g, w)
			return
		}
		t.same(what, got, want)
	}
}

func names(list []*ax.Task, name func(*ax.Task) string) (out []string) {
	for _, a := range list {
		out = append(out, name(a))
	}
	return out
}

// variety returns tasks that differ in everything a query can select by.
func variety() (all []*ax.Task) {
	for i := range 240 {
		job := []string{"job1", "job2", "other", ""}[i%4]
		id := fmt.Sprintf("key%d/task-%03d", i%3, i)
		if job != "" {
			id = ax.ShardID(ax.FireID(job, start+ax.Time(i)*1_000_000), int32(i%2))
			if i%5 == 0 {
				id = job + "/!request-" + fmt.Sprint(i)
			}
		}
		a := ended(id, (i*37)%60*100) // several end in one instant
		a.Kind = []string{"close", "open", "close-all"}[i%3]
		a.State = ax.Success + ax.State(i/2%4)
		if i%7 != 0 {
			a.Last = &ax.Attempt{Run: 1, N: 1, Executor: []string{"e1", "e2"}[i/3%2], Prev: &ax.Attempt{Executor: "e3"}}
		}
		all = append(all, a)
	}
	return all
}

// selects is the query once more, as plain as can be.
func selects(q ax.Query, a *ax.Task) bool {
	executor := ""
	if a.Last != nil {
		executor = a.Last.Executor
	}
	switch {
	case q.Job != "" && a.Job() != q.Job:
	case q.Kind != "" && a.Kind != q.Kind:
	case q.Executor != "" && executor != q.Executor:
	case !strings.HasPrefix(a.ID, q.Prefix):
	case q.State != 0 && a.State != q.State:
	case q.From != 0 && a.At < q.From:
	case q.To != 0 && a.At >= q.To:
	default:
		return true
	}
	return false
}

func queryCases() []Case {
	return []Case{
		{"query/all", "zero fields select everything, newest first by the time it ended", func(t *T) {
			t.finds("an empty archive", ax.Query{}, nil)
			all := variety()
			for len(all) > 0 { // appended in another order than they ended
				t.add(all[:min(17, len(all))])
				all = all[min(17, len(all)):]
			}
			t.finds("everything", ax.Query{}, variety())
		}},
		{"query/filters", "a query selects by job, kind, executor of the last attempt, prefix of the id, state, and From <= ended < To, all together", func(t *T) {
			all := variety()
			t.add(all)
			some := 0
			for i, q := range []ax.Query{
				{Job: "job1"}, {Job: "job"}, {Job: "nothing"}, {Job: "key1"}, {Kind: "close"}, {Kind: "clos"}, {Executor: "e1"}, {Executor: "e3"},
				{Prefix: "job1/@"}, {Prefix: "key1/task-0"}, {Prefix: "job1/!request-"}, {Prefix: "%"}, {Prefix: "key_"}, {Prefix: "key1*"}, {Prefix: "JOB1"}, {Prefix: all[5].ID},
				{State: ax.Success}, {State: ax.Failed}, {State: ax.Timeout}, {State: ax.Canceled}, {State: ax.Running},
				{From: start + 1000}, {From: start + 1001}, {To: start + 1000}, {To: start + 1001}, {From: start + 1000, To: start + 1100}, {From: start + 1000, To: start + 1000}, {To: start}, {From: start * 2},
				{Job: "job2", State: ax.Failed, From: start + 500, To: start + 5000}, {Kind: "open", Executor: "e2", Prefix: "other/"},
				{Job: "job1", Kind: "close-all", Executor: "e1", Prefix: "job1/@", State: ax.Canceled, From: start, To: start * 2},
			} {
				want := filter(all, func(a *ax.Task) bool { return selects(q, a) })
				t.finds(fmt.Sprintf("query %d %+v", i, q), q, want)
				some += min(len(want), 1)
			}
			if some < 15 {
				t.Errorf("only %d queries select anything: the case is weak", some)
			}
		}},
		{"query/limit", "limit 0 is 100, and a page never holds more than 1000", func(t *T) {
			var all []*ax.Task
			for i := range 1050 {
				all = append(all, ended(fmt.Sprintf("t%04d", i), i%10))
			}
			t.add(all)
			for limit, want := range map[int]int{0: 100, 1: 1, 1000: 1000, 1001: 1000, 1 << 30: 1000} {
				page, err := t.Archive.Query(t.ctx, ax.Query{Limit: limit})
				if err != nil || len(page.Tasks) != want || page.Next == "" {
					t.Errorf("limit %d: %d tasks, next %q, %v; want %d", limit, len(page.Tasks), page.Next, err, want)
				}
			}
			page, err := t.Archive.Query(t.ctx, ax.Query{Limit: 50, From: start + 9}) // exactly what there is, and no page after it
			rest, err2 := t.Archive.Query(t.ctx, ax.Query{Limit: 55, From: start + 9, Page: page.Next})
			if err != nil || err2 != nil || len(page.Tasks) != 50 || len(rest.Tasks) != 55 || rest.Next != "" {
				t.Errorf("two exact pages: %d and %d tasks, next %q, %v, %v", len(page.Tasks), len(rest.Tasks), rest.Next, err, err2)
			}
		}},
		{"query/growing", "pages go on by key: what is appended or pruned during a walk moves nothing else", func(t *T) {
			var all []*ax.Task
			for i := range 60 {
				all = append(all, ended(fmt.Sprintf("t%02d", i), 1000+i/2))
			}
			t.add(all)
			seen := map[string]int{}
			q := ax.Query{Limit: 7}
			for step := range 50 {
				page, err := t.Archive.Query(t.ctx, q)
				if err != nil {
					t.Fatalf("Query = %v", err)
				}
				for _, a := range page.Tasks {
					seen[a.ID]++
				}
				if q.Page = page.Next; q.Page == "" {
					break
				}
				t.add([]*ax.Task{ended(fmt.Sprint("new", step), 5000+step), ended(fmt.Sprint("late", step), 1000+step)})
				if step == 3 {
					t.prune(start+1005, 0, 10+4)
				}
			}
			for i, a := range all {
				if seen[a.ID] != 1 && !(i < 10 && seen[a.ID] == 0) {
					t.Errorf("task %s was seen %d times, want once", a.ID, seen[a.ID])
				}
			}
		}},
		{"query/page", "a page that is none is ErrInvalid", func(t *T) {
			t.add([]*ax.Task{ended("a", 1)})
			_, err := t.Archive.Query(t.ctx, ax.Query{Page: "\x00 no page"})
			t.refused("Query", err, ax.ErrInvalid)
		}},
		{"query/rerun", "the runs of one id are separate tasks to a query, also when they ended in one instant", func(t *T) {
			var runs []*ax.Task
			for i := range int32(9) {
				runs = append(runs, with(ended("a", 5), func(a *ax.Task) { a.Run = i + 1 }))
			}
			t.add(runs)
			t.finds("nine runs", ax.Query{Prefix: "a"}, runs)
		}},
	}
}
