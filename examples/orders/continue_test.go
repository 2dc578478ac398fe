package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// number finds what stands in a text in the place of (\S+), and fails without it.
func (r result) number(t *testing.T, pattern string) int {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(r.stdout)
	if m == nil {
		t.Fatalf("stdout does not say %s:\n%s\nstderr:\n%s", pattern, r.stdout, r.stderr)
	}
	n := 0
	if _, err := fmt.Sscan(strings.ReplaceAll(m[1], ",", ""), &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// interrupted runs the program until it says something on stdout, and interrupts it.
func interrupted(t *testing.T, at string, args ...string) result {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	return ordersWatched(t, ctx, "", func(s string) {
		if strings.Contains(s, at) {
			interrupt()
		}
	}, args...)
}

// TestContinue interrupts a run twice, and goes on to its end: then another begins, with ids of its own.
func TestContinue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := interrupted(t, "  submitted ", "-dir", dir, "-n", "1500", "-spread", "4s", "-workers", "800")
	first.want(t, exitOK, "1,500 tasks due within 4s, in "+dir, "receipt", "the next start does them", "all kept")
	done := first.number(t, `(?m)^  done +(\S+)  `)

	second := interrupted(t, "(pid ", "-dir", dir, "-workers", "800") // before it does anything
	second.want(t, exitOK, "continuing run 1 of ", fmt.Sprintf(": %s of 1,500 tasks due within 4s done, %s to go", count(done), count(1500-done)),
		"done before", "all kept")

	third := orders(t, "", "-dir", dir, "-n", "1500", "-workers", "800")
	third.want(t, exitOK, "continuing run 1 of ", "1,500 submitted", "1,500 done (", "early 0   lost 0   done twice 0   all kept", "Due while stopped: ")
	if strings.Contains(third.stdout, "after a kill") {
		t.Errorf("nobody killed it:\n%s", third.stdout)
	}
	if before := third.number(t, `done \((\S+) before this start`); before < done || before >= 1500 {
		t.Errorf("%d done before the last start, %d by the first", before, done)
	}

	fourth := orders(t, "", "-dir", dir, "-n", "20", "-spread", "10ms")
	fourth.want(t, exitOK, "20 tasks due within 10ms", "20 submitted in 0.", "20 done, 0 failed", "all kept")
	if run, err := readRun(dir); err != nil || run.Number != 2 || !run.Finished || run.Store != "store-1" {
		t.Errorf("run file: %+v, %v", run, err)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*-1.*")); len(files) > 0 {
		t.Errorf("the first run has left %q", files)
	}
}

// TestContinueTasks continues a run whose tasks are from a file: the copy of it counts, not the file.
func TestContinueTasks(t *testing.T) {
	t.Parallel()
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "tasks.csv")
	write := func(kind string) {
		if err := os.WriteFile(file, []byte("kind,in\nmessage.push,0s\n"+kind+",4s\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(kindPush)
	interrupted(t, "  submitted ", "-dir", dir, "-tasks", file).want(t, exitOK, "all kept")
	orders(t, "", "-dir", dir, "-n", "2").want(t, exitUsage)
	write(kindClose)
	if r := orders(t, "", "-dir", dir, "-tasks", file); r.code != exitUsage || !strings.Contains(r.stderr, "run 1 in "+dir+" has other tasks") {
		t.Errorf("exit code %d: %s", r.code, r.stderr)
	}
	write(kindPush)
	orders(t, "", "-dir", dir, "-tasks", file).want(t, exitOK, "continuing run 1 of ", "2 done (1 before this start), 0 failed", "all kept")
}

// TestFresh begins anew, and leaves nothing of the run before.
func TestFresh(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	interrupted(t, "  submitted ", "-dir", dir, "-n", "500", "-spread", "1h").want(t, exitOK, "all kept")
	orders(t, "", "-dir", dir, "-n", "20", "-spread", "0").want(t, exitUsage)
	orders(t, "", "-dir", dir, "-n", "20", "-spread", "0", "-fresh").want(t, exitOK, "20 done, 0 failed", "all kept")
	for _, name := range []string{"store-1", "acked-1", "ledger-1.1"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
}

// TestMemory keeps nothing: what an interrupt returns is lost with the program, and the ids are the workload's own.
func TestMemory(t *testing.T) {
	t.Parallel()
	r := interrupted(t, "  submitted ", "-memory", "-n", "500", "-spread", "1h")
	r.want(t, exitOK, "500 tasks due within 1h0m0s, in memory, ", "receipt", "to be done by whoever runs next", "500 submitted in 0.", "all kept")
	if !regexp.MustCompile(`(?m)^ +(order|coupon|message)-\d+ +due`).MatchString(r.stdout) {
		t.Errorf("no returned task is named:\n%s", r.stdout)
	}
}

// TestFailedBefore remembers that a task failed in an earlier start.
func TestFailedBefore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := []string{"-dir", dir, "-tasks", filepath.Join(t.TempDir(), "tasks.csv")}
	tasks := "kind,in,timeout,max_retries\nmessage.push,0s,20ms,0\norder.close,4s,,\n"
	if err := os.WriteFile(args[3], []byte(tasks), 0o600); err != nil {
		t.Fatal(err)
	}
	interrupted(t, "  submitted ", args...).want(t, exitBroken, "1 failed", "all kept")
	orders(t, "", args...).want(t, exitBroken, "1 done, 1 failed", "all kept")
}

// TestBadDirectory says in one line what is wrong and what to do, and that -fresh helps.
func TestBadDirectory(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		damage func(dir string) error
		want   string
	}{
		"newer": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, runName), []byte(`{"version":7,"more":[]}`), 0o600)
		}, "run.json has version 7, and this program knows 1: use the newer program, or -fresh to begin anew"},
		"garbage": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, runName), []byte("\x00\x00"), 0o600)
		}, "run.json is not what this program writes (invalid character"},
		"elsewhere": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, runName), []byte(`{"version":1,"number":1,"store":"../store-1","started":"2026-12-01T00:00:00Z","total":1}`), 0o600)
		}, `run.json is not what this program writes (store "../store-1")`},
		"notes": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "acked-1"), []byte("acked 0 1000 1 2\n"), 0o600)
		}, `acked-1 says "acked 0 1000 1 2\n": -fresh begins anew`},
		"ledger": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "ledger-1.1"), []byte("asked\nended cut 1\n"), 0o600)
		}, `ledger-1.1: the ledger says "asked": -fresh begins anew`},
		"journal": {func(dir string) error {
			files, err := filepath.Glob(filepath.Join(dir, "store-1", "*.log"))
			if err != nil || len(files) == 0 {
				return fmt.Errorf("no log: %v", err)
			}
			log, err := os.ReadFile(files[0])
			for i := 200; i < 300; i++ {
				log[i] ^= 0x55
			}
			return errors.Join(err, os.WriteFile(files[0], log, 0o600))
		}, "-fresh begins anew, without what was there; journal.Repair saves what can be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			at := "(pid "
			if name == "journal" {
				at = "  submitted " // so that there is something to damage
			}
			interrupted(t, at, "-dir", dir, "-n", "500", "-spread", "1h", "-workers", "10").want(t, exitOK, "all kept")
			if err := c.damage(dir); err != nil {
				t.Fatal(err)
			}
			r := orders(t, "", "-dir", dir)
			if r.code != exitBroken || !strings.Contains(r.stderr, c.want) || strings.Count(r.stderr, "\n") != 1 || r.stdout != "" {
				t.Fatalf("exit code %d, stdout %q, stderr %q; want it to say %q", r.code, r.stdout, r.stderr, c.want)
			}
			orders(t, "", "-dir", dir, "-fresh", "-n", "10", "-spread", "0", "-workers", "10").want(t, exitOK, "10 done, 0 failed", "all kept")
		})
	}
}

