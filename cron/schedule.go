package cron

import (
	"math/bits"
	"time"
)

// Years in which a Schedule may fire.
const (
	firstYear = 1970
	lastYear  = 2199
)

// Schedule says when an expression fires. Make it with Parse. It is immutable and safe for concurrent use.
type Schedule struct {
	expr  string
	loc   *time.Location
	every time.Duration // of "@every": all else is unset

	second, minute uint64 // bits 0 to 59
	hour           uint32 // bits 0 to 23
	month          uint16 // bits 1 to 12
	day            uint32 // bits 1 to 31
	weekday        uint8  // bits 0 (Sunday) to 6
	years          years
	special        *special // what few schedules have
	either         bool     // day or weekday suffices; else both must hold
	literal        bool     // in a gap: nothing; in a repeated period: again
	makeUp         bool     // in a gap: once after it
	never          bool
	perDay         int // fires of a day without clock changes
}

// special are the days that depend on the month.
type special struct {
	fromLast    uint32   // bit n: n days before the last day of the month
	lastWeekday bool     // LW
	nearest     uint32   // bit d: the weekday nearest to day d
	last        uint8    // bit w: the last such weekday
	nth         [6]uint8 // [n] bit w: the n-th such weekday, from 1
	inDay       bool     // the day field has some of them
	inWeekday   bool
}

// years is a set of years.
type years struct {
	restricted bool
	set        [(lastYear-firstYear)/64 + 1]uint64
	last       int // the last one
}

func (y *years) has(year int) bool {
	if !y.restricted {
		return year >= firstYear && year <= lastYear
	}
	n := year - firstYear
	return n >= 0 && year <= lastYear && y.set[n/64]>>(n%64)&1 != 0
}

// Location returns the time zone in which the schedule is read.
func (s *Schedule) Location() *time.Location { return s.loc }

// String returns the expression as it was parsed.
func (s *Schedule) String() string { return s.expr }

// Every returns the interval of an "@every" schedule, 0 of any other.
func (s *Schedule) Every() time.Duration { return s.every }

// Never reports whether the schedule does not fire at all.
func (s *Schedule) Never() bool { return s.never }

const daySeconds = 24 * 60 * 60

// days returns the days of a month that match, as bits 1 to 31. first is the weekday of its first day.
func (s *Schedule) days(year int, month int, first int) uint32 {
	n := daysIn(year, month)
	all := uint32(1)<<(n+1) - 2
	day, weekday := s.day, spread(s.weekday, first)
	if x := s.special; x != nil {
		day |= x.days(n, first)
		weekday |= x.weekdays(n, first)
	}
	if s.either {
		return (day | weekday) & all
	}
	return day & weekday & all
}

// spread turns a set of weekdays into a set of days of a month that begins with a weekday.
func spread(weekdays uint8, first int) uint32 {
	w := uint64(weekdays)
	w = (w>>first | w<<(7-first)) & 0x7f
	return uint32((w | w<<7 | w<<14 | w<<21 | w<<28) << 1)
}

// days returns what the day field has beside plain days, in a month of n days.
func (x *special) days(n, first int) (set uint32) {
	for f := x.fromLast; f != 0; f &= f - 1 {
		if d := n - bits.TrailingZeros32(f); d >= 1 {
			set |= 1 << d
		}
	}
	if x.lastWeekday {
		d := n
		switch (first + d - 1) % 7 {
		case 0:
			d -= 2
		case 6:
			d--
		}
		set |= 1 << d
	}
	for f := x.nearest; f != 0; f &= f - 1 {
		d := bits.TrailingZeros32(f)
		if d > n {
			continue
		}
		switch (first + d - 1) % 7 { // not across the end of the month
		case 6:
			if d--; d == 0 {
				d = 3
			}
		case 0:
			if d++; d > n {
				d = n - 2
			}
		}
		set |= 1 << d
	}
	return set
}

// weekdays returns what the weekday field has beside plain weekdays.
func (x *special) weekdays(n, first int) (set uint32) {
	set |= spread(x.last, first) & (uint32(0x7f) << (n - 6)) // of the last seven days
	for i := 1; i <= 5; i++ {
		if x.nth[i] != 0 {
			set |= spread(x.nth[i], first) & (uint32(0xfe) << (7 * (i - 1)))
		}
	}
	return set
}

