package invariant

import "fmt"

// State is where a task stands; the numbers are those that stores keep.
type State uint8

// The states.
const (
	None State = iota
	Created
	Scheduled
	Running
	Held
	Success
	Failed
	Timeout
	Canceled
)

// String returns the state as stores name it.
func (s State) String() string {
	if s > Canceled {
		return fmt.Sprintf("State(%d)", uint8(s))
	}
	return [...]string{"none", "CREATED", "SCHEDULED", "RUNNING", "HELD", "SUCCESS", "FAILED", "TIMEOUT", "CANCELED"}[s]
}

// Terminal reports whether nothing may follow within the run.
func (s State) Terminal() bool { return s >= Success }

// moves lists for each state those that may follow it within a run, written from the documentation, not from the code.
var moves = [...][]State{
	None:      {Created, Scheduled},
	Created:   {Created, Scheduled, Canceled},
	Scheduled: {Scheduled, Running, Canceled},
	Running:   {Running, Scheduled, Held, Success, Failed, Timeout, Canceled},
	Held:      {Held, Scheduled, Running, Success, Failed, Timeout, Canceled},
	Success:   {}, Failed: {}, Timeout: {}, Canceled: {},
}

// Outcome is how an attempt ended.
type Outcome uint8

// The outcomes.
const (
	Ongoing Outcome = iota
	Succeeded
	Erred
	RanOut
	GaveUp
	Lost
	Interrupted
)

// Token orders attempts.
type Token struct {
	Era             uint32
	Revision, Claim uint64
}

// Less reports whether t is older than u.
func (t Token) Less(u Token) bool {
	if t.Era != u.Era {
		return t.Era < u.Era
	}
	if t.Revision != u.Revision {
		return t.Revision < u.Revision
	}
	return t.Claim < u.Claim
}

// String writes what a person compares.
func (t Token) String() string { return fmt.Sprintf("%d.%d.%d", t.Era, t.Revision, t.Claim) }

// Task is a task as a store holds it. Times are microseconds.
type Task struct {
	ID, Key, Job, Kind string
	Hash, Seq          uint64
	Level              int
	Retries            int
	Created, Due, At   int64
	BootAt             int64 // At on the clock of the boot that Boot names, if that is the owner's
	Boot               uint32

	Ordered, RetryOnTimeout, HoldLost bool
	ByID                              bool   // unique by id
	Name                              string // taken while it lives, and for Window after a success
	Window                            int64
	Base, Cap, Jitter                 int64 // backoff; Full: anything from 1 ms to the computed wait
	Full                              bool

	State                 State
	CancelAsked, TimedOut bool
	Run, Attempt          int
	Last, Prev            Attempt
	Moved                 bool // a caller has chosen At
}

// Attempt is the newest try of a task; the zero value before the first.
type Attempt struct {
	Token    Token
	Run, N   int
	Executor string
	Ended    int64
	Settled  int64
	Outcome  Outcome
	Returned bool
}

// since is the instant that waiting and order go by.
func (t *Task) since() int64 { return max(t.Due, t.Created) }

// IsDue reports whether the task's time has come on a node's clocks.
func (t *Task) IsDue(c Clock) bool { return t.due(c) }

// due is IsDue.
func (t *Task) due(c Clock) bool {
	if t.Boot != 0 && t.Boot == c.BootTag {
		return c.Boot >= t.BootAt
	}
	return c.Wall >= t.At
}

// String writes the task as one line.
func (t *Task) String() string {
	return fmt.Sprintf("%s run %d attempt %d %s token %v", t.ID, t.Run, t.Attempt, t.State, t.Last.Token)
}

// Clock is one reading of a node's clocks.
type Clock struct {
	Wall, Boot int64
	BootTag    uint32
}

// Limit bounds one kind, key or job; zero fields do not.
type Limit struct {
	Concurrent int
	PerSecond  float64
	Burst      int
}

func (l Limit) zero() bool { return l == Limit{} }

// Rules are what the nodes were configured with.
type Rules struct {
	Kinds, Keys, Jobs map[string]Limit
	EachKey, EachJob  Limit
	AgeAfter, AgeStep int64 // microseconds
	NoAging           bool
	Remember          int   // ids per partition; small ones make Remembered and UniqueWindow unsure
	Window            int64 // for how long ids are remembered, at least
	Steady            bool  // no wall clock is stepped
	Exclusive         bool  // one process at a time has the store: of every attempt it is known whether it runs
	Stale             int64 // microseconds that may pass between a decision and its write
}

func (r *Rules) key(t *Task) Limit {
	if l, ok := r.Keys[t.Key]; ok {
		return l
	}
	return r.EachKey
}

func (r *Rules) job(t *Task) Limit {
	if t.Job == "" {
		return Limit{}
	}
	if l, ok := r.Jobs[t.Job]; ok {
		return l
	}
	return r.EachJob
}

// level is the effective priority after aging.
func (r *Rules) level(t *Task, wall int64) int {
	waited := wall - t.since()
	if r.NoAging || waited < r.AgeAfter {
		return t.Level
	}
	return max(0, t.Level-1-int(min((waited-r.AgeAfter)/max(r.AgeStep, 1), int64(t.Level))))
}
