// Package sched runs tasks inside your process: it takes submissions, waits until they are due, and runs their handlers on
// a fixed number of workers.
//
// # Model
//
// One goroutine, the loop, owns all decisions: it drives a pure step machine (internal/engine). Everybody else sends it
// mail. It never runs a handler and never waits for a store.
//
//	callers                        ┌────────────── loop ──────────────┐
//	Submit, Cancel, … ──→ mail ──→ │ clock, wheel, ready order, claim │ ←── alarm: one timer
//	  ↑                    ↑ ↑     └──┬───────────┬──────────────┬────┘
//	  │ answers            │ │        │ batches   │ attempts     │ what ended, events
//	  │ after the write    │ │        ▼           ▼              ▼
//	  └────────────────────┼─┼── the store     workers       archivist, announcer (OnEvent)
//	                       │ │        │        (Workers)
//	                       │ └────────┘           │
//	                       │  written             │ reports
//	                       └──────────────────────┘
//
// What depends on a write (an answer, an attempt) happens in the turn that hears that it was written. What piles up
// meanwhile is the next write. A store that lives in this process (ax.Pipeliner) takes up a batch without making the loop wait,
// so that two can be on their way to its disk, and claims of tasks that are safe there already do not wait for a sync at all. To
// any other store, two goroutines (writers) write.
//
// # The life of a task, and where it is written
//
//  1. submit: check, fill in defaults, make an id (submit.go, and Submission.Task in the root package). mail.go carries it
//     to the loop; loop.go admits it to the engine (internal/engine/admit.go).
//  2. commit: what has come in becomes one batch; the store gets it (commit.go); then the callers are answered (effects in
//     loop.go). In memory a submission takes one write.
//  3. wheel: a task that is not due sits in a timing wheel (internal/wheel); clock.go reads the clocks. One timer is set
//     to the next occupied slot (setAlarm in loop.go).
//  4. ready: due tasks, by effective priority, then due time, then order of submission (internal/ready; limits in
//     internal/engine/gate.go, ordered keys in chain.go).
//  5. dispatch: when a worker is free the first of all is claimed, SCHEDULED to RUNNING with an attempt token
//     (internal/engine/claim.go). Once the claim is written it is sent to the workers (send in loop.go).
//  6. execute: a worker runs the handler under its timeout (internal/pool).
//  7. report: the worker mails how it ended (report in loop.go).
//  8. settle: success ends the task; a failure waits for its backoff and goes back to 3, or ends it
//     (internal/engine/settle.go).
//  9. terminal: the task leaves the live ones for the archive, in the same batch where the archive belongs to the store,
//     as it does in memory; otherwise the archivist brings it there first (outbox.go). Then OnEvent is told.
//
// On a store that is not memory, tasks due beyond Config.Horizon are in the store only; horizon.go reads those that come near,
// and those that somebody asks for.
//
// open.go takes the leases and what the store holds at the start, and opens a partition again after a failed write.
// inbox.go reads what other processes have put into the store. shutdown.go ends it all. list.go and stats.go are for
// looking. docs/threads.md lists every goroutine.
//
// # Guaranteed
//
//   - A submission is answered after it was stored. Made: this call created it. Known: it was there.
//   - No attempt starts before its task is due on the clock that the task follows (see Clocks).
//   - At most one attempt of a task at a time, at most Workers handlers at a time, at most one ordered task of a key at a
//     time. A slow handler delays no clock and no other kind beyond the workers it takes.
//   - A wait in the ready order is bounded (see Priority). One limited kind or key does not block another.
//   - Handlers that panic or call runtime.Goexit are failed attempts, and cost no worker.
//   - Every queue is bounded, or holds what the store holds anyway. A full one is ErrFull to the caller; events beyond
//     65,536 are dropped and counted.
//   - Drain and Stop return one receipt: every task that did not end is in it, but for those of a partition that could not
//     be written at the end, which are in its store. In memory that does not occur.
//
// # Not guaranteed
//
//   - Anything after a crash: without Config.Store everything is in memory.
//   - That a handler runs once. See the root package: make effects idempotent, or fence them (Example_fence).
//   - That a handler stops when its context ends.
//   - Priority among more than some thousand tasks that become due in one instant: they are taken from the wheel in parts, and
//     only what was taken competes.
//   - That facts and events are there the moment a call returns: they follow. Get finds a task from its answer on, until the
//     archive lets go of it.
//   - That a handler's context carries values of the context that Run or Submit got. It carries the attempt.
//
// # How it fails
//
// Bad input is ErrInvalid with the field and the value. During a shutdown submissions and re-runs are ErrClosed; after it
// every change is, and List; Get, History, Facts and Stats go on answering. If a context ends while a write is under way the
// error is ErrUnknown and the context's: the same call with the same id is safe. A write that fails makes the loop open the
// partition again and read the truth from the store; callers wait for it meanwhile. A store without room refuses submissions
// with ErrNoSpace; one that tells before (ax.Roomer) has submissions and re-runs refused at once, also those that wait in line,
// and those in its inbox stay there. A store that has stopped for good answers ErrClosed with its reason, and so does every later
// call here. What an operator should know goes to Config.Logger, by default nowhere.
//
// What a process left running when it died: where one process at a time has the store open (ax.Exclusive), those attempts are
// known to have stopped. They are INTERRUPTED, count, and the retry policy applies, whatever HoldLost says; so a task that kills
// its process is FAILED in the end.
//
// After a start on a store that is not memory, what is due soon is loaded and runs; a walk over the rest follows. Until it has
// ended Stats, MaxPending and the receipt do not know all that is due beyond Config.Horizon, ordered tasks do not begin, and
// submissions with a unique name by content wait. With a million such tasks that is some seconds.
//
// # Clocks
//
// In, RescheduleIn and the waits between retries count elapsed time on the boot-time clock, from the call on: suspend counts,
// steps of the wall clock do not. At and Reschedule follow the wall clock: set it back, and the task waits until it has
// reached the instant again; a claim that was about to be made is put off (Stats.HeldBack). A timeout counts elapsed time
// from when the attempt is handed to its worker. The loop looks at the clocks at least once a minute while something waits,
// so a wall clock that was set forward, or a suspend that ended, is noticed within a minute.
//
// Instants are microseconds, rounded up. The wheel ticks in milliseconds, rounded up: a task starts up to a millisecond after
// it is due by that alone, never before.
//
// On darwin and windows there is no boot-time clock that Go offers without a dependency; Go's monotonic clock is used in its
// place. Where that clock stands still while the machine sleeps, "in 15 minutes" is late by the sleep. It is never early.
//
// # Priority and aging
//
// A task of level L that has waited for w since it was due has the effective level
//
//	L                                      while w < After        (40 s)
//	max(0, L − 1 − ⌊(w − After) / Step⌋)   from then on           (Step: 30 s)
//
// so it is at level 0 after Bound(L) = After + (L − 1) × Step, 25 min 10 s for the default level 50, 49 min 40 s for level 99.
// From then on nothing that becomes due later goes before it. Off in Aging makes priority strict, and gives up the bound.
// A due time before the submission counts as the submission: nobody jumps the queue with an At in the past.
//
// Unique windows, what closes them and what opens them, are the table at ax.Unique.
//
// # Settings
//
// Workers: handlers that wait for others want rate × duration of them; 200 tasks a second of 0.5 s each keep 100 busy. With
// fewer, tasks queue without end. Handlers that compute want about one per core. Workers start when first needed.
//
// MaxPending: what you can afford to lose in a crash, and to hold in memory.
//
// Garbage collection: waiting tasks are live heap. With GOGC at its default of 100 the heap grows to twice what is live
// between two collections, so 1,000,000 pending tasks take twice their size. GOMEMLIMIT bounds it, softly, for more frequent
// collections. At thousands of tasks a second collections are what makes some tasks late: GOGC=400, with a GOMEMLIMIT that
// the machine can afford, makes them four times rarer. docs/benchmarks.md has figures.
//
// # Shutdown
//
//	Drain(ctx)   no submissions, no new attempts; handlers may finish until ctx ends, then their contexts end (ErrShutdown)
//	Stop(ctx)    the same, and the contexts of handlers end at once
//	Run(ctx)     Start, wait for ctx, Drain for at most ShutdownWait
//
// A handler that returns an error after its context ended for the shutdown, other than NoRetry, RetryAfter or Cancel, is
// handed back: the attempt does not count and the task is in Receipt.Returned. One that has not returned a second after is in Receipt.Running and left behind.
// Drain and Stop may be called again, and at the same time; all get the same receipt. They must not be called from a
// handler or from OnEvent, for which they wait. A scheduler is used once: make a new one to start again.
package sched
