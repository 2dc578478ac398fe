package sim

import (
	"testing"

	"github.com/axsched/ax/internal/invariant"
)

// TestMutants plants bugs, one at a time, and wants each found within so many seeds: laws that pass a broken scheduler
// are worth nothing.
func TestMutants(t *testing.T) {
	for _, m := range []struct {
		mutant Mutant
		within uint64
		law    []invariant.Law // one of these
	}{
		{SendFirst, 20, []invariant.Law{invariant.ClaimFirst}},
		{NoFence, 200, []invariant.Law{invariant.Fenced}},
		{ReadFirst, 400, nil},
		{Twice, 20, []invariant.Law{invariant.WorkersBounded, invariant.Limits, invariant.NoSpin}},
		{Early, 20, []invariant.Law{invariant.NeverEarly}},
		{LostAck, 20, []invariant.Law{invariant.NeverLost}},
		{Forgotten, 20, nil},
	} {
		t.Run(m.mutant.String(), func(t *testing.T) {
			for seed := uint64(1); seed <= m.within; seed++ {
				r := Run(generate(seed), Options{Mutant: m.mutant})
				if r.Violation == nil {
					continue
				}
				t.Logf("found by seed %d: %.300v", seed, r.Violation)
				for _, law := range m.law {
					if law == r.Violation.Law {
						return
					}
				}
				if len(m.law) > 0 {
					t.Errorf("by another law than expected")
				}
				return
			}
			t.Errorf("not found within %d seeds", m.within)
		})
	}
}
