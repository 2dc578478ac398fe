package sched_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync/atomic"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/sched"
)

// started makes a scheduler and starts it, as the first example does by hand, and returns the tasks that end.
func started(cfg sched.Config) (*sched.Scheduler, <-chan *ax.Task) {
	ended := make(chan *ax.Task, 16) // more than any example here has
	cfg.OnEvent = func(e sched.Event) { ended <- e.Task }
	s, err := sched.New(cfg)
	if err == nil {
		err = s.Start(context.Background())
	}
	if err != nil {
		log.Fatal(err)
	}
	return s, ended
}

// An order is closed after 15 minutes, unless it is paid before.
func Example() {
	ctx := context.Background()
	mux := ax.NewMux()
	ax.Handle(mux, "close-order", func(ctx context.Context, order int) error {
		fmt.Println("closing order", order)
		return nil // an error would be retried
	})
	s, err := sched.New(sched.Config{Mux: mux})
	if err != nil {
		log.Fatal(err)
	}
	if err := s.Start(ctx); err != nil {
		log.Fatal(err)
	}
	defer s.Drain(ctx)

	order := ax.Submission{ID: "order-123/close", Kind: "close-order", Args: 123, In: 15 * time.Minute}
	if _, err := s.Submit(ctx, order); err != nil {
		log.Fatal(err)
	}
	// ... and when the payment comes:
	answer, err := s.Cancel(ctx, "order-123/close")
	switch {
	case errors.Is(err, ax.ErrFinished):
		fmt.Println("too late, the order is closed")
	case err == nil:
		fmt.Println(answer.State)
	}
	// Output: CANCELED
}

// A task that is due after a while.
func ExampleScheduler_Submit() {
	mux := ax.NewMux()
	ax.Handle(mux, "activate-coupon", func(ctx context.Context, coupon string) error {
		fmt.Println("activating", coupon)
		return nil
	})
	s, ended := started(sched.Config{Mux: mux})
	defer s.Drain(context.Background())

	asked := time.Now()
	answer, err := s.Submit(context.Background(), ax.Submission{
		Kind: "activate-coupon", Args: "SPRING", In: 20 * time.Millisecond,
	})
	if err != nil {
		log.Fatal(err)
	}
	task := <-ended
	fmt.Println(answer.Code, answer.State, "and then", task.State)
	fmt.Println("early:", task.Last.Started.Time().Before(asked.Add(20*time.Millisecond)))
	// Output:
	// activating SPRING
	// created SCHEDULED and then SUCCESS
	// early: false
}

// Many tasks at once cost far less than one by one. Each has its own answer.
func ExampleScheduler_SubmitMany() {
	s, _ := started(sched.Config{})
	defer s.Drain(context.Background())

	subs := []ax.Submission{
		{ID: "push-1", Kind: "push", In: time.Hour},
		{ID: "push 2", Kind: "push", In: time.Hour},
		{ID: "push-3", Kind: "push", In: time.Hour},
	}
	answers, err := s.SubmitMany(context.Background(), subs)
	if err != nil {
		log.Fatal(err) // then no answer is known
	}
	for i := range answers {
		fmt.Println(subs[i].ID, answers[i].Code, errors.Is(answers[i].Err, ax.ErrInvalid))
	}
	// Output:
	// push-1 created false
	// push 2 refused true
	// push-3 created false
}

// Submitting the same id again is safe: while the task is live, and for the dedupe window (1 h) after it ended. Other
// content under the same id is a conflict.
func ExampleScheduler_Submit_idempotent() {
	s, _ := started(sched.Config{})
	defer s.Drain(context.Background())
	submit := func(order int) {
		answer, err := s.Submit(context.Background(), ax.Submission{
			ID: "order-123/close", Kind: "close-order", Args: order, In: time.Hour,
		})
		fmt.Println(answer.Code, errors.Is(err, ax.ErrConflict))
	}
	submit(123)
	submit(123)
	submit(124)
	// Output:
	// created false
	// known false
	// conflict true
}

