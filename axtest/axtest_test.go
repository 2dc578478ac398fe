package axtest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/axtest"
	"github.com/axsched/ax/sched"
)

func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, other := axtest.NewClock(), axtest.NewClock()
		if first, again := c.BootTag(), c.BootTag(); first == 0 || first != again || first == other.BootTag() {
			t.Error("a boot has one tag, not 0, and two machines have two")
		}
		fired := make(chan time.Time, 1)
		timer := c.NewTimer(func() { fired <- time.Now() })
		wall, boot, mono, start := c.Now(), c.Boot(), c.Mono(), time.Now()
		check := func(when string, w, b, m time.Duration) {
			t.Helper()
			if c.Now().Sub(wall) != w || c.Boot()-boot != b.Microseconds() || c.Mono()-mono != m.Microseconds() {
				t.Errorf("%s: wall %v boot %d us mono %d us, want %v %v %v", when, c.Now().Sub(wall), c.Boot()-boot, c.Mono()-mono, w, b, m)
			}
		}
		check("at first", 0, 0, 0)
		timer.Reset(time.Hour)
		time.Sleep(time.Minute)
		check("a minute later", time.Minute, time.Minute, time.Minute)
		c.Step(time.Hour)
		check("after a step", 61*time.Minute, time.Minute, time.Minute)
		c.Step(-2 * time.Hour)
		check("after a step back", -59*time.Minute, time.Minute, time.Minute)
		c.Suspend(30 * time.Minute)
		check("after a suspend", -29*time.Minute, 31*time.Minute, time.Minute)
		if at := <-fired; at.Sub(start) != time.Hour {
			t.Errorf("the timer of an hour came after %v", at.Sub(start))
		}
		check("after the timer", 30*time.Minute, 90*time.Minute, time.Hour)
		timer.Reset(time.Hour)
		timer.Stop()
		time.Sleep(2 * time.Hour)
		select {
		case <-fired:
			t.Error("a stopped timer came")
		default:
		}
	})
}

// Outside of a bubble time is real.
func TestClockOutside(t *testing.T) {
	c := axtest.NewClock()
	c.Step(time.Hour)
	before := c.Boot()
	if ahead := time.Until(c.Now()); ahead < 59*time.Minute || ahead > 61*time.Minute {
		t.Errorf("after a step of an hour it is %v ahead", ahead)
	}
	done := make(chan struct{})
	c.NewTimer(func() { close(done) }).Reset(time.Millisecond)
	<-done
	if passed := c.Boot() - before; passed < 1000 {
		t.Errorf("Boot ran %d us over a timer of 1 ms", passed)
	}
}

func TestWork(t *testing.T) {
	mux := ax.NewMux()
	used := 0
	mux.Use(func(next ax.Handler) ax.Handler {
		return ax.HandlerFunc(func(ctx context.Context, t *ax.Task) error { used++; return next.Handle(ctx, t) })
	})
	on := func(kind string, f ax.HandlerFunc) { mux.Handle(kind, f) }
	on("ok", func(ctx context.Context, t *ax.Task) error {
		info, ok := ax.InfoFrom(ctx)
		return ax.Return(ctx, fmt.Sprint(string(t.Payload), " ", info.Attempt, ok, info.Token.IsZero()))
	})
	on("fails", func(context.Context, *ax.Task) error { return errors.New("no") })
	on("soon", func(context.Context, *ax.Task) error { return ax.RetryAfter(time.Microsecond, errors.New("again")) })
	on("cancels", func(context.Context, *ax.Task) error { return ax.Cancel(nil) })
	on("panics", func(context.Context, *ax.Task) error { panic("boom") })
	on("goexit", func(context.Context, *ax.Task) error { runtime.Goexit(); return nil })
	on("slow", func(ctx context.Context, t *ax.Task) error { <-ctx.Done(); return ctx.Err() })
	for _, c := range []struct {
		sub     ax.Submission
		state   ax.State
		outcome ax.Outcome
	}{
		{ax.Submission{Kind: "ok", Payload: []byte("x"), In: time.Hour}, ax.Success, ax.OutcomeSuccess},
		{ax.Submission{Kind: "ok", Payload: []byte("x"), At: time.Now().Add(time.Hour)}, ax.Success, ax.OutcomeSuccess},
		{ax.Submission{Kind: "fails"}, ax.Scheduled, ax.OutcomeFailed},
		{ax.Submission{Kind: "soon"}, ax.Scheduled, ax.OutcomeFailed},
		{ax.Submission{Kind: "fails", MaxRetries: ax.NoRetries}, ax.Failed, ax.OutcomeFailed},
		{ax.Submission{Kind: "cancels"}, ax.Canceled, ax.OutcomeCanceled},
		{ax.Submission{Kind: "panics"}, ax.Scheduled, ax.OutcomeFailed},
		{ax.Submission{Kind: "goexit"}, ax.Scheduled, ax.OutcomeFailed},
		{ax.Submission{Kind: "slow", Timeout: 5 * time.Millisecond}, ax.Timeout, ax.OutcomeTimeout},
	} {
		task := axtest.Work(t, mux, c.sub)
		if task.State != c.state || task.Last.Outcome != c.outcome || task.Attempt != 1 || len(task.Attempts()) != 1 {
			t.Errorf("%s: %v after %d attempts, outcome %v, error %.80q", c.sub.Kind, task, len(task.Attempts()), task.Last.Outcome, task.LastError())
		}
		if c.state == ax.Success && string(task.Result()) != `"x 1 true false"` {
			t.Errorf("result %s", task.Result())
		}
	}
	if used != 9 {
		t.Errorf("the mux's middleware was used %d times, want 9", used)
	}
}

