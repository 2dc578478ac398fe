package axtest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/axtest"
	"github.com/axsched/ax/sched"
)

// test stands for
//
//	func TestSomething(t *testing.T) { synctest.Test(t, func(t *testing.T) { ... }) }
//
// since an example has no *testing.T.
func test(f func(t *testing.T)) {
	out := os.Stdout // what the example prints; what package testing says goes nowhere
	os.Stdout, _ = os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	defer func() { os.Stdout = out }()
	ran := false
	everything := func(string, string) (bool, error) { return true, nil }
	ok := testing.RunTests(everything, []testing.InternalTest{{Name: "Test", F: func(t *testing.T) {
		if ran { // -count=2 and -cpu=1,2 repeat it
			return
		}
		ran = true
		silent := os.Stdout
		os.Stdout = out
		defer func() { os.Stdout = silent }()
		synctest.Test(t, f)
	}}})
	if !ok {
		fmt.Fprintln(out, "the test failed")
	}
}

// A delay of 15 minutes is over in no time.
func Example() {
	test(func(t *testing.T) {
		mux := ax.NewMux()
		ax.Handle(mux, "close-order", func(ctx context.Context, order int) error {
			fmt.Println("closing order", order)
			return nil
		})
		s := axtest.Start(t, sched.Config{Mux: mux})
		task := axtest.Submit(t, s, ax.Submission{Kind: "close-order", Args: 123, In: 15 * time.Minute})

		axtest.Wait(15*time.Minute - 1)
		axtest.RequireState(t, s, task.ID, ax.Scheduled)
		fmt.Println("not yet")
		axtest.Wait(1)
		axtest.RequireState(t, s, task.ID, ax.Success)
	})
	// Output:
	// not yet
	// closing order 123
}

// shop is code under test: it submits tasks.
type shop struct{ tasks *sched.Scheduler }

func (s shop) PlaceOrder(ctx context.Context, id string) error {
	_, err := s.tasks.Submit(ctx, ax.Submission{Key: "order-" + id, ID: "close", Kind: "close-order", In: time.Hour})
	return err
}

// What did my code submit? A scheduler without handlers only keeps it.
func ExampleRequireSubmitted() {
	test(func(t *testing.T) {
		s := axtest.Start(t, sched.Config{})
		shop{s}.PlaceOrder(t.Context(), "7")

		for _, task := range axtest.RequireSubmitted(t, s, "close-order", 1) {
			fmt.Println(task.ID, "in", task.Due.Sub(task.Created))
		}
	})
	// Output: order-7/close in 1h0m0s
}

// Does my handler do the right thing? Work runs one attempt; no bubble is needed.
func ExampleWork() {
	mux := ax.NewMux()
	ax.Handle(mux, "charge", func(ctx context.Context, cents int) error {
		switch {
		case cents < 0:
			return ax.NoRetry(errors.New("negative amount"))
		case cents > 1000:
			return ax.RetryAfter(time.Hour, errors.New("limit of the day is reached"))
		}
		return ax.Return(ctx, "receipt 1")
	})
	test(func(t *testing.T) { // a plain test would do
		for _, cents := range []int{5, -5, 5000} {
			task := axtest.Work(t, mux, ax.Submission{Kind: "charge", Args: cents})
			fmt.Printf("%v %s%s\n", task.State, task.Result(), task.LastError())
		}
	})
	// Output:
	// SUCCESS "receipt 1"
	// FAILED negative amount
	// SCHEDULED limit of the day is reached
}

// A retry waits for its backoff.
func ExampleWait() {
	test(func(t *testing.T) {
		mux := ax.NewMux()
		mux.Handle("flaky", ax.HandlerFunc(func(ctx context.Context, task *ax.Task) error {
			if task.Attempt < 3 {
				return errors.New("503")
			}
			return nil
		}))
		s := axtest.Start(t, sched.Config{Mux: mux})
		task := axtest.Submit(t, s, ax.Submission{Kind: "flaky", Backoff: ax.Backoff{Jitter: -1}}) // 1 s, 2 s, 4 s
		axtest.Wait(2 * time.Second)
		task = axtest.RequireState(t, s, task.ID, ax.Scheduled)
		fmt.Println("after 2 s: attempt", task.Attempt, "failed:", task.LastError())
		axtest.Wait(time.Second)
		task = axtest.RequireState(t, s, task.ID, ax.Success)
		fmt.Println("after 3 s: attempt", task.Attempt)
	})
	// Output:
	// after 2 s: attempt 2 failed: 503
	// after 3 s: attempt 3
}

// The wall clock is set forward: what was asked for "in an hour" still comes in an hour, what was asked for an instant
// comes when the clock says so.
func ExampleClock() {
	test(func(t *testing.T) {
		began := time.Now()
		mux := ax.NewMux()
		mux.Handle("tell", ax.HandlerFunc(func(ctx context.Context, task *ax.Task) error {
			fmt.Println(task.ID, "after", time.Since(began).Round(time.Minute))
			return nil
		}))
		clock := axtest.NewClock()
		s := axtest.Start(t, sched.Config{Mux: mux, Clock: clock})
		axtest.Submit(t, s, ax.Submission{ID: "relative", Kind: "tell", In: time.Hour})
		axtest.Submit(t, s, ax.Submission{ID: "absolute", Kind: "tell", At: clock.Now().Add(time.Hour)})
		clock.Step(20 * time.Minute)
		axtest.Wait(2 * time.Hour)
	})
	// Output:
	// absolute after 40m0s
	// relative after 1h0m0s
}
