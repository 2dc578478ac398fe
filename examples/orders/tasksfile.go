package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/axsched/ax"
)

// maxLine bounds a line of a tasks file in bytes: the largest payload, escaped, and something for the rest.
const maxLine = 1 << 20

// maxProblems is how many bad lines are listed.
const maxProblems = 20

// tasksFile is a tasks file that is being read.
type tasksFile struct {
	name     string
	now      time.Time // to check the lines against
	tasks    []ax.Submission
	lines    map[string]int // where each id was first used
	bad      int            // lines
	problems []string       // of the first of them, as FILE:LINE: what
	input    bytes.Buffer   // what was read
}

// readTasks reads a tasks file, or stdin for "-". The problems of bad lines are in the result; an error means that the
// file could not be read to its end.
func readTasks(ctx context.Context, name string, stdin io.Reader) (*tasksFile, error) {
	if name == "-" {
		return readInput(ctx, "stdin", stdin)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readInput(ctx, name, file)
}

// readInput reads r, but does not wait for it longer than ctx: a terminal or a pipe may say nothing for ever.
func readInput(ctx context.Context, name string, r io.Reader) (*tasksFile, error) {
	f := &tasksFile{name: name, now: time.Now(), lines: make(map[string]int)}
	done := make(chan error, 1) // one answer, which nobody may be waiting for
	go func() { done <- f.read(r) }()
	select {
	case err := <-done:
		return f, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// read reads JSON lines or CSV: the name's extension says which, or else the first byte does.
func (f *tasksFile) read(r io.Reader) error {
	in := bufio.NewReaderSize(io.TeeReader(r, &f.input), 64<<10)
	if mark, _ := in.Peek(3); bytes.Equal(mark, []byte("\ufeff")) {
		in.Discard(3)
	}
	switch strings.ToLower(filepath.Ext(f.name)) {
	case ".json", ".jsonl", ".ndjson":
		return f.readJSONLines(in)
	case ".csv":
		return f.readCSV(in)
	}
	head, _ := in.Peek(in.Size())
	if head = bytes.TrimSpace(head); len(head) > 0 && head[0] == '{' {
		return f.readJSONLines(in)
	}
	return f.readCSV(in)
}

// add checks one line and takes it, as a task or as a problem.
func (f *tasksFile) add(line int, r row) {
	if r["id"] == "" {
		r["id"] = fmt.Sprintf("line-%d", line)
	}
	sub, err := r.submission(f.now)
	if err != nil {
		f.reject(line, err)
		return
	}
	if first, used := f.lines[sub.ID]; used {
		f.reject(line, &fieldError{"id", sub.ID, fmt.Sprintf("is taken by line %d; each task needs one of its own", first)})
		return
	}
	f.lines[sub.ID] = line
	f.tasks = append(f.tasks, sub)
}

// reject notes a bad line.
func (f *tasksFile) reject(line int, err error) {
	f.bad++
	if len(f.problems) < maxProblems {
		f.problems = append(f.problems, fmt.Sprintf("%s:%d: %v", f.name, line, err))
	}
}

// printProblems lists the bad lines.
func (f *tasksFile) printProblems(w io.Writer) {
	for _, p := range f.problems {
		fmt.Fprintln(w, p)
	}
	if more := f.bad - len(f.problems); more > 0 {
		fmt.Fprintf(w, "and %s more\n", plural(more, "bad line"))
	}
}
