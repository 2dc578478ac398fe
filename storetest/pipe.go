package storetest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/axsched/ax"
)

// pipe begins batches and collects what becomes of them.
type pipe struct {
	t       *T
	store   ax.Pipeliner
	results map[int]chan []error

	mu    sync.Mutex // guards all below
	order []int      // of the done calls, in which no call should come twice
}

// pipe returns the store as a Pipeliner, or skips the case.
func (t *T) pipe() *pipe {
	s, ok := t.Store.(ax.Pipeliner)
	t.Need(ok, "the store is no ax.Pipeliner")
	return &pipe{t: t, store: s, results: map[int]chan []error{}}
}

// begin begins batches under a number of the call's own.
func (p *pipe) begin(i int, batches ...*ax.Batch) {
	result := make(chan []error, 1)
	p.results[i] = result
	p.store.Begin(batches, func(errs []error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.order = append(p.order, i)
		select {
		case result <- slices.Clone(errs):
		default: // again: seen in order
		}
	})
}

// result waits until a call is done and returns its errors. Once for each call.
func (p *pipe) result(i int) []error {
	return wait(p.t, p.results[i], fmt.Sprintf("Begin to be done with call %d", i))
}

// good waits until a call is done, and without an error.
func (p *pipe) good(i int) {
	if errs := p.result(i); len(errs) != 1 || errs[0] != nil {
		p.t.Errorf("batch %d of a pipeline: %v, want nil", i, errs)
	}
}

