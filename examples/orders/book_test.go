package main

import (
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/sched"
)

// TestAudit plants each fault, and sees it found: a check that cannot fail is none.
func TestAudit(t *testing.T) {
	base := time.Date(2026, 11, 30, 2, 30, 0, 0, time.UTC)
	us := base.UnixMicro()
	token := func(n uint64) string { return ax.AttemptToken{Token: ax.Token{Era: 1}, Claim: n}.String() }
	request := func(task string, n uint64, due, arrived time.Duration) arrival {
		return arrival{task: task, attempt: 1, token: token(n), due: us + due.Microseconds(), arrived: us + arrived.Microseconds()}
	}
	const second, ms = time.Second, time.Millisecond
	for name, c := range map[string]struct {
		events             func(b *book)
		receipt            sched.Receipt
		early, lost, twice int
		strays             int
		late               time.Duration // the first
	}{
		"in time": {events: func(b *book) {
			b.arrived(request("a", 1, second, second+3*ms))
			b.answered("a", us)
		}, late: 3 * ms},
		"early by what ax said": {events: func(b *book) {
			b.arrived(request("a", 1, second+2*ms, second+ms))
		}, early: 1, late: -ms},
		"early, and ax said it was due": {events: func(b *book) {
			b.arrived(request("a", 1, second/2, second/2))
		}, early: 1, late: -second / 2},
		"late, and ax said it was due only then": {events: func(b *book) {
			b.arrived(request("a", 1, 2*second, 2*second))
		}, late: second - 10*ms - time.Microsecond}, // it was taken in within 10 ms
		"lost":                {events: func(*book) {}, lost: 1},
		"returned":            {events: func(*book) {}, receipt: sched.Receipt{Returned: []*ax.Task{{ID: "a"}}}},
		"running":             {events: func(*book) {}, receipt: sched.Receipt{Running: []*ax.Task{{ID: "a"}}}},
		"another was running": {events: func(*book) {}, receipt: sched.Receipt{Running: []*ax.Task{{ID: "b"}}}, lost: 1},
		"retried": {events: func(b *book) {
			b.arrived(request("a", 1, second, second))
			b.arrived(request("a", 2, second, 2*second))
			b.answered("a", us)
		}},
		"twice at once": {events: func(b *book) {
			b.arrived(request("a", 1, second, second))
			b.arrived(request("a", 1, second, second))
		}, twice: 1},
		"again after it was done": {events: func(b *book) {
			b.arrived(request("a", 1, second, second))
			b.answered("a", us)
			b.arrived(request("a", 2, second, second))
		}, twice: 1},
		"under an older token": {events: func(b *book) {
			b.arrived(request("a", 2, second, second))
			b.arrived(request("a", 1, second, second))
		}, twice: 1},
		"without a token": {events: func(b *book) {
			b.arrived(arrival{task: "a", token: "-", due: us + 1e6, arrived: us + 1e6})
		}, twice: 1},
		"nobody's": {events: func(b *book) {
			b.arrived(request("a", 1, second, second))
			b.arrived(request("x", 2, second, second))
		}, strays: 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBook(1)
			batch := []ax.Submission{{ID: "a", In: second}}
			b.ask(batch, base)
			b.acknowledge(batch, []ax.Answer{{Code: ax.Made}}, base, base.Add(10*ms), time.Time{})
			c.events(b)
			v := b.audit(c.receipt)
			if v.early.n != c.early || v.lost.n != c.lost || v.twice.n != c.twice || v.strays != c.strays {
				t.Errorf("early %v, lost %v, twice %v, strays %d", v.early, v.lost, v.twice, v.strays)
			}
			if v.kept() != (c.early+c.lost+c.twice+c.strays == 0) {
				t.Errorf("kept is %v", v.kept())
			}
			if len(v.late) > 0 && v.late[0] != c.late {
				t.Errorf("late by %v, want %v", v.late[0], c.late)
			}
		})
	}
}

// TestRefused counts what ax did not take: not as submitted, and not as lost.
func TestRefused(t *testing.T) {
	now := time.Now()
	b := newBook(4)
	batch := []ax.Submission{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "d"}}
	b.ask(batch, now)
	b.acknowledge(batch, []ax.Answer{{Code: ax.Made}, {Code: ax.Known}, {Code: ax.Refused, Err: ax.ErrFull},
		{Code: ax.Refused, Err: &ax.Error{Op: "submit", Err: ax.ErrClosed}}}, now, now, time.Time{})
	more := []ax.Submission{{ID: "e"}}
	b.ask(more, now)
	b.acknowledge(more, nil, now, now, time.Time{}) // the call failed
	v := b.audit(sched.Receipt{})
	if v.submitted != 1 || v.refused != 2 || v.lost.n != 1 {
		t.Errorf("submitted %d, refused %d, lost %v", v.submitted, v.refused, v.lost)
	}
}

// TestAtInThePast measures lateness from when the task was submitted: it could not have run before.
func TestAtInThePast(t *testing.T) {
	now := time.Now()
	b := newBook(1)
	batch := []ax.Submission{{ID: "a", At: now.Add(-time.Hour)}}
	b.ask(batch, now)
	b.arrived(arrival{task: "a", token: ax.AttemptToken{Claim: 1}.String(), due: now.Add(-time.Hour).UnixMicro(), arrived: now.UnixMicro() + 5000})
	b.acknowledge(batch, []ax.Answer{{Code: ax.Made}}, now, now, time.Time{})
	if v := b.audit(sched.Receipt{}); v.late[0] != 5*time.Millisecond {
		t.Errorf("late by %v", v.late[0])
	}
}

// TestView counts the last second apart from the rest.
func TestView(t *testing.T) {
	start := time.Now().Truncate(time.Microsecond)
	b := newBook(0)
	var v view
	for tick := range 31 { // 3 seconds of 0.1 s, with an answer and a lateness of one ms more in each
		at := start.Add(time.Duration(tick) * pollEvery)
		batch := []ax.Submission{{ID: string(rune('A' + tick)), At: start}}
		b.ask(batch, start)
		b.arrived(arrival{task: batch[0].ID, token: ax.AttemptToken{Claim: 1}.String(), due: start.UnixMicro(),
			arrived: start.UnixMicro() + int64(tick)*1000})
		b.answered(batch[0].ID, start.UnixMicro())
		v = b.view(start, at)
	}
	if v.rate != 10 || len(v.rates) != 3 || v.rates[2] != 10 {
		t.Errorf("rate %d, rates %v", v.rate, v.rates)
	}
	if v.last.n != 10 || v.last.max != 30*time.Millisecond || v.last.p50 != 26*time.Millisecond {
		t.Errorf("last second: %+v", v.last)
	}
	if v.all.n != 31 || v.all.max != 30*time.Millisecond {
		t.Errorf("so far: %+v", v.all)
	}
}
