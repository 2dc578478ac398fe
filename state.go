package ax

import "fmt"

// State is where a task stands in its life.
type State uint8

// The states. The last four are terminal: they never change within a run.
const (
	Created   State = iota + 1 // accepted, waits for predecessors
	Scheduled                  // waits for its due time, for a retry, or for capacity
	Running                    // claimed: an attempt is, or may be, in the hands of an executor
	Held                       // the fate of its attempt is unknown: a person decides, or a late report does
	Success                    // an attempt succeeded
	Failed                     // the last allowed attempt failed, or the handler said not to retry
	Timeout                    // an attempt ran into its deadline and is not retried
	Canceled                   // canceled by a person, by its caller or by its handler
)

// Outcome is how one attempt ended.
type Outcome uint8

// The outcomes. Ongoing is the zero value: the attempt has not ended.
const (
	Ongoing            Outcome = iota
	OutcomeSuccess             // the handler returned nil in time
	OutcomeFailed              // the handler returned an error or panicked
	OutcomeTimeout             // the deadline passed before the handler returned
	OutcomeCanceled            // the handler gave up after a cancel, or asked for it
	OutcomeLost                // nobody knows: its executor's lease ended without a word
	OutcomeInterrupted         // provably stopped before it ended: its process died, or a shutdown handed it back
)

const (
	stateNames   = "\x00CREATED\x00SCHEDULED\x00RUNNING\x00HELD\x00SUCCESS\x00FAILED\x00TIMEOUT\x00CANCELED\x00"
	outcomeNames = "\x00ONGOING\x00SUCCESS\x00FAILED\x00TIMEOUT\x00CANCELED\x00LOST\x00INTERRUPTED\x00"
)

// name returns the i-th (from 0) of the words that stand between NUL bytes in list.
func name(list string, i int) (string, bool) {
	start := 1
	for at := 1; at < len(list); at++ {
		if list[at] != 0 {
			continue
		}
		if i == 0 {
			return list[start:at], true
		}
		i, start = i-1, at+1
	}
	return "", false
}

// String returns the state in capitals, as every API, log and page shows it.
func (s State) String() string {
	if n, ok := name(stateNames, int(s)-1); ok && s > 0 {
		return n
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// MarshalText writes String.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (s *State) UnmarshalText(b []byte) error {
	for try := Created; try <= Canceled; try++ {
		if try.String() == string(b) {
			*s = try
			return nil
		}
	}
	return fmt.Errorf("ax: state %.40q: want one of CREATED SCHEDULED RUNNING HELD SUCCESS FAILED TIMEOUT CANCELED", b)
}

// String returns the outcome in capitals.
func (o Outcome) String() string {
	if n, ok := name(outcomeNames, int(o)); ok {
		return n
	}
	return fmt.Sprintf("Outcome(%d)", uint8(o))
}

// MarshalText writes String.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (o *Outcome) UnmarshalText(b []byte) error {
	for try := Ongoing; try <= OutcomeInterrupted; try++ {
		if try.String() == string(b) {
			*o = try
			return nil
		}
	}
	return fmt.Errorf("ax: outcome %.40q is none of ax's", b)
}

// Terminal reports whether a task in this state has ended for good.
func (s State) Terminal() bool { return s >= Success }

// Legal reports whether a task may move from one state to another within a run. It is the only transition table;
// docs/states.md shows it, and a test holds the two together. A move to the same state is legal where something else
// changes with it: a reschedule, a cancel request.
func Legal(from, to State) bool {
	switch from {
	case 0: // does not exist yet
		return to == Created || to == Scheduled
	case Created:
		return to == Created || to == Scheduled || to == Canceled
	case Scheduled:
		return to == Scheduled || to == Running || to == Canceled
	case Running:
		return to != Created && to != 0 && to <= Canceled
	case Held:
		return to != Created && to != 0 && to <= Canceled
	}
	return false
}
