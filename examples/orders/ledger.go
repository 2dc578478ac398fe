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
	stdin io.WriteCloser // its end ends the service
	ended chan struct{}  // closed when the last line was read
	err   error          // what was wrong with the stream; read after ended
}

// arrival is one request, as the service noted it.
type arrival struct {
	task    string
	attempt int
	token   string
	due     int64 // microseconds since 1970, as the handler was told
	arrived int64 // microseconds since 1970, by the service's clock
}

// startLedger starts the service as a child process, and tells b what it notes until it ends. It writes its ledger to a
// file as well, if that has a name.
func startLedger(b *book, file string, stderr io.Writer) (*ledger, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("starting the service: %w", err)
	}
	l := &ledger{cmd: exec.Command(self), ended: make(chan struct{})}
	l.cmd.Env = append(os.Environ(), serviceEnv+"=1", ledgerEnv+"="+file)
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
		if err := b.line(lines.Text()); err != nil {
			return err
		}
	}
	return lines.Err()
}

// began tells the ledger that the scheduler is up.
func (l *ledger) began(now time.Time) {
	fmt.Fprintln(l.stdin, "began", now.UnixMicro()) // when it cannot be told, it has ended, which is seen elsewhere
}

// line notes in the book what a line of a ledger says.
func (b *book) line(s string) error {
	verb, rest, _ := strings.Cut(s, " ")
	words := strings.Fields(rest)
	bad := fmt.Errorf("the ledger says %.80q", s)
	if verb == "asked" {
		a, err := parseArrival(words)
		if err != nil {
			return bad
		}
		b.arrived(a)
		return nil
	}
	if len(words) == 0 {
		return bad
	}
	at, err := strconv.ParseInt(words[len(words)-1], 10, 64)
	switch {
	case err != nil:
		return bad
	case verb == "answered" && len(words) == 2:
		b.answered(words[0], at)
	case verb == "began" && len(words) == 1:
		b.began(at)
	case verb == "ended" && len(words) == 2:
		b.ended(words[0] == "clean", at)
	default:
		return bad
	}
	return nil
}

func parseArrival(words []string) (arrival, error) {
	if len(words) != 5 {
		return arrival{}, errors.New("too few words, or too many")
	}
	attempt, err1 := strconv.Atoi(words[1])
	due, err2 := strconv.ParseInt(words[3], 10, 64)
	arrived, err3 := strconv.ParseInt(words[4], 10, 64)
	a := arrival{task: words[0], attempt: attempt, token: words[2], due: due, arrived: arrived}
	return a, errors.Join(err1, err2, err3)
}

// close ends the service, which writes the rest of its ledger, and waits until all of it was read. clean says that no
// attempt was cut short. The error tells that the ledger is not whole. Only the first call does something.
func (l *ledger) close(clean bool) error {
	if l.stdin == nil {
		return nil
	}
	if clean {
		fmt.Fprintln(l.stdin, "clean")
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
