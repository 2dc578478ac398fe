package main

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/sched"
)

// book holds what was asked of ax, by the clock of who asked, beside what the ledger says came of it. It takes nothing
// from ax on trust: the due time that a handler was told counts only inside the window in which the caller puts it.
type book struct {
	mu      sync.Mutex // guards all below; held for microseconds, in no call that blocks
	entries []entry
	index   map[string]int // of entries, by task
	strays  int            // requests for tasks that nobody submitted

	last    time.Time       // when ax answered last
	late    []time.Duration // of each task's first request, in the order the ledger noted them
	hist    sched.Histogram // of late
	early   int
	done    int // requests answered
	samples []sample
	rates   []int // answers in each second so far
}

// entry is one task.
type entry struct {
	id       string
	from, to int64 // the due time, in microseconds since 1970, is between these; to is 0 until acknowledged
	told     int64 // the due time as the handler was told
	arrived  int64 // when the ledger saw the first request, 0: never
	requests int
	token    ax.AttemptToken // the newest seen
	acked    bool
	refused  bool // or answered Known: ids are not used twice here
	answered bool
	twice    bool // asked for again after it was done, or under a token that was not newer
}

// sample is what was counted at an instant, to tell the last second from the rest.
type sample struct {
	at         time.Time
	done, late int
}

func newBook(tasks int) *book {
	return &book{index: make(map[string]int, tasks), entries: make([]entry, 0, tasks), late: make([]time.Duration, 0, tasks)}
}

// ask notes a batch that is about to be submitted. A delay counts from when ax takes it in, which is not before now.
func (b *book) ask(batch []ax.Submission, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, sub := range batch {
		e := entry{id: sub.ID, from: now.Add(max(sub.In, 0)).UnixMicro()}
		if !sub.At.IsZero() {
			e.from = max(int64(ax.At(sub.At)), now.UnixMicro())
			e.to = e.from
		}
		b.index[sub.ID] = len(b.entries)
		b.entries = append(b.entries, e)
	}
}

// acknowledge notes what became of a batch, after the call. Without answers nothing of it was taken in, and what a
// shutdown turned away is not held against ax.
func (b *book) acknowledge(batch []ax.Submission, answers []ax.Answer, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = now
	for i, sub := range batch {
		e := &b.entries[b.index[sub.ID]]
		if i >= len(answers) || answers[i].Code != ax.Made {
			e.refused = i < len(answers) && !errors.Is(answers[i].Err, ax.ErrClosed)
			continue
		}
		e.acked = true
		if e.to == 0 {
			e.to = now.Add(max(sub.In, 0)).UnixMicro() + 1 // ax rounds up
		}
	}
}

// arrived notes a request.
func (b *book) arrived(a arrival) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, ok := b.index[a.task]
	if !ok {
		b.strays++
		return
	}
	e := &b.entries[i]
	e.requests++
	var token ax.AttemptToken
	if err := token.UnmarshalText([]byte(a.token)); err != nil || e.answered || token.Compare(e.token) <= 0 {
		e.twice = true
	}
	e.token = token
	if e.requests > 1 {
		return
	}
	e.arrived, e.told = a.arrived, a.due
	late := e.late()
	b.late = append(b.late, late)
	b.hist.Add(late)
	if late < 0 {
		b.early++
	}
}

// answered notes that the service has done a task.
func (b *book) answered(task string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i, ok := b.index[task]; ok {
		b.entries[i].answered = true
	}
	b.done++
}

// late returns how long after its due time the task was asked for, negative if before.
func (e *entry) late() time.Duration {
	due := max(e.told, e.from)
	if e.to != 0 {
		due = min(due, e.to)
	}
	return time.Duration(e.arrived-due) * time.Microsecond
}

// view is what the book shows while the program runs, by the ledger's clock.
type view struct {
	last, all quantiles // lateness in the last second, and so far
	rate      int       // answers in the last second
	rates     []int     // answers in each second so far
	early     int
}

// view counts up to now, which must not go back from call to call. started is when the run began.
func (b *book) view(started, now time.Time) view {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.samples) > 1 && now.Sub(b.samples[1].at) >= time.Second {
		b.samples = b.samples[1:]
	}
	since := sample{at: started}
	if len(b.samples) > 0 {
		since = b.samples[0]
	}
	v := view{early: b.early, all: quantilesIn(&b.hist), last: quantilesOf(slices.Sorted(slices.Values(b.late[since.late:])))}
	if d := now.Sub(since.at).Seconds(); d > 0 {
		v.rate = int(float64(b.done-since.done)/d + 0.5)
	}
	b.samples = append(b.samples, sample{now, b.done, len(b.late)})
	whole := int(now.Sub(started) / time.Second)
	for len(b.rates) < whole {
		b.rates = append(b.rates, v.rate)
	}
	v.rates = slices.Clone(b.rates)
	return v
}
