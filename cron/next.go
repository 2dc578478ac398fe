package cron

import (
	"iter"
	"math"
	"time"
)

// zone is a period in which a time zone has one offset: from start up to, and without, end, in seconds since 1970.
type zone struct {
	start, end int64
	offset     int64
}

// lastInstant is past the last year in every time zone.
const lastInstant = int64(7289654400 + 2*daySeconds) // 2201-01-01

// zoneAt returns the period that an instant lies in.
func (s *Schedule) zoneAt(unix int64) zone {
	if s.loc == time.UTC {
		return zone{math.MinInt64 / 4, lastInstant, 0}
	}
	t := time.Unix(unix, 0).In(s.loc)
	_, offset := t.Zone()
	z := zone{math.MinInt64 / 4, lastInstant, int64(offset)}
	from, to := t.ZoneBounds()
	if !from.IsZero() {
		z.start = from.Unix()
	}
	if !to.IsZero() {
		z.end = min(to.Unix(), lastInstant)
	}
	return z
}

// repeated is how long after a clock change what the clock reads may have been read before: longer than any change there
// was.
const repeated = 25 * 60 * 60

// longestGap is the longest gap in which what is left out is made up for.
const longestGap = 3 * 60 * 60

// fresh returns the first local second of a period that the local clock did not read in the one before.
func (s *Schedule) fresh(z zone) int64 {
	local := z.start + z.offset
	if s.literal || z.start <= math.MinInt64/4 {
		return local
	}
	before := s.zoneAt(z.start - 1)
	return max(local, z.start+before.offset)
}

// Next returns the first instant after t at which the schedule fires, in its time zone; zero if there is none.
func (s *Schedule) Next(t time.Time) time.Time {
	if s.every > 0 {
		return s.nextEvery(t)
	}
	if s.never {
		return time.Time{}
	}
	unix := t.Unix() // fires are whole seconds: the first one after t is at the next second, or later
	z := s.zoneAt(unix + 1)
	local := unix + 1 + z.offset
	if !s.literal && unix+1-z.start < repeated {
		local = max(local, s.fresh(z))
	}
	for {
		if at, ok := s.search(local, z.end+z.offset); ok {
			return time.Unix(at-z.offset, 0).In(s.loc)
		}
		if z.end >= lastInstant {
			return time.Time{}
		}
		next := s.zoneAt(z.end)
		if s.inGap(z, next) {
			return time.Unix(z.end, 0).In(s.loc)
		}
		local = next.start + next.offset
		if !s.literal {
			local = max(local, z.end+z.offset)
		}
		z = next
	}
}

// inGap reports whether something is left out between two periods that is made up for at the beginning of the second.
func (s *Schedule) inGap(z, next zone) bool {
	gap := next.offset - z.offset
	if !s.makeUp || gap <= 0 || gap > longestGap {
		return false
	}
	_, some := s.search(z.end+z.offset, z.end+next.offset)
	return some
}

// nextEvery returns the next multiple of the interval since 1970.
func (s *Schedule) nextEvery(t time.Time) time.Time { return s.NextFrom(time.Unix(0, 0), t) }

// NextFrom returns the first instant after t that is a multiple of an "@every" interval after anchor; anchor itself is
// none. For any other schedule it is Next.
func (s *Schedule) NextFrom(anchor, t time.Time) time.Time {
	if s.every <= 0 {
		return s.Next(t)
	}
	if !t.After(anchor) {
		return anchor.Add(s.every).In(s.loc)
	}
	// in whole intervals of seconds, since a Duration holds 292 years only
	n := (t.Unix() - anchor.Unix()) / int64(s.every/time.Second)
	at := time.Unix(anchor.Unix()+n*int64(s.every/time.Second), int64(anchor.Nanosecond()))
	for !at.After(t) {
		at = at.Add(s.every)
	}
	if at.Unix() > lastInstant {
		return time.Time{}
	}
	return at.In(s.loc)
}

// Prev returns the last instant before t at which the schedule fires; zero if there is none.
func (s *Schedule) Prev(t time.Time) time.Time {
	fires := func(from int64) bool { // between from, itself not, and t
		n := s.Next(time.Unix(from, 0))
		return !n.IsZero() && n.Before(t)
	}
	hi := t.Unix() + 1 // nothing after hi is before t
	lo, step := hi-1, int64(1)
	for !fires(lo) {
		hi = lo
		if lo < -2*daySeconds {
			return time.Time{}
		}
		lo -= step
		step *= 2
	}
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; fires(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return s.Next(time.Unix(lo, 0))
}

// Between returns the instants after from, and before to, at which the schedule fires, in order. It steps through them:
// Count does not.
func (s *Schedule) Between(from, to time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		for t := s.Next(from); !t.IsZero() && t.Before(to); t = s.Next(t) {
			if !yield(t) {
				return
			}
		}
	}
}

// Count returns how many instants Between has, in a time that depends on the number of months and clock changes between
// the two, and not on the number of instants.
func (s *Schedule) Count(from, to time.Time) int64 {
	if s.every > 0 {
		return s.countEvery(from, to)
	}
	last := to.Unix() // fires before to are at this second or earlier
	if to.Nanosecond() == 0 {
		last--
	}
	unix := from.Unix() + 1
	if s.never || last < unix {
		return 0
	}
	z := s.zoneAt(unix)
	local := unix + z.offset
	if !s.literal && unix-z.start < repeated {
		local = max(local, s.fresh(z))
	}
	var n int64
	for {
		n += s.countLocal(local, min(z.end, last+1)+z.offset)
		if z.end > last || z.end >= lastInstant {
			return n
		}
		next := s.zoneAt(z.end)
		local = next.start + next.offset
		if s.inGap(z, next) {
			n++
			if at, ok := s.search(local, local+1); ok && at == local { // it would fire there anyway
				n--
			}
		}
		if !s.literal {
			local = max(local, z.end+z.offset)
		}
		z = next
	}
}

func (s *Schedule) countEvery(from, to time.Time) int64 {
	every := int64(s.every / time.Second)
	last := to.Unix()
	if to.Nanosecond() == 0 {
		last--
	}
	return max(floorDiv(last, every)-floorDiv(from.Unix(), every), 0)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
