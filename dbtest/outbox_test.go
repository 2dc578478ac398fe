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
	"github.com/axsched/ax/outbox"
	"github.com/axsched/ax/sched"
)

func boxOn(t *testing.T, d database, db *sql.DB, cfg outbox.Config) *outbox.Box {
	t.Helper()
	cfg.Dialect = d.outbox
	b, err := outbox.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	do(t, db, append(b.Schema(), "CREATE TABLE orders (id VARCHAR(100) PRIMARY KEY)")...)
	return b
}

// place writes an order and its timeout in one transaction, and commits it or does not.
func place(t *testing.T, d database, db *sql.DB, b *outbox.Box, id string, commit bool, sub ax.Submission) string {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(t.Context(), "INSERT INTO orders (id) VALUES ('"+id+"')"); err != nil {
		t.Fatal(err)
	}
	made, err := b.Submit(t.Context(), tx, sub)
	if err != nil {
		t.Fatal(err)
	}
	if commit {
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	return made
}

// scheduler starts one that runs everything at once, and counts by id.
func scheduler(t *testing.T) (*sched.Scheduler, *counts) {
	t.Helper()
	c := &counts{of: map[string]int{}}
	mux := ax.NewMux()
	mux.Handle("close", ax.HandlerFunc(func(_ context.Context, t *ax.Task) error { c.add(t.ID); return nil }))
	s, err := sched.New(sched.Config{Mux: mux})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop(context.Background()) })
	return s, c
}

type counts struct {
	mu sync.Mutex
	of map[string]int // guarded by mu
}

func (c *counts) add(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[id]++
}

func (c *counts) get(id string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[id]
}

// relayAll relays until nothing is ready.
func relayAll(t *testing.T, b *outbox.Box, db *sql.DB, to outbox.Submitter) (errs []error) {
	t.Helper()
	for {
		n, err := b.RelayOnce(t.Context(), db, to)
		if err != nil {
			errs = append(errs, err)
		}
		if n == 0 {
			return errs
		}
	}
}

// TestTogetherOrNotAtAll: the order and its timeout are born together, or neither is.
func TestTogetherOrNotAtAll(t *testing.T) {
	each(t, func(t *testing.T, d database, db *sql.DB) {
		b, s, c := boxOn(t, d, db, outbox.Config{Batch: 7}), (*sched.Scheduler)(nil), (*counts)(nil)
		s, c = scheduler(t)
		for i := range 30 {
			id := fmt.Sprintf("order-%d", i)
			if got := place(t, d, db, b, id, i%3 != 0, ax.Submission{ID: id + "/close", Kind: "close", Args: i}); got != id+"/close" {
				t.Errorf("the id is %q", got)
			}
		}
		anonymous := place(t, d, db, b, "anonymous", true, ax.Submission{Kind: "close"})
		if anonymous == "" {
			t.Error("no id was made")
		}
		if errs := relayAll(t, b, db, s); errs != nil {
			t.Error(errs)
		}
		receipt, err := s.Drain(t.Context())
		if err != nil || receipt.Done != 21 {
			t.Errorf("%+v, %v", receipt, err)
		}
		for i := range 30 {
			id := fmt.Sprintf("order-%d", i)
			if orders, runs := count(t, db, "SELECT COUNT(*) FROM orders WHERE id = '"+id+"'"), c.get(id+"/close"); orders != runs || runs > 1 {
				t.Errorf("%s: %d orders, closed %d times", id, orders, runs)
			}
		}
		if st, err := b.Stats(t.Context(), db); err != nil || st.Waiting+st.Aside != 0 {
			t.Errorf("%+v, %v", st, err)
		}
	})
}

