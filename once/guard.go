package once

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"time"

	"github.com/axsched/ax"
)

// Config says where the rows are.
type Config struct {
	Dialect Dialect // of the database; must be set
	Table   string  // its name, with a schema if need be; empty: ax_once

	// Window is the dedupe window of the schedulers (sched.Config.Dedupe), Timeout the longest timeout of the tasks:
	// Prune keeps what either may still need. 0 means 1 h, and ax.DefaultTimeout.
	Window  time.Duration
	Timeout time.Duration
}

// Guard lets effects happen once. Make it with New.
type Guard struct {
	cfg Config     // immutable
	sql statements // immutable
}

var tableName = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]{0,62}\.)?[A-Za-z_][A-Za-z0-9_]{0,49}$`) // with room for the name of an index

// New checks the configuration. It does not reach for the database. Errors: ErrInvalid, naming the field.
func New(cfg Config) (*Guard, error) {
	bad := func(field string, value any, reason string) (*Guard, error) {
		return nil, &ax.Error{Op: "configure", Field: field, Value: fmt.Sprintf("%.80q", fmt.Sprint(value)), Reason: reason, Err: ax.ErrInvalid}
	}
	if cfg.Table == "" {
		cfg.Table = "ax_once"
	}
	if cfg.Window == 0 {
		cfg.Window = time.Hour
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = ax.DefaultTimeout
	}
	switch {
	case cfg.Dialect < SQLite || cfg.Dialect > MySQL:
		return bad("Dialect", cfg.Dialect, "SQLite, Postgres or MySQL")
	case !tableName.MatchString(cfg.Table):
		return bad("Table", cfg.Table, "up to 50 letters, digits and _, with a schema and a dot before it if need be")
	case cfg.Window < 0 || cfg.Window > ax.MaxWindow:
		return bad("Window", cfg.Window, "up to 366 days")
	case cfg.Timeout < 0 || cfg.Timeout > ax.MaxTimeout:
		return bad("Timeout", cfg.Timeout, "up to 45 days")
	}
	g := &Guard{cfg: cfg}
	g.sql = g.statements()
	return g, nil
}

// Done is what became of an effect.
type Done struct {
	Repeat bool      // it had been committed before, and was not done again
	Result []byte    // what it returned when it was done; nil if that was nothing
	Token  string    // of the attempt that did it
	At     time.Time // when, by that attempt's clock, to the microsecond
}

// Do runs effect in tx, unless the effect of this task has been committed before: then Done.Repeat says so, with what it
// returned then. tx is the caller's own, of the database that the effect writes to, and committing it is the caller's,
// who does so also after a repeat; after an error it must be rolled back. ctx must be the one of a handler. The result
// may have up to ax.MaxResult bytes.
//
// Errors: ErrFenced if a newer attempt has it; ErrInvalid outside of a handler, or for a result that is too long; those
// of effect and of the database.
func (g *Guard) Do(ctx context.Context, tx *sql.Tx, effect func() ([]byte, error)) (Done, error) {
	w, err := whoOf(ctx)
	if err != nil {
		return Done{}, err
	}
	row, err := g.take(ctx, tx, w)
	if err != nil {
		return Done{}, err
	}
	if row.covers(w) {
		return row.repeat(), nil
	}
	result, err := effect()
	if err != nil {
		return Done{}, err
	}
	if len(result) > ax.MaxResult {
		return Done{}, &ax.Error{Op: "once", ID: w.id, Field: "result", Value: fmt.Sprint(len(result)), Reason: fmt.Sprintf("at most %d bytes", ax.MaxResult), Err: ax.ErrInvalid}
	}
	at := time.Now()
	if err := g.write(ctx, tx, w, row, at.UnixMicro(), result, at); err != nil {
		return Done{}, err
	}
	return Done{Result: result, Token: w.token, At: at.Truncate(time.Microsecond)}, nil
}

// Tx is Do in a transaction of its own, for an effect without a result: nil if the effect is committed, now or before.
func (g *Guard) Tx(ctx context.Context, db *sql.DB, effect func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("ax: once: begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after a commit
	if _, err := g.Do(ctx, tx, func() ([]byte, error) { return nil, effect(tx) }); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("ax: once: commit: %w", err)
	}
	return nil
}

// Enter writes, in a transaction of its own, that this attempt has begun: every older one is refused from then on, even
// before the effect of this one. For a handler that works long before its effect, or that wants to know first whether
// there is anything to do (Done.Repeat). Errors: as Do.
func (g *Guard) Enter(ctx context.Context, db *sql.DB) (Done, error) {
	w, err := whoOf(ctx)
	if err != nil {
		return Done{}, err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return Done{}, fmt.Errorf("ax: once: begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after a commit
	row, err := g.take(ctx, tx, w)
	if err != nil {
		return Done{}, err
	}
	if row.covers(w) {
		return row.repeat(), nil
	}
	if err := g.write(ctx, tx, w, row, 0, nil, time.Now()); err != nil {
		return Done{}, err
	}
	if err := tx.Commit(); err != nil {
		return Done{}, fmt.Errorf("ax: once: commit: %w", err)
	}
	return Done{Token: w.token}, nil
}

// who is an attempt, as it stands in its row.
type who struct {
	id    string
	run   int32
	token string
}

// whoOf returns the attempt that ctx belongs to.
func whoOf(ctx context.Context) (who, error) {
	d := ax.DeliveryFrom(ctx)
	if d == nil || d.Task == nil || d.Token.IsZero() {
		return who{}, &ax.Error{Op: "once", Field: "ctx", Value: "no attempt", Reason: "call it with the context of a handler", Err: ax.ErrInvalid}
	}
	return who{d.Task.ID, Before(d.Task), d.Token.String()}, nil
}

// Before returns the run before the present one of a task that succeeded last, 0 if none did, as far as the attempts go
// that the task carries: together with the id it names the effect.
func Before(t *ax.Task) int32 {
	for a := t.Last; a != nil; a = a.Prev {
		if a.Run < t.Run && a.Outcome == ax.OutcomeSuccess {
			return a.Run
		}
	}
	return 0
}

// row is what stands in the table.
type row struct {
	run    int32
	token  string
	at     int64 // when the effect was committed, in unix microseconds; 0: it was not
	result []byte
}

// covers reports whether the effect of w has been committed. A row of a later run counts: w has let go the part of its
// history that tells of it.
func (r *row) covers(w who) bool { return r.at != 0 && r.run >= w.run }

func (r *row) repeat() Done {
	return Done{Repeat: true, Result: r.result, Token: r.token, At: time.UnixMicro(r.at)}
}

// take gets hold of the row until tx ends, makes it if there is none, and refuses an attempt that is older than the one
// in it.
func (g *Guard) take(ctx context.Context, tx *sql.Tx, w who) (*row, error) {
	if _, err := tx.ExecContext(ctx, g.sql.lock, w.id, w.run, w.token, time.Now().UnixMicro()); err != nil {
		return nil, fmt.Errorf("ax: once %s: %w", w.id, err)
	}
	r := new(row)
	if err := tx.QueryRowContext(ctx, g.sql.read, w.id).Scan(&r.run, &r.token, &r.at, &r.result); err != nil {
		return nil, fmt.Errorf("ax: once %s: %w", w.id, err)
	}
	if r.token > w.token {
		return nil, &ax.Error{Op: "once", ID: w.id, Field: "token", Value: w.token, Reason: "attempt " + r.token + " is newer; this one must stop", Err: ax.ErrFenced}
	}
	return r, nil
}

// write gives the row to an attempt. The run in it never falls.
func (g *Guard) write(ctx context.Context, tx *sql.Tx, w who, r *row, done int64, result []byte, now time.Time) error {
	if _, err := tx.ExecContext(ctx, g.sql.write, max(r.run, w.run), w.token, done, result, now.UnixMicro(), w.id); err != nil {
		return fmt.Errorf("ax: once %s: %w", w.id, err)
	}
	return nil
}

// pruneStep is how many rows go in one statement, so that none holds others up for long.
const pruneStep = 1000

// Prune removes rows that were written last before an instant, in steps, and returns how many. A task whose row is gone
// may have its effect again, and its oldest attempts are not refused any more: choose an instant before which no task can
// be retried or re-run. Errors: ErrInvalid for an instant within the dedupe window, or within the longest life of an
// attempt (twice Config.Timeout and a minute), from now; those of the database, with how many went before.
func (g *Guard) Prune(ctx context.Context, db *sql.DB, before time.Time) (int64, error) {
	life := 2*g.cfg.Timeout + time.Minute
	if least := max(g.cfg.Window, life); time.Since(before) < least {
		return 0, &ax.Error{Op: "prune", Field: "before", Value: before.Format(time.RFC3339), Reason: fmt.Sprintf(
			"at least %v ago: an attempt may live %v, and ids are remembered for %v", least, life, g.cfg.Window), Err: ax.ErrInvalid}
	}
	var n int64
	for {
		r, err := db.ExecContext(ctx, g.sql.prune, before.UnixMicro(), pruneStep)
		if err != nil {
			return n, fmt.Errorf("ax: prune %s: %w", g.cfg.Table, err)
		}
		gone, err := r.RowsAffected()
		if n += gone; err != nil || gone < pruneStep {
			return n, err
		}
	}
}
