package sim

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/clock"
	"github.com/axsched/ax/internal/engine"
	"github.com/axsched/ax/internal/invariant"
	"github.com/axsched/ax/memory"
)

// maxWriting is how many Apply calls a node may have under way, as in sched.
const maxWriting = 2

// node is one machine with one process of ax on it, or none.
type node struct {
	w     *world
	id    int
	name  string
	clock machine
	guard clock.Guard

	epoch  int   // of the process; grows when it dies and when it starts
	up     bool  // the process runs and has its lease
	late   int64 // how much longer the next batches are on their way to the store
	paused int64 // true time until which the process stands still

	// Of the process.
	eng       *engine.Node
	executor  string
	self      ax.Lease
	trust     int64 // boot time until which the leases may be trusted
	parts     map[ax.Partition]*own
	runs      map[ax.AttemptToken]*run
	claimed   map[ax.AttemptToken]*ax.Task // claimed, and not with the workers yet
	reserved  map[ax.AttemptToken]uint64   // of those: the write that their claims are in
	flying    map[ax.Partition]uint64      // the write that a batch of it is in
	writing   int
	forwards  int // reports on their way to inboxes
	filings   int
	batch     uint64
	alarm     int64 // true time of the alarm that is set, 0 for none
	idle      int   // turns in a row that an alarm caused at one instant and that did nothing
	acted     bool
	leaving   bool // the process lets go of all and ends
	back      int64
	calls     map[int]bool             // that wait for an answer
	missed    map[string]int64         // far tasks that are due, and since when that was seen
	over      map[ax.AttemptToken]bool // attempts that have been reported
	turns     int
	unquiet   int          // at least so many of its partitions are unquiet
	handover  ax.Partition // being given to another node, -1 for none
	overSince int64
}

// own is a partition that this process holds the lease of.
type own struct {
	lease   ax.Lease
	open    bool // the engine has it
	failed  bool // a write failed: the engine is thrown away
	loading bool
	serial  string
	loaded  string // which engine it is
	reading bool   // its inbox is being read, or what was read is not committed yet
	unquiet bool   // all was read
	hinted  bool   // and there is more
}

func newNode(w *world, id int) *node {
	return &node{w: w, id: id, name: fmt.Sprint("n", id), clock: newMachine(w, id)}
}

// fresh makes the state of a new process.
func (n *node) fresh() {
	cfg := &n.w.cfg
	n.eng = engine.NewNode(n.w.opt.Mutant.config(engine.Config{
		Name: n.executor, BootTag: n.clock.tag, MaxPending: cfg.MaxPending, Limits: limits(cfg),
		Aging: engine.Aging{After: cfg.AgeAfter, Step: cfg.AgeStep}, Window: cfg.Window, Remember: cfg.Remember,
		Rand: rand.New(rand.NewPCG(cfg.Seed, uint64(n.id*1000+n.epoch))), Seed: maphash.MakeSeed(), Finishes: cfg.Finishes,
		Pipelined: cfg.Pipelined, Era: n.w.store.era(), Horizon: cfg.Horizon.Microseconds(),
	}), cfg.Workers, kinds)
	n.guard = clock.Guard{}
	n.parts, n.runs = map[ax.Partition]*own{}, map[ax.AttemptToken]*run{}
	n.claimed, n.flying = map[ax.AttemptToken]*ax.Task{}, map[ax.Partition]uint64{}
	n.reserved, n.late = map[ax.AttemptToken]uint64{}, 0
	n.missed = map[string]int64{}
	n.calls, n.over = map[int]bool{}, map[ax.AttemptToken]bool{}
	n.writing, n.forwards, n.filings, n.unquiet, n.alarm, n.idle, n.leaving, n.handover = 0, 0, 0, 0, 0, 0, false, -1
}

// read looks at the clocks, as sched does at the start of a turn.
func (n *node) read() clock.Now {
	now, _ := n.guard.Observe(n.clock.read(n.w.now))
	n.w.book.Saw(now.Wall)
	return now
}

func (n *node) judged() invariant.Clock {
	r := n.clock.read(n.w.now)
	return invariant.Clock{Wall: r.Wall, Boot: r.Boot, BootTag: n.clock.tag}
}

func (n *node) wall() ax.Time { return ax.Time(n.clock.read(n.w.now).Wall) }

