package storetest_test

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/memory"
	"github.com/axsched/ax/storetest"
)

func newMemory() *memory.Backend { return memory.New(memory.Config{Partitions: 2}) }

// TestHarness runs the suite on the reference, in each shape that a harness may have.
func TestHarness(t *testing.T) {
	t.Run("reopen", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) storetest.Harness {
			b := newMemory()
			return storetest.Harness{Store: b, Registry: b, Partitions: 2, Reopen: func() (ax.Store, ax.Registry) {
				return b, later{b}
			}}
		})
	})
	t.Run("owner decides", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) storetest.Harness {
			b := newMemory()
			w := whole(b)
			w.submit = func(ctx context.Context, p ax.Partition, e []ax.Entry) ([]ax.Answer, error) {
				answers, err := b.Submit(ctx, p, e)
				for i, a := range answers {
					if e[i].Verb == ax.VerbSubmit && a.Code != ax.Accepted {
						answers[i] = ax.Answer{Code: ax.Accepted, ID: a.ID}
					}
				}
				return answers, err
			}
			return storetest.Harness{Store: w, Registry: b, Partitions: 2, OwnerDecides: true}
		})
	})
}

// later is a registry whose leases were all released: as after a restart.
type later struct{ *memory.Backend }

func (l later) Acquire(ctx context.Context, class, name, holder string, ttl time.Duration, data []byte) (ax.Lease, error) {
	list, err := l.Leases(ctx, class)
	for _, held := range list {
		if held.Name == name && err == nil {
			err = l.Release(ctx, held)
		}
	}
	if err != nil {
		return ax.Lease{}, err
	}
	return l.Backend.Acquire(ctx, class, name, holder, ttl, data)
}

