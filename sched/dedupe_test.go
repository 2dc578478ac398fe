package sched_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/axtest"
	"github.com/axsched/ax/memory"
	"github.com/axsched/ax/sched"
)

// The same id again says so, in every state: known with the state, or a conflict if the content differs.
func TestC112_SubmittedTwice(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		mux := muxOf(map[string]ax.HandlerFunc{"run": r.handler(sleep(time.Hour / 4)), "ok": r.handler(nil), "work": r.handler(nil),
			"fail": r.handler(func(context.Context, *ax.Task) error { return errWork }),
			"slow": r.handler(sleep(10 * time.Minute)), "cancel": r.handler(func(context.Context, *ax.Task) error { return ax.Cancel(nil) })})
		s := begin(t, sched.Config{Mux: mux})
		ctx := t.Context()
		stages := []struct {
			sub   ax.Submission
			state ax.State
		}{
			{ax.Submission{ID: "waiting", Kind: "ok", In: time.Hour}, ax.Scheduled},
			{ax.Submission{ID: "nobody", Kind: "no-handler"}, ax.Scheduled},
			{ax.Submission{ID: "running", Kind: "run"}, ax.Running},
			{ax.Submission{ID: "succeeded", Kind: "ok"}, ax.Success},
			{ax.Submission{ID: "dead", Kind: "fail", MaxRetries: ax.NoRetries}, ax.Failed},
			{ax.Submission{ID: "retrying", Kind: "fail", MaxRetries: 5, Backoff: ax.Backoff{Base: time.Hour}}, ax.Scheduled},
			{ax.Submission{ID: "late", Kind: "slow", Timeout: time.Minute}, ax.Timeout},
			{ax.Submission{ID: "canceled", Kind: "cancel"}, ax.Canceled},
		}
		for _, c := range stages {
			submit(t, s, c.sub)
		}
		axtest.Wait(10 * time.Minute)
		for _, c := range stages {
			axtest.RequireState(t, s, c.sub.ID, c.state)
			a, err := s.Submit(ctx, c.sub)
			want(t, c.sub.ID+", the same", a, err, ax.Known, c.state, nil)
			if a.ID != c.sub.ID || a.Run != 1 {
				t.Errorf("%s: answer %+v", c.sub.ID, a)
			}
			later := c.sub
			later.In, later.At = 0, time.Now().Add(5*time.Hour) // when is not what
			a, err = s.Submit(ctx, later)
			want(t, c.sub.ID+", at another time", a, err, ax.Known, c.state, nil)
			for what, change := range map[string]func(*ax.Submission){
				"payload":  func(s *ax.Submission) { s.Payload = []byte("other") },
				"args":     func(s *ax.Submission) { s.Args = "other" },
				"kind":     func(s *ax.Submission) { s.Kind = "work" },
				"priority": func(s *ax.Submission) { s.Priority = ax.P(3) },
				"headers":  func(s *ax.Submission) { s.Headers = map[string]string{"a": "b"} },
				"timeout":  func(s *ax.Submission) { s.Timeout = 77 * time.Second },
				"retries":  func(s *ax.Submission) { s.MaxRetries = 77 },
				"backoff":  func(s *ax.Submission) { s.Backoff.Cap = 77 * time.Second },
				"ordered":  func(s *ax.Submission) { s.Ordered = true },
			} {
				other := c.sub
				change(&other)
				a, err := s.Submit(ctx, other)
				want(t, c.sub.ID+", another "+what, a, err, ax.Conflict, c.state, ax.ErrConflict)
			}
		}
		axtest.Wait(time.Minute)
		axtest.RequireState(t, s, "waiting", ax.Scheduled) // a repeat replaces nothing
		if st := s.Stats(); st.Submitted != len(stages) || st.Known != 2*len(stages) || st.Refused != 9*len(stages) {
			t.Errorf("submitted %d, known %d, refused %d", st.Submitted, st.Known, st.Refused)
		}
	})
}

// 100 at once: one is created, 99 hear that it is known. Real concurrency.
func TestC112_HundredAtOnce(t *testing.T) {
	var runs atomic.Int32
	s := begin(t, sched.Config{Mux: one(func(context.Context, *ax.Task) error { runs.Add(1); return nil })})
	for _, sub := range []ax.Submission{
		{ID: "plain", Kind: "work"},
		{ID: "unique-id", Kind: "work", Unique: ax.Unique{By: ax.ByID, Window: time.Hour}},
		{Key: "k", Kind: "work", Payload: []byte("content"), Unique: ax.Unique{By: ax.ByContent, Window: time.Hour}},
		{Kind: "work", Payload: []byte("no key"), Unique: ax.Unique{By: ax.ByContent, Window: time.Hour}},
	} {
		runs.Store(0)
		var made, known atomic.Int32
		var id sync.Map
		var group sync.WaitGroup
		for i := range 100 {
			group.Go(func() {
				var a ax.Answer
				var err error
				if i%2 == 0 {
					a, err = s.Submit(t.Context(), sub)
				} else {
					var list []ax.Answer
					if list, err = s.SubmitMany(t.Context(), []ax.Submission{sub}); err == nil {
						a, err = list[0], list[0].Err
					}
				}
				switch {
				case err != nil:
					t.Errorf("%v", err)
				case a.Code == ax.Made:
					made.Add(1)
				case a.Code == ax.Known:
					known.Add(1)
				}
				id.Store(a.ID, true)
			})
		}
		group.Wait()
		ids := 0
		id.Range(func(any, any) bool { ids++; return true })
		if made.Load() != 1 || known.Load() != 99 || ids != 1 {
			t.Errorf("%+v: %d created, %d known, %d ids", sub, made.Load(), known.Load(), ids)
		}
	}
}

