// Package memory keeps everything ax stores in the memory of one process: a Store, a Registry and an Archive.
//
// It is the store of a scheduler that lives and dies with its process, the reference that every other backend is
// compared with, and the fake of all tests.
//
// # Model
//
//	Backend
//	├─ partition 0…n-1   (a lock each)
//	│   ├─ tasks         index by id of the *ax.Task that were handed in: they are shared, never copied
//	│   ├─ records       what is known of ids, and two calendars by which they are forgotten
//	│   ├─ inbox, facts, jobs, instances, reasons, outgoing entries
//	│   └─ walks         the sorted positions of the walk over an index that is under way
//	├─ registry          leases, documents, watchers (one lock)
//	└─ archive           the last finished tasks, oldest first, and an index by id (one lock)
//
// A live task costs its own value and 12.5 to 19 bytes here. There is no structure sorted by due time: the engine has one,
// and the first page of a walk sorts what it finds.
//
// # Guaranteed
//
//   - All that the contracts of ax.Store, ax.Registry and ax.Archive say, except surviving: Durable and Written are the same.
//   - No result depends on the order of a Go map, on a seed, or on any clock but Config.Now.
//   - A batch that is refused leaves no trace. Apply never answers ErrUnknown.
//   - An era per Backend: the second in which it was made. Tokens of a Backend made later in the same second are higher too,
//     by the nanosecond, as long as fewer leases were granted than nanoseconds passed.
//
// # Not guaranteed
//
//   - Anything after the process ends.
//   - That a page is cheap: the first one of a walk looks at every task of the partition under its lock (about 0.5 s per
//     million); it is meant for the moment after Open.
//
// # How it fails
//
// Config.Capacity and Config.Inbox turn growth into ErrNoSpace and ErrFull. Without them it grows until the process dies.
//
// # Goroutines
//
// One per call of Watch, which ends when its context does or the Backend is closed. Nothing else.
package memory
