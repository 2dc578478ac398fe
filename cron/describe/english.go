package describe

import (
	"fmt"
	"time"
)

var english language

func init() {
	every := func(unit string) func(uint64, int) string {
		return func(set uint64, n int) string {
			switch d := step(set, n); {
			case d == 1:
				return "every " + unit
			case d > 1:
				return fmt.Sprintf("every %d %ss", d, unit)
			}
			return "at " + unit + " " + list(set, &english, number)
		}
	}
	english = language{
		never:  "Never",
		every:  func(d time.Duration) string { return "Every " + d.String() },
		at:     func(times string) string { return "at " + times },
		second: every("second"), minute: every("minute"),
		hour: func(set uint64, n int) string {
			if d := step(set, n); d > 1 {
				return fmt.Sprintf("every %d hours", d)
			}
			return "in hour " + list(set, &english, number)
		},
		weekdays: []string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"},
		months:   []string{"", "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"},
		days:     func(list string) string { return "day " + list + " of the month" },
		fromLast: func(n int) string {
			switch n {
			case 0:
				return "the last day of the month"
			case 1:
				return "the day before the last of the month"
			}
			return fmt.Sprintf("%d days before the last of the month", n)
		},
		lastWorkday: "the last day from Monday to Friday of the month",
		nearest: func(d int) string {
			return fmt.Sprintf("the day from Monday to Friday nearest to day %d of the month", d)
		},
		lastWeekday: func(name string) string { return "the last " + name + " of the month" },
		nth: func(n int, name string) string {
			return "the " + []string{"", "first", "second", "third", "fourth", "fifth"}[n] + " " + name + " of the month"
		},
		in:    func(list string) string { return "in " + list },
		years: func(list string) string { return "in " + list },
		and:   " and ", or: " or ", to: " to ", both: ", ",
		join: func(when, days, months, years string) string {
			s := when
			for _, part := range []string{days, months, years} {
				if part != "" {
					s += ", " + part
				}
			}
			if days == "" && months == "" && years == "" && s[:3] == "at " && s[3] >= '0' && s[3] <= '9' {
				s += ", every day"
			}
			return string(s[0]-'a'+'A') + s[1:]
		},
		zone: func(name string) string { return " (" + name + ")" },
	}
}
