// Package bench measures ax from outside, against its peers, on the machine it runs on.
//
// # Model
//
// A Scenario offers a load to a subject (ax, time.AfterFunc, gocron, River) and fills in a Result. What the subject did is taken
// from a ledger of our own: one slot per task, written by the submitter (when it asked for the task to be due, what it was
// answered) and by the first line of the handler (when it started, how often). Lateness, early, lost and duplicates come
// from there alone. ax's own metric is read too and must agree; ax's counts must add up.
//
//	plan ── offer ──► subject ──► handler's first line
//	          │                        │
//	          └────────► ledger ◄──────┘        then: quantiles, tally, bounds
//
// Some scenarios start the program they run in again, as a child, to kill it: a program that runs scenarios calls Child first.
//
// # Guaranteed
//
//   - Open loop: when a task is offered follows from the plan, never from how the subject is doing. Exceptions are named:
//     one-by-one throughput waits for each answer.
//   - Due times are drawn before the clock starts, and nothing is dropped: warm-up counts.
//   - A peer runs in the same process, in turns with ax, round by round; medians of rounds are compared.
//   - A run on a disk stands between two probes of it, and is measured again, visibly, if the disk was busy.
//   - Where processes are killed the ledger is in one that is not: it has what a handler told before the handler goes on.
//   - The ledger takes no lock and allocates nothing while a load runs; a collection runs before each round.
//
// # Not guaranteed
//
// Numbers that mean something on another machine, or on this one while it does other work: compare ratios.
//
// # How it fails
//
// A task that started early, was lost or ran twice, a count that does not add up, a metric that disagrees: Result.Wrong,
// and axbench exits with 1. A bound that was missed is only reported: a slow machine is no wrong answer.
package bench
