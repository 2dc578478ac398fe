package sim

import (
	"github.com/axsched/ax"
)

// Mutant is a planted bug: in the driver, or in what stands between it and the store. The engine is as it is.
type Mutant uint8

// The mutants. None is the zero value.
const (
	None      Mutant = iota
	SendFirst        // attempts are sent before their claims are written
	NoFence          // the store takes batches under any token
	ReadFirst        // a partition is read before it is fenced
	Twice            // a report is handed over twice
	Early            // the engine's clock is 1 ms ahead
	LostAck          // now and then a created task is not written, and nobody is told
	Forgotten        // now and then a worker's end is not reported
	mutants
)

// String names the mutant.
func (m Mutant) String() string {
	return [...]string{"none", "send before the claim is durable", "no fence in the store", "read before fence", "a report twice",
		"early by 1 ms", "a lost create", "a forgotten worker", "?"}[min(m, mutants)]
}

// opened lets a store without a fence forget who opened it.
func (m Mutant) opened(*store, ax.Partition, ax.Token) {}

// batch is what reaches the store instead of a batch.
func (m Mutant) batch(s *store, b *ax.Batch) *ax.Batch {
	switch {
	case m == NoFence:
		c := *b
		f := s.w.owner(b.Partition)
		c.Token = f
		if opened, err := s.Open(ctx, b.Partition, f); err == nil {
			c.Number = opened.Number + 1
		}
		return &c
	case m == LostAck && len(b.Create) > 0 && s.w.pick(10, "lose", b.Create[0].ID, 0) == 0:
		c := *b
		c.Create = b.Create[1:]
		return &c
	}
	return b
}

// report reports what happens to a report beside what should.
func (m Mutant) report(n *node, r *run) bool {
	switch {
	case m == Twice:
		n.eng.Report(r.p, r.task.Kind, &r.report)
	case m == Forgotten && n.w.pick(10, "forget", r.task.ID, r.token.Claim) == 0:
		return false
	}
	return true
}
