package memory_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/memory"
)

var ctx = context.Background()

// owner opens partition 0 and applies batches one after another.
type owner struct {
	t      *testing.T
	b      *memory.Backend
	token  ax.Token
	number uint64
}

func own(t *testing.T, cfg memory.Config) *owner {
	o := &owner{t: t, b: memory.New(cfg), token: ax.Token{Era: 1, Revision: 1}}
	if _, err := o.b.Open(ctx, 0, o.token); err != nil {
		t.Fatal(err)
	}
	return o
}

func (o *owner) apply(b ax.Batch) error {
	b.Token, b.Number = o.token, o.number+1
	err := o.b.Apply(ctx, []*ax.Batch{&b})[0]
	if err == nil {
		o.number++
	}
	return err
}

func tasks(from, n int) (list []*ax.Task) {
	for i := range n {
		list = append(list, &ax.Task{ID: fmt.Sprintf("t%03d", from+i), Kind: "k", State: ax.Scheduled, Run: 1, At: ax.Time((from + i) % 7)})
	}
	return list
}

func TestCapacity(t *testing.T) {
	o := own(t, memory.Config{Capacity: 10})
	for _, step := range []struct {
		name string
		b    ax.Batch
		want error
	}{
		{"up to the bound", ax.Batch{Create: tasks(0, 10)}, nil},
		{"beyond it", ax.Batch{Create: tasks(10, 1), Jobs: []ax.JobState{{UID: "j"}}}, ax.ErrNoSpace},
		{"moves of what is there", ax.Batch{Move: tasks(0, 10)}, nil},
		{"one in the place of another", ax.Batch{Delete: []string{"t000"}, Create: tasks(10, 1)}, nil},
		{"one finished for another", ax.Batch{Finish: []*ax.Task{{ID: "t001", Run: 1, State: ax.Success}}, Create: tasks(1, 1)}, nil},
		{"two for one", ax.Batch{Delete: []string{"t002"}, Create: tasks(20, 2)}, ax.ErrNoSpace},
		{"a replacement", ax.Batch{Create: tasks(5, 1)}, nil},
		{"records", ax.Batch{Remember: []*ax.IDRecord{{ID: "r"}}, Facts: []ax.Fact{{ID: "f"}}}, nil},
	} {
		if err := o.apply(step.b); !errors.Is(err, step.want) {
			t.Errorf("%s: %v, want %v", step.name, err, step.want)
		}
	}
	page, err := o.b.Scan(ctx, ax.ScanRequest{Token: o.token, Index: ax.IndexDue})
	if err != nil || len(page.Tasks) != 10 {
		t.Errorf("%d live tasks, %v, want 10", len(page.Tasks), err)
	}
	if jobs, _ := o.b.Scan(ctx, ax.ScanRequest{Token: o.token, Index: ax.IndexJobs}); len(jobs.Jobs) != 0 {
		t.Error("the refused batch left a job behind")
	}
}

func TestInboxFull(t *testing.T) {
	o := own(t, memory.Config{Inbox: 3})
	entry := func(id string) ax.Entry { return ax.Entry{ID: id, Verb: ax.VerbCancel} }
	submit := func(want error, ids ...string) {
		t.Helper()
		var list []ax.Entry
		for _, id := range ids {
			list = append(list, entry(id))
		}
		answers, err := o.b.Submit(ctx, 0, list)
		if !errors.Is(err, want) || err != nil && answers != nil {
			t.Errorf("Submit(%q) = %v, %v, want %v", ids, answers, err, want)
		}
	}
	submit(nil, "a", "b")
	submit(ax.ErrFull, "c", "d") // all of them or none
	submit(nil, "c", "a")
	submit(nil, "a", "b", "c") // nothing new
	submit(ax.ErrFull, "d")
	if err := o.apply(ax.Batch{Admit: []string{"b"}}); err != nil {
		t.Fatal(err)
	}
	submit(nil, "d")
}