// TestEveryOption brings each field of a submission to the scheduler.
func TestEveryOption(t *testing.T) {
	each(t, func(t *testing.T, d database, db *sql.DB) {
		b := boxOn(t, d, db, outbox.Config{})
		at := time.Now().Add(26 * time.Hour).Truncate(time.Microsecond)
		want := ax.Submission{ID: "k/x", Kind: "close", Payload: []byte{0, 1, 255, '\''}, At: at, Priority: ax.P(3), Timeout: time.Minute, MaxRetries: 7,
			Backoff: ax.Backoff{Base: time.Second, Cap: time.Hour, Jitter: -1, Full: true}, RetryOnTimeout: true, HoldLost: true, Ordered: true,
			Unique: ax.Unique{By: ax.ByID, Window: time.Hour}, Headers: map[string]string{"traceparent": "ü"}}
		place(t, d, db, b, "o", true, want)
		place(t, d, db, b, "p", true, ax.Submission{ID: "k/y", Kind: "close", In: time.Hour})
		var got []ax.Submission
		began := time.Now()
		relayAll(t, b, db, submitFunc(func(subs []ax.Submission) ([]ax.Answer, error) {
			got = append(got, subs...)
			return made(subs), nil
		}))
		if len(got) != 2 {
			t.Fatalf("%d were submitted", len(got))
		}
		x, err1 := got[0].Task(began, 0)
		y, err2 := want.Task(began, 0)
		if err1 != nil || err2 != nil || x.Hash != y.Hash || x.Due != y.Due || x.Flags != y.Flags || x.Priority != y.Priority {
			t.Errorf("submitted %+v, want %+v (%v, %v)", got[0], want, err1, err2)
		}
		if in := got[1].In; in > time.Hour || in < 50*time.Minute || !got[1].At.IsZero() {
			t.Errorf("a delay of an hour became %v", in)
		}
	})
}

// submitFunc is a scheduler that answers as a test wants it.
type submitFunc func([]ax.Submission) ([]ax.Answer, error)

func (f submitFunc) SubmitMany(_ context.Context, subs []ax.Submission) ([]ax.Answer, error) {
	return f(subs)
}

func made(subs []ax.Submission) []ax.Answer {
	answers := make([]ax.Answer, len(subs))
	for i := range subs {
		answers[i] = ax.Answer{Code: ax.Made, ID: subs[i].ID}
	}
	return answers
}

// again makes rows that another relay has taken ready, as if TakeFor was over.
func again(t *testing.T, db *sql.DB) { do(t, db, "UPDATE ax_outbox SET due = 0 WHERE aside = 0") }

// TestRelayDies: a relay that dies after its call, before it deleted the row, leaves it to the next, whose call is known:
// one task.
func TestRelayDies(t *testing.T) {
	each(t, func(t *testing.T, d database, db *sql.DB) {
		b := boxOn(t, d, db, outbox.Config{})
		s, c := scheduler(t)
		place(t, d, db, b, "o", true, ax.Submission{ID: "o/close", Kind: "close"})
		_, err := b.RelayOnce(t.Context(), db, submitFunc(func(subs []ax.Submission) ([]ax.Answer, error) {
			if _, err := s.SubmitMany(t.Context(), subs); err != nil {
				t.Error(err)
			}
			return nil, errors.New("the relay has died")
		}))
		if err == nil {
			t.Error("no word of it")
		}
		if n, err := b.RelayOnce(t.Context(), db, s); n != 0 || err != nil {
			t.Errorf("while the dead relay has the row: %d, %v", n, err)
		}
		again(t, db)
		if errs := relayAll(t, b, db, s); errs != nil {
			t.Error(errs)
		}
		s.Drain(t.Context())
		if n := c.get("o/close"); n != 1 {
			t.Errorf("closed %d times", n)
		}
		if n := count(t, db, "SELECT COUNT(*) FROM ax_outbox"); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	})
}

