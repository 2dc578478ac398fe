package archivetest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/axsched/ax"
	"github.com/axsched/ax/archivetest"
	"github.com/axsched/ax/memory"
)

// broken is a good archive with some methods replaced.
type broken struct {
	append func(context.Context, []*ax.Task, []ax.Fact) error
	get    func(context.Context, string) ([]*ax.Task, []ax.Fact, error)
	query  func(context.Context, ax.Query) (ax.Archived, error)
	prune  func(context.Context, ax.Time, int) (int, error)
	good   *memory.Archive
}

func (b *broken) Append(ctx context.Context, tasks []*ax.Task, facts []ax.Fact) error {
	return b.append(ctx, tasks, facts)
}
func (b *broken) Get(ctx context.Context, id string) ([]*ax.Task, []ax.Fact, error) {
	return b.get(ctx, id)
}
func (b *broken) Query(ctx context.Context, q ax.Query) (ax.Archived, error) { return b.query(ctx, q) }
func (b *broken) Prune(ctx context.Context, before ax.Time, keep int) (int, error) {
	return b.prune(ctx, before, keep)
}

// whole returns a broken archive in which nothing is broken yet.
func whole() *broken {
	m := memory.NewArchive(100_000)
	return &broken{m.Append, m.Get, m.Query, m.Prune, m}
}

// asks rewrites every query.
func (b *broken) asks(change func(*ax.Query)) {
	b.query = func(ctx context.Context, q ax.Query) (ax.Archived, error) {
		change(&q)
		return b.good.Query(ctx, q)
	}
}

// pages rewrites every page.
func (b *broken) pages(change func(ax.Query, *ax.Archived)) {
	b.query = func(ctx context.Context, q ax.Query) (ax.Archived, error) {
		page, err := b.good.Query(ctx, q)
		change(q, &page)
		return page, err
	}
}

// gets rewrites what Get returns.
func (b *broken) gets(change func([]*ax.Task, []ax.Fact) ([]*ax.Task, []ax.Fact)) {
	b.get = func(ctx context.Context, id string) ([]*ax.Task, []ax.Fact, error) {
		tasks, facts, err := b.good.Get(ctx, id)
		tasks, facts = change(tasks, facts)
		return tasks, facts, err
	}
}

// tasks rewrites every task on its way in.
func (b *broken) tasks(change func(*ax.Task)) {
	b.append = func(ctx context.Context, tasks []*ax.Task, facts []ax.Fact) error {
		tasks = slices.Clone(tasks)
		for i, t := range tasks {
			c := *t
			change(&c)
			tasks[i] = &c
		}
		return b.good.Append(ctx, tasks, facts)
	}
}

