package ax

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Task is one unit of work with a due time and a state, as stores keep it. A *Task is immutable from the moment it is
// handed to a Store, an Archive or an engine: a change is a new value. It may be read by any number of goroutines.
//
// The fields down to Seq describe the work and are fixed for a run, but for Due, which a reschedule moves. The fields
// from State on are what a move (Batch.Move) changes, and all that it changes.
type Task struct {
	ID         string   // up to 200 bytes; the part before the first '/' is its Key
	Kind       string   // names the handler, up to 100 bytes
	Payload    []byte   // the handler's argument, opaque to ax
	Extra      *Extra   // what few tasks have, may be nil
	Hash       uint64   // of what was submitted, without its time: tells a repeat from a conflict
	Seq        uint64   // order of submission within the partition
	Created    Time     // when it was accepted
	Timeout    Millis   // of one attempt
	MaxRetries int16    // attempts allowed after the first
	Priority   Priority // smaller runs first
	Flags      Flags

	State   State
	Marks   Marks
	Boot    uint32   // tag of the boot BootAt belongs to; 0: the task follows the wall clock
	Run     int32    // from 1; a re-run of a finished task opens the next
	Attempt int32    // number of the last attempt of this run that counts, from 1; 0 before the first
	Due     Time     // when it should start (wall clock)
	At      Time     // when it may start next (Due, or the instant of its retry); once terminal: when it ended
	BootAt  int64    // At on the boot-time clock, in microseconds, if Boot is this boot's tag
	Last    *Attempt // the newest attempt, nil before the first
}

// Flags are properties that a submission chose.
type Flags uint8

// The flags.
const (
	Ordered        Flags = 1 << iota // strictly one after another with the other ordered tasks of its key, by due time
	RetryOnTimeout                   // a timed-out attempt is retried, once its handler has returned
	HoldLost                         // an attempt whose fate is unknown is HELD for a person, not retried
)

// Marks are what happened to a live task beside its state.
type Marks uint8

// The marks.
const (
	CancelAsked Marks = 1 << iota // a cancel was asked for while an attempt ran
	TimedOut                      // the attempt passed its deadline and its handler has not returned: overrun
	Retrying                      // SCHEDULED again after an attempt that counted
)

// Extra holds what few tasks have, so that the others do not pay for it. Immutable like its task.
type Extra struct {
	Headers map[string]string `json:",omitzero"`
	Backoff Backoff           `json:",omitzero"`
	Unique  Unique            `json:",omitzero"`
	Shard   *Shard            `json:",omitzero"`
}

// Shard is one numbered part of an instance: Index from 0 below Total.
type Shard struct {
	Index, Total int32
	Params       string `json:",omitzero"`
}

// Attempt is one try of a task. Attempts are immutable and linked from the newest to the oldest; the stamps are the
// hops of the attempt, each zero until it was passed.
type Attempt struct {
	Run, N   int32
	Token    AttemptToken
	Executor string // who ran it
	Ready    Time   // due, and seen to be
	Claimed  Time   // capacity found: SCHEDULED to RUNNING
	Started  Time   // first line of the handler
	Ended    Time   // the handler returned
	Settled  Time   // the owner decided what follows
	Deadline Time   // Claimed plus the timeout
	Outcome  Outcome
	Returned bool     `json:",omitzero"` // handed back unfinished: does not count
	Error    string   `json:",omitzero"` // at most 8 KiB
	Result   []byte   `json:",omitzero"` // what the handler gave to Return, at most 64 KiB
	Prev     *Attempt `json:"-"`
}

// Key returns what placement, order and per-key limits go by: the part of the id before the first '/', or all of it.
func (t *Task) Key() string { return KeyOf(t.ID) }

// KeyOf returns the key of an id.
func KeyOf(id string) string {
	key, _, _ := strings.Cut(id, "/")
	return key
}

// Job returns the uid of the job this task is a firing of, or "". It stands in the id, in a form that no caller's id
// can have.
func (t *Task) Job() string {
	key, rest, found := strings.Cut(t.ID, "/")
	if found && rest != "" && (rest[0] == '@' || rest[0] == '!') {
		return key
	}
	return ""
}

// Headers returns the task's headers; read only, may be nil.
func (t *Task) Headers() map[string]string {
	if t.Extra == nil {
		return nil
	}
	return t.Extra.Headers
}

