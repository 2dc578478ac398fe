package dbtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/once"
)

// effects is a table whose rows count what was done. It has no key: a second effect is a second row.
const effects = "CREATE TABLE effects (id VARCHAR(200) NOT NULL, by_attempt VARCHAR(40) NOT NULL)"

func guardOn(t *testing.T, d database, db *sql.DB) *once.Guard {
	t.Helper()
	g, err := once.New(once.Config{Dialect: d.once})
	if err != nil {
		t.Fatal(err)
	}
	do(t, db, append(g.Schema(), effects)...)
	return g
}

// attempt returns the context of a handler that runs an attempt of a task.
func attempt(t testing.TB, task *ax.Task, claim uint64) context.Context {
	ctx, cancel := ax.WithDelivery(context.Background(), &ax.Delivery{Task: task, Attempt: int32(claim),
		Token: ax.AttemptToken{Token: ax.Token{Era: 1764547200, Revision: 1}, Claim: claim}})
	t.Cleanup(func() { cancel(nil) })
	return ctx
}

func task(id string) *ax.Task { return &ax.Task{ID: id, Kind: "k", Run: 1} }

// effect is an effect on the table.
func effect(ctx context.Context, d database, tx *sql.Tx, id string) error {
	q := "INSERT INTO effects (id, by_attempt) VALUES (?, ?)"
	if d.once == once.Postgres {
		q = "INSERT INTO effects (id, by_attempt) VALUES ($1, $2)"
	}
	_, err := tx.ExecContext(ctx, q, id, ax.TokenFrom(ctx).String())
	return err
}

// run does the effect of an attempt in a transaction, and returns whether it was a repeat.
func run(ctx context.Context, d database, g *once.Guard, db *sql.DB, id string) (once.Done, error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return once.Done{}, err
	}
	defer tx.Rollback()
	done, err := g.Do(ctx, tx, func() ([]byte, error) { return []byte("result of " + id), effect(ctx, d, tx, id) })
	if err != nil {
		return done, err
	}
	return done, tx.Commit()
}

// TestC59_OnceUnderTwins lets 64 attempts of one task do its effect at once: one does, the others hear of it, or fail in
// a way that is retried.
func TestC59_OnceUnderTwins(t *testing.T) {
	each(t, func(t *testing.T, d database, db *sql.DB) {
		g := guardOn(t, d, db)
		var group sync.WaitGroup
		var mu sync.Mutex
		did, repeats := 0, 0
		var fenced, other []error
		for i := range 64 {
			group.Go(func() {
				ctx := attempt(t, task("order-1/charge"), uint64(i+1))
				for {
					done, err := run(ctx, d, g, db, "order-1/charge")
					mu.Lock()
					switch {
					case errors.Is(err, ax.ErrFenced):
						fenced = append(fenced, err)
					case err != nil && len(other) < 1000: // twins collided: an attempt that failed, and is retried
						other = append(other, err)
						mu.Unlock()
						continue
					case done.Repeat:
						if repeats++; string(done.Result) != "result of order-1/charge" || done.Token == "" || time.Since(done.At).Abs() > time.Hour {
							t.Errorf("a repeat hears %+v", done)
						}
					default:
						did++
					}
					mu.Unlock()
					return
				}
			})
		}
		group.Wait()
		if n := count(t, db, "SELECT COUNT(*) FROM effects"); n != 1 || did != 1 || repeats+len(fenced) != 63 {
			t.Errorf("%d effects; %d did it, %d heard of it, %d were fenced, %d failures: %v", n, did, repeats, len(fenced), len(other), other)
		}
	})
}

