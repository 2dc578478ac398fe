package sched_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/axtest"
	"github.com/axsched/ax/memory"
	"github.com/axsched/ax/sched"
)

// Names that break keys and paths elsewhere: refused with the rule, or usable for everything, and no two share a key.
func TestC114_Names(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		s := begin(t, sched.Config{Mux: one(r.handler(nil)), Partitions: 4})
		ctx := t.Context()
		good := []string{"a", "a:b", "a:b:c", "b:c", "a-b", "a.b", "a_b", "A", "...", ".a", "-", "_", ":", "x/y", "x/y:z", "x/.y", "%", "0",
			strings.Repeat("k", 100), strings.Repeat("k", 100) + "/" + strings.Repeat("i", 99)}
		good = append(good[:16], good[17:]...) // without %
		bad := []string{"..", ".", "/", "a/", "/a", "a//b", "a/b/c", "a/..", "a/.", "../a", strings.Repeat("x", 300), strings.Repeat("k", 101),
			strings.Repeat("k", 101) + "/i", strings.Repeat("k", 100) + "/" + strings.Repeat("i", 100), " a", "a ", "a b", "😀", "é", "e\u0301", "a\u200f",
			"%2F", "a%2Fb", "a\nb", "a\x00", "{tag}", "a@b", "a/@20261130T023000.000Z", "a/!request", "a/#7", "a~b", "a\\b", "a?b", "a\"b", "\xff", "a\tb"}
		for _, id := range good {
			submit(t, s, ax.Submission{ID: id, In: time.Hour})
		}
		for _, id := range good {
			if task := axtest.Get(t, s, id); task.ID != id {
				t.Errorf("get %q gives %q", id, task.ID)
			}
		}
		if a, err := s.Cancel(ctx, "a"); err != nil || a.ID != "a" {
			t.Errorf("%+v %v", a, err)
		}
		axtest.Wait(0)
		for _, id := range good { // exactly that task
			if state := axtest.Get(t, s, id).State; (state == ax.Canceled) != (id == "a") {
				t.Errorf("after canceling a: %q is %v", id, state)
			}
		}
		for _, id := range good[1:] {
			if _, err := s.RunNow(ctx, id); err != nil {
				t.Errorf("run %q now: %v", id, err)
			}
		}
		axtest.Wait(0)
		for _, id := range good[1:] {
			axtest.RequireState(t, s, id, ax.Success)
			r.at(t, id, 0)
			if page, err := s.History(ctx, ax.Query{Prefix: id, Limit: 1000}); err != nil || len(page.Tasks) == 0 {
				t.Errorf("history of %q: %d, %v", id, len(page.Tasks), err)
			}
		}
		for _, id := range bad {
			_, err := s.Submit(ctx, ax.Submission{ID: id, Kind: "work"})
			invalid(t, fmt.Sprintf("id %.40q", id), err, "ID", id)
		}
		for _, kind := range append(bad, "", "a/b") {
			_, err := s.Submit(ctx, ax.Submission{Kind: kind})
			invalid(t, fmt.Sprintf("kind %.40q", kind), err, "Kind", kind)
		}
		for _, key := range append(bad, "a/b") {
			_, err := s.Submit(ctx, ax.Submission{Key: key, Kind: "work"})
			invalid(t, fmt.Sprintf("key %.40q", key), err, "Key", key)
		}
		for _, id := range []string{"", " ", "a b", "é", "a\n", strings.Repeat("x", 500)} {
			for name, call := range map[string]func() error{
				"get":        func() error { _, err := s.Get(ctx, id); return err },
				"cancel":     func() error { _, err := s.Cancel(ctx, id); return err },
				"run":        func() error { _, err := s.RunNow(ctx, id); return err },
				"rerun":      func() error { _, err := s.Rerun(ctx, id); return err },
				"reschedule": func() error { _, err := s.RescheduleIn(ctx, id, 0); return err },
				"resolve":    func() error { _, err := s.Resolve(ctx, id, ax.ResolveFail); return err },
				"explain":    func() error { _, err := s.Explain(ctx, id); return err },
			} {
				invalid(t, fmt.Sprintf("%s %.20q", name, id), call(), "ID", id)
			}
		}
		if st := s.Stats(); st.Submitted != len(good) {
			t.Errorf("%d submitted, want %d", st.Submitted, len(good))
		}
	})
}

