package journal_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/disk/faulty"
	"github.com/axsched/ax/journal"
)

// rig is a journal on a file system that fails when it is told to, and the owner of its one partition.
type rig struct {
	t      *testing.T
	fs     *faulty.FS
	cfg    journal.Config
	b      *journal.Backend
	token  ax.Token
	number uint64
	pause  func() // between the batches of fill: lets the housekeeper keep up with segments as small as these
}

func newRig(t *testing.T, cfg journal.Config) *rig {
	t.Helper()
	r := &rig{t: t, fs: faulty.New(), cfg: cfg}
	r.open()
	return r
}

// open opens the journal and its partition.
func (r *rig) open() {
	r.t.Helper()
	var err error
	if r.b, err = journal.Open("", r.cfg.On(r.fs, 64<<10)); err != nil {
		r.t.Fatal(err)
	}
	r.own()
}

func (r *rig) own() {
	r.t.Helper()
	l, err := r.b.Acquire(r.t.Context(), "partition", "0", "test", time.Hour, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	opened, err := r.b.Open(r.t.Context(), 0, l.Token)
	if err != nil {
		r.t.Fatal(err)
	}
	r.token, r.number = l.Token, opened.Number
}

// restart opens what a crash has left.
func (r *rig) restart(fs *faulty.FS) {
	r.t.Helper()
	r.b.Close()
	r.fs = fs
	r.open()
}

func (r *rig) batch(b ax.Batch) *ax.Batch {
	b.Token, b.Number = r.token, r.number+1
	return &b
}

// apply writes the next batch.
func (r *rig) apply(b ax.Batch) error {
	err := r.b.Apply(r.t.Context(), []*ax.Batch{r.batch(b)})[0]
	if err == nil {
		r.number++
	}
	return err
}

func (r *rig) must(b ax.Batch) {
	r.t.Helper()
	if err := r.apply(b); err != nil {
		r.t.Fatal(err)
	}
}

func task(id string) *ax.Task {
	return &ax.Task{ID: id, Kind: "k", Payload: []byte(strings.Repeat("p", 200)), Hash: 1, Seq: 1, Created: 1, Timeout: 1000, State: ax.Scheduled, Run: 1, Due: 5, At: 5}
}

func ended(t *ax.Task, at ax.Time) *ax.Task {
	c := *t
	c.State, c.At, c.Attempt = ax.Success, at, 1
	c.Last = &ax.Attempt{Run: 1, N: 1, Executor: "e", Claimed: at, Outcome: ax.OutcomeSuccess}
	return &c
}

// fill creates n tasks, in batches.
func (r *rig) fill(prefix string, n int) error {
	for i := 0; i < n; i += 20 {
		var b ax.Batch
		for k := i; k < min(n, i+20); k++ {
			b.Create = append(b.Create, task(fmt.Sprintf("%s-%05d", prefix, k)))
		}
		if err := r.apply(b); err != nil {
			return err
		}
		if r.pause != nil {
			r.pause()
		}
	}
	return nil
}

func (r *rig) live() int { return r.b.Stats().Live }

func (r *rig) is(err, want error) {
	r.t.Helper()
	if !errors.Is(err, want) {
		r.t.Errorf("got %v, want %v", err, want)
	}
}

// TestSyncFails fails one sync: the call that waits for it is told that nobody knows, everything later is refused with
// the cause, no later sync that would succeed is tried, and what was confirmed before is there after a restart.
func TestSyncFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, journal.Config{})
		synctest.Wait() // the next segment is there: its writes are not the ones to fail
		r.must(ax.Batch{Create: []*ax.Task{task("before")}})
		r.fs.FailSync(1)
		err := r.apply(ax.Batch{Create: []*ax.Task{task("unknown")}})
		r.is(err, ax.ErrUnknown)
		syncs := r.fs.Syncs()
		err = r.apply(ax.Batch{Create: []*ax.Task{task("after")}})
		r.is(err, ax.ErrClosed)
		if !strings.Contains(fmt.Sprint(err), "syncing") || !strings.Contains(fmt.Sprint(err), "opened anew") {
			t.Errorf("the error does not say what happened and what to do: %v", err)
		}
		ctx := t.Context()
		_, err = r.b.Submit(ctx, 0, []ax.Entry{{ID: "e", Verb: ax.VerbCancel, Target: "x"}})
		r.is(err, ax.ErrClosed)
		_, err = r.b.Open(ctx, 0, r.token)
		r.is(err, ax.ErrClosed)
		_, err = r.b.Get(ctx, "before")
		r.is(err, ax.ErrClosed)
		_, err = r.b.Put(ctx, "job", "j", 0, []byte("x"))
		r.is(err, ax.ErrClosed)
		r.is(r.b.Archive().Append(ctx, nil, []ax.Fact{{ID: "f"}}), ax.ErrClosed)
		if r.fs.Syncs() != syncs {
			t.Error("a sync was tried again after one had failed")
		}
		r.restart(r.fs.PowerCut(rand.New(rand.NewPCG(1, 1))))
		if _, err := r.b.Get(ctx, "before"); err != nil {
			t.Errorf("what was confirmed: %v", err)
		}
		if _, err := r.b.Get(ctx, "after"); !errors.Is(err, ax.ErrNoTask) {
			t.Errorf("what was refused: %v", err)
		}
		r.b.Close()
	})
}