// TestC59_OlderAttemptIsRefused: an attempt that was paused comes back after a newer one has entered, and after that has
// done its work.
func TestC59_OlderAttemptIsRefused(t *testing.T) {
	each(t, func(t *testing.T, d database, db *sql.DB) {
		g := guardOn(t, d, db)
		old, young := attempt(t, task("a"), 1), attempt(t, task("a"), 2)
		if done, err := g.Enter(old, db); err != nil || done.Repeat {
			t.Fatalf("enter: %+v, %v", done, err)
		}
		if _, err := g.Enter(young, db); err != nil {
			t.Fatal(err)
		}
		if _, err := run(old, d, g, db, "a"); !errors.Is(err, ax.ErrFenced) {
			t.Errorf("the old one, while the young one works: %v", err)
		}
		if _, err := g.Enter(old, db); !errors.Is(err, ax.ErrFenced) {
			t.Errorf("the old one enters again: %v", err)
		}
		if done, err := run(young, d, g, db, "a"); err != nil || done.Repeat {
			t.Errorf("the young one: %+v, %v", done, err)
		}
		if _, err := run(old, d, g, db, "a"); !errors.Is(err, ax.ErrFenced) {
			t.Errorf("the old one, after the young one: %v", err)
		}
		if done, err := run(attempt(t, task("a"), 3), d, g, db, "a"); err != nil || !done.Repeat {
			t.Errorf("one that comes later: %+v, %v", done, err)
		}
		if done, err := g.Enter(attempt(t, task("a"), 4), db); err != nil || !done.Repeat || string(done.Result) != "result of a" {
			t.Errorf("one that asks first: %+v, %v", done, err)
		}
		if n := count(t, db, "SELECT COUNT(*) FROM effects"); n != 1 {
			t.Errorf("%d effects", n)
		}
	})
}

// TestOldOneHoldsTheRow: an old attempt is in the middle of its transaction when a newer one comes, which waits, and
// hears how it ended.
func TestOldOneHoldsTheRow(t *testing.T) {
	each(t, func(t *testing.T, d database, db *sql.DB) {
		g := guardOn(t, d, db)
		for _, commit := range []bool{false, true} {
			id := fmt.Sprint("row-", commit)
			old, young := attempt(t, task(id), 1), attempt(t, task(id), 2)
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := g.Do(old, tx, func() ([]byte, error) { return nil, effect(old, d, tx, id) }); err != nil {
				t.Fatal(err)
			}
			type result struct {
				done once.Done
				err  error
			}
			c := make(chan result, 1) // its one value
			go func() {
				done, err := run(young, d, g, db, id)
				c <- result{done, err}
			}()
			if commit {
				err = tx.Commit()
			} else {
				err = tx.Rollback()
			}
			if err != nil {
				t.Fatal(err)
			}
			if r := <-c; r.err != nil || r.done.Repeat != commit {
				t.Errorf("the old one committed: %v; the young one: %+v, %v", commit, r.done, r.err)
			}
			if n := count(t, db, "SELECT COUNT(*) FROM effects WHERE id = '"+id+"'"); n != 1 {
				t.Errorf("the old one committed: %v; %d effects", commit, n)
			}
		}
	})
}

// TestRollback leaves nothing behind, whatever failed.
func TestRollback(t *testing.T) {
	each(t, func(t *testing.T, d database, db *sql.DB) {
		g := guardOn(t, d, db)
		ctx, failed := attempt(t, task("a"), 1), errors.New("no")
		if err := g.Tx(ctx, db, func(tx *sql.Tx) error {
			if err := effect(ctx, d, tx, "a"); err != nil {
				return err
			}
			return failed
		}); !errors.Is(err, failed) {
			t.Errorf("the error of the effect: %v", err)
		}
		func() {
			defer func() { recover() }()
			g.Tx(ctx, db, func(tx *sql.Tx) error { effect(ctx, d, tx, "a"); panic("in the middle") })
		}()
		if n := count(t, db, "SELECT COUNT(*) FROM effects") + count(t, db, "SELECT COUNT(*) FROM ax_once"); n != 0 {
			t.Errorf("%d rows are left", n)
		}
		if err := g.Tx(ctx, db, func(tx *sql.Tx) error { return effect(ctx, d, tx, "a") }); err != nil {
			t.Error(err)
		}
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := g.Do(attempt(t, task("b"), 1), tx, func() ([]byte, error) { return make([]byte, ax.MaxResult+1), nil }); !errors.Is(err, ax.ErrInvalid) {
			t.Errorf("a result that is too long: %v", err)
		}
		if _, err := g.Do(context.Background(), tx, nil); !errors.Is(err, ax.ErrInvalid) {
			t.Errorf("outside of a handler: %v", err)
		}
	})
}

