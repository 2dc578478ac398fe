// Package ready decides who is next among the tasks that are due.
//
// A Lane holds what competes: the ready tasks of one kind in one partition. Within a lane the order is effective
// priority, then since, then seq. Effective priority is the level less the aging that the wait has earned; since both
// the order inside a level and the wait go by the same instant, the first of a level has always waited longest, and
// looking at the first of each level in use is enough. Nothing is re-sorted as time passes, and no timer is needed.
//
// Guaranteed: strict order at the instant of each Pop; a bound on the wait (Aging.Bound). Not guaranteed: anything
// between lanes, which is the arbiter's to merge.
//
// The package is pure: time is an argument.
package ready

import (
	"time"
)

// Aging raises a waiting task by one level once it has waited for After, and by one more after every Step from then on,
// up to level 0. Zero fields mean 40 s and 30 s; Off makes priority strict.
type Aging struct {
	After, Step time.Duration
	Off         bool
}

// WithDefaults fills in what is zero.
func (a Aging) WithDefaults() Aging {
	if a.After == 0 {
		a.After = 40 * time.Second
	}
	if a.Step == 0 {
		a.Step = 30 * time.Second
	}
	return a
}

// Level returns the effective level of a task of some level that has waited, in microseconds.
func (a Aging) Level(level int, waited int64) int {
	after, step := a.After.Microseconds(), max(a.Step.Microseconds(), 1)
	if a.Off || waited < after {
		return level
	}
	return max(0, level-1-int(min((waited-after)/step, int64(level))))
}

// Bound returns after how long a task of some level is at level 0, where nothing that becomes due later goes before
// it: After + (level−1) × Step. From then on it waits only for the tasks that were due before it. Level 0 is there from
// the start; with aging Off there is no bound, and Bound returns a negative duration.
func (a Aging) Bound(level int) time.Duration {
	switch {
	case level == 0:
		return 0
	case a.Off:
		return -1
	}
	return a.After + time.Duration(level-1)*a.Step
}

// Rank orders the heads of lanes: smaller goes first.
type Rank struct {
	Level int
	Since int64
	Seq   uint64
}

// Before reports whether r goes before s.
func (r Rank) Before(s Rank) bool {
	if r.Level != s.Level {
		return r.Level < s.Level
	}
	return r.Since < s.Since || r.Since == s.Since && r.Seq < s.Seq
}

// Lane is one line of ready tasks. Make it with the aging that holds; the zero value has aging that raises at once.
type Lane[T Holder] struct {
	Aging  Aging
	levels []level[T] // in use, by level
	live   int
}

type level[T Holder] struct {
	n int
	q Queue[T]
}

// Len returns how many holders wait.
func (l *Lane[T]) Len() int { return l.live }

// Push adds v under its present ticket: since is when its waiting began, in microseconds.
func (l *Lane[T]) Push(n int, since int64, seq uint64, v T) {
	l.live++
	l.level(n).q.Push(since, seq, v)
}

// Left says that a holder which waited at level n has changed its ticket.
func (l *Lane[T]) Left(n int) {
	l.live--
	l.level(n).q.Left()
}

// Head returns the rank of the first holder at an instant.
func (l *Lane[T]) Head(now int64) (Rank, bool) {
	_, r := l.best(now)
	return r, r.Level >= 0
}

// Pop removes and returns the first holder at an instant.
func (l *Lane[T]) Pop(now int64) (v T, ok bool) {
	at, _ := l.best(now)
	if at < 0 {
		return v, false
	}
	l.live--
	v, ok = l.levels[at].q.Pop()
	return v, ok
}

func (l *Lane[T]) best(now int64) (at int, best Rank) {
	at, best = -1, Rank{Level: -1}
	for i := range l.levels {
		if l.levels[i].q.Len() == 0 {
			continue
		}
		_, since, seq, _ := l.levels[i].q.Head()
		r := Rank{l.Aging.Level(l.levels[i].n, now-since), since, seq}
		if at < 0 || r.Before(best) {
			at, best = i, r
		}
	}
	return at, best
}

// level returns the queue of a level, making room for it where it is missing. There are at most as many as levels were
// ever used, 100, and nearly always one.
func (l *Lane[T]) level(n int) *level[T] {
	i := 0
	for i < len(l.levels) && l.levels[i].n < n {
		i++
	}
	if i == len(l.levels) || l.levels[i].n != n {
		l.levels = append(l.levels, level[T]{})
		copy(l.levels[i+1:], l.levels[i:])
		l.levels[i] = level[T]{n: n}
	}
	return &l.levels[i]
}
