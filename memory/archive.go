package memory

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/index"
)

// Archive keeps the last finished tasks, and the last facts, in memory. Make it with NewArchive. All methods are safe
// for concurrent use.
type Archive struct {
	keep int // immutable; of tasks and of facts

	mu     sync.Mutex // guards all below
	ring   []*ax.Task // finished runs in the order they were added, each (id, run) once; at most keep
	first  int        // the oldest of a full ring; 0 until it is full
	newest *index.Index[ax.Task]
	older  map[string][]*ax.Task // further runs of an id in newest, oldest first: few ids have any
	facts  map[string]*fact      // by Fact.ID
	about  map[string][]*fact    // by Fact.Task, in the order they were added; never empty lists
	queue  []*fact               // all facts in the order they were added; those before head are gone
	head   int
}

type fact struct{ ax.Fact }

// NewArchive returns an empty archive of at most keep finished runs and keep facts.
func NewArchive(keep int) *Archive {
	return &Archive{
		keep: max(keep, 1), newest: index.New(maphash.MakeSeed(), func(t *ax.Task) string { return t.ID }),
		older: map[string][]*ax.Task{}, facts: map[string]*fact{}, about: map[string][]*fact{},
	}
}

// Append adds finished tasks and facts; see ax.Archive. It keeps the tasks it is given. The oldest go when there is no room.
func (a *Archive) Append(ctx context.Context, tasks []*ax.Task, facts []ax.Fact) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, t := range tasks {
		if !t.State.Terminal() {
			return &ax.Error{Op: "append", ID: t.ID, State: t.State, Reason: "only finished tasks are archived", Err: ax.ErrInvalid}
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range tasks {
		if a.add(t) {
			a.enter(t)
		}
	}
	for _, f := range facts {
		a.addFact(f)
	}
	return nil
}

// file adds tasks that ended in a batch of a partition.
func (a *Archive) file(tasks []*ax.Task) {
	if len(tasks) == 0 {
		return
	}
	a.mu.Lock()
	for _, t := range tasks {
		if a.add(t) {
			a.enter(t)
		}
	}
	a.mu.Unlock()
}

// add puts a run into the index. False if it was there.
func (a *Archive) add(t *ax.Task) bool {
	old := a.newest.Put(t)
	switch {
	case old == nil:
		return true
	case old.Run == t.Run && old.Created == t.Created && old.Seq == t.Seq:
		a.newest.Put(old) // the ring holds it, and it is the same
		return false
	case old.Run == t.Run: // the id was forgotten and used again
		a.older[t.ID] = append(a.older[t.ID], old)
		return true
	}
	list := a.older[t.ID]
	if old.Run > t.Run { // a late one
		a.newest.Put(old)
		old = t
	}
	i, found := slices.BinarySearchFunc(list, old.Run, func(t *ax.Task, run int32) int { return cmp.Compare(t.Run, run) })
	if !found {
		a.older[t.ID] = slices.Insert(list, i, old)
	}
	return !found
}

// enter puts a run into the ring, in place of the oldest if it is full.
func (a *Archive) enter(t *ax.Task) {
	if len(a.ring) < a.keep {
		a.ring = append(a.ring, t)
		return
	}
	a.remove(a.ring[a.first])
	a.ring[a.first] = t
	a.first = (a.first + 1) % a.keep
}

// remove takes a run out of the index.
func (a *Archive) remove(t *ax.Task) {
	list := a.older[t.ID]
	if len(list) == 0 {
		a.newest.Delete(t.ID)
		return
	}
	if i := slices.IndexFunc(list, func(o *ax.Task) bool { return o == t }); i >= 0 {
		list = slices.Delete(list, i, i+1)
	} else {
		a.newest.Put(list[len(list)-1])
		list = list[:len(list)-1]
	}
	if a.older[t.ID] = list; len(list) == 0 {
		delete(a.older, t.ID)
	}
}

func (a *Archive) addFact(f ax.Fact) {
	if a.facts[f.ID] != nil {
		return
	}
	v := &fact{f}
	a.facts[f.ID] = v
	a.about[f.Task] = append(a.about[f.Task], v)
	a.queue = append(a.queue, v)
	if len(a.queue)-a.head > a.keep {
		a.dropFact(a.queue[a.head])
		a.queue[a.head] = nil
		a.head++
	}
	if a.head > a.keep {
		a.queue, a.head = slices.Clone(a.queue[a.head:]), 0
	}
}

func (a *Archive) dropFact(f *fact) {
	delete(a.facts, f.ID)
	list := a.about[f.Task]
	if i := slices.Index(list, f); i >= 0 {
		list = slices.Delete(list, i, i+1)
	}
	if a.about[f.Task] = list; len(list) == 0 {
		delete(a.about, f.Task)
	}
}

// Get returns the finished runs of a task and the facts about it; see ax.Archive.
func (a *Archive) Get(ctx context.Context, id string) ([]*ax.Task, []ax.Fact, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var runs []*ax.Task
	if t := a.newest.Get(id); t != nil {
		runs = append(slices.Clone(a.older[id]), t)
		slices.Reverse(runs)
	}
	var facts []ax.Fact
	for _, f := range a.about[id] {
		facts = append(facts, f.Fact)
	}
	if runs == nil && facts == nil {
		return nil, nil, &ax.Error{Op: "get", ID: id, Err: ax.ErrNoTask}
	}
	slices.SortStableFunc(facts, func(f, g ax.Fact) int { return cmp.Compare(f.At, g.At) })
	return runs, facts, nil
}

// Limits of a page: what a person looks at, and what a program may ask for.
const (
	queryLimit = 100
	queryMost  = 1000
)

// Query returns one page of finished tasks; see ax.Archive. It looks at all of them, about 10 ms per 100,000.
func (a *Archive) Query(ctx context.Context, q ax.Query) (ax.Archived, error) {
	if err := ctx.Err(); err != nil {
		return ax.Archived{}, err
	}
	after, err := readMark(q.Page)
	if err != nil {
		return ax.Archived{}, err
	}
	limit := min(q.Limit, queryMost)
	if limit <= 0 {
		limit = queryLimit
	}
	var found []*ax.Task
	cut := func() {
		slices.SortFunc(found, newerFirst)
		found = found[:min(len(found), limit+1)] // one more says that a page follows
	}
	a.mu.Lock()
	for _, t := range a.ring {
		if matches(&q, t) && (after == nil || newerFirst(after, t) < 0) {
			if found = append(found, t); len(found) >= 4*queryMost {
				cut()
			}
		}
	}
	a.mu.Unlock()
	cut()
	page := ax.Archived{Tasks: found}
	if len(found) > limit {
		page.Tasks = found[:limit]
		page.Next = mark(found[limit-1])
	}
	return page, nil
}

// matches reports whether a finished task is what the query asks for, its page aside.
func matches(q *ax.Query, t *ax.Task) bool {
	ended := t.EndedAt()
	return (q.State == 0 || t.State == q.State) &&
		(q.Kind == "" || t.Kind == q.Kind) &&
		(q.From == 0 || ended >= q.From) && (q.To == 0 || ended < q.To) &&
		strings.HasPrefix(t.ID, q.Prefix) &&
		(q.Job == "" || t.Job() == q.Job) &&
		(q.Executor == "" || t.Last != nil && t.Last.Executor == q.Executor)
}

// newerFirst is the order of pages: by the time a run ended, downwards; id and run make it total.
func newerFirst(a, b *ax.Task) int {
	return cmp.Or(cmp.Compare(b.At, a.At), strings.Compare(a.ID, b.ID), cmp.Compare(b.Run, a.Run))
}

// mark writes a task's place in that order as Archived.Next; readMark reads it back, nil for "".
func mark(t *ax.Task) string { return fmt.Sprintf("%d/%d/%s", int64(t.At), t.Run, t.ID) }

func readMark(s string) (*ax.Task, error) {
	if s == "" {
		return nil, nil
	}
	at, rest, _ := strings.Cut(s, "/")
	run, id, found := strings.Cut(rest, "/")
	us, err1 := strconv.ParseInt(at, 10, 64)
	n, err2 := strconv.ParseInt(run, 10, 32)
	if !found || err1 != nil || err2 != nil {
		return nil, &ax.Error{Op: "query", Field: "Page", Value: fmt.Sprintf("%.80q", s), Reason: "it is no Archived.Next", Err: ax.ErrInvalid}
	}
	return &ax.Task{ID: id, At: ax.Time(us), Run: int32(n)}, nil
}

// Prune removes what ended before an instant, and the oldest beyond keep; see ax.Archive. Facts go by the same instant.
func (a *Archive) Prune(ctx context.Context, before ax.Time, keep int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	stay := slices.Concat(a.ring[a.first:], a.ring[:a.first])
	had := len(stay)
	if keep > 0 && len(stay) > keep {
		slices.SortStableFunc(stay, func(t, u *ax.Task) int { return newerFirst(u, t) })
		for _, t := range stay[:had-keep] {
			a.remove(t)
		}
		stay = stay[had-keep:]
	}
	stay = slices.DeleteFunc(stay, func(t *ax.Task) bool {
		if t.At < before {
			a.remove(t)
			return true
		}
		return false
	})
	a.ring, a.first = slices.Clone(stay), 0
	for _, f := range a.queue[a.head:] {
		if f.At < before {
			a.dropFact(f)
		}
	}
	a.queue = slices.DeleteFunc(slices.Clone(a.queue[a.head:]), func(f *fact) bool { return f.At < before })
	a.head = 0
	return had - len(stay), nil
}
