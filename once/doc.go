// Package once makes the effect of a handler happen once, in the database that the effect is written to: a handler may
// run again after it did its work, and its effect does not.
//
//	guard, err := once.New(once.Config{Dialect: once.Postgres})
//	...
//	ax.Handle(mux, "charge", func(ctx context.Context, o Order) error {
//		return guard.Tx(ctx, db, func(tx *sql.Tx) error {
//			_, err := tx.ExecContext(ctx, "UPDATE accounts SET balance = balance - $1 WHERE id = $2", o.Cents, o.Account)
//			return err
//		})
//	})
//
// # Model
//
// One row per task, in a table of the same database, written in the same transaction: either both are there or neither
// is.
//
//	id      the task's
//	run     0, or the last run that had succeeded before the one that wrote this
//	token   of the attempt that has the row
//	done    when the effect was committed; 0: an attempt has entered and not done it
//	result  what the effect gave back, for who comes again
//	changed when the row was written last
//
// Who comes first has the row until its transaction ends; who comes at the same time waits for that, and then finds it
// done, or does it itself if that was rolled back.
//
// A person's re-run of a task that had not succeeded is the same effect: it may have been committed although nobody heard
// of it. A re-run of a task that had succeeded is meant, and is another effect. So an effect goes by the id and by the
// last run before this one that had succeeded, which the attempts in the task tell.
//
// # Guaranteed
//
//   - Of all attempts of a task up to its success, in all processes, at most one commits its effect, whatever dies in
//     between.
//   - An attempt older than the one that has the row, by its token, is refused with ax.ErrFenced, also one of an earlier
//     run: one that was paused and comes back changes nothing. Enter takes the row before the work begins.
//   - An effect that fails leaves nothing behind, if its transaction is rolled back.
//
// # Not guaranteed
//
//   - Anything outside the transaction: a mail that was sent, a call to another service. Pass the task's id along there.
//   - That it happens: only a task that ends in SUCCESS says so.
//   - The effect of a task whose row was pruned; see Prune.
//   - An id that is used again for other work. A task submitted under the id of one that has ended and been forgotten, or
//     of one whose unique window is over, is a repeat here. What is due every day needs an id for every day:
//     report-2026-12-01, not report.
//   - A success that a person decided (a HELD task resolved as SUCCESS) is not in the attempts, so a re-run after it is
//     the same effect.
//   - A task carries its last 100 to 200 attempts. If more of them came since the last success, a re-run counts as the
//     re-run of a task that had not succeeded: its effect is not done twice, and perhaps not a second time where that was
//     meant.
//
// # How it fails
//
// Errors of the database come back as they are. One that says that transactions collided (a deadlock, a serialization
// failure, a busy database) is an attempt that failed: return it, and it is retried. The isolation level may be any;
// above READ COMMITTED twins may collide instead of waiting, and on MySQL under SERIALIZABLE, where a read locks too,
// they do whenever the effect first reads what it then writes.
//
// On SQLite, begin the transaction with the guard, or as IMMEDIATE: one that has read before it writes may find the
// database busy.
//
// # Without a row
//
// An effect that is a row of its own needs no guard: keep the token of the attempt in it, and compare.
//
//	UPDATE orders SET status = 'closed', token = $1 WHERE id = $2 AND token < $1
//
// All methods are safe for concurrent use. It starts no goroutine.
package once
