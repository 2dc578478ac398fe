package sim

import (
	"testing"
	"time"
)

// TestShrink wants a planted bug's script to become small, and to break the same law still.
func TestShrink(t *testing.T) {
	opt := Options{Mutant: LostAck}
	s := generate(1)
	law := Run(s, opt).Violation.Law
	small, r := Shrink(s, opt, time.Minute, time.Now)
	if r.Violation == nil || r.Violation.Law != law {
		t.Fatalf("shrunk to %v, it was law %d", r.Violation, law)
	}
	if len(small.Ops) > 2 {
		t.Errorf("%d operations are left of %d:\n%s", len(small.Ops), len(s.Ops), small)
	}
	again, err := Parse(small.String())
	if err != nil {
		t.Fatal(err)
	}
	if r := Run(again, opt); r.Violation == nil || r.Violation.Law != law {
		t.Errorf("printed and read it breaks %v", r.Violation)
	}
}

// TestTraceTwice holds that a run with its trace kept is the run without.
func TestTraceTwice(t *testing.T) {
	for seed := uint64(1); seed <= 12; seed++ {
		if a, b := Run(generate(seed), Options{}), Run(generate(seed), Options{Trace: true}); a.Hash != b.Hash || len(a.Lines) > 0 || len(b.Lines) == 0 {
			t.Errorf("seed %d: %x and %x", seed, a.Hash, b.Hash)
		}
	}
}
