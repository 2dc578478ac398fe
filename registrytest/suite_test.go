package registrytest_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/memory"
	"github.com/axsched/ax/registrytest"
)

// clock is a clock that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// broken is a good registry with some methods replaced.
type broken struct {
	*memory.Backend
	acquire   func(context.Context, string, string, string, time.Duration, []byte) (ax.Lease, error)
	renew     func(context.Context, ax.Lease) error
	release   func(context.Context, ax.Lease) error
	leases    func(context.Context, string) ([]ax.Lease, error)
	put       func(context.Context, string, string, int64, []byte) (int64, error)
	document  func(context.Context, string, string, int64) (ax.Document, error)
	documents func(context.Context, string, string, string, int) ([]ax.Document, error)
	watch     func(context.Context) (<-chan string, error)
	era       func(uint32) uint32 // of the tokens, what Era is to say
}

// exclusive is a broken registry that one process at a time can have.
type exclusive struct{ *broken }

// Era takes it from a token, for the registry of package memory does not tell it.
func (e exclusive) Era() uint32 {
	l, err := e.Backend.Acquire(context.Background(), "era", "era", "era", time.Hour, nil)
	if err != nil {
		panic(err)
	}
	if err := e.Backend.Release(context.Background(), l); err != nil {
		panic(err)
	}
	return e.era(l.Token.Era)
}

func (b *broken) Acquire(ctx context.Context, class, name, holder string, ttl time.Duration, data []byte) (ax.Lease, error) {
	return b.acquire(ctx, class, name, holder, ttl, data)
}
func (b *broken) Renew(ctx context.Context, l ax.Lease) error   { return b.renew(ctx, l) }
func (b *broken) Release(ctx context.Context, l ax.Lease) error { return b.release(ctx, l) }
func (b *broken) Leases(ctx context.Context, class string) ([]ax.Lease, error) {
	return b.leases(ctx, class)
}
func (b *broken) Put(ctx context.Context, class, name string, rev int64, body []byte) (int64, error) {
	return b.put(ctx, class, name, rev, body)
}
func (b *broken) Document(ctx context.Context, class, name string, rev int64) (ax.Document, error) {
	return b.document(ctx, class, name, rev)
}
func (b *broken) Documents(ctx context.Context, class, name, after string, limit int) ([]ax.Document, error) {
	return b.documents(ctx, class, name, after, limit)
}
func (b *broken) Watch(ctx context.Context) (<-chan string, error) { return b.watch(ctx) }

// whole returns a broken registry in which nothing is broken yet.
func whole(m *memory.Backend) *broken {
	return &broken{m, m.Acquire, m.Renew, m.Release, m.Leases, m.Put, m.Document, m.Documents, m.Watch, func(era uint32) uint32 { return era }}
}

// relay passes on what a watch sends, by way of a function that may drop or repeat.
func (b *broken) relay(pass func(class string, send func(string))) {
	b.watch = func(ctx context.Context) (<-chan string, error) {
		in, err := b.Backend.Watch(ctx)
		out := make(chan string)
		go func() {
			defer close(out)
			for class := range in {
				pass(class, func(class string) {
					select {
					case out <- class:
					case <-ctx.Done():
					}
				})
			}
		}()
		return out, err
	}
}

