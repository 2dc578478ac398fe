package registrytest

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/axsched/ax"
)

// ttl is longer than any case takes in real time, in case the clock cannot be moved.
const ttl = time.Minute

// acquire takes a lease and ends the case if it cannot be had.
func (t *T) acquire(class, name, holder string) ax.Lease {
	l, err := t.Registry.Acquire(t.ctx, class, name, holder, ttl, []byte("data of "+holder))
	if err != nil {
		t.Fatalf("Acquire(%s/%s) for %s = %v", class, name, holder, err)
	}
	return l
}

// held checks the live leases of a class, written as name=holder.
func (t *T) held(class string, want ...string) {
	list, err := t.Registry.Leases(t.ctx, class)
	if err != nil {
		t.Fatalf("Leases(%s) = %v", class, err)
	}
	var got []string
	for _, l := range list {
		got = append(got, l.Name+"="+l.Holder)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("Leases(%s) = %q, want %q", class, got, want)
	}
}

// equal checks all of a lease.
func (t *T) equal(what string, got, want ax.Lease) {
	if got.Class != want.Class || got.Name != want.Name || got.Holder != want.Holder || got.Token != want.Token ||
		got.TTL != want.TTL || !bytes.Equal(got.Data, want.Data) {
		t.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

func leaseCases() []Case {
	return []Case{
		{"lease/acquire", "Acquire grants a lease that is free, with its holder, TTL and data; Leases lists it", func(t *T) {
			data := []byte("\x00\xff data")
			l, err := t.Registry.Acquire(t.ctx, "node", "a", "holder 1", ttl, data)
			if err != nil {
				t.Fatalf("Acquire = %v", err)
			}
			want := ax.Lease{Class: "node", Name: "a", Holder: "holder 1", Token: l.Token, TTL: ttl, Data: []byte("\x00\xff data")}
			t.equal("Acquire", l, want)
			if l.Token.IsZero() {
				t.Errorf("the token is zero")
			}
			data[0] = 'x' // both are the caller's
			clear(l.Data)
			list, err := t.Registry.Leases(t.ctx, "node")
			if err != nil || len(list) != 1 {
				t.Fatalf("Leases = %v, %v, want one", list, err)
			}
			t.equal("Leases", list[0], want)
		}},
		{"lease/held", "ErrHeld if another holder has it, or the same holder under a token it did not release", func(t *T) {
			t.acquire("node", "a", "one")
			for _, holder := range []string{"two", "one", ""} {
				l, err := t.Registry.Acquire(t.ctx, "node", "a", holder, ttl, nil)
				t.refused("Acquire of a held lease by "+holder, err, ax.ErrHeld)
				if !l.Token.IsZero() {
					t.Errorf("a refused Acquire returned the token %v", l.Token)
				}
			}
			t.held("node", "a=one")
		}},
		{"lease/ttl", "a TTL that is not positive is ErrInvalid", func(t *T) {
			for _, d := range []time.Duration{0, -time.Second} {
				_, err := t.Registry.Acquire(t.ctx, "node", "a", "one", d, nil)
				t.refused(fmt.Sprint("Acquire for ", d), err, ax.ErrInvalid)
			}
			t.held("node")
		}},
		{"lease/names", "a lease is identified by class and name", func(t *T) {
			t.acquire("node", "a", "1")
			t.acquire("node", "b", "2")
			t.acquire("partition", "a", "3")
			t.acquire("node", "a/b", "4")
			t.acquire("node/a", "b", "5")
			t.acquire("nod", "ea", "6")
			t.acquire("node", "", "7")
			t.held("node", "=7", "a=1", "a/b=4", "b=2")
			t.held("partition", "a=3")
			t.held("node/a", "b=5")
			t.held("nod", "ea=6")
			t.held("no")
		}},
		{"lease/token", "a token grows with every grant of any lease, and stays through renewals", func(t *T) {
			last := ax.Token{}
			for i := range 6 {
				l := t.acquire(fmt.Sprint("class", i%2), fmt.Sprint("name", i%3), "x")
				if l.Token.Compare(last) <= 0 {
					t.Errorf("grant %d: token %v after %v", i, l.Token, last)
				}
				last = l.Token
				if err := t.Registry.Renew(t.ctx, l); err != nil {
					t.Errorf("Renew = %v", err)
				}
				list, err := t.Registry.Leases(t.ctx, l.Class)
				if err != nil || len(list) != 1 || list[0].Token != l.Token {
					t.Errorf("after a renewal: %+v, %v, want token %v", list, err, l.Token)
				}
				if err := t.Registry.Release(t.ctx, l); err != nil {
					t.Errorf("Release = %v", err)
				}
				if i%2 == 1 { // documents in between change nothing in that
					if _, err := t.Registry.Put(t.ctx, "job", fmt.Sprint(i), 0, []byte("x")); err != nil {
						t.Errorf("Put = %v", err)
					}
				}
			}
		}},
		{"lease/renew", "Renew extends a lease and replaces its data; ErrLeaseLost if it is another's", func(t *T) {
			l := t.acquire("node", "a", "one")
			l.Data = []byte("new")
			if err := t.Registry.Renew(t.ctx, l); err != nil {
				t.Fatalf("Renew = %v", err)
			}
			list, err := t.Registry.Leases(t.ctx, "node")
			if err != nil || len(list) != 1 {
				t.Fatalf("Leases = %v, %v", list, err)
			}
			t.equal("a renewed lease", list[0], l)
			for what, wrong := range map[string]ax.Lease{
				"a lease that is free":           {Class: "node", Name: "b", Holder: "one", Token: l.Token, TTL: ttl},
				"an older token":                 {Class: "node", Name: "a", Holder: "one", Token: ax.Token{Era: l.Token.Era, Revision: l.Token.Revision - 1}, TTL: ttl},
				"a token that was never granted": {Class: "node", Name: "a", Holder: "one", Token: ax.Token{Era: l.Token.Era, Revision: l.Token.Revision + 1}, TTL: ttl},
				"another era":                    {Class: "node", Name: "a", Holder: "one", Token: ax.Token{Era: l.Token.Era + 1, Revision: l.Token.Revision}, TTL: ttl},
			} {
				t.refused("Renew of "+what, t.Registry.Renew(t.ctx, wrong), ax.ErrLeaseLost)
			}
			t.held("node", "a=one")
		}},
		{"lease/release", "Release ends a lease at once; nil also if it was lost; it never ends another's", func(t *T) {
			first := t.acquire("node", "a", "one")
			if err := t.Registry.Release(t.ctx, first); err != nil {
				t.Fatalf("Release = %v", err)
			}
			t.held("node")
			t.refused("Renew after Release", t.Registry.Renew(t.ctx, first), ax.ErrLeaseLost)
			t.held("node")
			second := t.acquire("node", "a", "one")
			for range 2 {
				if err := t.Registry.Release(t.ctx, first); err != nil {
					t.Errorf("Release of a lost lease = %v, want nil", err)
				}
			}
			t.held("node", "a=one")
			if err := t.Registry.Renew(t.ctx, second); err != nil {
				t.Errorf("Renew of the present lease = %v", err)
			}
		}},
		{"lease/expiry", "the registry lets a lease go only after TTL has passed since it answered, and then it does", func(t *T) {
			t.Need(t.Advance != nil, "the clock cannot be moved")
			l := t.acquire("node", "a", "one")
			for range 5 { // renewals carry it over any number of TTLs
				t.Advance(ttl - time.Second)
				_, err := t.Registry.Acquire(t.ctx, "node", "a", "two", ttl, nil)
				t.refused("Acquire a second before the end", err, ax.ErrHeld)
				t.held("node", "a=one")
				if err := t.Registry.Renew(t.ctx, l); err != nil {
					t.Fatalf("Renew a second before the end = %v", err)
				}
			}
			t.Advance(ttl + time.Second)
			t.held("node")
			t.refused("Renew a second after the end", t.Registry.Renew(t.ctx, l), ax.ErrLeaseLost)
			t.held("node")
			next := t.acquire("node", "a", "two")
			if next.Token.Compare(l.Token) <= 0 {
				t.Errorf("the next holder's token %v after %v", next.Token, l.Token)
			}
			t.refused("Renew by the former holder", t.Registry.Renew(t.ctx, l), ax.ErrLeaseLost)
			if err := t.Registry.Release(t.ctx, l); err != nil {
				t.Errorf("Release by the former holder = %v, want nil", err)
			}
			t.held("node", "a=two")
		}},
		{"lease/expiry-acquire", "a lease that ran out is granted to whoever asks, also to the same holder", func(t *T) {
			t.Need(t.Advance != nil, "the clock cannot be moved")
			l := t.acquire("executor", "e", "same")
			t.Advance(ttl + time.Second)
			next := t.acquire("executor", "e", "same") // the token is the epoch
			if next.Token.Compare(l.Token) <= 0 {
				t.Errorf("epoch %v after %v", next.Token, l.Token)
			}
			t.refused("Renew of the old epoch", t.Registry.Renew(t.ctx, l), ax.ErrLeaseLost)
		}},
		{"lease/ttls", "every lease runs out by its own TTL", func(t *T) {
			t.Need(t.Advance != nil, "the clock cannot be moved")
			for i := 1; i <= 3; i++ {
				if _, err := t.Registry.Acquire(t.ctx, "node", fmt.Sprint(i), "x", time.Duration(i)*ttl, nil); err != nil {
					t.Fatalf("Acquire = %v", err)
				}
			}
			t.held("node", "1=x", "2=x", "3=x")
			t.Advance(ttl + time.Second)
			t.held("node", "2=x", "3=x")
			t.Advance(ttl)
			t.held("node", "3=x")
			t.Advance(ttl)
			t.held("node")
		}},
		{"lease/race", "of many that ask at once one is granted the lease", func(t *T) {
			for round := range 20 {
				var granted atomic.Int32
				var wg sync.WaitGroup
				for i := range 8 {
					wg.Go(func() {
						if _, err := t.Registry.Acquire(t.ctx, "partition", fmt.Sprint(round), fmt.Sprint(i), ttl, nil); err == nil {
							granted.Add(1)
						} else {
							t.refused("Acquire", err, ax.ErrHeld)
						}
					})
				}
				wg.Wait()
				if n := granted.Load(); n != 1 {
					t.Errorf("round %d: %d were granted the lease, want one", round, n)
				}
			}
		}},
		{"lease/reopen", "leases and documents outlive an orderly restart as far as their TTL goes; tokens grow", func(t *T) {
			t.Need(t.Reopen != nil, "the registry does not outlive its process")
			l := t.acquire("node", "a", "one")
			rev, err := t.Registry.Put(t.ctx, "job", "j", 0, []byte("body"))
			if err != nil {
				t.Fatalf("Put = %v", err)
			}
			t.Registry = t.Reopen()
			d, err := t.Registry.Document(t.ctx, "job", "j", 0)
			if err != nil || d.Revision != rev || string(d.Body) != "body" {
				t.Errorf("Document after a restart = %+v, %v, want revision %d", d, err, rev)
			}
			if next := t.acquire("node", "b", "x"); next.Token.Compare(l.Token) <= 0 {
				t.Errorf("token %v after a restart, %v before", next.Token, l.Token)
			}
			if next, err := t.Registry.Put(t.ctx, "job", "j", rev, []byte("2")); err != nil || next <= rev {
				t.Errorf("Put after a restart = %d, %v, want more than %d", next, err, rev)
			}
		}},
		{"lease/era", "a registry that was created anew starts an era above the one before: its tokens are higher", func(t *T) {
			t.Need(t.Recreate != nil, "it cannot be created anew")
			var last ax.Token
			for i := range 10 {
				last = t.acquire("node", fmt.Sprint(i), "x").Token
			}
			for range 3 {
				t.Registry = t.Recreate()
				t.held("node")
				l := t.acquire("node", "a", "x")
				if l.Token.Compare(last) <= 0 || l.Token.Era <= last.Era {
					t.Errorf("token %v of the new registry, %v of the one before", l.Token, last)
				}
				last = l.Token
			}
		}},
		{"lease/exclusive", "the Era of an ax.Exclusive is that of all its tokens, and the next opening has a higher one", func(t *T) {
			_, exclusive := t.Registry.(ax.Exclusive)
			t.Need(exclusive, "the registry is no ax.Exclusive")
			var last uint32
			for round := range 3 {
				only, ok := t.Registry.(ax.Exclusive)
				if !ok {
					t.Fatalf("opened again, the registry is no ax.Exclusive: %T", t.Registry)
				}
				era := only.Era()
				for i := range 3 {
					if l := t.acquire("node", fmt.Sprint(round, i), "x"); l.Token.Era != era {
						t.Errorf("opening %d is of era %d and granted token %v of era %d", round, era, l.Token, l.Token.Era)
					}
				}
				if now := only.Era(); era == 0 || era <= last || now != era {
					t.Errorf("the era of opening %d is %d, then %d; that of the one before was %d", round, era, now, last)
				}
				last = era
				switch {
				case t.Reopen != nil:
					t.Registry = t.Reopen()
				case t.Recreate != nil:
					t.Registry = t.Recreate()
				default:
					return
				}
			}
		}},
		{"lease/canceled", "with a context that has ended nothing is granted", func(t *T) {
			gone, cancel := context.WithCancel(t.ctx)
			cancel()
			_, err := t.Registry.Acquire(gone, "node", "a", "one", ttl, nil)
			t.refused("Acquire", err, context.Canceled)
			_, err = t.Registry.Put(gone, "job", "a", 0, []byte("x"))
			t.refused("Put", err, context.Canceled)
			t.held("node")
			_, err = t.Registry.Document(t.ctx, "job", "a", 0)
			t.refused("Document", err, ax.ErrNoDoc)
		}},
	}
}
