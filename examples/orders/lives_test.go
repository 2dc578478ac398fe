package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/sched"
)

// TestLives tells what a kill excuses from what it does not.
func TestLives(t *testing.T) {
	base := time.Date(2026, 12, 1, 2, 30, 0, 0, time.UTC).UnixMicro()
	at := func(s float64) int64 { return base + int64(s*1e6) }
	request := func(claim uint64, s float64) arrival {
		return arrival{task: "a", attempt: 1, token: ax.AttemptToken{Token: ax.Token{Era: 1}, Claim: claim}.String(), due: at(1), arrived: at(s)}
	}
	for name, c := range map[string]struct {
		events             func(b *book)
		lost, twice, again int
		stopped            time.Duration
	}{
		"done before the kill": {events: func(b *book) {
			b.arrived(request(1, 1))
			b.answered("a", at(2))
			b.next()
		}},
		"cut off by a kill": {events: func(b *book) {
			b.arrived(request(1, 1))
			b.ended(false, at(2))
			b.next()
			b.arrived(request(2, 9))
			b.answered("a", at(10))
		}, again: 1},
		"cut off by a power cut": {events: func(b *book) {
			b.arrived(request(1, 1))
			b.next()
			b.arrived(request(2, 9))
		}, again: 1},
		"cut off by two": {events: func(b *book) {
			b.arrived(request(1, 1))
			b.next()
			b.next()
			b.arrived(request(2, 9))
			b.next()
			b.arrived(request(3, 12))
		}, again: 1},
		"killed right after the answer": {events: func(b *book) {
			b.arrived(request(1, 1))
			b.answered("a", at(1.9))
			b.ended(false, at(2))
			b.next()
			b.arrived(request(2, 9))
		}, again: 1},
		"killed long after the answer": {events: func(b *book) {
			b.arrived(request(1, 1))
			b.answered("a", at(2))
			b.ended(false, at(8))
			b.next()
			b.arrived(request(2, 9))
		}, twice: 1},
		"again, and then twice": {events: func(b *book) {
			b.arrived(request(1, 1))
			b.ended(false, at(2))
			b.next()
			b.arrived(request(2, 9))
			b.answered("a", at(10))
			b.arrived(request(3, 11))
		}, twice: 1},
		"the token is not newer": {events: func(b *book) {
			b.arrived(request(2, 1))
			b.ended(false, at(2))
			b.next()
			b.arrived(request(2, 9))
		}, twice: 1},
		"handed back": {events: func(b *book) {
			b.arrived(request(1, 1))
			b.ended(true, at(2))
			b.next()
			b.arrived(request(2, 9))
		}},
		"done, and a clean end": {events: func(b *book) {
			b.arrived(request(1, 1))
			b.answered("a", at(1.9))
			b.ended(true, at(2))
			b.next()
			b.arrived(request(2, 9))
		}, twice: 1},
		"forgotten by the next start": {events: func(b *book) {
			b.ended(false, at(0.5))
			b.next()
		}, lost: 1},
		"due while stopped": {events: func(b *book) {
			b.ended(false, at(0.5))
			b.next()
			b.began(at(8))
			b.arrived(request(1, 9))
		}, stopped: 8 * time.Second},
		"due while it starts": {events: func(b *book) {
			b.ended(false, at(0.5))
			b.next()
			b.arrived(request(1, 4)) // before it says that it is up
		}, stopped: 3 * time.Second},
		"due after it began": {events: func(b *book) {
			b.ended(false, at(0.1))
			b.next()
			b.began(at(0.5))
			b.arrived(request(1, 1))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBook(1)
			b.began(at(0))
			b.enter(ax.Submission{ID: "a", In: time.Second}, &note{first: 0, n: 1, asked: at(0), acked: at(0)})
			c.events(b)
			v := b.audit(sched.Receipt{})
			if v.early.n != 0 || v.lost.n != c.lost || v.twice.n != c.twice || v.again.n != c.again || v.kept() != (c.lost+c.twice == 0) {
				t.Errorf("early %v, lost %v, twice %v, again %v, kept is %v", v.early, v.lost, v.twice, v.again, v.kept())
			}
			if c.stopped != 0 && (len(v.stopped) != 1 || v.stopped[0] != c.stopped || len(v.late) != 0) {
				t.Errorf("stopped %v, late %v", v.stopped, v.late)
			}
			if c.stopped == 0 && (len(v.stopped) != 0 || c.lost == 0 && len(v.late) != 1) {
				t.Errorf("stopped %v, late %v", v.stopped, v.late)
			}
		})
	}
}

// TestAgain submits a batch that an earlier start may have submitted: what is known then is not refused, and what is not
// counts from now.
func TestAgain(t *testing.T) {
	start := time.Date(2026, 12, 1, 2, 30, 0, 0, time.UTC)
	now := start.Add(time.Minute)
	batch := []ax.Submission{{ID: "a", In: time.Second}, {ID: "b", In: time.Second}, {ID: "c"}, {ID: "d"}, {ID: "e"}}
	b := newBook(len(batch))
	for _, sub := range batch {
		b.enter(sub, nil)
	}
	b.ask(batch, start)
	told := b.acknowledge(batch, []ax.Answer{{Code: ax.Known}, {Code: ax.Made}, {Code: ax.Made}, {Code: ax.Conflict, Err: ax.ErrConflict},
		{Code: ax.Refused, Err: ax.ErrNoSpace}}, now, now, start)
	us := func(at time.Time) int64 { return at.UnixMicro() }
	want := []note{{0, 1, us(start), us(now), false}, {1, 2, us(now), us(now), false}, {3, 1, us(now), us(now), true}}
	if len(told) != len(want) || told[0] != want[0] || told[1] != want[1] || told[2] != want[2] {
		t.Errorf("noted %v, want %v", told, want)
	}
	if e := b.entries[0]; e.from != us(start)+1e6 || e.to != us(now)+1e6+1 {
		t.Errorf("known: due from %d to %d", e.from-us(start), e.to-us(start))
	}
	if e := b.entries[1]; e.from != us(now)+1e6 {
		t.Errorf("made: due from %d", e.from-us(start))
	}
	for i, want := range []bool{true, true, true, true, false} {
		if b.settled(batch[i].ID) != want {
			t.Errorf("%s settled: %v", batch[i].ID, !want)
		}
	}
	if b.acknowledgedBefore() != 1 {
		t.Errorf("%d before", b.acknowledgedBefore())
	}
}

// TestTrouble says what to do, in one line.
func TestTrouble(t *testing.T) {
	for err, want := range map[error]string{
		&ax.Error{Op: "submit", Err: ax.ErrNoSpace}:                "the disk that DIR is on is full: make room",
		&os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}: "the disk that DIR is on is full: make room",
		os.ErrPermission: os.ErrPermission.Error(),
	} {
		if got := trouble("DIR", err).Error(); !strings.HasPrefix(got, want) {
			t.Errorf("%v: %s", err, got)
		}
	}
}
