package ax_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax"
)

// Growth, spread, ceiling, overflow: attempts 1 to 100, 10,000 samples of each.
func TestC84_Backoff(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for name, b := range map[string]ax.Backoff{"cap 1 h": {Cap: time.Hour}, "defaults": {}, "longest": {Base: ax.MaxTimeout, Cap: ax.MaxTimeout, Jitter: ax.MaxTimeout},
		"1 ns": {Base: 1, Cap: ax.MaxTimeout, Jitter: -1}, "cap below base": {Base: time.Minute, Cap: time.Second}} {
		b = b.WithDefaults()
		for attempt := 1; attempt <= 100; attempt++ {
			plain := b.Base // doubled as far as it goes
			for i := 1; i < attempt && plain < b.Cap; i++ {
				plain *= 2
			}
			plain = min(plain, b.Cap)
			least, most := time.Duration(1<<63-1), time.Duration(0)
			var sum float64
			for range 10_000 {
				w := b.Wait(attempt, rng)
				least, most, sum = min(least, w), max(most, w), sum+float64(w)
			}
			jitter := max(b.Jitter, 0)
			if least < max(plain, time.Millisecond) || most > max(plain+jitter, time.Millisecond) || least <= 0 || most > max(b.Cap+jitter, time.Millisecond) {
				t.Fatalf("%s, attempt %d: from %v to %v, want %v plus up to %v", name, attempt, least, most, plain, jitter)
			}
			if jitter > 0 {
				if most-least < jitter*98/100 {
					t.Errorf("%s, attempt %d: spread over %v only", name, attempt, most-least)
				}
				if mean := (sum/10_000 - float64(plain)) / float64(jitter); mean < 0.47 || mean > 0.53 {
					t.Errorf("%s, attempt %d: the jitter's mean is %.3f of it", name, attempt, mean)
				}
			}
		}
		for _, attempt := range []int{-1, 0, 1 << 30, 1<<63 - 1, -1 << 63} {
			if w := b.Wait(attempt, rng); w < time.Millisecond || w > max(b.Cap+max(b.Jitter, 0), time.Millisecond) {
				t.Errorf("%s, attempt %d: %v", name, attempt, w)
			}
		}
	}
}

// The seed's own numbers.
func TestC84_SeedFormula(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	b := ax.Backoff{}.WithDefaults()
	for attempt, want := range []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second} {
		for range 1000 {
			if w := b.Wait(attempt, rng); attempt > 0 && (w < want || w > want+500*time.Millisecond) {
				t.Fatalf("attempt %d: %v", attempt, w)
			}
		}
	}
	if w := b.Wait(11, rng); w < 10*time.Minute || w > 10*time.Minute+500*time.Millisecond {
		t.Errorf("at the cap: %v", w)
	}
}

// Full jitter goes from 1 ms to the computed wait, evenly.
func TestC84_FullJitter(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	b := ax.Backoff{Full: true}.WithDefaults()
	var bins [10]int
	for range 10_000 {
		w := b.Wait(4, rng)
		if w < time.Millisecond || w > 8*time.Second {
			t.Fatalf("%v", w)
		}
		bins[min(int(w*10/(8*time.Second)), 9)]++
	}
	for i, n := range bins {
		if n < 800 || n > 1200 {
			t.Errorf("tenth %d has %d of 10,000", i, n)
		}
	}
	tiny := ax.Backoff{Base: 1, Cap: 1, Full: true, Jitter: -1}
	if w := tiny.Wait(1, rng); w != time.Millisecond {
		t.Errorf("the least wait is %v", w)
	}
}

// Control errors are found wherever they stand, keep the handler's own error, and say what is wanted.
func TestControl(t *testing.T) {
	own := errors.New("own")
	for _, c := range []struct {
		err  error
		want ax.Control
	}{
		{ax.NoRetry(own), ax.Control{Err: own, Never: true}},
		{ax.NoRetry(nil), ax.Control{Never: true}},
		{ax.Cancel(own), ax.Control{Err: own, Cancel: true}},
		{ax.RetryAfter(time.Minute, own), ax.Control{Err: own, After: time.Minute}},
		{ax.RetryAfter(-time.Minute, own), ax.Control{Err: own, After: time.Microsecond}},
		{ax.RetryAfter(0, nil), ax.Control{After: time.Microsecond}},
	} {
		var got *ax.Control
		wrapped := fmt.Errorf("a: %w", fmt.Errorf("b: %w", c.err))
		if !errors.As(wrapped, &got) || *got != c.want || errors.Is(wrapped, own) != (c.want.Err != nil) {
			t.Errorf("%v: %+v", c.err, got)
		}
		if text := c.err.Error(); text == "" || c.want.Err != nil && !strings.Contains(text, "own") {
			t.Errorf("%q", text)
		}
	}
}

// The mux says what is wrong with a registration at once, and again when a scheduler is made from it.
func TestMux(t *testing.T) {
	mux := ax.NewMux()
	h := ax.HandlerFunc(func(context.Context, *ax.Task) error { return nil })
	if mux.Handle("a", h) != nil || ax.Handle(mux, "b", func(context.Context, int) error { return nil }) != nil {
		t.Fatal("a good registration was refused")
	}
	if _, err := mux.Handlers(); err != nil {
		t.Fatal(err)
	}
	order := ""
	wrap := func(name string) ax.Middleware {
		return func(next ax.Handler) ax.Handler {
			return ax.HandlerFunc(func(ctx context.Context, t *ax.Task) error { order += name; return next.Handle(ctx, t) })
		}
	}
	mux.Use(wrap("1"), wrap("2"))
	mux.Use(wrap("3"))
	handlers, err := mux.Handlers()
	if err != nil || len(handlers) != 2 || handlers["a"].Handle(t.Context(), &ax.Task{}) != nil || order != "123" {
		t.Errorf("%v, order %q", err, order)
	}
	mux.Handle("a", h)
	mux.Handle("", h)
	if _, err := mux.Handlers(); !errors.Is(err, ax.ErrDuplicate) || !errors.Is(err, ax.ErrInvalid) {
		t.Errorf("%v", err)
	}
}
