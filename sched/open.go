package sched

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/engine"
)

// leases are what this process holds in the registry: itself as a node, and its partitions.
type leases struct {
	node       string
	executor   string // this process as it stands in attempts: the node's name and the token of its lease
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
	if s.leases.self, err = s.cfg.Registry.Acquire(ctx, "node", s.cfg.Node, s.cfg.Node, ttl, nil); err != nil {
		return fmt.Errorf("ax: start: node %q: %w", s.cfg.Node, err)
	}
	s.leases.executor = s.cfg.Node + "#" + s.leases.self.Token.String()
	s.node.Rename(s.leases.executor)
	for p := range ax.Partition(s.cfg.Partitions) {
		l, err := s.cfg.Registry.Acquire(ctx, "partition", fmt.Sprint(p), s.leases.executor, ttl, nil)
		if err != nil {
			return fmt.Errorf("ax: start: partition %d: %w", p, err)
		}
		s.leases.partitions = append(s.leases.partitions, held{p, l})
		loaded, err := load(ctx, s.cfg.Store, p, l.Token)
		if err != nil {
			return fmt.Errorf("ax: start: partition %d: %w", p, err)
		}
		s.effects(s.node.Own(p, l.Token, loaded))
		if err := s.bury(ctx, loaded); err != nil {
			return fmt.Errorf("ax: start: partition %d: %w", p, err)
		}
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

// bury decides on the running attempts of processes that are gone: an earlier process of this node's name is provably
// dead, since this one has its lease; of another whose lease has run out nobody knows.
func (s *Scheduler) bury(ctx context.Context, l *engine.Loaded) error {
	seen := map[string]bool{s.leases.executor: true}
	for _, t := range l.Tasks {
		if t.State != ax.Running || seen[t.Last.Executor] {
			continue
		}
		executor := t.Last.Executor
		seen[executor] = true
		name, _, _ := strings.Cut(executor, "#")
		if name == s.cfg.Node {
			s.node.Lost(executor, true)
			continue
		}
		nodes, err := s.cfg.Registry.Leases(ctx, "node")
		if err != nil {
			return err
		}
		alive := false
		for _, n := range nodes {
			alive = alive || n.Name+"#"+n.Token.String() == executor
		}
		if !alive {
			s.node.Lost(executor, false)
		}
	}
	return nil
}

// load opens a partition and reads all that is in it.
func load(ctx context.Context, store ax.Store, p ax.Partition, token ax.Token) (*engine.Loaded, error) {
	opened, err := store.Open(ctx, p, token)
	if err != nil {
		return nil, err
	}
	l := &engine.Loaded{Opened: opened}
	for _, index := range []ax.Index{ax.IndexDue, ax.IndexWaiting, ax.IndexRunning, ax.IndexHeld, ax.IndexEnded, ax.IndexIDs, ax.IndexFacts} {
		req := ax.ScanRequest{Partition: p, Token: token, Index: index, Limit: 10_000}
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
	if s.reopened[p] {
		return
	}
	s.reopened[p] = true
	var token ax.Token
	for _, h := range s.leases.partitions {
		if h.p == p {
			token = h.lease.Token
		}
	}
	s.cfg.Logger.Warn("a write failed; opening the partition again", "partition", p, "error", cause)
	s.group.Go(func() {
		var loaded *engine.Loaded
		err := cause
		for pause := retryPause; !errors.Is(err, ax.ErrFenced); pause = min(2*pause, time.Second) {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			if loaded, err = load(ctx, s.cfg.Store, p, token); err == nil || errors.Is(err, ax.ErrClosed) {
				cancel()
				break
			}
			cancel()
			if !s.pause(pause) {
				break
			}
		}
		s.mail.post(func(m *mail) {
			m.calls = append(m.calls, func() {
				delete(s.reopened, p)
				if err != nil {
					s.drop(p, err)
					return
				}
				s.effects(s.node.Own(p, token, loaded))
			})
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
	for _, r := range s.node.Drop(p) {
		if req, ok := r.Ticket.(*request); ok {
			s.answer(req, r.Index, r.Answer)
		}
	}
}

// renew keeps the leases, on a goroutine that nothing else can hold up.
func (s *Scheduler) renew(ctx context.Context) {
	pause := s.cfg.LeaseTTL / 3
	for s.pause(pause) && ctx.Err() == nil {
		asked := s.cfg.Clock.Boot()
		pause = s.cfg.LeaseTTL / 3
		for _, l := range append([]held{{-1, s.leases.self}}, s.leases.partitions...) {
			err := s.cfg.Registry.Renew(ctx, l.lease)
			if errors.Is(err, ax.ErrLeaseLost) && l.p >= 0 {
				s.mail.post(func(m *mail) { m.calls = append(m.calls, func() { s.drop(l.p, err) }) })
			} else if err != nil && ctx.Err() == nil {
				pause, asked = min(pause, 500*time.Millisecond), 0
				s.cfg.Logger.Warn("could not renew a lease", "lease", l.lease.Class+"/"+l.lease.Name, "error", err)
			}
		}
		if asked != 0 {
			s.trust(asked)
		}
	}
}
