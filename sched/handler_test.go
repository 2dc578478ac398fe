package sched_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/axtest"
	"github.com/axsched/ax/sched"
)

// Typed handlers get their argument; what does not decode is not retried.
func TestTypedHandlers(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		type order struct {
			ID   int
			Tags []string
		}
		var got order
		var empty *order
		mux := ax.NewMux()
		ax.Handle(mux, "order", func(ctx context.Context, in order) error {
			got = in
			return ax.Return(ctx, map[string]int{"seen": in.ID})
		})
		ax.Handle(mux, "pointer", func(ctx context.Context, in *order) error { empty = in; return nil })
		s := begin(t, sched.Config{Mux: mux})
		submit(t, s, ax.Submission{ID: "a", Kind: "order", Args: order{7, []string{"x", "y"}}})
		submit(t, s, ax.Submission{ID: "bad", Kind: "order", Payload: []byte(`{"ID":"seven"}`), MaxRetries: 5})
		submit(t, s, ax.Submission{ID: "worse", Kind: "order", Payload: []byte(`{"ID":7`), MaxRetries: 5})
		submit(t, s, ax.Submission{ID: "none", Kind: "pointer"})
		axtest.Wait(time.Hour)
		if task := axtest.RequireState(t, s, "a", ax.Success); got.ID != 7 || len(got.Tags) != 2 || string(task.Result()) != `{"seen":7}` {
			t.Errorf("%+v, result %s", got, task.Result())
		}
		for _, id := range []string{"bad", "worse"} {
			task := axtest.RequireState(t, s, id, ax.Failed)
			if len(task.Attempts()) != 1 || !strings.Contains(task.LastError(), ax.ErrBadArgs.Error()) || !strings.Contains(task.LastError(), "sched_test.order") {
				t.Errorf("%s: %d attempts, %q", id, len(task.Attempts()), task.LastError())
			}
		}
		axtest.RequireState(t, s, "none", ax.Success)
		if empty != nil {
			t.Errorf("no payload gave %+v", empty)
		}
	})
}

// Return, InfoFrom, TokenFrom and Log inside of a handler, and outside.
func TestHandlerTools(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		type seen struct {
			info  ax.Info
			ok    bool
			token ax.AttemptToken
			big   error
			bad   error
		}
		var got []seen
		log := &logBook{}
		s := begin(t, sched.Config{Logger: slog.New(slog.NewTextHandler(log, nil)), Mux: one(func(ctx context.Context, task *ax.Task) error {
			var v seen
			v.info, v.ok = ax.InfoFrom(ctx)
			v.token = ax.TokenFrom(ctx)
			ax.Return(ctx, "first")
			v.bad = ax.Return(ctx, func() {})
			v.big = ax.Return(ctx, strings.Repeat("x", ax.MaxResult))
			ax.Return(ctx, []int{1, 2})
			ax.Log(ctx).Info("hello", "n", 1)
			if d, ok := ctx.Deadline(); !ok || !d.Equal(v.info.Deadline) {
				t.Errorf("deadline %v %v, info says %v", d, ok, v.info.Deadline)
			}
			got = append(got, v)
			if task.Attempt == 1 {
				return errWork
			}
			return nil
		})})
		submit(t, s, ax.Submission{ID: "k/a", In: time.Second, Timeout: time.Minute, Backoff: ax.Backoff{Jitter: -1}})
		axtest.Wait(time.Minute)
		task := axtest.RequireState(t, s, "k/a", ax.Success)
		if len(got) != 2 || string(task.Result()) != "[1,2]" || task.Attempts()[0].Result != nil {
			t.Fatalf("%d attempts, results %s and %s", len(got), task.Attempts()[0].Result, task.Result())
		}
		for i, v := range got {
			at := r.base.Add(time.Duration(i+1) * time.Second)
			if !v.ok || v.info.ID != "k/a" || v.info.Kind != "work" || v.info.Run != 1 || v.info.Attempt != int32(i+1) || v.info.Token != v.token ||
				!v.info.Due.Equal(r.base.Add(time.Second)) || !v.info.Deadline.Equal(at.Add(time.Minute)) || v.token != task.Attempts()[i].Token {
				t.Errorf("attempt %d: %+v", i+1, v.info)
			}
			if !errors.Is(v.big, ax.ErrInvalid) || !errors.Is(v.bad, ax.ErrInvalid) {
				t.Errorf("attempt %d: too big %v, not JSON %v", i+1, v.big, v.bad)
			}
		}
		for _, line := range []string{"msg=hello id=k/a kind=work run=1 attempt=1 n=1", "msg=hello id=k/a kind=work run=1 attempt=2 n=1"} {
			if !strings.Contains(log.String(), line) {
				t.Errorf("no line %q in %s", line, log)
			}
		}
		ctx := t.Context()
		if _, ok := ax.InfoFrom(ctx); ok || !ax.TokenFrom(ctx).IsZero() || ax.DeliveryFrom(ctx) != nil {
			t.Error("outside of a handler there is an attempt")
		}
		if err := ax.Return(ctx, 1); !errors.Is(err, ax.ErrInvalid) {
			t.Errorf("return outside of a handler: %v", err)
		}
		ax.Log(ctx).Info("goes nowhere")
	})
}

