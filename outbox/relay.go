package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/axsched/ax"
)

// Submitter is where tasks go: a *sched.Scheduler is one. If it also has Get, as that has, a row of which nobody knows
// whether it is in can be looked up.
type Submitter interface {
	SubmitMany(ctx context.Context, subs []ax.Submission) ([]ax.Answer, error)
}

// finder is a Submitter that can look a task up. Its error is ax.ErrNoTask if there is none.
type finder interface {
	Get(ctx context.Context, id string) (*ax.Task, error)
}

// Relay relays rows until ctx ends, and returns ctx's error. What goes wrong meanwhile is tried again; log, if not nil,
// is told of it. Several relays, in one process or many, share the work.
func (b *Box) Relay(ctx context.Context, db *sql.DB, to Submitter, log func(error)) error {
	if log == nil {
		log = func(error) {}
	}
	for {
		n, wait, err := b.relay(ctx, db, to)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			log(err)
		}
		if n > 0 && !wait { // there may be more
			continue
		}
		timer := time.NewTimer(b.cfg.Every/2 + rand.N(b.cfg.Every)) // so that many relays do not look all at once
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-b.nudge:
		}
		timer.Stop()
	}
}

// taken is a row that this relay has to itself until due.
type taken struct {
	seq, made, tried, due int64
	tries                 int
	id                    string
	text                  []byte
}

// RelayOnce relays at most one batch and returns how many rows it took. Rows that could not be submitted now wait again,
// others are set aside; the error says which, and why.
func (b *Box) RelayOnce(ctx context.Context, db *sql.DB, to Submitter) (int, error) {
	n, _, err := b.relay(ctx, db, to)
	return n, err
}

// relay is RelayOnce. wait says that the next rows would fare no better now: the scheduler or the database is away.
func (b *Box) relay(ctx context.Context, db *sql.DB, to Submitter) (n int, wait bool, err error) {
	rows, err := b.take(ctx, db)
	if err != nil || len(rows) == 0 {
		return 0, true, err
	}
	var errs []error
	var subs []ax.Submission
	var good []*taken
	now := time.Now()
	for _, r := range rows {
		sub, err := submission(r.id, r.text, r.tried, now)
		if err != nil {
			errs = append(errs, b.setAside(ctx, db, r, err))
			continue
		}
		subs, good = append(subs, sub), append(good, r)
	}
	if len(subs) == 0 {
		return len(rows), false, errors.Join(errs...)
	}
	answers, err := to.SubmitMany(ctx, subs)
	if err == nil && len(answers) != len(subs) {
		err = fmt.Errorf("%d answers to %d submissions", len(answers), len(subs))
	}
	if err != nil { // nobody knows what is in: it is tried again when TakeFor is over
		return len(rows), true, errors.Join(append(errs, fmt.Errorf("ax: outbox: %w", err))...)
	}
	var in []any
	for i, r := range good {
		a := answers[i]
		if a.Code == ax.Expired {
			a = b.find(ctx, to, &subs[i], a)
		}
		switch {
		case a.Code == ax.Made, a.Code == ax.Known, a.Code == ax.Accepted:
			in = append(in, r.seq)
		case later(a):
			errs, wait = append(errs, b.giveBack(ctx, db, r, a.Err)), true
		default:
			errs = append(errs, b.setAside(ctx, db, r, reason(a)))
		}
	}
	if len(in) > 0 {
		if _, err := db.ExecContext(ctx, b.removal(len(in)), in...); err != nil { // they are tried again, and known
			errs, wait = append(errs, fmt.Errorf("ax: outbox: deleting %d rows that are in: %w", len(in), err)), true
		}
	}
	return len(rows), wait, errors.Join(errs...)
}