// TestReopenAfterFailedSync opens the directory again after a sync has failed: what is read then may be in the system's
// cache only, which takes it for written. It is told to others from then on, and so must be on the disk.
func TestReopenAfterFailedSync(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, journal.Config{})
			synctest.Wait()
			r.must(ax.Batch{Create: []*ax.Task{task("a")}})
			r.fs.FailSync(1)
			r.is(r.apply(ax.Batch{Create: []*ax.Task{task("b")}}), ax.ErrUnknown)
			r.restart(r.fs.Kill())
			live := r.live() // b is there, by the cache
			r.must(ax.Batch{Create: []*ax.Task{task("c")}})
			r.restart(r.fs.PowerCut(rand.New(rand.NewPCG(seed, 4))))
			if n := r.live(); n != live+1 {
				t.Errorf("seed %d: %d tasks after the power cut, want %d", seed, n, live+1)
			}
			r.b.Close()
		})
	}
}

// TestWriteFails fails one write with EIO: the journal stops.
func TestWriteFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, journal.Config{})
		synctest.Wait() // the next segment is there: its writes are not the ones to fail
		r.must(ax.Batch{Create: []*ax.Task{task("before")}})
		r.fs.FailWrite(1)
		r.is(r.apply(ax.Batch{Create: []*ax.Task{task("x")}}), ax.ErrClosed)
		r.is(r.apply(ax.Batch{Create: []*ax.Task{task("x")}}), ax.ErrClosed)
		r.restart(r.fs.Kill())
		if n := r.live(); n != 1 {
			t.Errorf("%d tasks after the restart, want 1", n)
		}
		r.b.Close()
	})
}

// TestReadFails fails one read: the call says so, and nothing else is harmed.
func TestReadFails(t *testing.T) {
	r := newRig(t, journal.Config{})
	defer r.b.Close()
	r.must(ax.Batch{Create: []*ax.Task{task("a")}})
	r.fs.FailRead(1)
	if _, err := r.b.Get(t.Context(), "a"); err == nil || errors.Is(err, ax.ErrNoTask) || !strings.Contains(err.Error(), "0000000001.log") {
		t.Errorf("a read that failed: %v", err)
	}
	if got, err := r.b.Get(t.Context(), "a"); err != nil || got.ID != "a" {
		t.Errorf("the next read: %v, %v", got, err)
	}
}