// close closes the store, which has nothing more to say then, and returns in what order calls were done.
func (p *pipe) close() []int {
	if err := p.t.Store.Close(); err != nil {
		p.t.Fatalf("Close = %v", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	once := slices.Clone(p.order)
	slices.Sort(once)
	if len(slices.Compact(once)) != len(p.order) {
		p.t.Errorf("some call was done again: %v", p.order)
	}
	return slices.Clone(p.order)
}

// pipeCases are about batches that follow each other without waiting, for a Pipeliner.
func pipeCases() []Case {
	return []Case{
		{"pipe/order", "what Begin takes up is seen by the next call, whatever of it is durable; done comes once, in the order of the calls", func(t *T) {
			p, o := t.pipe(), t.own(0)
			const n = 20
			for i := range n {
				a := t.task(0, fmt.Sprint(i))
				var b ax.Batch
				if i%2 == 0 {
					b.Create = []*ax.Task{a}
				} else { // the one that was created just before
					b.Move = []*ax.Task{in(t.task(0, fmt.Sprint(i-1)), ax.Running)}
				}
				p.begin(i, o.next(b))
				o.number++
				if _, err := t.Store.Get(t.ctx, t.id(0, fmt.Sprint(i-i%2))); err != nil {
					t.Errorf("Get after Begin of batch %d = %v", i, err)
				}
			}
			for i := range n {
				p.good(i)
			}
			if got := len(o.scan(ax.IndexRunning).Tasks); got != n/2 {
				t.Errorf("%d tasks run, want %d", got, n/2)
			}
			if order := p.close(); len(order) != n || !slices.IsSorted(order) {
				t.Errorf("%d calls were done in the order %v", n, order)
			}
		}},
		{"pipe/written", "a Written batch may follow a Durable one, and a Durable one a Written one", func(t *T) {
			p, o := t.pipe(), t.own(0)
			for i := range 10 {
				b := ax.Batch{Create: []*ax.Task{t.task(0, fmt.Sprint(i))}, Durability: ax.Durability(i % 2)}
				p.begin(i, o.next(b))
				o.number++
			}
			for i := range 10 {
				p.good(i)
			}
			if got := len(o.scan(ax.IndexDue).Tasks); got != 10 {
				t.Errorf("%d tasks, want 10", got)
			}
			p.close()
		}},
		{"pipe/refused", "Begin refuses what Apply refuses, in the place of the batch; a refused batch uses up no number", func(t *T) {
			p, o := t.pipe(), t.own(0)
			good := o.next(ax.Batch{Create: []*ax.Task{t.task(0, "a")}})
			gap := o.next(ax.Batch{Create: []*ax.Task{t.task(0, "b")}})
			gap.Number += 5
			fenced := o.next(ax.Batch{Create: []*ax.Task{t.task(0, "c")}})
			fenced.Token.Revision--
			absent := o.next(ax.Batch{Move: []*ax.Task{t.task(0, "absent")}})
			absent.Number++
			second := o.next(ax.Batch{Create: []*ax.Task{t.task(0, "d")}})
			second.Number++
			after := o.next(ax.Batch{Create: []*ax.Task{t.task(0, "e")}})
			after.Number += 2
			p.begin(0, fenced)
			p.begin(1, good)
			p.begin(2, good) // again
			p.begin(3, gap)
			p.begin(4, absent, second) // the second of a call whose first was refused
			p.begin(5, second, after)
			for i, want := range [][]error{{ax.ErrFenced}, {nil}, {nil}, {ax.ErrGap}, {ax.ErrInvalid, ax.ErrGap}, {nil, nil}} {
				errs := p.result(i)
				if len(errs) != len(want) {
					t.Errorf("call %d: %v, want %v", i, errs, want)
					continue
				}
				for k := range want {
					t.refused(fmt.Sprintf("batch %d of call %d", k, i), errs[k], want[k])
				}
			}
			o.holds(ax.IndexDue, t.id(0, "a"), t.id(0, "d"), t.id(0, "e"))
		}},
		{"pipe/slices", "a batch is the caller's again when Begin returns", func(t *T) {
			p, o := t.pipe(), t.own(0)
			b := o.next(ax.Batch{Create: []*ax.Task{t.task(0, "a")}, Facts: []ax.Fact{{ID: "f"}}})
			list := []*ax.Batch{b}
			p.begin(0, list...)
			list[0] = nil
			b.Create[0] = nil
			b.Facts[0] = ax.Fact{ID: "another"}
			b.Number, b.Token = 99, ax.Token{}
			p.good(0)
			o.number++
			o.holds(ax.IndexDue, t.id(0, "a"))
			o.holds(ax.IndexFacts, "f")
		}},
		{"pipe/seen", "Open and Scan count what was begun, and Apply and Begin follow each other", func(t *T) {
			p, o := t.pipe(), t.own(0)
			create := func(name string) ax.Batch { return ax.Batch{Create: []*ax.Task{t.task(0, name)}} }
			for i, name := range []string{"a", "b", "c"} {
				p.begin(i, o.next(create(name)))
				o.number++
			}
			o.holds(ax.IndexDue, t.id(0, "a"), t.id(0, "b"), t.id(0, "c"))
			if o.open(); o.number != 3 {
				t.Errorf("Open after 3 batches were begun tells of %d", o.number)
			}
			o.must(create("d"))
			p.begin(3, o.next(ax.Batch{Delete: []string{t.id(0, "a")}}))
			o.number++
			o.must(create("e"))
			for i := range 4 {
				p.good(i)
			}
			o.holds(ax.IndexDue, t.id(0, "b"), t.id(0, "c"), t.id(0, "d"), t.id(0, "e"))
		}},
		{"pipe/fence", "a newer owner finds what an older one began, and the older one begins nothing more", func(t *T) {
			p, old := t.pipe(), t.own(0)
			p.begin(0, old.next(ax.Batch{Create: []*ax.Task{t.task(0, "a")}, Durability: ax.Written}))
			old.number++
			p.begin(1, old.next(ax.Batch{Create: []*ax.Task{t.task(0, "b")}}))
			old.number++
			o := t.own(0)
			if o.number != 2 {
				t.Errorf("the newer owner finds batch %d, want 2", o.number)
			}
			p.begin(2, old.next(ax.Batch{Delete: []string{t.id(0, "a")}}))
			p.begin(3, o.next(ax.Batch{Create: []*ax.Task{t.task(0, "c")}}))
			o.number++
			p.good(0)
			p.good(1)
			if errs := p.result(2); len(errs) != 1 {
				t.Errorf("Begin of an older owner: %v", errs)
			} else {
				t.refused("Begin of an older owner", errs[0], ax.ErrFenced)
			}
			p.good(3)
			o.holds(ax.IndexDue, t.id(0, "a"), t.id(0, "b"), t.id(0, "c"))
			p.close()
		}},
		{"pipe/closed", "after Close, Begin answers ErrClosed", func(t *T) {
			p, o := t.pipe(), t.own(0)
			if err := t.Store.Close(); err != nil {
				t.Fatalf("Close = %v", err)
			}
			p.begin(0, o.next(ax.Batch{Create: []*ax.Task{t.task(0, "a")}}))
			if errs := p.result(0); len(errs) != 1 {
				t.Errorf("Begin after Close: %v", errs)
			} else {
				t.refused("Begin after Close", errs[0], ax.ErrClosed)
			}
		}},
	}
}
