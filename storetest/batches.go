package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/axsched/ax"
)

// everything returns a batch that uses every list, on top of what before wrote, and the names it leaves.
func (t *T) everything(tag string) ax.Batch {
	job := filled[ax.JobState](1)
	inst := filled[ax.Instance](1)
	why := filled[ax.Reason](1)
	out := filled[ax.Outgoing](1)
	fact := filled[ax.Fact](1)
	rec := filled[ax.IDRecord](1)
	job.UID, inst.ID, why.Job, out.Entry.ID, fact.ID, rec.ID = tag, tag, tag, tag, tag, tag
	return ax.Batch{Create: []*ax.Task{t.task(0, tag)}, Remember: []*ax.IDRecord{&rec}, Jobs: []ax.JobState{job}, Instances: []*ax.Instance{&inst},
		Reasons: []ax.Reason{why}, Outgoing: []ax.Outgoing{out}, Facts: []ax.Fact{fact}}
}

// removal returns the batch that removes what everything left.
func (t *T) removal(tag string) ax.Batch {
	b := t.everything(tag)
	return ax.Batch{Delete: []string{b.Create[0].ID}, Forget: []string{tag}, DropJobs: []string{tag}, DropInst: []string{tag},
		DropWhy: []string{b.Reasons[0].Name()}, Relayed: []string{tag}, Filed: []string{tag}}
}

// unchanged checks that every index is as it was.
func (o *owner) unchanged(what string, was map[ax.Index]ax.Page) {
	for _, i := range indexes {
		if d := Diff(o.scan(i), was[i]); d != "" {
			o.t.Errorf("%s left a trace in index %d: %s", what, i, d)
		}
	}
}

