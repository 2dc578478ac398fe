package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	_ "modernc.org/sqlite" // the driver that River tests with
)

// queue is River on SQLite, in this process: its tables in a file of their own.
type queue struct {
	db     *sql.DB
	client *river.Client[*sql.Tx]
	dir    string
	fault  atomic.Pointer[error] // the first thing it refused

	completed atomic.Int64 // jobs that River says it has completed: it says so once it has written that
	listening sync.WaitGroup
}

// riverJob is a job that does nothing. Its argument is its place in the ledger.
type riverJob struct {
	I int `json:"i"`
}

// Kind names the worker.
func (riverJob) Kind() string { return kind }

// riverWorkers is how many handlers River may run at once; its own limit is 10,000.
const riverWorkers = 1000

// newRiver makes River with the settings of its documentation for SQLite (one connection, the write-ahead log), with its
// fetching as eager as it allows, and with a level of SQLite's synchronous: FULL survives a power cut, as the journal does.
func newRiver(under, synchronous string, l *ledger) (*queue, error) {
	dir, err := os.MkdirTemp(under, "axbench-river-")
	if err != nil {
		return nil, err
	}
	q := &queue{dir: dir}
	if err := q.open(synchronous, l); err != nil {
		return nil, errors.Join(err, q.close())
	}
	l.begin()
	return q, nil
}

func (q *queue) open(synchronous string, l *ledger) (err error) {
	ctx := context.Background()
	q.db, err = sql.Open("sqlite", "file:"+filepath.Join(q.dir, "river.sqlite3")+
		"?_pragma=journal_mode(WAL)&_pragma=synchronous("+synchronous+")&_pragma=busy_timeout(5000)&_txlock=immediate")
	if err != nil {
		return err
	}
	q.db.SetMaxOpenConns(1)
	driver := riversqlite.New(q.db)
	discard := slog.New(slog.DiscardHandler)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: discard})
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(_ context.Context, j *river.Job[riverJob]) error {
		l.ran(j.Args.I)
		return nil
	}))
	q.client, err = river.NewClient(driver, &river.Config{
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: riverWorkers}},
		Workers:           workers,
		FetchCooldown:     river.FetchCooldownMin,
		FetchPollInterval: river.FetchPollIntervalMin,
		JobTimeout:        -1,
		Logger:            discard,
	})
	if err != nil {
		return err
	}
	events, _ := q.client.SubscribeConfig(&river.SubscribeConfig{ChanSize: len(l.runs) + 1, Kinds: []river.EventKind{river.EventKindJobCompleted}})
	q.listening.Go(func() {
		for range events { // closed when the client has stopped
			q.completed.Add(1)
		}
	})
	if err := q.client.Start(ctx); err != nil {
		return err
	}
	return q.lead(ctx)
}

// lead waits until the client leads: before, nobody looks for jobs that are scheduled.
func (q *queue) lead(ctx context.Context) error {
	for start := time.Now(); time.Since(start) < stall; time.Sleep(10 * time.Millisecond) {
		var n int
		if err := q.db.QueryRowContext(ctx, "SELECT count(*) FROM river_leader").Scan(&n); err != nil {
			return err
		}
		if n > 0 {
			return nil
		}
	}
	return errors.New("river: no client leads")
}

func (q *queue) submit(l *ledger, from, to int, now int64) {
	params := make([]river.InsertManyParams, 0, to-from)
	for i := from; i < to; i++ {
		p := river.InsertManyParams{Args: riverJob{i}}
		if l.due[i] > now {
			p.InsertOpts = &river.InsertOpts{ScheduledAt: l.base.Add(time.Duration(l.due[i]))}
		}
		params = append(params, p)
		l.fate[i] = acknowledged
	}
	if _, err := q.client.InsertManyFast(context.Background(), params); err != nil {
		for i := from; i < to; i++ {
			l.fate[i] = refused
		}
		q.fault.CompareAndSwap(nil, &err)
	}
}

// settle returns when as many jobs have completed as were acknowledged, or when none has for longer than stall.
func (q *queue) settle(ctx context.Context, l *ledger, from, to int) error {
	acked, done, changed := int64(l.acknowledged(from, to)), int64(0), time.Now()
	for time.Since(changed) < stall {
		if now := q.completed.Load(); now >= acked {
			return nil
		} else if now > done {
			done, changed = now, time.Now()
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

func (q *queue) stop(l *ledger, submitted int) tally {
	var faults []string
	if first := q.fault.Load(); first != nil {
		faults = append(faults, (*first).Error())
	}
	ctx, cancel := context.WithTimeout(context.Background(), stall)
	defer cancel()
	if err := q.client.Stop(ctx); err != nil {
		faults = append(faults, fmt.Sprintf("stop: %v", err))
	}
	q.listening.Wait()
	var completed int
	if err := q.db.QueryRowContext(ctx, "SELECT count(*) FROM river_job WHERE state = 'completed'").Scan(&completed); err != nil {
		faults = append(faults, err.Error())
	}
	if err := q.close(); err != nil {
		faults = append(faults, err.Error())
	}
	t := peerTally(l, submitted)
	if completed != t.ledgerStarted || completed != int(q.completed.Load()) {
		faults = append(faults, fmt.Sprintf("%d jobs are completed in its table, it told of %d, and %d started", completed, q.completed.Load(), t.ledgerStarted))
	}
	t.faults = append(t.faults, faults...)
	return t
}

func (q *queue) close() error {
	var err error
	if q.db != nil {
		err = q.db.Close()
	}
	return errors.Join(err, os.RemoveAll(q.dir))
}
