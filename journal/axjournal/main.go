// Command axjournal shows what a journal directory holds, and repairs one that is damaged, without the program it belongs
// to.
//
//	axjournal inspect DIR   # changes nothing; the directory may be open
//	axjournal repair DIR    # saves what can be read; the old files stay, as *.damaged
//
// The exit code is 0 if there is no damage, or it was repaired; 1 if there is, or something went wrong; 2 for wrong
// arguments.
package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/journal"
)

const usage = `axjournal: look into a journal directory.

  axjournal inspect DIR   what it holds, and what is damaged; changes nothing
  axjournal repair DIR    save what can be read into new files; the old ones stay, as *.damaged
`

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, errs io.Writer) int {
	if len(args) != 2 || args[0] != "inspect" && args[0] != "repair" {
		fmt.Fprint(errs, usage)
		return 2
	}
	look := journal.Inspect
	if args[0] == "repair" {
		look = journal.Repair
	}
	report, err := look(args[1], journal.Config{})
	if report != nil {
		show(out, report)
	}
	if err != nil {
		fmt.Fprintln(errs, "axjournal:", err)
		return 1
	}
	switch {
	case report.Damage == nil:
		fmt.Fprintln(out, "no damage")
	case args[0] == "repair":
		fmt.Fprintln(out, "repaired: what is listed as live is in new files, the old ones are *.damaged.")
		fmt.Fprintln(out, "Tasks that were created in a damaged part are gone; tasks that ended there may run again.")
	default:
		fmt.Fprintln(out, "damaged: `axjournal repair` saves what can be read")
		return 1
	}
	return 0
}

func show(out io.Writer, r *journal.Report) {
	for _, f := range r.Files {
		var frames []string
		for _, kind := range slices.Sorted(maps.Keys(f.Frames)) {
			frames = append(frames, fmt.Sprintf("%s %d", kind, f.Frames[kind]))
		}
		fmt.Fprintf(out, "%s  %10d of %10d bytes  era %s  %s", f.Name, f.Used, f.Size, time.Unix(int64(f.Era), 0).UTC().Format(time.RFC3339), strings.Join(frames, ", "))
		if f.Torn {
			fmt.Fprint(out, "  (ends in a torn tail, of which nobody was told)")
		}
		fmt.Fprintln(out)
	}
	for _, d := range r.Damage {
		fmt.Fprintf(out, "DAMAGED %s from %d to %d: %s\n", d.File, d.Offset, d.To, d.Reason)
	}
	if r.Batches > 0 {
		fmt.Fprintf(out, "%d batches are missing\n", r.Batches)
	}
	if r.Changes > 0 {
		fmt.Fprintf(out, "%d tasks have changes and no beginning: they cannot be saved\n", r.Changes)
	}
	fmt.Fprintf(out, "partitions %d\n", r.Partitions)
	for _, s := range slices.Sorted(maps.Keys(r.Tasks)) {
		fmt.Fprintf(out, "live %s %d\n", ax.State(s), r.Tasks[s])
	}
	fmt.Fprintf(out, "finished %d\ninbox %d\nremembered ids %d\njob states %d\n", r.Ended, r.Inbox, r.Records, r.Jobs)
}
