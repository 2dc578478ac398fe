// Package journal keeps everything ax stores in one directory of one process: a Store, a Registry and a bounded Archive
// that survive a kill and a power cut, with nothing to install.
//
//	b, err := journal.Open("/var/lib/shop/ax", journal.Config{})
//	...
//	s, err := sched.New(sched.Config{Mux: mux, Store: b, Registry: b})
//	...
//	defer b.Close() // after the scheduler has stopped
//
// # Model
//
//	directory
//	├─ lock              held by the one process that has it open
//	├─ 0000000001.log …  segments: the log, which is the truth; the last one is filled with zeros, for what comes
//
//	memory
//	├─ live tasks        by a hash of the id: where in the log the task stands, its due time, its state
//	├─ archive           likewise, for the last finished tasks
//	└─ all else          inbox, jobs, instances, reasons, facts, id records: whole; documents and leases in the registry
//
// A change is encoded into a frame (package record), written at the end of the log, and taken into memory; one goroutine
// syncs, again and again while anybody waits, so that what came in meanwhile shares a sync. When the log is longer than
// twice what is alive in it, what is alive in the oldest segment is written again at the end and the segment is removed,
// between the commits.
//
// A task that waits costs 60 to 110 bytes of memory, by how full the index happens to be, wherever its due time lies and
// however large it is; its record in the log costs its own size and some 60 bytes.
//
// # Guaranteed
//
//   - What a caller was told survives a kill of the process, and a power cut as far as the disk keeps what it has synced:
//     answers, applied batches, pages, tasks that were read. Batches that are ax.Written survive a kill.
//   - A batch is there whole or not at all, and so is a call of Submit.
//   - A failed sync or write ends the Backend for good: what waits is answered ErrUnknown, what comes later ErrClosed
//     with the cause. Nothing is reported durable that might not be.
//   - A full disk refuses submissions, and batches that create tasks, with ErrNoSpace, before the log itself is full;
//     what is left is for settling. It goes on by itself when there is room.
//   - Damage to what was durable is reported by Open with file and offset, and nothing is skipped. A tail that a crash
//     tears, of which nobody was told, is cut off.
//   - An opening has an era of its own, above all before it: attempts of an earlier era are provably dead.
//
// # Not guaranteed
//
//   - Two processes: the second Open is refused with ErrHeld. On network file systems the lock may not hold.
//   - Damage to the last frames before a kill, which nothing behind them vouches for, looks like a torn tail. Close
//     vouches for all.
//   - That the archive is quick to search: it reads what the index cannot rule out.
//   - Finished tasks that the archive has let go of may be in it again after a restart with a larger Keep, and those that
//     ended within the last moments before a kill may be missing from the facts.
//
// # How it fails
//
// Open: ErrHeld, *Corrupt, ErrInvalid, or the system's error. Inspect shows what a directory holds without opening it,
// and Repair saves what is left of a damaged one. Everything else: the errors of ax.Store, as above.
//
// # Goroutines
//
// A syncer and a housekeeper from Open to Close, and one per call of Watch until its context ends. An idle Backend wakes
// once an hour.
package journal
