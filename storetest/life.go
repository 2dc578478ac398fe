package storetest

import (
	"fmt"
	"sync"

	"github.com/axsched/ax"
)

// lifeCases are about the store as a whole.
func lifeCases() []Case {
	return []Case{
		{"store/get", "Get returns a live task by id without Open, or ErrNoTask", func(t *T) {
			p := ax.Partition(t.Partitions - 1)
			t.get(t.id(p, "a"), nil)
			o := t.own(p)
			o.must(ax.Batch{Create: []*ax.Task{t.task(p, "a")}})
			t.grant(p) // the lease is another's now, who has not opened yet
			t.get(t.id(p, "a"), t.task(p, "a"))
			t.submit(p, submission(t.task(p, "waits")))
			t.get(t.id(p, "waits"), nil) // not before it is admitted
		}},
		{"store/room", "an ax.Roomer has room when it is new", func(t *T) {
			r, ok := t.Store.(ax.Roomer)
			t.Need(ok, "the store is no ax.Roomer")
			if err := r.Room(); err != nil {
				t.Errorf("Room = %v", err)
			}
		}},
		{"store/apart", "partitions do not see each other", func(t *T) {
			t.Need(t.Partitions > 1, "one partition")
			a, b := t.own(0), t.own(1)
			t.submit(0, request("same", ax.VerbCancel, "zero"))
			t.submit(1, request("same", ax.VerbCancel, "one"))
			ba, bb := t.everything("same"), t.everything("same")
			ba.Create, bb.Create = []*ax.Task{t.task(0, "same")}, []*ax.Task{t.task(1, "same")}
			a.must(ba)
			wasB := b.all()
			if n := items(wasB[ax.IndexDue]) + items(wasB[ax.IndexJobs]) + items(wasB[ax.IndexIDs]); n != 0 {
				t.Errorf("partition 1 shows %d items of partition 0", n)
			}
			t.same("partition 1's entry", wasB[ax.IndexInbox].Entries, []ax.Entry{request("same", ax.VerbCancel, "one")})
			b.must(bb) // number 1 here too
			wasA := a.all()
			b.must(t.removal("same"))
			b.must(ax.Batch{Delete: []string{t.id(1, "same"), t.id(0, "same")}, Admit: []string{"same"}})
			b.prune(ax.MaxTime, 0)
			a.unchanged("the removal in partition 1", wasA)
			b.holds(ax.IndexInbox)
			b.holds(ax.IndexDue)
			t.get(t.id(0, "same"), t.task(0, "same"))
			a.open()
			if a.number != 1 || a.opened.Floor != 0 {
				t.Errorf("partition 0 is at batch %d, floor %d; want 1, 0", a.number, a.opened.Floor)
			}
		}},
		{"store/tokens", "tokens grow over release and acquire, whichever partition they are for", func(t *T) {
			last := ax.Token{}
			for i := range 3 * t.Partitions {
				token := t.grant(ax.Partition(i % t.Partitions))
				if token.Compare(last) <= 0 {
					t.Errorf("grant %d: token %v after %v", i, token, last)
				}
				last = token
			}
		}},
		{"store/reopen", "a store that is closed and opened again holds what it held; tokens still grow, and older ones stay fenced", func(t *T) {
			t.Need(t.Reopen != nil, "the store does not outlive its process")
			o, _ := t.stocked()
			full := t.fullTask(0, "full", ax.Running)
			e := filled[ax.Entry](1)
			o.must(ax.Batch{Create: []*ax.Task{full}})
			o.must(ax.Batch{Remember: []*ax.IDRecord{{ID: "old", State: ax.Success, Ended: start - 100_000_000, Until: 1}}, Durability: ax.Written})
			t.submit(0, e, request("taken-in", ax.VerbCancel, "x"))
			floor := o.prune(2, 1000)
			if floor == 0 {
				t.Fatalf("Prune forgot nothing")
			}
			o.must(ax.Batch{Admit: []string{"taken-in"}})
			was, number := o.all(), o.number
			repeat := o.next(ax.Batch{})
			repeat.Number = number
			for round := range 3 {
				t.Store, t.Registry = t.Reopen()
				t.leases = nil // released, or to be shown dead, by whoever closed it
				t.get(full.ID, full)
				if round == 0 {
					if err := t.apply(repeat); err != nil {
						t.refused("a repeat by the owner from before the restart", err, ax.ErrFenced) // nil is right too
					}
				}
				next := t.own(0)
				if next.token.Compare(o.token) <= 0 {
					t.Errorf("token %v after the restart, %v before", next.token, o.token)
				}
				if next.number != number || next.opened.Floor != floor {
					t.Errorf("Open after the restart: number %d, floor %d; want %d, %d", next.number, next.opened.Floor, number, floor)
				}
				next.unchanged(fmt.Sprint("restart ", round+1), was)
				t.refused("Apply of the token from before the restart", t.apply(o.next(ax.Batch{})), ax.ErrFenced)
				if a := t.submit(0, request("taken-in", ax.VerbCancel, "x"), e); !t.OwnerDecides && (a[0].Code != ax.Known || a[1].Code != ax.Known) {
					t.Errorf("entries from before the restart are answered %v and %v, want known", a[0].Code, a[1].Code)
				}
				next.must(ax.Batch{})
				number++
				o = next
			}
		}},
		{"store/race", "all methods are safe for concurrent use", func(t *T) {
			var wg sync.WaitGroup
			for p := range ax.Partition(t.Partitions) {
				o := t.own(p)
				wg.Go(func() {
					for i := range 50 {
						a := t.task(p, fmt.Sprint("t", i))
						errs := t.Store.Apply(t.ctx, []*ax.Batch{{Partition: p, Token: o.token, Number: uint64(i + 1), Create: []*ax.Task{a},
							Admit: []string{fmt.Sprint("e", i-1)}, Facts: []ax.Fact{{ID: fmt.Sprint("f", i)}}, Remember: []*ax.IDRecord{{ID: fmt.Sprint("r", i), Until: ax.Time(i)}}}})
						if errs[0] != nil {
							t.Errorf("Apply = %v", errs[0])
						}
						if _, err := t.Store.Prune(t.ctx, p, o.token, ax.Time(i), 10); err != nil {
							t.Errorf("Prune = %v", err)
						}
					}
				})
				for _, work := range []func(i int) error{
					func(i int) error {
						_, err := t.Store.Submit(t.ctx, p, []ax.Entry{request(fmt.Sprint("e", i), ax.VerbCancel, "x")})
						return err
					},
					func(i int) error { _, _ = t.Store.Get(t.ctx, t.id(p, fmt.Sprint("t", i))); return nil },
					func(i int) error {
						_, err := t.Store.Scan(t.ctx, ax.ScanRequest{Partition: p, Token: o.token, Index: indexes[i%len(indexes)], Limit: 5})
						return err
					},
				} {
					wg.Go(func() {
						for i := range 50 {
							if err := work(i); err != nil {
								t.Errorf("%v", err)
							}
						}
					})
				}
			}
			wg.Wait()
			for p := range ax.Partition(t.Partitions) {
				t.get(t.id(p, "t49"), t.task(p, "t49"))
			}
		}},
		{"store/close", "after Close every method answers ErrClosed; closing twice is allowed", func(t *T) {
			o := t.own(0)
			o.must(ax.Batch{Create: []*ax.Task{t.task(0, "a")}})
			for range 2 {
				if err := t.Store.Close(); err != nil {
					t.Errorf("Close = %v", err)
				}
			}
			_, err := t.Store.Submit(t.ctx, 0, []ax.Entry{request("req", ax.VerbCancel, "x")})
			t.refused("Submit", err, ax.ErrClosed)
			_, err = t.Store.Open(t.ctx, 0, o.token)
			t.refused("Open", err, ax.ErrClosed)
			_, err = t.Store.Scan(t.ctx, ax.ScanRequest{Token: o.token, Index: ax.IndexDue})
			t.refused("Scan", err, ax.ErrClosed)
			t.refused("Apply", o.apply(ax.Batch{}), ax.ErrClosed)
			_, err = t.Store.Get(t.ctx, t.id(0, "a"))
			t.refused("Get", err, ax.ErrClosed)
			_, err = t.Store.Prune(t.ctx, 0, o.token, start, 0)
			t.refused("Prune", err, ax.ErrClosed)
		}},
	}
}
