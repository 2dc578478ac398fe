package storetest

import (
	"context"
	"fmt"
	"sync"

	"github.com/axsched/ax"
)

// inboxCases are about requests on their way to the owner.
func inboxCases() []Case {
	return []Case{
		{"inbox/order", "entries are kept in the order they were added, without a token, whoever owns the partition", func(t *T) {
			t.submit(0, request("z", ax.VerbCancel, "x"), request("m", ax.VerbRun, "x")) // nobody owns it yet
			t.own(0)
			t.submit(0, request("b", ax.VerbCancel, "x"), request("a", ax.VerbPause, "x"))
			o := t.own(0)
			t.submit(0, request("y", ax.VerbResume, "x"))
			o.holds(ax.IndexInbox, "z", "m", "b", "a", "y")
			o.must(ax.Batch{Admit: []string{"m", "a"}})
			t.submit(0, request("c", ax.VerbBackfill, "x"))
			o.holds(ax.IndexInbox, "z", "b", "y", "c")
		}},
		{"inbox/fields", "an entry comes back with every field: its task, its report, its bytes", func(t *T) {
			o := t.own(0)
			e := filled[ax.Entry](1)
			e.Verb = ax.VerbReport
			full := submission(t.fullTask(0, "full", ax.Scheduled))
			full.Made = start
			body := request("body", "x", "x")
			body.Body = payloads()["every byte"]
			t.submit(0, e, full, body)
			got := o.scan(ax.IndexInbox).Entries
			if len(got) != 3 {
				t.Fatalf("the inbox holds %d entries, want 3", len(got))
			}
			for i, want := range []ax.Entry{e, full, body} {
				t.same("entry "+want.ID, got[i], want)
			}
		}},
		{"inbox/reports", "a report comes through the inbox with every field, whatever its outcome", func(t *T) {
			o := t.own(0)
			var want []ax.Entry
			for out := ax.Ongoing; out <= ax.OutcomeInterrupted; out++ {
				r := filled[ax.Report](int(out))
				r.Outcome, r.Returned, r.Never = out, out%2 == 0, out%3 == 0
				e := request(fmt.Sprint("report-", out), ax.VerbReport, "")
				e.Report = &r
				want = append(want, e)
			}
			empty := request("report-empty", ax.VerbReport, "")
			empty.Report = &ax.Report{ID: "x"}
			want = append(want, empty)
			t.submit(0, want...)
			t.same("reports", o.scan(ax.IndexInbox).Entries, want)
		}},
		{"inbox/verbs", "the set of verbs is open: an unknown one is kept, byte for byte, and shown", func(t *T) {
			o := t.own(0)
			var want []ax.Entry
			for i, v := range []ax.Verb{"teleport", "", "SUBMIT", "submit ", "x\x00y"} {
				e := filled[ax.Entry](i)
				e.ID, e.Verb, e.Version = fmt.Sprint("e", i), v, 255
				want = append(want, e)
			}
			t.submit(0, want...)
			t.same("entries with unknown verbs", o.scan(ax.IndexInbox).Entries, want)
			o = t.own(0)
			t.same("the same for the next owner", o.scan(ax.IndexInbox).Entries, want)
		}},
		{"inbox/idempotent", "an entry that is in the inbox is not added again: idempotent by Entry.ID", func(t *T) {
			o := t.own(0)
			first := request("a", ax.VerbCancel, "x")
			first.By = "first"
			t.submit(0, first, request("b", ax.VerbCancel, "x"))
			again := first
			again.By = "again"
			a := t.submit(0, again, request("c", ax.VerbCancel, "x"), request("c", ax.VerbCancel, "x"))
			for i, want := range []ax.Code{ax.Known, ax.Accepted, ax.Known} {
				if a[i].Code != want {
					t.Errorf("entry %d is answered %v, want %v", i, a[i].Code, want)
				}
			}
			o.holds(ax.IndexInbox, "a", "b", "c")
			if got := o.scan(ax.IndexInbox).Entries[0].By; got != "first" {
				t.Errorf("the entry is by %q, want the first one to stay", got)
			}
		}},
		{"inbox/admitted", "an admitted entry leaves the inbox and stays known, at least AdmitWindow after it was added", func(t *T) {
			t.Need(!t.OwnerDecides, "the owner recognises repeats")
			o := t.own(0)
			t.submit(0, request("a", ax.VerbCancel, "x"), request("b", ax.VerbRerun, "x"), request("c", ax.VerbReport, "x"))
			o.must(ax.Batch{Admit: []string{"a", "b"}, Remember: []*ax.IDRecord{{ID: "b", Ended: start, Until: start.Add(3 * ax.AdmitWindow)}}})
			known := func(when string, want ...string) {
				o.holds(ax.IndexInbox, "c")
				for _, id := range want {
					if a := t.submit(0, request(id, ax.VerbCancel, "x")); a[0].Code != ax.Known {
						t.Errorf("entry %s %s is answered %v, want known", id, when, a[0].Code)
					}
				}
				o.holds(ax.IndexInbox, "c")
			}
			known("after its admission", "a", "b")
			if _, err := t.Store.Prune(t.ctx, 0, o.token, start.Add(ax.AdmitWindow), 100); err != nil {
				t.Fatalf("Prune = %v", err)
			}
			known("AdmitWindow after it was added", "a", "b")
			o = t.own(0)
			known("with the next owner", "a", "b")
			if _, err := t.Store.Prune(t.ctx, 0, o.token, start.Add(2*ax.AdmitWindow), 100); err != nil {
				t.Fatalf("Prune = %v", err)
			}
			known("that its batch remembers for longer", "b")
			if a := t.submit(0, request("a", ax.VerbCancel, "x")); a[0].Code != ax.Accepted {
				t.Errorf("an entry that was forgotten is answered %v, want accepted", a[0].Code)
			}
			o.holds(ax.IndexInbox, "c", "a")
		}},
		{"inbox/admitted-record", "an admitted entry does not replace the id record of its id; a submission gets none, and may come again", func(t *T) {
			o := t.own(0)
			rec := &ax.IDRecord{ID: "a", Hash: 5, State: ax.Failed, Run: 3, Ended: start, Until: start.Add(ax.AdmitWindow)}
			o.must(ax.Batch{Remember: []*ax.IDRecord{rec}})
			t.submit(0, request("a", ax.VerbCancel, "x"), submission(t.task(0, "refused")))
			o.must(ax.Batch{Admit: []string{"a", t.id(0, "refused")}})
			t.same("id records", o.scan(ax.IndexIDs).IDs, []*ax.IDRecord{rec})
			if a := t.submit(0, submission(t.task(0, "refused"))); a[0].Code != ax.Accepted {
				t.Errorf("a submission that was admitted without effect is answered %v when it comes again, want accepted", a[0].Code)
			}
			o.holds(ax.IndexInbox, t.id(0, "refused"))
		}},
		{"inbox/one-batch", "the owner admits an entry in the batch that holds its effect", func(t *T) {
			o := t.own(0)
			t.submit(0, submission(t.task(0, "a")), submission(t.task(0, "b")))
			o.must(ax.Batch{Create: []*ax.Task{t.task(0, "a")}, Admit: []string{t.id(0, "a")}})
			o.holds(ax.IndexInbox, t.id(0, "b"))
			o.holds(ax.IndexDue, t.id(0, "a"))
		}},
		{"inbox/paging", "a walk of the inbox sees every entry once and in order while others are added and admitted", func(t *T) {
			o := t.own(0)
			var want []string
			for i := range 20 {
				id := fmt.Sprint("e", (i*7)%20) // ids in another order than the entries
				want = append(want, id)
				t.submit(0, request(id, ax.VerbCancel, "x"))
			}
			var got []string
			req := ax.ScanRequest{Token: o.token, Index: ax.IndexInbox, Limit: 3}
			for step := 0; ; step++ {
				page, err := t.Store.Scan(t.ctx, req)
				if err != nil {
					t.Fatalf("Scan = %v", err)
				}
				got = append(got, names(page)...)
				if req.From = page.Next; req.From == "" || step > 50 {
					break
				}
				t.submit(0, request(fmt.Sprint("late", step), ax.VerbCancel, "x"))
				o.must(ax.Batch{Admit: names(page)})
			}
			if len(got) < len(want) || fmt.Sprint(got[:len(want)]) != fmt.Sprint(want) {
				t.Errorf("the walk saw %v, want %v first", got, want)
			}
		}},
		{"inbox/race", "an entry that many add at once is added once; entries of one call stay in their order", func(t *T) {
			o := t.own(0)
			const writers, each = 8, 20
			var mu sync.Mutex
			accepted := map[string]int{}
			var wg sync.WaitGroup
			for w := range writers {
				wg.Go(func() {
					for i := range each {
						own := fmt.Sprintf("w%d-%02d", w, i)
						list := []ax.Entry{request(own, ax.VerbCancel, "x"), request(fmt.Sprint("all-", i), ax.VerbCancel, "x"), request(own+"-b", ax.VerbCancel, "x")}
						answers, err := t.Store.Submit(t.ctx, 0, list)
						if err != nil || len(answers) != 3 {
							t.Errorf("Submit = %v, %v", answers, err)
							return
						}
						mu.Lock()
						for j, a := range answers {
							if a.Code == ax.Accepted {
								accepted[list[j].ID]++
							}
						}
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			at := map[string]int{}
			for i, id := range names(o.walk(ax.IndexInbox, 50)) {
				if at[id] != 0 {
					t.Errorf("entry %s is in the inbox twice", id)
				}
				at[id] = i + 1
			}
			if len(at) != 2*writers*each+each {
				t.Errorf("the inbox holds %d entries, want %d", len(at), 2*writers*each+each)
			}
			for id, n := range accepted {
				if n != 1 {
					t.Errorf("entry %s was answered accepted %d times, want once", id, n)
				}
				if at[id+"-b"] != 0 && at[id+"-b"] < at[id] {
					t.Errorf("entry %s stands after one that followed it in its call", id)
				}
			}
		}},
		{"inbox/watch", "a watcher receives after entries were added, and at first if some wait already", func(t *T) {
			w, ok := t.Store.(ax.InboxWatcher)
			t.Need(ok, "the store is no InboxWatcher")
			watch := func(ctx context.Context) <-chan struct{} {
				c, err := w.WatchInbox(ctx, 0)
				if err != nil {
					t.Fatalf("WatchInbox = %v", err)
				}
				return c
			}
			o := t.own(0)
			c := watch(t.ctx)
			for i := range 5 {
				t.submit(0, request(fmt.Sprint("e", i), ax.VerbCancel, "x"))
				wait(t, c, "a hint that an entry was added")
			}
			wait(t, watch(t.ctx), "a hint that entries wait")
			gone, cancel := context.WithCancel(t.ctx)
			watch(gone)
			cancel() // a watcher that nobody reads any more holds up nothing
			for i := range 100 {
				t.submit(0, request(fmt.Sprint("more", i), ax.VerbCancel, "x"))
			}
			if n := len(o.walk(ax.IndexInbox, 100).Entries); n != 105 {
				t.Errorf("the inbox holds %d entries, want 105", n)
			}
		}},
	}
}

// answerCases are about what Submit says of a submission at once.
func answerCases() []Case {
	return []Case{
		{"answer/live", "a submission of a live task is answered Known with its state and run, or Conflict if it is another; neither is added", func(t *T) {
			o := t.own(0)
			a := with(t.task(0, "a"), func(a *ax.Task) { a.Run, a.State = 2, ax.Running })
			o.must(ax.Batch{Create: []*ax.Task{a}})
			t.answers("a live task", t.task(0, "a"), ax.Answer{Code: ax.Known, ID: a.ID, State: ax.Running, Run: 2})
			t.answers("another of that id", with(a, func(n *ax.Task) { n.Hash++ }), ax.Answer{Code: ax.Conflict, ID: a.ID, State: ax.Running, Run: 2})
			t.answers("a new one", t.task(0, "b"), ax.Answer{Code: ax.Accepted, ID: t.id(0, "b")})
			if !t.OwnerDecides {
				o.holds(ax.IndexInbox, t.id(0, "b"))
			}
		}},
		{"answer/remembered", "a submission of a task that has ended is answered from its id record", func(t *T) {
			o := t.own(0)
			id := t.id(0, "a")
			o.must(ax.Batch{Remember: []*ax.IDRecord{{ID: id, Hash: 7, State: ax.Success, Run: 4, Ended: start, Until: start + 10}}})
			t.answers("a remembered task", t.task(0, "a"), ax.Answer{Code: ax.Known, ID: id, State: ax.Success, Run: 4})
			t.answers("another of that id", with(t.task(0, "a"), func(n *ax.Task) { n.Hash = 1 << 63 }), ax.Answer{Code: ax.Conflict, ID: id, State: ax.Success, Run: 4})
			o.must(ax.Batch{Forget: []string{id}})
			t.answers("a forgotten one", t.task(0, "a"), ax.Answer{Code: ax.Accepted, ID: id})
		}},
		{"answer/waiting", "a submission that waits in the inbox is not added again, nor replaced by another of its id", func(t *T) {
			o := t.own(0)
			a := t.task(0, "a")
			t.submit(0, submission(a))
			t.answers("one that waits", a, ax.Answer{Code: ax.Known, ID: a.ID})
			other := with(a, func(n *ax.Task) { n.Hash = 9 })
			t.answers("another of that id", other, ax.Answer{Code: ax.Conflict, ID: a.ID})
			b := t.task(0, "b")
			twice := t.submit(0, submission(b), submission(b), submission(with(b, func(n *ax.Task) { n.Hash = 9 })))
			for i, want := range []ax.Code{ax.Accepted, ax.Known, ax.Conflict} {
				if twice[i].Code != want && !(t.OwnerDecides && twice[i].Code == ax.Accepted) {
					t.Errorf("entry %d of one call is answered %v, want %v", i, twice[i].Code, want)
				}
			}
			t.same("the inbox", o.scan(ax.IndexInbox).Entries, []ax.Entry{submission(a), submission(b)})
		}},
		{"answer/reopened", "a task unique ByID whose id ended FAILED, TIMEOUT or CANCELED is left to the owner", func(t *T) {
			o := t.own(0)
			for _, s := range []ax.State{ax.Success, ax.Failed, ax.Timeout, ax.Canceled} {
				a := with(t.task(0, s.String()), func(a *ax.Task) { a.Extra = &ax.Extra{Unique: ax.Unique{By: ax.ByID, Window: 1}} })
				b := with(a, func(b *ax.Task) { b.ID += "-live" })
				o.must(ax.Batch{Create: []*ax.Task{in(b, s)}, Remember: []*ax.IDRecord{{ID: a.ID, Hash: a.Hash, State: s, Run: 1, Ended: start, Until: start + 10}}})
				for _, task := range []*ax.Task{a, b} {
					want := ax.Answer{Code: ax.Accepted, ID: task.ID}
					if s == ax.Success {
						want = ax.Answer{Code: ax.Known, ID: task.ID, State: s, Run: 1}
					}
					t.answers(task.ID, task, want)
				}
			}
		}},
	}
}

// answers submits a task and checks the answer. A store without id records may leave everything to the owner.
func (t *T) answers(what string, task *ax.Task, want ax.Answer) {
	got := t.submit(0, submission(task))[0]
	if t.OwnerDecides && got.Code == ax.Accepted {
		return
	}
	if want.Code == ax.Conflict { // how the other stands need not be told
		got.State, got.Run, want.State, want.Run = 0, 0, 0, 0
	}
	t.same("the answer to "+what, got, want)
}