// A task that waits is canceled at once. One that runs is asked: its context ends, and what its handler returns decides.
func ExampleScheduler_Cancel() {
	running := make(chan struct{})
	mux := ax.NewMux()
	mux.Handle("export", ax.HandlerFunc(func(ctx context.Context, t *ax.Task) error {
		close(running)
		<-ctx.Done()
		return context.Cause(ctx) // ax.ErrCanceled
	}))
	s, ended := started(sched.Config{Mux: mux})
	defer s.Drain(context.Background())
	ctx := context.Background()

	s.SubmitMany(ctx, []ax.Submission{{ID: "waits", Kind: "export", In: time.Hour}, {ID: "runs", Kind: "export"}})
	answer, _ := s.Cancel(ctx, "waits")
	fmt.Println("waits:", answer.State)
	<-ended

	<-running
	answer, _ = s.Cancel(ctx, "runs")
	fmt.Println("runs, at first:", answer.State)
	t := <-ended
	fmt.Println("runs, then:", t.State, t.LastError())
	// Output:
	// waits: CANCELED
	// runs, at first: RUNNING
	// runs, then: CANCELED task was canceled
}

// A task that has not started can be moved to another time.
func ExampleScheduler_Reschedule() {
	s, _ := started(sched.Config{})
	defer s.Drain(context.Background())
	ctx := context.Background()

	s.Submit(ctx, ax.Submission{ID: "report", Kind: "report", At: time.Date(2099, 1, 1, 6, 0, 0, 0, time.UTC)})
	if _, err := s.Reschedule(ctx, "report", time.Date(2099, 1, 1, 7, 30, 0, 0, time.UTC)); err != nil {
		log.Fatal(err)
	}
	task, _ := s.Get(ctx, "report")
	fmt.Println(task.Due)
	// Output: 2099-01-01T07:30:00.000000Z
}

// Among tasks that are due, a smaller priority goes first; equals go by due time, then by order of submission.
func Example_priority() {
	release := make(chan struct{})
	mux := ax.NewMux()
	mux.Handle("work", ax.HandlerFunc(func(ctx context.Context, t *ax.Task) error {
		if t.ID == "first" {
			<-release
		}
		fmt.Println(t.ID)
		return nil
	}))
	s, ended := started(sched.Config{Mux: mux, Workers: 1})
	defer s.Drain(context.Background())
	ctx := context.Background()

	s.Submit(ctx, ax.Submission{ID: "first", Kind: "work"}) // takes the only worker
	s.SubmitMany(ctx, []ax.Submission{
		{ID: "bulk", Kind: "work", Priority: ax.P(90)},
		{ID: "normal", Kind: "work"}, // level 50
		{ID: "urgent", Kind: "work", Priority: ax.P(0)},
	})
	close(release)
	for range 4 {
		<-ended
	}
	// Output:
	// first
	// urgent
	// normal
	// bulk
}

// A task that waits rises: none starves, and the bound can be computed.
func ExampleAging() {
	aging := sched.Aging{}.WithDefaults() // one level after 40 s, then one every 30 s
	for _, waited := range []time.Duration{0, 40 * time.Second, 5 * time.Minute, time.Hour} {
		fmt.Println(waited, "level", aging.Level(ax.DefaultLevel, waited.Microseconds()))
	}
	fmt.Println("at level 0 after", aging.Bound(ax.DefaultLevel))
	// Output:
	// 0s level 50
	// 40s level 49
	// 5m0s level 41
	// 1h0m0s level 0
	// at level 0 after 25m10s
}

// A handler steers its own task by the error it returns.
func Example_retry() {
	mux := ax.NewMux()
	mux.Handle("flaky", ax.HandlerFunc(func(ctx context.Context, t *ax.Task) error {
		if t.Attempt == 1 {
			return ax.RetryAfter(time.Millisecond, errors.New("503")) // instead of the backoff
		}
		return nil
	}))
	mux.Handle("broken", ax.HandlerFunc(func(ctx context.Context, t *ax.Task) error {
		return ax.NoRetry(errors.New("no such customer")) // FAILED, whatever retries are left
	}))
	mux.Handle("pointless", ax.HandlerFunc(func(ctx context.Context, t *ax.Task) error {
		return ax.Cancel(nil) // CANCELED: there is nothing to do any more
	}))
	mux.Handle("stubborn", ax.HandlerFunc(func(ctx context.Context, t *ax.Task) error {
		return errors.New("still down") // an ordinary error: retried by the task's policy
	}))
	s, ended := started(sched.Config{Mux: mux})
	defer s.Drain(context.Background())

	for _, sub := range []ax.Submission{
		{Kind: "flaky"},
		{Kind: "broken"},
		{Kind: "pointless"},
		{Kind: "stubborn", MaxRetries: 2, Backoff: ax.Backoff{Base: time.Millisecond, Jitter: -1}},
	} {
		s.Submit(context.Background(), sub)
		t := <-ended
		fmt.Printf("%s %s after %d: %q\n", t.Kind, t.State, len(t.Attempts()), t.LastError())
	}
	// Output:
	// flaky SUCCESS after 2: ""
	// broken FAILED after 1: "no such customer"
	// pointless CANCELED after 1: "cancel"
	// stubborn FAILED after 3: "still down"
}