// invalid checks that an error is ErrInvalid and names the field and the value.
func invalid(t *testing.T, what string, err error, field, value string) {
	t.Helper()
	var e *ax.Error
	if !errors.Is(err, ax.ErrInvalid) || !errors.As(err, &e) || e.Field != field || e.Reason == "" {
		t.Errorf("%s: %v, want ErrInvalid about %s with a rule", what, err, field)
		return
	}
	if want := fmt.Sprintf("%.80q", value); value != "?" && e.Value != want {
		t.Errorf("%s: the error shows %s, want %s", what, e.Value, want)
	}
	if len(e.Error()) > 600 {
		t.Errorf("%s: the error has %d bytes", what, len(e.Error()))
	}
}

// Every bad number, size and combination is refused with the field and the value, and nothing is stored.
func TestC115_BadInput(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock := axtest.NewClock()
		b := backend(clock, memory.Config{})
		s := begin(t, on(b, sched.Config{Mux: one(r.handler(nil)), Clock: clock}))
		day := 24 * time.Hour
		headers := func(n, size int) map[string]string {
			h := map[string]string{}
			for i := range n {
				h[fmt.Sprint("h", i)] = strings.Repeat("v", size)
			}
			return h
		}
		year10000 := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
		for _, c := range []struct {
			sub   ax.Submission
			field string
			value string
		}{
			{ax.Submission{Payload: make([]byte, ax.MaxPayload+1)}, "Payload", fmt.Sprint(ax.MaxPayload + 1)},
			{ax.Submission{Payload: make([]byte, 1<<30>>4)}, "Payload", fmt.Sprint(1 << 30 >> 4)},
			{ax.Submission{Args: strings.Repeat("x", ax.MaxPayload)}, "Payload", fmt.Sprint(ax.MaxPayload + 2)},
			{ax.Submission{Args: func() {}}, "Args", "?"},
			{ax.Submission{Args: math.NaN()}, "Args", "NaN"},
			{ax.Submission{Args: 1, Payload: []byte("1")}, "Args", "?"},
			{ax.Submission{Headers: headers(33, 1)}, "Headers", "33"},
			{ax.Submission{Headers: headers(2, 4096)}, "Headers", "8196"},
			{ax.Submission{Headers: map[string]string{"": "v"}}, "Headers", ""},
			{ax.Submission{Headers: map[string]string{"a b": "v"}}, "Headers", "a b"},
			{ax.Submission{Headers: map[string]string{"a": "x\ny"}}, "Headers", "x\ny"},
			{ax.Submission{Headers: map[string]string{"a": "\x00"}}, "Headers", "\x00"},
			{ax.Submission{Headers: map[string]string{"a": "\xff"}}, "Headers", "\xff"},
			{ax.Submission{In: 1, At: year10000.AddDate(-2, 0, 0)}, "In", "1ns"},
			{ax.Submission{In: -1, At: year10000.AddDate(-2, 0, 0)}, "In", "-1ns"},
			{ax.Submission{At: year10000}, "At", "10000"},
			{ax.Submission{At: time.Unix(1<<62, 0)}, "At", "?"},
			{ax.Submission{Priority: ax.P(-1)}, "Priority", "?"},
			{ax.Submission{Priority: ax.P(100)}, "Priority", "?"},
			{ax.Submission{Priority: ax.P(math.MaxInt32 + 1)}, "Priority", "?"},
			{ax.Submission{Priority: ax.Priority(101)}, "Priority", "?"},
			{ax.Submission{Timeout: -1}, "Timeout", "-1ns"},
			{ax.Submission{Timeout: 300 * 365 * day / 2}, "Timeout", "?"},
			{ax.Submission{Timeout: ax.MaxTimeout + 1}, "Timeout", "?"},
			{ax.Submission{MaxRetries: -2}, "MaxRetries", "-2"},
			{ax.Submission{MaxRetries: 1e9}, "MaxRetries", "1000000000"},
			{ax.Submission{MaxRetries: ax.MaxRetries + 1}, "MaxRetries", "1001"},
			{ax.Submission{Backoff: ax.Backoff{Base: -1}}, "Backoff", "?"},
			{ax.Submission{Backoff: ax.Backoff{Cap: -1}}, "Backoff", "?"},
			{ax.Submission{Backoff: ax.Backoff{Base: math.MaxInt64}}, "Backoff", "?"},
			{ax.Submission{Backoff: ax.Backoff{Cap: math.MaxInt64}}, "Backoff", "?"},
			{ax.Submission{Backoff: ax.Backoff{Jitter: math.MaxInt64}}, "Backoff", "?"},
			{ax.Submission{Unique: ax.Unique{By: 3, Window: time.Minute}}, "Unique", "UniqueBy(3)"},
			{ax.Submission{Unique: ax.Unique{Window: time.Minute}}, "Unique", "1m0s"},
			{ax.Submission{Unique: ax.Unique{By: ax.ByID}}, "Unique", "0s"},
			{ax.Submission{Unique: ax.Unique{By: ax.ByID, Window: 367 * day}}, "Unique", "8808h0m0s"},
			{ax.Submission{Unique: ax.Unique{By: ax.ByContent, Window: -1}}, "Unique", "-1ns"},
			{ax.Submission{ID: "a/b", Key: "c"}, "ID", "a/b"},
		} {
			c.sub.Kind = "work"
			if c.sub.ID == "" {
				c.sub.ID = "bad"
			}
			a, err := s.Submit(t.Context(), c.sub)
			invalid(t, fmt.Sprintf("%s %.60s", c.field, c.value), err, c.field, c.value)
			if a.Code != ax.Refused {
				t.Errorf("%s: answered %v", c.field, a.Code)
			}
			answers, err := s.SubmitMany(t.Context(), []ax.Submission{c.sub})
			if err != nil || answers[0].Code != ax.Refused || !errors.Is(answers[0].Err, ax.ErrInvalid) {
				t.Errorf("%s in a batch: %+v %v", c.field, answers, err)
			}
		}
		axtest.Wait(time.Hour)
		if _, err := b.Get(t.Context(), "bad"); !errors.Is(err, ax.ErrNoTask) {
			t.Errorf("something was stored: %v", err)
		}
		if st := s.Stats(); st.Submitted != 0 || len(r.all()) != 0 {
			t.Errorf("%d submitted, %d ran", st.Submitted, len(r.all()))
		}
		for _, c := range []struct {
			at    time.Time
			field string
		}{{year10000, "at"}, {time.Time{}, "at"}, {time.Unix(-1, 0), "at"}} {
			_, err := s.Reschedule(t.Context(), "bad", c.at)
			invalid(t, "reschedule to "+c.at.String(), err, c.field, "?")
		}
		_, err := s.Resolve(t.Context(), "bad", 9)
		invalid(t, "resolve", err, "resolution", "?")
	})
}