// TestDeterministic does the same with two Backends, which have different seeds, and reads the same from both.
func TestDeterministic(t *testing.T) {
	run := func() (log []string) {
		o := own(t, memory.Config{Now: newClock().Now, Keep: 50})
		note := func(v ...any) { log = append(log, fmt.Sprintf("%+v", v)) }
		for i := range 40 {
			b := ax.Batch{Create: tasks(i*10, 10), Facts: []ax.Fact{{ID: fmt.Sprint("f", i*7%40)}}, Jobs: []ax.JobState{{UID: fmt.Sprint("j", i*7%40)}}}
			for _, a := range tasks(i*10, 10) {
				b.Remember = append(b.Remember, &ax.IDRecord{ID: a.ID, State: ax.Success, Ended: a.At, Until: 10})
				b.Finish = append(b.Finish, &ax.Task{ID: a.ID, Run: 9, State: ax.Success, At: a.At})
			}
			note(o.apply(b))
			_, err := o.b.Submit(ctx, 0, []ax.Entry{{ID: fmt.Sprint("e", i*7%40)}})
			note(err)
		}
		for class := range 5 {
			for name := range 5 {
				l, err := o.b.Acquire(ctx, fmt.Sprint("c", class), fmt.Sprint("n", name*2%5), "h", time.Minute, nil)
				note(l, err)
				rev, err := o.b.Put(ctx, fmt.Sprint("c", class), fmt.Sprint("n", name*2%5), 0, []byte("x"))
				note(rev, err)
			}
			list, err := o.b.Leases(ctx, fmt.Sprint("c", class))
			note(list, err)
			docs, err := o.b.Documents(ctx, fmt.Sprint("c", class), "", "", 0)
			note(docs, err)
		}
		note(o.b.Prune(ctx, 0, o.token, 5, 33))
		for i := ax.IndexDue; i <= ax.IndexFacts; i++ {
			req := ax.ScanRequest{Token: o.token, Index: i, Limit: 7}
			for more := true; more; more = req.From != "" {
				page, err := o.b.Scan(ctx, req)
				for _, r := range page.IDs {
					note(*r)
				}
				page.IDs = nil
				note(page, err)
				req.From = page.Next
			}
		}
		page, err := o.b.Archive().Query(ctx, ax.Query{})
		note(page, err)
		return log
	}
	if a, b := run(), run(); !reflect.DeepEqual(a, b) {
		for i := range a {
			if a[i] != b[i] {
				t.Fatalf("step %d:\n%s\n%s", i, a[i], b[i])
			}
		}
	}
}

// TestEras: a Backend made later grants higher tokens, even in the same second.
func TestEras(t *testing.T) {
	c := newClock()
	last := ax.Token{}
	for _, d := range []time.Duration{0, time.Nanosecond * 50, time.Millisecond, time.Second} {
		c.Advance(d)
		b := memory.New(memory.Config{Now: c.Now})
		for i := range 10 {
			l, err := b.Acquire(ctx, "node", fmt.Sprint(i), "h", time.Minute, nil)
			if err != nil || l.Token.Compare(last) <= 0 {
				t.Errorf("%v after %v: token %v, %v", l.Token, last, l.Token, err)
			}
			last = l.Token
		}
	}
}

// TestWatchEnds: the goroutine of a watch ends with its context and with Close, received from or not. A bubble fails if
// one is left.
func TestWatchEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(memory.Config{})
		one, cancel := context.WithCancel(ctx)
		var all []<-chan string
		for _, c := range []context.Context{one, one, ctx, ctx} {
			w, err := b.Watch(c)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, w)
			if _, err := b.WatchInbox(c, 0); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 3 {
			if _, err := b.Put(ctx, fmt.Sprint("class", i), "x", 0, []byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		<-all[0]
		<-all[2]
		cancel()
		synctest.Wait()
		if _, open := <-all[1]; open {
			t.Error("a watch whose context ended still sends")
		}
		if _, open := <-all[3]; !open {
			t.Error("the end of one watch ended another")
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for i, w := range all {
			if _, open := <-w; open {
				t.Errorf("watch %d still sends after Close", i)
			}
		}
		if _, err := b.Watch(ctx); !errors.Is(err, ax.ErrClosed) {
			t.Errorf("Watch after Close = %v, want ErrClosed", err)
		}
		if _, err := b.Acquire(ctx, "node", "a", "h", time.Minute, nil); !errors.Is(err, ax.ErrClosed) {
			t.Errorf("Acquire after Close = %v, want ErrClosed", err)
		}
	})
}

// TestShared: tasks, records and instances are kept as they are handed in, not copied.
func TestShared(t *testing.T) {
	o := own(t, memory.Config{})
	a, r, in := tasks(0, 1)[0], &ax.IDRecord{ID: "r"}, &ax.Instance{ID: "i"}
	if err := o.apply(ax.Batch{Create: []*ax.Task{a}, Remember: []*ax.IDRecord{r}, Instances: []*ax.Instance{in}}); err != nil {
		t.Fatal(err)
	}
	scan := func(i ax.Index) ax.Page {
		page, err := o.b.Scan(ctx, ax.ScanRequest{Token: o.token, Index: i})
		if err != nil {
			t.Fatal(err)
		}
		return page
	}
	got, err := o.b.Get(ctx, a.ID)
	if err != nil || got != a || scan(ax.IndexDue).Tasks[0] != a || scan(ax.IndexIDs).IDs[0] != r || scan(ax.IndexInstances).Instances[0] != in {
		t.Error("a value that was handed in came back as a copy")
	}
}
