package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

// programEnv, when set, makes the test binary the program.
const programEnv = "AX_ORDERS_TEST"

// TestMain makes the test binary what the program is, and the service, when it is started as one.
func TestMain(m *testing.M) {
	if os.Getenv(serviceEnv) != "" || os.Getenv(programEnv) != "" {
		main()
	}
	os.Exit(m.Run())
}

// result is what a run of the whole program left.
type result struct {
	code           int
	stdout, stderr string
}

// orders runs the program to its end, in memory or in a directory of its own if args name none.
func orders(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	return ordersWatched(t, t.Context(), stdin, func(string) {}, args...)
}

// ordersWatched is orders under a context, and calls watch with what is written to stdout, as it is written.
func ordersWatched(t *testing.T, ctx context.Context, stdin string, watch func(string), args ...string) result {
	t.Helper()
	if !slices.Contains(args, "-dir") && !slices.Contains(args, "-memory") {
		args = append([]string{"-dir", t.TempDir()}, args...)
	}
	var stdout, stderr bytes.Buffer
	code := run(ctx, args, strings.NewReader(stdin), io.MultiWriter(&stdout, watcher(watch)), &stderr)
	return result{code, stdout.String(), stderr.String()}
}

type watcher func(string)

func (w watcher) Write(b []byte) (int, error) {
	w(string(b))
	return len(b), nil
}

// want checks the exit code, and that stdout says each of the texts.
func (r result) want(t *testing.T, code int, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(r.stdout, text) {
			t.Errorf("stdout does not say %q", text)
		}
	}
	if r.code != code {
		t.Errorf("exit code %d, want %d", r.code, code)
	}
	if t.Failed() {
		t.Fatalf("stdout:\n%s\nstderr:\n%s", r.stdout, r.stderr)
	}
}
