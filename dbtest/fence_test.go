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

// TestC77_HolderGoesOn: an old attempt comes while the transaction of a newer one is open. It waits, and is refused once
// that is committed; if that is rolled back, it is the one that does the effect.
func TestC77_HolderGoesOn(t *testing.T) {
	each(t, func(t *testing.T, d database, db *sql.DB) {
		g := guardOn(t, d, db)
		for _, commit := range []bool{false, true} {
			id := fmt.Sprint("row-", commit)
			old, young := attempt(t, task(id), 1), attempt(t, task(id), 2)
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := g.Do(young, tx, func() ([]byte, error) { return nil, effect(young, d, tx, id) }); err != nil {
				t.Fatal(err)
			}
			c := make(chan error, 1) // its one value
			go func() {
				_, err := run(old, d, g, db, id)
				c <- err
			}()
			if commit {
				err = tx.Commit()
			} else {
				err = tx.Rollback()
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := <-c; errors.Is(err, ax.ErrFenced) != commit || err != nil && !commit {
				t.Errorf("the young one committed: %v; the old one: %v", commit, err)
			}
			if n := count(t, db, "SELECT COUNT(*) FROM effects WHERE id = '"+id+"'"); n != 1 {
				t.Errorf("the young one committed: %v; %d effects", commit, n)
			}
		}
	})
}

// TestFencedAcrossRuns: an attempt of the first run that was paused comes back when a re-run has entered.
func TestFencedAcrossRuns(t *testing.T) {
	each(t, func(t *testing.T, d database, db *sql.DB) {
		g := guardOn(t, d, db)
		old := attempt(t, task("a"), 1)
		again := task("a")
		again.Run, again.Last = 2, &ax.Attempt{Run: 1, N: 2, Outcome: ax.OutcomeSuccess}
		if done, err := g.Enter(attempt(t, again, 3), db); err != nil || done.Repeat {
			t.Fatalf("enter: %+v, %v", done, err)
		}
		if _, err := run(old, d, g, db, "a"); !errors.Is(err, ax.ErrFenced) {
			t.Errorf("an attempt of the run before: %v", err)
		}
		if n := count(t, db, "SELECT COUNT(*) FROM effects"); n != 0 {
			t.Errorf("%d effects", n)
		}
	})
}

// TestHistoryLetGo: a task lets its oldest attempts go in the middle of a run, and with them the success of the run
// before. The effect of this run, committed by an attempt that knew of it, is not done again by one that does not.
func TestHistoryLetGo(t *testing.T) {
	each(t, func(t *testing.T, d database, db *sql.DB) {
		g := guardOn(t, d, db)
		knows, forgot := task("a"), task("a")
		knows.Run, knows.Last = 2, &ax.Attempt{Run: 1, N: 1, Outcome: ax.OutcomeSuccess}
		forgot.Run, forgot.Last = 2, &ax.Attempt{Run: 2, N: 99, Outcome: ax.OutcomeFailed}
		if done, err := run(attempt(t, knows, 99), d, g, db, "a"); err != nil || done.Repeat {
			t.Fatalf("%+v, %v", done, err)
		}
		if done, err := run(attempt(t, forgot, 100), d, g, db, "a"); err != nil || !done.Repeat {
			t.Errorf("after its history was let go: %+v, %v", done, err)
		}
		if n := count(t, db, "SELECT COUNT(*) FROM effects"); n != 1 {
			t.Errorf("%d effects", n)
		}
	})
}

// TestRunNeverFalls: an attempt that has let its history go does the effect of a run that an attempt which knew it had
// entered: for both it is the same effect.
func TestRunNeverFalls(t *testing.T) {
	each(t, func(t *testing.T, d database, db *sql.DB) {
		g := guardOn(t, d, db)
		knows, forgot := task("a"), task("a")
		knows.Run, knows.Last = 2, &ax.Attempt{Run: 1, N: 1, Outcome: ax.OutcomeSuccess}
		forgot.Run = 2
		if _, err := g.Enter(attempt(t, knows, 1), db); err != nil {
			t.Fatal(err)
		}
		if done, err := run(attempt(t, forgot, 2), d, g, db, "a"); err != nil || done.Repeat {
			t.Errorf("one that has let its history go: %+v, %v", done, err)
		}
		if done, err := run(attempt(t, knows, 3), d, g, db, "a"); err != nil || !done.Repeat {
			t.Errorf("one that knows: %+v, %v", done, err)
		}
	})
}

// TestBefore reads the history of a task.
func TestBefore(t *testing.T) {
	first := &ax.Attempt{Run: 1, Outcome: ax.OutcomeSuccess}
	second := &ax.Attempt{Run: 2, Outcome: ax.OutcomeSuccess, Prev: first}
	failed := &ax.Attempt{Run: 3, Outcome: ax.OutcomeFailed, Prev: second}
	for _, c := range []struct {
		run  int32
		last *ax.Attempt
		want int32
	}{{1, nil, 0}, {1, first, 0}, {2, first, 1}, {2, second, 1}, {3, second, 2}, {4, failed, 2}} {
		if got := once.Before(&ax.Task{Run: c.run, Last: c.last}); got != c.want {
			t.Errorf("run %d after %+v: %d, want %d", c.run, c.last, got, c.want)
		}
	}
}

// TestLongIDs takes the longest id that a task may have, that of a job's firing.
func TestLongIDs(t *testing.T) {
	each(t, func(t *testing.T, d database, db *sql.DB) {
		g := guardOn(t, d, db)
		long := strings.Repeat("u", ax.MaxKey) + "/@" + strings.Repeat("f", 2*ax.MaxID-ax.MaxKey-2)
		if err := ax.CheckTarget(long); err != nil {
			t.Fatal(err)
		}
		for claim := range uint64(2) {
			ctx := attempt(t, task(long), claim+1)
			if err := g.Tx(ctx, db, func(tx *sql.Tx) error { return effect(ctx, d, tx, "x") }); err != nil {
				t.Error(err)
			}
		}
		if n := count(t, db, "SELECT COUNT(*) FROM effects"); n != 1 {
			t.Errorf("%d effects", n)
		}
	})
}

// TestSchemas puts the table into a schema.
func TestSchemas(t *testing.T) {
	each(t, func(t *testing.T, d database, db *sql.DB) {
		schema := "main"
		switch d.once {
		case once.Postgres:
			schema = "other"
			do(t, db, "CREATE SCHEMA other")
		case once.MySQL:
			if err := db.QueryRowContext(t.Context(), "SELECT DATABASE()").Scan(&schema); err != nil {
				t.Fatal(err)
			}
		}
		g, err := once.New(once.Config{Dialect: d.once, Table: schema + ".guarded"})
		if err != nil {
			t.Fatal(err)
		}
		do(t, db, append(g.Schema(), effects)...)
		for claim := range uint64(2) {
			if done, err := run(attempt(t, task("a"), claim+1), d, g, db, "a"); err != nil || done.Repeat != (claim == 1) {
				t.Errorf("%+v, %v", done, err)
			}
		}
		if n, err := g.Prune(t.Context(), db, time.Now().Add(-24*time.Hour)); n != 0 || err != nil {
			t.Errorf("prune: %d, %v", n, err)
		}
	})
}

// TestTwinsByIsolation lets twins meet at each level of isolation: they wait or collide, and one does the effect. Each
// has read before, though not the table that it writes to: MariaDB locks what is read under SERIALIZABLE, and twins
// without a backoff would collide for ever.
func TestTwinsByIsolation(t *testing.T) {
	each(t, func(t *testing.T, d database, db *sql.DB) {
		g := guardOn(t, d, db)
		do(t, db, "CREATE TABLE elsewhere (n INTEGER)")
		levels := []sql.IsolationLevel{sql.LevelDefault}
		if d.once != once.SQLite { // which has one level
			levels = []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable}
		}
		for _, level := range levels {
			id := fmt.Sprint("level-", int(level))
			var group sync.WaitGroup
			for i := range 16 {
				group.Go(func() {
					ctx := attempt(t, task(id), uint64(i+1))
					var err error
					for range 200 {
						if err = atLevel(ctx, d, g, db, id, level); err == nil || errors.Is(err, ax.ErrFenced) {
							return
						}
					}
					t.Errorf("%s: still colliding: %v", level, err)
				})
			}
			group.Wait()
			if n := count(t, db, "SELECT COUNT(*) FROM effects WHERE id = '"+id+"'"); n != 1 {
				t.Errorf("%s: %d effects", level, n)
			}
		}
	})
}

