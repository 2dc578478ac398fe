package archivetest

import (
	"context"
	"fmt"
	"sync"

	"github.com/axsched/ax"
)

// start is the instant that cases count from.
const start = ax.Time(1_800_000_000_000_000)

// ended returns a task that ended some microseconds after start.
func ended(id string, after int) *ax.Task {
	return &ax.Task{ID: id, Kind: "kind", State: ax.Success, Run: 1, Created: start, Due: start, At: start + ax.Time(after)}
}

// with returns a changed copy of a task.
func with(task *ax.Task, change func(*ax.Task)) *ax.Task {
	c := *task
	change(&c)
	return &c
}

// add appends tasks and facts and ends the case if that fails.
func (t *T) add(tasks []*ax.Task, facts ...ax.Fact) {
	if err := t.Archive.Append(t.ctx, tasks, facts); err != nil {
		t.Fatalf("Append of %d tasks and %d facts = %v", len(tasks), len(facts), err)
	}
}

// same checks that two values are equal in every field.
func (t *T) same(what string, got, want any) {
	if d := difference(got, want); d != "" {
		t.Errorf("%s: %s", what, d)
	}
}

// knows checks what Get returns of an id.
func (t *T) knows(id string, runs []*ax.Task, facts []ax.Fact) {
	gotRuns, gotFacts, err := t.Archive.Get(t.ctx, id)
	if runs == nil && facts == nil {
		t.refused("Get of "+id, err, ax.ErrNoTask)
		return
	}
	if err != nil {
		t.Errorf("Get of %q = %v", id, err)
		return
	}
	t.same("the runs of "+id, gotRuns, runs)
	t.same("the facts about "+id, gotFacts, facts)
}

// prune calls Prune and checks how many tasks it says it removed.
func (t *T) prune(before ax.Time, keep, want int) {
	n, err := t.Archive.Prune(t.ctx, before, keep)
	if err != nil || n != want {
		t.Errorf("Prune(before %d, keep %d) = %d, %v, want %d", before, keep, n, err, want)
	}
}