// TestDiskFull fills the disk: submissions and batches that create are refused before the log itself is full, settling
// goes on, and when there is room again so does everything.
func TestDiskFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, journal.Config{})
		synctest.Wait() // the next segment is there
		r.pause = synctest.Wait
		if err := r.b.Room(); err != nil {
			t.Fatal(err)
		}
		r.fs.Space(r.fs.Used() + 1000)
		err := r.fill("a", 100_000)
		r.is(err, ax.ErrNoSpace)
		r.is(r.b.Room(), ax.ErrNoSpace)
		live := r.live()
		if live < 100 {
			t.Fatalf("full after %d tasks", live)
		}
		_, err = r.b.Submit(t.Context(), 0, []ax.Entry{{ID: "e", Verb: ax.VerbSubmit, Task: task("e")}})
		r.is(err, ax.ErrNoSpace)
		_, err = r.b.Put(t.Context(), "job", "j", 0, []byte("x"))
		r.is(err, ax.ErrNoSpace)
		for i := range 50 { // a good share of what was created
			id := fmt.Sprintf("a-%05d", i)
			if err := r.apply(ax.Batch{Finish: []*ax.Task{ended(task(id), ax.Time(i+1))}}); err != nil {
				t.Fatalf("settling task %d on a full disk: %v", i, err)
			}
		}
		r.fs.Space(0)
		time.Sleep(2 * time.Second) // in the bubble: the housekeeper tries each second
		synctest.Wait()
		if err := r.b.Room(); err != nil {
			t.Errorf("with room again: %v", err)
		}
		if err := r.fill("b", 100); err != nil {
			t.Errorf("with room again: %v", err)
		}
		r.restart(r.fs.PowerCut(rand.New(rand.NewPCG(1, 1))))
		if n := r.live(); n != live-50+100 {
			t.Errorf("%d tasks after a power cut, want %d", n, live-50+100)
		}
		r.b.Close()
	})
}

// TestDiskQuiteFull leaves not even room for settling: batches are refused whole, with ErrNoSpace and no number used up,
// and work again later.
func TestDiskQuiteFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, journal.Config{})
		synctest.Wait()
		r.pause = synctest.Wait
		r.fs.Space(r.fs.Used())
		if err := r.fill("a", 100_000); !errors.Is(err, ax.ErrNoSpace) {
			t.Fatal(err)
		}
		first, live, i := r.number, r.live(), 0
		finish := func() error {
			t := ended(task(fmt.Sprintf("a-%05d", i)), ax.Time(i+1))
			t.Last.Result = make([]byte, 2000)
			return r.apply(ax.Batch{Finish: []*ax.Task{t}})
		}
		for {
			if err := finish(); err != nil {
				r.is(err, ax.ErrNoSpace)
				break
			}
			i++
		}
		if r.live() != live-i || r.number != first+uint64(i) {
			t.Errorf("%d live, number %d after %d settled", r.live(), r.number, i)
		}
		r.fs.Space(0)
		if err := finish(); err != nil {
			t.Errorf("with room again: %v", err)
		}
		r.restart(r.fs.Kill())
		if r.live() != live-i-1 {
			t.Errorf("%d live after a kill, want %d", r.live(), live-i-1)
		}
		r.b.Close()
	})
}

// TestOpenOnFullDisk refuses to open a directory on a full disk, and changes nothing in it.
func TestOpenOnFullDisk(t *testing.T) {
	r := newRig(t, journal.Config{})
	r.must(ax.Batch{Create: []*ax.Task{task("a")}})
	r.b.Close()
	fs := r.fs
	if err := fs.Remove("0000000002.log"); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err) // an opening removes it, and has its room
	}
	fs.Space(fs.Used())
	if _, err := journal.Open("", journal.Config{}.On(fs, 64<<10)); err == nil {
		t.Fatal("opened, with no room for a segment")
	}
	fs.Space(0)
	r.open()
	if r.live() != 1 {
		t.Errorf("%d live, want 1", r.live())
	}
	r.b.Close()
}

// TestSlowSync lets each sync take two seconds: written batches do not wait for it, durable ones share it.
func TestSlowSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, journal.Config{})
		synctest.Wait()
		r.fs.OnSync(func() { time.Sleep(2 * time.Second) }) // in the bubble
		start := time.Now()
		var took []time.Duration
		done := make(chan struct{}, 100)
		for i := range 10 {
			b := r.batch(ax.Batch{Create: []*ax.Task{task(fmt.Sprint("d", i))}})
			r.number++
			r.b.Begin([]*ax.Batch{b}, func(errs []error) {
				if errs[0] != nil {
					t.Error(errs[0])
				}
				took = append(took, time.Since(start))
				done <- struct{}{}
			})
			w := r.batch(ax.Batch{Move: []*ax.Task{task(fmt.Sprint("d", i))}, Durability: ax.Written})
			r.number++
			wrote := false
			r.b.Begin([]*ax.Batch{w}, func(errs []error) { wrote = errs[0] == nil })
			if !wrote {
				t.Error("a written batch waits for a sync")
			}
		}
		if since := time.Since(start); since != 0 {
			t.Errorf("ten batches were taken up after %v, want at once", since)
		}
		for range 10 {
			<-done
		}
		if last := took[9]; last > 4*time.Second {
			t.Errorf("ten durable batches took %v, want two syncs", last)
		}
		r.b.Close()
	})
}

