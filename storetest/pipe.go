package storetest

import (
	"fmt"
	"sync"

	"github.com/axsched/ax"
)

// pipe begins batches and collects what becomes of them.
type pipe struct {
	t     *T
	store ax.Pipeliner
	wait  sync.WaitGroup

	mu    sync.Mutex // guards all below
	done  map[int][]error
	calls int
	order []int // of the done calls
}

// pipe returns the store as a Pipeliner, or skips the case.
func (t *T) pipe() *pipe {
	s, ok := t.Store.(ax.Pipeliner)
	if !ok {
		panic(stopCase("the store is no ax.Pipeliner"))
	}
	return &pipe{t: t, store: s, done: map[int][]error{}}
}

// begin begins batches under a number of its own.
func (p *pipe) begin(i int, batches ...*ax.Batch) {
	p.wait.Add(1)
	once := false
	p.store.Begin(batches, func(errs []error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.calls++
		if once {
			p.t.Errorf("done of call %d is called again", i)
			return
		}
		once = true
		p.done[i] = append([]error{}, errs...)
		p.order = append(p.order, i)
		p.wait.Done()
	})
}

// result waits for all calls and returns the errors of one.
func (p *pipe) result(i int) []error {
	p.wait.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done[i]
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
				if errs := p.result(i); len(errs) != 1 || errs[0] != nil {
					t.Errorf("batch %d of a pipeline: %v", i, errs)
				}
				if p.order[i] != i {
					t.Errorf("done came in the order %v", p.order)
					break
				}
			}
			if got := len(o.scan(ax.IndexRunning).Tasks); got != n/2 {
				t.Errorf("%d tasks run, want %d", got, n/2)
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
				if errs := p.result(i); len(errs) != 1 || errs[0] != nil {
					t.Errorf("batch %d: %v", i, errs)
				}
			}
			if got := len(o.scan(ax.IndexDue).Tasks); got != 10 {
				t.Errorf("%d tasks, want 10", got)
			}
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
			p.wait.Add(1)
			p.store.Begin(list, func([]error) { p.wait.Done() })
			list[0] = nil
			b.Create[0] = nil
			b.Facts[0] = ax.Fact{ID: "another"}
			b.Number, b.Token = 99, ax.Token{}
			p.wait.Wait()
			o.number++
			o.holds(ax.IndexDue, t.id(0, "a"))
			o.holds(ax.IndexFacts, "f")
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