// TestMade: only a row of which a try may have made a task carries the time of that try, so that an old row that nobody
// has tried gets in.
func TestMade(t *testing.T) {
	each(t, func(t *testing.T, d database, db *sql.DB) {
		b := boxOn(t, d, db, outbox.Config{})
		place(t, d, db, b, "o", true, ax.Submission{ID: "o", Kind: "close"})
		var made []time.Time
		answer := func(code ax.Code, refusal, err error) {
			t.Helper()
			again(t, db)
			b.RelayOnce(t.Context(), db, submitFunc(func(subs []ax.Submission) ([]ax.Answer, error) {
				made = append(made, subs[0].Made)
				return []ax.Answer{{Code: code, Err: refusal}}, err
			}))
		}
		answer(ax.Refused, ax.ErrFull, nil)     // certainly not in
		answer(0, nil, errors.New("no answer")) // nobody knows
		answer(ax.Refused, ax.ErrFull, nil)     // the one before is still not known
		answer(ax.Refused, ax.ErrUnknown, nil)
		answer(ax.Expired, nil, nil)
		if len(made) != 5 || !made[0].IsZero() || !made[1].IsZero() || made[2].IsZero() || !made[3].Equal(made[2]) || !made[4].Equal(made[2]) {
			t.Errorf("tries carried %v", made)
		}
		list, err := b.Aside(t.Context(), db, 0, 0)
		if err != nil || len(list) != 1 || list[0].Submission.ID != "o" || list[0].Tries != 5 || !strings.Contains(list[0].Reason, "forgotten") {
			t.Fatalf("set aside: %+v, %v", list, err)
		}
		if ok, err := b.Retry(t.Context(), db, list[0].Seq); !ok || err != nil {
			t.Errorf("retry: %v, %v", ok, err)
		}
		answer(ax.Made, nil, nil)
		if !made[5].IsZero() {
			t.Errorf("a person's retry carried %v", made[5])
		}
		if n := count(t, db, "SELECT COUNT(*) FROM ax_outbox"); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	})
}

// TestExpiredButThere: a row that is too old to be told from a repeat is found at the scheduler, and is in.
func TestExpiredButThere(t *testing.T) {
	each(t, func(t *testing.T, d database, db *sql.DB) {
		b := boxOn(t, d, db, outbox.Config{})
		s, _ := scheduler(t)
		place(t, d, db, b, "o", true, ax.Submission{ID: "o", Kind: "close", In: time.Hour})
		if _, err := s.SubmitMany(t.Context(), []ax.Submission{{ID: "o", Kind: "close", In: time.Hour}}); err != nil {
			t.Fatal(err)
		}
		if errs := relayAll(t, b, db, expired{s}); errs != nil {
			t.Error(errs)
		}
		if n := count(t, db, "SELECT COUNT(*) FROM ax_outbox"); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	})
}

type expired struct{ *sched.Scheduler }

func (expired) SubmitMany(_ context.Context, subs []ax.Submission) ([]ax.Answer, error) {
	return []ax.Answer{{Code: ax.Expired, ID: subs[0].ID}}, nil
}

// TestPoison: what cannot be submitted is set aside with its reason, and the others go on.
func TestPoison(t *testing.T) {
	each(t, func(t *testing.T, d database, db *sql.DB) {
		b := boxOn(t, d, db, outbox.Config{Batch: 3})
		s, c := scheduler(t)
		if _, err := s.Submit(t.Context(), ax.Submission{ID: "taken", Kind: "close", Payload: []byte("another")}); err != nil {
			t.Fatal(err)
		}
		for i, id := range []string{"a", "taken", "b", "garbage", "newer", "c"} {
			place(t, d, db, b, fmt.Sprint(i), true, ax.Submission{ID: id, Kind: "close"})
		}
		do(t, db, "UPDATE ax_outbox SET body = '{' WHERE id = 'garbage'", `UPDATE ax_outbox SET body = '{"Version": 2}' WHERE id = 'newer'`)
		if errs := relayAll(t, b, db, s); len(errs) == 0 {
			t.Error("no word of it")
		}
		s.Drain(t.Context())
		if c.get("a") != 1 || c.get("b") != 1 || c.get("c") != 1 || c.get("taken") != 1 {
			t.Errorf("ran %v", c.of)
		}
		list, err := b.Aside(t.Context(), db, 0, 2)
		if err == nil && len(list) == 2 {
			var rest []outbox.Aside
			rest, err = b.Aside(t.Context(), db, list[1].Seq, 2)
			list = append(list, rest...)
		}
		if err != nil || len(list) != 3 {
			t.Fatalf("set aside: %+v, %v", list, err)
		}
		for i, want := range []string{"taken by another", "no submission", "version 2"} {
			if !strings.Contains(list[i].Reason, want) {
				t.Errorf("%s: %q, want %q in it", list[i].Submission.ID, list[i].Reason, want)
			}
			if ok, err := b.Drop(t.Context(), db, list[i].Seq); !ok || err != nil {
				t.Errorf("drop: %v, %v", ok, err)
			}
		}
		if st, err := b.Stats(t.Context(), db); err != nil || st != (outbox.Stats{}) {
			t.Errorf("%+v, %v", st, err)
		}
	})
}