// tell lets the engine know the time before something is handed to it.
func (n *node) tell() {
	now := n.read()
	if n.w.opt.Mutant == Early {
		now.Wall, now.Boot = now.Wall+1000, now.Boot+1000
	}
	n.eng.Advance(now)
}

func (n *node) trusted() bool { return n.clock.read(n.w.now).Boot < n.trust }

// turn is what follows every event: see Scheduler.turn.
func (n *node) turn() {
	if !n.up {
		return
	}
	n.tell()
	stopped := n.leaving || n.handover >= 0 || !n.trusted()
	n.eng.Pause(stopped)
	before := n.eng.Counts.Running
	n.eng.Claim()
	n.watch(n.eng.Counts.Running != before, stopped)
	for _, c := range n.eng.TakeCancels() {
		if r := n.runs[c.Token]; r != nil {
			r.stop(c.Cause)
		}
	}
	n.eng.TakeOverran()
	n.commit()
	for _, f := range n.eng.Forgetful(20) {
		n.prune(f)
	}
	n.quiet()
	n.look()
	if n.step(); n.up {
		n.setAlarm()
	}
}

// commit has what the engines want written sent to the store.
func (n *node) commit() {
	if n.w.cfg.Pipelined {
		n.begin()
	} else if n.writing < maxWriting {
		if outs := n.eng.Flush(); len(outs) > 0 {
			n.acted = true
			n.write(outs)
		}
	}
	parts, errs := n.eng.Broken()
	for i, p := range parts {
		if o := n.parts[p]; o != nil && !o.loading {
			if errors.Is(errs[i], ax.ErrFenced) {
				n.drop(p)
				continue
			}
			o.open = false
			n.load(p, o, 0)
		}
	}
}

// beginning counts a write as under way. It returns its batches, and what their results are to be given to.
func (n *node) beginning(outs []*engine.Output) (batches []*ax.Batch, back func(got []error)) {
	n.writing++
	n.batch++
	var claims []ax.AttemptToken
	for _, o := range outs {
		if !n.w.cfg.Pipelined {
			n.flying[o.Batch.Partition] = n.batch
		}
		for _, t := range o.Sends {
			n.reserved[t.Last.Token] = n.batch
			claims = append(claims, t.Last.Token)
		}
		if !o.Batch.Empty() {
			batches = append(batches, o.Batch)
		}
		if n.w.opt.Mutant == SendFirst {
			n.sends(o)
		}
	}
	nth := n.batch
	return batches, func(got []error) {
		errs := make([]error, len(outs))
		claims = slices.DeleteFunc(claims, func(token ax.AttemptToken) bool { return n.reserved[token] != nth })
		for _, token := range claims {
			delete(n.reserved, token)
		}
		for i, o := range outs {
			if n.flying[o.Batch.Partition] == nth {
				delete(n.flying, o.Batch.Partition)
			}
			if !o.Batch.Empty() {
				errs[i], got = got[0], got[1:]
			}
			if errs[i] != nil {
				if own := n.parts[o.Batch.Partition]; own != nil && own.lease.Token == o.Batch.Token {
					own.failed = true
				}
				n.unclaim(o.Batch.Partition)
			}
		}
		n.writing--
		n.acted = true
		outs, errs = n.w.opt.Mutant.heard(n, outs, errs)
		for _, o := range n.eng.Committed(outs, errs) {
			n.effects(o)
		}
		for _, token := range claims { // of partitions that were given up meanwhile
			delete(n.claimed, token)
		}
	}
}

// write is one Apply: it reaches the store after a while, and its answer comes back after another.
func (n *node) write(outs []*engine.Output) {
	batches, back := n.beginning(outs)
	id, nth := n.executor, n.batch
	var got []error
	arrive := func() { got = n.w.store.apply(n, batches) }
	answer := func() { back(got) }
	there, backAgain := n.w.delay("apply", id, nth), n.w.delay("applied", id, nth)
	there, n.late = there+n.late, 0
	if len(batches) == 0 {
		n.after(0, answer)
		return
	}
	if there < 1_000_000 && n.w.pick(2, "stuck", id, nth) == 0 { // it leaves the process late: a pause holds it up
		n.after(there, func() { arrive(); n.after(backAgain, answer) })
		return
	}
	n.w.at(there, arrive)
	n.after(there+backAgain, func() {
		if got == nil { // its process was slower than the store; cannot be
			panic("sim: an answer before its request")
		}
		answer()
	})
}

