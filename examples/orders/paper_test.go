package main

import (
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// halfway is the progress of a run that is half done.
func halfway() progress {
	return progress{elapsed: 75 * time.Second, total: 100_000, tally: tally{submitted: 100_000, waiting: 48_410, running: 1_590, done: 49_998, failed: 2},
		view: view{rate: 3341, rates: []int{0, 1200, 3300, 3400},
			last: quantiles{n: 3300, p50: 1200 * time.Microsecond, p99: 4100 * time.Microsecond, max: 9800 * time.Microsecond},
			all:  quantiles{n: 50_000, p50: 950 * time.Microsecond, p99: 3900 * time.Microsecond, max: 121 * time.Millisecond}}}
}

func TestBlock(t *testing.T) {
	p := &paper{width: 80}
	want := `
  ` + strings.Repeat("█", 31) + "▒" + strings.Repeat("░", 30) + `  50.0 %  1:15

  submitted 100,000  waiting 48,410   running 1,590  done 49,998   failed 2
  rate       3,341/s  ▁▃▇█
  late     p50   1.2 ms   p99   4.1 ms   max   9.8 ms   last second
           p50  0.95 ms   p99   3.9 ms   max   121 ms   so far
  early    0                   Ctrl-C drains`
	if got := strings.Join(p.block(halfway()), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestBlockFits draws at many widths, with color: no line is wider than the paper, so that the block can be drawn over.
func TestBlockFits(t *testing.T) {
	for width := 40; width <= 160; width++ {
		var out strings.Builder
		s := &live{paper: &paper{w: &out, width: width, color: true}}
		p := halfway()
		p.submitted, p.failed, p.draining = 10_000_000, 123_456, true
		s.show(p)
		for line := range strings.SplitSeq(out.String(), "\n") {
			if n := utf8.RuneCountInString(unstyled(strings.TrimSuffix(line, "\x1b[K"))); n > width {
				t.Fatalf("width %d: %d characters: %q", width, n, line)
			}
		}
	}
}

func unstyled(s string) string {
	for _, code := range []string{bold, faint, red, green, "0"} {
		s = strings.ReplaceAll(s, "\x1b["+code+"m", "")
	}
	return s
}

// TestRedraw draws over the block before, not more often than is useful, and in one write.
func TestRedraw(t *testing.T) {
	var writes []string
	s := &live{paper: &paper{w: watcher(func(w string) { writes = append(writes, w) }), width: 80}}
	p := halfway()
	for range 10 { // a second of polls
		s.show(p)
		p.elapsed += pollEvery
	}
	p.final = true
	s.show(p)
	if len(writes) != 6 {
		t.Fatalf("%d drawings", len(writes))
	}
	if strings.Contains(writes[0], "A\r") || !strings.HasPrefix(writes[1], "\x1b[8A\r\x1b[K\n") || strings.Count(writes[1], "\n") != 8 {
		t.Errorf("first %q, second %q", writes[0], writes[1])
	}
	if strings.Contains(writes[5], "Ctrl-C") {
		t.Errorf("the last one gives a hint: %q", writes[5])
	}
}

func TestClip(t *testing.T) {
	for _, c := range []struct {
		in, want string
		width    int
	}{
		{"orders", "orders", 6},
		{"orders", "ord", 3},
		{"██▌", "██", 2},
		{"a\x1b[31mbc\x1b[0md", "a\x1b[31mb\x1b[0m", 2},
		{"\x1b[31ma\x1b[0m", "\x1b[31ma\x1b[0m", 1},
		{"", "", 0},
	} {
		if got := clip(c.in, c.width); got != c.want {
			t.Errorf("clip(%q, %d) = %q, want %q", c.in, c.width, got, c.want)
		}
	}
}

func TestNewPaper(t *testing.T) {
	env := func(vars map[string]string) func(string) string {
		return func(name string) string { return vars[name] }
	}
	for columns, want := range map[string]int{"": 80, "120": 120, "20": 40, "1000": 160, "wide": 80, "-5": 80} {
		if p := newPaper(&strings.Builder{}, env(map[string]string{"COLUMNS": columns})); p.width != want || p.terminal || p.color {
			t.Errorf("COLUMNS=%s: %+v", columns, p)
		}
	}
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("SKIPPED: no terminal to try: ", err)
	}
	defer tty.Close()
	if p := newPaper(tty, env(nil)); !p.terminal || !p.color {
		t.Errorf("a terminal: %+v", p)
	}
	if p := newPaper(tty, env(map[string]string{"NO_COLOR": "1"})); !p.terminal || p.color {
		t.Errorf("NO_COLOR: %+v", p)
	}
	if p := newPaper(tty, env(map[string]string{"TERM": "dumb"})); p.terminal || p.color {
		t.Errorf("TERM=dumb: %+v", p)
	}
}

func TestBar(t *testing.T) {
	for _, c := range []struct {
		fraction float64
		want     string
	}{{0, ""}, {-1, ""}, {1e-9, "▏"}, {0.125, "▌"}, {0.25, "█"}, {0.5, "██"}, {0.6, "██▍"}, {1, "████"}, {7, "████"}} {
		if got := bar(c.fraction, 4); got != c.want {
			t.Errorf("bar(%v) = %q, want %q", c.fraction, got, c.want)
		}
	}
}

func TestSpark(t *testing.T) {
	if got := spark([]int{9, 0, 50, 100}, 3); got != "▁▄█" {
		t.Errorf("got %q", got)
	}
	if got := spark([]int{0, 0}, 3); got != "▁▁" {
		t.Errorf("got %q", got)
	}
}

func TestChart(t *testing.T) {
	ms := func(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }
	got := (&paper{width: 60}).chart(chartRows([]time.Duration{-1, 0, ms(0.1), ms(0.5), ms(0.99), ms(1), ms(7), ms(1500), ms(20_000)}))
	want := []string{
		"  early           █████████                    1   11.1 %",
		"  0 – 0.1 ms      █████████                    1   11.1 %",
		"  0.1 – 0.2 ms    █████████                    1   11.1 %",
		"  0.2 – 0.5 ms                                 0    0.0 %",
		"  0.5 – 1 ms      ██████████████████           2   22.2 %",
		"  1 – 2 ms        █████████                    1   11.1 %",
		"  2 – 5 ms                                     0    0.0 %",
		"  5 – 10 ms       █████████                    1   11.1 %",
	}
	for i, line := range want {
		if got[i] != line {
			t.Errorf("got  %q\nwant %q", got[i], line)
		}
	}
	if last := got[len(got)-1]; !strings.HasPrefix(last, "  over 10 s       █") {
		t.Errorf("last %q", last)
	}
	if !strings.HasPrefix(got[len(got)-4], "  1 – 2 s ") || !strings.HasPrefix(got[len(got)-5], "  500 – 1000 ms ") {
		t.Errorf("rows of seconds: %q", got[len(got)-5:])
	}
	if rows := chartRows(nil); len(rows) != 0 {
		t.Errorf("rows of nothing: %v", rows)
	}
}

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		count(0): "0", count(999): "999", count(1000): "1,000", count(-1234567): "-1,234,567",
		lateness(0): "0.00 ms", lateness(994 * time.Microsecond): "0.99 ms", lateness(996 * time.Microsecond): "1.0 ms",
		lateness(99_600 * time.Microsecond): "100 ms", lateness(12 * time.Second): "12.0 s", lateness(-5 * time.Millisecond): "-5.0 ms",
		clock(59 * time.Second): "0:59", clock(3725 * time.Second): "1:02:05",
		plural(1, "task"): "1 task", plural(2000, "task"): "2,000 tasks",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
