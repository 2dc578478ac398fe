package sim

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/engine"
	"github.com/axsched/ax/internal/invariant"
)

// ctx is what all calls get: nothing here waits.
var ctx = context.Background()

// start begins a process: it takes the lease of its name, as soon as that of the process before has run out.
func (n *node) start() {
	n.epoch++
	n.up, n.paused = false, 0
	if d := n.w.store.disk; d != nil {
		d.newEra(n.w)
	}
	n.tryStart()
}

func (n *node) tryStart() {
	asked := n.clock.read(n.w.now).Boot
	l, err := n.w.store.leases().Acquire(ctx, "node", n.name, n.name, n.w.cfg.Lease, nil)
	if err != nil {
		n.after(300_000, n.tryStart)
		return
	}
	n.self, n.executor, n.up = l, n.name+"#"+l.Token.String(), true
	n.fresh()
	n.trusts(asked)
	n.w.note("start", n.executor)
	n.after(0, n.manage)
	n.after(n.w.cfg.Lease.Microseconds()/3, n.renew)
	n.after(n.w.pick(1_000_000, "poll", n.name, 0), n.pollAll)
}

// trusts counts the leases from before they were asked for, less a margin, as sched does.
func (n *node) trusts(asked int64) {
	ttl := n.w.cfg.Lease
	n.trust = asked + (ttl - min(ttl/5, time.Second)).Microseconds()
}

// renew keeps the leases.
func (n *node) renew() {
	if n.leaving {
		return
	}
	asked := n.clock.read(n.w.now).Boot
	pause := n.w.cfg.Lease.Microseconds() / 3
	if n.w.store.fails(n, "renew") {
		n.w.note("renew-failed", n.name)
		n.after(min(pause, 500_000), n.renew)
		return
	}
	if err := n.w.store.leases().Renew(ctx, n.self); err != nil {
		n.leave(100_000) // others may already have buried what it runs
		return
	}
	for _, p := range n.owned() {
		if err := n.w.store.leases().Renew(ctx, n.parts[p].lease); err != nil {
			n.drop(p)
		}
	}
	n.trusts(asked)
	n.after(pause, n.renew)
}

// manage compares what it has with what it should have, and with who is alive.
func (n *node) manage() {
	if n.leaving {
		return
	}
	n.after(700_000+n.w.pick(300_000, "manage", n.name, uint64(n.w.now)), n.manage)
	nodes, err := n.w.store.leases().Leases(ctx, "node")
	if err != nil || !n.trusted() {
		return
	}
	for p := range ax.Partition(n.w.cfg.Partitions) {
		best := prefer(nodes, p)
		o := n.parts[p]
		switch {
		case best == n.name && o == nil:
			l, err := n.w.store.leases().Acquire(ctx, "partition", strconv.Itoa(int(p)), n.executor, n.w.cfg.Lease, nil)
			if err == nil {
				o = &own{lease: l, serial: l.Token.String()}
				n.parts[p] = o
				n.w.note("acquire", n.name, int64(p))
				n.load(p, o, 0)
			}
		case best != n.name && o != nil && o.open && n.handover < 0:
			n.give(p)
		}
	}
	if !n.w.cfg.Pipelined { // else all that is found running is of a dead process
		n.bury(nodes)
	}
}

// prefer chooses a node for a partition: rendezvous hashing.
func prefer(nodes []ax.Lease, p ax.Partition) (best string) {
	var most uint64
	for _, l := range nodes {
		h := uint64(14695981039346656037)
		for _, c := range []byte(l.Name + "/" + strconv.Itoa(int(p))) {
			h = (h ^ uint64(c)) * 1099511628211
		}
		h ^= h >> 29
		h *= 0xff51afd7ed558ccd
		h ^= h >> 32
		if best == "" || h > most {
			best, most = l.Name, h
		}
	}
	return best
}

// bury decides on the attempts of processes that are gone: an earlier one of this node's name is provably dead, of
// another whose lease has run out nobody knows.
func (n *node) bury(nodes []ax.Lease) {
	seen := map[string]bool{n.executor: true}
	var gone []string
	n.w.book.Each(func(t *invariant.Task) {
		o := n.parts[n.w.partition(t.ID)]
		if t.State == invariant.Running && !seen[t.Last.Executor] && o != nil && o.open {
			seen[t.Last.Executor] = true
			if !slices.ContainsFunc(nodes, func(l ax.Lease) bool { return l.Name+"#"+l.Token.String() == t.Last.Executor }) {
				gone = append(gone, t.Last.Executor)
			}
		}
	})
	slices.Sort(gone)
	for _, executor := range gone {
		name, _, _ := strings.Cut(executor, "#")
		n.w.note("bury", executor)
		n.w.book.Gone(executor)
		n.tell()
		n.eng.Lost(executor, name == n.name)
	}
}

