package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// ledger is the service's process and the stream of what it was asked: a witness outside of the program under test.
type ledger struct {
	addr string // of the service
	pid  int

	cmd   *exec.Cmd
	stdin io.Closer     // ends the service
	ended chan struct{} // closed when the last line was read
	err   error         // what was wrong with the stream; read after ended
}

// arrival is one request, as the service noted it.
type arrival struct {
	task    string
	attempt int
	token   string
	due     int64 // microseconds since 1970, as the handler was told
	arrived int64 // microseconds since 1970, by the service's clock
}

// startLedger starts the service as a child process, and tells b what it notes until it ends.
func startLedger(b *book, stderr io.Writer) (*ledger, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("starting the service: %w", err)
	}
	l := &ledger{cmd: exec.Command(self), ended: make(chan struct{})}
	l.cmd.Env = append(os.Environ(), serviceEnv+"=1")
	l.cmd.Stderr = stderr
	if l.stdin, err = l.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("starting the service: %w", err)
	}
	stdout, err := l.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the service: %w", err)
	}
	if err := l.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the service: %w", err)
	}
	l.pid = l.cmd.Process.Pid
	lines := bufio.NewScanner(stdout)
	lines.Scan()
	addr, ok := strings.CutPrefix(lines.Text(), "listening ")
	if !ok {
		l.stdin.Close()
		return nil, errors.Join(errors.New("the service did not start"), lines.Err(), l.cmd.Wait())
	}
	l.addr = addr
	go func() {
		defer close(l.ended)
		l.err = l.read(lines, b)
		io.Copy(io.Discard, stdout) // after a bad line: never hold up the service
	}()
	return l, nil
}

func (l *ledger) read(lines *bufio.Scanner, b *book) error {
	for lines.Scan() {
		verb, rest, _ := strings.Cut(lines.Text(), " ")
		switch verb {
		case "asked":
			a, err := parseArrival(rest)
			if err != nil {
				return err
			}
			b.arrived(a)
		case "answered":
			b.answered(rest)
		default:
			return fmt.Errorf("the ledger says %.80q", lines.Text())
		}
	}
	return lines.Err()
}

func parseArrival(s string) (arrival, error) {
	words := strings.Fields(s)
	if len(words) != 5 {
		return arrival{}, fmt.Errorf("the ledger says asked %.80q", s)
	}
	attempt, err1 := strconv.Atoi(words[1])
	due, err2 := strconv.ParseInt(words[3], 10, 64)
	arrived, err3 := strconv.ParseInt(words[4], 10, 64)
	a := arrival{task: words[0], attempt: attempt, token: words[2], due: due, arrived: arrived}
	return a, errors.Join(err1, err2, err3)
}

// close ends the service, which writes the rest of its ledger, and waits until all of it was read. The error tells
// that the ledger is not whole. Only the first call does something.
func (l *ledger) close() error {
	if l.stdin == nil {
		return nil
	}
	l.stdin.Close()
	l.stdin = nil
	<-l.ended // read before Wait, which closes the pipe
	return errors.Join(l.err, l.cmd.Wait())
}

// cpu returns the processor time the service took, once it was closed.
func (l *ledger) cpu() time.Duration {
	if l.cmd.ProcessState == nil {
		return 0
	}
	return l.cmd.ProcessState.UserTime() + l.cmd.ProcessState.SystemTime()
}