// A handler that soon comes back gets one attempt, also in a bubble.
func TestWorkInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mux := ax.NewMux()
		mux.Handle("k", ax.HandlerFunc(func(context.Context, *ax.Task) error {
			time.Sleep(time.Hour)
			return errors.New("no")
		}))
		task := axtest.Work(t, mux, ax.Submission{Kind: "k", Timeout: 2 * time.Hour})
		if task.State != ax.Scheduled || task.Last.Ended.Sub(task.Last.Started) != time.Hour {
			t.Errorf("%v, ran for %v", task, task.Last.Ended.Sub(task.Last.Started))
		}
	})
}

// RequireSubmitted counts what waits, what ended and what a shutdown returned.
func TestRequireSubmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mux := ax.NewMux()
		mux.Handle("k", ax.HandlerFunc(func(context.Context, *ax.Task) error { return nil }))
		s := axtest.Start(t, sched.Config{Mux: mux})
		subs := make([]ax.Submission, 1500)
		for i := range subs {
			subs[i] = ax.Submission{Kind: "k", In: time.Duration(i%2) * time.Hour}
		}
		if _, err := s.SubmitMany(t.Context(), subs); err != nil {
			t.Fatal(err)
		}
		axtest.Submit(t, s, ax.Submission{Kind: "other"})
		axtest.Wait(0)
		axtest.RequireSubmitted(t, s, "k", 1500)
		axtest.RequireSubmitted(t, s, "none", 0)
		s.Stop(context.Background())
		axtest.RequireSubmitted(t, s, "k", 1500)
		axtest.RequireSubmitted(t, s, "other", 1)
	})
}

// failing is a test that notes its failure instead of failing.
type failing struct {
	testing.TB
	failed bool
}

func (f *failing) Helper() {}
func (f *failing) Fatalf(string, ...any) {
	f.failed = true
	runtime.Goexit()
}

func TestRequirementsFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := axtest.Start(t, sched.Config{})
		axtest.Submit(t, s, ax.Submission{ID: "a", Kind: "k"})
		for name, require := range map[string]func(t testing.TB){
			"state":     func(t testing.TB) { axtest.RequireState(t, s, "a", ax.Success) },
			"no task":   func(t testing.TB) { axtest.RequireState(t, s, "b", ax.Scheduled) },
			"count":     func(t testing.TB) { axtest.RequireSubmitted(t, s, "k", 2) },
			"repeat":    func(t testing.TB) { axtest.Submit(t, s, ax.Submission{ID: "a", Kind: "k"}) },
			"invalid":   func(t testing.TB) { axtest.Submit(t, s, ax.Submission{}) },
			"config":    func(t testing.TB) { axtest.Start(t, sched.Config{Workers: -1}) },
			"no kind":   func(t testing.TB) { axtest.Work(t, ax.NewMux(), ax.Submission{Kind: "k"}) },
			"wrong mux": func(t testing.TB) { m := ax.NewMux(); m.Handle("", nil); axtest.Work(t, m, ax.Submission{Kind: "k"}) },
		} {
			f := &failing{TB: t}
			done := make(chan struct{})
			go func() { defer close(done); require(f) }()
			<-done
			if !f.failed {
				t.Errorf("%s: did not fail", name)
			}
		}
	})
}
