package registrytest

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/axsched/ax"
)

// put writes a document and ends the case if it is refused.
func (t *T) put(class, name string, rev int64, body []byte) int64 {
	next, err := t.Registry.Put(t.ctx, class, name, rev, body)
	if err != nil {
		t.Fatalf("Put(%s/%s at %d) = %v", class, name, rev, err)
	}
	return next
}

// names lists the documents of a class from after, one page.
func (t *T) names(class, after string, limit int) (list []string) {
	docs, err := t.Registry.Documents(t.ctx, class, "", after, limit)
	if err != nil {
		t.Fatalf("Documents(%s) = %v", class, err)
	}
	for _, d := range docs {
		list = append(list, d.Name)
	}
	return list
}

// shows checks a document: its present revision if rev is 0.
func (t *T) shows(class, name string, rev int64, want ax.Document) {
	got, err := t.Registry.Document(t.ctx, class, name, rev)
	if err != nil {
		t.Errorf("Document(%s/%s at %d) = %v", class, name, rev, err)
		return
	}
	if got.Class != class || got.Name != name || got.Revision != want.Revision || !bytes.Equal(got.Body, want.Body) || (got.Body == nil) != (want.Body == nil) {
		t.Errorf("Document(%s/%s at %d) = %d %q, want %d %q", class, name, rev, got.Revision, got.Body, want.Revision, want.Body)
	}
	if got.Changed == 0 {
		t.Errorf("Document(%s/%s at %d) does not say when it was changed", class, name, rev)
	}
}

func (t *T) absent(class, name string, rev int64) {
	d, err := t.Registry.Document(t.ctx, class, name, rev)
	if err == nil {
		err = fmt.Errorf("%+v", d)
	}
	t.refused(fmt.Sprintf("Document(%s/%s at %d)", class, name, rev), err, ax.ErrNoDoc)
}

