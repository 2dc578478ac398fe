package bench

import (
	"context"
	"fmt"
	"testing"
)

// TestBusyDisk: a run beside a busy disk is measured again, but not for ever; every try is told, the quietest is the result,
// and what one of the others found wrong is not forgotten.
func TestBusyDisk(t *testing.T) {
	for _, c := range []struct {
		quiet float64 // ms that no disk reaches, or that every disk does
		runs  int
	}{{0, tries}, {1e9, 1}} {
		runs := 0
		s := Scenario{Name: "test", run: func(_ context.Context, _ Options, r *Result) error {
			runs++
			r.wrong("run %d", runs)
			r.set("per_s", float64(runs))
			return nil
		}}
		r, err := s.onDisk(t.Context(), Options{Dir: t.TempDir()}, t.Output(), c.quiet)
		if err != nil {
			t.Fatal(err)
		}
		if runs != c.runs || len(r.Rows) != c.runs || len(r.Wrong) != c.runs {
			t.Errorf("quiet at %g ms: %d runs, want %d; rows %v, wrong %q", c.quiet, runs, c.runs, r.Rows, r.Wrong)
		}
		best, _ := r.Number("per_s")
		of, _ := r.Number("fsync_p99_ms")
		for i, row := range r.Rows {
			if row["what"] != fmt.Sprintf("try %d", i+1) || row["fsync_p99_ms"].(float64) < of || row["per_s"] == best && row["fsync_p99_ms"] != of {
				t.Errorf("quiet at %g ms: try %v with %v, rows %v", c.quiet, best, of, r.Rows)
			}
		}
	}
}
