// Package sim runs a whole cluster of ax in one goroutine, from a seed, in virtual time.
//
// # Model
//
//	Script   a configuration and a list of timed operations: what callers ask for, and what goes wrong
//	world    one heap of events by (time, sequence); it holds the true time, the store and the nodes
//	node     an engine.Node with the least driver that works: what sched does with goroutines, done with events
//	Book     internal/invariant: the laws, checked after every event by a model of its own
//
// Generate makes a Script from a seed. What is not in the script (delays, and how long a handler takes to notice
// something) is drawn from the seed and the name of what it is for, so that taking an operation out of a script changes
// as little of the rest as can be. That is what makes shrinking work.
//
// In half of the worlds of one node the store is a log on a disk that this process alone has open (disk): batches of a partition
// follow each other, what is not durable may go with the power, and whoever had it open before is known to be dead.
//
// A run has two phases. In the first, things go wrong: nodes pause, crash, are stopped and come back, clocks step and
// drift, the store answers late, with an error, or with an error after it did what it was asked. Then faults stop, and
// all that was accepted must end.
//
// # Guaranteed
//
//   - The same script gives the same trace: nothing reads a clock, starts a goroutine, or depends on the order of a map.
//   - A failing seed is printed with the command that runs it again and with a shrunk script, in the form of testdata.
//   - Planted bugs (Mutant) are each found within the number of seeds that TestMutants says.
//
// # Not covered
//
//   - Job schedules, instances, outgoing entries and remote executors, which are not built yet.
//   - A registry that answers late or wrongly. Renewals fail, but what the registry says is true when it says it.
//   - A store that loses what it said it has.
//   - What sched does with goroutines, locks, waiting for room and shutdown: its own tests do.
//   - Rates over a take-over or a re-opening of a partition: they begin anew then, and the Book lets them.
//   - Order among tasks of one rank that are in different partitions, and tasks that keep a place at a key's limit while
//     their kind is full: a task behind them may have to wait for that kind.
package sim
