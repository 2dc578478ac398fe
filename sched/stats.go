package sched

// Stats are what a scheduler has seen since it started. The first group is as of now, the rest only grows. Tasks beyond
// Config.Horizon count as Scheduled, and as Submitted, from when they are known: some seconds after a start.
type Stats struct {
	Pending   int // not ended: Scheduled + Running + Held
	Scheduled int // waiting for their time, their turn or a worker
	Running   int
	Overrun   int // of those running: past their timeout, and their handler has not returned
	Held      int // waiting for a person
	Waiting   int // submissions that wait for room
	Ready     int // of those scheduled: due, and waiting only for a worker or for their kind's limit
	Unhandled int // of those scheduled: due, and without a handler here

	Submitted int // created or taken up from the store, re-runs included
	Succeeded int
	Failed    int
	TimedOut  int
	Canceled  int
	Refused   int // requests answered with an error
	Known     int // submissions that were there already
	Stale     int // reports of attempts that were no longer current
	HeldBack  int // claims put off because the wall clock had gone back
	Anomalies int // state changes that the transition table forbids: a bug of ax

	ClockSteps    int
	Suspends      int
	EventsDropped int

	Lateness Histogram // of first attempts: from the due time, or the submission if that was later, to the handler's first line
}

// Stats returns the present figures.
func (s *Scheduler) Stats() Stats {
	got := make(chan Stats, 1) // room for the answer, so that the loop does not wait
	if s.mail.post(func(m *mail) { m.calls = append(m.calls, func() { got <- s.snapshot() }) }) {
		select {
		case st := <-got:
			return st
		case <-s.stops.finished:
		}
	}
	if st := s.final.Load(); st != nil {
		return *st
	}
	return Stats{}
}

// snapshot fills in the counts, and keeps the last one for after the end. Loop only.
func (s *Scheduler) snapshot() Stats {
	c, st := &s.node.Counts, &s.stats
	st.Pending, st.Scheduled, st.Running, st.Held = c.Pending(), c.Scheduled+c.Created, c.Running, c.Held
	st.Overrun, st.Waiting, st.Ready = c.Overrun, len(s.waiters), s.node.Ready()
	st.Unhandled = s.node.Unhandled()
	st.Submitted, st.Succeeded, st.Failed, st.TimedOut, st.Canceled = c.Submitted, c.Success, c.Failed, c.TimedOut, c.Canceled
	st.Stale, st.HeldBack, st.Anomalies = c.Stale, c.HeldBack, c.Anomalies
	kept := *st
	if s.shut != nil && s.shut.over {
		s.final.Store(&kept)
	}
	return kept
}
