package once_test

import (
	"context"
	"database/sql"
	"log"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/once"
)

type order struct {
	Account string
	Cents   int
}

var (
	db  *sql.DB // of the application, with the driver of its choice
	mux = ax.NewMux()
)

// A handler that charges an account once, however often it runs.
func Example() {
	guard, err := once.New(once.Config{Dialect: once.Postgres}) // its table: guard.Schema()
	if err != nil {
		log.Fatal(err)
	}
	ax.Handle(mux, "charge", func(ctx context.Context, o order) error {
		return guard.Tx(ctx, db, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE accounts SET balance = balance - $1 WHERE id = $2", o.Cents, o.Account)
			return err
		})
	})
}

// A transaction of the handler's own, and a result for those who come again.
func ExampleGuard_Do() {
	guard, err := once.New(once.Config{Dialect: once.SQLite})
	if err != nil {
		log.Fatal(err)
	}
	ax.Handle(mux, "invoice", func(ctx context.Context, o order) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		done, err := guard.Do(ctx, tx, func() ([]byte, error) {
			var number []byte
			err := tx.QueryRowContext(ctx, "INSERT INTO invoices (account) VALUES (?) RETURNING number", o.Account).Scan(&number)
			return number, err
		})
		if err != nil {
			return err
		}
		if err := tx.Commit(); err != nil {
			return err
		}
		log.Printf("invoice %s, written before: %v", done.Result, done.Repeat)
		return nil
	})
}

// A handler that works long before its effect: older attempts are kept out from its first line on.
func ExampleGuard_Enter() {
	guard, err := once.New(once.Config{Dialect: once.MySQL})
	if err != nil {
		log.Fatal(err)
	}
	ax.Handle(mux, "report", func(ctx context.Context, o order) error {
		done, err := guard.Enter(ctx, db)
		if err != nil || done.Repeat { // ax.ErrFenced: a newer attempt is at work
			return err
		}
		pages := 42 // long work
		return guard.Tx(ctx, db, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO reports (account, pages) VALUES (?, ?)", o.Account, pages)
			return err
		})
	})
}

// Old rows go once a day.
func ExampleGuard_Prune() {
	guard, err := once.New(once.Config{Dialect: once.Postgres, Timeout: 2 * time.Hour})
	if err != nil {
		log.Fatal(err)
	}
	ax.Handle(mux, "prune", func(ctx context.Context, _ struct{}) error {
		n, err := guard.Prune(ctx, db, time.Now().AddDate(0, -3, 0))
		log.Printf("%d rows of old effects removed", n)
		return err
	})
}
