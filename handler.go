package ax

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Handler runs tasks of one kind. Nil means the attempt succeeded; an error means it failed and is retried by the
// task's policy, unless it is or wraps a *Control; a panic is a failed attempt with the stack as its error. The
// context ends at the attempt's deadline, when the task is canceled, or when the scheduler shuts down:
// context.Cause tells which. The task must not be changed.
type Handler interface {
	Handle(ctx context.Context, t *Task) error
}

// HandlerFunc is a function as a Handler.
type HandlerFunc func(ctx context.Context, t *Task) error

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, t *Task) error { return f(ctx, t) }

// Middleware wraps a handler: logging, tracing, metrics, locks.
type Middleware func(Handler) Handler

// Mux maps kinds to handlers. It is filled before a scheduler is made from it and not changed after that; reading it
// from several goroutines is safe then.
type Mux struct {
	handlers map[string]Handler
	around   []Middleware
	errs     []error
}

// NewMux returns an empty Mux.
func NewMux() *Mux { return &Mux{handlers: make(map[string]Handler)} }

// Handle registers h for a kind. The error (*Error: ErrInvalid for a bad kind or a nil handler, ErrDuplicate) is also
// kept and stops the scheduler that is made from m, so it may be ignored here.
func (m *Mux) Handle(kind string, h Handler) error {
	err := CheckKind(kind)
	if f, ok := h.(HandlerFunc); err == nil && (h == nil || ok && f == nil) {
		err = invalid("register", "Handler", "nil", "kind %q needs a handler", kind)
	}
	if _, taken := m.handlers[kind]; err == nil && taken {
		err = &Error{Op: "register", Field: "Kind", Value: fmt.Sprintf("%q", kind), Err: ErrDuplicate}
	}
	if err != nil {
		m.errs = append(m.errs, err)
		return err
	}
	m.handlers[kind] = h
	return nil
}

// Use wraps every handler of m, the first middleware outermost, whether registered before or after.
func (m *Mux) Use(around ...Middleware) { m.around = append(m.around, around...) }

// Handlers returns the handlers by kind with the middleware around them, or all that went wrong in registering.
func (m *Mux) Handlers() (map[string]Handler, error) {
	wrapped := make(map[string]Handler, len(m.handlers))
	for kind, h := range m.handlers {
		for _, w := range slices.Backward(m.around) {
			h = w(h)
		}
		wrapped[kind] = h
	}
	return wrapped, errors.Join(m.errs...)
}

// Handle registers a function whose argument is decoded from the payload as JSON. A payload that does not decode ends
// the task FAILED without a retry. The error is that of Mux.Handle.
func Handle[In any](m *Mux, kind string, f func(ctx context.Context, in In) error) error {
	if f == nil {
		return m.Handle(kind, nil)
	}
	return m.Handle(kind, HandlerFunc(func(ctx context.Context, t *Task) error {
		var in In
		if len(t.Payload) > 0 {
			if err := json.Unmarshal(t.Payload, &in); err != nil {
				return NoRetry(fmt.Errorf("%w %T: %w", ErrBadArgs, in, err))
			}
		}
		return f(ctx, in)
	}))
}

// Delivery is one attempt in the hands of whoever runs it.
type Delivery struct {
	Task     *Task
	Token    AttemptToken
	Attempt  int32
	Deadline Time         // on the wall clock of the owner, for people; Timeout rules
	Logger   *slog.Logger // where Log starts from; nil discards

	result []byte
	ctx    attemptContext
}

// attemptContext is a handler's context: it carries the delivery, knows the deadline, and says DeadlineExceeded when
// its cause is ErrTimeout. The context that can be canceled is made when somebody first asks for it, which most short
// handlers never do.
type attemptContext struct {
	parent context.Context
	d      *Delivery
	mu     sync.Mutex
	inner  context.Context         // guarded by mu; nil until asked for
	cancel context.CancelCauseFunc // guarded by mu; of inner
	ended  bool                    // guarded by mu
	cause  error                   // guarded by mu; why, once ended
}

