package ax

import (
	"fmt"
	"math"
	"time"
)

// Time is an instant in microseconds since 1970-01-01 UTC. It is what stores keep and what engines compare: it is
// exact in every backend (a float64 score holds it until the year 2255, an int64 for ever) and has no zone.
// The zero Time means "none".
type Time int64

// MaxTime is the last instant ax accepts, the end of the year 9999 in UTC: the last one RFC 3339 can write.
const MaxTime = Time(253402300799999999)

// At converts a time.Time, rounding up to the next microsecond so that nothing becomes due early. The zero
// time.Time gives the zero Time; instants beyond MaxTime are kept in order and refused where they are validated.
func At(t time.Time) Time {
	if t.IsZero() {
		return 0
	}
	us := t.UnixMicro()
	if t.Nanosecond()%1000 != 0 {
		us++
	}
	return Time(us)
}

// Time converts back, in UTC. The zero Time gives the zero time.Time.
func (t Time) Time() time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(t)).UTC()
}

// Add returns t+d, rounded up to a microsecond and held inside the range of Time instead of wrapping.
func (t Time) Add(d time.Duration) Time {
	us := int64(d / time.Microsecond)
	if d%time.Microsecond > 0 {
		us++
	}
	sum := int64(t) + us
	if us > 0 && sum < int64(t) {
		return Time(math.MaxInt64)
	}
	if us < 0 && sum > int64(t) {
		return Time(math.MinInt64)
	}
	return Time(sum)
}

// Sub returns t-u, held inside the range of time.Duration (about 292 years) instead of wrapping.
func (t Time) Sub(u Time) time.Duration {
	const most = math.MaxInt64 / int64(time.Microsecond)
	d := int64(t) - int64(u)
	switch {
	case (t > u) != (d > 0) && t != u || d > most:
		if t > u {
			return math.MaxInt64
		}
		return math.MinInt64
	case d < -most:
		return math.MinInt64
	}
	return time.Duration(d) * time.Microsecond
}

// String writes RFC 3339 with microseconds, in UTC.
func (t Time) String() string {
	if t == 0 {
		return "none"
	}
	return t.Time().Format("2006-01-02T15:04:05.000000Z")
}

// MarshalText writes String, or nothing for the zero Time.
func (t Time) MarshalText() ([]byte, error) {
	if t == 0 {
		return nil, nil
	}
	return []byte(t.String()), nil
}

// UnmarshalText reads RFC 3339; nothing gives the zero Time.
func (t *Time) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*t = 0
		return nil
	}
	at, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil {
		return fmt.Errorf("ax: time %q: want RFC 3339, such as 2026-11-30T02:30:00Z", b)
	}
	*t = At(at)
	return nil
}

// Millis is a duration in whole milliseconds, from 1 ms to about 49 days: a task's timeout.
type Millis uint32

// Duration converts to a time.Duration.
func (m Millis) Duration() time.Duration { return time.Duration(m) * time.Millisecond }