// search returns the first second from local on, and before limit, that matches; ok is false if there is none. Both are
// seconds since 1970 as the local clock reads them.
func (s *Schedule) search(local, limit int64) (at int64, ok bool) {
	if local < 0 {
		local = 0
	}
	if local >= limit || s.never {
		return 0, false
	}
	day := local / daySeconds
	year, month, dom := civil(day)
	if s.years.has(year) && s.month>>month&1 != 0 {
		first := weekdayOf(day - int64(dom-1))
		set := s.days(year, month, first)
		if set>>dom&1 != 0 {
			if sod, ok := s.timeFrom(int(local % daySeconds)); ok {
				at = day*daySeconds + int64(sod)
				return at, at < limit
			}
		}
		if rest := set &^ (1<<(dom+1) - 1); rest != 0 {
			at = (day+int64(bits.TrailingZeros32(rest)-dom))*daySeconds + s.firstTime()
			return at, at < limit
		}
	}
	// the first of a later month
	start := day - int64(dom-1) + int64(daysIn(year, month))
	for month++; ; month++ {
		if month > 12 {
			month = 1
			year++
		}
		if year > s.years.last || start*daySeconds >= limit {
			return 0, false
		}
		if month == 1 && !s.years.has(year) {
			start += int64(daysInYear(year))
			month = 12
			continue
		}
		if s.month>>month&1 != 0 && s.years.has(year) {
			if set := s.days(year, month, weekdayOf(start)); set != 0 {
				at = (start+int64(bits.TrailingZeros32(set)-1))*daySeconds + s.firstTime()
				return at, at < limit
			}
		}
		start += int64(daysIn(year, month))
	}
}

// timeFrom returns the first second of a day from sod on that matches.
func (s *Schedule) timeFrom(sod int) (int, bool) {
	h, m, sec := sod/3600, sod/60%60, sod%60
	if s.hour>>h&1 != 0 {
		if s.minute>>m&1 != 0 {
			if rest := s.second >> sec << sec; rest != 0 {
				return h*3600 + m*60 + bits.TrailingZeros64(rest), true
			}
		}
		if rest := s.minute &^ (2<<m - 1); rest != 0 {
			return h*3600 + bits.TrailingZeros64(rest)*60 + bits.TrailingZeros64(s.second), true
		}
	}
	if rest := s.hour &^ (2<<h - 1); rest != 0 {
		return bits.TrailingZeros32(rest)*3600 + bits.TrailingZeros64(s.minute)*60 + bits.TrailingZeros64(s.second), true
	}
	return 0, false
}

// firstTime returns the first second of a day that matches.
func (s *Schedule) firstTime() int64 {
	return int64(bits.TrailingZeros32(s.hour)*3600 + bits.TrailingZeros64(s.minute)*60 + bits.TrailingZeros64(s.second))
}

// countDay returns how many seconds of a day before sod match.
func (s *Schedule) countDay(sod int) int {
	h, m, sec := sod/3600, sod/60%60, sod%60
	hours, minutes, seconds := bits.OnesCount32(s.hour&(1<<h-1)), bits.OnesCount64(s.minute), bits.OnesCount64(s.second)
	n := hours * minutes * seconds
	if s.hour>>h&1 != 0 {
		n += bits.OnesCount64(s.minute&(1<<m-1)) * seconds
		if s.minute>>m&1 != 0 {
			n += bits.OnesCount64(s.second & (1<<sec - 1))
		}
	}
	return n
}

// countLocal returns how many seconds from a up to, and without, b match, as the local clock reads them.
func (s *Schedule) countLocal(a, b int64) int64 {
	if a = max(a, 0); a >= b || s.never {
		return 0
	}
	return s.countBefore(b, a/daySeconds) - s.countBefore(a, a/daySeconds)
}

// countBefore returns how many seconds match from the beginning of a day up to, and without, an instant of it or a later
// day.
func (s *Schedule) countBefore(local, from int64) (n int64) {
	day := local / daySeconds
	year, month, dom := civil(from)
	for start := from - int64(dom-1); start <= day; month++ {
		if month > 12 {
			month = 1
			year++
		}
		if year > s.years.last {
			break
		}
		length := int64(daysIn(year, month))
		if s.month>>month&1 != 0 && s.years.has(year) {
			set := s.days(year, month, weekdayOf(start))
			if start < from {
				set &^= 1<<(from-start+1) - 1
			}
			if start+length > day {
				if set>>(day-start+1)&1 != 0 {
					n += int64(s.countDay(int(local % daySeconds)))
				}
				set &= 1<<(day-start+1) - 1
			}
			n += int64(bits.OnesCount32(set)) * int64(s.perDay)
		}
		start += length
	}
	return n
}