// take takes rows that are ready for this relay alone. Another relay that wants the same at the same time gets the
// others.
func (b *Box) take(ctx context.Context, db *sql.DB) ([]*taken, error) {
	now := time.Now()
	found, err := b.ready(ctx, db, now)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("ax: outbox: begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after a commit
	due := now.Add(b.cfg.TakeFor).UnixMicro()
	var mine []*taken
	for _, r := range found {
		first := r.tried == 0
		if first {
			r.tried = now.UnixMicro()
		}
		got, err := tx.ExecContext(ctx, b.sql.take, due, r.tried, r.seq, r.due)
		if err != nil {
			return nil, fmt.Errorf("ax: outbox: taking a row: %w", err)
		}
		if n, err := got.RowsAffected(); err != nil || n == 0 {
			continue // another relay has it
		}
		if r.due = due; first {
			r.tried = 0 // nothing can be in before this try
		}
		mine = append(mine, r)
	}
	if err := tx.Commit(); err != nil {
		return nil, fmt.Errorf("ax: outbox: commit: %w", err)
	}
	return mine, nil
}

// batchBytes bounds what a relay holds in memory: it takes no more rows once it has so much.
const batchBytes = 8 << 20

// ready reads rows that nobody has, the longest waiting first.
func (b *Box) ready(ctx context.Context, db *sql.DB, now time.Time) (list []*taken, err error) {
	rows, err := db.QueryContext(ctx, b.sql.ready, now.UnixMicro(), b.cfg.Batch)
	if err != nil {
		return nil, fmt.Errorf("ax: outbox: %w", err)
	}
	defer rows.Close()
	for size := 0; size < batchBytes && rows.Next(); {
		r := new(taken)
		if err := rows.Scan(&r.seq, &r.id, &r.text, &r.made, &r.tried, &r.due, &r.tries); err != nil {
			return nil, fmt.Errorf("ax: outbox: %w", err)
		}
		list, size = append(list, r), size+len(r.text)
	}
	return list, rows.Err()
}

// find looks for a task whose submission is too old to be told from a repeat, and returns what it would have been
// answered.
func (b *Box) find(ctx context.Context, to Submitter, sub *ax.Submission, expired ax.Answer) ax.Answer {
	f, ok := to.(finder)
	if !ok {
		return expired
	}
	there, err := f.Get(ctx, sub.ID)
	if errors.Is(err, ax.ErrNoTask) {
		return expired
	}
	if err != nil { // away: it is asked again later
		return ax.Answer{Code: ax.Refused, ID: sub.ID, Err: fmt.Errorf("looking for the task: %w", errors.Join(ax.ErrUnknown, err))}
	}
	want, err := sub.Task(time.Now(), b.cfg.MaxPayload)
	if err != nil {
		return ax.Answer{Code: ax.Refused, ID: sub.ID, Err: err}
	}
	if there.Hash != want.Hash {
		return ax.Answer{Code: ax.Conflict, ID: sub.ID}
	}
	return ax.Answer{Code: ax.Known, ID: sub.ID}
}

// later reports whether a submission that was refused made no task, and may be taken another time.
func later(a ax.Answer) bool {
	if a.Code != ax.Refused {
		return false
	}
	for _, err := range []error{ax.ErrFull, ax.ErrNoSpace, ax.ErrClosed, ax.ErrFenced, ax.ErrUnknown} {
		if errors.Is(a.Err, err) {
			return true
		}
	}
	return false
}

func reason(a ax.Answer) error {
	switch {
	case a.Code == ax.Conflict:
		return ax.ErrConflict
	case a.Code == ax.Expired:
		return fmt.Errorf("a try some time ago may have made it, and it may have ended and been forgotten: %w", ax.ErrExpired)
	case a.Err != nil:
		return a.Err
	}
	return fmt.Errorf("answered %s", a.Code)
}

// giveBack lets a row wait again, longer each time. If it is certain that no try has made a task the count of what is
// remembered begins anew with the next.
func (b *Box) giveBack(ctx context.Context, db *sql.DB, r *taken, cause error) error {
	tried := r.tried
	if tried == 0 && errors.Is(cause, ax.ErrUnknown) {
		tried = r.due - b.cfg.TakeFor.Microseconds()
	}
	wait := min(b.cfg.Every<<min(r.tries, 10), time.Minute)
	if _, err := db.ExecContext(ctx, b.sql.back, time.Now().Add(wait).UnixMicro(), tried, clip(cause), r.seq, r.due); err != nil {
		return fmt.Errorf("ax: outbox %s: giving it back: %w", r.id, err)
	}
	return fmt.Errorf("ax: outbox %s: not now: %w", r.id, cause)
}

func (b *Box) setAside(ctx context.Context, db *sql.DB, r *taken, cause error) error {
	if _, err := db.ExecContext(ctx, b.sql.aside, clip(cause), r.seq, r.due); err != nil {
		return fmt.Errorf("ax: outbox %s: setting it aside: %w", r.id, err)
	}
	return fmt.Errorf("ax: outbox %s: set aside: %w", r.id, cause)
}

// clip makes a text of an error that every database takes: of bounded length, valid, and without NUL.
func clip(err error) string {
	const most = 1000
	s := strings.ReplaceAll(strings.ToValidUTF8(fmt.Sprint(err), "\uFFFD"), "\x00", "\uFFFD")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") // without the half of a character
	}
	return s
}
