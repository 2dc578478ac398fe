package registrytest

import (
	"context"
	"fmt"

	"github.com/axsched/ax"
)

// until receives class names until the wanted ones have come, in any order, others among them.
func (t *T) until(c <-chan string, want ...string) {
	left := map[string]bool{}
	for _, w := range want {
		left[w] = true
	}
	for len(left) > 0 {
		delete(left, wait(t, c, fmt.Sprintf("the classes %v", left)))
	}
}

// quiet receives what is there already, by making changes of its own and reading up to them: the second can only be sent
// after whatever was to be sent when the first one came.
func (t *T) quiet(c <-chan string, mark string) (seen []string) {
	for round := range 2 {
		t.put(mark, fmt.Sprint(round), 0, []byte("x"))
		for {
			class := wait(t, c, "the class "+mark)
			if class == mark {
				break
			}
			seen = append(seen, class)
		}
	}
	return seen
}

func (t *T) watch(ctx context.Context) <-chan string {
	c, err := t.Registry.Watch(ctx)
	if err != nil {
		t.Fatalf("Watch = %v", err)
	}
	return c
}

func watchCases() []Case {
	return []Case{
		{"watch/changes", "Watch sends the class of every change of a lease or a document", func(t *T) {
			c := t.watch(t.ctx)
			rev := t.put("job", "a", 0, []byte("1"))
			t.until(c, "job")
			rev = t.put("job", "a", rev, []byte("2"))
			t.until(c, "job")
			t.put("job", "a", rev, nil)
			t.until(c, "job")
			l := t.acquire("node", "a", "one")
			t.until(c, "node")
			l.Data = []byte("other")
			if err := t.Registry.Renew(t.ctx, l); err != nil {
				t.Fatalf("Renew = %v", err)
			}
			t.until(c, "node")
			if err := t.Registry.Release(t.ctx, l); err != nil {
				t.Fatalf("Release = %v", err)
			}
			t.until(c, "node")
		}},
		{"watch/all", "changes of one class may coalesce, none is dropped, however slow the receiver", func(t *T) {
			c := t.watch(t.ctx)
			var want []string
			for i := range 200 { // nobody receives meanwhile
				class := fmt.Sprint("class", i%50)
				t.put(class, fmt.Sprint(i), 0, []byte("x"))
				want = append(want, class)
			}
			t.until(c, want...)
			t.put("class7", "again", 0, []byte("x")) // what was sent once is sent again
			t.until(c, "class7")
		}},
		{"watch/last", "a change is never hidden by an earlier one of its class that was being sent", func(t *T) {
			c := t.watch(t.ctx)
			for i := range 100 {
				rev := t.put("job", fmt.Sprint(i), 0, []byte("x"))
				t.put("job", fmt.Sprint(i), rev, []byte("y"))
				t.until(c, "job")
			}
			t.put("last", "x", 0, []byte("x"))
			t.until(c, "last")
		}},
		{"watch/none", "a renewal that leaves the data as they are, and a change that is refused, are no changes", func(t *T) {
			l := t.acquire("node", "a", "one")
			t.put("job", "a", 0, []byte("x"))
			c := t.watch(t.ctx)
			t.quiet(c, "mark1")
			for range 10 {
				if err := t.Registry.Renew(t.ctx, l); err != nil {
					t.Fatalf("Renew = %v", err)
				}
				_, err := t.Registry.Put(t.ctx, "job", "a", 99, []byte("x"))
				t.refused("Put", err, ax.ErrRevision)
				_, err = t.Registry.Acquire(t.ctx, "node", "a", "two", ttl, nil)
				t.refused("Acquire", err, ax.ErrHeld)
			}
			for _, class := range t.quiet(c, "mark2") {
				if class == "node" || class == "job" {
					t.Errorf("a change of %q was sent, and there was none", class)
				}
			}
		}},
		{"watch/expiry", "that a lease ran out is a change too, seen at the latest when somebody asks for it", func(t *T) {
			t.Need(t.Advance != nil, "the clock cannot be moved")
			t.acquire("node", "a", "one")
			c := t.watch(t.ctx)
			t.quiet(c, "mark1")
			t.Advance(ttl + ttl)
			t.held("node")
			t.until(c, "node")
		}},
		{"watch/end", "the channel is closed when the context ends, also while nobody receives; others go on", func(t *T) {
			other := t.watch(t.ctx)
			ctx, cancel := context.WithCancel(t.ctx)
			c, idle := t.watch(ctx), t.watch(ctx)
			for i := range 50 {
				t.put(fmt.Sprint("class", i), "x", 0, []byte("x"))
			}
			wait(t, c, "a change")
			cancel()
			for _, c := range []<-chan string{c, idle} {
				for open := true; open; {
					open = closing(t, c)
				}
			}
			t.put("after", "x", 0, []byte("x"))
			t.until(other, "after", "class0", "class49")
		}},
	}
}

// closing receives once and reports whether the channel is open.
func closing(t *T, c <-chan string) bool {
	type got struct{ open bool }
	out := make(chan got, 1)
	go func() {
		_, open := <-c
		out <- got{open}
	}()
	return wait(t, out, "the channel to be closed").open
}
