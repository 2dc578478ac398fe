package sched_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/axtest"
	"github.com/axsched/ax/sched"
)

// List pages through the live tasks by id, filtered; History through the finished ones, newest first; Get finds both.
func TestListGetHistory(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		s := begin(t, sched.Config{Partitions: 3, Mux: muxOf(map[string]ax.HandlerFunc{"work": r.handler(nil),
			"fail": r.handler(func(context.Context, *ax.Task) error { return errWork }), "run": r.handler(obey(time.Hour))})})
		ctx := t.Context()
		var ids []string
		ids = append(ids, submitAll(t, s, many(2500, "w", ax.Submission{In: time.Hour}))...)
		ids = append(ids, submitAll(t, s, many(50, "r", ax.Submission{Kind: "run"}))...)
		axtest.Wait(0)
		var got []string
		for after := ""; ; {
			page, err := s.List(ctx, sched.ListRequest{After: after, Limit: 777})
			if err != nil {
				t.Fatal(err)
			}
			for _, task := range page {
				got = append(got, task.ID)
			}
			if len(page) < 777 {
				break
			}
			after = page[len(page)-1].ID
		}
		if !slices.Equal(got, sorted(ids)) {
			t.Errorf("%d listed of %d, sorted %v", len(got), len(ids), slices.IsSorted(got))
		}
		for _, c := range []struct {
			req sched.ListRequest
			n   int
		}{{sched.ListRequest{}, 100}, {sched.ListRequest{Limit: 1e9}, 1000}, {sched.ListRequest{State: ax.Running, Limit: 1000}, 50}, {sched.ListRequest{State: ax.Held}, 0},
			{sched.ListRequest{Kind: "run"}, 50}, {sched.ListRequest{Kind: "none"}, 0}, {sched.ListRequest{Prefix: "r-1"}, 11}, {sched.ListRequest{Prefix: "w-24", Kind: "work", State: ax.Scheduled, Limit: 1000}, 111},
			{sched.ListRequest{After: "w-999", Limit: 10}, 0}, {sched.ListRequest{After: "w-998", Limit: 10}, 1}} {
			if page, err := s.List(ctx, c.req); err != nil || len(page) != c.n {
				t.Errorf("%+v: %d, want %d, %v", c.req, len(page), c.n, err)
			}
		}
		if _, err := s.Get(ctx, "nobody"); !errors.Is(err, ax.ErrNoTask) {
			t.Errorf("get nobody: %v", err)
		}
		for i := range 30 {
			submit(t, s, ax.Submission{ID: fmt.Sprint("f-", i), Kind: "fail", MaxRetries: ax.NoRetries})
			axtest.Wait(time.Minute)
		}
		var finished []string
		for q := (ax.Query{Kind: "fail", Limit: 7}); ; {
			page, err := s.History(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			for _, task := range page.Tasks {
				finished = append(finished, task.ID)
			}
			if q.Page = page.Next; q.Page == "" {
				break
			}
		}
		for i, id := range finished {
			if id != fmt.Sprint("f-", 29-i) {
				t.Fatalf("history %v", finished)
			}
		}
		task := axtest.RequireState(t, s, "f-3", ax.Failed)
		steps := []string{}
		for i, hop := range task.Timeline() {
			steps = append(steps, hop.Step)
			if i > 0 && hop.At < task.Timeline()[i-1].At {
				t.Errorf("hop %d runs backwards", i)
			}
		}
		if !slices.Equal(steps, []string{"submitted", "due", "ready", "claimed", "started", "ended", "settled"}) || len(finished) != 30 {
			t.Errorf("timeline %v, %d finished", steps, len(finished))
		}
		canceled, stop := context.WithCancel(ctx)
		stop()
		if _, err := s.List(canceled, sched.ListRequest{}); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("list with an ended context: %v", err)
		}
	})
}

