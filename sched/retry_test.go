package sched_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/axtest"
	"github.com/axsched/ax/sched"
)

// 10,000 tasks that fail together do not come back together.
func TestC84_HerdIsSpread(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		const n = 10_000
		s := begin(t, sched.Config{Workers: n, Mux: one(r.handler(func(_ context.Context, t *ax.Task) error {
			if t.Attempt == 1 {
				return errWork
			}
			return nil
		}))})
		submitAll(t, s, many(n, "t", ax.Submission{}))
		axtest.Wait(10 * time.Second)
		bins := map[time.Duration]int{}
		var first, last time.Duration
		for _, st := range r.all() {
			if st.attempt == 1 {
				if st.at != 0 {
					t.Fatalf("%s first started at %v", st.id, st.at)
				}
				continue
			}
			if st.at < time.Second || st.at > 1501*time.Millisecond { // the wheel rounds up to a millisecond
				t.Fatalf("%s came back after %v, want 1 to 1.5 s", st.id, st.at)
			}
			bins[st.at/(100*time.Millisecond)]++
			if first == 0 || st.at < first {
				first = st.at
			}
			last = max(last, st.at)
		}
		total, fullest := 0, 0
		for _, k := range bins {
			total += k
			fullest = max(fullest, k)
		}
		if total != n || fullest > 2*n/5 || last-first < 490*time.Millisecond {
			t.Errorf("%d came back over %v, the fullest 100 ms has %d", total, last-first, fullest)
		}
	})
}

// A handler that ends its goroutine, or panics, is a failed attempt like any other: it is counted, backs off, and ends.
// The others do not notice; the dead one can be run again.
func TestC85_HandlersThatKillTheirWorker(t *testing.T) {
	for name, kill := range map[string]func(){"goexit": runtime.Goexit, "panic": func() { panic("boom") },
		"nil map": func() { m := map[string]int(nil); maps.Copy(m, map[string]int{"x": 1}) }, "panic nil": func() { panic(nil) }} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *recorder) {
				deadly := true
				mux := muxOf(map[string]ax.HandlerFunc{"work": r.handler(nil), "deadly": r.handler(func(context.Context, *ax.Task) error {
					if deadly {
						kill()
					}
					return nil
				})})
				s := begin(t, sched.Config{Mux: mux, Workers: 3})
				submit(t, s, ax.Submission{ID: "dead", Kind: "deadly", MaxRetries: 2, Backoff: ax.Backoff{Jitter: -1}})
				submitAll(t, s, many(50, "normal", ax.Submission{}))
				axtest.Wait(time.Minute)
				r.at(t, "dead", 0, time.Second, 3*time.Second)
				task := axtest.RequireState(t, s, "dead", ax.Failed)
				if len(task.Attempts()) != 3 || task.LastError() == "" {
					t.Errorf("%d attempts, error %q", len(task.Attempts()), task.LastError())
				}
				if name != "goexit" && (!strings.Contains(task.LastError(), "panic: ") || !strings.Contains(task.LastError(), "retry_test.go")) {
					t.Errorf("no stack in %q", task.LastError())
				}
				if st := s.Stats(); st.Succeeded != 50 || st.Failed != 1 {
					t.Errorf("%d succeeded, %d failed", st.Succeeded, st.Failed)
				}
				deadly = false
				if a, err := s.Rerun(t.Context(), "dead"); err != nil || a.Run != 2 {
					t.Fatal(a, err)
				}
				axtest.Wait(0)
				axtest.RequireState(t, s, "dead", ax.Success)
			})
		})
	}
}

// A worker that a handler has killed is replaced: all workers are there at the end.
func TestC85_WorkersAreReplaced(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		mux := muxOf(map[string]ax.HandlerFunc{"work": r.handler(sleep(time.Second)),
			"deadly": func(context.Context, *ax.Task) error { runtime.Goexit(); return nil }})
		s := begin(t, sched.Config{Mux: mux, Workers: 4})
		submitAll(t, s, many(100, "dead", ax.Submission{Kind: "deadly", MaxRetries: ax.NoRetries}))
		submitAll(t, s, many(8, "normal", ax.Submission{}))
		axtest.Wait(2 * time.Second)
		if r.most != 4 || len(r.all()) != 8 {
			t.Errorf("at most %d at once, %d starts", r.most, len(r.all()))
		}
		if st := s.Stats(); st.Failed != 100 || st.Succeeded != 8 {
			t.Errorf("%d failed, %d succeeded", st.Failed, st.Succeeded)
		}
	})
}