// mutants are the ways in which an archive is broken; each must be noticed.
var mutants = map[string]func(*broken){
	"one record per id": func(b *broken) {
		b.gets(func(t []*ax.Task, f []ax.Fact) ([]*ax.Task, []ax.Fact) { return t[:min(1, len(t))], f })
	},
	"runs oldest first": func(b *broken) {
		b.gets(func(t []*ax.Task, f []ax.Fact) ([]*ax.Task, []ax.Fact) { slices.Reverse(t); return t, f })
	},
	"facts newest first": func(b *broken) {
		b.gets(func(t []*ax.Task, f []ax.Fact) ([]*ax.Task, []ax.Fact) { slices.Reverse(f); return t, f })
	},
	"facts only with their task": func(b *broken) {
		b.get = func(ctx context.Context, id string) ([]*ax.Task, []ax.Fact, error) {
			tasks, facts, err := b.good.Get(ctx, id)
			if err == nil && tasks == nil {
				return nil, nil, ax.ErrNoTask
			}
			return tasks, facts, err
		}
	},
	"facts are lost": func(b *broken) {
		b.append = func(ctx context.Context, tasks []*ax.Task, _ []ax.Fact) error { return b.good.Append(ctx, tasks, nil) }
	},
	"a repeated fact is there twice": func(b *broken) {
		n := 0
		b.append = func(ctx context.Context, tasks []*ax.Task, facts []ax.Fact) error {
			facts = slices.Clone(facts)
			for i := range facts {
				n++
				facts[i].ID += strings.Repeat("'", n)
			}
			return b.good.Append(ctx, tasks, facts)
		}
	},
	"an unknown id is empty": func(b *broken) {
		b.get = func(ctx context.Context, id string) ([]*ax.Task, []ax.Fact, error) {
			t, f, err := b.good.Get(ctx, id)
			if errors.Is(err, ax.ErrNoTask) {
				err = nil
			}
			return t, f, err
		}
	},
	"live tasks are archived": func(b *broken) {
		b.tasks(func(t *ax.Task) {
			if !t.State.Terminal() {
				t.State = ax.Success
			}
		})
	},
	"attempts are lost": func(b *broken) {
		b.tasks(func(t *ax.Task) {
			if t.Last != nil {
				last := *t.Last
				last.Prev, t.Last = nil, &last
			}
		})
	},
	"payloads end at NUL": func(b *broken) {
		b.tasks(func(t *ax.Task) { s, _, _ := strings.Cut(string(t.Payload), "\x00"); t.Payload = []byte(s) })
	},
	"times are milliseconds":        func(b *broken) { b.tasks(func(t *ax.Task) { t.At -= t.At % 1000 }) },
	"the job is not looked at":      func(b *broken) { b.asks(func(q *ax.Query) { q.Job = "" }) },
	"the kind is not looked at":     func(b *broken) { b.asks(func(q *ax.Query) { q.Kind = "" }) },
	"the executor is not looked at": func(b *broken) { b.asks(func(q *ax.Query) { q.Executor = "" }) },
	"the prefix is not looked at":   func(b *broken) { b.asks(func(q *ax.Query) { q.Prefix = "" }) },
	"the state is not looked at":    func(b *broken) { b.asks(func(q *ax.Query) { q.State = 0 }) },
	"From is not looked at":         func(b *broken) { b.asks(func(q *ax.Query) { q.From = 0 }) },
	"To is not looked at":           func(b *broken) { b.asks(func(q *ax.Query) { q.To = 0 }) },
	"From is exclusive": func(b *broken) {
		b.asks(func(q *ax.Query) {
			if q.From != 0 {
				q.From++
			}
		})
	},
	"To is inclusive": func(b *broken) {
		b.asks(func(q *ax.Query) {
			if q.To != 0 {
				q.To++
			}
		})
	},
	"prefixes are patterns": func(b *broken) {
		b.asks(func(q *ax.Query) { q.Prefix = strings.TrimRight(q.Prefix, "%_*") })
	},
	"prefixes in any case": func(b *broken) { b.asks(func(q *ax.Query) { q.Prefix = strings.ToLower(q.Prefix) }) },
	"a job is a prefix of ids": func(b *broken) {
		b.asks(func(q *ax.Query) {
			if q.Job != "" && q.Prefix == "" {
				q.Job, q.Prefix = "", q.Job
			}
		})
	},
	"oldest first":            func(b *broken) { b.pages(func(_ ax.Query, p *ax.Archived) { slices.Reverse(p.Tasks) }) },
	"no page after the first": func(b *broken) { b.pages(func(_ ax.Query, p *ax.Archived) { p.Next = "" }) },
	"an empty page at the end": func(b *broken) {
		b.query = func(ctx context.Context, q ax.Query) (ax.Archived, error) {
			if q.Page == "0/0/end" {
				return ax.Archived{}, nil
			}
			p, err := b.good.Query(ctx, q)
			if p.Next == "" && len(p.Tasks) == q.Limit {
				p.Next = "0/0/end"
			}
			return p, err
		}
	},
	"pages by offset": func(b *broken) {
		b.query = func(ctx context.Context, q ax.Query) (ax.Archived, error) {
			limit := q.Limit
			if limit == 0 || limit > 1000 {
				return b.good.Query(ctx, q)
			}
			skip := strings.Count(q.Page, "x")
			if skip != len(q.Page) {
				return ax.Archived{}, ax.ErrInvalid
			}
			var all []*ax.Task
			q.Page, q.Limit = "", 1000
			for {
				p, err := b.good.Query(ctx, q)
				if err != nil {
					return p, err
				}
				all = append(all, p.Tasks...)
				if q.Page = p.Next; q.Page == "" {
					break
				}
			}
			page := ax.Archived{Tasks: all[min(skip, len(all)):min(skip+limit, len(all))]}
			if skip+limit < len(all) {
				page.Next = strings.Repeat("x", skip+limit)
			}
			return page, nil
		}
	},
	"pages by time alone": func(b *broken) {
		b.asks(func(q *ax.Query) {
			if at, _, found := strings.Cut(q.Page, "/"); found {
				q.Page = at + "/0/\xff\xff"
			}
		})
	},
	"pages forget the run": func(b *broken) {
		b.asks(func(q *ax.Query) {
			if at, rest, found := strings.Cut(q.Page, "/"); found {
				_, id, _ := strings.Cut(rest, "/")
				q.Page = at + "/-1/" + id
			}
		})
	},
	"the limit is not bounded": func(b *broken) {
		b.query = func(ctx context.Context, q ax.Query) (ax.Archived, error) {
			p, err := b.good.Query(ctx, q)
			if q.Limit > 1000 && p.Next != "" {
				q.Page = p.Next
				more, _ := b.good.Query(ctx, q)
				p.Tasks = append(p.Tasks, more.Tasks...)
			}
			return p, err
		}
	},
	"any page begins anew": func(b *broken) {
		b.query = func(ctx context.Context, q ax.Query) (ax.Archived, error) {
			p, err := b.good.Query(ctx, q)
			if errors.Is(err, ax.ErrInvalid) {
				q.Page = ""
				return b.good.Query(ctx, q)
			}
			return p, err
		}
	},
	"Prune ignores the instant": func(b *broken) {
		b.prune = func(ctx context.Context, _ ax.Time, keep int) (int, error) { return b.good.Prune(ctx, 0, keep) }
	},
	"Prune at the instant too": func(b *broken) {
		b.prune = func(ctx context.Context, before ax.Time, keep int) (int, error) {
			return b.good.Prune(ctx, before+1, keep)
		}
	},
	"Prune ignores keep": func(b *broken) {
		b.prune = func(ctx context.Context, before ax.Time, _ int) (int, error) { return b.good.Prune(ctx, before, 0) }
	},
	"keep 0 keeps nothing": func(b *broken) {
		b.prune = func(ctx context.Context, before ax.Time, keep int) (int, error) {
			if keep == 0 {
				before = 1 << 62
			}
			return b.good.Prune(ctx, before, keep)
		}
	},
	"Prune counts wrongly": func(b *broken) {
		b.prune = func(ctx context.Context, before ax.Time, keep int) (int, error) {
			n, err := b.good.Prune(ctx, before, keep)
			return min(n, 1), err
		}
	},
	"Prune leaves the facts": func(b *broken) {
		var mu sync.Mutex
		var all []ax.Fact // guarded by mu
		b.append = func(ctx context.Context, tasks []*ax.Task, facts []ax.Fact) error {
			mu.Lock()
			all = append(all, facts...)
			mu.Unlock()
			return b.good.Append(ctx, tasks, facts)
		}
		b.prune = func(ctx context.Context, before ax.Time, keep int) (int, error) {
			n, err := b.good.Prune(ctx, before, keep)
			mu.Lock()
			defer mu.Unlock()
			return n, errors.Join(err, b.good.Append(ctx, nil, all))
		}
	},
	"the context is ignored": func(b *broken) {
		b.append = func(ctx context.Context, tasks []*ax.Task, facts []ax.Fact) error {
			return b.good.Append(context.WithoutCancel(ctx), tasks, facts)
		}
	},
}

func TestMutants(t *testing.T) {
	caught := 0
	for name, breaks := range mutants {
		t.Run(name, func(t *testing.T) {
			for _, c := range archivetest.Cases() {
				b := whole()
				breaks(b)
				if failures, _ := archivetest.Check(c, archivetest.Harness{Archive: b}); len(failures) > 0 {
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

// TestReopen runs the suite with a harness that has everything.
func TestReopen(t *testing.T) {
	archivetest.Run(t, func(t *testing.T) archivetest.Harness {
		a := memory.NewArchive(100_000)
		return archivetest.Harness{Archive: a, Reopen: func() ax.Archive { return a }}
	})
}

// TestNames keeps case names usable as subtests and every contract sentence present.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range archivetest.Cases() {
		if seen[c.Name] || c.Name == "" || strings.ContainsAny(c.Name, " \t") || len(c.Contract) < 20 {
			t.Errorf("case %q, contract %q: want a name of its own without spaces, and a sentence", c.Name, c.Contract)
		}
		seen[c.Name] = true
	}
}
