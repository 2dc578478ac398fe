package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/axsched/ax"
)

// fenceCases are about who may write: one owner, by its token.
func fenceCases() []Case {
	return []Case{
		{"fence/first", "a partition that nobody opened accepts no batch; a zero token is nobody's", func(t *T) {
			token := t.grant(0)
			t.refused("Apply before Open", t.apply(&ax.Batch{Token: token, Number: 1, Create: []*ax.Task{t.task(0, "a")}}), ax.ErrFenced)
			_, err := t.Store.Open(t.ctx, 0, ax.Token{})
			t.refused("Open with a zero token", err, ax.ErrFenced)
			t.refused("Apply with a zero token", t.apply(&ax.Batch{Number: 1, Create: []*ax.Task{t.task(0, "a")}}), ax.ErrFenced)
			_, err = t.Store.Scan(t.ctx, ax.ScanRequest{Index: ax.IndexDue})
			t.refused("Scan with a zero token", err, ax.ErrFenced)
			_, err = t.Store.Scan(t.ctx, ax.ScanRequest{Token: token, Index: ax.IndexDue})
			t.refused("Scan before Open", err, ax.ErrFenced)
			t.get(t.id(0, "a"), nil)
		}},
		{"fence/older", "a token that is not the owner's is refused everywhere with ErrFenced, and so is an Open under a lower one", func(t *T) {
			old := t.own(0)
			old.must(ax.Batch{Create: []*ax.Task{t.task(0, "a")}, Remember: []*ax.IDRecord{{ID: "r", State: ax.Success, Ended: 1, Until: 1}}})
			o := t.own(0)
			check := func(when string) {
				t.refused("Apply of the older token "+when, old.apply(ax.Batch{Create: []*ax.Task{t.task(0, "late")}}), ax.ErrFenced)
				repeat := old.next(ax.Batch{})
				repeat.Number--
				t.refused("a repeat by the older token "+when, t.apply(repeat), ax.ErrFenced)
				_, err := t.Store.Scan(t.ctx, ax.ScanRequest{Token: old.token, Index: ax.IndexDue})
				t.refused("Scan of the older token "+when, err, ax.ErrFenced)
				_, err = t.Store.Prune(t.ctx, 0, old.token, start, 0)
				t.refused("Prune of the older token "+when, err, ax.ErrFenced)
				_, err = t.Store.Open(t.ctx, 0, old.token)
				t.refused("Open with the older token "+when, err, ax.ErrFenced)
			}
			check("before the new owner's first batch") // the fence stands from Open on, not from the first write
			o.must(ax.Batch{Create: []*ax.Task{t.task(0, "b")}})
			check("after the new owner's first batch")
			higher := o.next(ax.Batch{})
			higher.Token.Revision++
			t.refused("Apply of a token that never opened", t.apply(higher), ax.ErrFenced)
			_, err := t.Store.Scan(t.ctx, ax.ScanRequest{Token: higher.Token, Index: ax.IndexDue})
			t.refused("Scan of a token that never opened", err, ax.ErrFenced)
			o.holds(ax.IndexDue, t.id(0, "a"), t.id(0, "b"))
			o.holds(ax.IndexIDs, "r")
		}},
		{"fence/sees", "what Scan returns after Open includes every batch an older token got in", func(t *T) {
			old := t.own(0)
			old.must(t.everything("a"))
			t.submit(0, request("req", ax.VerbCancel, "x"))
			was := old.all()
			old.must(ax.Batch{Create: []*ax.Task{in(t.task(0, "last"), ax.Running)}, Durability: ax.Written})
			was[ax.IndexRunning] = ax.Page{Tasks: []*ax.Task{in(t.task(0, "last"), ax.Running)}}
			o := t.own(0)
			if o.opened.Number != old.number {
				t.Errorf("Opened.Number = %d, want %d", o.opened.Number, old.number)
			}
			o.unchanged("the change of owners", was)
			o.must(ax.Batch{Delete: []string{t.id(0, "last")}}) // numbers go on
		}},
		{"fence/again", "opening again with the same token is allowed, and says which batch was the last: that settles an unknown outcome", func(t *T) {
			o := t.own(0)
			for i := range uint64(4) {
				o.must(ax.Batch{Create: []*ax.Task{t.task(0, fmt.Sprint(i))}})
				o.open()
				if o.number != i+1 {
					t.Errorf("Opened.Number after %d batches = %d", i+1, o.number)
				}
			}
			o.must(ax.Batch{Create: []*ax.Task{t.task(0, "more")}})
			if n := len(o.scan(ax.IndexDue).Tasks); n != 5 {
				t.Errorf("%d tasks, want 5", n)
			}
		}},
		{"fence/era", "tokens are ordered by era first, then by revision", func(t *T) {
			token := t.grant(0)
			if _, err := t.Store.Open(t.ctx, 0, token); err != nil {
				t.Fatalf("Open(%v) = %v", token, err)
			}
			older := ax.Token{Era: token.Era - 1, Revision: token.Revision + 1000}
			_, err := t.Store.Open(t.ctx, 0, older)
			t.refused("Open with a higher revision of an older era", err, ax.ErrFenced)
			newer := &owner{t: t, token: ax.Token{Era: token.Era + 1, Revision: 1}}
			newer.open()
			_, err = t.Store.Open(t.ctx, 0, token)
			t.refused("Open with a higher revision of the era before", err, ax.ErrFenced)
			newer.must(ax.Batch{Create: []*ax.Task{t.task(0, "a")}})
			top := &owner{t: t, token: ax.Token{Era: token.Era + 1, Revision: 1<<64 - 1}}
			top.open()
			top.must(ax.Batch{Create: []*ax.Task{t.task(0, "b")}})
		}},
		{"fence/apart", "a fence holds for its partition only", func(t *T) {
			t.Need(t.Partitions > 1, "one partition")
			a, b := t.own(0), t.own(1)
			a.must(ax.Batch{Create: []*ax.Task{t.task(0, "a")}})
			t.own(0)
			b.must(ax.Batch{Create: []*ax.Task{t.task(1, "b")}})
			wrong := b.next(ax.Batch{Create: []*ax.Task{t.task(1, "c")}})
			wrong.Token = t.own(0).token
			t.refused("Apply with the token of another partition", t.apply(wrong), ax.ErrFenced)
		}},
		{"fence/race", "fence first, read after, also while the older owner is writing: whatever was answered nil is seen after Open, nothing else ever gets in", hammer},
	}
}