// TestLocked refuses a second opener.
func TestLocked(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir, journal.Config{})
	_, err := journal.Open(dir, journal.Config{})
	if !errors.Is(err, ax.ErrHeld) || !strings.Contains(err.Error(), "process ") {
		t.Errorf("a second opener: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, dir, journal.Config{}) // free again
}

// TestEra: each opening has an era above the last, whatever the clock says, and its tokens are of it.
func TestEra(t *testing.T) {
	c := newClock()
	r := newRig(t, journal.Config{Now: c.Now})
	var last uint32
	for i := range 4 {
		if r.b.Era() <= last || r.token.Era != r.b.Era() {
			t.Errorf("opening %d: era %d, token of %d, after %d", i, r.b.Era(), r.token.Era, last)
		}
		last = r.b.Era()
		if i == 1 {
			c.Advance(-10 * time.Hour)
		}
		r.restart(r.fs.Kill())
	}
	r.b.Close()
}

// TestPartitions: their number is fixed with the first opening.
func TestPartitions(t *testing.T) {
	fs := faulty.New()
	for _, c := range []struct {
		ask, get int
		err      error
	}{{4, 4, nil}, {0, 4, nil}, {4, 4, nil}, {5, 0, ax.ErrInvalid}, {-1, 0, ax.ErrInvalid}, {4097, 0, ax.ErrInvalid}} {
		b, err := journal.Open("", journal.Config{Partitions: c.ask}.On(fs, 64<<10))
		if !errors.Is(err, c.err) {
			t.Errorf("asked for %d: %v, want %v", c.ask, err, c.err)
		}
		if err == nil {
			if b.Partitions() != c.get {
				t.Errorf("asked for %d: %d, want %d", c.ask, b.Partitions(), c.get)
			}
			b.Close()
		}
	}
}

// TestRetention keeps finished tasks by count and by age, over restarts.
func TestRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		count := func(r *rig) int {
			page, err := r.b.Archive().Query(context.Background(), ax.Query{Limit: 1000})
			if err != nil {
				t.Fatal(err)
			}
			return len(page.Tasks)
		}
		r := newRig(t, journal.Config{Keep: 100, KeepFor: 24 * time.Hour})
		finish := func(n int) {
			var b ax.Batch
			for range n {
				r.number++ // makes ids, and is set right below
				b.Finish = append(b.Finish, ended(task(fmt.Sprint("t", r.number, time.Now().UnixMicro())), ax.At(time.Now())))
				r.number--
				time.Sleep(time.Microsecond)
			}
			r.must(b)
		}
		for range 30 {
			finish(5)
		}
		if n := count(r); n != 100 {
			t.Errorf("%d finished tasks, want the last 100 of 150", n)
		}
		r.restart(r.fs.Kill())
		if n := count(r); n != 100 {
			t.Errorf("%d finished tasks after a restart, want 100", n)
		}
		time.Sleep(12 * time.Hour)
		finish(7)
		time.Sleep(14 * time.Hour) // the housekeeper looks every hour
		synctest.Wait()
		if n := count(r); n != 7 {
			t.Errorf("%d finished tasks after 26 h, want the 7 of the last 24 h", n)
		}
		r.b.Close()
	})
}

