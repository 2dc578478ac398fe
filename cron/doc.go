// Package cron reads cron expressions and says when they fire. It needs nothing but the standard library, and no other
// part of ax.
//
//	s, err := cron.Parse("30 2 * * MON-FRI", cron.Options{Location: berlin})
//	next := s.Next(time.Now())
//
// # Dialects
//
// A dialect is chosen, never guessed: the same six fields mean different things in two of them.
//
//	Unix     minute hour day month weekday             weekdays 0–7, 0 and 7 are Sunday
//	Seconds  second minute hour day month weekday      the same with seconds
//	Quartz   second minute hour day month weekday [year]  weekdays 1–7, 1 is Sunday; one of the two days is ?
//
// A field is a list of values, ranges a-b, steps a-b/n, */n and a/n (from a to the end of the field). Ranges may run
// backwards: 22-2, FRI-MON, NOV-FEB. Months and weekdays have names of three letters in any case. Quartz adds in the day
// field L (the last), L-3 (three before it), LW (the last weekday of the month), 15W (the weekday nearest to the 15th),
// and in the weekday field L (Saturday), 6L (the last Friday), 6#3 (the third Friday).
//
// @yearly @annually @monthly @weekly @daily @midnight @hourly are what they say, in every dialect; "@every 90s" is a
// fixed interval of a second to a hundred years. CRON_TZ=Asia/Tokyo, or TZ=, in front names the time zone.
//
// # Days
//
// Unix and Seconds: if both the day and the weekday are restricted, either suffices ("0 0 13 * 5": each 13th and each
// Friday). A field that begins with a star counts as not restricted, also with a step, and then both must hold; so does
// Vixie cron.
//
// # Clock changes
//
// A schedule whose second (if written), minute or hour field begins with a star is interval-like: it follows the local
// clock as it reads. All others name times of day. What becomes of those that a clock change leaves out or repeats is a
// Rule:
//
//	Vixie    left out by a gap of at most 3 h: once, at the first instant after it; repeated: the first time only
//	Literal  whenever the clock reads the time: not at all in a gap, twice in a repeated hour
//	Skip     not at all in a gap; the first time only
//
// # Guaranteed
//
//   - Next is strictly later than its argument, or zero: never again. It allocates nothing and looks at no second, minute
//     or day that it can jump over; an expression that never fires is known as such when it is parsed.
//   - Next, Between, Count and Prev agree with each other, on every machine, as far as its time zone data agree.
//   - Arbitrary input is refused with a *SyntaxError that points at the column and says what is allowed, or is a
//     Schedule.
//
// # Not guaranteed
//
// Seconds that are not whole, leap seconds, years before 1970 or after 2199.
//
// A Schedule is immutable and safe for concurrent use. It starts no goroutine.
package cron
