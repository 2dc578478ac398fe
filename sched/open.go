package sched

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/engine"
)

// leases are what this process holds in the registry: itself as a node, and its partitions.
type leases struct {
	executor   string // this process as it stands in attempts: the name of the node, and an id of its own
	self       ax.Lease
	partitions []held
	trust      atomic.Int64 // boot time, microseconds, up to which the leases may be trusted; 0: for ever
}

type held struct {
	p     ax.Partition
	lease ax.Lease
}

// margin is taken off a lease's time to live before it is trusted, for clocks that run at different speeds and for what
// is already on its way to the store.
func margin(ttl time.Duration) time.Duration { return min(ttl/5, time.Second) }

// trusted reports whether this process may still hand out attempts.
func (l *leases) trusted(boot int64) bool {
	trust := l.trust.Load()
	return trust == 0 || boot < trust
}

func (l *leases) releaseAll(r ax.Registry) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, h := range l.partitions {
		_ = r.Release(ctx, h.lease) // it runs out by itself
	}
	if l.self.Name != "" {
		_ = r.Release(ctx, l.self)
	}
}

// open takes the leases and takes up what the store holds.
func (s *Scheduler) open(ctx context.Context) error {
	ttl := s.cfg.LeaseTTL
	if s.private {
		ttl = 100 * 365 * 24 * time.Hour // nobody else can want it
	}
	asked := s.cfg.Clock.Boot()
	var err error
	if s.leases.self, err = s.cfg.Registry.Acquire(ctx, "node", s.cfg.Node, s.leases.executor, ttl, []byte(s.leases.executor)); err != nil {
		return fmt.Errorf("ax: start: node %q: %w", s.cfg.Node, err)
	}
	for p := range ax.Partition(s.cfg.Partitions) {
		l, err := s.cfg.Registry.Acquire(ctx, "partition", fmt.Sprint(p), s.leases.executor, ttl, nil)
		if err != nil {
			return fmt.Errorf("ax: start: partition %d: %w", p, err)
		}
		s.leases.partitions = append(s.leases.partitions, held{p, l})
		loaded, err := s.load(ctx, p, l.Token)
		if err != nil {
			return fmt.Errorf("ax: start: partition %d: %w", p, err)
		}
		s.effects(s.node.Own(p, l.Token, loaded))
	}
	if !s.private {
		alive, err := s.alive(ctx)
		if err != nil {
			return fmt.Errorf("ax: start: %w", err)
		}
		s.bury(alive)
	}
	s.trust(asked)
	return nil
}

// trust counts a lease from before it was asked for.
func (s *Scheduler) trust(asked int64) {
	if !s.private {
		s.leases.trust.Store(asked + (s.cfg.LeaseTTL - margin(s.cfg.LeaseTTL)).Microseconds())
		s.mail.poke()
	}
}

// alive returns the processes that hold a node lease, as they stand in attempts.
func (s *Scheduler) alive(ctx context.Context) (map[string]bool, error) {
	nodes, err := s.cfg.Registry.Leases(ctx, "node")
	alive := map[string]bool{s.leases.executor: true}
	for _, n := range nodes {
		alive[string(n.Data)] = true
	}
	return alive, err
}

// bury decides on the running attempts of processes whose node lease has ended: nobody knows whether they still run, and
// each task's lost policy decides. Loop only, or before it runs.
func (s *Scheduler) bury(alive map[string]bool) {
	for _, executor := range s.node.Elsewhere() {
		if !alive[executor] {
			s.cfg.Logger.Warn("a process that ran attempts is gone", "executor", executor)
			s.node.Lost(executor, false)
		}
	}
}

// load opens a partition and reads all that is in it, up to the horizon.
func (s *Scheduler) load(ctx context.Context, p ax.Partition, token ax.Token) (*engine.Loaded, error) {
	store := s.cfg.Store
	opened, err := store.Open(ctx, p, token)
	if err != nil {
		return nil, err
	}
	l := &engine.Loaded{Opened: opened}
	if s.horizon > 0 {
		l.UpTo = ax.At(s.cfg.Clock.Now()).Add(s.horizon)
	}
	for _, index := range []ax.Index{ax.IndexDue, ax.IndexWaiting, ax.IndexRunning, ax.IndexHeld, ax.IndexEnded, ax.IndexIDs, ax.IndexFacts} {
		req := ax.ScanRequest{Partition: p, Token: token, Index: index, To: l.UpTo, Limit: 10_000}
		for {
			page, err := store.Scan(ctx, req)
			if err != nil {
				return nil, err
			}
			l.Tasks = append(l.Tasks, page.Tasks...)
			l.IDs = append(l.IDs, page.IDs...)
			l.Facts = append(l.Facts, page.Facts...)
			if page.Next == "" {
				break
			}
			req.From = page.Next
		}
	}
	return l, nil
}

