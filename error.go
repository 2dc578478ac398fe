package ax

import (
	"errors"
	"fmt"
	"time"
)

// The errors callers branch on. They arrive wrapped in *Error where there is more to say; test with errors.Is.
var (
	ErrInvalid   = errors.New("invalid")                           // bad input; nothing was stored
	ErrFull      = errors.New("full")                              // a bound was reached; nothing was stored
	ErrNoTask    = errors.New("no such task")                      // neither live nor remembered
	ErrFinished  = errors.New("task has ended")                    // the change came too late; Error.State says how it ended
	ErrRunning   = errors.New("task is running")                   // the change is not possible while an attempt runs
	ErrConflict  = errors.New("id is taken by another submission") // same id, different content
	ErrExpired   = errors.New("submission is older than what is remembered")
	ErrNoHandler = errors.New("no handler for this kind")
	ErrDuplicate = errors.New("already registered")
	ErrStarted   = errors.New("already started")
	ErrClosed    = errors.New("closed") // shut down, or not started

	ErrFenced    = errors.New("fenced: a newer token owns this")              // the writer is no longer the owner
	ErrGap       = errors.New("batch number out of order")                    // refused; Open again
	ErrUnknown   = errors.New("outcome unknown: the write may have happened") // Open again, do not guess
	ErrNoSpace   = errors.New("store has no room")                            // refused as a whole; nothing was written
	ErrHeld      = errors.New("lease is held by another")
	ErrLeaseLost = errors.New("lease is lost")
	ErrRevision  = errors.New("document has another revision")
	ErrNoDoc     = errors.New("no such document")

	ErrTimeout  = errors.New("attempt reached its timeout")                 // the cause a handler's context carries
	ErrCanceled = errors.New("task was canceled")                           // likewise
	ErrShutdown = errors.New("scheduler is shutting down")                  // likewise
	ErrBadArgs  = errors.New("payload does not fit the handler's argument") // not retried: the bytes will not change
)

// Error says what was wrong with which value. Op is the operation in lower case; Field and Value are set for bad
// input, ID and State where a task is concerned. Err is one of the sentinels above.
type Error struct {
	Op     string
	ID     string
	Field  string
	Value  string // at most 80 bytes of the value, quoted
	Reason string // what is allowed, or what to do
	State  State
	Err    error
}

// Error writes the parts that are set, in the order a reader wants them.
func (e *Error) Error() string {
	s := "ax: " + e.Op
	if e.ID != "" {
		s += " " + e.ID
	}
	s += ": " + e.Err.Error()
	if e.State != 0 {
		s += " (" + e.State.String() + ")"
	}
	if e.Field != "" {
		s += ": " + e.Field + " " + e.Value
	}
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	return s
}

// Unwrap returns the sentinel.
func (e *Error) Unwrap() error { return e.Err }

func invalid(op, field string, value any, reason string, args ...any) *Error {
	v := fmt.Sprintf("%.80q", fmt.Sprint(value))
	return &Error{Op: op, Field: field, Value: v, Reason: fmt.Sprintf(reason, args...), Err: ErrInvalid}
}

// Control is an error by which a handler steers its own task. It is made by NoRetry, RetryAfter and Cancel, and found
// with errors.As wherever it stands in the chain.
type Control struct {
	Err    error         // the handler's own error, may be nil
	Never  bool          // do not retry
	Cancel bool          // end as CANCELED
	After  time.Duration // retry after this instead of the backoff, when positive
}

// Error describes the control and the error in it.
func (c *Control) Error() string {
	what := "retry after " + c.After.String()
	if c.Never {
		what = "do not retry"
	}
	if c.Cancel {
		what = "cancel"
	}
	if c.Err == nil {
		return what
	}
	return what + ": " + c.Err.Error()
}

// Unwrap returns the handler's own error.
func (c *Control) Unwrap() error { return c.Err }

// NoRetry makes the attempt the last one: the task ends FAILED whatever retries are left. A nil err is allowed.
func NoRetry(err error) error { return &Control{Err: err, Never: true} }

// RetryAfter asks for the next attempt after d instead of the backoff. It counts as a failed attempt and does not
// raise the number of retries. A negative d counts as zero.
func RetryAfter(d time.Duration, err error) error {
	return &Control{Err: err, After: max(d, time.Microsecond)}
}

// Cancel ends the task as CANCELED: the work has become pointless. It is not retried.
func Cancel(err error) error { return &Control{Err: err, Cancel: true} }
