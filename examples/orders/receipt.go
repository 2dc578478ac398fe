package main

import (
	"fmt"

	"github.com/axsched/ax"
)

// balanced reports whether the receipt accounts for each task that ax acknowledged.
func (o *outcome) balanced() bool {
	return o.verdict.submitted == o.receipt.Done+len(o.receipt.Returned)+len(o.receipt.Running)
}

// sum writes the receipt as a sum.
func (o *outcome) sum() string {
	sign := "="
	if !o.balanced() {
		sign = "≠"
	}
	return fmt.Sprintf("%s + %s + %s %s %s", count(o.receipt.Done), count(len(o.receipt.Returned)), count(len(o.receipt.Running)),
		sign, count(o.verdict.submitted))
}

// printReceipt writes what became of the tasks when the run was interrupted: a service would hand the returned ones to
// whoever runs next.
func (o *outcome) printReceipt(p *paper) {
	r := o.receipt
	p.printf("\n%s  drained in %s\n", p.in(bold, "receipt"), seconds(o.drained))
	p.printf("  %-11s %11s\n", "submitted", count(o.verdict.submitted))
	p.printf("  %-11s %11s  %s\n", "done", count(r.Done), p.in(faint, "ended, one way or the other"))
	p.printf("  %-11s %11s  %s\n", "returned", count(len(r.Returned)), p.in(faint, "not begun, or handed back: to be done by whoever runs next"))
	o.printTasks(p, r.Returned)
	p.printf("  %-11s %11s", "running", count(len(r.Running)))
	if len(r.Running) > 0 {
		p.printf("  %s", p.in(faint, "their handlers have not come back after "+drainWait.String()))
	}
	p.printf("\n")
	o.printTasks(p, r.Running)
	style := green
	if !o.balanced() {
		style = red
	}
	p.printf("  %-11s %s\n", "sum", p.in(style, o.sum()))
}

// printTasks names the first few of a list.
func (o *outcome) printTasks(p *paper, tasks []*ax.Task) {
	for _, t := range tasks[:min(len(tasks), named)] {
		p.printf("  %-11s %-20s %s\n", "", t.ID, p.in(faint, "due "+t.Due.Time().Local().Format("15:04:05.000")))
	}
	if rest := len(tasks) - named; rest > 0 {
		p.printf("  %-11s %s\n", "", p.in(faint, "and "+count(rest)+" more"))
	}
}