// The retry law: attempts after Base × 2^(n−1) up to Cap, MaxRetries of them, then FAILED. Nothing else is touched.
func TestRetryLaw(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		s := begin(t, sched.Config{Mux: one(r.handler(func(context.Context, *ax.Task) error { time.Sleep(time.Second); return errWork }))})
		submit(t, s, ax.Submission{ID: "five", MaxRetries: 5, Backoff: ax.Backoff{Base: 2 * time.Second, Cap: 10 * time.Second, Jitter: -1}})
		submit(t, s, ax.Submission{ID: "none", MaxRetries: ax.NoRetries})
		submit(t, s, ax.Submission{ID: "default", Backoff: ax.Backoff{Jitter: -1}})
		axtest.Wait(500 * time.Millisecond)
		axtest.RequireState(t, s, "five", ax.Running)
		axtest.Wait(time.Second)
		task := axtest.RequireState(t, s, "five", ax.Scheduled)
		if task.Marks&ax.Retrying == 0 || task.Attempt != 1 || task.At != ax.At(r.base.Add(3*time.Second)) || task.Due != ax.At(r.base) || task.LastError() != "no luck" {
			t.Errorf("between attempts: %+v", task)
		}
		axtest.Wait(time.Hour)
		sec := time.Second
		r.at(t, "five", 0, 3*sec, 8*sec, 17*sec, 28*sec, 39*sec) // a second of work, then 2 4 8 10 10
		r.at(t, "none", 0)
		r.at(t, "default", 0, 2*sec, 5*sec, 10*sec) // 1 2 4
		task = axtest.RequireState(t, s, "five", ax.Failed)
		if task.Attempt != 6 || len(task.Attempts()) != 6 || task.At != ax.At(r.base.Add(40*time.Second)) {
			t.Errorf("at the end: %+v with %d attempts", task, len(task.Attempts()))
		}
		for i, a := range task.Attempts() {
			if a.N != int32(i+1) || a.Run != 1 || a.Outcome != ax.OutcomeFailed || a.Error != "no luck" || a.Started == 0 || a.Ended.Sub(a.Started) != time.Second || a.Settled < a.Ended || a.Claimed > a.Started || a.Ready > a.Claimed {
				t.Errorf("attempt %d: %+v", i+1, a)
			}
		}
	})
}

// What a handler returns steers its task.
func TestControlErrors(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		wrap := func(err error) error { return fmt.Errorf("while at it: %w", err) }
		returns := map[string]error{
			"never":        ax.NoRetry(errWork),
			"never-nil":    ax.NoRetry(nil),
			"never-deep":   wrap(wrap(ax.NoRetry(errWork))),
			"joined":       errors.Join(errWork, ax.NoRetry(errWork)),
			"after":        ax.RetryAfter(time.Minute, errWork),
			"after-minus":  ax.RetryAfter(-time.Minute, errWork),
			"after-nil":    wrap(ax.RetryAfter(time.Minute, nil)),
			"cancel":       ax.Cancel(errWork),
			"cancel-nil":   ax.Cancel(nil),
			"cancel-deep":  wrap(ax.Cancel(errWork)),
			"ctx":          context.Canceled,
			"ctx-deadline": context.DeadlineExceeded,
			"shutdown":     ax.ErrShutdown, // nobody shuts down: an ordinary failure
			"canceled":     ax.ErrCanceled,
			"timeout":      ax.ErrTimeout,
		}
		handlers := map[string]ax.HandlerFunc{}
		for kind, err := range returns {
			handlers[kind] = r.handler(func(context.Context, *ax.Task) error { return err })
		}
		s := begin(t, sched.Config{Mux: muxOf(handlers)})
		for kind := range returns {
			submit(t, s, ax.Submission{ID: kind, Kind: kind, MaxRetries: 2, Backoff: ax.Backoff{Jitter: -1}})
		}
		axtest.Wait(time.Hour)
		for kind, err := range returns {
			state, outcome, at := ax.Failed, ax.OutcomeFailed, []time.Duration{0}
			switch {
			case strings.HasPrefix(kind, "never"), kind == "joined":
			case kind == "after" || kind == "after-nil":
				at = []time.Duration{0, time.Minute, 2 * time.Minute}
			case kind == "after-minus":
				at = []time.Duration{0, time.Millisecond, 2 * time.Millisecond} // at once: the wheel's next tick
			case strings.HasPrefix(kind, "cancel") && kind != "canceled":
				state, outcome = ax.Canceled, ax.OutcomeCanceled
			default:
				at = []time.Duration{0, time.Second, 3 * time.Second}
			}
			r.at(t, kind, at...)
			task := axtest.RequireState(t, s, kind, state)
			if task.Last.Outcome != outcome || len(task.Attempts()) != len(at) {
				t.Errorf("%s: outcome %v after %d attempts", kind, task.Last.Outcome, len(task.Attempts()))
			}
			if errors.Is(err, errWork) && !strings.Contains(task.LastError(), "no luck") {
				t.Errorf("%s: error %q has lost the handler's own", kind, task.LastError())
			}
		}
	})
}