// reopen brings a partition back after a write failed: it is opened again, which settles whether the write happened,
// or given up if another process owns it now.
func (s *Scheduler) reopen(p ax.Partition, cause error) {
	if !s.reopened[p] {
		s.cfg.Logger.Warn("a write failed; opening the partition again", "partition", p, "error", cause)
		s.openAgain(p, s.node.Token(p), cause)
	}
}

// openAgain loads a partition beside the loop, for as long as it takes.
func (s *Scheduler) openAgain(p ax.Partition, token ax.Token, cause error) {
	s.reopened[p] = true
	first := s.pauses[p] // 0 if the write before was fine
	s.pauses[p] = min(max(2*first, retryPause), time.Second)
	s.group.Go(func() {
		var loaded *engine.Loaded
		err := cause
		if first > 0 && !errors.Is(err, ax.ErrFenced) {
			s.pause(first)
		}
		for pause := retryPause; !errors.Is(err, ax.ErrFenced); pause = min(2*pause, time.Second) {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			loaded, err = s.load(ctx, p, token)
			cancel()
			if err == nil || errors.Is(err, ax.ErrClosed) || !s.pause(pause) {
				break
			}
		}
		s.call(func() {
			delete(s.reopened, p)
			if err != nil {
				s.drop(p, err)
				return
			}
			delete(s.gone, p)
			s.effects(s.node.Own(p, token, loaded))
		})
	})
}

// retryPause is the first wait before something that failed is tried again; it doubles up to a second.
const retryPause = 10 * time.Millisecond

// pause waits, and reports false if the scheduler ended meanwhile.
func (s *Scheduler) pause(d time.Duration) bool {
	done := make(chan struct{})
	t := s.cfg.Clock.NewTimer(sync1(done))
	t.Reset(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-s.dying:
		return false
	}
}

// sync1 returns a function that closes c once.
func sync1(c chan struct{}) func() {
	var called atomic.Bool
	return func() {
		if !called.Swap(true) {
			close(c)
		}
	}
}

// drop gives up a partition.
func (s *Scheduler) drop(p ax.Partition, cause error) {
	s.cfg.Logger.Error("gave up a partition", "partition", p, "error", cause)
	s.gone[p] = cause
	replies, reports := s.node.Drop(p)
	for _, r := range reports {
		s.forward(p, r)
	}
	for _, r := range replies {
		if req, ok := r.Ticket.(*request); ok {
			if errors.Is(cause, ax.ErrClosed) {
				r.Answer.Err = &ax.Error{Op: string(r.Entry.Verb), ID: cmp.Or(r.Entry.ID, r.Entry.Target), Err: errUnknown{cause}, Reason: "the store has stopped"}
			}
			s.answer(req, r.Index, r.Answer)
		}
	}
}

// renew keeps the leases, takes back those that were lost and are free again, and looks who else is gone, on a goroutine
// that nothing else can hold up. It alone touches leases.self and leases.partitions while it runs.
func (s *Scheduler) renew(ctx context.Context) {
	pause := s.cfg.LeaseTTL / 3
	for s.pause(pause) && ctx.Err() == nil {
		asked := s.cfg.Clock.Boot()
		pause = s.cfg.LeaseTTL / 3
		err := s.renewOne(ctx, &s.leases.self, []byte(s.leases.executor), func(error) {}, func() {})
		for i := range s.leases.partitions {
			h := &s.leases.partitions[i]
			err = errors.Join(err, s.renewOne(ctx, &h.lease, nil,
				func(err error) { s.call(func() { s.drop(h.p, err) }) },
				func() { s.takeBack(ctx, h.p, h.lease.Token) }))
		}
		alive, lookErr := s.alive(ctx)
		if lookErr == nil {
			s.call(func() { s.bury(alive) })
		}
		if err = errors.Join(err, lookErr); err == nil {
			s.trust(asked)
			continue
		}
		pause = min(pause, 500*time.Millisecond)
		if ctx.Err() == nil {
			s.cfg.Logger.Warn("could not renew all leases", "error", err)
		}
	}
}

// renewOne renews a lease. One that was lost is asked for anew, at once and at every later call until it is granted.
func (s *Scheduler) renewOne(ctx context.Context, l *ax.Lease, data []byte, lost func(error), back func()) error {
	if !l.Token.IsZero() {
		err := s.cfg.Registry.Renew(ctx, *l)
		if !errors.Is(err, ax.ErrLeaseLost) {
			return err
		}
		l.Token = ax.Token{}
		lost(err)
	}
	again, err := s.cfg.Registry.Acquire(ctx, l.Class, l.Name, s.leases.executor, s.cfg.LeaseTTL, data)
	if err != nil {
		return err
	}
	*l = again
	back()
	return nil
}

// takeBack opens a partition that had been given up.
func (s *Scheduler) takeBack(ctx context.Context, p ax.Partition, token ax.Token) {
	s.call(func() { s.openAgain(p, token, nil) })
	s.group.Go(func() { s.readInbox(ctx, p, token) }) // the reader under the old token has ended
}

// call has the loop call f.
func (s *Scheduler) call(f func()) {
	s.mail.post(func(m *mail) { m.calls = append(m.calls, f) })
}