// What is just inside of the bounds is taken, and comes back to the byte.
func TestC115_JustInside(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		got := map[string][]byte{}
		s := begin(t, sched.Config{Mux: one(r.handler(func(_ context.Context, task *ax.Task) error { got[task.ID] = task.Payload; return nil })), Workers: 1})
		all := make([]byte, 256)
		for i := range all {
			all[i] = byte(i)
		}
		payloads := map[string][]byte{"none": nil, "empty": {}, "one": {0}, "limit": bytes.Repeat([]byte("x"), ax.MaxPayload), "all": all, "utf8": []byte("\xff\xfe\x00\xc3(")}
		for id, p := range payloads {
			mine := bytes.Clone(p)
			submit(t, s, ax.Submission{ID: id, Payload: p, In: time.Second})
			clear(p) // it was copied
			payloads[id] = mine
		}
		for i, sub := range []ax.Submission{
			{Timeout: 1}, {Timeout: ax.MaxTimeout}, {MaxRetries: ax.NoRetries}, {MaxRetries: ax.MaxRetries}, {Priority: ax.P(0)}, {Priority: ax.P(99)},
			{Backoff: ax.Backoff{Base: ax.MaxTimeout, Cap: ax.MaxTimeout, Jitter: ax.MaxTimeout}}, {Backoff: ax.Backoff{Jitter: math.MinInt64}},
			{Unique: ax.Unique{By: ax.ByID, Window: time.Millisecond}}, {Unique: ax.Unique{By: ax.ByContent, Window: ax.MaxWindow}},
			{At: time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)},
		} {
			sub.ID = fmt.Sprint("n", i)
			submit(t, s, sub)
		}
		axtest.Wait(2 * time.Second)
		for id, p := range payloads {
			if !bytes.Equal(got[id], p) || !bytes.Equal(axtest.Get(t, s, id).Payload, p) {
				t.Errorf("%s: %d bytes came back of %d", id, len(got[id]), len(p))
			}
		}
	})
}

