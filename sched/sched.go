package sched

import (
	"context"
	"errors"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/clock"
	"github.com/axsched/ax/internal/engine"
	"github.com/axsched/ax/internal/pool"
	"github.com/axsched/ax/memory"
)

// Scheduler runs tasks in this process. Make it with New. All methods are safe for concurrent use.
type Scheduler struct {
	cfg      Config                // immutable
	handlers map[string]ax.Handler // immutable
	bootTag  uint32                // immutable
	private  bool                  // immutable: the store is this process's own memory
	finishes bool                  // immutable: the store files what ends in its own archive
	pipe     *pipe                 // immutable: the store lets batches follow each other; nil if it does not
	horizon  time.Duration         // immutable: what is due later is not kept in memory; 0: everything is
	roomer   ax.Roomer             // immutable: the store tells of room; nil if it does not

	starting sync.Mutex // held by Start while it opens the store
	started  bool       // guarded by starting
	mail     mailbox
	requests sync.Pool // of *request with one entry; not global, since their channels belong to a test's bubble
	stops    stops

	// What follows belongs to the loop once it runs.
	node     *engine.Node
	watch    watch
	now      clock.Now // of this turn
	alarm    Timer
	pool     *pool.Pool
	runs     map[uint64]*pool.Run // in the hands of the workers, by the number of their claim
	sending  []*pool.Run          // scratch of send
	leases   leases
	writing  int      // calls of Apply or Begin that are not done
	waiters  []waiter // submissions that wait for room
	readers  []reader // of inboxes, that wait to read again
	filings  int      // handed to the archivist and not back
	stats    Stats
	shut     *shutdown                      // set once a shutdown was asked for
	noRoom   error                          // why nothing may be created now, from the store
	gone     map[ax.Partition]error         // why it was given up
	reopened map[ax.Partition]bool          // being opened again
	pauses   map[ax.Partition]time.Duration // before that is done once more, while no write succeeds

	commits chan []*engine.Output // to the writers
	archive *outbox[engine.Filing]
	events  *outbox[Event]
	prunes  *outbox[[]engine.Forgotten]
	lookups *outbox[[]engine.Wanted]
	group   sync.WaitGroup // all goroutines but the workers
	dying   chan struct{}  // closed when the loop has ended: nothing is tried again
	cancel  context.CancelFunc
	final   atomic.Pointer[Stats]
}

// waiter is one submission that waits for room.
type waiter struct {
	r *request
	i int
}