// effects does what was waiting for a write.
func (n *node) effects(o *engine.Output) {
	for i := range o.Replies {
		if c, ok := o.Replies[i].Ticket.(*caller); ok {
			c.answered(n, o.Replies[i].Answer)
		}
	}
	if n.w.opt.Mutant != SendFirst {
		n.sends(o)
	}
	if f := (engine.Filing{Partition: o.Batch.Partition, Ended: o.Ended, Facts: o.Batch.Facts, Parts: 1}); len(f.Ended)+len(f.Facts) > 0 {
		if n.w.cfg.Finishes {
			f.Ended = nil
		}
		n.file(f, 0)
	}
	n.eng.Recycle(o)
}

func (n *node) sends(o *engine.Output) {
	for _, t := range o.Sends {
		delete(n.claimed, t.Last.Token)
		n.send(t)
	}
}

// file hands finished tasks to the archive until it has them.
func (n *node) file(f engine.Filing, try uint64) {
	n.filings++
	n.after(n.w.delay("file", n.executor, n.batch<<8+try), func() {
		n.filings--
		if n.w.now < n.w.noFiling {
			n.filings++
			n.after(int64(min(10_000<<min(try, 7), 1_000_000)), func() { n.filings--; n.file(f, try+1) })
			return
		}
		var err error
		n.w.store.do(func(b *memory.Backend) { err = b.Archive().(*memory.Archive).Append(ctx, f.Ended, f.Facts) })
		if err != nil {
			n.w.book.Broke(invariant.NeverLost, "the archive refused: %v", err)
		}
		for _, t := range f.Ended {
			n.w.note("filed", t.ID, int64(t.Run), int64(t.State))
			n.w.book.Filed(t.ID, int(t.Run), invariant.State(t.State))
		}
		n.filings++
		n.after(n.w.delay("filed", n.executor, n.batch<<8+try), func() {
			n.filings--
			n.tell()
			n.eng.Archived(f)
		})
	})
}

func (n *node) prune(f engine.Forgotten) {
	n.after(n.w.delay("prune", n.executor, n.batch), func() {
		n.w.store.do(func(b *memory.Backend) { _, _ = b.Prune(ctx, f.Partition, f.Token, f.Now, f.Keep) }) // fenced, or it comes again
	})
}

// setAlarm sleeps until the next instant at which something is to be done.
func (n *node) setAlarm() {
	wait, ok := n.eng.Next()
	if n.handover >= 0 || n.leaving {
		ok, wait = true, 20_000
	}
	if !ok {
		return
	}
	if wait > 0 || n.acted {
		n.idle = 0
	} else if n.idle++; n.idle > 3 {
		n.w.book.Broke(invariant.NoSpin, "%s was woken %d times at one instant and did nothing", n.name, n.idle)
	}
	n.acted = false
	at := n.w.now + min(wait, time.Minute.Microseconds())
	if n.alarm > n.w.now && n.alarm <= at {
		return // it wakes before, and sets it anew
	}
	n.alarm = at
	n.after(at-n.w.now, func() {
		if n.alarm == at {
			n.alarm = 0
		}
	})
}

// unclaim notes that claims of a partition which were not handed out are taken back.
func (n *node) unclaim(p ax.Partition) {
	for token, t := range n.claimed {
		if n.w.partition(t.ID) == p && n.reserved[token] == 0 {
			delete(n.claimed, token)
		}
	}
}

func (w *world) partition(id string) ax.Partition {
	return ax.PartitionOf(ax.KeyOf(id), w.cfg.Partitions)
}

// tokens returns the attempts with the workers in order.
func (n *node) tokens() []ax.AttemptToken {
	list := make([]ax.AttemptToken, 0, len(n.runs))
	for token := range n.runs {
		list = append(list, token)
	}
	slices.SortFunc(list, ax.AttemptToken.Compare)
	return list
}

func (n *node) owned() []ax.Partition {
	list := make([]ax.Partition, 0, len(n.parts))
	for p := range n.parts {
		list = append(list, p)
	}
	slices.SortFunc(list, cmp.Compare[ax.Partition])
	return list
}
