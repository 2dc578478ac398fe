// Package describe says in a sentence when a schedule fires, for people: in English and in Chinese.
//
//	describe.English(s)  // At 02:30, Monday to Friday (Europe/Berlin)
//	describe.Chinese(s)  // 周一至周五 02:30（Europe/Berlin）
//
// A sentence says what the fields mean, with "or" where a day of the month or a weekday suffices. It does not say what a
// clock change does to it.
package describe

import (
	"fmt"
	"math/bits"
	"strings"
	"time"

	"github.com/axsched/ax/cron"
)

// English returns a sentence.
func English(s *cron.Schedule) string { return sentence(s, &english) }

// Chinese returns a sentence in simplified Chinese.
func Chinese(s *cron.Schedule) string { return sentence(s, &chinese) }

// language is how the parts are said.
type language struct {
	never                string
	every                func(time.Duration) string
	at                   func(times string) string      // at times of day
	second, minute, hour func(set uint64, n int) string // which of them, of n
	weekdays, months     []string
	days                 func(list string) string // of the month
	fromLast             func(n int) string
	lastWorkday          string
	nearest              func(d int) string
	lastWeekday          func(name string) string
	nth                  func(n int, name string) string
	in                   func(list string) string // months
	years                func(list string) string
	and, or, to, both    string
	join                 func(when, days, months, years string) string
	zone                 func(name string) string
}

func sentence(s *cron.Schedule, l *language) string {
	f := s.Fields()
	zone := ""
	if name := s.Location().String(); name != "UTC" {
		zone = l.zone(name)
	}
	switch {
	case f.Every > 0:
		return l.every(f.Every)
	case s.Never():
		return l.never
	}
	months, years := "", ""
	if f.Month != 1<<13-2 {
		months = l.in(list(uint64(f.Month), l, func(n int) string { return l.months[n] }))
	}
	if f.Years != nil {
		var names []string
		for _, y := range f.Years {
			names = append(names, fmt.Sprint(y))
		}
		years = l.years(listOf(names, l))
	}
	return l.join(when(&f, l), days(&f, l), months, years) + zone
}

// mostTimes is how many times of day are listed; more are said as a pattern.
const mostTimes = 6

// when says the times of a day.
func when(f *cron.Fields, l *language) string {
	n := bits.OnesCount64(f.Second) * bits.OnesCount64(f.Minute) * bits.OnesCount32(f.Hour)
	if n <= mostTimes {
		var times []string
		for h := range 24 {
			for m := range 60 {
				for s := range 60 {
					if f.Hour>>h&1 == 0 || f.Minute>>m&1 == 0 || f.Second>>s&1 == 0 {
						continue
					}
					if f.Second == 1 {
						times = append(times, fmt.Sprintf("%02d:%02d", h, m))
					} else {
						times = append(times, fmt.Sprintf("%02d:%02d:%02d", h, m, s))
					}
				}
			}
		}
		return l.at(listOf(times, l))
	}
	var parts []string
	if f.Second != 1 {
		parts = append(parts, l.second(f.Second, 60))
	}
	if f.Minute != 1<<60-1 || f.Second == 1 {
		parts = append(parts, l.minute(f.Minute, 60))
	}
	if f.Hour != 1<<24-1 {
		parts = append(parts, l.hour(uint64(f.Hour), 24))
	}
	return strings.Join(parts, l.both)
}

// days says which days, "" for every day.
func days(f *cron.Fields, l *language) string {
	var ofMonth, ofWeek []string
	if f.Day != 1<<32-2 && f.Day != 0 {
		ofMonth = append(ofMonth, l.days(list(uint64(f.Day), l, func(n int) string { return fmt.Sprint(n) })))
	}
	for n := range 31 {
		if f.FromLast>>n&1 != 0 {
			ofMonth = append(ofMonth, l.fromLast(n))
		}
	}
	if f.LastWorkday {
		ofMonth = append(ofMonth, l.lastWorkday)
	}
	for d := 1; d <= 31; d++ {
		if f.NearestWorkday>>d&1 != 0 {
			ofMonth = append(ofMonth, l.nearest(d))
		}
	}
	if f.Weekday != 0x7f && f.Weekday != 0 {
		// Monday first, so that Saturday and Sunday are neighbours
		ofWeek = append(ofWeek, list(uint64(f.Weekday>>1|f.Weekday&1<<6), l, func(n int) string { return l.weekdays[(n+1)%7] }))
	}
	for w := range 7 {
		if f.LastWeekday>>w&1 != 0 {
			ofWeek = append(ofWeek, l.lastWeekday(l.weekdays[w]))
		}
		for n := 1; n <= 5; n++ {
			if f.NthWeekday[n]>>w&1 != 0 {
				ofWeek = append(ofWeek, l.nth(n, l.weekdays[w]))
			}
		}
	}
	between := l.both
	if f.Either {
		between = l.or
	}
	var parts []string
	for _, p := range []string{listOf(ofMonth, l), listOf(ofWeek, l)} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, between)
}

// list names the members of a set; three or more in a row are a range.
func list(set uint64, l *language, name func(int) string) string {
	var names []string
	for n := 0; n < 64; n++ {
		if set>>n&1 == 0 {
			continue
		}
		run := bits.TrailingZeros64(^(set >> n))
		if run < 3 {
			names = append(names, name(n))
			continue
		}
		names = append(names, name(n)+l.to+name(n+run-1))
		n += run
	}
	return listOf(names, l)
}

func listOf(names []string, l *language) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0]
	}
	last := len(names) - 1
	sep := ", "
	if l == &chinese {
		sep = "、"
	}
	return strings.Join(names[:last], sep) + l.and + names[last]
}

// step returns the distance if a set is every so-manyth value from 0 on, of n; 0 if it is not.
func step(set uint64, n int) int {
	for d := 1; d <= n/2; d++ {
		var want uint64
		for v := 0; v < n; v += d {
			want |= 1 << v
		}
		if set == want && n%d == 0 {
			return d
		}
	}
	return 0
}

func number(n int) string { return fmt.Sprint(n) }
