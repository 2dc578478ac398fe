package main

import (
	"fmt"
	"strings"
	"time"
)

// bar draws a fraction of a width in blocks, to an eighth of a character. What is more than nothing is seen.
func bar(fraction float64, width int) string {
	eighths := int(min(max(fraction, 0), 1)*float64(width)*8 + 0.5)
	if eighths == 0 && fraction > 0 {
		eighths = 1
	}
	s := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		s += string(rune('█' + 8 - rest)) // U+2588 is the full block, U+258F one eighth
	}
	return s
}

// spark draws the last numbers as columns, the largest full.
func spark(numbers []int, width int) string {
	numbers = numbers[max(len(numbers)-width, 0):]
	most := 1
	for _, n := range numbers {
		most = max(most, n)
	}
	var s strings.Builder
	for _, n := range numbers {
		s.WriteRune('▁' + rune(max(n, 0)*7/most))
	}
	return s.String()
}

// edges cut the lateness into the rows of the chart: 1, 2 and 5 of each power of ten.
var edges = []time.Duration{
	0, 100 * time.Microsecond, 200 * time.Microsecond, 500 * time.Microsecond,
	1 * time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond,
	10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	1 * time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second,
}

// chartRow is how many durations are from low to below high. The last row has no high.
type chartRow struct {
	low, high time.Duration
	n         int
}

// chartRows counts sorted durations by the edges, without the empty rows at both ends. What is negative has the row
// before 0.
func chartRows(sorted []time.Duration) []chartRow {
	rows := []chartRow{{low: -1 << 63, high: 0}}
	for i, low := range edges {
		row := chartRow{low: low}
		if i+1 < len(edges) {
			row.high = edges[i+1]
		}
		rows = append(rows, row)
	}
	at := 0
	for _, d := range sorted {
		for at+1 < len(rows) && d >= rows[at+1].low {
			at++
		}
		rows[at].n++
	}
	for len(rows) > 0 && rows[0].n == 0 {
		rows = rows[1:]
	}
	for len(rows) > 0 && rows[len(rows)-1].n == 0 {
		rows = rows[:len(rows)-1]
	}
	return rows
}

// String says which durations the row counts.
func (r chartRow) String() string {
	switch {
	case r.low < 0:
		return "early"
	case r.high == 0:
		return fmt.Sprintf("over %g s", r.low.Seconds())
	case r.low < time.Second:
		return fmt.Sprintf("%g – %g ms", r.low.Seconds()*1000, r.high.Seconds()*1000)
	}
	return fmt.Sprintf("%g – %g s", r.low.Seconds(), r.high.Seconds())
}

// chart draws the rows as lines: range, bar, count, share.
func (p *paper) chart(rows []chartRow) (lines []string) {
	total, most := 0, 1
	for _, r := range rows {
		total += r.n
		most = max(most, r.n)
	}
	room := p.width - 42 // what stands around the bar
	for _, r := range rows {
		style := green
		if r.low < 0 {
			style = red
		}
		b := bar(float64(r.n)/float64(most), room)
		pad := strings.Repeat(" ", room-len([]rune(b)))
		lines = append(lines, fmt.Sprintf("  %-15s %s%s %11s  %5.1f %%", r, p.in(style, b), pad, count(r.n),
			100*float64(r.n)/float64(max(total, 1))))
	}
	return lines
}