// batchCases are about the batch as a whole: all or nothing, and in the order of the numbers.
func batchCases() []Case {
	return []Case{
		{"batch/whole", "a batch is written as a whole: every list of it", func(t *T) {
			o := t.own(0)
			o.must(t.everything("a"))
			for _, i := range indexes {
				want := 1
				if i == ax.IndexWaiting || i == ax.IndexRunning || i == ax.IndexHeld || i == ax.IndexEnded || i == ax.IndexInbox {
					want = 0
				}
				if n := items(o.scan(i)); n != want {
					t.Errorf("index %d holds %d items, want %d", i, n, want)
				}
			}
			o.must(t.removal("a"))
			for _, i := range indexes {
				if n := items(o.scan(i)); n != 0 {
					t.Errorf("index %d holds %d items after their removal, want 0", i, n)
				}
			}
		}},
		{"batch/nothing", "a batch that is refused leaves no trace in any index", func(t *T) {
			o := t.own(0)
			o.must(t.everything("old"))
			o.must(ax.Batch{Create: []*ax.Task{t.task(0, "c"), t.task(0, "m")}})
			t.submit(0, request("req-1", ax.VerbCancel, "x"))
			was := o.all()
			bad := func() ax.Batch {
				b, r := t.everything("new"), t.removal("old")
				b.Delete, b.Forget, b.DropJobs, b.DropInst = append(r.Delete, t.id(0, "c")), r.Forget, r.DropJobs, r.DropInst
				b.DropWhy, b.Relayed, b.Filed, b.Admit = r.DropWhy, r.Relayed, r.Filed, []string{"req-1"}
				b.Create = append(b.Create, in(t.task(0, "c"), ax.Held), with(t.task(0, "m"), func(n *ax.Task) { n.Run = 2 }))
				b.Move = []*ax.Task{in(t.task(0, "m"), ax.Running), in(t.task(0, "new"), ax.Running)}
				return b
			}
			b := bad()
			b.Move = append(b.Move, t.task(0, "absent"))
			t.refused("a batch with an impossible move", o.apply(b), ax.ErrInvalid)
			o.unchanged("an impossible batch", was)
			gap := o.next(bad())
			gap.Number++
			t.refused("a batch after a gap", t.apply(gap), ax.ErrGap)
			o.unchanged("a batch after a gap", was)
			fenced := o.next(bad())
			fenced.Token.Revision--
			t.refused("a batch of an older token", t.apply(fenced), ax.ErrFenced)
			o.unchanged("a fenced batch", was)
			t.get(t.id(0, "new"), nil)
			t.get(t.id(0, "m"), t.task(0, "m"))
			t.get(t.id(0, "c"), t.task(0, "c"))
			if a := t.submit(0, request("req-1", ax.VerbCancel, "x")); a[0].Code != ax.Known {
				t.Errorf("the entry of the refused batch is answered %v, want known", a[0].Code)
			}
			o.must(bad()) // it was only the one move
			o.holds(ax.IndexHeld, t.id(0, "c"))
			o.holds(ax.IndexRunning, t.id(0, "m"), t.id(0, "new"))
			o.holds(ax.IndexJobs, "new")
			o.holds(ax.IndexInbox)
		}},
		{"batch/numbers", "numbers follow each other without a gap, from Opened.Number + 1", func(t *T) {
			o := t.own(0)
			if o.opened.Number != 0 {
				t.Errorf("Open of a new partition: number %d, want 0", o.opened.Number)
			}
			try := func(n uint64, want error) {
				b := o.next(ax.Batch{Create: []*ax.Task{t.task(0, fmt.Sprint("try", n))}})
				b.Number = n
				t.refused(fmt.Sprintf("batch %d after %d", n, o.number), t.apply(b), want)
			}
			try(2, ax.ErrGap)
			try(0, ax.ErrGap)
			o.must(ax.Batch{Create: []*ax.Task{t.task(0, "a")}})
			try(3, ax.ErrGap)
			o.must(ax.Batch{Create: []*ax.Task{t.task(0, "b")}})
			try(1, ax.ErrGap)
			try(0, ax.ErrGap)
			o.holds(ax.IndexDue, t.id(0, "a"), t.id(0, "b"))
		}},
		{"batch/repeat", "a repeat of the last number under the same token is answered nil again and changes nothing", func(t *T) {
			o := t.own(0)
			first := o.next(ax.Batch{Create: []*ax.Task{t.task(0, "a")}, Facts: []ax.Fact{{ID: "f"}}})
			for range 3 {
				if err := t.apply(first); err != nil {
					t.Errorf("a repeat of the last batch = %v, want nil", err)
				}
			}
			o.number++
			o.must(ax.Batch{Move: []*ax.Task{in(t.task(0, "a"), ax.Running)}, Filed: []string{"f"}})
			last := o.next(ax.Batch{Create: []*ax.Task{t.task(0, "z")}, Facts: []ax.Fact{{ID: "g"}}})
			last.Number = o.number
			if err := t.apply(last); err != nil {
				t.Errorf("a repeat of the last number with other content = %v, want nil", err)
			}
			t.get(t.id(0, "z"), nil)
			o.holds(ax.IndexRunning, t.id(0, "a"))
			o.holds(ax.IndexFacts)
			t.refused("a repeat of the number before the last", t.apply(first), ax.ErrGap)
		}},
		{"batch/repeat-other", "a repeat under another token than the one that wrote it is no repeat: ErrGap", func(t *T) {
			o := t.own(0)
			o.must(ax.Batch{Create: []*ax.Task{t.task(0, "a")}})
			o = t.own(0)
			b := o.next(ax.Batch{Create: []*ax.Task{t.task(0, "b")}})
			b.Number = o.number
			t.refused("the last number under a new token", t.apply(b), ax.ErrGap)
			t.get(t.id(0, "b"), nil)
		}},
		{"batch/refused-number", "a refused batch uses up no number", func(t *T) {
			o := t.own(0)
			o.must(ax.Batch{Create: []*ax.Task{t.task(0, "a")}})
			t.refused("an impossible move", o.apply(ax.Batch{Move: []*ax.Task{t.task(0, "x")}}), ax.ErrInvalid)
			o.must(ax.Batch{Create: []*ax.Task{t.task(0, "b")}})
			o.open()
			if o.number != 2 {
				t.Errorf("Opened.Number after two applied and one refused batch = %d, want 2", o.number)
			}
		}},
		{"batch/after-failure", "after a failure in a partition, every later batch of it in the call is refused with ErrGap; others are applied", func(t *T) {
			o := t.own(0)
			n := func(i uint64, b ax.Batch) *ax.Batch {
				nb := o.next(b)
				nb.Number = o.number + i
				return nb
			}
			call := []*ax.Batch{n(1, ax.Batch{Create: []*ax.Task{t.task(0, "a")}}),
				n(2, ax.Batch{Move: []*ax.Task{t.task(0, "absent")}}),
				n(3, ax.Batch{Create: []*ax.Task{t.task(0, "b")}}),
				n(2, ax.Batch{Create: []*ax.Task{t.task(0, "c")}})}
			if t.Partitions > 1 {
				call = append(call, t.own(1).next(ax.Batch{Create: []*ax.Task{t.task(1, "other")}}))
			}
			errs := t.Store.Apply(t.ctx, call)
			if len(errs) != len(call) {
				t.Fatalf("%d errors for %d batches", len(errs), len(call))
			}
			for i, want := range []error{nil, ax.ErrInvalid, ax.ErrGap, ax.ErrGap, nil}[:len(call)] {
				if !errors.Is(errs[i], want) {
					t.Errorf("batch %d of the call: %v, want %v", i, errs[i], want)
				}
			}
			o.holds(ax.IndexDue, t.id(0, "a"))
			if t.Partitions > 1 {
				t.get(t.id(1, "other"), t.task(1, "other"))
			}
			o.open()
			if o.number != 1 {
				t.Errorf("Opened.Number = %d, want 1", o.number)
			}
		}},
		{"batch/many", "batches of one partition in one call are applied in their order, each whole", func(t *T) {
			o := t.own(0)
			var call []*ax.Batch
			for i := range uint64(20) {
				b := ax.Batch{Move: []*ax.Task{with(t.task(0, "a"), func(n *ax.Task) { n.At = start + ax.Time(i) })}}
				if i == 0 {
					b = ax.Batch{Create: []*ax.Task{t.task(0, "a")}}
				}
				nb := o.next(b)
				nb.Number += i
				nb.Durability = ax.Durability(i % 2) // Durable and Written in turn
				call = append(call, nb)
			}
			for i, err := range t.Store.Apply(t.ctx, call) {
				if err != nil {
					t.Errorf("batch %d of the call: %v, want nil", i, err)
				}
			}
			t.get(t.id(0, "a"), with(t.task(0, "a"), func(n *ax.Task) { n.At = start + 19 }))
		}},
		{"batch/empty", "an empty batch and an empty call are allowed", func(t *T) {
			o := t.own(0)
			if errs := t.Store.Apply(t.ctx, nil); len(errs) != 0 {
				t.Errorf("Apply of no batch = %v, want none", errs)
			}
			o.must(ax.Batch{})
			if answers, err := t.Store.Submit(t.ctx, 0, nil); len(answers) != 0 || err != nil {
				t.Errorf("Submit of no entry = %v, %v, want none", answers, err)
			}
			o.open()
			if o.number != 1 {
				t.Errorf("Opened.Number after an empty batch = %d, want 1", o.number)
			}
		}},
		{"batch/large", "a batch may be large: 10,000 tasks", func(t *T) {
			o := t.own(0)
			const n = 10_000
			var tasks, moved []*ax.Task
			var ids []string
			for i := range n {
				a := with(t.task(0, fmt.Sprintf("%05d", i)), func(a *ax.Task) { a.Payload = []byte("payload") })
				tasks, moved, ids = append(tasks, a), append(moved, in(a, ax.Running)), append(ids, a.ID)
			}
			o.must(ax.Batch{Create: tasks})
			if got := names(o.walk(ax.IndexDue, 999)); len(got) != n || got[n-1] != ids[n-1] {
				t.Errorf("IndexDue holds %d tasks, want %d", len(got), n)
			}
			o.must(ax.Batch{Move: moved})
			o.must(ax.Batch{Delete: ids[1:]})
			o.holds(ax.IndexRunning, ids[0])
		}},
		{"batch/slices", "slices handed in belong to the caller again when the method returns", func(t *T) {
			o := t.own(0)
			a, b := t.task(0, "a"), t.task(0, "b")
			create, ids := []*ax.Task{a, b}, []*ax.IDRecord{{ID: "id", Hash: 1, State: ax.Success}}
			jobs, facts := []ax.JobState{{UID: "job"}}, []ax.Fact{{ID: "fact"}}
			o.must(ax.Batch{Create: create, Remember: ids, Jobs: jobs, Facts: facts})
			create[0], ids[0], jobs[0], facts[0] = nil, nil, ax.JobState{UID: "spoiled"}, ax.Fact{ID: "spoiled"}
			entries := []ax.Entry{request("req", ax.VerbCancel, a.ID)}
			t.submit(0, entries...)
			entries[0] = ax.Entry{ID: "spoiled"}
			o.holds(ax.IndexDue, a.ID, b.ID)
			o.holds(ax.IndexIDs, "id")
			o.holds(ax.IndexJobs, "job")
			o.holds(ax.IndexFacts, "fact")
			o.holds(ax.IndexInbox, "req")
			o.scan(ax.IndexDue).Tasks[0] = nil // what a method returns is the caller's
			o.holds(ax.IndexDue, a.ID, b.ID)
		}},
		{"batch/canceled", "after a context error nothing was written", func(t *T) {
			o := t.own(0)
			gone, cancel := context.WithCancel(t.ctx)
			cancel()
			errs := t.Store.Apply(gone, []*ax.Batch{o.next(ax.Batch{Create: []*ax.Task{t.task(0, "a")}})})
			if len(errs) != 1 || !errors.Is(errs[0], context.Canceled) {
				t.Errorf("Apply with an ended context = %v, want context.Canceled", errs)
			}
			_, err := t.Store.Submit(gone, 0, []ax.Entry{request("req", ax.VerbCancel, "x")})
			t.refused("Submit with an ended context", err, context.Canceled)
			token := t.grant(0)
			_, err = t.Store.Open(gone, 0, token)
			t.refused("Open with an ended context", err, context.Canceled)
			_, err = t.Store.Get(gone, t.id(0, "a"))
			t.refused("Get with an ended context", err, context.Canceled)
			_, err = t.Store.Scan(gone, ax.ScanRequest{Token: o.token, Index: ax.IndexDue})
			t.refused("Scan with an ended context", err, context.Canceled)
			_, err = t.Store.Prune(gone, 0, o.token, start, 0)
			t.refused("Prune with an ended context", err, context.Canceled)
			o.holds(ax.IndexDue) // which also shows that Open fenced nobody
			o.holds(ax.IndexInbox)
			o.must(ax.Batch{Create: []*ax.Task{t.task(0, "a")}})
		}},
		{"batch/partition", "a partition that does not exist is ErrInvalid", func(t *T) {
			for _, p := range []ax.Partition{-1, ax.Partition(t.Partitions)} {
				_, err := t.Store.Submit(t.ctx, p, []ax.Entry{request("req", ax.VerbCancel, "x")})
				t.refused("Submit", err, ax.ErrInvalid)
				_, err = t.Store.Open(t.ctx, p, ax.Token{Era: 1, Revision: 1})
				t.refused("Open", err, ax.ErrInvalid)
				_, err = t.Store.Scan(t.ctx, ax.ScanRequest{Partition: p, Token: ax.Token{Era: 1}, Index: ax.IndexDue})
				t.refused("Scan", err, ax.ErrInvalid)
				t.refused("Apply", t.apply(&ax.Batch{Partition: p, Token: ax.Token{Era: 1}, Number: 1}), ax.ErrInvalid)
				_, err = t.Store.Prune(t.ctx, p, ax.Token{Era: 1}, start, 0)
				t.refused("Prune", err, ax.ErrInvalid)
			}
		}},
	}
}
