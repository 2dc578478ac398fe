// Package engine is the scheduler's core, a pure step machine: it has no goroutine, does no I/O, reads no clock and has
// no random source but the one it is handed. It schedules for every home alike, and a simulator drives it as it is.
//
// An Engine holds one partition whose owner this process is. Time, requests and reports go in by method calls; what is
// to be done comes out as an Output, in the order it must happen: persist Batch, and only once that is as durable as it asks, send
// Sends, answer Replies, archive Ended. A Node holds the engines of one process, merges what they have ready, hands out
// capacity, and knows what its own workers hold. The driver (package sched) adds goroutines and a store.
//
//	                    Advance                  Claim                     Admit(report)
//	Admit(submit) → timed ──────→ due → ready ──────────→ running ─────────────────→ ended → Archived → gone
//	                ↕ ↑             ↘ chained, parked ↗      │    ↘ held → Admit(resolve)
//	              far └───────────── retry, hand-back ───────┘
//
// Guaranteed: an attempt is claimed only when it is due on the clock its task follows, only once until a report, a
// person or the lost policy has ended it, and only after its batch was built; every task that was admitted is in
// exactly one place; terminal tasks do not change. Where batches may follow each other (Config.Pipelined), nothing that is
// done or said is ahead of what it builds on: see recent.
//
// Tasks due beyond Config.Horizon are not kept: see horizon.
//
// Not its business: whether a batch could be written. If one could not, the Node throws the engine away and has a new
// one loaded from the store, which is the only truth.
package engine

import (
	"hash/maphash"
	"math/rand/v2"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/clock"
	"github.com/axsched/ax/internal/index"
	"github.com/axsched/ax/internal/ready"
	"github.com/axsched/ax/internal/wheel"
)

// Aging is how waiting raises priority.
type Aging = ready.Aging

// Config is shared by the engines of a node. Immutable after NewNode.
type Config struct {
	Name       string // of this node, as executor of its own workers
	BootTag    uint32 // of this boot; 0: there is no boot-time clock
	MaxPending int    // tasks that have not ended, over all partitions of the node
	Limits     Limits
	Aging      Aging
	Window     time.Duration // what ended stays known for this long,
	Remember   int           // at most so many per partition
	Rand       *rand.Rand
	Seed       maphash.Seed
	Alone      bool   // nobody else can own a partition, and the store cannot fail: what is known of ids need not be stored
	Finishes   bool   // the store is an ax.Finisher, and its archive is the one in use
	Pipelined  bool   // the store is an ax.Pipeliner: batches of a partition may follow each other
	Horizon    int64  // microseconds: what is due later is not kept in memory; 0: everything is
	Era        uint32 // of an ax.Exclusive store: attempts of earlier eras are provably stopped. 0: nobody knows
}

// place is where an item waits.
type place uint8

const (
	nowhere place = iota
	timed         // in a wheel until it is due
	chained       // due, but another ordered task of its key goes first
	ready_        // in its kind's lane
	parked        // ready, but a limit of its key or job is reached
	running       // claimed; its timer is the deadline
	held          // its attempt's fate is unknown
	ended         // terminal, until the archive has it
)

// item is a live task and where it waits: 64 bytes, since there may be millions.
type item struct {
	timer  wheel.Timer[*item] // timed: At; running: the deadline
	task   *ax.Task           // as of the batch being built; immutable
	ticket uint32             // changes whenever it leaves a queue otherwise than by Pop
	pos    int32              // in the batch being built: n > 0 is Create[n-1], n < 0 is Move[-n-1]
	late   uint32             // ready, parked, chained: when it was seen to be due, in 0.1 ms after At, at most 5 days
	where  place
	onWall bool // timed: in the wall wheel
	atJob  bool // parked: at its job's gate, not its key's
	over   bool // running: past the deadline, the timer is now its life limit
}

// Ticket makes an item wait in a ready.Queue.
func (it *item) Ticket() uint32 { return it.ticket }

// Engine schedules one partition. Not safe for concurrent use.
type Engine struct {
	cfg   *Config
	node  *Node // counts, and the lanes it is to be asked for
	p     ax.Partition
	token ax.Token
	now   clock.Now

	batches uint64 // number of the last batch built
	seq     uint64 // of the last submission
	facts   uint64

	items   *index.Index[item]
	boot    *wheel.Wheel[*item] // follows elapsed time
	wall    *wheel.Wheel[*item] // follows the wall clock
	gates   gates
	lanes   map[string]*Lane
	chains  map[string]*chain // ordered keys
	horizon *horizon          // nil: there is none
	memory  memory
	inbox   map[string]bool // entries admitted by a batch that is not committed yet, and those of unknown verbs

	admitting int  // of inbox: without the unknown verbs
	foreign   bool // attempts of other executors may be running

	out     *Output
	early   *Output // claims that need not wait for out; nil if there are none
	recent  recent
	touched []*item // have a pos
}

