package storetest_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/axsched/ax"
	"github.com/axsched/ax/memory"
)

// broken is a good store with some methods replaced.
type broken struct {
	*memory.Backend
	submit func(context.Context, ax.Partition, []ax.Entry) ([]ax.Answer, error)
	open   func(context.Context, ax.Partition, ax.Token) (ax.Opened, error)
	scan   func(context.Context, ax.ScanRequest) (ax.Page, error)
	apply  func(context.Context, []*ax.Batch) []error
	get    func(context.Context, string) (*ax.Task, error)
	prune  func(context.Context, ax.Partition, ax.Token, ax.Time, int) (ax.Time, error)
	close  func() error
	watch  func(context.Context, ax.Partition) (<-chan struct{}, error)
	begin  func([]*ax.Batch, func([]error))
	room   func() error
}

func (b *broken) Submit(ctx context.Context, p ax.Partition, e []ax.Entry) ([]ax.Answer, error) {
	return b.submit(ctx, p, e)
}
func (b *broken) Open(ctx context.Context, p ax.Partition, t ax.Token) (ax.Opened, error) {
	return b.open(ctx, p, t)
}
func (b *broken) Scan(ctx context.Context, r ax.ScanRequest) (ax.Page, error) { return b.scan(ctx, r) }
func (b *broken) Apply(ctx context.Context, l []*ax.Batch) []error            { return b.apply(ctx, l) }
func (b *broken) Get(ctx context.Context, id string) (*ax.Task, error)        { return b.get(ctx, id) }
func (b *broken) Prune(ctx context.Context, p ax.Partition, t ax.Token, now ax.Time, keep int) (ax.Time, error) {
	return b.prune(ctx, p, t, now, keep)
}
func (b *broken) Begin(l []*ax.Batch, done func([]error)) { b.begin(l, done) }
func (b *broken) Close() error                            { return b.close() }
func (b *broken) Room() error                             { return b.room() }
func (b *broken) WatchInbox(ctx context.Context, p ax.Partition) (<-chan struct{}, error) {
	return b.watch(ctx, p)
}

// whole returns a broken store in which nothing is broken yet.
func whole(m *memory.Backend) *broken {
	return &broken{m, m.Submit, m.Open, m.Scan, m.Apply, m.Get, m.Prune, m.Close, m.WatchInbox, m.Begin, func() error { return nil }}
}

// each rewrites every batch before it is applied.
func (b *broken) each(change func(*ax.Batch)) {
	b.apply = func(ctx context.Context, list []*ax.Batch) []error {
		out := make([]*ax.Batch, len(list))
		for i, batch := range list {
			c := *batch
			change(&c)
			out[i] = &c
		}
		return b.Backend.Apply(ctx, out)
	}
}

// entries rewrites the entries of every Submit, of which there are as many as before.
func (b *broken) entries(change func([]ax.Entry)) {
	b.submit = func(ctx context.Context, p ax.Partition, list []ax.Entry) ([]ax.Answer, error) {
		list = slices.Clone(list)
		change(list)
		return b.Backend.Submit(ctx, p, list)
	}
}

// pages rewrites every page that Scan returns.
func (b *broken) pages(change func(ax.ScanRequest, *ax.Page)) {
	b.scan = func(ctx context.Context, r ax.ScanRequest) (ax.Page, error) {
		page, err := b.Backend.Scan(ctx, r)
		change(r, &page)
		return page, err
	}
}

// due makes every page of IndexDue out of all tasks that the request is about.
func (b *broken) due(page func(all []*ax.Task, r ax.ScanRequest) ax.Page) {
	b.scan = func(ctx context.Context, r ax.ScanRequest) (ax.Page, error) {
		whole := r
		whole.From, whole.Limit = "", 1<<20
		if r.Index != ax.IndexDue || r.Limit == 0 {
			whole = r
		}
		all, err := b.Backend.Scan(ctx, whole)
		if err != nil || whole == r {
			return all, err
		}
		return page(all.Tasks, r), nil
	}
}

// cut returns the first page of a list; next makes its cursor if there are more.
func cut(list []*ax.Task, limit int, next func(last *ax.Task) string) (page ax.Page) {
	if page.Tasks = list[:min(limit, len(list))]; len(page.Tasks) < len(list) {
		page.Next = next(page.Tasks[len(page.Tasks)-1])
	}
	return page
}

// tasks rewrites every task on its way in.
func (b *broken) tasks(change func(*ax.Task)) {
	copies := func(list []*ax.Task) (out []*ax.Task) {
		for _, t := range list {
			c := *t
			change(&c)
			out = append(out, &c)
		}
		return out
	}
	b.each(func(batch *ax.Batch) { batch.Create, batch.Move = copies(batch.Create), copies(batch.Move) })
}

// owners remembers who opened which partition last, and what it has applied, in front of a store.
type owners struct {
	mu     sync.Mutex
	token  map[ax.Partition]ax.Token
	number map[ax.Partition]uint64
}

func (b *broken) owners() *owners {
	o := &owners{token: map[ax.Partition]ax.Token{}, number: map[ax.Partition]uint64{}}
	b.open = func(ctx context.Context, p ax.Partition, t ax.Token) (ax.Opened, error) {
		got, err := b.Backend.Open(ctx, p, t)
		if err == nil {
			o.mu.Lock()
			o.token[p], o.number[p] = t, got.Number
			o.mu.Unlock()
		}
		return got, err
	}
	return o
}

