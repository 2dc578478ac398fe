package sim

import (
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/engine"
)

// Mutant is a planted bug: in the driver, or in what stands between it and the store. The engine is as it is.
type Mutant uint8

// The mutants. None is the zero value.
const (
	None        Mutant = iota
	SendFirst          // attempts are sent before their claims are written
	NoFence            // the store takes batches under any token
	ReadFirst          // a partition is read before it is fenced
	Twice              // a report is handed over twice
	Early              // the engine's clock is 1 ms ahead
	LostAck            // now and then a created task is not written, and nobody is told
	Forgotten          // now and then a worker's end is not reported
	Reread             // an inbox is read again before what was read of it is committed
	Unforwarded        // reports for partitions that were given up are thrown away
	Loose              // the engine allows one more at once than it should
	Rushed             // the engine allows twice the rate
	Unaged             // the engine does not age
	Amnesic            // the engine forgets ids at once
	Unsynced           // the disk says durable before it is
	Unheard            // of what fails of a partition only the first is heard of
	Deathless          // the engine is not told that earlier processes are dead
	Blind              // now and then a far task is not found that somebody asks for
	Unread             // what comes within the horizon is not read
	Uncounted          // what is far is not read after a start
	mutants
)

// String names the mutant.
func (m Mutant) String() string {
	return [...]string{"none", "send before the claim is durable", "no fence in the store", "read before fence", "a report twice",
		"early by 1 ms", "a lost create", "a forgotten worker",
		"an inbox read too soon", "reports thrown away", "loose limits", "double rates", "no aging", "ids forgotten at once",
		"durable before it is", "a failed write unheard of", "the dead not known",
		"a far task not found", "no window read", "no census", "?"}[min(m, mutants)]
}

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

// reads reports whether a page of a window reaches the engine.
func (m Mutant) reads(w *engine.Window) bool {
	return !(m == Unread && w.To != 0 || m == Uncounted && w.To == 0)
}

// heard is what of the results of a write the engine gets.
func (m Mutant) heard(n *node, outs []*engine.Output, errs []error) ([]*engine.Output, []error) {
	if m == Unheard && len(outs) == 1 && errs[0] == ax.ErrGap {
		return nil, nil
	}
	return outs, errs
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

// config is what an engine gets instead of its configuration.
func (m Mutant) config(c engine.Config) engine.Config {
	change := func(f func(*engine.Limit)) {
		for _, of := range []map[string]engine.Limit{c.Limits.Kinds, c.Limits.Keys, c.Limits.Jobs} {
			for name, l := range of {
				f(&l)
				of[name] = l
			}
		}
		f(&c.Limits.EachKey)
		f(&c.Limits.EachJob)
	}
	switch m {
	case Loose:
		change(func(l *engine.Limit) {
			if l.Concurrent > 0 {
				l.Concurrent++
			}
		})
	case Rushed:
		change(func(l *engine.Limit) { l.PerSecond *= 2 })
	case Unaged:
		c.Aging.Off = true
	case Amnesic:
		c.Window = time.Millisecond
	case Deathless:
		c.Era = 0
	}
	return c
}
