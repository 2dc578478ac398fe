package main

import (
	"fmt"
	"strconv"
	"time"
)

// count writes a number with thousands separators: 100,000.
func count(n int) string {
	s := strconv.Itoa(n)
	start := 0
	if n < 0 {
		start = 1
	}
	for i := len(s) - 3; i > start; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// lateness writes a duration with two or three digits that matter: 0.42 ms, 8.1 ms, 123 ms, 1.2 s.
func lateness(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	switch size := max(ms, -ms); {
	case size < 0.995:
		return fmt.Sprintf("%.2f ms", ms)
	case size < 99.5:
		return fmt.Sprintf("%.1f ms", ms)
	case size < 9_995:
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.1f s", ms/1000)
}

// clock writes a time that passes as 0:07 or 1:02:03.
func clock(d time.Duration) string {
	s := int(d / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// seconds writes a time that passed as 31.2 s.
func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// plural writes a count with its noun: 1 task, 2 tasks.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return count(n) + " " + noun + "s"
}