func appendCases() []Case {
	return []Case{
		{"append/fields", "a finished task and a fact come back with every field, linked attempts and all bytes", func(t *T) {
			full, fact := filled[ax.Task](1), filled[ax.Fact](2)
			full.ID, full.State, fact.Task = "key/full", ax.Failed, "key/full"
			large := with(ended("large", 1), func(l *ax.Task) {
				l.Payload = make([]byte, ax.MaxPayload)
				for i := range l.Payload {
					l.Payload[i] = byte(i * 7)
				}
			})
			t.add([]*ax.Task{&full, large, ended("least", 2)}, fact)
			check := func() {
				t.knows(full.ID, []*ax.Task{&full}, []ax.Fact{fact})
				t.knows("large", []*ax.Task{large}, nil)
				t.knows("least", []*ax.Task{ended("least", 2)}, nil)
				page, err := t.Archive.Query(t.ctx, ax.Query{Prefix: full.ID})
				if err != nil {
					t.Fatalf("Query = %v", err)
				}
				t.same("the page", page.Tasks, []*ax.Task{&full})
			}
			check()
			if t.Reopen != nil {
				t.Archive = t.Reopen()
				check()
			}
		}},
		{"append/states", "every terminal state is archived; a task that has not ended is refused with ErrInvalid, and all with it", func(t *T) {
			for _, s := range []ax.State{ax.Success, ax.Failed, ax.Timeout, ax.Canceled} {
				a := with(ended(s.String(), 1), func(a *ax.Task) { a.State = s })
				t.add([]*ax.Task{a})
				t.knows(a.ID, []*ax.Task{a}, nil)
			}
			for _, s := range []ax.State{ax.Created, ax.Scheduled, ax.Running, ax.Held} {
				bad := with(ended("live", 1), func(a *ax.Task) { a.State = s })
				t.refused("Append of a task "+s.String(), t.Archive.Append(t.ctx, []*ax.Task{ended("good", 1), bad}, []ax.Fact{{ID: "f", Task: "good"}}), ax.ErrInvalid)
			}
			t.knows("good", nil, nil)
			t.knows("live", nil, nil)
		}},
		{"append/again", "Append is idempotent: what is there already is replaced by the same", func(t *T) {
			a, b := ended("a", 1), ended("b", 2)
			f := ax.Fact{ID: "f1", Task: "a", At: start, What: ax.FactCancel}
			for range 3 {
				t.add([]*ax.Task{a}, f)
				t.add([]*ax.Task{with(a, func(*ax.Task) {}), b, b}, f, f)
			}
			t.knows("a", []*ax.Task{a}, []ax.Fact{f})
			t.knows("b", []*ax.Task{b}, nil)
			t.finds("after repeats", ax.Query{}, []*ax.Task{a, b})
			t.prune(0, 1, 1)
			t.finds("after repeats and a Prune", ax.Query{}, []*ax.Task{b})
		}},
		{"append/nothing", "an Append of nothing is allowed", func(t *T) {
			t.add(nil)
			t.finds("nothing", ax.Query{}, nil)
		}},
		{"append/runs", "there is one record per id and run; Get returns the runs newest first", func(t *T) {
			var runs []*ax.Task
			for i := range int32(5) {
				runs = append([]*ax.Task{with(ended("a", int(i)*10), func(a *ax.Task) { a.Run, a.Hash = i+1, uint64(i) })}, runs...)
			}
			for _, i := range []int{2, 0, 4, 1, 3} { // they may come in any order
				t.add([]*ax.Task{runs[i], ended(fmt.Sprint("ab", i), i)})
			}
			t.knows("a", runs, nil)
			t.add(runs)
			t.knows("a", runs, nil)
			t.finds("runs", ax.Query{To: start + 1000, From: start + 5}, runs[:4])
			t.prune(start+15, 0, 2+5)
			t.knows("a", runs[:3], nil)
			t.prune(0, 1, 2)
			t.knows("a", runs[:1], nil)
			t.prune(start+41, 0, 1)
			t.knows("a", nil, nil)
		}},
		{"append/facts", "Get returns the facts about a task oldest first, also without the task; ErrNoTask if it knows neither", func(t *T) {
			f := func(id, task string, at int) ax.Fact {
				return ax.Fact{ID: id, Task: task, At: start + ax.Time(at), What: ax.FactLost, Text: id}
			}
			t.add(nil, f("3", "a", 30), f("1", "a", 10), f("x", "ab", 5))
			t.add([]*ax.Task{ended("b", 1)}, f("2", "a", 20), f("4", "b", 1), f("5", "job", 7))
			t.knows("a", nil, []ax.Fact{f("1", "a", 10), f("2", "a", 20), f("3", "a", 30)})
			t.knows("b", []*ax.Task{ended("b", 1)}, []ax.Fact{f("4", "b", 1)})
			t.knows("job", nil, []ax.Fact{f("5", "job", 7)})
			t.knows("c", nil, nil)
			t.knows("", nil, nil)
			t.finds("tasks only", ax.Query{}, []*ax.Task{ended("b", 1)})
		}},
		{"append/slices", "slices handed in belong to the caller again, and so do those returned", func(t *T) {
			tasks, facts := []*ax.Task{ended("a", 1)}, []ax.Fact{{ID: "f", Task: "a", At: start}}
			t.add(tasks, facts...)
			tasks[0], facts[0] = ended("spoiled", 1), ax.Fact{ID: "spoiled", Task: "a"}
			got, gotFacts, err := t.Archive.Get(t.ctx, "a")
			if err == nil {
				got[0], gotFacts[0] = nil, ax.Fact{}
			}
			page, err := t.Archive.Query(t.ctx, ax.Query{})
			if err == nil && len(page.Tasks) > 0 {
				page.Tasks[0] = nil
			}
			t.knows("a", []*ax.Task{ended("a", 1)}, []ax.Fact{{ID: "f", Task: "a", At: start}})
			t.finds("all", ax.Query{}, []*ax.Task{ended("a", 1)})
		}},
		{"append/canceled", "with a context that has ended nothing is written", func(t *T) {
			gone, cancel := context.WithCancel(t.ctx)
			cancel()
			t.add([]*ax.Task{ended("b", 1)})
			t.refused("Append", t.Archive.Append(gone, []*ax.Task{ended("a", 1)}, []ax.Fact{{ID: "f", Task: "a"}}), context.Canceled)
			_, err := t.Archive.Prune(gone, start*2, 0)
			t.refused("Prune", err, context.Canceled)
			_, err = t.Archive.Query(gone, ax.Query{})
			t.refused("Query", err, context.Canceled)
			_, _, err = t.Archive.Get(gone, "b")
			t.refused("Get", err, context.Canceled)
			t.knows("a", nil, nil)
			t.knows("b", []*ax.Task{ended("b", 1)}, nil)
		}},
		{"append/race", "all methods are safe for concurrent use", func(t *T) {
			var wg sync.WaitGroup
			for w := range 4 {
				wg.Go(func() {
					for i := range 50 {
						id := fmt.Sprintf("w%d-%d", w, i)
						if err := t.Archive.Append(t.ctx, []*ax.Task{ended(id, i), ended("all", 1)}, []ax.Fact{{ID: id, Task: "all", At: start}}); err != nil {
							t.Errorf("Append = %v", err)
						}
						if _, _, err := t.Archive.Get(t.ctx, id); err != nil {
							t.Errorf("Get of what was appended = %v", err)
						}
						if _, err := t.Archive.Query(t.ctx, ax.Query{Limit: 10}); err != nil {
							t.Errorf("Query = %v", err)
						}
						if _, err := t.Archive.Prune(t.ctx, start-1, 0); err != nil {
							t.Errorf("Prune = %v", err)
						}
					}
				})
			}
			wg.Wait()
			page, err := t.Archive.Query(t.ctx, ax.Query{Limit: 1000})
			if err != nil || len(page.Tasks) != 201 {
				t.Errorf("%d tasks, %v, want 201", len(page.Tasks), err)
			}
			if _, facts, err := t.Archive.Get(t.ctx, "all"); err != nil || len(facts) != 200 {
				t.Errorf("%d facts, %v, want 200", len(facts), err)
			}
		}},
		{"append/prune", "Prune removes what ended before an instant, and the oldest beyond keep, and says how many tasks", func(t *T) {
			var all []*ax.Task
			for i := range 20 {
				all = append(all, ended(fmt.Sprintf("t%02d", i), (i*7)%20*10))
			}
			fact := func(task string, at ax.Time) ax.Fact { return ax.Fact{ID: task + "-f", Task: task, At: at} }
			t.add(all, fact("job", start*2), fact("old", start-1000))
			t.prune(0, 0, 0)
			t.prune(0, 20, 0)
			t.prune(start, 30, 0)
			t.knows("old", nil, nil) // a fact goes by its own time
			t.finds("after nothing was to be pruned", ax.Query{}, all)
			t.prune(start+50, 0, 5)
			t.finds("after the five oldest went", ax.Query{}, filter(all, func(a *ax.Task) bool { return a.At >= start+50 }))
			t.prune(start+50, 12, 3)
			t.finds("after all beyond 12 went", ax.Query{}, filter(all, func(a *ax.Task) bool { return a.At >= start+80 }))
			t.prune(start+100, 11, 2)
			t.finds("after both", ax.Query{}, filter(all, func(a *ax.Task) bool { return a.At >= start+100 }))
			for _, a := range all {
				if a.At < start+100 {
					t.knows(a.ID, nil, nil)
				}
			}
			t.add(all[:10]) // what was pruned may come again
			t.prune(start+191, 0, len(filter(all, func(a *ax.Task) bool { return a.At >= start+100 }))+len(filter(all[:10], func(a *ax.Task) bool { return a.At < start+100 })))
			t.finds("after all went", ax.Query{}, nil)
			t.knows("job", nil, []ax.Fact{fact("job", start*2)})
		}},
	}
}

func filter(list []*ax.Task, keep func(*ax.Task) bool) (out []*ax.Task) {
	for _, a := range list {
		if keep(a) {
			out = append(out, a)
		}
	}
	return out
}
