package cron

import "time"

// Fields are what a schedule says, field by field, for who shows or compares schedules. Bit n of a set stands for the
// value n.
type Fields struct {
	Second, Minute uint64 // bits 0 to 59
	Hour           uint32 // bits 0 to 23
	Day            uint32 // bits 1 to 31
	Month          uint16 // bits 1 to 12
	Weekday        uint8  // bits 0 (Sunday) to 6
	Years          []int  // in order; nil: all

	FromLast       uint32   // bit n: n days before the last day of the month
	LastWorkday    bool     // the last day from Monday to Friday
	NearestWorkday uint32   // bit d: the day from Monday to Friday nearest to day d
	LastWeekday    uint8    // bit w: the last such weekday of the month
	NthWeekday     [6]uint8 // [n] bit w: the n-th such weekday of the month

	Either bool // the day or the weekday suffices; else both must hold
	Clock  bool // interval-like: it follows the local clock through its changes

	Every time.Duration // of "@every": all else is unset
}

// Fields returns what the schedule says.
func (s *Schedule) Fields() Fields {
	f := Fields{Second: s.second, Minute: s.minute, Hour: s.hour, Day: s.day, Month: s.month, Weekday: s.weekday, Either: s.either, Clock: s.literal, Every: s.every}
	if x := s.special; x != nil {
		f.FromLast, f.LastWorkday, f.NearestWorkday, f.LastWeekday, f.NthWeekday = x.fromLast, x.lastWeekday, x.nearest, x.last, x.nth
	}
	if s.years.restricted {
		for y := firstYear; y <= s.years.last; y++ {
			if s.years.has(y) {
				f.Years = append(f.Years, y)
			}
		}
	}
	return f
}
