package main

import (
	"fmt"

	"github.com/axsched/ax"
)

// balanced reports whether the receipt accounts for each task that ax acknowledged.
func (o *outcome) balanced() bool {
	before := o.rig.before.submitted
	return before >= 0 && o.verdict.submitted == before+o.receipt.Done+len(o.receipt.Returned)+len(o.receipt.Running)+o.receipt.Waiting
}

// sum writes the receipt as a sum.
func (o *outcome) sum() string {
	sign := "="
	if !o.balanced() {
		sign = "≠"
	}
	before := ""
	if n := o.rig.before.submitted; n != 0 {
		before = count(n) + " + "
	}
	after := ""
	if n := o.receipt.Waiting; n != 0 {
		after = " + " + count(n)
	}
	return fmt.Sprintf("%s%s + %s + %s%s %s %s", before, count(o.receipt.Done), count(len(o.receipt.Returned)),
		count(len(o.receipt.Running)), after, sign, count(o.verdict.submitted))
}

// printReceipt writes what became of the tasks when the run was interrupted: the returned ones are in the store, and the
// next start goes on with them. In memory, a service would have to hand them to whoever runs next.
func (o *outcome) printReceipt(p *paper) {
	r := o.receipt
	p.printf("\n%s  drained in %s\n", p.in(bold, "receipt"), seconds(o.drained))
	p.printf("  %-11s %11s\n", "submitted", count(o.verdict.submitted))
	if n := o.rig.before.submitted; n != 0 {
		p.printf("  %-11s %11s  %s\n", "done before", count(n), p.in(faint, "ended in earlier starts"))
	}
	p.printf("  %-11s %11s  %s\n", "done", count(r.Done), p.in(faint, "ended, one way or the other"))
	next := "the next start does them"
	if o.rig.home == nil {
		next = "to be done by whoever runs next"
	}
	p.printf("  %-11s %11s  %s\n", "returned", count(len(r.Returned)), p.in(faint, "not begun, or handed back: "+next))
	o.printTasks(p, r.Returned)
	if r.Waiting > 0 {
		p.printf("  %-11s %11s  %s\n", "waiting", count(r.Waiting), p.in(faint, "due much later: in the store, and not listed"))
	}
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