// New checks the configuration and returns a scheduler that has not started. Errors: ErrInvalid naming the field, and
// what went wrong in registering handlers.
func New(cfg Config) (*Scheduler, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	handlers, err := cfg.Mux.Handlers()
	if err != nil {
		return nil, err
	}
	s := &Scheduler{cfg: cfg, handlers: handlers, bootTag: cfg.Clock.BootTag(), watch: watch{clock: cfg.Clock},
		runs: map[uint64]*pool.Run{}, gone: map[ax.Partition]error{}, reopened: map[ax.Partition]bool{}, pauses: map[ax.Partition]time.Duration{}, commits: make(chan []*engine.Output, maxWriting)}
	s.requests.New = func() any { return &request{done: make(chan struct{}, 1)} }
	s.mail.wake = make(chan struct{}, 1)
	s.dying = make(chan struct{})
	s.mail.closed = true // until Start
	s.stops.init()
	if cfg.Store == nil {
		backend := memory.New(memory.Config{Partitions: cfg.Partitions, Now: cfg.Clock.Now, Keep: cfg.Keep})
		s.cfg.Store, s.cfg.Registry, s.private = backend, backend, true
	}
	if store, ok := s.cfg.Store.(ax.Pipeliner); ok {
		s.pipe = &pipe{store: store, wake: s.mail.poke}
	}
	if _, shared := s.cfg.Store.(*memory.Backend); !shared { // its tasks are those of the engine: to forget one frees nothing
		s.horizon = cfg.Horizon
	}
	s.roomer, _ = s.cfg.Store.(ax.Roomer)
	var era uint32
	for _, of := range []any{s.cfg.Registry, s.cfg.Store} {
		if only, ok := of.(ax.Exclusive); ok {
			era = only.Era()
		}
	}
	if s.cfg.Archive == nil {
		with, ok := s.cfg.Store.(ax.Finisher)
		if !ok {
			return nil, &ax.Error{Op: "configure", Field: "Archive", Value: "nil", Reason: "this store brings none: set one", Err: ax.ErrInvalid}
		}
		s.cfg.Archive, s.finishes = with.Archive(), true
	}
	kinds := make([]string, 0, len(handlers))
	for kind := range handlers {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	s.leases.executor = cfg.Node + "#" + ax.NewID(cfg.Clock.Now())
	s.pool = pool.New(cfg.Workers, handlers, cfg.Clock, s.ended)
	s.archive = newOutbox[engine.Filing](0)
	s.events = newOutbox[Event](65536)
	s.prunes = newOutbox[[]engine.Forgotten](16)
	s.lookups = newOutbox[[]engine.Wanted](0)
	s.node = engine.NewNode(engine.Config{
		Name: s.leases.executor, BootTag: s.bootTag, MaxPending: cfg.MaxPending, Limits: engine.Limits(cfg.Limits), Aging: cfg.Aging,
		Window: cfg.Dedupe.Window, Remember: cfg.Dedupe.Max / cfg.Partitions,
		Rand: rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())), Seed: maphash.MakeSeed(), Finishes: s.finishes, Alone: s.private,
		Pipelined: s.pipe != nil && !s.private, // its own memory is done at once: nothing is ever under way
		Era:       era,
		Horizon:   s.horizon.Microseconds(),
	}, cfg.Workers, kinds)
	return s, nil
}

// ended takes a finished attempt from a worker. After the loop has ended there is nobody to tell.
func (s *Scheduler) ended(r *pool.Run) {
	s.mail.post(func(m *mail) { m.ended = append(m.ended, r) })
}

// Start opens the store, takes up what is in it, and starts the goroutines (docs/threads.md lists them). ctx bounds the
// opening only. Errors: ErrStarted; ErrHeld if another process owns a partition; those of the store.
func (s *Scheduler) Start(ctx context.Context) error {
	s.starting.Lock()
	defer s.starting.Unlock()
	if _, stopped := s.Receipt(); stopped {
		return &ax.Error{Op: "start", Err: ax.ErrClosed, Reason: "it was shut down; make a new one"}
	}
	if s.started {
		return &ax.Error{Op: "start", Err: ax.ErrStarted}
	}
	s.started = true
	s.turnClock()
	if err := s.open(ctx); err != nil {
		s.leases.releaseAll(s.cfg.Registry)
		s.stops.finish(Receipt{})
		return err
	}
	life, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.alarm = s.cfg.Clock.NewTimer(s.mail.poke)
	s.mail.mu.Lock()
	s.mail.closed = false
	s.mail.mu.Unlock()
	s.group.Go(func() { s.archivist(life) })
	s.group.Go(s.announcer)
	if s.pipe == nil {
		for range maxWriting {
			s.group.Go(s.write)
		}
	}
	if s.horizon > 0 {
		s.group.Go(s.lookup)
	}
	if !s.private {
		s.group.Go(s.pruner)
		s.group.Go(func() { s.renew(life) })
		for _, l := range s.leases.partitions {
			s.group.Go(func() { s.readInbox(life, l.p, l.lease.Token) })
		}
	}
	go s.loop() // waited for through stops.finished, by Drain and Stop
	s.mail.poke()
	return nil
}

// Run starts the scheduler, waits for ctx to end, and then drains it for at most ShutdownWait. It returns nil then, or
// the error of Start. Receipt tells what was left.
func (s *Scheduler) Run(ctx context.Context) error {
	if err := s.Start(ctx); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-s.stops.finished:
		return nil
	}
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.ShutdownWait)
	defer cancel()
	_, err := s.Drain(bound)
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil // bounded as configured; the receipt says what was left
	}
	return err
}
