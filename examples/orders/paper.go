package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"
)

// paper is where the program writes: how wide it is, and whether it has color.
type paper struct {
	w        io.Writer
	width    int
	color    bool
	terminal bool
}

// newPaper looks at stdout, and at COLUMNS, NO_COLOR and TERM.
func newPaper(stdout io.Writer, getenv func(string) string) *paper {
	p := &paper{w: stdout, width: 80}
	if n, err := strconv.Atoi(getenv("COLUMNS")); err == nil && n > 0 {
		p.width = min(max(n, 40), 160) // a longer line is hard to read
	}
	if f, ok := stdout.(*os.File); ok && getenv("TERM") != "dumb" {
		info, err := f.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	p.color = p.terminal && getenv("NO_COLOR") == ""
	return p
}

// printf writes.
func (p *paper) printf(format string, args ...any) { fmt.Fprintf(p.w, format, args...) }

// The styles, as SGR codes of ECMA-48.
const (
	bold  = "1"
	faint = "2"
	red   = "31"
	green = "32"
)

// in styles s, on a paper with color.
func (p *paper) in(style, s string) string {
	if !p.color || s == "" {
		return s
	}
	return "\x1b[" + style + "m" + s + "\x1b[0m"
}

// zero writes a number that should be 0: in red if it is not.
func (p *paper) zero(n int) string {
	if n != 0 {
		return p.in(red, count(n))
	}
	return count(n)
}

// clip cuts a line to so many characters, codes of styles not counted.
func clip(line string, width int) string {
	var out strings.Builder
	styled := false
	for line != "" {
		if strings.HasPrefix(line, "\x1b[") {
			end := strings.IndexByte(line, 'm') + 1
			out.WriteString(line[:end])
			line, styled = line[end:], true
			continue
		}
		if width--; width < 0 {
			if styled {
				out.WriteString("\x1b[0m")
			}
			break
		}
		_, size := utf8.DecodeRuneInString(line)
		out.WriteString(line[:size])
		line = line[size:]
	}
	return out.String()
}
