package sim

import (
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/invariant"
	"github.com/axsched/ax/memory"
)

// epoch is the true time at the start of a run: 2027-01-15 08:00 UTC, in microseconds.
const epoch = 1_800_000_000_000_000

// Options say how to run a script.
type Options struct {
	Trace  bool   // keep all lines of the trace, not only their hash
	Mutant Mutant // a planted bug
}

// Result is what became of a run.
type Result struct {
	Hash      uint64
	Violation *invariant.Violation
	Lines     []string // of the trace, with Options.Trace
	Virtual   time.Duration
	Events    int
	Starts    int // handlers
	Writes    int // batches
}

// world holds everything. It is only ever in one goroutine.
type world struct {
	cfg    Config
	opt    Options
	now    int64 // true time
	seq    uint64
	heap   heap
	store  *store
	arch   ax.Archive
	nodes  []*node
	book   *invariant.Book
	calls  int
	events int
	hash   uint64
	lines  []string
	seen   map[*ax.Task]*invariant.Task // what tasks look like to the book
	subs   map[string]*Op               // submissions by id, to be repeated
	born   map[*Op]ax.Time              // when their ids were made
	retold map[string]*ax.Report        // the last report of each id, to be told twice

	noSpace  int64 // until then
	noFiling int64
	calm     bool // the second phase
	probed   bool
	resolved int // by a person, in the second phase
	odd      int // entries with unknown verbs
}

// Run runs a script.
func Run(s *Script, opt Options) (r *Result) {
	w := newWorld(s, opt)
	r = &Result{}
	defer func() {
		if v := recover(); v != nil {
			w.book.Broke(invariant.NoPanic, "%v\n%s", v, debug.Stack())
		}
		r.Hash, r.Violation, r.Lines, r.Events = w.hash, w.book.Violation(), w.lines, w.events
		r.Virtual = time.Duration(w.now-epoch) * time.Microsecond
		r.Starts, r.Writes = w.book.Starts, w.book.Writes
	}()
	for i := range s.Ops {
		op := &s.Ops[i]
		w.at(op.At.Microseconds(), func() { w.do(op) })
	}
	w.at(w.cfg.Length.Microseconds(), w.heal)
	for _, n := range w.nodes {
		n.start()
	}
	w.loop()
	return r
}

func newWorld(s *Script, opt Options) *world {
	cfg := s.Config.withDefaults()
	w := &world{cfg: cfg, opt: opt, now: epoch, hash: 14695981039346656037, seen: map[*ax.Task]*invariant.Task{},
		subs: map[string]*Op{}, born: map[*Op]ax.Time{}, retold: map[string]*ax.Report{}, book: invariant.New(rules(&cfg, s))}
	w.store = &store{Backend: w.backend(), w: w}
	w.arch = w.store.Archive()
	if cfg.Pipelined {
		w.store.disk = &disk{refuses: map[ax.Partition]bool{}}
	}
	for i := range cfg.Nodes {
		w.nodes = append(w.nodes, newNode(w, i+1))
	}
	return w
}

func (w *world) clock() time.Time { return time.UnixMicro(w.now) }

// backend makes an empty store.
func (w *world) backend() *memory.Backend {
	return memory.New(memory.Config{Partitions: w.cfg.Partitions, Now: w.clock})
}

// mostEvents ends a run that does not end by itself: some twenty times as many as a run has.
const mostEvents = 60_000

func (w *world) loop() {
	for len(w.heap) > 0 && w.book.Violation() == nil {
		e := w.heap.pop()
		if e.node != nil {
			if e.epoch != e.node.epoch {
				continue // of a process that died
			}
			if e.node.paused > e.at {
				e.at = e.node.paused
				w.heap.push(e)
				continue
			}
		}
		w.now, w.book.Now = e.at, e.at
		if w.events++; w.events > mostEvents {
			w.book.Broke(invariant.NoSpin, "%d events", w.events)
		}
		e.f()
		if e.node != nil && e.epoch == e.node.epoch {
			e.node.turn()
		}
	}
}

// at lets f happen after a while, whatever becomes of the nodes.
func (w *world) at(after int64, f func()) {
	w.seq++
	w.heap.push(event{at: w.now + max(after, 0), seq: w.seq, f: f})
}

// after lets f happen in a process: not while it is paused, and never if it dies before.
func (n *node) after(wait int64, f func()) {
	n.w.seq++
	n.w.heap.push(event{at: n.w.now + max(wait, 0), seq: n.w.seq, node: n, epoch: n.epoch, f: f})
}

// note adds a step to the trace: its hash always, its text if lines are kept.
func (w *world) note(what string, id string, nums ...int64) {
	h := w.hash
	word := func(x uint64) { h = (h ^ x) * 1099511628211; h ^= h >> 29 }
	word(uint64(w.now))
	for i := range len(what) {
		word(uint64(what[i]))
	}
	for i := range len(id) {
		word(uint64(id[i]))
	}
	for _, n := range nums {
		word(uint64(n))
	}
	w.hash = h
	if w.opt.Trace {
		var line strings.Builder
		line.WriteString(fmt.Sprintf("%-12v %s", time.Duration(w.now-epoch)*time.Microsecond, what))
		if id != "" {
			line.WriteString(" " + id)
		}
		for _, n := range nums {
			line.WriteString(fmt.Sprint(" ", n))
		}
		w.lines = append(w.lines, line.String())
	}
}

// pick draws a number from 0 to most-1 by what it is for, so that it does not depend on what else was drawn.
func (w *world) pick(most int64, what string, id string, n uint64) int64 {
	h := w.cfg.Seed*0x9e3779b97f4a7c15 + 0x632be59bd9b4e019
	word := func(x uint64) { h ^= x; h *= 0xff51afd7ed558ccd; h ^= h >> 32 }
	for i := range len(what) {
		word(uint64(what[i]))
	}
	for i := range len(id) {
		word(uint64(id[i]))
	}
	word(n)
	word(h >> 7)
	return int64(h>>1) % max(most, 1)
}

// delay is how long a message or a call takes: mostly some milliseconds, now and then much longer.
func (w *world) delay(what string, id string, n uint64) int64 {
	d := 100 + w.pick(4000, what, id, n)
	if !w.calm && w.pick(25, what+"?", id, n) == 0 {
		d *= 60
	}
	return d * int64(w.cfg.Slow)
}

// event is one thing that is going to happen.
type event struct {
	at    int64
	seq   uint64
	node  *node
	epoch int
	f     func()
}

func (e *event) before(f *event) bool { return e.at < f.at || e.at == f.at && e.seq < f.seq }

// heap is a binary heap of events.
type heap []event

func (h *heap) push(e event) {
	*h = append(*h, e)
	s := *h
	for i := len(s) - 1; i > 0; {
		up := (i - 1) / 2
		if !s[i].before(&s[up]) {
			break
		}
		s[i], s[up] = s[up], s[i]
		i = up
	}
}

func (h *heap) pop() event {
	s := *h
	top, last := s[0], len(s)-1
	s[0], s[last] = s[last], event{}
	s = s[:last]
	for i := 0; ; {
		least, left := i, 2*i+1
		for _, c := range [2]int{left, left + 1} {
			if c < last && s[c].before(&s[least]) {
				least = c
			}
		}
		if least == i {
			break
		}
		s[i], s[least] = s[least], s[i]
		i = least
	}
	*h = s
	return top
}
