// Command orders runs the workload that ax was made for, as a real program: 100,000 tasks of a shop, due within 30
// seconds, of which 20 % close an unpaid order (50 ms), 30 % activate a coupon (200 ms) and 50 % push a message
// (800 ms). Each is a real HTTP call to a small service in a process of its own, which waits that long before it answers
// and keeps a ledger of what it was asked and when. It shows the progress, and at the end how late the tasks were by the
// ledger's clock, and that none was early, lost or done twice. Ctrl-C drains and prints the receipt; a second one exits
// at once.
//
// The run is kept on disk, by package journal. A start after Ctrl-C, a kill or a power cut continues it: the same tasks
// under the same ids, and a ledger that covers all starts. A start after a run that is done begins another.
//
//	orders                     # the workload; or go on with the one that was interrupted
//	orders -n 5000 -spread 5s  # a smaller one
//	orders -tasks FILE         # tasks of your own, JSON lines or CSV; see testdata
//	orders -fresh              # begin anew, whatever there is to continue
//	orders -dir DIR            # keep the run there; the default is ax-orders in the user's cache directory
//	orders -memory             # nothing on disk: the run ends with the program
//
// A task whose attempt was cut off by a kill is tried again, and so may be done twice: ax promises at least once there, and
// the report counts these tasks apart. Without a kill none is.
//
// The exit code is 0 if every promise was kept and no task failed, 1 if not, 2 for a wrong flag or tasks file, 130
// after a second Ctrl-C.
//
// # In reading order
//
// How a service uses ax:
//
//	shop.go      the kinds of tasks: arguments, handlers, and the calls they make
//	workload.go  the tasks to submit: kind, arguments, delay, priority
//	submit.go    submitting them in batches while the first ones run, and again after a kill
//	run.go       the scheduler's life: make, start, watch, drain, receipt; resume.go, what a continued run adds
//
// How it survives:
//
//	home.go     the directory: the journal, and which run is in it
//	runfile.go  the file that makes a run the same after a restart
//	notes.go    what ax has acknowledged
//	past.go     reading what earlier starts have left
//	trouble.go  what can be wrong with a directory, and what to do
//
// Who checks it:
//
//	service.go   the service, in the child process; lines.go, how its ledger is written
//	ledger.go    the child process, as its parent sees it
//	book.go      what was asked for, beside what the ledger says; lives.go, over several starts; view.go, so far
//	audit.go     the verdict: early, lost, done twice
//
// And what a person sees:
//
//	flags.go      the flags
//	tasksfile.go  -tasks FILE; jsonlines.go and csv.go read the formats, row.go checks what a line says
//	progress.go   the numbers to show; plain.go, a line a second; live.go, the block that redraws itself
//	report.go     the report; receipt.go, the receipt after an interrupt
//	paper.go      where it is written: width, color; chart.go, bars; format.go, numbers; quantiles.go
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// The exit codes.
const (
	exitOK          = 0
	exitBroken      = 1   // a promise was broken, a task failed, or the run could not go on
	exitUsage       = 2   // a wrong flag or tasks file; nothing was submitted
	exitInterrupted = 130 // as a shell reports SIGINT
)

// gcPercent lets the heap grow to five times of what is live, to a few hundred MiB, before the garbage collector runs.
// It takes 50 to 150 ms each time, of cores on which the tasks and the service run as well, and tasks that are due
// meanwhile are late. Measured on two cores with the default of 100: p99 13–21 ms, instead of 4–10 ms.
const gcPercent = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv(serviceEnv) != "" {
		os.Exit(serve(os.Stdin, os.Stdout, os.Stderr))
	}
	ctx, interrupt := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2) // two, so that neither of the signals that count is dropped
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		interrupt()
		<-signals
		os.Exit(exitInterrupted) // the service sees its input end, and goes as well
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
