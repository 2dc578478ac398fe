package bench

import (
	"context"
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

var locScenario = Scenario{
	Name:     "loc",
	About:    "lines of ax that a program links which only submits delayed tasks",
	Defaults: Options{Rounds: 1},
	run:      runLoc,
}

const (
	axModule = "github.com/axsched/ax"
	// program is the smallest program that submits a delayed task and runs it.
	program = axModule + "/bench/internal/delayed"
)

// pure are the packages that decide: engine, wheel and ready.
var pure = []string{axModule + "/internal/engine", axModule + "/internal/wheel", axModule + "/internal/ready"}

func runLoc(ctx context.Context, _ Options, r *Result) error {
	list := exec.CommandContext(ctx, "go", "list", "-deps", "-f",
		`{{with .Module}}{{.Path}}{{end}}|{{.ImportPath}}|{{.Dir}}|{{join .GoFiles "|"}}`, program)
	list.Stderr = r.log
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("%v (run it in bench/): %w", list, err)
	}
	var all, ofPure int
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if f[0] != axModule {
			continue
		}
		lines := 0
		for _, name := range f[3:] {
			src, err := os.ReadFile(filepath.Join(f[2], name))
			if err != nil {
				return err
			}
			lines += codeLines(src)
		}
		r.row(Row{"package": f[1], "files": len(f) - 3, "lines": lines})
		all += lines
		for _, p := range pure {
			if f[1] == p {
				ofPure += lines
			}
		}
	}
	r.set("lines", float64(all))
	r.set("pure_lines", float64(ofPure))
	r.progress("%d lines of ax, %d of them engine, wheel and ready", all, ofPure)
	return nil
}

// codeLines counts the lines that hold a token other than a comment.
func codeLines(src []byte) (n int) {
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	last := 0
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return n
		}
		if tok == token.SEMICOLON && text == "\n" {
			continue // put there by the scanner
		}
		first := file.Line(pos)
		end := first + strings.Count(text, "\n") // a raw string
		n += end - max(first-1, last)
		last = max(last, end)
	}
}
