package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// redrawEvery is how often the block is drawn: five times a second is smooth to the eye and costs next to nothing.
const redrawEvery = 200 * time.Millisecond

// live is the progress for a terminal: a block of lines that is drawn over itself.
type live struct {
	paper *paper
	next  time.Duration
	drawn int // lines of the block on the screen
}

func (s *live) title(r *rig) {
	s.paper.printf("%s  %s\n", s.paper.in(bold, "orders"), r.title()) // not clipped: it is not drawn over
}

// show draws in one write, so that no half block is seen.
func (s *live) show(p progress) {
	if p.elapsed < s.next && !p.final {
		return
	}
	s.next = p.elapsed + redrawEvery - pollEvery/2 // the polls are not exact either
	var out strings.Builder
	if s.drawn > 0 {
		fmt.Fprintf(&out, "\x1b[%dA\r", s.drawn) // up to the first line
	}
	lines := s.paper.block(p)
	for _, line := range lines {
		out.WriteString(clip(line, s.paper.width) + "\x1b[K\n") // and clear what is left of the old line
	}
	out.WriteString("\x1b[J") // and what was typed below
	s.drawn = len(lines)
	io.WriteString(s.paper.w, out.String())
}

// block returns the lines of one drawing.
func (p *paper) block(at progress) []string {
	label := func(s string) string { return p.in(faint, s) }
	hint := label("Ctrl-C drains")
	switch {
	case at.final:
		hint = ""
	case at.draining:
		hint = p.in(bold, "draining") + label(", Ctrl-C exits at once")
	}
	done := float64(at.done+at.failed) / float64(max(at.total, 1))
	tail := fmt.Sprintf(" %5.1f %%  %s", 100*done, clock(at.elapsed))
	late := func(q quantiles) string {
		lateness := lateness
		if q.n == 0 {
			lateness = func(time.Duration) string { return "-" }
		}
		return fmt.Sprintf("%s %8s   %s %8s   %s %8s", label("p50"), lateness(q.p50), label("p99"), lateness(q.p99),
			label("max"), lateness(q.max))
	}
	return []string{
		"",
		"  " + p.gauge(done, float64(at.running)/float64(max(at.total, 1)), p.width-4-len(tail)) + tail,
		"",
		fmt.Sprintf("  %s %-8s %s %-8s %s %-6s %s %-8s %s %s", label("submitted"), count(at.submitted), label("waiting"),
			count(at.waiting), label("running"), count(at.running), label("done"), count(at.done), label("failed"), p.zero(at.failed)),
		fmt.Sprintf("  %s %s  %s", label("rate    "), fmt.Sprintf("%9s", count(at.rate)+"/s"), p.in(green, spark(at.rates, p.width-24))),
		"  " + label("late     ") + late(at.last) + label("   last second"),
		"  " + label("         ") + late(at.all) + label("   so far"),
		fmt.Sprintf("  %s %s", label("early   "), fmt.Sprintf("%-20s", p.zero(at.early))) + hint,
	}
}

// gauge draws the fractions that are done and that run, out of a width.
func (p *paper) gauge(done, running float64, width int) string {
	full := bar(done, width)
	used := len([]rune(full))
	shade := min(int(running*float64(width)+0.5), width-used)
	return p.in(green, full+strings.Repeat("▒", shade)) + p.in(faint, strings.Repeat("░", width-used-shade))
}