// atLevel does an effect in a transaction that has read before, so that above READ COMMITTED it sees what was there then.
func atLevel(ctx context.Context, d database, g *once.Guard, db *sql.DB, id string, level sql.IsolationLevel) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var n int
	if err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM elsewhere").Scan(&n); err != nil {
		return err
	}
	if _, err := g.Do(ctx, tx, func() ([]byte, error) { return nil, effect(ctx, d, tx, id) }); err != nil {
		return err
	}
	return tx.Commit()
}

// TestPruneKeepsWhatWasDoneLately: a task that has been entered long ago, and did its effect a moment ago, keeps its row.
func TestPruneKeepsWhatWasDoneLately(t *testing.T) {
	each(t, func(t *testing.T, d database, db *sql.DB) {
		g := guardOn(t, d, db)
		for _, id := range []string{"done", "entered"} {
			if _, err := g.Enter(attempt(t, task(id), 1), db); err != nil {
				t.Fatal(err)
			}
		}
		do(t, db, fmt.Sprintf("UPDATE ax_once SET changed = %d", time.Now().Add(-48*time.Hour).UnixMicro()))
		if _, err := run(attempt(t, task("done"), 2), d, g, db, "done"); err != nil {
			t.Fatal(err)
		}
		if _, err := g.Enter(attempt(t, task("entered"), 2), db); err != nil {
			t.Fatal(err)
		}
		if n, err := g.Prune(t.Context(), db, time.Now().Add(-24*time.Hour)); n != 0 || err != nil {
			t.Errorf("pruned %d, %v", n, err)
		}
	})
}
