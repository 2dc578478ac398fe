package main

import (
	"errors"
	"sync"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/sched"
)

// book holds what was asked of ax, by the clock of who asked, beside what the ledger says came of it, over all starts of a
// run. It takes nothing from ax on trust: the due time that a handler was told counts only inside the window in which the
// caller puts it.
type book struct {
	mu      sync.Mutex // guards all below; held for microseconds, in no call that blocks
	entries []entry    // in the order of the workload
	index   map[string]int
	strays  int    // requests for tasks that nobody submitted
	before  int    // tasks acknowledged by earlier starts
	lives   []life // the last one is the present start

	last    time.Time       // when ax answered last
	late    []time.Duration // of each task's first request, in the order the ledger noted them, but for those due while stopped
	hist    sched.Histogram // of late
	early   int
	done    int    // requests answered
	base    sample // what earlier starts have left
	samples []sample
	rates   []int // answers in each second so far
}

// entry is one task.
type entry struct {
	id       string
	from, to int64           // the due time, in microseconds since 1970, is between these; to is 0 until acknowledged
	told     int64           // the due time as the handler was told
	arrived  int64           // when the ledger saw the first request, 0: never
	answered int64           // when the service answered the latest request, 0: not yet
	token    ax.AttemptToken // the newest seen
	requests int32
	life     int32 // of the latest request
	acked    bool
	refused  bool // or answered Known: ids are not used twice here
	stopped  bool // due before the start that asked for it was up
	twice    bool // asked for again after it was done, or under a token that was not newer
	again    bool // asked for again after the start of an earlier request was killed
}

// sample is what was counted at an instant, to tell the last second from the rest.
type sample struct {
	at         time.Time
	done, late int
}

func newBook(tasks int) *book {
	return &book{index: make(map[string]int, tasks), entries: make([]entry, 0, tasks), late: make([]time.Duration, 0, tasks),
		lives: make([]life, 1)}
}

// ask notes a batch that is about to be submitted. A delay counts from when ax takes it in, which is not before since:
// now, or the beginning of the run if an earlier start may have submitted it already.
func (b *book) ask(batch []ax.Submission, since time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, sub := range batch {
		e := b.entry(sub.ID)
		from, to := window(sub, since.UnixMicro(), 0)
		if e.from = from; !sub.At.IsZero() {
			e.to = to
		}
	}
}

// entry returns the entry of a task, a new one if it has none. mu must be held.
func (b *book) entry(id string) *entry {
	i, ok := b.index[id]
	if !ok {
		i = len(b.entries)
		b.index[id] = i
		b.entries = append(b.entries, entry{id: id})
	}
	return &b.entries[i]
}

// window returns between which instants a task is due that was asked for and acknowledged at these, all in microseconds.
func window(sub ax.Submission, asked, acked int64) (from, to int64) {
	if !sub.At.IsZero() {
		from = max(int64(ax.At(sub.At)), asked)
		return from, from
	}
	in := max(sub.In, 0)
	return asked + in.Microseconds(), acked + (in + time.Microsecond - 1).Microseconds() + 1 // ax rounds up
}

// acknowledge notes what became of a batch that was asked for and answered at these instants, and returns that for the
// next start. Without answers nothing of it was taken in, and what a shutdown or a full disk turned away is not held
// against ax. The batch may be known to ax only if an earlier start may have submitted it, from the instant again on.
func (b *book) acknowledge(batch []ax.Submission, answers []ax.Answer, asked, now, again time.Time) (told []note) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = now
	for i, sub := range batch[:min(len(batch), len(answers))] {
		n := note{first: b.index[sub.ID], n: 1, asked: asked.UnixMicro(), acked: now.UnixMicro()}
		e := &b.entries[n.first]
		code, err := answers[i].Code, answers[i].Err
		switch {
		case code == ax.Made:
		case code == ax.Known && !again.IsZero():
			n.asked = again.UnixMicro()
			b.before++
		case errors.Is(err, ax.ErrClosed), errors.Is(err, ax.ErrNoSpace):
			continue // to be submitted by the next start
		default:
			n.refused = true
		}
		e.settle(sub, &n)
		if last := len(told) - 1; last >= 0 && told[last].joins(n) {
			told[last].n++
		} else {
			told = append(told, n)
		}
	}
	return told
}

// settle notes what became of the task.
func (e *entry) settle(sub ax.Submission, n *note) {
	if e.refused = n.refused; !e.refused {
		e.acked = true
		e.from, e.to = window(sub, n.asked, n.acked)
	}
}

// arrived notes a request.
func (b *book) arrived(a arrival) {
	b.mu.Lock()
	defer b.mu.Unlock()
	present := b.see(a.arrived)
	i, ok := b.index[a.task]
	if !ok {
		b.strays++
		return
	}
	e := &b.entries[i]
	e.requests++
	var token ax.AttemptToken
	if err := token.UnmarshalText([]byte(a.token)); err != nil || token.Compare(e.token) <= 0 {
		e.twice = true
	}
	e.token = token
	if e.requests > 1 {
		cut := b.cut(e)
		e.again = e.again || cut
		e.twice = e.twice || e.answered != 0 && !cut
	}
	e.life, e.answered = int32(len(b.lives)-1), 0
	if e.requests > 1 {
		return
	}
	e.arrived, e.told = a.arrived, a.due
	late := e.late()
	if late < 0 {
		b.early++
	}
	if e.stopped = e.life > 0 && (present.began == 0 || e.due() < present.began); e.stopped {
		return
	}
	b.late = append(b.late, late)
	b.hist.Add(late)
}

// answered notes that the service has done a task.
func (b *book) answered(task string, at int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.see(at)
	if i, ok := b.index[task]; ok {
		b.entries[i].answered = at
	}
	b.done++
}

// due returns when the task was due.
func (e *entry) due() int64 {
	due := max(e.told, e.from)
	if e.to != 0 {
		due = min(due, e.to)
	}
	return due
}

// late returns how long after its due time the task was asked for, negative if before.
func (e *entry) late() time.Duration { return time.Duration(e.arrived-e.due()) * time.Microsecond }