// Output is what a step asks for. Batch first; the rest only once it has been written.
type Output struct {
	Batch   *ax.Batch
	Sends   []*ax.Task // claimed: to be handed to the workers; the attempt is Task.Last
	Replies []Reply
	Ended   []*ax.Task        // unless the store finishes them: to be archived, then reported with Node.Archived
	Known   int               // the first so many of Ended had ended before the partition was opened: they are no news
	Settled []ax.AttemptToken // local attempts whose reports this batch makes safe
	Held    []*ax.Task

	sent   []*item              // of Sends, each with its task
	serial uint32               // of those with a durable batch; see recent
	tally  [ax.Canceled + 1]int // tasks that came to a state, 0: created; to be counted once it is written
}

// Reply is the answer to an admitted entry. Entry is kept until the batch is safe, to be admitted again if it fails.
type Reply struct {
	Entry  *ax.Entry
	Ticket any // as handed to Admit; nil for entries of the inbox
	Index  int
	Answer ax.Answer
}

func newEngine(n *Node, p ax.Partition, token ax.Token, l *Loaded, first bool, now clock.Now) *Engine {
	opened := l.Opened
	e := &Engine{
		cfg: n.cfg, node: n, p: p, token: token, now: now, batches: opened.Number,
		items:  index.New(n.cfg.Seed, func(it *item) string { return it.task.ID }),
		boot:   wheel.New[*item](now.Boot),
		wall:   wheel.New[*item](now.Wall),
		lanes:  make(map[string]*Lane),
		chains: make(map[string]*chain),
		inbox:  make(map[string]bool),
		out:    n.output(), recent: newRecent(n.cfg),
	}
	e.gates = newGates(n.cfg.Limits, n.cfg.Aging, now)
	e.memory = newMemory(n.cfg, opened.Floor)
	e.horizon = newHorizon(e, l.UpTo, first)
	return e
}

// fireAtOnce is how many timers of a clock one Advance takes from its wheel, so that a million tasks due at one instant
// hold up nothing for more than a few milliseconds. Next says at once that there is more.
const fireAtOnce = 1024

// Advance tells the time: what has become due moves on.
func (e *Engine) Advance(now clock.Now) {
	if now.Wall < e.now.Wall {
		e.wall.Rebase(now.Wall)
	}
	e.now = now
	e.boot.AdvanceSome(now.Boot, fireAtOnce, e.fired)
	e.wall.AdvanceSome(now.Wall, fireAtOnce, e.fired)
	e.gates.advance(now.Boot, now.Wall, e.ready)
	e.memory.forget(ax.Time(now.Wall))
	if e.horizon != nil {
		e.horizon.advance(now)
	}
}

// Next returns after how many microseconds Advance has something to do.
func (e *Engine) Next() (wait int64, ok bool) {
	if at, some := e.boot.Next(); some {
		wait, ok = at-e.now.Boot, true
	}
	if at, some := e.wall.Next(); some && (!ok || at-e.now.Wall < wait) {
		wait, ok = at-e.now.Wall, true
	}
	if at, some := e.gates.wheel.Next(); some && (!ok || at-e.now.Boot < wait) {
		wait, ok = at-e.now.Boot, true
	}
	if e.horizon != nil {
		if w, some := e.horizon.next(e.now); some && (!ok || w < wait) {
			wait, ok = w, true
		}
	}
	return max(wait, 0), ok
}

func (e *Engine) fired(t *wheel.Timer[*item]) {
	it := t.Value
	switch it.where {
	case timed:
		e.due(it)
	case running:
		e.deadline(it)
	}
}

// isDue is law 1: on the clock that the task follows, At has come.
func (e *Engine) isDue(t *ax.Task) bool {
	if e.followsBoot(t) {
		return e.now.Boot >= t.BootAt
	}
	return ax.Time(e.now.Wall) >= t.At
}

func (e *Engine) followsBoot(t *ax.Task) bool { return t.Boot != 0 && t.Boot == e.cfg.BootTag }