// Bad configurations name the field; so do registrations. None of them starts anything.
func TestC115_BadConfig(t *testing.T) {
	b := memory.New(memory.Config{})
	for field, cfg := range map[string]sched.Config{
		"Workers":        {Workers: -1},
		"Partitions":     {Partitions: 4097},
		"MaxPending":     {MaxPending: -1},
		"MaxPayload":     {MaxPayload: 65 << 20},
		"Keep":           {Keep: -1},
		"Registry":       {Store: b},
		"Dedupe.Window":  {Dedupe: sched.Dedupe{Window: -1}},
		"Dedupe.Max":     {Dedupe: sched.Dedupe{Max: -1}},
		"LeaseTTL":       {LeaseTTL: time.Millisecond},
		"ShutdownWait":   {ShutdownWait: -1},
		"Aging":          {Aging: sched.Aging{After: -1}},
		"Limits.Kinds":   {Limits: sched.Limits{Kinds: map[string]sched.Limit{"k": {Concurrent: -1}}}},
		"Limits.Keys":    {Limits: sched.Limits{Keys: map[string]sched.Limit{"k": {PerSecond: -1}}}},
		"Limits.Jobs":    {Limits: sched.Limits{Jobs: map[string]sched.Limit{"k": {PerSecond: 1e7}}}},
		"Limits.EachKey": {Limits: sched.Limits{EachKey: sched.Limit{Burst: -1}}},
		"Limits.EachJob": {Limits: sched.Limits{EachJob: sched.Limit{PerSecond: math.NaN()}}},
	} {
		_, err := sched.New(cfg)
		invalid(t, field, err, field, "?")
	}
	mux := ax.NewMux()
	h := ax.HandlerFunc(func(context.Context, *ax.Task) error { return nil })
	var nilFunc ax.HandlerFunc
	for what, c := range map[string]struct {
		err error
		is  error
	}{
		"fine":      {mux.Handle("k", h), nil},
		"again":     {mux.Handle("k", h), ax.ErrDuplicate},
		"nil":       {mux.Handle("l", nil), ax.ErrInvalid},
		"nil func":  {mux.Handle("m", nilFunc), ax.ErrInvalid},
		"nil typed": {ax.Handle[int](mux, "n", nil), ax.ErrInvalid},
		"empty":     {mux.Handle("", h), ax.ErrInvalid},
		"bad kind":  {mux.Handle("a b", h), ax.ErrInvalid},
		"too long":  {mux.Handle(strings.Repeat("k", 101), h), ax.ErrInvalid},
	} {
		if !errors.Is(c.err, c.is) || c.is == nil && c.err != nil {
			t.Errorf("register %s: %v, want %v", what, c.err, c.is)
		}
	}
	if _, err := sched.New(sched.Config{Mux: mux}); !errors.Is(err, ax.ErrDuplicate) || !errors.Is(err, ax.ErrInvalid) {
		t.Errorf("a scheduler of a bad mux: %v", err)
	}
}

// MaxPayload may be set; then it holds instead of the default.
func TestMaxPayload(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		s := begin(t, sched.Config{Mux: one(r.handler(nil)), MaxPayload: 10})
		submit(t, s, ax.Submission{Payload: make([]byte, 10)})
		_, err := s.Submit(t.Context(), ax.Submission{Kind: "work", Payload: make([]byte, 11)})
		invalid(t, "11 bytes", err, "Payload", "11")
	})
}