// A panic's stack and an error text are kept up to their bound, cut between characters.
func TestErrorTextIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		mux := muxOf(map[string]ax.HandlerFunc{
			"long":  func(context.Context, *ax.Task) error { return errors.New("x" + strings.Repeat("é", ax.MaxErrorText)) },
			"panic": func(context.Context, *ax.Task) error { panic(strings.Repeat("é", ax.MaxErrorText)) },
		})
		s := begin(t, sched.Config{Mux: mux})
		for _, kind := range []string{"long", "panic"} {
			submit(t, s, ax.Submission{ID: kind, Kind: kind, MaxRetries: ax.NoRetries})
		}
		axtest.Wait(0)
		for _, kind := range []string{"long", "panic"} {
			text := axtest.RequireState(t, s, kind, ax.Failed).LastError()
			if len(text) > ax.MaxErrorText || len(text) < ax.MaxErrorText-3 || strings.ToValidUTF8(text, "") != text {
				t.Errorf("%s: %d bytes, valid %v", kind, len(text), strings.ToValidUTF8(text, "") == text)
			}
		}
	})
}

// A person's re-run opens the next run with all attempts anew; history keeps all.
func TestRerun(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		var outcome error = errWork
		s := begin(t, sched.Config{Mux: one(r.handler(func(context.Context, *ax.Task) error { return outcome }))})
		ctx := t.Context()
		submit(t, s, ax.Submission{ID: "a", MaxRetries: 1, In: time.Hour, Payload: []byte("p"), Priority: ax.P(7), Headers: map[string]string{"h": "v"}})
		a, err := s.Rerun(ctx, "a")
		want(t, "re-run of a waiting task", a, err, ax.Refused, ax.Scheduled, ax.ErrRunning)
		a, err = s.Rerun(ctx, "none")
		want(t, "re-run of nothing", a, err, ax.Refused, 0, ax.ErrNoTask)
		axtest.Wait(2 * time.Hour)
		axtest.RequireState(t, s, "a", ax.Failed)
		outcome = nil
		for run := int32(2); run <= 4; run++ {
			a, err = s.Rerun(ctx, "a")
			want(t, "re-run", a, err, ax.Done, ax.Scheduled, nil)
			if a.Run != run {
				t.Errorf("run %d, want %d", a.Run, run)
			}
			axtest.Wait(time.Minute)
			task := axtest.RequireState(t, s, "a", ax.Success)
			if task.Run != run || task.Attempt != 1 || len(task.Attempts()) != int(run)+1 || string(task.Payload) != "p" || task.Priority != ax.P(7) || task.Headers()["h"] != "v" {
				t.Errorf("run %d: %+v with %d attempts", run, task, len(task.Attempts()))
			}
		}
		page, err := s.History(ctx, ax.Query{Prefix: "a"})
		if err != nil || len(page.Tasks) != 4 {
			t.Fatalf("history of %d runs, %v", len(page.Tasks), err)
		}
		for i, task := range page.Tasks {
			if task.Run != int32(4-i) || task.State.Terminal() == false || (task.State == ax.Failed) != (task.Run == 1) {
				t.Errorf("history %d: %v", i, task)
			}
		}
		if st := s.Stats(); st.Submitted != 4 || st.Succeeded != 3 || st.Failed != 1 {
			t.Errorf("submitted %d, succeeded %d, failed %d", st.Submitted, st.Succeeded, st.Failed)
		}
		facts, err := s.Facts(ctx, "a")
		if n := len(slices.DeleteFunc(facts, func(f ax.Fact) bool { return f.What != ax.FactRerun })); err != nil || n != 3 {
			t.Errorf("%d facts of re-runs, %v", n, err)
		}
	})
}
