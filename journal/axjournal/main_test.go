package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axsched/ax"
	"github.com/axsched/ax/journal"
)

// TestRun walks a person through a damaged directory.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	b, err := journal.Open(dir, journal.Config{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := b.Acquire(t.Context(), "partition", "0", "t", 1e9, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Open(t.Context(), 0, l.Token); err != nil {
		t.Fatal(err)
	}
	for n := range uint64(3) {
		task := &ax.Task{ID: string(rune('a' + n)), Kind: "k", State: ax.Scheduled, Run: 1, Payload: make([]byte, 5000)}
		if errs := b.Apply(t.Context(), []*ax.Batch{{Token: l.Token, Number: n + 1, Create: []*ax.Task{task}}}); errs[0] != nil {
			t.Fatal(errs[0])
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	say := func(code int, wants string, args ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		if got := run(args, &out, &errs); got != code {
			t.Errorf("%v: exit code %d, want %d\n%s%s", args, got, code, out.String(), errs.String())
		}
		for want := range strings.SplitSeq(wants, "|") {
			if !strings.Contains(out.String()+errs.String(), want) {
				t.Errorf("%v: no %q in\n%s%s", args, want, out.String(), errs.String())
			}
		}
	}
	say(2, "axjournal inspect DIR")
	say(2, "axjournal inspect DIR", "delete", dir)
	say(1, "no such file", "inspect", filepath.Join(dir, "none"))
	say(0, "0000000001.log|batch 3|live SCHEDULED 3|no damage", "inspect", dir)
	say(0, "no damage", "repair", dir)
	path := filepath.Join(dir, "0000000001.log")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw[7000] ^= 1 // in the payload of b
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	say(1, "DAMAGED 0000000001.log from 5|live SCHEDULED 2|1 batches are missing|axjournal repair", "inspect", dir)
	say(0, "DAMAGED|repaired|live SCHEDULED 2", "repair", dir)
	say(0, "live SCHEDULED 2|no damage", "inspect", dir)
	if _, err := os.Stat(path + ".damaged"); err != nil {
		t.Error(err)
	}
}