// mutants are the ways in which a registry is broken; each must be noticed.
var mutants = map[string]func(*broken, *clock){
	"a holder takes its own lease again": func(b *broken, _ *clock) {
		b.acquire = func(ctx context.Context, class, name, holder string, ttl time.Duration, data []byte) (ax.Lease, error) {
			l, err := b.Backend.Acquire(ctx, class, name, holder, ttl, data)
			if list, _ := b.Backend.Leases(ctx, class); errors.Is(err, ax.ErrHeld) && len(list) == 1 && list[0].Holder == holder {
				return list[0], nil
			}
			return l, err
		}
	},
	"anybody takes a lease": func(b *broken, _ *clock) {
		b.acquire = func(ctx context.Context, class, name, holder string, ttl time.Duration, data []byte) (ax.Lease, error) {
			list, _ := b.Backend.Leases(ctx, class)
			for _, l := range list {
				if l.Name == name {
					_ = b.Backend.Release(ctx, l)
				}
			}
			return b.Backend.Acquire(ctx, class, name, holder, ttl, data)
		}
	},
	"looks, and grants a moment later": func(b *broken, _ *clock) {
		b.acquire = func(ctx context.Context, class, name, holder string, ttl time.Duration, data []byte) (ax.Lease, error) {
			list, _ := b.Backend.Leases(ctx, class)
			if slices.ContainsFunc(list, func(l ax.Lease) bool { return l.Name == name }) {
				return b.Backend.Acquire(ctx, class, name, holder, ttl, data)
			}
			for range 100 { // let the others look too
				runtime.Gosched()
			}
			l, err := b.Backend.Acquire(ctx, class, name, holder, ttl, data)
			if errors.Is(err, ax.ErrHeld) {
				return ax.Lease{Class: class, Name: name, Holder: holder, TTL: ttl}, nil
			}
			return l, err
		}
	},
	"any ttl": func(b *broken, _ *clock) {
		b.acquire = func(ctx context.Context, class, name, holder string, ttl time.Duration, data []byte) (ax.Lease, error) {
			return b.Backend.Acquire(ctx, class, name, holder, max(ttl, 1), data)
		}
	},
	"class and name run together": func(b *broken, _ *clock) {
		b.acquire = func(ctx context.Context, class, name, holder string, ttl time.Duration, data []byte) (ax.Lease, error) {
			whole := class + "/" + name
			i := strings.IndexByte(whole, '/')
			return b.Backend.Acquire(ctx, whole[:i], whole[i+1:], holder, ttl, data)
		}
	},
	"one token for each name": func(b *broken, _ *clock) {
		b.acquire = func(ctx context.Context, class, name, holder string, ttl time.Duration, data []byte) (ax.Lease, error) {
			l, err := b.Backend.Acquire(ctx, class, name, holder, ttl, data)
			l.Token.Revision = min(l.Token.Revision, 2)
			return l, err
		}
	},
	"the era is always 1": func(b *broken, _ *clock) {
		b.acquire = func(ctx context.Context, class, name, holder string, ttl time.Duration, data []byte) (ax.Lease, error) {
			l, err := b.Backend.Acquire(ctx, class, name, holder, ttl, data)
			l.Token.Era = 1
			return l, err
		}
		b.leases = func(ctx context.Context, class string) ([]ax.Lease, error) {
			list, err := b.Backend.Leases(ctx, class)
			for i := range list {
				list[i].Token.Era = 1
			}
			return list, err
		}
		b.renew = func(ctx context.Context, l ax.Lease) error { return nil }
	},
	"data are lost": func(b *broken, _ *clock) {
		b.acquire = func(ctx context.Context, class, name, holder string, ttl time.Duration, data []byte) (ax.Lease, error) {
			return b.Backend.Acquire(ctx, class, name, holder, ttl, nil)
		}
	},
	"leases never run out": func(b *broken, _ *clock) {
		b.acquire = func(ctx context.Context, class, name, holder string, ttl time.Duration, data []byte) (ax.Lease, error) {
			l, err := b.Backend.Acquire(ctx, class, name, holder, max(ttl, ttl*1000), data)
			l.TTL = ttl
			return l, err
		}
		b.leases = func(ctx context.Context, class string) ([]ax.Lease, error) {
			list, err := b.Backend.Leases(ctx, class)
			for i := range list {
				list[i].TTL /= 1000
			}
			return list, err
		}
	},
	"leases run out too soon": func(b *broken, _ *clock) {
		b.acquire = func(ctx context.Context, class, name, holder string, ttl time.Duration, data []byte) (ax.Lease, error) {
			l, err := b.Backend.Acquire(ctx, class, name, holder, ttl/2, data)
			l.TTL = ttl
			return l, err
		}
		b.leases = func(ctx context.Context, class string) ([]ax.Lease, error) {
			list, err := b.Backend.Leases(ctx, class)
			for i := range list {
				list[i].TTL *= 2
			}
			return list, err
		}
	},
	"Renew does not extend": func(b *broken, _ *clock) {
		b.renew = func(ctx context.Context, l ax.Lease) error {
			list, _ := b.Backend.Leases(ctx, l.Class)
			for _, held := range list {
				if held.Name == l.Name && held.Token == l.Token && string(held.Data) == string(l.Data) {
					return nil
				}
			}
			return b.Backend.Renew(ctx, l)
		}
	},
	"Renew keeps the old data": func(b *broken, _ *clock) {
		b.renew = func(ctx context.Context, l ax.Lease) error {
			list, _ := b.Backend.Leases(ctx, l.Class)
			for _, held := range list {
				if held.Name == l.Name {
					l.Data = held.Data
				}
			}
			return b.Backend.Renew(ctx, l)
		}
	},
	"Renew takes a lease that is free": func(b *broken, _ *clock) {
		b.renew = func(ctx context.Context, l ax.Lease) error {
			err := b.Backend.Renew(ctx, l)
			if errors.Is(err, ax.ErrLeaseLost) {
				_, err2 := b.Backend.Acquire(ctx, l.Class, l.Name, l.Holder, l.TTL, l.Data)
				if err2 == nil {
					return nil
				}
			}
			return err
		}
	},
	"Renew ignores the token": func(b *broken, _ *clock) {
		b.renew = func(ctx context.Context, l ax.Lease) error {
			list, _ := b.Backend.Leases(ctx, l.Class)
			for _, held := range list {
				if held.Name == l.Name {
					l.Token, l.Holder = held.Token, held.Holder
				}
			}
			return b.Backend.Renew(ctx, l)
		}
	},
	"Release ignores the token": func(b *broken, _ *clock) {
		b.release = func(ctx context.Context, l ax.Lease) error {
			list, _ := b.Backend.Leases(ctx, l.Class)
			for _, held := range list {
				if held.Name == l.Name {
					l.Token = held.Token
				}
			}
			return b.Backend.Release(ctx, l)
		}
	},
	"Release of a lost lease fails": func(b *broken, _ *clock) {
		b.release = func(ctx context.Context, l ax.Lease) error {
			if err := b.Backend.Renew(ctx, l); err != nil {
				return err
			}
			return b.Backend.Release(ctx, l)
		}
	},
	"Release does nothing": func(b *broken, _ *clock) { b.release = func(context.Context, ax.Lease) error { return nil } },
	"Leases in any order": func(b *broken, _ *clock) {
		b.leases = func(ctx context.Context, class string) ([]ax.Lease, error) {
			list, err := b.Backend.Leases(ctx, class)
			slices.Reverse(list)
			return list, err
		}
	},
	"Put without a condition": func(b *broken, _ *clock) {
		b.put = func(ctx context.Context, class, name string, rev int64, body []byte) (int64, error) {
			d, err := b.Backend.Document(ctx, class, name, 0)
			if err != nil {
				d.Revision = 0
			}
			return b.Backend.Put(ctx, class, name, d.Revision, body)
		}
	},
	"revision 0 is any": func(b *broken, _ *clock) {
		b.put = func(ctx context.Context, class, name string, rev int64, body []byte) (int64, error) {
			if d, err := b.Backend.Document(ctx, class, name, 0); err == nil && rev == 0 {
				rev = d.Revision
			}
			return b.Backend.Put(ctx, class, name, rev, body)
		}
	},
	"an empty body deletes": func(b *broken, _ *clock) {
		b.put = func(ctx context.Context, class, name string, rev int64, body []byte) (int64, error) {
			if len(body) == 0 && rev != 0 {
				body = nil
			} else if len(body) == 0 {
				body = []byte(" ")
			}
			return b.Backend.Put(ctx, class, name, rev, body)
		}
	},
	"no history": func(b *broken, _ *clock) {
		b.document = func(ctx context.Context, class, name string, rev int64) (ax.Document, error) {
			d, err := b.Backend.Document(ctx, class, name, 0)
			if err == nil && rev != 0 && rev != d.Revision {
				return ax.Document{}, ax.ErrNoDoc
			}
			return d, err
		}
	},
	"any revision is the present one": func(b *broken, _ *clock) {
		b.document = func(ctx context.Context, class, name string, rev int64) (ax.Document, error) {
			return b.Backend.Document(ctx, class, name, 0)
		}
	},
	"a deleted document is shown": func(b *broken, _ *clock) {
		b.document = func(ctx context.Context, class, name string, rev int64) (ax.Document, error) {
			d, err := b.Backend.Document(ctx, class, name, rev)
			if list, _ := b.Backend.Documents(ctx, class, name, "", 1); err != nil && rev == 0 && len(list) > 0 {
				return list[0], nil
			}
			return d, err
		}
	},
	"a document's time is lost": func(b *broken, _ *clock) {
		b.document = func(ctx context.Context, class, name string, rev int64) (ax.Document, error) {
			d, err := b.Backend.Document(ctx, class, name, rev)
			d.Changed = 0
			return d, err
		}
	},
	"bodies are text": func(b *broken, _ *clock) {
		b.put = func(ctx context.Context, class, name string, rev int64, body []byte) (int64, error) {
			if body != nil {
				body = []byte(strings.ToValidUTF8(string(body), "?"))
			}
			return b.Backend.Put(ctx, class, name, rev, body)
		}
	},
	"revisions oldest first": func(b *broken, _ *clock) {
		b.documents = func(ctx context.Context, class, name, after string, limit int) ([]ax.Document, error) {
			list, err := b.Backend.Documents(ctx, class, name, after, limit)
			if name != "" {
				slices.Reverse(list)
			}
			return list, err
		}
	},
	"deleted revisions are left out": func(b *broken, _ *clock) {
		b.documents = func(ctx context.Context, class, name, after string, limit int) ([]ax.Document, error) {
			list, err := b.Backend.Documents(ctx, class, name, after, limit)
			return slices.DeleteFunc(list, func(d ax.Document) bool { return d.Body == nil }), err
		}
	},
	"after is inclusive": func(b *broken, _ *clock) {
		b.documents = func(ctx context.Context, class, name, after string, limit int) ([]ax.Document, error) {
			list, err := b.Backend.Documents(ctx, class, name, after, limit)
			if d, err2 := b.Backend.Document(ctx, class, after, 0); err2 == nil && after != "" && len(list) > 0 {
				list = append([]ax.Document{d}, list[:len(list)-1]...)
			}
			return list, err
		}
	},
	"the limit is ignored": func(b *broken, _ *clock) {
		b.documents = func(ctx context.Context, class, name, after string, _ int) ([]ax.Document, error) {
			return b.Backend.Documents(ctx, class, name, after, 1<<20)
		}
	},
	"classes by prefix": func(b *broken, _ *clock) {
		b.documents = func(ctx context.Context, class, name, after string, limit int) ([]ax.Document, error) {
			list, err := b.Backend.Documents(ctx, class, name, after, limit)
			more, _ := b.Backend.Documents(ctx, class+"s", name, after, limit)
			return append(list, more...), err
		}
	},
	"a change is dropped when nobody receives": func(b *broken, _ *clock) {
		b.watch = func(ctx context.Context) (<-chan string, error) {
			in, err := b.Backend.Watch(ctx)
			out := make(chan string, 1)
			go func() {
				defer close(out)
				for class := range in {
					select {
					case out <- class:
					default:
					}
				}
			}()
			return out, err
		}
	},
	"a class is sent once": func(b *broken, _ *clock) {
		seen := map[string]bool{}
		b.relay(func(class string, send func(string)) {
			if !seen[class] || strings.HasPrefix(class, "mark") {
				seen[class] = true
				send(class)
			} else {
				send("other")
			}
		})
	},
	"renewals are changes": func(b *broken, _ *clock) {
		b.renew = func(ctx context.Context, l ax.Lease) error {
			err := b.Backend.Renew(ctx, l)
			if err == nil {
				data := l.Data
				l.Data = append(slices.Clone(data), 'x')
				_ = b.Backend.Renew(ctx, l)
				l.Data = data
				_ = b.Backend.Renew(ctx, l)
			}
			return err
		}
	},
	"one watcher's end ends all": func(b *broken, _ *clock) {
		var mu sync.Mutex
		var all []context.CancelFunc
		b.watch = func(ctx context.Context) (<-chan string, error) {
			mu.Lock()
			defer mu.Unlock()
			own, cancel := context.WithCancel(context.WithoutCancel(ctx)) // ends by the loop below alone: the first watcher first
			all = append(all, cancel)
			context.AfterFunc(ctx, func() {
				mu.Lock()
				defer mu.Unlock()
				for _, c := range all {
					c()
				}
			})
			return b.Backend.Watch(own)
		}
	},
	"the era is another one": func(b *broken, _ *clock) { b.era = func(era uint32) uint32 { return era - 1 } },
	"there is no era":        func(b *broken, _ *clock) { b.era = func(uint32) uint32 { return 0 } },
	"the context is ignored": func(b *broken, _ *clock) {
		b.put = func(ctx context.Context, class, name string, rev int64, body []byte) (int64, error) {
			return b.Backend.Put(context.WithoutCancel(ctx), class, name, rev, body)
		}
	},
}

// TestMutants proves that the suite can fail: every broken registry is noticed by some case.
func TestMutants(t *testing.T) {
	caught := 0
	for name, breaks := range mutants {
		t.Run(name, func(t *testing.T) {
			for _, c := range registrytest.Cases() {
				clk := &clock{now: time.Unix(1_800_000_000, 0)}
				open := func() ax.Registry {
					m := memory.New(memory.Config{Now: clk.Now})
					t.Cleanup(func() { m.Close() })
					b := whole(m)
					breaks(b, clk)
					return exclusive{b}
				}
				failures, _ := registrytest.Check(c, registrytest.Harness{Patience: time.Second / 4, Registry: open(), Advance: clk.Advance, Recreate: func() ax.Registry {
					clk.Advance(time.Second)
					return open()
				}})
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
	for _, c := range registrytest.Cases() {
		if seen[c.Name] || c.Name == "" || strings.ContainsAny(c.Name, " \t") || len(c.Contract) < 20 {
			t.Errorf("case %q, contract %q: want a name of its own without spaces, and a sentence", c.Name, c.Contract)
		}
		seen[c.Name] = true
	}
}