func (o *owners) of(p ax.Partition) (ax.Token, uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.token[p], o.number[p]
}

// unfenced applies every batch as if it were the present owner's next.
func unfenced(b *broken, gap func(batch *ax.Batch, token ax.Token, number uint64)) {
	o := b.owners()
	b.apply = func(ctx context.Context, list []*ax.Batch) []error {
		errs := make([]error, len(list))
		for i, batch := range list {
			c := *batch
			token, number := o.of(c.Partition)
			gap(&c, token, number)
			if errs[i] = b.Backend.Apply(ctx, []*ax.Batch{&c})[0]; errs[i] == nil {
				o.mu.Lock()
				o.number[c.Partition] = c.Number
				o.mu.Unlock()
			}
		}
		return errs
	}
}

// lazy fences at the new owner's first write instead of at Open: it reads with the token of the one before.
func lazy(b *broken) {
	var mu sync.Mutex
	fenced, waiting := map[ax.Partition]ax.Token{}, map[ax.Partition]ax.Token{}
	b.open = func(ctx context.Context, p ax.Partition, t ax.Token) (ax.Opened, error) {
		mu.Lock()
		defer mu.Unlock()
		if old := fenced[p]; !old.IsZero() && t.Compare(old) > 0 {
			waiting[p] = t
			return b.Backend.Open(ctx, p, old)
		}
		got, err := b.Backend.Open(ctx, p, t)
		if err == nil {
			fenced[p] = t
		}
		return got, err
	}
	b.scan = func(ctx context.Context, r ax.ScanRequest) (ax.Page, error) {
		mu.Lock()
		if r.Token == waiting[r.Partition] {
			r.Token = fenced[r.Partition]
		}
		mu.Unlock()
		return b.Backend.Scan(ctx, r)
	}
	b.apply = func(ctx context.Context, list []*ax.Batch) []error {
		mu.Lock()
		for _, batch := range list {
			if t, ok := waiting[batch.Partition]; ok && batch.Token == t {
				_, _ = b.Backend.Open(ctx, batch.Partition, t)
				fenced[batch.Partition] = t
				delete(waiting, batch.Partition)
			}
		}
		mu.Unlock()
		return b.Backend.Apply(ctx, list)
	}
}

// torn looks at the fence, and writes a moment later: an Open in between is not noticed. What it reads is as it should be.
func torn(b *broken) {
	o := b.owners()
	b.apply = func(ctx context.Context, list []*ax.Batch) []error {
		if len(list) != 1 {
			return b.Backend.Apply(ctx, list)
		}
		c := *list[0]
		if token, _ := o.of(c.Partition); token != c.Token {
			return b.Backend.Apply(ctx, list)
		}
		for range 100 { // let a newer owner come
			runtime.Gosched()
		}
		errs := b.Backend.Apply(ctx, []*ax.Batch{&c})
		for try := 0; errors.Is(errs[0], ax.ErrFenced) && try < 3; try++ {
			token, number := o.of(c.Partition)
			c.Token, c.Number = token, number+1
			errs = b.Backend.Apply(ctx, []*ax.Batch{&c})
		}
		return errs
	}
}

// partly applies of a refused batch what is possible, under its number.
func partly(b *broken) {
	b.apply = func(ctx context.Context, list []*ax.Batch) []error {
		errs := b.Backend.Apply(ctx, list)
		for i, err := range errs {
			if errors.Is(err, ax.ErrInvalid) && list[i].Partition == 0 {
				b.Backend.Apply(ctx, []*ax.Batch{{Partition: list[i].Partition, Token: list[i].Token, Number: list[i].Number, Create: list[i].Create}})
			}
		}
		return errs
	}
}

// onward goes on after a failure, as if the failed batch had not been in the call.
func onward(b *broken) {
	b.apply = func(ctx context.Context, list []*ax.Batch) []error {
		errs := make([]error, len(list))
		gone := uint64(0)
		for i, batch := range list {
			c := *batch
			c.Number -= gone
			if errs[i] = b.Backend.Apply(ctx, []*ax.Batch{&c})[0]; errs[i] != nil && len(list) > 1 {
				gone++
			}
		}
		return errs
	}
}

// upset keeps the inbox by id instead of by arrival.
func upset(r ax.ScanRequest, p *ax.Page) {
	slices.SortFunc(p.Entries, func(a, b ax.Entry) int { return strings.Compare(a.ID, b.ID) })
}

// stale answers every page of a walk with what the first one found: a snapshot of values.
func stale(b *broken) {
	var mu sync.Mutex
	snap := map[ax.Index][]*ax.Task{}
	b.scan = func(ctx context.Context, r ax.ScanRequest) (ax.Page, error) {
		page, err := b.Backend.Scan(ctx, r)
		mu.Lock()
		defer mu.Unlock()
		if r.From == "" {
			full := r
			full.Limit = 1 << 20
			all, _ := b.Backend.Scan(ctx, full)
			snap[r.Index] = all.Tasks
			_, _ = b.Backend.Scan(ctx, r)
		}
		for i, t := range page.Tasks {
			for _, old := range snap[r.Index] {
				if old.ID == t.ID {
					page.Tasks[i] = old
				}
			}
		}
		return page, err
	}
}
