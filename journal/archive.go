package journal

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/axsched/ax"
	"github.com/axsched/ax/journal/record"
)

// archive is what memory knows of finished tasks: where their records stand. Backend.mu guards it.
type archive struct {
	keep   int           // immutable; of runs and of facts
	newest map[key]int32 // into slab: the last filed run of an id
	slab   []filed
	free   []int32 // of slab
	queue  []int32 // filed runs, oldest first, those before head are gone; those that were removed otherwise are skipped
	head   int

	facts     shelf[ax.Fact]
	about     map[string][]string // ids of facts by task, in the order they came
	factQueue []string            // oldest first; those before factHead are gone
	factHead  int
}

// filed is a finished run.
type filed struct {
	spot
	key   key
	run   int32
	older int32 // another run of the same id, -1 for none
	used  bool
}

func newArchive(keep int) archive {
	return archive{keep: keep, newest: map[key]int32{}, about: map[string][]string{}}
}

func (a *archive) count() int { return len(a.slab) - len(a.free) }

// find returns the filed run that ended in one instant in one state: there is one. -1 if it is not there.
func (a *archive) find(k key, run int32, when int64) int32 {
	for i := a.first(k); i >= 0; i = a.slab[i].older {
		if a.slab[i].run == run && a.slab[i].when == when {
			return i
		}
	}
	return -1
}

func (a *archive) first(k key) int32 {
	if i, ok := a.newest[k]; ok {
		return i
	}
	return -1
}

// file adds a finished run, or notes where it stands now.
func (a *archive) file(b *Backend, k key, run int32, s spot) {
	b.alive += s.size()
	if i := a.find(k, run, s.when); i >= 0 {
		b.alive -= a.slab[i].size()
		a.slab[i].spot = s
		return
	}
	f := filed{spot: s, key: k, run: run, older: a.first(k), used: true}
	var i int32
	if n := len(a.free) - 1; n >= 0 {
		i = a.free[n]
		a.free = a.free[:n]
		a.slab[i] = f
	} else {
		i = int32(len(a.slab))
		a.slab = append(a.slab, f)
	}
	a.newest[k] = i
	a.queue = append(a.queue, i)
	if !b.opening && a.count() > a.keep {
		a.dropOldest(b)
	}
}

// dropOldest removes the run that was filed first.
func (a *archive) dropOldest(b *Backend) {
	for a.head < len(a.queue) {
		i := a.queue[a.head]
		a.head++
		if a.slab[i].used {
			a.remove(b, i)
			break
		}
	}
	if a.head > len(a.queue)/2 && a.head > 1024 {
		a.queue = append(a.queue[:0], a.queue[a.head:]...)
		a.head = 0
	}
}

// remove takes out a run whose place in the queue is gone.
func (a *archive) remove(b *Backend, i int32) {
	f := &a.slab[i]
	if at := a.newest[f.key]; at == i {
		if f.older >= 0 {
			a.newest[f.key] = f.older
		} else {
			delete(a.newest, f.key)
		}
	} else {
		for ; a.slab[at].older != i; at = a.slab[at].older {
		}
		a.slab[at].older = f.older
	}
	b.alive -= f.size()
	*f = filed{}
	a.free = append(a.free, i)
}

// order puts the queue into the order in which the runs ended, and drops what is too much: at the end of an opening, and
// after a prune.
func (a *archive) order(b *Backend) {
	a.queue, a.head = a.queue[:0], 0
	for i := range a.slab {
		if a.slab[i].used {
			a.queue = append(a.queue, int32(i))
		}
	}
	slices.SortFunc(a.queue, func(i, k int32) int { return cmp.Compare(a.slab[i].when, a.slab[k].when) })
	for a.count() > a.keep {
		a.dropOldest(b)
	}
}

// prune removes what ended before an instant, and the oldest beyond keep if that is not 0. It returns how many runs it
// removed.
func (a *archive) prune(b *Backend, before ax.Time, keep int) int {
	had := a.count()
	a.order(b)
	for a.head < len(a.queue) && (a.slab[a.queue[a.head]].at() < before || keep > 0 && a.count() > keep) {
		a.dropOldest(b)
	}
	for id, k := range a.facts.items {
		if k.v.At < before {
			a.dropFact(id)
		}
	}
	return had - a.count()
}

func (a *archive) addFact(f ax.Fact, serial, segment uint64) {
	if _, known := a.facts.get(f.ID); !known {
		a.about[f.Task] = append(a.about[f.Task], f.ID)
		a.factQueue = append(a.factQueue, f.ID)
	}
	a.facts.put(f.ID, f, serial, segment)
	for len(a.facts.items) > a.keep && a.factHead < len(a.factQueue) {
		a.dropFact(a.factQueue[a.factHead])
		a.factHead++
	}
	if a.factHead > len(a.factQueue)/2 && a.factHead > 1024 {
		a.factQueue = append(a.factQueue[:0:0], a.factQueue[a.factHead:]...)
		a.factHead = 0
	}
}

func (a *archive) dropFact(id string) {
	f, ok := a.facts.get(id)
	if !ok {
		return
	}
	a.facts.drop(id)
	list := slices.DeleteFunc(a.about[f.Task], func(other string) bool { return other == id })
	if a.about[f.Task] = list; len(list) == 0 {
		delete(a.about, f.Task)
	}
}

// Archive is the ax.Archive of a Backend: the last finished tasks, bounded by Config.Keep and Config.KeepFor. All methods
// are safe for concurrent use. After Close they answer ErrClosed.
type Archive struct{ b *Backend }

