package main

import "time"

// plain is the progress for logs and pipes: a line a second.
type plain struct {
	paper *paper
	next  time.Duration
	last  tally // as printed
}

func (s *plain) title(r *rig) {
	s.paper.printf("orders: %s\n", r.title())
	s.next = time.Second
}

func (s *plain) show(p progress) {
	if p.elapsed < s.next && !(p.final && p.tally != s.last) {
		return
	}
	s.last = p.tally
	s.next = p.elapsed.Truncate(time.Second) + time.Second
	state := ""
	if p.draining {
		state = "  draining"
	}
	late := "-" // nothing was due in the last second
	if q := p.view.last; q.n > 0 {
		late = "p50 " + lateness(q.p50) + " p99 " + lateness(q.p99) + " max " + lateness(q.max)
	}
	s.paper.printf("%6s  submitted %d  waiting %d  running %d  done %d  failed %d  %d/s  late %s  early %d%s\n",
		seconds(p.elapsed), p.submitted, p.waiting, p.running, p.done, p.failed, p.rate, late, p.early, state)
}
