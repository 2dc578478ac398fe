package dbtest

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/journal"
	"github.com/axsched/ax/once"
	"github.com/axsched/ax/outbox"
	"github.com/axsched/ax/sched"
)

// TestEffectsOnce runs tasks whose handlers fail in every way around their effect: before it, in it, after it was
// committed. Each effect is there once.
func TestEffectsOnce(t *testing.T) {
	each(t, func(t *testing.T, d database, db *sql.DB) {
		g := guardOn(t, d, db)
		var attempts atomic.Int64
		mux := ax.NewMux()
		mux.Handle("work", ax.HandlerFunc(func(ctx context.Context, task *ax.Task) error {
			attempts.Add(1)
			switch rand.IntN(8) {
			case 0, 1:
				return errors.New("before")
			case 2, 3:
				panic("before")
			case 4:
				<-ctx.Done() // and then it goes on, as a handler does that was paused
			}
			err := g.Tx(ctx, db, func(tx *sql.Tx) error {
				if err := effect(ctx, d, tx, task.ID); err != nil {
					return err
				}
				if rand.IntN(4) == 0 {
					return errors.New("in")
				}
				return nil
			})
			if err == nil && rand.IntN(4) == 0 {
				panic("after")
			}
			if err == nil && rand.IntN(4) == 0 {
				return errors.New("after")
			}
			return err
		}))
		s, err := sched.New(sched.Config{Mux: mux, Workers: 16})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		const n = 100
		for i := range n {
			if _, err := s.Submit(t.Context(), ax.Submission{ID: fmt.Sprint("t", i), Kind: "work", Timeout: 100 * time.Millisecond, RetryOnTimeout: true, MaxRetries: 500, Backoff: ax.Backoff{Base: time.Millisecond, Cap: time.Millisecond, Jitter: -1}}); err != nil {
				t.Fatal(err)
			}
		}
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for deadline := time.Now().Add(time.Minute); s.Stats().Succeeded < n && time.Now().Before(deadline); {
			<-tick.C
		}
		s.Stop(context.Background())
		all, different := count(t, db, "SELECT COUNT(*) FROM effects"), count(t, db, "SELECT COUNT(DISTINCT id) FROM effects")
		if st := s.Stats(); st.Succeeded != n || all != n || different != n || attempts.Load() <= n {
			t.Errorf("%d succeeded, %d effects of %d tasks, in %d attempts", st.Succeeded, all, different, attempts.Load())
		}
	})
}

// The other process: a service with a journal, whose orders and their closing are in a database. It prints a line for
// each order it has placed.
const (
	childEnv    = "AX_DBTEST_CHILD" // its directory
	childDriver = "AX_DBTEST_DRIVER"
	childDSN    = "AX_DBTEST_DSN"
	childRound  = "AX_DBTEST_ROUND"   // in its orders' ids; empty: place none, and end when all is done
	childKind   = "AX_DBTEST_DIALECT" // name in databases
)

func child() {
	var d database
	for _, one := range databases {
		if one.name == os.Getenv(childKind) {
			d = one
		}
	}
	if err := serve(d, os.Getenv(childRound)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(d database, round string) error {
	ctx := context.Background()
	db, err := sql.Open(os.Getenv(childDriver), os.Getenv(childDSN))
	if err != nil {
		return err
	}
	store, err := journal.Open(os.Getenv(childEnv), journal.Config{})
	if err != nil {
		return err
	}
	g, err := once.New(once.Config{Dialect: d.once})
	if err != nil {
		return err
	}
	box, err := outbox.New(outbox.Config{Dialect: d.outbox, Every: 2 * time.Millisecond, TakeFor: time.Second})
	if err != nil {
		return err
	}
	mux := ax.NewMux()
	mux.Handle("close", ax.HandlerFunc(func(ctx context.Context, task *ax.Task) error {
		return g.Tx(ctx, db, func(tx *sql.Tx) error { return effect(ctx, d, tx, task.ID) })
	}))
	s, err := sched.New(sched.Config{Mux: mux, Workers: 4, Store: store, Registry: store})
	if err != nil {
		return err
	}
	if err := s.Start(ctx); err != nil {
		return err
	}
	go box.Relay(ctx, db, s, nil)
	for i := 0; round != ""; i++ { // until it is killed
		id := fmt.Sprintf("%s-%d", round, i)
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO orders (id) VALUES ('"+id+"')"); err != nil {
			return err
		}
		if _, err := box.Submit(ctx, tx, ax.Submission{ID: id, Kind: "close", In: time.Duration(rand.IntN(20)) * time.Millisecond, MaxRetries: 900,
			Backoff: ax.Backoff{Base: time.Millisecond, Cap: 20 * time.Millisecond}}); err != nil {
			return err
		}
		if err := tx.Commit(); err != nil {
			return err
		}
		fmt.Println(id)
	}
	for tick := time.NewTicker(5 * time.Millisecond); ; <-tick.C {
		st, err := box.Stats(ctx, db)
		if err != nil {
			return err
		}
		if now := s.Stats(); st.Waiting == 0 && now.Pending == 0 {
			if now.Held+now.Failed > 0 || st.Aside > 0 {
				return fmt.Errorf("%d held, %d failed, %d set aside", now.Held, now.Failed, st.Aside)
			}
			if _, err := s.Stop(ctx); err != nil {
				return err
			}
			return store.Close()
		}
	}
}

// TestKilled kills a process with kill -9 again and again, while it places orders and closes them, and then lets one end
// in peace: every order that is in the database was closed once.
func TestKilled(t *testing.T) {
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			db, dsn := d.open(t)
			guardOn(t, d, db)
			boxOn(t, d, db, outbox.Config{})
			dir := t.TempDir()
			start := func(round string) (*exec.Cmd, *bufio.Scanner) {
				cmd := exec.CommandContext(t.Context(), os.Args[0])
				cmd.Env = append(os.Environ(), childEnv+"="+dir, childDriver+"="+d.driver, childDSN+"="+dsn, childRound+"="+round, childKind+"="+d.name)
				cmd.Stderr = os.Stderr
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				return cmd, bufio.NewScanner(out)
			}
			placed := 0
			for round := range 5 {
				cmd, out := start(fmt.Sprint("r", round))
				for range 1 + rand.IntN(40) {
					if !out.Scan() {
						t.Fatal("it ended by itself")
					}
					placed++
				}
				cmd.Process.Kill()
				cmd.Wait()
			}
			cmd, _ := start("")
			if err := cmd.Wait(); err != nil {
				t.Fatalf("the last one: %v", err)
			}
			orders, all := count(t, db, "SELECT COUNT(*) FROM orders"), count(t, db, "SELECT COUNT(*) FROM effects")
			open := count(t, db, "SELECT COUNT(*) FROM orders WHERE id NOT IN (SELECT id FROM effects)")
			if orders < placed || all != orders || open != 0 {
				t.Errorf("%d orders of which %d were confirmed, %d closed, %d not", orders, placed, all, open)
			}
		})
	}
}
