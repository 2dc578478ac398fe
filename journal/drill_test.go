package journal_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/disk/faulty"
	"github.com/axsched/ax/journal"
)

// number reads a number from the environment.
func number(t testing.TB, name string, otherwise uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestPowerCut writes at random to a file system that fails at a random operation, cuts the power or kills the process,
// opens what is left, and compares: it must be what some prefix of the writes has left, and that prefix must hold all
// that was confirmed. AX_SEEDS (500) seeds, or the one of AX_SEED, of several crashes each.
func TestPowerCut(t *testing.T) {
	first, count := uint64(1), number(t, "AX_SEEDS", 500)
	if one := number(t, "AX_SEED", 0); one > 0 {
		first, count = one, 1
	}
	var next, failed, crashes, steps, lost atomic.Int64
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for {
				seed := first + uint64(next.Add(1)-1)
				if seed >= first+count || failed.Load() >= 5 {
					return
				}
				d := newDrill(seed)
				for range 4 {
					if err := d.round(); err != nil {
						t.Errorf("seed %d: %v", seed, err)
						failed.Add(1)
						break
					}
				}
				crashes.Add(int64(d.crashes))
				steps.Add(int64(d.steps))
				lost.Add(int64(d.lost))
			}
		})
	}
	group.Wait()
	t.Logf("%d seeds, %d failed: %d crashes, %d writes, of which %d were not confirmed and are gone", count, failed.Load(), crashes.Load(), steps.Load(), lost.Load())
	if crashes.Load() == 0 || count >= 100 && lost.Load() == 0 {
		t.Error("no crash, or none that lost anything: the drill shows nothing")
	}
}

const (
	drillKeep    = 30
	drillSegment = 32 << 10
)

// drill is one directory through several crashes, and what it should hold.
type drill struct {
	rng     *rand.Rand
	fs      *faulty.FS
	now     ax.Time
	clock   atomic.Int64 // now, for the journal
	next    int          // to make ids
	states  []model      // after each write since the last opening; the first is what was opened
	sure    int          // index into states: what was confirmed last
	written int          // likewise: what has reached the file

	crashes, steps, lost int
}

func newDrill(seed uint64) *drill {
	return &drill{rng: rand.New(rand.NewPCG(seed, 42)), fs: faulty.New(), now: 1_764_547_200_000_000, states: []model{newModel()}}
}

// model is what a directory with one partition should hold. A value is never changed, but for its last one.
type model struct {
	number  uint64
	floor   ax.Time
	live    map[string]string
	records map[string]*ax.IDRecord
	inbox   []string
	docs    map[string]string
	filed   []string
	facts   []string
	jobs    map[string]string
}

func newModel() model {
	return model{live: map[string]string{}, records: map[string]*ax.IDRecord{}, docs: map[string]string{}, jobs: map[string]string{}}
}

func (m model) clone() model {
	live, records, docs, jobs := map[string]string{}, map[string]*ax.IDRecord{}, map[string]string{}, map[string]string{}
	maps.Copy(live, m.live)
	maps.Copy(records, m.records)
	maps.Copy(docs, m.docs)
	maps.Copy(jobs, m.jobs)
	m.live, m.records, m.docs, m.jobs = live, records, docs, jobs
	m.inbox, m.filed, m.facts = slices.Clone(m.inbox), slices.Clone(m.filed), slices.Clone(m.facts)
	return m
}

// describe writes a model out, to be compared and to be read.
func (m model) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "number %d floor %d\n", m.number, m.floor)
	for _, part := range []struct {
		name string
		of   map[string]string
	}{{"live", m.live}, {"doc", m.docs}, {"job", m.jobs}} {
		keys := make([]string, 0, len(part.of))
		for k := range part.of {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			fmt.Fprintf(&b, "%s %s: %s\n", part.name, k, part.of[k])
		}
	}
	var records []string
	for _, r := range m.records {
		records = append(records, fmt.Sprintf("record %+v\n", *r))
	}
	slices.Sort(records)
	b.WriteString(strings.Join(records, ""))
	fmt.Fprintf(&b, "inbox %v\nfacts %v\n", m.inbox, m.facts)
	filed := m.filed[max(0, len(m.filed)-drillKeep):]
	fmt.Fprintf(&b, "filed %s\n", strings.Join(filed, "\n  "))
	return b.String()
}