// TestReruns goes through the ways in which a task comes again.
func TestReruns(t *testing.T) {
	run1 := func(outcomes ...ax.Outcome) (last *ax.Attempt) {
		for i, o := range outcomes {
			last = &ax.Attempt{Run: int32(i + 1), N: 1, Outcome: o, Prev: last}
		}
		return last
	}
	each(t, func(t *testing.T, d database, db *sql.DB) {
		g := guardOn(t, d, db)
		for i, c := range []struct {
			what    string
			history []ax.Outcome // of the runs before
			again   bool         // the effect is meant to happen again
		}{
			{"a retry", nil, false},
			{"a re-run after a failure", []ax.Outcome{ax.OutcomeFailed}, false},
			{"a re-run after a run whose effect was committed, and which was cut off", []ax.Outcome{ax.OutcomeInterrupted}, false},
			{"a re-run after a success", []ax.Outcome{ax.OutcomeSuccess}, true},
			{"a re-run after that failed", []ax.Outcome{ax.OutcomeSuccess, ax.OutcomeFailed}, false},
			{"a re-run after two successes", []ax.Outcome{ax.OutcomeSuccess, ax.OutcomeFailed, ax.OutcomeSuccess}, true},
		} {
			again := task("a")
			again.Run, again.Last = int32(len(c.history)+1), run1(c.history...)
			if i == 0 { // the first
				if done, err := run(attempt(t, again, 1), d, g, db, "a"); err != nil || done.Repeat {
					t.Fatalf("the first: %+v, %v", done, err)
				}
			}
			done, err := run(attempt(t, again, uint64(i+2)), d, g, db, "a")
			if err != nil || done.Repeat == c.again {
				t.Errorf("%s: %+v, %v; want it again: %v", c.what, done, err, c.again)
			}
		}
		if n := count(t, db, "SELECT COUNT(*) FROM effects"); n != 3 {
			t.Errorf("%d effects, want 3", n)
		}
	})
}

// TestPrune removes old rows in steps, and refuses what is too young.
func TestPrune(t *testing.T) {
	each(t, func(t *testing.T, d database, db *sql.DB) {
		g := guardOn(t, d, db)
		now := time.Now()
		for i := range 25 { // 2,500 old rows and two of today
			var rows []string
			for k := range 100 {
				rows = append(rows, fmt.Sprintf("('old-%d-%d', 0, 'x', 1, %d)", i, k, now.Add(-48*time.Hour).UnixMicro()))
			}
			do(t, db, "INSERT INTO ax_once (id, run, token, done, changed) VALUES "+strings.Join(rows, ", "))
		}
		for _, id := range []string{"young-1", "young-2"} {
			if _, err := run(attempt(t, task(id), 1), d, g, db, id); err != nil {
				t.Fatal(err)
			}
		}
		for _, age := range []time.Duration{0, 30 * time.Minute, 59 * time.Minute, time.Hour} {
			if _, err := g.Prune(t.Context(), db, now.Add(-age)); !errors.Is(err, ax.ErrInvalid) || !strings.Contains(err.Error(), "at least 1h1m0s ago") {
				t.Errorf("up to %v ago: %v", age, err)
			}
		}
		n, err := g.Prune(t.Context(), db, now.Add(-24*time.Hour))
		if left := count(t, db, "SELECT COUNT(*) FROM ax_once"); err != nil || n != 2500 || left != 2 {
			t.Errorf("pruned %d, %d are left, %v", n, left, err)
		}
	})
}

// TestBadConfig names the field.
func TestBadConfig(t *testing.T) {
	for field, c := range map[string]once.Config{
		"Dialect": {}, "Table": {Dialect: once.SQLite, Table: "t; DROP TABLE x"}, "Window": {Dialect: once.SQLite, Window: -1}, "Timeout": {Dialect: once.SQLite, Timeout: -1}} {
		var e *ax.Error
		if _, err := once.New(c); !errors.As(err, &e) || e.Field != field || !errors.Is(err, ax.ErrInvalid) {
			t.Errorf("%s: %v", field, err)
		}
	}
}
