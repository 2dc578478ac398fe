// Package ax is the glossary of a task scheduler for Go services: its nouns, its states, its seams and its errors.
// Nothing runs here. Package sched runs tasks inside your process; start there.
//
// # Model
//
// A Task is one unit of work with a due time and a state. Its Kind names the handler that runs it; its Payload is the
// handler's argument. Each try is an Attempt. An attempt that failed is tried again by the task's policy, or the task
// ends. Legal is the table of transitions, and docs/states.md shows it.
//
//	                         ┌── retry, or handed back ──┐
//	                         ▼                           │
//	submit ──→ CREATED ──→ SCHEDULED ──── claim ────→ RUNNING ──→ SUCCESS
//	              │            │                         │   ├──→ FAILED
//	              │            │                         │   ├──→ TIMEOUT
//	              └── cancel ──┴─────────→ CANCELED ←────┤
//	                                                     ▼
//	                                 HELD: its fate is unknown; a person decides, or a late report
//
// SUCCESS, FAILED, TIMEOUT and CANCELED are terminal. A terminal state does not change within a run; a re-run of the same
// id opens the next Run. CREATED is for tasks that wait for predecessors, which no submission asks for yet: a submitted
// task begins as SCHEDULED.
//
// # Words
//
//	Task        one unit of work: id, kind, payload, due time, state
//	kind        names the handler
//	Key         the part of an id before the first '/', or all of it: order and limits of a customer go by it
//	Submission  what a caller asks for; Answer says what became of it
//	Attempt     one try, numbered from 1 within a run
//	Run         1, 2, …: a re-run of a finished task is the next run of the same id
//	due         when a task should start; lateness is start minus due
//	priority    smaller goes first, 0 to 99, 50 if not said; waiting raises it (aging)
//	ordered     one after another with the other ordered tasks of its key, by due time
//	unique      at most once per window, by id or by content
//	HELD        the fate of its attempt is unknown; a person decides, or a late report does
//	Partition   a slice of the key space with one owner; in your process there is one, unless you say otherwise
//	Token       fences owners of partitions: a write under an older one is refused
//	AttemptToken  fences attempts: grows with every attempt of a key, and reaches the handler (TokenFrom)
//	Store       the live truth about tasks; one writer per partition
//	Registry    who is alive, who owns what, and documents
//	Archive     finished tasks and facts, for people to look at; it never decides anything
//	Fact        an event in the life of a task that its fields do not keep: who canceled it, which report was stale
//	Receipt     what a shutdown leaves: done, returned, still running (package sched)
//
// # Guaranteed
//
// These are the laws. They are stated here as they hold with the store that exists, package memory, whose contents end
// with the process.
//
//  1. Never early, by a named clock. "In 15 minutes" counts elapsed time, suspend included, and does not move when the
//     wall clock is set (Linux; package sched says what is lost elsewhere). "At 08:00" follows the wall clock. Due times
//     are rounded up, never down.
//  2. Never lost. From its answer on, a task is in exactly one state until the process ends, and a terminal state does not
//     change. An orderly shutdown returns every task that has not ended. A crash loses what is in memory.
//  3. Never two identities. An id with the same content is one task: the second submission is answered Known, other
//     content Conflict. This holds while the task is live, and after its end for the dedupe window (1 hour and 1,000,000
//     ids, both settable).
//  4. Never two owners. Only the owner of a partition changes its tasks, under a token that grows; a batch under an older
//     token is refused as a whole.
//  5. Never guessed. While an attempt is known to run, no other starts: a timed-out attempt is retried only after its
//     handler has returned.
//  6. Never starved, never unbounded. Ready tasks age: after a time that can be computed, nothing that becomes due later
//     goes before one, its limits permitting. Tasks that have not ended are bounded; at the bound a submission is an error
//     to its caller, not a hang and not a drop.
//  7. Always explained. A task keeps a stamp for each hop of each attempt (Timeline), the error of each, and the archive
//     keeps the facts beside it.
//
// # Not guaranteed
//
//   - Exactly-once effects. A handler may run again after it did its work: it failed late, it was handed back by a shutdown,
//     or a person asked for a re-run. Make the effect idempotent, or guard it with the attempt token where it is written.
//   - That a handler stops. Its context ends, at the deadline, on a cancel and on shutdown; Go cannot do more. Until the
//     handler returns its worker stays taken, and the task is shown as overrun.
//   - An upper bound on lateness. A task starts when it is due, has its turn, passes its limits and finds a free worker.
//   - Order between keys, or between tasks of one key that are not Ordered.
//
// # How it fails
//
// Errors that callers branch on are the sentinels of error.go: test with errors.Is. They come wrapped in *Error, which says
// which field, which value, or which task in which state. ErrInvalid, ErrFull, ErrConflict and ErrExpired mean that nothing was
// stored. ErrUnknown means that a write may or may not have happened: the same call with the same id is safe. Handlers fail
// by returning an error; NoRetry, RetryAfter and Cancel wrap it to steer what follows. A panic in a handler is a failed
// attempt with the stack as its error. A deadline is TIMEOUT, and is retried only with RetryOnTimeout.
//
// # How to start
//
// Register handlers in a Mux, make a sched.Scheduler from it, start it, submit. The examples of package sched are one per
// first-day task.
//
// # Reading order
//
//	state.go        the states, the outcomes, the table of transitions
//	task.go         Task and Attempt, and what can be asked of them
//	submission.go   what a caller asks for, its defaults and bounds
//	time.go id.go   instants in microseconds; ids, partitions, the hash of a submission
//	retry.go        the backoff
//	handler.go      Handler, Mux, and what a handler can ask its context
//	error.go        the errors, and those by which a handler steers
//	token.go        what fences owners and attempts
//	store.go        the seam below: batches, indexes, the inbox
//	registry.go     leases and documents
//	archive.go event.go   finished tasks and facts
//	job.go          records of jobs that fire, which stores keep; nothing fires them yet
package ax
