package main

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// lines are the lines of the ledger on their way to its reader, and to its file.
type lines struct {
	stdout io.Writer
	file   *os.File // nil without a file

	mu      sync.Mutex
	pending []byte        // guarded by mu
	safe    chan struct{} // guarded by mu: closed when what is pending now was written

	spare []byte // flush only: the buffer written last, to be filled next
}

// newLines writes to stdout, and to a new file if it has a name.
func newLines(stdout io.Writer, file string) (*lines, error) {
	l := &lines{stdout: stdout, safe: make(chan struct{})}
	if file == "" {
		return l, nil
	}
	var err error
	if l.file, err = os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600); err != nil {
		return nil, err
	}
	return l, syncDir(filepath.Dir(file))
}

// listen adds what the parent says, until it says no more. It returns how it ended: clean only if the parent said so.
func (l *lines) listen(stdin io.Reader) (how string) {
	how = "cut"
	for in := bufio.NewScanner(stdin); in.Scan(); {
		if in.Text() == "clean" {
			how = "clean"
		} else {
			l.add(in.Text())
		}
	}
	return how
}

// add adds one line. The channel is closed when it is safe.
func (l *lines) add(words ...string) (safe <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, word := range words {
		if i > 0 {
			l.pending = append(l.pending, ' ')
		}
		if word == "" {
			word = "-"
		}
		l.pending = append(l.pending, word...)
	}
	l.pending = append(l.pending, '\n')
	return l.safe
}

// flush writes the lines that were added since the last flush. One caller at a time. That nobody reads stdout any more is
// no error: the parent is gone, and its end of stdin with it, which ends the service once the file has all of it.
func (l *lines) flush() error {
	l.mu.Lock()
	out, safe := l.pending, l.safe
	l.pending, l.safe = l.spare[:0], make(chan struct{})
	l.mu.Unlock()
	l.spare = out
	if len(out) > 0 {
		if l.file != nil {
			if _, err := l.file.Write(out); err != nil {
				return err
			}
			if err := l.file.Sync(); err != nil {
				return err
			}
		}
		l.stdout.Write(out)
	}
	close(safe)
	return nil
}