// TestSeveralRelays lets relays share the work while callers commit and roll back: each committed order is closed once.
func TestSeveralRelays(t *testing.T) {
	each(t, func(t *testing.T, d database, db *sql.DB) {
		b := boxOn(t, d, db, outbox.Config{Every: 5 * time.Millisecond, Batch: 10})
		s, c := scheduler(t)
		ctx, stop := context.WithCancel(t.Context())
		var relays, callers sync.WaitGroup
		for range 3 {
			relays.Go(func() {
				if err := b.Relay(ctx, db, s, nil); !errors.Is(err, context.Canceled) {
					t.Errorf("relay: %v", err)
				}
			})
		}
		for k := range 4 {
			callers.Go(func() {
				for i := range 25 {
					id := fmt.Sprintf("%d-%d", k, i)
					place(t, d, db, b, id, i%5 != 0, ax.Submission{ID: id, Kind: "close"})
					b.Nudge()
				}
			})
		}
		callers.Wait()
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for deadline := time.Now().Add(time.Minute); count(t, db, "SELECT COUNT(*) FROM ax_outbox") > 0 && time.Now().Before(deadline); {
			<-tick.C
		}
		stop()
		relays.Wait()
		s.Drain(t.Context())
		for k := range 4 {
			for i := range 25 {
				id, want := fmt.Sprintf("%d-%d", k, i), 1
				if i%5 == 0 {
					want = 0
				}
				if n := c.get(id); n != want {
					t.Errorf("%s was closed %d times, want %d", id, n, want)
				}
			}
		}
	})
}

// TestBadBox names the field, and refuses what a scheduler would.
func TestBadBox(t *testing.T) {
	for field, c := range map[string]outbox.Config{"Dialect": {}, "Table": {Dialect: outbox.SQLite, Table: "1x"}, "MaxPayload": {Dialect: outbox.SQLite, MaxPayload: -1},
		"Every": {Dialect: outbox.SQLite, Every: 1}, "TakeFor": {Dialect: outbox.SQLite, TakeFor: 1}, "Batch": {Dialect: outbox.SQLite, Batch: 1001}} {
		var e *ax.Error
		if _, err := outbox.New(c); !errors.As(err, &e) || e.Field != field || !errors.Is(err, ax.ErrInvalid) {
			t.Errorf("%s: %v", field, err)
		}
	}
	each(t, func(t *testing.T, d database, db *sql.DB) {
		b := boxOn(t, d, db, outbox.Config{MaxPayload: 10})
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		for _, sub := range []ax.Submission{{}, {Kind: "k", ID: "a b"}, {Kind: "k", Payload: make([]byte, 11)}, {Kind: "k", In: 1, At: time.Now()}} {
			if _, err := b.Submit(t.Context(), tx, sub); !errors.Is(err, ax.ErrInvalid) {
				t.Errorf("%+v: %v", sub, err)
			}
		}
	})
}