// TestTornTail cuts the notes and the ledger in the middle of a line, as a power cut does: what is whole counts.
func TestTornTail(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := []string{"-dir", dir, "-n", "300", "-spread", "4s", "-workers", "200"}
	interrupted(t, "  submitted ", args...).want(t, exitOK, "all kept")
	for name, tail := range map[string]string{"acked-1": "acked 300", "ledger-1.1": "asked r1-or"} {
		file, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = file.WriteString(tail); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	orders(t, "", args...).want(t, exitOK, "300 done (", "all kept")
}

// TestTwoProcesses starts a second program on a directory that is in use: it says so, and the first goes on.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var second, fresh result
	first := ordersWatched(t, t.Context(), "", func(s string) {
		if strings.Contains(s, "(pid ") {
			second = orders(t, "", "-dir", dir)
			fresh = orders(t, "", "-dir", dir, "-fresh")
		}
	}, "-dir", dir, "-n", "300", "-spread", "1s", "-workers", "200")
	first.want(t, exitOK, "300 done, 0 failed", "all kept")
	for _, r := range []result{second, fresh} {
		if want := "orders: " + dir + " is in use by another orders: wait until it has ended, or take another one with -dir\n"; r.code != exitBroken || r.stderr != want {
			t.Errorf("exit code %d, stderr %q, want %q", r.code, r.stderr, want)
		}
	}
}
