package main

import (
	"strings"
	"testing"
)

// TestReport: only a call into a dependency fails, and the closest finding is kept.
func TestReport(t *testing.T) {
	required := finding{OSV: "GO-1", Trace: []frame{{Module: "example.com/x"}}}
	imported := finding{OSV: "GO-1", Trace: []frame{{Module: "example.com/x", Package: "example.com/x/p"}}}
	called := finding{OSV: "GO-1", Trace: []frame{{Module: "example.com/x", Package: "example.com/x/p", Receiver: "*T", Function: "F"}}}
	std := finding{OSV: "GO-2", Trace: []frame{{Module: "stdlib", Package: "net/http", Function: "Get"}}}
	if rank(required) >= rank(imported) || rank(imported) >= rank(called) {
		t.Error("rank: required < imported < called does not hold")
	}
	for _, c := range []struct {
		name string
		f    finding
		fail bool
		want string
	}{
		{"required", required, false, "1 not called"},
		{"imported", imported, false, "1 not called"},
		{"called", called, true, "FAIL GO-1: example.com/x@, no fix yet: example.com/x/p.T.F"},
		{"std", std, false, "1 in the standard library"},
	} {
		var out strings.Builder
		if got := report(&out, "m", map[string]finding{c.name: c.f}); got != c.fail || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: failed = %v, want %v; output %q, want %q", c.name, got, c.fail, out.String(), c.want)
		}
	}
}