func show(t *ax.Task) string {
	var attempts []string
	for _, a := range t.Attempts() {
		attempts = append(attempts, fmt.Sprintf("%d/%d %s %d %q", a.Run, a.N, a.Token, a.Outcome, a.Result))
	}
	return fmt.Sprintf("%s %s %d due %d at %d run %d payload %.20q(%d) %v", t.ID, t.State, t.Marks, t.Due, t.At, t.Run, t.Payload, len(t.Payload), attempts)
}

// round opens the directory, compares, writes until something fails, and crashes.
func (d *drill) round() error {
	ctx := context.Background()
	d.clock.Store(int64(d.now))
	cfg := journal.Config{Keep: drillKeep, Now: func() time.Time { return ax.Time(d.clock.Load()).Time() }}.On(d.fs, drillSegment)
	b, err := journal.Open("", cfg)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	lease, err := b.Acquire(ctx, "partition", "0", "drill", time.Hour, nil)
	if err != nil {
		return err
	}
	opened, err := b.Open(ctx, 0, lease.Token)
	if err != nil {
		return err
	}
	got, err := observe(b, lease.Token, opened)
	if err != nil {
		return err
	}
	if err := d.settle(got); err != nil {
		return err
	}
	d.fs.CrashAfter(1 + d.rng.IntN(1+d.rng.IntN(400)))
	w := writer{d: d, b: b, token: lease.Token, tasks: map[string]*ax.Task{}}
	if err := w.load(); err == nil {
		for range 20 + d.rng.IntN(200) {
			if err := w.step(); err != nil {
				break
			}
		}
	}
	w.mu.Lock()
	d.crash()
	w.mu.Unlock()
	b.Close() // the process is dead: whatever it does now reaches nothing
	w.flying.Wait()
	d.steps += len(d.states) - 1
	return nil
}

// crash takes the disk away.
func (d *drill) crash() {
	d.crashes++
	if d.rng.IntN(3) == 0 {
		d.fs = d.fs.Kill()
		d.sure = max(d.sure, d.written)
		return
	}
	d.fs = d.fs.PowerCut(d.rng)
}

// settle finds which prefix of the writes is there.
func (d *drill) settle(got model) error {
	want := got.describe()
	for i := len(d.states) - 1; i >= d.sure; i-- {
		if d.states[i].describe() == want {
			d.lost += len(d.states) - 1 - i
			d.states, d.sure, d.written = []model{d.states[i]}, 0, 0
			return nil
		}
	}
	return fmt.Errorf("what is there is no prefix of what was written that holds all of the %d confirmed of %d writes.\nThere is:\n%s\nConfirmed was:\n%s\nWritten was:\n%s",
		d.sure, len(d.states)-1, want, d.states[d.sure].describe(), d.states[len(d.states)-1].describe())
}

// observe reads everything there is.
func observe(b *journal.Backend, token ax.Token, opened ax.Opened) (model, error) {
	ctx, m := context.Background(), newModel()
	m.number, m.floor = opened.Number, opened.Floor
	for index := ax.IndexDue; index <= ax.IndexFacts; index++ {
		req := ax.ScanRequest{Token: token, Index: index, Limit: 7}
		for {
			page, err := b.Scan(ctx, req)
			if err != nil {
				return m, fmt.Errorf("scan %d: %w", index, err)
			}
			for _, t := range page.Tasks {
				if m.live[t.ID] != "" {
					return m, fmt.Errorf("task %s comes twice", t.ID)
				}
				m.live[t.ID] = show(t)
			}
			for _, e := range page.Entries {
				m.inbox = append(m.inbox, e.ID)
			}
			for _, r := range page.IDs {
				m.records[r.ID] = r
			}
			for _, j := range page.Jobs {
				m.jobs[j.UID] = string(j.Body)
			}
			for _, f := range page.Facts {
				m.facts = append(m.facts, f.ID)
			}
			if req.From = page.Next; req.From == "" {
				break
			}
		}
	}
	docs, err := b.Documents(ctx, "doc", "", "", 0)
	if err != nil {
		return m, err
	}
	for _, doc := range docs {
		m.docs[doc.Name] = fmt.Sprintf("%d %q", doc.Revision, doc.Body)
	}
	for page := ""; ; {
		found, err := b.Archive().Query(ctx, ax.Query{Page: page, Limit: 11})
		if err != nil {
			return m, err
		}
		for _, t := range found.Tasks {
			m.filed = append(m.filed, show(t))
		}
		if page = found.Next; page == "" {
			break
		}
	}
	slices.Reverse(m.filed)
	return m, nil
}

