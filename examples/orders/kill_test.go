package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestKill kills the program at random points, also while it submits, and goes on to the end: all is kept.
func TestKill(t *testing.T) {
	const tasks = 12_000
	dir := t.TempDir()
	file := filepath.Join(t.TempDir(), "tasks.csv")
	var b strings.Builder
	b.WriteString("kind,in,max_retries\n")
	for i := range tasks {
		kind := kindClose
		if i%100 == 0 {
			kind = kindPush // in flight for longer
		}
		fmt.Fprintf(&b, "%s,%dms,20\n", kind, i*7919%2000)
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-dir", dir, "-tasks", file, "-workers", "300"}
	batches := func() int {
		notes, _ := os.ReadFile(filepath.Join(dir, "acked-1"))
		return strings.Count(string(notes), "\n")
	}
	for round := range 6 {
		noted, after := 0, time.Duration(rand.Int64N(int64(time.Second)))
		if round < 3 { // while it submits
			noted, after = batches()+1+rand.IntN(3), time.Duration(rand.Int64N(int64(5*time.Millisecond)))
		}
		if !killed(t, func() bool { return batches() >= noted }, after, args...) {
			t.Fatalf("round %d was done before it was killed", round)
		}
		t.Logf("killed %v after it had %d batches noted; now %d", after, noted, batches())
	}
	r := orders(t, "", args...)
	r.want(t, exitOK, "continuing run 1 of ", "12,000 submitted", "12,000 done", ", 0 failed", "early 0   lost 0   done twice 0   all kept")
	t.Log(regexp.MustCompile(`(?m)^.*(continuing|after a kill|while stopped).*$`).FindAllString(r.stdout, -1))
}

// killed runs the program in a process of its own, and kills that so long after it has said its title and a condition
// holds. It returns false if the program was done before.
func killed(t *testing.T, when func() bool, after time.Duration, args ...string) bool {
	t.Helper()
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	cmd := exec.CommandContext(ctx, os.Args[0], args...) // ends with SIGKILL
	cmd.Env = append(os.Environ(), programEnv+"=1")
	var stderr strings.Builder
	title := make(chan struct{})
	var once sync.Once
	cmd.Stderr = &stderr
	cmd.Stdout = watcher(func(string) { once.Do(func() { close(title) }) })
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for begun := (<-chan struct{})(title); ; {
			select {
			case <-ctx.Done():
				return
			case <-begun:
				begun = nil
			case <-tick.C:
				if begun == nil && when() {
					time.AfterFunc(after, kill)
					return
				}
			}
		}
	}()
	err := cmd.Wait()
	if err != nil && ctx.Err() == nil {
		t.Fatalf("%v\nstderr:\n%s", err, stderr.String())
	}
	return err != nil
}
