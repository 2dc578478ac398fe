package sim

import (
	"slices"
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
		{ReadFirst, 200, nil},
		{Twice, 20, []invariant.Law{invariant.WorkersBounded, invariant.Limits, invariant.NoSpin}},
		{Early, 20, []invariant.Law{invariant.NeverEarly}},
		{LostAck, 20, []invariant.Law{invariant.NeverLost}},
		{Forgotten, 20, nil},
		{Reread, 50, []invariant.Law{invariant.AdmittedOnce}},
		{Unforwarded, 50, []invariant.Law{invariant.ReportArrives}},
		{Loose, 50, []invariant.Law{invariant.Limits}},
		{Rushed, 50, []invariant.Law{invariant.Rates}},
		{Unaged, 50, []invariant.Law{invariant.BestFirst}},
		{Amnesic, 50, []invariant.Law{invariant.Remembered}},
		{Unsynced, 200, []invariant.Law{invariant.NeverLost, invariant.ClaimFirst}},
		{Unheard, 200, nil},
		{Deathless, 50, []invariant.Law{invariant.LostPolicy, invariant.Progress}},
		{Blind, 100, []invariant.Law{invariant.NeverLost, invariant.LegalMoves, invariant.Remembered}},
		{Unread, 50, []invariant.Law{invariant.NotLate, invariant.Progress, invariant.NoSpin}},
		{Uncounted, 200, nil},
	} {
		t.Run(m.mutant.String(), func(t *testing.T) {
			for seed := uint64(1); seed <= m.within; seed++ {
				r := Run(generate(seed), Options{Mutant: m.mutant})
				if r.Violation == nil {
					continue
				}
				t.Logf("found by seed %d: %.300v", seed, r.Violation)
				if slices.Contains(m.law, r.Violation.Law) {
					return
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