// writer is one life of the process: it writes at random, as an owner does.
type writer struct {
	d      *drill
	b      *journal.Backend
	token  ax.Token
	tasks  map[string]*ax.Task
	claims uint64
	flying sync.WaitGroup
	mu     sync.Mutex // guards what done callbacks change
	failed error
}

// load reads the live tasks.
func (w *writer) load() error {
	for _, index := range []ax.Index{ax.IndexDue, ax.IndexWaiting, ax.IndexRunning, ax.IndexHeld, ax.IndexEnded} {
		page, err := w.b.Scan(context.Background(), ax.ScanRequest{Token: w.token, Index: index, Limit: 100_000})
		if err != nil {
			return err
		}
		for _, t := range page.Tasks {
			w.tasks[t.ID] = t
		}
	}
	return nil
}

// confirm notes that a write, and with it all before it, is safe from a crash: durable, or at least written.
func (w *writer) confirm(state int, durable bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.failed = cmp.Or(w.failed, err)
		return
	}
	w.d.written = max(w.d.written, state)
	if durable {
		w.d.sure = max(w.d.sure, state)
	}
}

// step makes one write. An error: the process had better die.
func (w *writer) step() error {
	d := w.d
	d.now += ax.Time(1 + d.rng.IntN(1_000_000))
	d.clock.Store(int64(d.now))
	next := d.states[len(d.states)-1].clone()
	var err error
	switch d.rng.IntN(20) {
	case 0:
		err = w.submit(next)
	case 1:
		err = w.document(next)
	case 2:
		err = w.prune(next)
	default:
		w.batch(next)
	}
	if d.rng.IntN(8) == 0 {
		w.flying.Wait()
	} else if d.rng.IntN(4) == 0 {
		runtime.Gosched()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return cmp.Or(err, w.failed)
}

func (w *writer) submit(next model) error {
	var entries []ax.Entry
	for range 1 + w.d.rng.IntN(3) {
		w.d.next++
		id := fmt.Sprintf("in-%d", w.d.next)
		entries = append(entries, ax.Entry{ID: id, Verb: ax.VerbSubmit, Version: 1, Added: w.d.now, Task: w.task(id)})
		next.inbox = append(next.inbox, id)
	}
	w.d.states = append(w.d.states, next)
	_, err := w.b.Submit(context.Background(), 0, entries)
	w.confirm(len(w.d.states)-1, true, err)
	return err
}

func (w *writer) document(next model) error {
	name := fmt.Sprintf("d%d", w.d.rng.IntN(4))
	var rev int64
	if doc, err := w.b.Document(context.Background(), "doc", name, 0); err == nil {
		rev = doc.Revision
	}
	body := []byte(strings.Repeat("x", w.d.rng.IntN(3000)))
	if rev != 0 && w.d.rng.IntN(4) == 0 {
		body = nil
	}
	w.d.states = append(w.d.states, next)
	got, err := w.b.Put(context.Background(), "doc", name, rev, body)
	if err != nil { // what its revision would have been is not known, unless it is there
		if errors.Is(err, ax.ErrUnknown) {
			w.guess(next, name, body)
		}
		return err
	}
	next.put(name, got, body)
	w.confirm(len(w.d.states)-1, true, nil)
	return nil
}

func (m model) put(name string, revision int64, body []byte) {
	if m.docs[name] = fmt.Sprintf("%d %q", revision, body); body == nil {
		delete(m.docs, name)
	}
}

// guess finds out the revision that a document has got in the memory of the dying process.
func (w *writer) guess(next model, name string, body []byte) {
	history, err := w.b.Documents(context.Background(), "doc", name, "", 1)
	if err == nil && len(history) == 1 {
		next.put(name, history[0].Revision, body)
	}
}

func (w *writer) prune(next model) error {
	keep := w.d.rng.IntN(40)
	var stay []*ax.IDRecord
	forget := func(r *ax.IDRecord) {
		delete(next.records, r.ID)
		if r.State != 0 {
			next.floor = max(next.floor, r.Ended+1)
		}
	}
	for _, r := range next.records {
		if r.Until < w.d.now {
			forget(r)
		} else {
			stay = append(stay, r)
		}
	}
	slices.SortFunc(stay, func(r, s *ax.IDRecord) int { return cmp.Compare(r.Ended, s.Ended) })
	for len(stay) > keep {
		forget(stay[0])
		stay = stay[1:]
	}
	w.d.states = append(w.d.states, next)
	_, err := w.b.Prune(context.Background(), 0, w.token, w.d.now, keep)
	w.confirm(len(w.d.states)-1, true, err)
	return err
}

// task makes a task. One in twenty is large.
func (w *writer) task(id string) *ax.Task {
	size := w.d.rng.IntN(100)
	if w.d.rng.IntN(20) == 0 {
		size = w.d.rng.IntN(20_000)
	}
	due := w.d.now + ax.Time(w.d.rng.IntN(1_000_000_000))
	return &ax.Task{ID: id, Kind: "k", Payload: []byte(strings.Repeat(string(rune('a'+w.d.rng.IntN(26))), size)), Hash: w.d.rng.Uint64(), Seq: uint64(w.d.next),
		Created: w.d.now, Timeout: 1000, State: ax.Scheduled, Run: 1, Due: due, At: due}
}

// batch changes tasks as an owner does, and does not wait.
func (w *writer) batch(next model) {
	d := w.d
	next.number++
	b := &ax.Batch{Token: w.token, Number: next.number}
	if d.rng.IntN(3) == 0 {
		b.Durability = ax.Written
	}
	for range d.rng.IntN(6) {
		d.next++
		t := w.task(fmt.Sprintf("t-%d", d.next))
		b.Create = append(b.Create, t)
		w.tasks[t.ID] = t
		next.live[t.ID] = show(t)
	}
	created := len(b.Create)
	ids := make([]string, 0, len(w.tasks))
	for id := range w.tasks {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for range min(d.rng.IntN(6), len(ids)-created) {
		i := d.rng.IntN(len(ids))
		t := *w.tasks[ids[i]]
		if t.Seq > uint64(d.next-created) && created > 0 || slices.ContainsFunc(b.Move, func(m *ax.Task) bool { return m.ID == t.ID }) ||
			slices.ContainsFunc(b.Finish, func(m *ax.Task) bool { return m.ID == t.ID }) {
			continue // once in a batch
		}
		w.claims++
		t.Attempt++
		t.Last = &ax.Attempt{Run: 1, N: t.Attempt, Token: ax.AttemptToken{Token: w.token, Claim: w.claims}, Executor: "e", Claimed: d.now, Prev: t.Last}
		switch d.rng.IntN(4) {
		case 0:
			t.State = ax.Running
			b.Move = append(b.Move, &t)
			w.tasks[t.ID] = &t
			next.live[t.ID] = show(&t)
		case 1:
			b.Delete = append(b.Delete, t.ID)
			delete(w.tasks, t.ID)
			delete(next.live, t.ID)
			ids = slices.Delete(ids, i, i+1)
		default:
			d.now++
			t.State, t.At = ax.Success, d.now
			t.Last.Outcome, t.Last.Result = ax.OutcomeSuccess, []byte("done")
			b.Finish = append(b.Finish, &t)
			delete(w.tasks, t.ID)
			delete(next.live, t.ID)
			ids = slices.Delete(ids, i, i+1)
			next.filed = append(next.filed, show(&t))
			r := &ax.IDRecord{ID: t.ID, Hash: t.Hash, State: t.State, Run: 1, Ended: t.At, Until: t.At + ax.Time(d.rng.IntN(20_000_000))}
			b.Remember = append(b.Remember, r)
			next.records[r.ID] = r
		}
		if len(ids) == 0 {
			break
		}
	}
	if len(next.inbox) > 0 && d.rng.IntN(2) == 0 {
		b.Admit = []string{next.inbox[0]}
		next.inbox = next.inbox[1:]
	}
	if d.rng.IntN(6) == 0 {
		f := ax.Fact{ID: fmt.Sprintf("f-%d", d.next), At: d.now, Task: "t", What: ax.FactCancel}
		if d.next++; !slices.Contains(next.facts, f.ID) {
			b.Facts = []ax.Fact{f}
			next.facts = append(next.facts, f.ID)
		}
	} else if len(next.facts) > 0 {
		b.Filed = []string{next.facts[0]}
		next.facts = next.facts[1:]
	}
	uid := fmt.Sprintf("u%d", d.rng.IntN(5))
	b.Jobs = []ax.JobState{{UID: uid, Body: fmt.Append(nil, d.next)}}
	next.jobs[uid] = fmt.Sprint(d.next)
	d.states = append(d.states, next)
	state := len(d.states) - 1
	w.flying.Add(1)
	w.b.Begin([]*ax.Batch{b}, func(errs []error) {
		defer w.flying.Done()
		w.confirm(state, b.Durability == ax.Durable, errs[0])
	})
}