// Explain says what a task waits for.
func TestExplain(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		mux := muxOf(map[string]ax.HandlerFunc{"run": sleep(time.Hour), "limited": sleep(time.Hour), "work": r.handler(nil), "over": sleep(time.Minute),
			"fail": func(context.Context, *ax.Task) error { return errWork }})
		s := begin(t, sched.Config{Mux: mux, Workers: 3, Limits: sched.Limits{Keys: map[string]sched.Limit{"k": {Concurrent: 1}}}})
		for _, sub := range []ax.Submission{{ID: "fail", Kind: "fail", Backoff: ax.Backoff{Base: 24 * time.Hour}}, {ID: "not-due", In: time.Hour},
			{ID: "nobody", Kind: "nobody"}, {ID: "k/1", Kind: "limited", Timeout: 2 * time.Hour}, {ID: "k/2", Kind: "limited"}, {ID: "over", Kind: "over", Timeout: time.Second}, {ID: "run", Kind: "run", Timeout: 2 * time.Hour}} {
			submit(t, s, sub)
			axtest.Wait(0)
		}
		submit(t, s, ax.Submission{ID: "busy"})
		axtest.Wait(10 * time.Second)
		for id, why := range map[string]sched.Why{"fail": sched.WhyRetry, "not-due": sched.WhyNotDue, "nobody": sched.WhyNoExecutor, "k/1": sched.WhyRunning, "k/2": sched.WhyLimit,
			"over": sched.WhyOverrun, "run": sched.WhyRunning, "busy": sched.WhyBusy} {
			x, err := s.Explain(t.Context(), id)
			if err != nil || x.Why != why || x.Task == nil || x.Task.ID != id {
				t.Errorf("%s waits for %v, %v; want %v", id, x.Why, err, why)
			}
		}
		axtest.Wait(3 * time.Hour)
		if _, err := s.Explain(t.Context(), "over"); !errors.Is(err, ax.ErrFinished) {
			t.Errorf("explain what has ended: %v", err)
		}
		if _, err := s.Explain(t.Context(), "none"); !errors.Is(err, ax.ErrNoTask) {
			t.Errorf("explain nothing: %v", err)
		}
	})
}

// Events tell every end once, with the task as it ended.
func TestEvents(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		var events eventLog
		mux := muxOf(map[string]ax.HandlerFunc{"work": nil2, "fail": func(context.Context, *ax.Task) error { return errWork }, "slow": sleep(time.Minute),
			"cancel": func(context.Context, *ax.Task) error { return ax.Cancel(nil) }})
		s := begin(t, sched.Config{Mux: mux, OnEvent: events.add})
		for kind := range map[string]bool{"work": true, "fail": true, "slow": true, "cancel": true} {
			submit(t, s, ax.Submission{ID: kind, Kind: kind, Timeout: time.Second, MaxRetries: 1})
		}
		submit(t, s, ax.Submission{ID: "waiting", In: time.Hour})
		s.Cancel(t.Context(), "waiting")
		axtest.Wait(time.Hour)
		s.Rerun(t.Context(), "work")
		axtest.Wait(0)
		var got []string
		for _, e := range events.all() {
			got = append(got, fmt.Sprint(e.Task.ID, " ", e.Task.State, " ", e.Task.Run, " ", e.Overrun))
		}
		if want := []string{"cancel CANCELED 1 false", "fail FAILED 1 false", "slow RUNNING 1 true", "slow TIMEOUT 1 false", "waiting CANCELED 1 false", "work SUCCESS 1 false", "work SUCCESS 2 false"}; !slices.Equal(sorted(got), want) {
			t.Errorf("%q", sorted(got))
		}
	})
}

func nil2(context.Context, *ax.Task) error { return nil }

// Reschedule and RunNow move what has not started, and nothing else.
func TestReschedule(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		fail := true
		mux := muxOf(map[string]ax.HandlerFunc{"work": r.handler(nil), "run": r.handler(sleep(time.Hour)),
			"flaky": r.handler(func(context.Context, *ax.Task) error {
				if fail {
					return errWork
				}
				return nil
			})})
		s := begin(t, sched.Config{Mux: mux})
		ctx, min := t.Context(), time.Minute
		for _, id := range []string{"later", "sooner", "now", "at", "past"} {
			submit(t, s, ax.Submission{ID: id, In: 30 * min})
		}
		submit(t, s, ax.Submission{ID: "run", Kind: "run"})
		submit(t, s, ax.Submission{ID: "retry", Kind: "flaky", Backoff: ax.Backoff{Base: time.Hour, Jitter: -1}})
		submit(t, s, ax.Submission{ID: "retry-moved", Kind: "flaky", Backoff: ax.Backoff{Base: time.Hour, Jitter: -1}})
		axtest.Wait(min)
		fail = false
		ok := func(what string, a ax.Answer, err error) {
			t.Helper()
			want(t, what, a, err, ax.Done, ax.Scheduled, nil)
		}
		a, err := s.RescheduleIn(ctx, "later", 60*min)
		ok("later", a, err)
		a, err = s.RescheduleIn(ctx, "sooner", 10*min)
		ok("sooner", a, err)
		a, err = s.RunNow(ctx, "now")
		ok("now", a, err)
		a, err = s.Reschedule(ctx, "at", r.base.Add(45*min))
		ok("at", a, err)
		a, err = s.Reschedule(ctx, "past", r.base.Add(-24*time.Hour))
		ok("past", a, err)
		a, err = s.RunNow(ctx, "retry")
		ok("retry", a, err)
		a, err = s.RescheduleIn(ctx, "retry-moved", 5*min)
		ok("retry-moved", a, err)
		a, err = s.RunNow(ctx, "run")
		want(t, "running", a, err, ax.Refused, ax.Running, ax.ErrRunning)
		a, err = s.RescheduleIn(ctx, "none", min)
		want(t, "nothing", a, err, ax.Refused, 0, ax.ErrNoTask)
		axtest.Wait(2 * time.Hour)
		r.at(t, "later", 61*min)
		r.at(t, "sooner", 11*min)
		r.at(t, "now", min)
		r.at(t, "at", 45*min)
		r.at(t, "past", min)
		r.at(t, "retry", 0, min)
		r.at(t, "retry-moved", 0, 6*min)
		a, err = s.RunNow(ctx, "retry-moved")
		if !errors.Is(err, ax.ErrFinished) && !errors.Is(err, ax.ErrNoTask) {
			t.Errorf("what has ended: %v %v", a, err)
		}
	})
}

