package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/axsched/ax/sched"
)

// outcome is all that is known after a run.
type outcome struct {
	rig         *rig
	interrupted bool
	complete    bool          // all were submitted, and all have ended
	ran         time.Duration // from the first submit to the end of the drain
	drained     time.Duration // the drain alone
	receipt     sched.Receipt
	stats       sched.Stats
	verdict     verdict

	cpu, ledgerCPU time.Duration
	clockMoved     time.Duration
}

// ok reports whether every promise was kept and every task that ran succeeded.
func (o *outcome) ok() bool {
	t := o.rig.tally()
	return o.verdict.kept() && o.balanced() && t.failed+o.verdict.refused+o.stats.Anomalies == 0
}

// print writes the receipt, if the run was cut short, and the report.
func (o *outcome) print(p *paper) {
	if o.interrupted {
		o.printReceipt(p)
	}
	o.printTotals(p)
	o.printLateness(p)
	o.printPromises(p)
}

func (o *outcome) printTotals(p *paper) {
	t, v := o.rig.tally(), &o.verdict
	p.printf("\n%s\n", p.in(bold, "report"))
	p.printf("  %-11s %s submitted", "tasks", count(v.submitted))
	if !v.last.IsZero() { // some by this start
		p.printf(" in %s", seconds(v.last.Sub(o.rig.started)))
	}
	p.printf(", %s done", count(t.done))
	if n := o.rig.before.done; n > 0 {
		p.printf(" (%s before this start)", count(n))
	}
	p.printf(", %s failed", p.zero(t.failed))
	if v.requests > v.asked {
		p.printf(", %s", plural(v.requests-v.asked, "request")+" more for retries")
	}
	if v.refused > 0 {
		p.printf(", %s refused", p.zero(v.refused))
	}
	p.printf("\n")
	for _, line := range o.rig.failures.list() {
		p.printf("  %-11s %s\n", "", clip(strings.ReplaceAll(line, "\n", " "), p.width-14))
	}
	busiest := 0
	if rates := o.rig.book.view(o.rig.started, time.Now()).rates; len(rates) > 0 {
		busiest = slices.Max(rates)
	}
	p.printf("  %-11s %s tasks/s over %s", "throughput", count(int(float64(v.answered)/o.ran.Seconds()+0.5)), seconds(o.ran))
	if busiest > 0 {
		p.printf(", %s in the busiest second", count(busiest))
	}
	p.printf("\n")
	if o.cpu > 0 {
		cores := runtime.NumCPU()
		p.printf("  %-11s %.0f %% of %s: %s here, %s in the service\n", "processor",
			100*(o.cpu+o.ledgerCPU).Seconds()/o.ran.Seconds()/float64(cores), plural(cores, "core"), seconds(o.cpu), seconds(o.ledgerCPU))
	}
}

func (o *outcome) printLateness(p *paper) {
	v := &o.verdict
	row := func(name string, q quantiles, what string) {
		p.printf("  %-11s", name)
		for _, d := range []time.Duration{q.p50, q.p90, q.p99, q.p999, q.max} {
			p.printf(" %8s", lateness(d))
		}
		p.printf("  %s\n", p.in(faint, what))
	}
	p.printf("\n%s\n", p.in(bold, "lateness")+p.in(faint, "          p50      p90      p99    p99.9      max"))
	row("ledger", quantilesOf(v.late), "request − due")
	if len(v.stopped) == 0 { // ax does not tell them apart
		row("ax", quantilesIn(&o.stats.Lateness), "handler − due")
	}
	if n := len(v.stopped); n > 0 {
		p.printf("  Due while stopped: %s, from %s to %s late.\n", count(n), lateness(v.stopped[0]), lateness(v.stopped[n-1]))
	}
	p.printf("\n")
	for _, line := range p.chart(chartRows(o.verdict.late)) {
		p.printf("%s\n", line)
	}
	if d := o.clockMoved; d > time.Millisecond || d < -time.Millisecond {
		p.printf("  The wall clock was set by %v meanwhile: lateness is off by as much.\n", d.Round(time.Millisecond))
	}
}

func (o *outcome) printPromises(p *paper) {
	v := &o.verdict
	p.printf("\n%s  ", p.in(bold, "promises"))
	for _, f := range []struct {
		name string
		n    int
	}{{"early", v.early.n}, {"lost", v.lost.n}, {"done twice", v.twice.n}} {
		p.printf("   %s %s", f.name, p.zero(f.n))
	}
	kept := v.kept() && o.balanced() && o.stats.Anomalies == 0
	if kept {
		p.printf("   %s\n", p.in(green, "all kept"))
	} else {
		p.printf("   %s\n", p.in(red, "BROKEN"))
	}
	if n := v.again.n; n > 0 {
		p.printf("  %-11s tried again after a kill: %s  %s\n", "", count(n), p.in(faint, "their attempts were cut off: "+strings.Join(v.again.ids, ", ")+more(n-len(v.again.ids))))
	}
	if kept {
		return
	}
	for _, f := range []struct {
		name string
		finding
	}{{"early", v.early}, {"lost", v.lost}, {"done twice", v.twice}} {
		if f.n > 0 {
			p.printf("  %-11s %s%s\n", f.name, strings.Join(f.ids, ", "), more(f.n-len(f.ids)))
		}
	}
	if v.strays > 0 {
		p.printf("  %-11s the service was asked %s for tasks that ax had not taken\n", "strays", plural(v.strays, "time"))
	}
	if o.stats.Anomalies > 0 {
		p.printf("  %-11s %s of state that ax's own table forbids\n", "anomalies", plural(o.stats.Anomalies, "change"))
	}
	if !o.balanced() {
		p.printf("  %-11s the receipt does not add up: %s\n", "receipt", o.sum())
	}
}

// more says how many were not named.
func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %s more", count(n))
}