// The same submission twice in one call.
func TestC112_TwiceInOneCall(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		s := begin(t, sched.Config{Mux: one(r.handler(nil))})
		a := ax.Submission{ID: "a", Kind: "work", In: time.Hour}
		b := a
		b.Payload = []byte("x")
		answers, err := s.SubmitMany(t.Context(), []ax.Submission{a, a, b, {ID: "a"}, {ID: "b", Kind: "work"}})
		if err != nil {
			t.Fatal(err)
		}
		for i, code := range []ax.Code{ax.Made, ax.Known, ax.Conflict, ax.Refused, ax.Made} {
			if answers[i].Code != code || (code == ax.Conflict || code == ax.Refused) != (answers[i].Err != nil) {
				t.Errorf("%d: %+v, want %v", i, answers[i], code)
			}
		}
		if !errors.Is(answers[2].Err, ax.ErrConflict) || !errors.Is(answers[3].Err, ax.ErrInvalid) {
			t.Errorf("%v, %v", answers[2].Err, answers[3].Err)
		}
	})
}

// A submission whose answer was lost is sent again: it is known, and runs once.
func TestC112_RetryOfALostAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock := axtest.NewClock()
		s := begin(t, with(backend(clock, memory.Config{}), sched.Config{Mux: one(r.handler(nil)), Clock: clock}, slow(10*time.Second)))
		sub := ax.Submission{ID: ax.NewID(clock.Now()), Kind: "work"}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.Submit(ctx, sub)
		if !errors.Is(err, ax.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller who cannot wait hears %v", err)
		}
		a, err := s.Submit(t.Context(), sub)
		if err != nil || a.Code != ax.Known || a.ID != sub.ID {
			t.Errorf("again: %v %v", a, err)
		}
		axtest.Wait(time.Minute)
		r.at(t, sub.ID, 10*time.Second)
	})
}

// What is remembered is bounded in time and number; what is older than that is refused, not created again.
func TestDedupeWindow(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		s := begin(t, sched.Config{Mux: one(r.handler(nil)), Dedupe: sched.Dedupe{Window: 10 * time.Minute, Max: 100}})
		made := time.Now()
		sub := ax.Submission{ID: "a", Kind: "work", Made: made}
		submit(t, s, sub)
		axtest.Wait(10*time.Minute - time.Second)
		a, err := s.Submit(t.Context(), sub)
		want(t, "inside of the window", a, err, ax.Known, ax.Success, nil)
		axtest.Wait(2 * time.Second)
		a, err = s.Submit(t.Context(), sub)
		want(t, "after it, a retry that says how old it is", a, err, ax.Expired, 0, ax.ErrExpired)
		sub.Made = time.Time{}
		a, err = s.Submit(t.Context(), sub)
		want(t, "after it, without", a, err, ax.Made, ax.Scheduled, nil)
		axtest.Wait(time.Minute)
		if n := len(r.of("a")); n != 2 {
			t.Errorf("%d starts", n)
		}
		for _, id := range submitAll(t, s, many(200, "b", ax.Submission{})) { // more than are remembered
			_ = id
		}
		axtest.Wait(time.Minute)
		known := 0
		for _, sub := range many(200, "b", ax.Submission{Made: made}) {
			switch a, err := s.Submit(t.Context(), sub); a.Code {
			case ax.Known:
				known++
			case ax.Expired:
			default:
				t.Fatalf("%s: %v %v", sub.ID, a.Code, err)
			}
		}
		if known > 100 || known == 0 {
			t.Errorf("%d are remembered, want at most 100", known)
		}
	})
}

// A restart forgets nothing that a durable store knows.
func TestDedupeOverRestart(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock := axtest.NewClock()
		cfg := on(backend(clock, memory.Config{}), sched.Config{Mux: one(r.handler(nil)), Clock: clock, Node: "n"})
		s := begin(t, cfg)
		subs := []ax.Submission{{ID: "plain", Kind: "work"}, {ID: "k/c", Kind: "work", Payload: []byte("x"), Unique: ax.Unique{By: ax.ByContent, Window: time.Hour}}}
		submitAll(t, s, subs)
		axtest.Wait(time.Second)
		s.Drain(t.Context())
		s = begin(t, cfg)
		a, err := s.Submit(t.Context(), subs[0])
		want(t, "plain", a, err, ax.Known, ax.Success, nil)
		subs[1].ID = "k/d"
		a, err = s.Submit(t.Context(), subs[1])
		want(t, "by content", a, err, ax.Known, ax.Success, nil)
		if a.ID != "k/c" {
			t.Errorf("the window is held by %q", a.ID)
		}
	})
}