// TestForward writes many times what is alive: the log stays short, what is alive stays readable, also after a restart.
func TestForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, journal.Config{Keep: 50})
		ctx := context.Background()
		if err := r.fill("stays", 200); err != nil {
			t.Fatal(err)
		}
		moved := task("stays-00007")
		moved.State, moved.At = ax.Running, 99
		moved.Last = &ax.Attempt{Run: 1, N: 1, Executor: "e"}
		r.must(ax.Batch{Move: []*ax.Task{moved}, Jobs: []ax.JobState{{UID: "u", Cursor: 7}}, Remember: []*ax.IDRecord{{ID: "known", State: ax.Failed, Ended: 3, Until: 1 << 60}},
			Instances: []*ax.Instance{{ID: "i"}}, Reasons: []ax.Reason{{Job: "u", Code: "c"}}, Outgoing: []ax.Outgoing{{Entry: ax.Entry{ID: "o"}}}, Facts: []ax.Fact{{ID: "fact"}}})
		if _, err := r.b.Submit(ctx, 0, []ax.Entry{{ID: "in-1", Verb: ax.VerbCancel}, {ID: "in-2", Verb: ax.VerbCancel}}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.b.Put(ctx, "job", "j", 0, []byte("definition")); err != nil {
			t.Fatal(err)
		}
		if err := r.b.Archive().Append(ctx, nil, []ax.Fact{{ID: "filed", Task: "stays-00007"}}); err != nil {
			t.Fatal(err)
		}
		longest := int64(0)
		for i := range 4000 {
			id := fmt.Sprintf("goes-%d", i)
			r.must(ax.Batch{Create: []*ax.Task{task(id)}})
			r.must(ax.Batch{Finish: []*ax.Task{ended(task(id), ax.Time(i+1))}})
			synctest.Wait()
			longest = max(longest, r.b.Stats().Bytes)
		}
		s := r.b.Stats()
		if longest > 3*(s.Alive+4*64<<10) || s.Segments > 20 {
			t.Errorf("the log grew to %d bytes; %+v", longest, s)
		}
		check := func() {
			t.Helper()
			if n := r.live(); n != 200 {
				t.Errorf("%d live, want 200", n)
			}
			for i := range 200 {
				id := fmt.Sprintf("stays-%05d", i)
				got, err := r.b.Get(ctx, id)
				if err != nil || got.ID != id || len(got.Payload) != 200 {
					t.Fatalf("%s: %v, %v", id, got, err)
				}
				if i == 7 && (got.State != ax.Running || got.Last == nil) {
					t.Errorf("the move is lost: %v", got)
				}
			}
			for index, want := range map[ax.Index]int{ax.IndexJobs: 1, ax.IndexIDs: 1, ax.IndexInstances: 1, ax.IndexReasons: 1, ax.IndexOutgoing: 1, ax.IndexFacts: 1, ax.IndexInbox: 2} {
				p, err := r.b.Scan(ctx, ax.ScanRequest{Token: r.token, Index: index})
				if n := len(p.Jobs) + len(p.IDs) + len(p.Instances) + len(p.Reasons) + len(p.Outgoing) + len(p.Facts) + len(p.Entries); err != nil || n != want {
					t.Errorf("index %d holds %d, want %d, %v", index, n, want, err)
				}
				if index == ax.IndexInbox && (p.Entries[0].ID != "in-1" || p.Entries[1].ID != "in-2") {
					t.Errorf("the inbox is out of order: %v", p.Entries)
				}
			}
			if d, err := r.b.Document(ctx, "job", "j", 0); err != nil || string(d.Body) != "definition" {
				t.Errorf("document %v, %v", d, err)
			}
			if runs, facts, err := r.b.Archive().Get(ctx, "goes-3999"); err != nil || len(runs) != 1 || len(facts) != 0 {
				t.Errorf("archive %v, %v, %v", runs, facts, err)
			}
			if _, facts, err := r.b.Archive().Get(ctx, "stays-00007"); err != nil || len(facts) != 1 {
				t.Errorf("facts %v, %v", facts, err)
			}
			page, err := r.b.Archive().Query(ctx, ax.Query{Limit: 1000})
			if err != nil || len(page.Tasks) != 50 {
				t.Errorf("archive holds %d, want 50, %v", len(page.Tasks), err)
			}
		}
		check()
		r.restart(r.fs.PowerCut(rand.New(rand.NewPCG(5, 5))))
		check()
		r.restart(r.fs.Kill())
		check()
		r.b.Close()
	})
}
