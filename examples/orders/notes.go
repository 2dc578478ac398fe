package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
)

// note is what became of some tasks in a row: ax has acknowledged them, or refused them for good.
type note struct {
	first, n     int   // tasks, by their place in the workload
	asked, acked int64 // when, in microseconds since 1970
	refused      bool
}

// joins reports whether a task's note is the same as that of the tasks right before it.
func (t note) joins(next note) bool {
	next.first, next.n = next.first-t.n, t.n
	return t == next
}

// notes is the file of what ax has acknowledged: what is in it need not be submitted again, and may not be lost. What is
// not in it may have been taken in all the same, by a call that was cut short: at most the first batchSize tasks.
type notes struct {
	file *os.File
	read []note // by earlier starts
}

// openNotes opens the file of a run of so many tasks, or makes it. A line that was being written when the machine stopped
// is cut off.
func openNotes(name string, total int) (*notes, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	n := &notes{file: file}
	b, err := os.ReadFile(name)
	if err == nil {
		whole := bytes.LastIndexByte(b, '\n') + 1
		if err = n.parse(b[:whole], total); err == nil && whole < len(b) {
			err = file.Truncate(int64(whole))
		}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return n, nil
}

func (n *notes) parse(b []byte, total int) error {
	for line := range bytes.Lines(b) {
		var t note
		var what string
		_, err := fmt.Sscanf(string(line), "%s %d %d %d %d\n", &what, &t.first, &t.n, &t.asked, &t.acked)
		t.refused = what == "refused"
		if err != nil || what != "acked" && what != "refused" || t.first < 0 || t.n < 1 || t.first+t.n > total {
			return fmt.Errorf("%s says %.80q: -fresh begins anew, without what was there", n.file.Name(), line)
		}
		n.read = append(n.read, t)
	}
	return nil
}

// add writes notes, and returns when they are durable. On nil notes, of a run in memory, it does nothing.
func (n *notes) add(more []note) error {
	if n == nil || len(more) == 0 {
		return nil
	}
	var b []byte
	for _, t := range more {
		what := "acked"
		if t.refused {
			what = "refused"
		}
		b = fmt.Appendf(b, "%s %d %d %d %d\n", what, t.first, t.n, t.asked, t.acked)
	}
	if _, err := n.file.Write(b); err != nil {
		return err
	}
	return n.file.Sync()
}

func (n *notes) close() error { return n.file.Close() }