type deliveryKey struct{}

// WithDelivery returns the context a handler of d runs under. cancel ends it with a cause and must be called when the
// handler has returned; only its first call counts. One Delivery has one context.
func WithDelivery(parent context.Context, d *Delivery) (ctx context.Context, cancel context.CancelCauseFunc) {
	d.ctx.parent, d.ctx.d = parent, d
	return &d.ctx, d.ctx.end
}

func (c *attemptContext) end(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.ended, c.cause = true, cause
	if c.cancel != nil {
		c.cancel(cause)
	}
}

func (c *attemptContext) context() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil {
		c.inner, c.cancel = context.WithCancelCause(c.parent)
		if c.ended {
			c.cancel(c.cause)
		}
	}
	return c.inner
}

func (c *attemptContext) Deadline() (time.Time, bool) { return c.d.Deadline.Time(), c.d.Deadline != 0 }

func (c *attemptContext) Done() <-chan struct{} { return c.context().Done() }

func (c *attemptContext) Err() error {
	inner := c.context()
	err := inner.Err()
	if err != nil && errors.Is(context.Cause(inner), ErrTimeout) {
		return context.DeadlineExceeded
	}
	return err
}

func (c *attemptContext) Value(key any) any {
	if key == (deliveryKey{}) {
		return c.d
	}
	return c.context().Value(key)
}

// DeliveryFrom returns the attempt that ctx belongs to, or nil outside of a handler.
func DeliveryFrom(ctx context.Context) *Delivery {
	d, _ := ctx.Value(deliveryKey{}).(*Delivery)
	return d
}

// TokenFrom returns the fencing token of the attempt: it grows with every attempt of one key, over runs, restarts and
// handovers. Compare it where the handler writes to. Zero outside of a handler.
func TokenFrom(ctx context.Context) AttemptToken {
	if d := DeliveryFrom(ctx); d != nil {
		return d.Token
	}
	return AttemptToken{}
}

// Info is what a handler may want to know about its attempt.
type Info struct {
	ID, Kind string
	Run      int32 // from 1
	Attempt  int32 // from 1
	Token    AttemptToken
	Shard    Shard // Total is 0 outside of a sharded job
	Due      time.Time
	Deadline time.Time
}

// InfoFrom describes the attempt that ctx belongs to; ok is false outside of a handler.
func InfoFrom(ctx context.Context) (info Info, ok bool) {
	d := DeliveryFrom(ctx)
	if d == nil {
		return Info{}, false
	}
	t := d.Task
	info = Info{ID: t.ID, Kind: t.Kind, Run: t.Run, Attempt: d.Attempt, Token: d.Token,
		Due: t.Due.Time(), Deadline: d.Deadline.Time()}
	if t.Extra != nil && t.Extra.Shard != nil {
		info.Shard = *t.Extra.Shard
	}
	return info, true
}

// Return sets the task's result to v as JSON; the last call of the attempt counts, and only if the handler returns
// nil. The error is *Error with ErrInvalid if v does not encode or takes more than MaxResult bytes. It must be called
// from the handler, not after it returned.
func Return(ctx context.Context, v any) error {
	d := DeliveryFrom(ctx)
	if d == nil {
		return invalid("return", "ctx", "", "not the context of a handler")
	}
	b, err := json.Marshal(v)
	if err != nil {
		return invalid("return", "value", v, "%v", err)
	}
	if len(b) > MaxResult {
		return invalid("return", "value", len(b), "%d bytes as JSON, the limit is %d", len(b), MaxResult)
	}
	d.result = b
	return nil
}

// Result returns what the handler gave to Return, once it has returned.
func (d *Delivery) Result() []byte { return d.result }

// Log returns a logger that stamps id, kind, run and attempt on every line; it discards outside of a handler.
func Log(ctx context.Context) *slog.Logger {
	d := DeliveryFrom(ctx)
	if d == nil || d.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return d.Logger.With("id", d.Task.ID, "kind", d.Task.Kind, "run", d.Task.Run, "attempt", d.Attempt)
}