// mutants are the ways in which a store is broken; each must be noticed.
var mutants = map[string]func(*broken){
	"no fence": func(b *broken) {
		unfenced(b, func(c *ax.Batch, token ax.Token, _ uint64) { c.Token = token })
	},
	"fence at the first write, not at Open": lazy,
	"fence looked at, then written":         torn,
	"part of a refused batch is applied":    partly,
	"later batches applied after a failure": onward,
	"gaps accepted": func(b *broken) {
		unfenced(b, func(c *ax.Batch, token ax.Token, n uint64) {
			if c.Token == token && c.Number > n {
				c.Number = n + 1
			}
		})
	},
	"repeats applied again": func(b *broken) {
		unfenced(b, func(c *ax.Batch, token ax.Token, n uint64) {
			if c.Token == token && c.Number == n {
				c.Number++
			}
		})
	},
	"repeats refused": func(b *broken) {
		unfenced(b, func(c *ax.Batch, token ax.Token, n uint64) {
			if c.Token == token && c.Number == n {
				c.Number = 0
			}
		})
	},
	"repeats under any token": func(b *broken) {
		o := b.owners()
		b.apply = func(ctx context.Context, list []*ax.Batch) []error {
			errs := b.Backend.Apply(ctx, list)
			for i, c := range list {
				if token, n := o.of(c.Partition); errs[i] != nil && c.Token == token && c.Number == n && n > 0 {
					errs[i] = nil
				}
			}
			return errs
		}
	},
	"Open accepts a lower token": func(b *broken) {
		b.open = func(ctx context.Context, p ax.Partition, t ax.Token) (ax.Opened, error) {
			o, err := b.Backend.Open(ctx, p, t)
			if errors.Is(err, ax.ErrFenced) && !t.IsZero() {
				return ax.Opened{}, nil
			}
			return o, err
		}
	},
	"Open compares revisions only": func(b *broken) {
		b.open = func(ctx context.Context, p ax.Partition, t ax.Token) (ax.Opened, error) {
			o, err := b.Backend.Open(ctx, p, t)
			if t.Revision == 1 && t.Era > 1 {
				return ax.Opened{}, ax.ErrFenced
			}
			return o, err
		}
	},
	"Open with a zero token": func(b *broken) {
		b.open = func(ctx context.Context, p ax.Partition, t ax.Token) (ax.Opened, error) {
			if t.IsZero() {
				return ax.Opened{}, nil
			}
			return b.Backend.Open(ctx, p, t)
		}
	},
	"numbers begin anew with an owner": func(b *broken) {
		b.open = func(ctx context.Context, p ax.Partition, t ax.Token) (ax.Opened, error) {
			o, err := b.Backend.Open(ctx, p, t)
			o.Number = 0
			return o, err
		}
	},
	"the floor is not kept": func(b *broken) {
		b.open = func(ctx context.Context, p ax.Partition, t ax.Token) (ax.Opened, error) {
			o, err := b.Backend.Open(ctx, p, t)
			o.Floor = 0
			return o, err
		}
	},
	"Scan without a fence": func(b *broken) {
		o := b.owners()
		b.scan = func(ctx context.Context, r ax.ScanRequest) (ax.Page, error) {
			if !r.Token.IsZero() {
				r.Token, _ = o.of(r.Partition)
			}
			return b.Backend.Scan(ctx, r)
		}
	},
	"Prune without a fence": func(b *broken) {
		o := b.owners()
		b.prune = func(ctx context.Context, p ax.Partition, _ ax.Token, now ax.Time, keep int) (ax.Time, error) {
			token, _ := o.of(p)
			return b.Backend.Prune(ctx, p, token, now, keep)
		}
	},
	"a partition is ignored": func(b *broken) {
		b.submit = func(ctx context.Context, p ax.Partition, e []ax.Entry) ([]ax.Answer, error) {
			return b.Backend.Submit(ctx, min(max(p, 0), 0), e)
		}
	},
	"the last of several entries is lost": func(b *broken) {
		b.submit = func(ctx context.Context, p ax.Partition, e []ax.Entry) ([]ax.Answer, error) {
			if len(e) < 3 {
				return b.Backend.Submit(ctx, p, e)
			}
			a, err := b.Backend.Submit(ctx, p, e[:len(e)-1])
			return append(a, ax.Answer{Code: ax.Accepted, ID: e[len(e)-1].Target}), err
		}
	},
	"admitted ids are forgotten": func(b *broken) {
		b.each(func(c *ax.Batch) { c.Forget = append(slices.Clone(c.Forget), c.Admit...) })
	},
	"Admit does nothing":        func(b *broken) { b.each(func(c *ax.Batch) { c.Admit = nil }) },
	"the inbox is sorted by id": func(b *broken) { b.pages(upset) },
	"unknown verbs are dropped": func(b *broken) {
		b.pages(func(_ ax.ScanRequest, p *ax.Page) {
			p.Entries = slices.DeleteFunc(p.Entries, func(e ax.Entry) bool { return e.Verb == "teleport" })
		})
	},
	"verbs are trimmed": func(b *broken) {
		b.entries(func(l []ax.Entry) {
			for i := range l {
				if l[i].Verb != "submit " {
					continue
				}
				l[i].Verb = "submit"
			}
		})
	},
	"a report's result is lost": func(b *broken) {
		b.entries(func(l []ax.Entry) {
			for i := range l {
				if l[i].Report != nil {
					r := *l[i].Report
					r.Result, l[i].Report = nil, &r
				}
			}
		})
	},
	"an entry's made time is lost": func(b *broken) {
		b.entries(func(l []ax.Entry) {
			for i := range l {
				l[i].Made = 0
			}
		})
	},
	"a conflict is answered known": func(b *broken) {
		b.submit = func(ctx context.Context, p ax.Partition, e []ax.Entry) ([]ax.Answer, error) {
			a, err := b.Backend.Submit(ctx, p, e)
			for i := range a {
				if a[i].Code == ax.Conflict {
					a[i].Code = ax.Known
				}
			}
			return a, err
		}
	},
	"known is answered accepted": func(b *broken) {
		b.submit = func(ctx context.Context, p ax.Partition, e []ax.Entry) ([]ax.Answer, error) {
			a, err := b.Backend.Submit(ctx, p, e)
			for i := range a {
				a[i].Code = ax.Accepted
			}
			return a, err
		}
	},
	"a reopened id is answered known": func(b *broken) {
		b.entries(func(l []ax.Entry) {
			for i := range l {
				if l[i].Task != nil && l[i].Task.Extra != nil {
					t := *l[i].Task
					t.Extra, l[i].Task = nil, &t
				}
			}
		})
	},
	"no hint of an entry": func(b *broken) {
		b.watch = func(ctx context.Context, p ax.Partition) (<-chan struct{}, error) {
			c := make(chan struct{})
			close(c)
			return c, errors.New("no")
		}
	},
	"pages are cut short": func(b *broken) {
		b.pages(func(r ax.ScanRequest, p *ax.Page) {
			if p.Next != "" && len(p.Tasks) > 1 {
				p.Tasks = p.Tasks[:len(p.Tasks)-1]
			}
		})
	},
	"pages overlap": func(b *broken) {
		var last atomic.Pointer[ax.Fact]
		b.pages(func(r ax.ScanRequest, p *ax.Page) {
			if f := last.Load(); f != nil && r.From != "" && r.Index == ax.IndexFacts {
				p.Facts = append([]ax.Fact{*f}, p.Facts...)
			}
			if len(p.Facts) > 0 {
				last.Store(&p.Facts[len(p.Facts)-1])
			}
		})
	},
	"the limit is ignored": func(b *broken) {
		b.scan = func(ctx context.Context, r ax.ScanRequest) (ax.Page, error) {
			r.Limit = 0
			return b.Backend.Scan(ctx, r)
		}
	},
	"no limit means none at all": func(b *broken) {
		b.scan = func(ctx context.Context, r ax.ScanRequest) (ax.Page, error) {
			if r.Limit == 0 {
				return ax.Page{}, nil
			}
			return b.Backend.Scan(ctx, r)
		}
	},
	"To is ignored": func(b *broken) {
		b.scan = func(ctx context.Context, r ax.ScanRequest) (ax.Page, error) {
			r.To = 0
			return b.Backend.Scan(ctx, r)
		}
	},
	"To is exclusive": func(b *broken) {
		b.scan = func(ctx context.Context, r ax.ScanRequest) (ax.Page, error) {
			if r.To != 0 {
				r.To--
			}
			return b.Backend.Scan(ctx, r)
		}
	},
	"After is ignored": func(b *broken) {
		b.scan = func(ctx context.Context, r ax.ScanRequest) (ax.Page, error) {
			r.After = 0
			return b.Backend.Scan(ctx, r)
		}
	},
	"After is inclusive": func(b *broken) {
		b.scan = func(ctx context.Context, r ax.ScanRequest) (ax.Page, error) {
			if r.After != 0 {
				r.After--
			}
			return b.Backend.Scan(ctx, r)
		}
	},
	"After moves on later pages": func(b *broken) {
		b.scan = func(ctx context.Context, r ax.ScanRequest) (ax.Page, error) {
			if r.From != "" && r.Limit == 1 {
				r.After++
			}
			return b.Backend.Scan(ctx, r)
		}
	},
	"a cursor is a count": func(b *broken) {
		b.due(func(all []*ax.Task, r ax.ScanRequest) ax.Page {
			n, _ := strconv.Atoi(r.From)
			return cut(all[min(n, len(all)):], r.Limit, func(*ax.Task) string { return strconv.Itoa(n + r.Limit) })
		})
	},
	"a cursor is an instant": func(b *broken) {
		b.due(func(all []*ax.Task, r ax.ScanRequest) ax.Page {
			if from, err := strconv.ParseInt(r.From, 10, 64); err == nil {
				all = slices.DeleteFunc(all, func(t *ax.Task) bool { return int64(t.At) <= from })
			}
			return cut(all, r.Limit, func(last *ax.Task) string { return strconv.FormatInt(int64(last.At), 10) })
		})
	},
	"tasks of one instant in the order of the moment": func(b *broken) {
		turn := 0
		b.due(func(all []*ax.Task, r ax.ScanRequest) ax.Page {
			turn++
			slices.SortStableFunc(all, func(x, y *ax.Task) int {
				byID := strings.Compare(x.ID, y.ID)
				if turn%2 == 0 {
					byID = -byID
				}
				return cmp.Or(cmp.Compare(x.At, y.At), byID)
			})
			for i, t := range all {
				if t.ID == r.From {
					all = all[i+1:]
					break
				}
			}
			return cut(all, r.Limit, func(last *ax.Task) string { return last.ID })
		})
	},
	"all walks end where the last one that began does": func(b *broken) {
		var to ax.Time
		b.scan = func(ctx context.Context, r ax.ScanRequest) (ax.Page, error) {
			if r.From == "" {
				to = r.To
			}
			r.To = to
			return b.Backend.Scan(ctx, r)
		}
	},
	"all walks begin where the last one that began does": func(b *broken) {
		var after ax.Time
		b.scan = func(ctx context.Context, r ax.ScanRequest) (ax.Page, error) {
			if r.From == "" {
				after = r.After
			}
			r.After = after
			return b.Backend.Scan(ctx, r)
		}
	},
	"due tasks by id": func(b *broken) {
		b.pages(func(r ax.ScanRequest, p *ax.Page) {
			slices.SortFunc(p.Tasks, func(x, y *ax.Task) int { return strings.Compare(x.ID, y.ID) })
		})
	},
	"a walk shows what was": stale,
	"any cursor begins anew": func(b *broken) {
		b.scan = func(ctx context.Context, r ax.ScanRequest) (ax.Page, error) {
			p, err := b.Backend.Scan(ctx, r)
			if errors.Is(err, ax.ErrInvalid) && r.Partition == 0 {
				r.From = ""
				return b.Backend.Scan(ctx, r)
			}
			return p, err
		}
	},
	"ended tasks are due": func(b *broken) {
		b.scan = func(ctx context.Context, r ax.ScanRequest) (ax.Page, error) {
			if r.Index == ax.IndexEnded {
				return ax.Page{}, nil
			}
			return b.Backend.Scan(ctx, r)
		}
	},
	"a move of an absent task is passed over": func(b *broken) {
		b.each(func(c *ax.Batch) {
			var live []*ax.Task
			for _, t := range c.Move {
				if _, err := b.Backend.Get(context.Background(), t.ID); err == nil {
					live = append(live, t)
				}
			}
			c.Move = live
		})
	},
	"a delete of an absent task is refused": func(b *broken) {
		b.apply = func(ctx context.Context, list []*ax.Batch) []error {
			for _, c := range list {
				for _, id := range c.Delete {
					if _, err := b.Backend.Get(ctx, id); err != nil {
						return slices.Repeat([]error{ax.ErrInvalid}, len(list))
					}
				}
			}
			return b.Backend.Apply(ctx, list)
		}
	},
	"a live task is not replaced": func(b *broken) {
		b.each(func(c *ax.Batch) {
			c.Create = slices.DeleteFunc(slices.Clone(c.Create), func(t *ax.Task) bool {
				_, err := b.Backend.Get(context.Background(), t.ID)
				return err == nil && len(c.Delete) == 0
			})
		})
	},
	"earlier attempts are lost": func(b *broken) {
		b.tasks(func(t *ax.Task) {
			if t.Last != nil {
				last := *t.Last
				last.Prev, t.Last = nil, &last
			}
		})
	},
	"a move keeps the due time": func(b *broken) {
		b.each(func(c *ax.Batch) {
			for i, t := range c.Move {
				if old, err := b.Backend.Get(context.Background(), t.ID); err == nil {
					m := *t
					m.Due = old.Due
					c.Move = slices.Clone(c.Move)
					c.Move[i] = &m
				}
			}
		})
	},
	"payloads are text": func(b *broken) {
		b.tasks(func(t *ax.Task) { t.Payload = []byte(strings.ToValidUTF8(string(t.Payload), "?")) })
	},
	"payloads end at NUL": func(b *broken) {
		b.tasks(func(t *ax.Task) { s, _, _ := strings.Cut(string(t.Payload), "\x00"); t.Payload = []byte(s) })
	},
	"hashes are signed":      func(b *broken) { b.tasks(func(t *ax.Task) { t.Hash &= math.MaxInt64 }) },
	"times are milliseconds": func(b *broken) { b.tasks(func(t *ax.Task) { t.Due -= t.Due % 1000 }) },
	"headers are lost": func(b *broken) {
		b.tasks(func(t *ax.Task) {
			if t.Extra != nil {
				x := *t.Extra
				x.Headers, t.Extra = nil, &x
			}
		})
	},
	"ids in any case": func(b *broken) {
		b.get = func(ctx context.Context, id string) (*ax.Task, error) {
			return b.Backend.Get(ctx, strings.ToLower(id))
		}
	},
	"an entry that waits is a live task": func(b *broken) {
		b.entries(func([]ax.Entry) {})
		inner := b.submit
		b.submit = func(ctx context.Context, p ax.Partition, e []ax.Entry) ([]ax.Answer, error) {
			for _, e := range e {
				if e.Verb == ax.VerbSubmit && e.Task != nil {
					t := e.Task
					was := b.get
					b.get = func(ctx context.Context, id string) (*ax.Task, error) {
						if id == t.ID {
							return t, nil
						}
						return was(ctx, id)
					}
				}
			}
			return inner(ctx, p, e)
		}
	},
	"Prune ignores Until": func(b *broken) {
		b.prune = func(ctx context.Context, p ax.Partition, t ax.Token, _ ax.Time, keep int) (ax.Time, error) {
			return b.Backend.Prune(ctx, p, t, math.MinInt64, keep)
		}
	},
	"Prune at Until already": func(b *broken) {
		b.prune = func(ctx context.Context, p ax.Partition, t ax.Token, now ax.Time, keep int) (ax.Time, error) {
			return b.Backend.Prune(ctx, p, t, now+1, keep)
		}
	},
	"Prune ignores keep": func(b *broken) {
		b.prune = func(ctx context.Context, p ax.Partition, t ax.Token, now ax.Time, _ int) (ax.Time, error) {
			return b.Backend.Prune(ctx, p, t, now, math.MaxInt)
		}
	},
	"Prune keeps one too few": func(b *broken) {
		b.prune = func(ctx context.Context, p ax.Partition, t ax.Token, now ax.Time, keep int) (ax.Time, error) {
			return b.Backend.Prune(ctx, p, t, now, keep-1)
		}
	},
	"the floor is the instant itself": func(b *broken) {
		b.prune = func(ctx context.Context, p ax.Partition, t ax.Token, now ax.Time, keep int) (ax.Time, error) {
			floor, err := b.Backend.Prune(ctx, p, t, now, keep)
			return max(floor-1, 0), err
		}
	},
	"id records lose their holder": func(b *broken) {
		b.each(func(c *ax.Batch) {
			c.Remember = slices.Clone(c.Remember)
			for i, r := range c.Remember {
				n := *r
				n.Holder, c.Remember[i] = "", &n
			}
		})
	},
	"Forget does nothing":       func(b *broken) { b.each(func(c *ax.Batch) { c.Forget = nil }) },
	"Filed does nothing":        func(b *broken) { b.each(func(c *ax.Batch) { c.Filed = nil }) },
	"Relayed does nothing":      func(b *broken) { b.each(func(c *ax.Batch) { c.Relayed = nil }) },
	"DropJobs does nothing":     func(b *broken) { b.each(func(c *ax.Batch) { c.DropJobs = nil }) },
	"DropInst does nothing":     func(b *broken) { b.each(func(c *ax.Batch) { c.DropInst = nil }) },
	"DropWhy does nothing":      func(b *broken) { b.each(func(c *ax.Batch) { c.DropWhy = nil }) },
	"facts are lost":            func(b *broken) { b.each(func(c *ax.Batch) { c.Facts = nil }) },
	"outgoing entries are lost": func(b *broken) { b.each(func(c *ax.Batch) { c.Outgoing = nil }) },
	"finished tasks stay live": func(b *broken) {
		b.each(func(c *ax.Batch) { c.Create = append(slices.Clone(c.Create), c.Finish...) })
	},
	"finished tasks are not filed": func(b *broken) {
		b.each(func(c *ax.Batch) {
			for _, t := range c.Finish {
				c.Delete = append(slices.Clone(c.Delete), t.ID)
			}
			c.Finish = nil
		})
	},
	"reasons are never extended": func(b *broken) {
		b.each(func(c *ax.Batch) {
			c.Reasons = slices.Clone(c.Reasons)
			for i := range c.Reasons {
				c.Reasons[i].From = c.Reasons[i].To
			}
		})
	},
	"the context is ignored": func(b *broken) {
		b.apply = func(_ context.Context, l []*ax.Batch) []error { return b.Backend.Apply(context.Background(), l) }
	},
	"a canceled Submit adds": func(b *broken) {
		b.submit = func(ctx context.Context, p ax.Partition, e []ax.Entry) ([]ax.Answer, error) {
			a, err := b.Backend.Submit(context.WithoutCancel(ctx), p, e)
			return a, errors.Join(err, ctx.Err())
		}
	},
	"Close does nothing": func(b *broken) { b.close = func() error { return nil } },
	"the second Close fails": func(b *broken) {
		var n atomic.Int32
		b.close = func() error {
			if n.Add(1) > 1 {
				return ax.ErrClosed
			}
			return b.Backend.Close()
		}
	},
	"the caller's slices are kept": func(b *broken) {
		var kept []*ax.Batch
		b.apply = func(ctx context.Context, l []*ax.Batch) []error {
			kept = append(kept, l...)
			return b.Backend.Apply(ctx, l)
		}
		b.pages(func(r ax.ScanRequest, p *ax.Page) {
			for _, c := range kept {
				if r.Index == ax.IndexJobs && len(c.Jobs) > 0 {
					p.Jobs = c.Jobs
				}
			}
		})
	},
	"Begin takes up the first batch only": func(b *broken) {
		b.begin = func(l []*ax.Batch, done func([]error)) {
			b.Backend.Begin(l[:1], func(errs []error) { done(append(errs, make([]error, len(l)-1)...)) })
		}
	},
	"Begin takes up later": func(b *broken) {
		var late []func()
		b.begin = func(l []*ax.Batch, done func([]error)) {
			if late = append(late, func() { b.Backend.Begin(l, done) }); len(late) == 2 {
				late[1]()
				late[0]()
				late = nil
			}
		}
	},
	"Begin is done twice": func(b *broken) {
		b.begin = func(l []*ax.Batch, done func([]error)) {
			b.Backend.Begin(l, func(errs []error) { done(errs); done(errs) })
		}
	},
	"Begin is done in the wrong order": func(b *broken) {
		var late []func()
		b.begin = func(l []*ax.Batch, done func([]error)) {
			b.Backend.Begin(l, func(errs []error) { late = append(late, func() { done(errs) }) })
			if len(late) == 2 || len(l) > 1 || l[0].Number > 20 {
				for i := range late {
					late[len(late)-1-i]()
				}
				late = nil
			}
		}
	},
	"Begin is never done": func(b *broken) {
		b.begin = func(l []*ax.Batch, done func([]error)) { b.Backend.Begin(l, func([]error) {}) }
	},
	"Begin is done again when the store closes": func(b *broken) {
		var again []func()
		b.begin = func(l []*ax.Batch, done func([]error)) {
			b.Backend.Begin(l, func(errs []error) {
				done(errs)
				again = append(again, func() { done(errs) })
			})
		}
		b.close = func() error {
			for _, done := range again {
				done()
			}
			return b.Backend.Close()
		}
	},
	"Begin is without a fence": func(b *broken) {
		o := b.owners()
		b.begin = func(l []*ax.Batch, done func([]error)) {
			l = slices.Clone(l)
			for i, c := range l {
				t, n := o.of(c.Partition)
				if l[i] = c; c.Number > n && c.Token.Compare(t) < 0 {
					c := *c
					c.Token, l[i] = t, &c
				}
			}
			b.Backend.Begin(l, done)
		}
	},
	"Open does not count what was begun": func(b *broken) {
		var begun uint64
		b.begin = func(l []*ax.Batch, done func([]error)) {
			begun += uint64(len(l))
			b.Backend.Begin(l, done)
		}
		b.open = func(ctx context.Context, p ax.Partition, t ax.Token) (ax.Opened, error) {
			o, err := b.Backend.Open(ctx, p, t)
			o.Number -= min(begun, o.Number)
			return o, err
		}
	},
	"Begin and Apply count apart": func(b *broken) {
		var begun uint64
		b.begin = func(l []*ax.Batch, done func([]error)) {
			begun += uint64(len(l))
			b.Backend.Begin(l, done)
		}
		b.each(func(c *ax.Batch) { c.Number += begun })
	},
	"a new store has no room": func(b *broken) { b.room = func() error { return ax.ErrNoSpace } },
	"Begin refuses nothing": func(b *broken) {
		b.begin = func(l []*ax.Batch, done func([]error)) {
			b.Backend.Begin(l, func(errs []error) { done(make([]error, len(errs))) })
		}
	},
	"Begin keeps the batch": func(b *broken) {
		kept := map[string]*ax.Batch{}
		b.begin = func(l []*ax.Batch, done func([]error)) {
			for _, c := range l {
				for _, f := range c.Facts {
					kept[f.ID] = c
				}
			}
			b.Backend.Begin(l, done)
		}
		b.pages(func(r ax.ScanRequest, p *ax.Page) {
			for i := range p.Facts {
				if c := kept[p.Facts[i].ID]; c != nil && r.Index == ax.IndexFacts {
					p.Facts[i] = c.Facts[0]
				}
			}
		})
	},
	"a return value is the store's": func(b *broken) {
		var page *ax.Page
		b.pages(func(r ax.ScanRequest, p *ax.Page) {
			if page != nil && r.Index == ax.IndexDue && len(page.Tasks) == len(p.Tasks) {
				*p = *page
			} else if r.Index == ax.IndexDue {
				page = p
			}
		})
	},
}

// TestMutants proves that the suite can fail: every broken store is noticed by some case.
func TestMutants(t *testing.T) {
	caught := 0
	for name, breaks := range mutants {
		t.Run(name, func(t *testing.T) {
			for _, c := range storetest.Cases() {
				m := newMemory()
				b := whole(m)
				breaks(b)
				failures, _ := storetest.Check(c, storetest.Harness{Store: b, Registry: m, Partitions: 2, Patience: time.Second / 4})
				if len(failures) > 0 {
					t.Logf("%s: %s", c.Name, failures[0])
					caught++
					return
				}
			}
			t.Error("no case noticed")
		})
	}
	t.Logf("%d of %d mutants caught", caught, len(mutants))
}

// TestNames keeps case names usable as subtests and every contract sentence present.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range storetest.Cases() {
		if seen[c.Name] || c.Name == "" || strings.ContainsAny(c.Name, " \t") || len(c.Contract) < 20 {
			t.Errorf("case %q, contract %q: want a name of its own without spaces, and a sentence", c.Name, c.Contract)
		}
		seen[c.Name] = true
	}
}
