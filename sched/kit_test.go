package sched_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/axtest"
	"github.com/axsched/ax/memory"
	"github.com/axsched/ax/sched"
)

var errWork = errors.New("no luck")

// start is one attempt that began.
type start struct {
	id      string
	at      time.Duration // since the recorder was made, as the bubble has it; ax counts in microseconds
	attempt int32
	token   ax.AttemptToken
}

// recorder notes what starts, and when.
type recorder struct {
	base time.Time

	mu     sync.Mutex
	starts []start // guarded by mu
	now    int     // guarded by mu; running at present
	most   int     // guarded by mu; the most that ran at once
}

func newRecorder() *recorder { return &recorder{base: time.Now()} }

// handler notes the start of each attempt, then does f, which may be nil.
func (r *recorder) handler(f ax.HandlerFunc) ax.HandlerFunc {
	return func(ctx context.Context, t *ax.Task) error {
		info, _ := ax.InfoFrom(ctx)
		r.mu.Lock()
		r.starts = append(r.starts, start{t.ID, time.Since(r.base).Truncate(time.Microsecond), info.Attempt, info.Token})
		r.now++
		r.most = max(r.most, r.now)
		r.mu.Unlock()
		defer func() { r.mu.Lock(); r.now--; r.mu.Unlock() }()
		if f == nil {
			return nil
		}
		return f(ctx, t)
	}
}

func (r *recorder) all() []start {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.starts)
}

// of returns the starts of one task.
func (r *recorder) of(id string) []start {
	return slices.DeleteFunc(r.all(), func(s start) bool { return s.id != id })
}

func (r *recorder) ids() (ids []string) {
	for _, s := range r.all() {
		ids = append(ids, s.id)
	}
	return ids
}

// at checks when a task started: once for each of at, in order.
func (r *recorder) at(t *testing.T, id string, at ...time.Duration) {
	t.Helper()
	var got []time.Duration
	for _, s := range r.of(id) {
		got = append(got, s.at)
	}
	if !slices.Equal(got, at) {
		t.Errorf("%s started at %v, want %v", id, got, at)
	}
}

// muxOf registers handlers.
func muxOf(handlers map[string]ax.HandlerFunc) *ax.Mux {
	mux := ax.NewMux()
	for kind, h := range handlers {
		mux.Handle(kind, h)
	}
	return mux
}

// one is a mux with the kind "work".
func one(f ax.HandlerFunc) *ax.Mux { return muxOf(map[string]ax.HandlerFunc{"work": f}) }

// sleep is a handler that does not look at its context.
func sleep(d time.Duration) ax.HandlerFunc {
	return func(context.Context, *ax.Task) error { time.Sleep(d); return nil }
}

// obey is a handler that waits for the end of its context and returns its cause, or nil after d.
func obey(d time.Duration) ax.HandlerFunc {
	return func(ctx context.Context, _ *ax.Task) error {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(d):
			return nil
		}
	}
}

// bubble runs a test in virtual time with a recorder. At its end, when schedulers are stopped, handlers that ignore their
// context have time to return.
func bubble(t *testing.T, f func(t *testing.T, r *recorder)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(24 * time.Hour) })
		f(t, newRecorder())
	})
}

// begin is axtest.Start with a check of the books at the end.
func begin(t *testing.T, cfg sched.Config) *sched.Scheduler {
	t.Helper()
	s := axtest.Start(t, cfg)
	t.Cleanup(func() {
		s.Stop(context.Background())
		books(t, s)
	})
	return s
}

// books checks that the figures of a scheduler fit together.
func books(t *testing.T, s *sched.Scheduler) {
	t.Helper()
	st := s.Stats()
	if st.Anomalies != 0 {
		t.Errorf("%d anomalies", st.Anomalies)
	}
	if st.Pending != st.Scheduled+st.Running+st.Held {
		t.Errorf("pending %d is not scheduled %d + running %d + held %d", st.Pending, st.Scheduled, st.Running, st.Held)
	}
	if st.Submitted != st.Pending+st.Succeeded+st.Failed+st.TimedOut+st.Canceled {
		t.Errorf("submitted %d is not pending %d + succeeded %d + failed %d + timed out %d + canceled %d",
			st.Submitted, st.Pending, st.Succeeded, st.Failed, st.TimedOut, st.Canceled)
	}
	if st.Overrun < 0 || st.Overrun > st.Running || st.Ready < 0 || st.Waiting < 0 {
		t.Errorf("overrun %d running %d ready %d waiting %d", st.Overrun, st.Running, st.Ready, st.Waiting)
	}
	if r, over := s.Receipt(); over && st.Submitted != r.Done+len(r.Returned)+len(r.Running)+r.Waiting {
		t.Errorf("submitted %d is not done %d + returned %d + running %d + waiting %d", st.Submitted, r.Done, len(r.Returned), len(r.Running), r.Waiting)
	}
}

// backend is a store that outlives schedulers, on the clock of their machine.
func backend(clock sched.Clock, cfg memory.Config) *memory.Backend {
	cfg.Now = clock.Now
	return memory.New(cfg)
}

// on puts a backend into a configuration.
func on(b *memory.Backend, cfg sched.Config) sched.Config {
	cfg.Store, cfg.Registry = b, b
	return cfg
}

// submitAll asks for many tasks, all of which must be created.
func submitAll(t *testing.T, s *sched.Scheduler, subs []ax.Submission) []string {
	t.Helper()
	answers, err := s.SubmitMany(context.Background(), subs)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, len(answers))
	for i, a := range answers {
		if ids[i] = a.ID; a.Code != ax.Made {
			t.Fatalf("submission %d: %v %v", i, a.Code, a.Err)
		}
	}
	return ids
}

// many makes n submissions of kind "work" with ids prefix-0 and so on.
func many(n int, prefix string, sub ax.Submission) []ax.Submission {
	subs := make([]ax.Submission, n)
	for i := range subs {
		subs[i] = sub
		subs[i].ID = fmt.Sprint(prefix, "-", i)
		if sub.Kind == "" {
			subs[i].Kind = "work"
		}
	}
	return subs
}

func submit(t *testing.T, s *sched.Scheduler, sub ax.Submission) *ax.Task {
	t.Helper()
	if sub.Kind == "" {
		sub.Kind = "work"
	}
	return axtest.Submit(t, s, sub)
}

// want checks an answer.
func want(t *testing.T, what string, a ax.Answer, err error, code ax.Code, state ax.State, is error) {
	t.Helper()
	if a.Code != code || a.State != state || !errors.Is(err, is) || is == nil && err != nil {
		t.Errorf("%s: %v %v, error %v; want %v %v, error %v", what, a.Code, a.State, err, code, state, is)
	}
}

// logBook is a logger whose lines can be read.
type logBook struct {
	mu  sync.Mutex
	buf bytes.Buffer // guarded by mu
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *logBook) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// eventLog notes events.
type eventLog struct {
	mu   sync.Mutex
	list []sched.Event // guarded by mu
}

func (l *eventLog) add(e sched.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, e)
}

func (l *eventLog) all() []sched.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}

// sorted returns a sorted copy.
func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}