// load opens a partition and reads all that is in it, page by page.
func (n *node) load(p ax.Partition, o *own, try uint64) {
	o.loading = true
	serial := n.w.seq
	again := func() {
		n.after(int64(min(10_000<<min(try, 7), 1_000_000)), func() { n.load(p, o, try+1) })
	}
	gone := func() bool { return n.parts[p] != o }
	l := &engine.Loaded{}
	if n.w.cfg.Horizon > 0 {
		l.UpTo = n.wall().Add(n.w.cfg.Horizon)
	}
	indexes := []ax.Index{ax.IndexDue, ax.IndexWaiting, ax.IndexRunning, ax.IndexHeld, ax.IndexEnded, ax.IndexIDs, ax.IndexFacts}
	var step func(i int, from string)
	finish := func() {
		o.loading, o.open, o.failed, o.reading, o.unquiet, o.hinted = false, true, false, false, false, false
		n.tell()
		safe := n.eng.Own(p, o.lease.Token, l)
		n.acted = true
		n.w.note("own", n.name, int64(p), int64(l.Opened.Number), int64(len(l.Tasks)))
		n.adopted(p)
		n.effects(safe)
		n.after(n.w.delay("hint", n.name, n.w.seq), func() { n.poll(p, o) })
	}
	open := func(then func()) {
		opened, err := n.w.store.open(n, p, o.lease.Token)
		switch {
		case gone():
		case errors.Is(err, ax.ErrFenced):
			n.drop(p)
		case err != nil:
			again()
		default:
			l.Opened = opened
			then()
		}
	}
	step = func(i int, from string) {
		n.after(n.w.delay("scan", n.executor, serial<<8+uint64(i)), func() {
			if gone() {
				return
			}
			if i == len(indexes) {
				if n.w.opt.Mutant == ReadFirst { // and the store is slow just then
					n.after(1_500_000, func() { open(finish) })
					return
				}
				finish()
				return
			}
			page, err := n.w.store.scan(n, ax.ScanRequest{Partition: p, Token: o.lease.Token, Index: indexes[i], From: from, To: l.UpTo, Limit: 50})
			if errors.Is(err, ax.ErrFenced) {
				n.drop(p)
				return
			}
			if err != nil {
				again()
				return
			}
			l.Tasks, l.IDs, l.Facts = append(l.Tasks, page.Tasks...), append(l.IDs, page.IDs...), append(l.Facts, page.Facts...)
			if page.Next != "" {
				step(i, page.Next)
				return
			}
			step(i+1, "")
		})
	}
	n.after(n.w.delay("open", n.executor, serial), func() {
		if gone() {
			return
		}
		if n.w.opt.Mutant == ReadFirst {
			step(0, "")
			return
		}
		open(func() { step(0, "") })
	})
}

// drop gives up a partition at once.
func (n *node) drop(p ax.Partition) {
	if n.parts[p] == nil {
		return
	}
	n.w.note("drop", n.name, int64(p))
	delete(n.parts, p)
	delete(n.flying, p)
	if n.handover == p {
		n.handover = -1
	}
	replies, reports := n.eng.Drop(p)
	for _, r := range reports {
		n.forward(r, "", 0)
	}
	for _, r := range replies {
		if c, ok := r.Ticket.(*caller); ok {
			c.answered(n, r.Answer)
		}
	}
	for token, t := range n.claimed {
		if n.w.partition(t.ID) == p {
			delete(n.reserved, token)
		}
	}
	n.unclaim(p)
}

// give begins to hand a partition over: no more claims, and step waits until nothing is under way.
func (n *node) give(p ax.Partition) {
	n.handover, n.overSince = p, n.w.now
	n.w.note("give", n.name, int64(p))
}

// step moves a handover or the end of the process on.
func (n *node) step() {
	if p := n.handover; p >= 0 && (n.eng.Idle(false) && n.writing == 0 || n.w.now-n.overSince > 5_000_000) {
		lease := n.parts[p].lease
		n.drop(p)
		_ = n.w.store.leases().Release(ctx, lease) // it runs out by itself
	}
	if n.leaving && len(n.runs) == 0 && n.forwards == 0 && (n.eng.Idle(false) && n.writing == 0 && n.filings == 0 || n.w.now-n.overSince > 5_000_000) {
		for _, p := range n.owned() {
			lease := n.parts[p].lease
			n.drop(p)
			_ = n.w.store.leases().Release(ctx, lease)
		}
		if n.forwards > 0 {
			return // of what was dropped; the next step ends it
		}
		_ = n.w.store.leases().Release(ctx, n.self)
		n.w.note("left", n.name)
		n.end()
		n.startIn(n.back)
	}
}

// leave ends the process: it claims no more, its handlers are asked to stop, and what they report is still written, or
// goes to the inboxes of the partitions it has lost.
func (n *node) leave(back int64) {
	if n.leaving || !n.up {
		return
	}
	n.w.note("leave", n.name)
	n.leaving, n.back, n.overSince = true, back, n.w.now
	if n.w.store.leases().Renew(ctx, n.self) != nil {
		n.w.book.Gone(n.executor)
		for _, p := range n.owned() {
			n.drop(p)
		}
	} else {
		n.after(n.w.cfg.Lease.Microseconds()/3, n.keep)
	}
	for _, token := range n.tokens() {
		n.runs[token].stop(ax.ErrShutdown)
	}
}

// keep renews the leases of a process that is leaving.
func (n *node) keep() {
	_ = n.w.store.leases().Renew(ctx, n.self)
	for _, p := range n.owned() {
		if n.w.store.leases().Renew(ctx, n.parts[p].lease) != nil {
			n.drop(p)
		}
	}
	n.after(n.w.cfg.Lease.Microseconds()/3, n.keep)
}

// end is the end of the process, however it came.
func (n *node) end() {
	n.w.book.Gone(n.executor)
	for _, t := range n.tokens() {
		n.w.book.Killed(token(t))
	}
	for id := range n.calls {
		n.w.book.Forgiven(id)
	}
	n.epoch++
	n.up, n.paused, n.eng = false, 0, nil
	n.parts, n.runs, n.claimed, n.calls = nil, nil, nil, nil
}

// crash kills the process.
func (n *node) crash(back int64, reboot, power bool) {
	if n.up {
		n.end()
	}
	n.epoch++
	if power && n.w.store.disk != nil {
		n.w.store.cut()
	}
	if reboot {
		n.clock.reboot(n.w.now)
	}
	n.startIn(back)
}

// startIn starts a process after a while, unless it is decided otherwise meanwhile.
func (n *node) startIn(after int64) {
	epoch := n.epoch
	n.w.at(after, func() {
		if n.epoch == epoch {
			n.start()
		}
	})
}
