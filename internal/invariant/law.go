package invariant

import "fmt"

// Law is one sentence that must hold after every event.
type Law uint8

// The laws.
const (
	NeverEarly Law = 1 + iota
	NotLate
	NeverLost
	TerminalStays
	LegalMoves
	OneAttempt
	TokensGrow
	Fenced
	ClaimFirst
	AttemptsBounded
	RetryPolicy
	LostPolicy
	Ordered
	Limits
	Rates
	UniqueWindow
	CancelHolds
	AnsweredOnce
	AnswerTrue
	CountsTrue
	Remembered
	BestFirst
	NoIdleWorker
	WorkersBounded
	AdmittedOnce
	SettledByReport
	ReportArrives
	Progress
	NothingLeft
	NoSpin
	NoPanic
	Replayable
	last
)

// Sentence returns the law in words.
func (l Law) Sentence() string {
	if l == 0 || l >= last {
		return fmt.Sprintf("Law(%d)", uint8(l))
	}
	return [...]string{
		NeverEarly:      "no attempt starts before its due time on its owner's scheduling clock",
		NotLate:         "a task that is due is in its owner's memory",
		NeverLost:       "an acknowledged submission is live in the store, or has ended and is in the archive",
		TerminalStays:   "a terminal state never changes within a run",
		LegalMoves:      "a stored task moves only along the transition table",
		OneAttempt:      "while an attempt is known to run, no other of its task starts",
		TokensGrow:      "attempt tokens of a key grow with every attempt, over runs, restarts and handovers",
		Fenced:          "a write under an old token never takes effect",
		ClaimFirst:      "every handler start is preceded by its durable claim",
		AttemptsBounded: "attempts that count are at most one and the retries; hand-backs do not count",
		RetryPolicy:     "a retry waits for as long as its backoff says, not less and not more",
		LostPolicy:      "an attempt whose fate is unknown is held or retried, as its task says",
		Ordered:         "ordered tasks of a key run one after another, by due time among those known",
		Limits:          "no more attempts of a kind on a node, of a key or of a job run at once than its limit",
		Rates:           "attempts of a kind, key or job do not start faster than its rate",
		UniqueWindow:    "a unique name is taken by one task at a time, and for its window after a success",
		CancelHolds:     "after a cancel was acknowledged no new attempt starts",
		AnsweredOnce:    "every admitted request is answered exactly once, unless its process died",
		AnswerTrue:      "an answer says what is in the store",
		CountsTrue:      "the counts of a node agree with the tasks it holds",
		Remembered:      "an id that is remembered is not created again",
		BestFirst:       "no claim leaves behind a ready task that goes before it and may start",
		NoIdleWorker:    "no worker stays free while a ready task may start",
		WorkersBounded:  "a node never has more attempts than workers",
		AdmittedOnce:    "an entry of the inbox takes effect once",
		SettledByReport: "the outcome of an attempt is what its handler reported, once",
		ReportArrives:   "the end of an attempt reaches its owner while its process lives",
		Progress:        "once faults stop, everything accepted becomes terminal or HELD",
		NothingLeft:     "once all has ended nothing is left: no attempt, no record of work, no entry but unknown verbs",
		NoSpin:          "a node that has nothing to do sleeps",
		NoPanic:         "nothing panics",
		Replayable:      "the same seed gives the same trace",
	}[l]
}

// Violation is a broken law and what broke it.
type Violation struct {
	Law    Law
	Detail string
}

// Error writes the sentence, then the detail.
func (v *Violation) Error() string { return "broken law: " + v.Law.Sentence() + ": " + v.Detail }
