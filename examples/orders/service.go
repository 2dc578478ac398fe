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
	"strconv"
	"strings"
	"syscall"
	"time"
)

// serviceEnv, when set, makes this program the service instead of the shop. ledgerEnv, if set too, is the file that the
// ledger is also written to.
const (
	serviceEnv = "AX_ORDERS_SERVICE"
	ledgerEnv  = "AX_ORDERS_LEDGER"
)

// A request for warmPath is answered after warmWait and is not in the ledger: it keeps its connection for as long as it
// takes to open thousands of others.
const (
	warmPath = "/warm"
	warmWait = 300 * time.Millisecond

	warmLimit = 10 * time.Second // when it has not worked, it will not
)

// flushEvery is how long a line of the ledger may wait before it is written: less than the quickest answer takes, and
// seldom enough that it does not cost a system call and a wakeup per request.
const flushEvery = 20 * time.Millisecond

// serve is the service: it answers POST /KIND after the time that kind takes, and writes its ledger to stdout. It ends
// when stdin does, which is also what happens when its parent dies. An interrupt of the terminal reaches it too and is
// left to its parent, which still has calls to finish; so does the end of a reader, which is that of the parent.
//
// The first line of the ledger is the address, then each request is one line, or two when it was answered. Times are in
// microseconds since 1970. That its scheduler is up, and at the end that nothing was cut short, the parent says on stdin:
//
//	listening 127.0.0.1:40001
//	began TIME
//	asked TASK ATTEMPT TOKEN DUE TIME
//	answered TASK TIME
//	ended clean TIME            or: ended cut TIME
func serve(stdin io.Reader, stdout, stderr io.Writer) int {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGPIPE)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(stderr, "orders: service:", err)
		return exitBroken
	}
	if _, err := fmt.Fprintln(stdout, "listening", ln.Addr()); err != nil {
		return exitBroken
	}
	l, err := newLines(stdout, os.Getenv(ledgerEnv))
	if err != nil {
		fmt.Fprintln(stderr, "orders: service:", err)
		return exitBroken
	}
	srv := &http.Server{Handler: &service{l}, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1) // Serve ends once
	go func() { failed <- srv.Serve(ln) }()
	ended := make(chan string, 1) // how; once
	go func() { ended <- l.listen(stdin) }()

	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := l.flush(); err != nil {
				fmt.Fprintln(stderr, "orders: service:", err)
				return exitBroken
			}
		case how := <-ended:
			srv.Close()
			<-failed
			l.add("ended", how, micros(time.Now()))
			if err := l.flush(); err != nil {
				return exitBroken
			}
			return exitOK
		case err := <-failed:
			if !errors.Is(err, http.ErrServerClosed) {
				fmt.Fprintln(stderr, "orders: service:", err)
			}
			return exitBroken
		}
	}
}

// service answers requests.
type service struct {
	lines *lines
}

// ServeHTTP notes when a request arrived, waits for as long as its kind takes, and answers: not before the note is safe,
// so that nothing that was done is missing in the ledger.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
	safe := s.lines.add("asked", task, r.Header.Get(headerAttempt), r.Header.Get(headerToken), r.Header.Get(headerDue),
		micros(arrived))
	if !wait(r.Context(), kind.takes) {
		return // the caller has hung up
	}
	select {
	case <-safe:
	case <-r.Context().Done():
		return
	}
	s.lines.add("answered", task, micros(time.Now()))
	w.WriteHeader(http.StatusNoContent)
}

// micros writes an instant as the ledger does.
func micros(at time.Time) string { return strconv.FormatInt(at.UnixMicro(), 10) }

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
