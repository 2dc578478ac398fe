package outbox_test

import (
	"context"
	"database/sql"
	"log"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/outbox"
)

var (
	ctx       = context.Background()
	db        *sql.DB          // of the application, with the driver of its choice
	scheduler outbox.Submitter // a *sched.Scheduler
)

// An order and the task that closes it are born together, or not at all.
func Example() {
	box, err := outbox.New(outbox.Config{Dialect: outbox.Postgres}) // its table: box.Schema()
	if err != nil {
		log.Fatal(err)
	}
	go box.Relay(ctx, db, scheduler, func(err error) { log.Print(err) }) // once per process

	place := func(ctx context.Context, id string) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(ctx, "INSERT INTO orders (id, status) VALUES ($1, 'open')", id); err != nil {
			return err
		}
		if _, err := box.Submit(ctx, tx, ax.Submission{ID: id + "/close", Kind: "close-order", Args: id, In: 15 * time.Minute}); err != nil {
			return err
		}
		if err := tx.Commit(); err != nil {
			return err
		}
		box.Nudge() // or it is relayed within a second or so
		return nil
	}
	if err := place(ctx, "order-123"); err != nil {
		log.Print(err)
	}
}

// A person looks at what could not be submitted.
func ExampleBox_Aside() {
	box, err := outbox.New(outbox.Config{Dialect: outbox.SQLite})
	if err != nil {
		log.Fatal(err)
	}
	list, err := box.Aside(ctx, db, 0, 100)
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range list {
		log.Printf("%d %s since %s: %s", row.Seq, row.Submission.ID, row.Made, row.Reason)
		if _, err := box.Drop(ctx, db, row.Seq); err != nil { // or box.Retry
			log.Print(err)
		}
	}
}
