package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

// serviceEnv, when set, makes this program the service instead of the shop.
const serviceEnv = "AX_ORDERS_SERVICE"

// A request for warmPath is answered after warmWait and is not in the ledger: it keeps its connection for as long as it
// takes to open thousands of others.
const (
	warmPath = "/warm"
	warmWait = 300 * time.Millisecond

	warmLimit = 10 * time.Second // when it has not worked, it will not
)

// flushEvery is how long a line of the ledger may wait before it is written: often enough for a live view, seldom enough
// that the pipe does not cost a system call and a wakeup per request.
const flushEvery = 50 * time.Millisecond

// serve is the service: it answers POST /KIND after the time that kind takes, and writes its ledger to stdout. It ends
// when stdin does, which is also what happens when its parent dies. An interrupt of the terminal reaches it too and is
// left to its parent, which still has calls to finish.
//
// The first line of the ledger is the address, then each request is one line, or two when it was answered:
//
//	listening 127.0.0.1:40001
//	asked TASK ATTEMPT TOKEN DUE ARRIVED
//	answered TASK
func serve(stdin io.Reader, stdout, stderr io.Writer) int {
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(stderr, "orders: service:", err)
		return exitBroken
	}
	if _, err := fmt.Fprintln(stdout, "listening", ln.Addr()); err != nil {
		return exitBroken
	}
	j := &journal{}
	srv := &http.Server{Handler: j, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1) // Serve ends once
	go func() { failed <- srv.Serve(ln) }()
	ended := make(chan struct{})
	go func() {
		io.Copy(io.Discard, stdin)
		close(ended)
	}()

	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := j.flush(stdout); err != nil {
				return exitBroken // nobody reads: the parent is gone
			}
		case <-ended:
			srv.Close()
			<-failed
			j.flush(stdout)
			return exitOK
		case err := <-failed:
			if !errors.Is(err, http.ErrServerClosed) {
				fmt.Fprintln(stderr, "orders: service:", err)
			}
			return exitBroken
		}
	}
}

// journal answers requests and keeps the lines of the ledger until they are written.
type journal struct {
	mu    sync.Mutex
	lines []byte // guarded by mu

	spare []byte // flush only: the buffer written last, to be filled next
}

// ServeHTTP notes when a request arrived, waits for as long as its kind takes, and answers.
func (j *journal) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	arrived := time.Now()
	if r.URL.Path == warmPath {
		wait(r.Context(), warmWait)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	kind, known := kinds[strings.TrimPrefix(r.URL.Path, "/")]
	task := r.Header.Get(headerTask)
	if !known || r.Method != http.MethodPost || task == "" {
		http.Error(w, "want POST /KIND with "+headerTask, http.StatusBadRequest)
		return
	}
	j.add("asked", task, r.Header.Get(headerAttempt), r.Header.Get(headerToken), r.Header.Get(headerDue),
		fmt.Sprint(arrived.UnixMicro()))
	if !wait(r.Context(), kind.takes) {
		return // the caller has hung up
	}
	j.add("answered", task)
	w.WriteHeader(http.StatusNoContent)
}

// add adds one line.
func (j *journal) add(words ...string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, word := range words {
		if i > 0 {
			j.lines = append(j.lines, ' ')
		}
		if word == "" {
			word = "-"
		}
		j.lines = append(j.lines, word...)
	}
	j.lines = append(j.lines, '\n')
}

// flush writes the lines that were added since the last flush.
func (j *journal) flush(w io.Writer) error {
	j.mu.Lock()
	lines := j.lines
	j.lines = j.spare[:0]
	j.mu.Unlock()
	j.spare = lines
	if len(lines) == 0 {
		return nil
	}
	_, err := w.Write(lines)
	return err
}

// wait waits, and reports whether it was not cut short.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
