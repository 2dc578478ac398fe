// Package outbox submits tasks inside the transaction of the caller: an order and its timeout are born together, or not
// at all.
//
//	box, err := outbox.New(outbox.Config{Dialect: outbox.Postgres})
//	...
//	tx, err := db.BeginTx(ctx, nil)
//	// ... INSERT INTO orders ...
//	id, err := box.Submit(ctx, tx, ax.Submission{ID: "order-123/close", Kind: "close-order", Args: 123, In: 15 * time.Minute})
//	err = tx.Commit()
//	box.Nudge()
//
// and once per process, on a goroutine:
//
//	err := box.Relay(ctx, db, scheduler, nil)
//
// # Model
//
//	Submit   checks the submission, gives it its id, and writes it as a row, in the caller's transaction
//	Relay    reads rows that are committed, submits them, and deletes those that are in
//
//	row: waiting ──→ taken by a relay for TakeFor ──→ in: deleted
//	        ↑                  │ no answer: when TakeFor is over    └─→ refused for good, or nobody knows: set aside
//	        └──────────────────┘
//
// # Guaranteed
//
//   - A task is submitted if and only if the transaction was committed, whatever dies when.
//   - Exactly one task: the id is made before the first try, and each try is the same submission. Several relays are
//     harmless.
//   - What cannot be submitted does not hold up the others: it is set aside with its reason (Aside), to be tried again
//     (Retry) or dropped (Drop).
//   - A relative delay counts from Submit, not from the relay.
//
// # Not guaranteed
//
//   - When: within one and a half times Every, if a relay runs, or at once after a Nudge in the same process; then as
//     fast as batches go.
//   - Order: rows go roughly in the order of Submit, by the clocks of those who called it.
//   - Not twice after an id was forgotten: a caller's id that is submitted again much later, as another row, is another
//     submission.
//   - An answer: that the same id is there already with another content (Conflict) is found out by the relay, and set
//     aside.
//
// # How it fails
//
// Scheduler away, or full: the row waits, and is tried again. A relay that died in the middle of a try leaves a row of
// which nobody knows whether it is in: it is tried again, and the scheduler knows it by its id. Only if that takes longer
// than the scheduler remembers ids (its dedupe window, 1 h) and the task may have ended and been forgotten meanwhile
// (Expired), the row is set aside rather than done twice, unless the scheduler can still find the task.
//
// All methods are safe for concurrent use. It starts no goroutine.
package outbox