// Middleware wraps the first outermost, every handler, registered before or after, and may replace context and error.
func TestMiddlewareOrder(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		var trace []string
		type key struct{}
		layer := func(name string) ax.Middleware {
			return func(next ax.Handler) ax.Handler {
				return ax.HandlerFunc(func(ctx context.Context, task *ax.Task) error {
					trace = append(trace, "+"+name)
					defer func() { trace = append(trace, "-"+name) }()
					return next.Handle(context.WithValue(ctx, key{}, name), task)
				})
			}
		}
		mux := ax.NewMux()
		mux.Handle("before", ax.HandlerFunc(func(ctx context.Context, task *ax.Task) error {
			trace = append(trace, task.Kind+" in "+ctx.Value(key{}).(string))
			return ax.Return(ctx, "through all layers")
		}))
		mux.Use(layer("a"), layer("b"))
		mux.Handle("after", ax.HandlerFunc(func(context.Context, *ax.Task) error { panic("x") }))
		mux.Use(func(next ax.Handler) ax.Handler {
			return ax.HandlerFunc(func(ctx context.Context, task *ax.Task) (err error) {
				defer func() {
					if v := recover(); v != nil {
						err = ax.Cancel(errWork)
					}
				}()
				return next.Handle(ctx, task)
			})
		})
		s := begin(t, sched.Config{Mux: mux, Workers: 1})
		submit(t, s, ax.Submission{ID: "1", Kind: "before"})
		submit(t, s, ax.Submission{ID: "2", Kind: "after"})
		axtest.Wait(0)
		if want := []string{"+a", "+b", "before in b", "-b", "-a", "+a", "+b", "-b", "-a"}; !slices.Equal(trace, want) {
			t.Errorf("%v", trace)
		}
		if task := axtest.RequireState(t, s, "1", ax.Success); string(task.Result()) != `"through all layers"` {
			t.Errorf("result %s", task.Result())
		}
		axtest.RequireState(t, s, "2", ax.Canceled)
	})
}

// A handler sees its task as it was claimed, cannot be confused by the submitter's slices, and a context derived from its
// own ends with it.
func TestHandlerContext(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		var after, child context.Context
		s := begin(t, sched.Config{Mux: one(func(ctx context.Context, task *ax.Task) error {
			var cancel context.CancelFunc
			child, cancel = context.WithTimeout(ctx, time.Hour)
			defer cancel()
			after = ctx
			if task.State != ax.Running || task.Attempt != 1 || task.Last.N != 1 || task.Last.Outcome != ax.Ongoing || !bytes.Equal(task.Payload, []byte("p")) {
				t.Errorf("%+v", task)
			}
			if ctx.Err() != nil || child.Err() != nil {
				t.Error("ended already")
			}
			return nil
		})})
		submit(t, s, ax.Submission{Payload: []byte("p")})
		axtest.Wait(0)
		if after.Err() == nil || child.Err() == nil {
			t.Errorf("after the handler: %v %v", after.Err(), child.Err())
		}
	})
}
