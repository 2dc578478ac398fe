package dbtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/once"
	"github.com/axsched/ax/outbox"
	"github.com/axsched/ax/sched"
)

// TestPoisonHoldsNothingUp: what follows a row that is set aside is relayed at once, not when the relay looks next.
func TestPoisonHoldsNothingUp(t *testing.T) {
	each(t, func(t *testing.T, d database, db *sql.DB) {
		b := boxOn(t, d, db, outbox.Config{Batch: 1, Every: time.Hour})
		for _, id := range []string{"poison-1", "poison-2", "good"} {
			place(t, d, db, b, id, true, ax.Submission{ID: id, Kind: "close"})
		}
		ctx, stop := context.WithTimeoutCause(t.Context(), 20*time.Second, errors.New("it waits for its next look"))
		defer stop()
		err := b.Relay(ctx, db, submitFunc(func(subs []ax.Submission) ([]ax.Answer, error) {
			if subs[0].ID == "good" {
				stop()
				return made(subs), nil
			}
			return []ax.Answer{{Code: ax.Conflict}}, nil
		}), nil)
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestStrangeReason: whatever the text of a refusal, and wherever it is cut, the row is set aside.
func TestStrangeReason(t *testing.T) {
	each(t, func(t *testing.T, d database, db *sql.DB) {
		b := boxOn(t, d, db, outbox.Config{})
		for i, text := range []string{"x" + strings.Repeat("取消", 1000), "\xff\xfe", "a\x00b", "🙂"} {
			id := fmt.Sprint("o", i)
			place(t, d, db, b, id, true, ax.Submission{ID: id, Kind: "close"})
			b.RelayOnce(t.Context(), db, submitFunc(func(subs []ax.Submission) ([]ax.Answer, error) {
				return []ax.Answer{{Code: ax.Refused, Err: errors.New(text)}}, nil
			}))
			list, err := b.Aside(t.Context(), db, 0, 0)
			if err != nil || len(list) != i+1 || list[i].Reason == "" || len(list[i].Reason) > 1000 {
				t.Errorf("%.20q: set aside: %+v, %v", text, list, err)
			}
		}
	})
}

// TestBackAndNew: a row that was given back has its turn before rows that were written later.
func TestBackAndNew(t *testing.T) {
	each(t, func(t *testing.T, d database, db *sql.DB) {
		b := boxOn(t, d, db, outbox.Config{Batch: 1})
		place(t, d, db, b, "old", true, ax.Submission{ID: "old", Kind: "close"})
		b.RelayOnce(t.Context(), db, submitFunc(func(subs []ax.Submission) ([]ax.Answer, error) {
			return []ax.Answer{{Code: ax.Refused, Err: ax.ErrFull}}, nil
		}))
		do(t, db, "UPDATE ax_outbox SET due = made + 1") // its wait is over
		place(t, d, db, b, "new", true, ax.Submission{ID: "new", Kind: "close"})
		var order []string
		relayAll(t, b, db, submitFunc(func(subs []ax.Submission) ([]ax.Answer, error) {
			order = append(order, subs[0].ID)
			return made(subs), nil
		}))
		if len(order) != 2 || order[0] != "old" {
			t.Errorf("relayed %v", order)
		}
	})
}

// TestLargeRows: a batch is bounded in bytes too.
func TestLargeRows(t *testing.T) {
	each(t, func(t *testing.T, d database, db *sql.DB) {
		b := boxOn(t, d, db, outbox.Config{MaxPayload: 3 << 20})
		const n = 7
		for i := range n {
			id := fmt.Sprint("o", i)
			place(t, d, db, b, id, true, ax.Submission{ID: id, Kind: "close", Payload: make([]byte, 3<<20)})
		}
		got, most := 0, 0
		errs := relayAll(t, b, db, submitFunc(func(subs []ax.Submission) ([]ax.Answer, error) {
			got, most = got+len(subs), max(most, len(subs))
			return made(subs), nil
		}))
		if errs != nil || got != n || most > 4 {
			t.Errorf("%d rows of 4 MiB came, at most %d at a time: %v", got, most, errs)
		}
	})
}

// TestExpiredAndUnclear: a row that is too old to be told from a repeat stays as it is while the scheduler cannot be
// asked for the task, and is set aside if the task is another.
func TestExpiredAndUnclear(t *testing.T) {
	each(t, func(t *testing.T, d database, db *sql.DB) {
		b := boxOn(t, d, db, outbox.Config{})
		s, _ := scheduler(t)
		place(t, d, db, b, "o", true, ax.Submission{ID: "o", Kind: "close", In: time.Hour})
		if _, err := b.RelayOnce(t.Context(), db, away{s}); !errors.Is(err, ax.ErrClosed) {
			t.Errorf("the scheduler is away: %v", err)
		}
		if st, err := b.Stats(t.Context(), db); err != nil || st.Waiting != 1 || st.Aside != 0 {
			t.Errorf("%+v, %v", st, err)
		}
		if _, err := s.Submit(t.Context(), ax.Submission{ID: "o", Kind: "close", Payload: []byte("another"), In: time.Hour}); err != nil {
			t.Fatal(err)
		}
		again(t, db)
		if _, err := b.RelayOnce(t.Context(), db, expired{s}); !errors.Is(err, ax.ErrConflict) {
			t.Errorf("another task has the id: %v", err)
		}
		if st, err := b.Stats(t.Context(), db); err != nil || st.Waiting != 0 || st.Aside != 1 {
			t.Errorf("%+v, %v", st, err)
		}
	})
}

// TestUnknownCounts: a row whose first try was answered with "unknown" may be in, so the next carries the time of the
// first.
func TestUnknownCounts(t *testing.T) {
	each(t, func(t *testing.T, d database, db *sql.DB) {
		b := boxOn(t, d, db, outbox.Config{})
		place(t, d, db, b, "o", true, ax.Submission{ID: "o", Kind: "close"})
		began := time.Now().Truncate(time.Microsecond)
		b.RelayOnce(t.Context(), db, submitFunc(func(subs []ax.Submission) ([]ax.Answer, error) {
			return []ax.Answer{{Code: ax.Refused, Err: ax.ErrUnknown}}, nil
		}))
		ended := time.Now()
		again(t, db)
		var carried time.Time
		b.RelayOnce(t.Context(), db, submitFunc(func(subs []ax.Submission) ([]ax.Answer, error) {
			carried = subs[0].Made
			return made(subs), nil
		}))
		if carried.Before(began) || carried.After(ended) {
			t.Errorf("the second try carried %v, the first was from %v to %v", carried, began, ended)
		}
	})
}

// away is a scheduler that answers Expired, and then cannot be asked.
type away struct{ *sched.Scheduler }

func (away) SubmitMany(_ context.Context, subs []ax.Submission) ([]ax.Answer, error) {
	return []ax.Answer{{Code: ax.Expired, ID: subs[0].ID}}, nil
}

func (away) Get(context.Context, string) (*ax.Task, error) { return nil, ax.ErrClosed }

// TestBoxInSchema puts the table into a schema.
func TestBoxInSchema(t *testing.T) {
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
		b := boxOn(t, d, db, outbox.Config{Table: schema + ".box"})
		place(t, d, db, b, "o", true, ax.Submission{ID: "o", Kind: "close"})
		if errs := relayAll(t, b, db, submitFunc(func(subs []ax.Submission) ([]ax.Answer, error) { return made(subs), nil })); errs != nil {
			t.Error(errs)
		}
		if st, err := b.Stats(t.Context(), db); err != nil || st != (outbox.Stats{}) {
			t.Errorf("%+v, %v", st, err)
		}
	})
}