// A typed handler gets its argument decoded, and can leave a result.
func Example_typedHandler() {
	type charge struct{ Customer, Cents int }
	type receipt struct{ Paid bool }
	mux := ax.NewMux()
	ax.Handle(mux, "charge", func(ctx context.Context, in charge) error {
		info, _ := ax.InfoFrom(ctx)
		fmt.Println(info.ID, "attempt", info.Attempt, in.Cents)
		return ax.Return(ctx, receipt{Paid: true})
	})
	s, ended := started(sched.Config{Mux: mux})
	defer s.Drain(context.Background())
	ctx := context.Background()

	s.Submit(ctx, ax.Submission{ID: "order-7/charge", Kind: "charge", Args: charge{Customer: 42, Cents: 1999}})
	<-ended
	task, _ := s.Get(ctx, "order-7/charge")
	fmt.Println(task.State, string(task.Result()))
	// Output:
	// order-7/charge attempt 1 1999
	// SUCCESS {"Paid":true}
}

// Middleware wraps every handler of a mux.
func Example_middleware() {
	mux := ax.NewMux()
	mux.Use(func(next ax.Handler) ax.Handler {
		return ax.HandlerFunc(func(ctx context.Context, t *ax.Task) error {
			fmt.Println("begin", t.Kind, t.Headers()["tenant"])
			err := next.Handle(ctx, t)
			fmt.Println("end", t.Kind, err)
			return err
		})
	})
	ax.Handle(mux, "mail", func(ctx context.Context, to string) error {
		fmt.Println("to", to)
		return nil
	})
	s, ended := started(sched.Config{Mux: mux})
	defer s.Drain(context.Background())

	s.Submit(context.Background(), ax.Submission{Kind: "mail", Args: "a@example.com", Headers: map[string]string{"tenant": "blue"}})
	<-ended
	// Output:
	// begin mail blue
	// to a@example.com
	// end mail <nil>
}

// The ordered tasks of a key run one after another, by due time, however many workers are free.
func Example_orderedKey() {
	mux := ax.NewMux()
	mux.Handle("step", ax.HandlerFunc(func(ctx context.Context, t *ax.Task) error {
		fmt.Println("begin", t.ID)
		if t.ID == "account-9/1" && t.Attempt == 1 {
			return ax.RetryAfter(time.Millisecond, errors.New("busy")) // the others wait through the retry
		}
		fmt.Println("end", t.ID)
		return nil
	}))
	s, ended := started(sched.Config{Mux: mux, Workers: 8})
	defer s.Drain(context.Background())

	s.SubmitMany(context.Background(), []ax.Submission{
		{ID: "account-9/1", Kind: "step", Ordered: true},
		{ID: "account-9/2", Kind: "step", Ordered: true},
	})
	<-ended
	<-ended
	// Output:
	// begin account-9/1
	// begin account-9/1
	// end account-9/1
	// begin account-9/2
	// end account-9/2
}

// At most one task of this kind and payload per window and key.
func Example_uniqueWindow() {
	s, _ := started(sched.Config{})
	defer s.Drain(context.Background())
	remind := ax.Submission{Key: "user-7", Kind: "remind", Args: "cart",
		Unique: ax.Unique{By: ax.ByContent, Window: time.Hour}, In: time.Minute}

	first, _ := s.Submit(context.Background(), remind)
	second, _ := s.Submit(context.Background(), remind)
	fmt.Println(first.Code, second.Code, second.ID == first.ID)
	// Output: created known true
}

// Limits bound a kind on this scheduler, or a key.
func Example_limits() {
	var running atomic.Int32
	var tooMany atomic.Bool
	mux := ax.NewMux()
	mux.Handle("sms", ax.HandlerFunc(func(ctx context.Context, t *ax.Task) error {
		if running.Add(1) > 2 {
			tooMany.Store(true)
		}
		running.Add(-1)
		return nil
	}))
	s, ended := started(sched.Config{Mux: mux, Workers: 8, Limits: sched.Limits{
		Kinds:   map[string]sched.Limit{"sms": {Concurrent: 2}},                 // and PerSecond, Burst
		EachKey: sched.Limit{PerSecond: 1000, Burst: 2},                         // every customer, for himself
		Keys:    map[string]sched.Limit{"customer-vip": {PerSecond: 1_000_000}}, // but this one
	}})
	defer s.Drain(context.Background())

	for i := range 8 {
		s.Submit(context.Background(), ax.Submission{ID: fmt.Sprint("customer-1/sms-", i), Kind: "sms"})
	}
	for range 8 {
		<-ended
	}
	fmt.Println("more than two at once:", tooMany.Load())
	// Output: more than two at once: false
}

