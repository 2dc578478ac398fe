package bench

import (
	"context"
	"database/sql"
	"errors"

	"github.com/axsched/ax"
	"github.com/axsched/ax/once"
)

// effects is the outside that the drill's handlers change: a database file, in which every effect of a task is a row. The table
// would take a second row of an id: that there is none is what package once is for.
type effects struct {
	db    *sql.DB
	guard *once.Guard // nil: none
}

// openEffects opens the file that makeEffects made.
func openEffects(path string, bare bool) (*effects, error) {
	guard, err := once.New(once.Config{Dialect: once.SQLite})
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", "file:"+path+
		"?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=busy_timeout(5000)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if bare {
		guard = nil
	}
	return &effects{db: db, guard: guard}, nil
}

// makeEffects makes an empty file.
func makeEffects(ctx context.Context, path string) error {
	e, err := openEffects(path, false)
	if err != nil {
		return err
	}
	for _, statement := range append(e.guard.Schema(), "CREATE TABLE effects (id TEXT NOT NULL, token TEXT NOT NULL)") {
		if _, err := e.db.ExecContext(ctx, statement); err != nil {
			return errors.Join(err, e.close())
		}
	}
	return e.close()
}

// happen makes the effect of a task happen, if it has not.
func (e *effects) happen(ctx context.Context, t *ax.Task) error {
	effect := func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO effects (id, token) VALUES (?, ?)", t.ID, ax.TokenFrom(ctx).String())
		return err
	}
	if e.guard != nil {
		return e.guard.Tx(ctx, e.db, effect)
	}
	tx, err := e.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := effect(tx); err != nil {
		return err
	}
	return tx.Commit()
}

func (e *effects) close() error { return e.db.Close() }

// count returns how many effects each task had.
func (e *effects) count(ctx context.Context) (map[string]int, error) {
	rows, err := e.db.QueryContext(ctx, "SELECT id, count(*) FROM effects GROUP BY id")
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