// The histogram's quantiles are exact to 1 µs below 32 µs and to about 3 % above, never below the exact one, and add up.
func TestHistogram(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	var zero sched.Histogram
	if zero.Count() != 0 || zero.Max() != 0 || zero.Quantile(0.5) != 0 || len(zero.Buckets()) != 0 {
		t.Error("the zero value is not empty")
	}
	for _, shape := range []func() time.Duration{
		func() time.Duration { return time.Duration(rng.Int64N(int64(40 * time.Microsecond))) },
		func() time.Duration { return time.Duration(rng.ExpFloat64() * float64(3*time.Millisecond)) },
		func() time.Duration { return time.Duration(rng.Int64N(int64(10 * time.Hour))) },
		func() time.Duration { return time.Duration(1) << rng.IntN(57) },
		func() time.Duration { return -time.Duration(rng.Int64N(100)) },
		func() time.Duration { return 31*time.Microsecond + time.Duration(rng.Int64N(3))*time.Microsecond },
	} {
		var h sched.Histogram
		var exact []time.Duration
		for range 10_000 {
			d := shape()
			h.Add(d)
			exact = append(exact, max(d, 0))
		}
		slices.Sort(exact)
		if h.Count() != len(exact) || h.Max() != exact[len(exact)-1] {
			t.Errorf("count %d, max %v; want %v", h.Count(), h.Max(), exact[len(exact)-1])
		}
		for _, q := range []float64{0, 0.0001, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 0.9999, 1} {
			want := exact[max(int(q*float64(len(exact))+0.999999), 1)-1].Truncate(time.Microsecond)
			got := h.Quantile(q)
			most := want + want/32 + time.Microsecond
			if want > 19*time.Hour {
				most = h.Max()
			}
			if got < want || got > most {
				t.Errorf("quantile %v: %v, exact %v, at most %v", q, got, want, most)
			}
		}
		total, last := uint64(0), time.Duration(-1)
		for _, b := range h.Buckets() {
			if b.UpTo <= last || b.Count == 0 {
				t.Errorf("bucket %+v after %v", b, last)
			}
			total, last = total+b.Count, b.UpTo
		}
		if total != uint64(len(exact)) {
			t.Errorf("the buckets hold %d", total)
		}
	}
	var h sched.Histogram
	h.Add(1<<63 - 1)
	if h.Max() != 1<<63-1 || h.Quantile(1) > h.Max() || h.Quantile(1) < 0 {
		t.Errorf("the longest duration: %v %v", h.Max(), h.Quantile(1))
	}
}

// The figures fit together at any moment, under load, and agree with what happened.
func TestStats(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		mux := muxOf(map[string]ax.HandlerFunc{"work": sleep(10 * time.Millisecond), "fail": func(context.Context, *ax.Task) error { return errWork },
			"slow": sleep(50 * time.Millisecond), "cancel": func(context.Context, *ax.Task) error { return ax.Cancel(nil) }})
		s := begin(t, sched.Config{Mux: mux, Workers: 10})
		kinds := []string{"work", "fail", "slow", "cancel", "nobody"}
		for i := range 1000 {
			submit(t, s, ax.Submission{Kind: kinds[i%5], Timeout: 20 * time.Millisecond, MaxRetries: 1, Backoff: ax.Backoff{Base: time.Millisecond}})
			if i%10 == 0 {
				time.Sleep(time.Millisecond)
				axtest.Wait(0)
				books(t, s)
			}
		}
		axtest.Wait(time.Hour)
		st := s.Stats()
		if st.Submitted != 1000 || st.Succeeded != 200 || st.Failed != 200 || st.TimedOut != 200 || st.Canceled != 200 || st.Scheduled != 200 || st.Unhandled != 200 || st.Pending != 200 || st.Running+st.Overrun+st.Ready+st.Refused+st.Known+st.Stale != 0 {
			t.Errorf("%+v", st)
		}
		if st.Lateness.Count() != 800 {
			t.Errorf("the lateness of %d first attempts is recorded", st.Lateness.Count())
		}
	})
}
