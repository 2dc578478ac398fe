package bench

import (
	"context"
	"database/sql"
	"errors"

	"github.com/axsched/ax"
)

// effects is the outside that the drill's handlers change: a database file, in which every effect of a task is a row. The table
// would take a second row of an id: that there is none is the guard's work.
type effects struct {
	db    *sql.DB
	guard guard
}

// guard lets the effect of a task happen inside a transaction, unless it has.
type guard interface {
	do(ctx context.Context, tx *sql.Tx, t *ax.Task, effect func() error) error
}

// bare is no guard: an effect happens with every attempt.
type bare struct{}

func (bare) do(_ context.Context, _ *sql.Tx, _ *ax.Task, effect func() error) error { return effect() }

// row is a guard that remembers each task in a row of a table with a primary key, in the transaction of its effect.
type row struct{}

func (row) do(ctx context.Context, tx *sql.Tx, t *ax.Task, effect func() error) error {
	done, err := tx.ExecContext(ctx, "INSERT INTO done (id) VALUES (?) ON CONFLICT DO NOTHING", t.ID)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return err
	}
	return effect()
}

func effectsFile(path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=busy_timeout(5000)&_txlock=immediate")
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

func openEffects(ctx context.Context, path string, unguarded bool) (*effects, error) {
	db, err := effectsFile(path)
	if err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS effects (id TEXT NOT NULL, token TEXT NOT NULL);
		CREATE TABLE IF NOT EXISTS done (id TEXT PRIMARY KEY)`)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	e := &effects{db: db, guard: row{}}
	if unguarded {
		e.guard = bare{}
	}
	return e, nil
}

// happen makes the effect of a task happen, if it has not.
func (e *effects) happen(ctx context.Context, t *ax.Task) error {
	tx, err := e.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	err = e.guard.do(ctx, tx, t, func() error {
		_, err := tx.ExecContext(ctx, "INSERT INTO effects (id, token) VALUES (?, ?)", t.ID, ax.TokenFrom(ctx).String())
		return err
	})
	if err != nil {
		return err
	}
	return tx.Commit()
}

func (e *effects) close() error { return e.db.Close() }

// countEffects returns how many effects each task had.
func countEffects(path string) (map[string]int, error) {
	e, err := openEffects(context.Background(), path, true)
	if err != nil {
		return nil, err
	}
	defer e.close()
	rows, err := e.db.Query("SELECT id, count(*) FROM effects GROUP BY id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	counts := map[string]int{}
	for rows.Next() {
		var id string
		var n int
		if err := rows.Scan(&id, &n); err != nil {
			return nil, err
		}
		counts[id] = n
	}
	return counts, rows.Err()
}