// hammerRounds is how often the owner changes; hammerWriters how many goroutines of the old one write on regardless.
const (
	hammerRounds  = 30
	hammerWriters = 4
)

// hammer lets an owner's goroutines write single tasks, as fast as they can, while the next owner opens. The old one's
// batches go one after another, as an owner sends them; it is Open that they overlap with.
func hammer(t *T) {
	o := t.own(0)
	var accepted []string // every task whose batch was answered nil
	for round := range hammerRounds {
		old := o
		var mu sync.Mutex // guards number order and accepted
		var wg sync.WaitGroup
		running := make(chan struct{})
		var once sync.Once
		for w := range hammerWriters {
			wg.Go(func() {
				for i := 0; ; i++ {
					name := fmt.Sprintf("%03d-%d-%05d", round, w, i)
					mu.Lock()
					b := old.next(ax.Batch{Create: []*ax.Task{t.task(0, name)}})
					errs := t.Store.Apply(t.ctx, []*ax.Batch{b})
					if len(errs) == 1 && errs[0] == nil {
						old.number++
						accepted = append(accepted, b.Create[0].ID)
					}
					mu.Unlock()
					if i == 3 {
						once.Do(func() { close(running) })
					}
					if len(errs) != 1 || errs[0] != nil {
						once.Do(func() { close(running) })
						if len(errs) != 1 || !errors.Is(errs[0], ax.ErrFenced) {
							t.Errorf("Apply of the older owner = %v, want nil or ErrFenced", errs)
						}
						return
					}
				}
			})
		}
		<-running
		next := &owner{t: t, token: t.grant(0)}
		next.open()
		seen := names(next.walk(ax.IndexDue, 1000)) // what the new owner reads, before the writers have ended
		wg.Wait()
		late := names(next.walk(ax.IndexDue, 1000))
		slices.Sort(accepted)
		if d := firstDifference(seen, accepted); d != "" {
			t.Fatalf("round %d: read after Open against answered nil: %s", round, d)
		}
		if d := firstDifference(late, seen); d != "" {
			t.Fatalf("round %d: read later against read after Open: %s", round, d)
		}
		if next.number != old.number {
			t.Fatalf("round %d: Opened.Number = %d, but %d batches were answered nil", round, next.number, old.number)
		}
		o = next
		if len(accepted) > 2000 { // keep the walks short
			o.must(ax.Batch{Delete: accepted})
			accepted = nil
		}
	}
}

// firstDifference compares two lists of ids as sets; "" if they are equal.
func firstDifference(got, want []string) string {
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got), i < len(want) && got[i] > want[i]:
			return fmt.Sprintf("%q is missing, of %d", want[i], len(want))
		case i >= len(want), got[i] < want[i]:
			return fmt.Sprintf("%q is there and was not to be, beside %d", got[i], len(want))
		}
	}
	return ""
}
