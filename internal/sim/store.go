package sim

import (
	"slices"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/invariant"
	"github.com/axsched/ax/internal/registry"
	"github.com/axsched/ax/memory"
)

// store is the backend as the nodes see it: sometimes it fails, and the book is told of all that took effect.
type store struct {
	*memory.Backend
	w     *world
	disk  *disk // nil: what it has answered is durable, and many processes may have it open
	armed []fault
}

// leases returns where leases are.
func (s *store) leases() *registry.Registry {
	if s.disk != nil {
		return s.disk.registry
	}
	return s.Backend.Registry
}

// era returns the era of a store that one process at a time has open, or 0.
func (s *store) era() uint32 {
	if s.disk != nil {
		return s.disk.era
	}
	return 0
}

// fault is one failure that waits for its call.
type fault struct {
	node  int // 0: whoever comes first
	call  string
	after bool // it fails once it has done what it was asked
	left  int
}

// arm lets the next calls fail.
func (s *store) arm(f fault) { s.armed = append(s.armed, f) }

// take returns how a call is to fail, nil if it is not.
func (s *store) take(n *node, call string) *fault {
	for i := range s.armed {
		f := &s.armed[i]
		if f.left > 0 && f.call == call && (f.node == 0 || n != nil && f.node == n.id) {
			f.left--
			return f
		}
	}
	return nil
}

func (s *store) fails(n *node, call string) bool { return s.take(n, call) != nil }

// open is Open.
func (s *store) open(n *node, p ax.Partition, token ax.Token) (ax.Opened, error) {
	f := s.take(n, "open")
	if f != nil && !f.after {
		return ax.Opened{}, ax.ErrUnknown
	}
	var opened ax.Opened
	var err error
	s.do(func(b *memory.Backend) { opened, err = b.Open(ctx, p, token) })
	if err == nil {
		if s.disk != nil {
			delete(s.disk.refuses, p)
		}
		s.w.note("opened", n.name, int64(p), int64(token.Revision), int64(opened.Number))
		s.w.book.Opened(int(p), invariant.Token{Era: token.Era, Revision: token.Revision})
	}
	if f != nil {
		return ax.Opened{}, ax.ErrUnknown
	}
	return opened, err
}

// scan is Scan.
func (s *store) scan(n *node, req ax.ScanRequest) (ax.Page, error) {
	if s.fails(n, "scan") {
		return ax.Page{}, ax.ErrUnknown
	}
	if s.w.opt.Mutant == ReadFirst {
		req.Token = s.w.owner(req.Partition)
		if req.Token.IsZero() {
			return ax.Page{}, nil
		}
	}
	if s.disk != nil {
		s.sync(len(s.disk.log)) // nothing that is read is ahead of the disk
	}
	return s.Scan(ctx, req)
}

// apply is Apply.
func (s *store) apply(n *node, batches []*ax.Batch) []error {
	f := s.take(n, "apply")
	if f != nil && !f.after {
		s.w.note("apply-refused", n.name)
		return slices.Repeat([]error{ax.ErrUnknown}, len(batches))
	}
	errs := make([]error, len(batches))
	for i, b := range batches {
		switch {
		case slices.ContainsFunc(batches[:i], func(o *ax.Batch) bool { return o.Partition == b.Partition }):
			panic("sim: two batches of one partition in one call")
		case s.w.now < s.w.noSpace && len(b.Create) > 0:
			errs[i] = ax.ErrNoSpace
		default:
			errs[i] = s.Apply(ctx, []*ax.Batch{s.w.opt.Mutant.batch(s, b)})[0]
		}
		s.w.note("apply", n.name, int64(b.Partition), int64(b.Number), int64(b.Token.Revision), int64(len(b.Create)), int64(len(b.Move)), int64(len(b.Delete)), code(errs[i]))
		if errs[i] == nil {
			s.wrote(b)
		}
	}
	if f != nil {
		s.w.note("apply-unknown", n.name)
		return slices.Repeat([]error{ax.ErrUnknown}, len(batches))
	}
	return errs
}

func code(err error) int64 {
	switch err {
	case nil:
		return 0
	case ax.ErrFenced:
		return 1
	case ax.ErrGap:
		return 2
	case ax.ErrNoSpace:
		return 3
	}
	return 9
}

// wrote tells the book of a batch, and compares what the store shows of it now.
func (s *store) wrote(b *ax.Batch) {
	w := s.w
	out := &invariant.Batch{Partition: int(b.Partition), Token: invariant.Token{Era: b.Token.Era, Revision: b.Token.Revision},
		Delete: b.Delete, Admit: b.Admit}
	chosen := func(id string) bool {
		return slices.ContainsFunc(b.Facts, func(f ax.Fact) bool {
			return f.Task == id && (f.What == ax.FactRunNow || f.What == ax.FactReschedule)
		})
	}
	for _, t := range b.Create {
		w.note("create", t.ID, int64(t.Run), int64(t.State), int64(t.At-epoch))
		out.Create = append(out.Create, w.view(t))
	}
	for _, t := range b.Move {
		v := w.view(t)
		if chosen(t.ID) {
			c := *v
			v, c.Moved = &c, true
		}
		w.note("move", t.ID, int64(t.Run), int64(t.State), int64(t.Attempt), int64(t.At-epoch), int64(v.Last.Token.Claim))
		out.Move = append(out.Move, v)
	}
	for _, t := range b.Finish {
		w.note("finish", t.ID, int64(t.Run), int64(t.State), int64(t.Attempt))
		out.Finish = append(out.Finish, w.view(t))
	}
	for _, r := range b.Remember {
		out.Remember = append(out.Remember, invariant.Record{ID: r.ID, Hash: r.Hash, State: invariant.State(r.State), Run: int(r.Run),
			Ended: int64(r.Ended), Until: int64(r.Until)})
	}
	w.book.Wrote(out)
	if s.ahead(b.Partition) {
		return
	}
	for _, list := range [][]*ax.Task{b.Finish, b.Create, b.Move} {
		for _, t := range list {
			w.compare(t.ID)
		}
	}
	for _, id := range b.Delete {
		w.compare(id)
	}
}

func (w *world) compare(id string) {
	t, err := w.store.Get(ctx, id)
	if err != nil {
		w.book.Stored(id, nil)
		return
	}
	w.book.Stored(id, w.view(t))
}

// put is Submit: it adds entries to an inbox.
func (s *store) put(n *node, p ax.Partition, e ax.Entry) (ax.Answer, error) {
	f := s.take(n, "submit")
	if f != nil && !f.after {
		return ax.Answer{}, ax.ErrUnknown
	}
	var answers []ax.Answer
	var err error
	s.do(func(b *memory.Backend) { answers, err = b.Submit(ctx, p, []ax.Entry{e}) })
	if err == nil && answers[0].Code == ax.Accepted {
		s.w.note("inbox", e.ID, int64(p))
		s.w.book.Inboxed(e.ID)
		s.w.hint(p, e.ID)
	}
	if f != nil {
		return ax.Answer{}, ax.ErrUnknown
	}
	if err != nil {
		return ax.Answer{}, err
	}
	return answers[0], nil
}
