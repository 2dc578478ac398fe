package sched_test

import (
	"context"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/sched"
)

func TestFirst(t *testing.T) {
	mux := ax.NewMux()
	ran := make(chan string, 10)
	ax.Handle(mux, "hello", func(ctx context.Context, in string) error { ran <- in; return nil })
	s, err := sched.New(sched.Config{Mux: mux})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	a, err := s.Submit(t.Context(), ax.Submission{Kind: "hello", Args: "x", In: 50 * time.Millisecond})
	t.Log(a, err)
	t.Log(<-ran)
	a, err = s.Submit(t.Context(), ax.Submission{Kind: "hello", Args: "y", In: time.Hour})
	t.Log(a, err)
	r, err := s.Drain(t.Context())
	t.Log(r, err)
	t.Logf("%+v", s.Stats().Lateness.Max())
}
