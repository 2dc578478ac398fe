// Command delayed is the smallest program that does something later: what it links is what embedding ax costs.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/sched"
)

type closeOrder struct{ Order string }

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	mux := ax.NewMux()
	err := ax.Handle(mux, "order.close", func(_ context.Context, in closeOrder) error {
		fmt.Println("closing", in.Order)
		return nil
	})
	if err != nil {
		return err
	}
	s, err := sched.New(sched.Config{Mux: mux})
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := s.Start(ctx); err != nil {
		return err
	}
	if _, err := s.Submit(ctx, ax.Submission{Kind: "order.close", Args: closeOrder{"991"}, In: time.Second}); err != nil {
		return err
	}
	<-ctx.Done()
	_, err = s.Drain(context.Background())
	return err
}