// Append adds finished tasks and facts and waits until they are durable; see ax.Archive.
func (a *Archive) Append(ctx context.Context, tasks []*ax.Task, facts []ax.Fact) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, t := range tasks {
		if !t.State.Terminal() {
			return &ax.Error{Op: "append", ID: t.ID, State: t.State, Reason: "only finished tasks are archived", Err: ax.ErrInvalid}
		}
	}
	b := a.b
	b.mu.Lock()
	if err := b.usable(); err != nil {
		b.mu.Unlock()
		return err
	}
	w := b.log.frame(record.KindArchive)
	w.Section(record.TagFull, len(tasks))
	items := make([]item, len(tasks))
	for i, t := range tasks {
		items[i].at, items[i].size = w.Task(t)
	}
	w.Section(record.TagArchived, len(facts))
	for i := range facts {
		w.Fact(&facts[i])
	}
	seg, at, err := b.log.write(&w)
	if err != nil {
		b.mu.Unlock()
		return err
	}
	for i, t := range tasks {
		b.archive.file(b, b.hash.key(t.ID), t.Run, spot{base: placeAt(seg.slot, at+int64(items[i].at), items[i].size), when: whenOf(t.At, t.State)})
	}
	for i := range facts {
		b.archive.addFact(facts[i], sealAt(seg.number, at)+uint64(i), seg.number)
	}
	return b.flushed()
}

// Get returns the finished runs of a task and the facts about it; see ax.Archive.
func (a *Archive) Get(ctx context.Context, id string) ([]*ax.Task, []ax.Fact, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	b := a.b
	b.files.RLock()
	defer b.files.RUnlock()
	b.mu.Lock()
	if err := b.usable(); err != nil {
		b.mu.Unlock()
		return nil, nil, err
	}
	var spots []spot
	for i := b.archive.first(b.hash.key(id)); i >= 0; i = b.archive.slab[i].older {
		spots = append(spots, b.archive.slab[i].spot)
	}
	var facts []ax.Fact
	for _, f := range b.archive.about[id] {
		v, _ := b.archive.facts.get(f)
		facts = append(facts, v)
	}
	if err := b.flushed(); err != nil {
		return nil, nil, err
	}
	runs, err := b.readAll(spots)
	if err != nil {
		return nil, nil, err
	}
	if len(runs)+len(facts) == 0 {
		return nil, nil, &ax.Error{Op: "get", ID: id, Err: ax.ErrNoTask}
	}
	slices.SortStableFunc(runs, func(t, u *ax.Task) int { return cmp.Or(cmp.Compare(u.Run, t.Run), cmp.Compare(u.At, t.At)) })
	slices.SortStableFunc(facts, func(f, g ax.Fact) int { return cmp.Compare(f.At, g.At) })
	return runs, facts, nil
}

// Limits of a page: what a person looks at, and what a program may ask for.
const (
	queryLimit = 100
	queryMost  = 1000
)

// Query returns one page of finished tasks; see ax.Archive. It reads the tasks that From, To and State leave over, newest
// first, until the page is full: some 3 µs each.
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
	b := a.b
	b.files.RLock()
	defer b.files.RUnlock()
	spots, err := a.candidates(&q, after)
	if err != nil {
		return ax.Archived{}, err
	}
	var page ax.Archived
	for len(spots) > 0 {
		n := 1 // as many as ended in one instant: their order is known once they are read
		for n < len(spots) && (spots[n].at() == spots[0].at() || n < 64) {
			n++
		}
		for n < len(spots) && spots[n].at() == spots[n-1].at() {
			n++
		}
		tasks, err := b.readAll(spots[:n])
		if err != nil {
			return ax.Archived{}, err
		}
		spots = spots[n:]
		slices.SortFunc(tasks, newerFirst)
		for _, t := range tasks {
			if !matches(&q, t) || after != nil && newerFirst(after, t) >= 0 {
				continue
			}
			if len(page.Tasks) == limit { // one more says that a page follows
				page.Next = mark(page.Tasks[limit-1])
				return page, nil
			}
			page.Tasks = append(page.Tasks, t)
		}
		if err := ctx.Err(); err != nil {
			return ax.Archived{}, err
		}
	}
	return page, nil
}

// candidates returns the spots of what the index knows to be of interest, newest first.
func (a *Archive) candidates(q *ax.Query, after *ax.Task) ([]spot, error) {
	b := a.b
	b.mu.Lock()
	if err := b.usable(); err != nil {
		b.mu.Unlock()
		return nil, err
	}
	var spots []spot
	for i := range b.archive.slab {
		f := &b.archive.slab[i]
		if f.used && (q.State == 0 || f.state() == q.State&15) && (q.From == 0 || f.at() >= q.From) && (q.To == 0 || f.at() < q.To) &&
			(after == nil || f.at() <= after.At) {
			spots = append(spots, f.spot)
		}
	}
	if err := b.flushed(); err != nil {
		return nil, err
	}
	slices.SortFunc(spots, func(s, u spot) int { return cmp.Compare(u.at(), s.at()) })
	return spots, nil
}

// matches reports whether a finished task is what the query asks for, its page aside.
func matches(q *ax.Query, t *ax.Task) bool {
	return (q.State == 0 || t.State == q.State) &&
		(q.Kind == "" || t.Kind == q.Kind) &&
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
	b := a.b
	b.mu.Lock()
	if err := b.usable(); err != nil {
		b.mu.Unlock()
		return 0, err
	}
	w := b.log.frame(record.KindArchivePrune)
	w.Buf = record.AppendPruned(w.Buf, record.Pruned{Before: before, Keep: int64(keep)})
	if _, _, err := b.log.write(&w); err != nil {
		b.mu.Unlock()
		return 0, err
	}
	n := b.archive.prune(b, before, keep)
	return n, b.flushed()
}