// A full queue is an error at once, never a hang and never a drop.
func Example_fullQueue() {
	s, _ := started(sched.Config{MaxPending: 2}) // with WaitForRoom, Submit waits for room until its context ends
	defer s.Drain(context.Background())
	ctx := context.Background()
	submit := func(id string) {
		_, err := s.Submit(ctx, ax.Submission{ID: id, Kind: "work", In: time.Hour})
		fmt.Println(id, err == nil, errors.Is(err, ax.ErrFull))
	}
	submit("a")
	submit("b")
	submit("c")
	s.Cancel(ctx, "a") // makes room
	submit("c")
	// Output:
	// a true false
	// b true false
	// c false true
	// c true false
}

// A drain lets what runs finish, and says what is left.
func ExampleScheduler_Drain() {
	mux := ax.NewMux()
	ax.Handle(mux, "work", func(ctx context.Context, _ struct{}) error { return nil })
	s, ended := started(sched.Config{Mux: mux})
	ctx := context.Background()

	s.Submit(ctx, ax.Submission{ID: "now", Kind: "work"})
	s.Submit(ctx, ax.Submission{ID: "tomorrow", Kind: "work", In: 24 * time.Hour})
	<-ended

	bound, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	receipt, err := s.Drain(bound)
	fmt.Println("done", receipt.Done, "returned", len(receipt.Returned), "running", len(receipt.Running), err)
	for _, t := range receipt.Returned { // in memory they are gone now: keep them, if they matter
		fmt.Println(t.ID, t.State)
	}
	_, err = s.Submit(ctx, ax.Submission{Kind: "work"})
	fmt.Println(errors.Is(err, ax.ErrClosed))
	// Output:
	// done 1 returned 1 running 0 <nil>
	// tomorrow SCHEDULED
	// true
}

// A finished task can be run again as it was: the same id, the next run.
func ExampleScheduler_Rerun() {
	var fixed atomic.Bool
	mux := ax.NewMux()
	ax.Handle(mux, "reconcile", func(ctx context.Context, day string) error {
		if !fixed.Load() {
			return ax.NoRetry(errors.New("file is missing"))
		}
		return nil
	})
	s, ended := started(sched.Config{Mux: mux})
	defer s.Drain(context.Background())
	ctx := context.Background()

	s.Submit(ctx, ax.Submission{ID: "day/2026-11-30", Kind: "reconcile", Args: "2026-11-30"})
	t := <-ended
	fmt.Println("run", t.Run, t.State)

	fixed.Store(true)
	if _, err := s.Rerun(ctx, "day/2026-11-30"); err != nil {
		log.Fatal(err)
	}
	t = <-ended
	fmt.Println("run", t.Run, t.State, "attempts in all:", len(t.Attempts()))
	// Output:
	// run 1 FAILED
	// run 2 SUCCESS attempts in all: 2
}

// The attempt token grows with every attempt of a key. A database that keeps the highest one it has seen refuses what a
// late twin of an old attempt still writes.
func Example_fence() {
	mux := ax.NewMux()
	ax.Handle(mux, "ship", func(ctx context.Context, order int) error {
		token := ax.TokenFrom(ctx).String() // 40 hex digits that sort as text
		fmt.Println(len(token), "digits")
		// res, err := db.ExecContext(ctx,
		//	`UPDATE orders SET state = 'shipped', fence = $1 WHERE id = $2 AND state = 'paid' AND fence < $1`,
		//	token, order)
		//
		// No row changed: the order is shipped already, or a newer attempt was here. Look which, and return nil or
		// ax.Cancel. The condition on the state makes the effect happen once; the fence keeps the late one out.
		return nil
	})
	s, ended := started(sched.Config{Mux: mux})
	defer s.Drain(context.Background())

	s.Submit(context.Background(), ax.Submission{ID: "order-5/ship", Kind: "ship", Args: 5})
	<-ended
	// Output: 40 digits
}