// Backoff returns the task's backoff with the defaults filled in.
func (t *Task) Backoff() Backoff {
	if t.Extra == nil {
		return Backoff{}.WithDefaults()
	}
	return t.Extra.Backoff.WithDefaults()
}

// Unique returns the task's unique window, zero if it has none.
func (t *Task) Unique() Unique {
	if t.Extra == nil {
		return Unique{}
	}
	return t.Extra.Unique
}

// Result returns what the last attempt returned, may be nil.
func (t *Task) Result() []byte {
	if t.Last == nil || t.Last.Run != t.Run {
		return nil
	}
	return t.Last.Result
}

// LastError returns the error text of the last attempt of this run.
func (t *Task) LastError() string {
	if t.Last == nil || t.Last.Run != t.Run {
		return ""
	}
	return t.Last.Error
}

// Attempts returns the attempts of all runs, oldest first.
func (t *Task) Attempts() []*Attempt {
	n := 0
	for a := t.Last; a != nil; a = a.Prev {
		n++
	}
	list := make([]*Attempt, n)
	for a := t.Last; a != nil; a = a.Prev {
		n--
		list[n] = a
	}
	return list
}

// Hop is one stamped step of a task's life.
type Hop struct {
	At      Time
	Step    string // submitted due ready claimed started ended settled
	Run, N  int32  // the attempt, zero for submitted and due
	Outcome Outcome
}

// Timeline returns a stamp for each hop the task has passed, in order of the steps.
func (t *Task) Timeline() []Hop {
	hops := []Hop{{At: t.Created, Step: "submitted"}, {At: t.Due, Step: "due"}}
	for _, a := range t.Attempts() {
		for _, h := range []Hop{{At: a.Ready, Step: "ready"}, {At: a.Claimed, Step: "claimed"},
			{At: a.Started, Step: "started"}, {At: a.Ended, Step: "ended"},
			{At: a.Settled, Step: "settled", Outcome: a.Outcome}} {
			if h.At != 0 {
				h.Run, h.N = a.Run, a.N
				hops = append(hops, h)
			}
		}
	}
	return hops
}

// MarshalJSON writes the task with its attempts as a list.
func (t *Task) MarshalJSON() ([]byte, error) {
	type plain Task // without methods, or this would call itself
	return json.Marshal(struct {
		*plain
		Priority int
		Last     struct{} `json:"-"`
		Attempts []*Attempt
	}{plain: (*plain)(t), Priority: t.Priority.Level(), Attempts: t.Attempts()})
}

// Priority orders ready tasks: smaller runs first. The zero value is the default, level 50; P makes the others.
type Priority uint8

// Levels is the number of priority levels; DefaultLevel is what the zero Priority stands for.
const (
	Levels       = 100
	DefaultLevel = 50
)

// P returns the priority of a level from 0 (runs first) to 99. A level outside is kept out of range and refused at
// submit.
func P(level int) Priority {
	if level < 0 || level >= Levels {
		return 255
	}
	return Priority(level + 1)
}

// Level returns the level, 0 to 99.
func (p Priority) Level() int {
	if p == 0 {
		return DefaultLevel
	}
	return int(p) - 1
}

// Unique asks that something be done at most once per window. The zero value asks nothing.
//
// While the first task is waiting, running, HELD or to be retried, a second is answered Known with the first one's id,
// even past the window. When the first has ended:
//
//	SUCCESS                    the window stays closed until Window after the first was accepted
//	FAILED, TIMEOUT, CANCELED  open at once: the work was not done
type Unique struct {
	By     UniqueBy
	Window time.Duration // 1 ms to 366 days
}

// UniqueBy says what must not come twice.
type UniqueBy uint8

// What can be unique: nothing, this id, or this kind and payload within the key. A ByContent submission without a key
// gets the hash of its content as its key.
const (
	NotUnique UniqueBy = iota
	ByID
	ByContent
)

// String names the choice.
func (u UniqueBy) String() string {
	switch u {
	case NotUnique:
		return "none"
	case ByID:
		return "id"
	case ByContent:
		return "content"
	}
	return fmt.Sprintf("UniqueBy(%d)", uint8(u))
}

// String writes what a log line needs: id, kind, state, run and attempt.
func (t *Task) String() string {
	return fmt.Sprintf("%s %s %s run %d attempt %d due %s", t.ID, t.Kind, t.State, t.Run, t.Attempt, t.Due)
}