// schedule puts a SCHEDULED item where it waits.
func (e *Engine) schedule(it *item) {
	switch {
	case e.isDue(it.task):
		e.due(it)
	case e.followsBoot(it.task):
		it.where, it.onWall = timed, false
		e.boot.Add(&it.timer, it.task.BootAt)
	default:
		it.where, it.onWall = timed, true
		e.wall.Add(&it.timer, int64(it.task.At))
	}
}

// due moves an item whose time has come to its key's chain, if it is ordered, or to its lane.
func (e *Engine) due(it *item) {
	late := int64(e.now.Wall) - int64(it.task.At)
	if e.followsBoot(it.task) {
		late = e.now.Boot - it.task.BootAt
	}
	it.late = uint32(min(max(late, 0)/100, 1<<32-1))
	if it.task.Flags&ax.Ordered != 0 {
		e.chain(it)
		return
	}
	e.ready(it)
}

// since is the instant that a task's wait and its place among equals go by. A due time before the submission counts
// as the submission, or a caller could jump the queue with an At in the past.
func since(t *ax.Task) int64 { return int64(max(t.Due, t.Created)) }

func (e *Engine) ready(it *item) {
	it.where = ready_
	l := e.lanes[it.task.Kind]
	if l == nil {
		l = &Lane{engine: e, kind: e.node.kind(it.task.Kind), lane: ready.Lane[*item]{Aging: e.cfg.Aging}}
		e.lanes[it.task.Kind] = l
	}
	l.lane.Push(it.task.Priority.Level(), since(it.task), it.task.Seq, it)
	if !l.listed {
		l.listed = true
		e.node.lanes = append(e.node.lanes, l)
	}
}

// leave takes an item out of wherever it waits, without deciding what becomes of it.
func (e *Engine) leave(it *item) {
	switch it.where {
	case timed, running:
		e.unarm(it)
	case ready_:
		it.ticket++
		e.lanes[it.task.Kind].lane.Left(it.task.Priority.Level())
		it.where = nowhere
		e.gates.passOn(it.task, e.now.Boot, e.ready)
	case parked:
		it.ticket++
		e.gates.left(it)
	case chained:
		it.ticket++
		e.chains[it.task.Key()].waiting.Left()
	}
	it.where = nowhere
}

func (e *Engine) unarm(it *item) {
	if it.onWall {
		e.wall.Remove(&it.timer)
	} else {
		e.boot.Remove(&it.timer)
	}
}

// set replaces an item's task by its next version and notes the change in the batch.
func (e *Engine) set(it *item, t *ax.Task) {
	e.change(it, t)
	e.recent.note(t)
	b := e.out.Batch
	switch {
	case it.pos > 0:
		b.Create[it.pos-1] = t
	case it.pos < 0:
		b.Move[-it.pos-1] = t
	default:
		b.Move = append(b.Move, t)
		it.pos = -int32(len(b.Move))
		e.touched = append(e.touched, it)
	}
}

// unlist takes an item's change out of the batch. The last one of its list takes its place.
func (e *Engine) unlist(it *item) {
	b := e.out.Batch
	list, sign := &b.Create, int32(1)
	if it.pos < 0 {
		list, sign = &b.Move, -1
	}
	i, last := sign*it.pos-1, len(*list)-1
	moved := (*list)[last]
	(*list)[i] = moved
	(*list)[last] = nil
	*list = (*list)[:last]
	if int(i) != last {
		e.items.Get(moved.ID).pos = sign * (i + 1)
	}
	it.pos = 0
}

// change replaces an item's task by its next version.
func (e *Engine) change(it *item, t *ax.Task) {
	if !ax.Legal(it.task.State, t.State) {
		e.node.Counts.Anomalies++
		e.fact(t.ID, t.Run, ax.FactAnomaly, "", it.task.State.String()+" to "+t.State.String())
	}
	if it.task.State != t.State {
		e.node.Counts.gauge(it.task.State, -1)
		e.node.Counts.gauge(t.State, 1)
	}
	it.task = t
}

// fact notes an event for the timeline.
func (e *Engine) fact(id string, run int32, what ax.FactKind, by, text string) {
	e.facts++
	e.out.Batch.Facts = append(e.out.Batch.Facts, ax.Fact{
		ID: factID(e.token, e.facts), At: ax.Time(e.now.Wall), Task: id, Run: run, What: what, By: by, Text: clip(text, 1024)})
}