func documentCases() []Case {
	return []Case{
		{"document/put", "Put writes a document if its present revision is rev, 0 for one that must not exist; ErrRevision otherwise", func(t *T) {
			t.absent("job", "a", 0)
			one := t.put("job", "a", 0, []byte("1"))
			refused := func(rev int64) {
				_, err := t.Registry.Put(t.ctx, "job", "a", rev, []byte("wrong"))
				t.refused(fmt.Sprint("Put at ", rev), err, ax.ErrRevision)
			}
			refused(0)
			refused(one + 1)
			refused(one - 1)
			two := t.put("job", "a", one, []byte("2"))
			refused(one)
			refused(0)
			t.shows("job", "a", 0, ax.Document{Revision: two, Body: []byte("2")})
			_, err := t.Registry.Put(t.ctx, "job", "b", one, []byte("x"))
			t.refused("Put of a new document at a revision", err, ax.ErrRevision)
			t.absent("job", "b", 0)
		}},
		{"document/revision", "a revision is higher than any before in the registry, of whatever document", func(t *T) {
			last := int64(0)
			for i := range 12 {
				name := fmt.Sprint("d", i%3)
				d, err := t.Registry.Document(t.ctx, "job", name, 0)
				if err != nil {
					d.Revision = 0
				}
				next := t.put("job", name, d.Revision, []byte("x"))
				if next <= last {
					t.Errorf("revision %d after %d", next, last)
				}
				last = next
				if i%4 == 3 {
					t.acquire("node", fmt.Sprint(i), "x")
				}
			}
		}},
		{"document/body", "a body comes back byte for byte, an empty one is no deletion, and its bytes are the caller's", func(t *T) {
			every := make([]byte, 64<<10)
			for i := range every {
				every[i] = byte(i)
			}
			for i, body := range [][]byte{{}, {0}, every, []byte("a\xff\xfe")} {
				name := fmt.Sprint("d", i)
				rev := t.put("setting", name, 0, body)
				want := bytes.Clone(body)
				if len(body) > 0 {
					body[0]++
				}
				t.shows("setting", name, 0, ax.Document{Revision: rev, Body: want})
				d, err := t.Registry.Document(t.ctx, "setting", name, 0)
				if err == nil && len(d.Body) > 0 {
					d.Body[0]++
				}
				t.shows("setting", name, 0, ax.Document{Revision: rev, Body: want})
			}
			if got := t.names("setting", "", 0); len(got) != 4 {
				t.Errorf("Documents lists %q, want all four", got)
			}
		}},
		{"document/history", "Document returns any earlier revision; Documents with a name lists them newest first, deleted ones included", func(t *T) {
			one := t.put("job", "a", 0, []byte("1"))
			other := t.put("job", "b", 0, []byte("other"))
			two := t.put("job", "a", one, []byte("2"))
			gone := t.put("job", "a", two, nil)
			three := t.put("job", "a", 0, []byte("3"))
			t.shows("job", "a", one, ax.Document{Revision: one, Body: []byte("1")})
			t.shows("job", "a", two, ax.Document{Revision: two, Body: []byte("2")})
			t.shows("job", "a", gone, ax.Document{Revision: gone})
			t.shows("job", "a", 0, ax.Document{Revision: three, Body: []byte("3")})
			t.absent("job", "a", other)
			t.absent("job", "a", three+1)
			docs, err := t.Registry.Documents(t.ctx, "job", "a", "", 0)
			var got []string
			for _, d := range docs {
				got = append(got, fmt.Sprint(d.Revision, string(d.Body), d.Body == nil, d.Name))
			}
			want := []string{fmt.Sprint(three, "3", false, "a"), fmt.Sprint(gone, "", true, "a"), fmt.Sprint(two, "2", false, "a"), fmt.Sprint(one, "1", false, "a")}
			if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("the revisions of a document: %q, %v, want %q", got, err, want)
			}
			docs, err = t.Registry.Documents(t.ctx, "job", "a", "", 2)
			if err != nil || len(docs) != 2 || docs[0].Revision != three {
				t.Errorf("the two newest revisions: %v, %v", docs, err)
			}
		}},
		{"document/delete", "a nil body deletes a document under the same condition; its history stays", func(t *T) {
			one := t.put("job", "a", 0, []byte("1"))
			_, err := t.Registry.Put(t.ctx, "job", "a", one+1, nil)
			t.refused("a deletion at another revision", err, ax.ErrRevision)
			gone := t.put("job", "a", one, nil)
			t.absent("job", "a", 0)
			if got := t.names("job", "", 0); len(got) != 0 {
				t.Errorf("Documents lists %q after the deletion", got)
			}
			for _, rev := range []int64{one, gone} {
				_, err = t.Registry.Put(t.ctx, "job", "a", rev, []byte("x"))
				t.refused("Put of a deleted document at a revision", err, ax.ErrRevision)
			}
			two := t.put("job", "a", 0, []byte("2"))
			if two <= gone {
				t.Errorf("revision %d after the deletion %d", two, gone)
			}
			t.shows("job", "a", one, ax.Document{Revision: one, Body: []byte("1")})
		}},
		{"document/list", "Documents lists a class by name, from the first name above after, at most limit, without deleted ones", func(t *T) {
			var want []string
			for i := range 25 {
				name := fmt.Sprintf("d%02d", (i*7)%25)
				rev := t.put("job", name, 0, []byte("x"))
				if i%5 == 0 {
					t.put("job", name, rev, nil)
				}
			}
			for i := range 25 {
				if (i*18)%25%5 != 0 { // 18 undoes 7 among 25
					want = append(want, fmt.Sprintf("d%02d", i))
				}
			}
			t.put("jobs", "x", 0, []byte("x"))
			t.put("calendar", "d00", 0, []byte("x"))
			for _, limit := range []int{1, 3, 7, 20, 21} {
				var got []string
				for after := ""; len(got) <= 25; {
					page := t.names("job", after, limit)
					if len(page) > limit {
						t.Errorf("limit %d: a page of %d", limit, len(page))
					}
					if len(page) == 0 {
						break
					}
					got = append(got, page...)
					after = page[len(page)-1]
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("pages of %d: %q, want %q", limit, got, want)
				}
			}
			if got := t.names("job", "d10x", 2); len(got) != 2 || got[0] <= "d10x" {
				t.Errorf("after a name that is not there: %q", got)
			}
			if got := t.names("nothing", "", 0); len(got) != 0 {
				t.Errorf("an unknown class lists %q", got)
			}
		}},
		{"document/limit", "a limit of 0 means 1000 documents", func(t *T) {
			for i := range 1001 {
				t.put("job", fmt.Sprintf("d%04d", i), 0, []byte("x"))
			}
			if got := t.names("job", "", 0); len(got) != 1000 || got[999] != "d0999" {
				t.Errorf("Documents without a limit lists %d, want 1000", len(got))
			}
		}},
		{"document/race", "of many that write at one revision one succeeds", func(t *T) {
			rev := t.put("job", "a", 0, []byte("start"))
			for round := range 20 {
				var won atomic.Int32
				var next atomic.Int64
				var wg sync.WaitGroup
				for i := range 8 {
					wg.Go(func() {
						n, err := t.Registry.Put(t.ctx, "job", "a", rev, fmt.Append(nil, round, i))
						if err == nil {
							won.Add(1)
							next.Store(n)
						} else {
							t.refused("Put", err, ax.ErrRevision)
						}
					})
				}
				wg.Wait()
				if n := won.Load(); n != 1 {
					t.Fatalf("round %d: %d writes succeeded, want one", round, n)
				}
				rev = next.Load()
			}
		}},
	}
}
