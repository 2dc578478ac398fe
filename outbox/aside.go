package outbox

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/axsched/ax"
)

// Aside is a row that could not be submitted, and waits for a person.
type Aside struct {
	Seq        int64 // names the row
	Submission ax.Submission
	Made       time.Time // when it was written
	Tries      int
	Reason     string
}

// Aside lists rows that were set aside, by Seq, from the first above after, at most limit (0: 100).
func (b *Box) Aside(ctx context.Context, db *sql.DB, after int64, limit int) (list []Aside, err error) {
	if limit <= 0 {
		limit = 100
	}
	rows, err := db.QueryContext(ctx, b.sql.list, after, limit)
	if err != nil {
		return nil, fmt.Errorf("ax: outbox: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var a Aside
		var id string
		var text []byte
		var made int64
		if err := rows.Scan(&a.Seq, &id, &text, &made, &a.Tries, &a.Reason); err != nil {
			return nil, fmt.Errorf("ax: outbox: %w", err)
		}
		a.Made = time.UnixMicro(made)
		if a.Submission, err = submission(id, text, 0, time.Now()); err != nil {
			a.Submission = ax.Submission{ID: id} // the reason says so too
		}
		list = append(list, a)
	}
	return list, rows.Err()
}

// Retry lets a row that was set aside be tried again, as if for the first time: whoever calls it has found out that there
// is no such task. False if there is no such row.
func (b *Box) Retry(ctx context.Context, db *sql.DB, seq int64) (bool, error) {
	return b.change(ctx, db, b.sql.retry, seq)
}

// Drop deletes a row that was set aside. False if there is no such row.
func (b *Box) Drop(ctx context.Context, db *sql.DB, seq int64) (bool, error) {
	return b.change(ctx, db, b.sql.drop, seq)
}

func (b *Box) change(ctx context.Context, db *sql.DB, statement string, seq int64) (bool, error) {
	r, err := db.ExecContext(ctx, statement, seq)
	if err != nil {
		return false, fmt.Errorf("ax: outbox: %w", err)
	}
	n, err := r.RowsAffected()
	return n > 0, err
}

// Stats says how the outbox is doing.
type Stats struct {
	Waiting int           // rows to be relayed
	Aside   int           // rows that wait for a person
	Oldest  time.Duration // since the oldest row was written; 0 without any
}

// Stats counts the rows.
func (b *Box) Stats(ctx context.Context, db *sql.DB) (Stats, error) {
	var s Stats
	var all int
	var oldest int64
	if err := db.QueryRowContext(ctx, b.sql.count).Scan(&all, &s.Aside, &oldest); err != nil {
		return s, fmt.Errorf("ax: outbox: %w", err)
	}
	if s.Waiting = all - s.Aside; all > 0 {
		s.Oldest = time.Since(time.UnixMicro(oldest))
	}
	return s, nil
}
