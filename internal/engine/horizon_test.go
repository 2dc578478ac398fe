package engine_test

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/engine"
)

const horizon = 10 * time.Minute

func newFar(t *testing.T) *hand {
	h := newHand(t, engine.Config{Horizon: horizon.Microseconds(), Finishes: true})
	h.look()
	return h
}

// page reads a window as the store has it now.
func (h *hand) page(w engine.Window) []*ax.Task {
	h.t.Helper()
	page, err := h.store.Scan(h.t.Context(), ax.ScanRequest{Token: w.Token, Index: ax.IndexDue, After: w.After, To: w.To, Limit: 1_000_000})
	if err != nil {
		h.t.Fatal(err)
	}
	return page.Tasks
}

// get reads a task as the store has it now.
func (h *hand) get(id string) *ax.Task {
	h.t.Helper()
	t, err := h.store.Get(h.t.Context(), id)
	if err != nil && !errors.Is(err, ax.ErrNoTask) {
		h.t.Fatal(err)
	}
	return t
}

// look does all the reading that the node asks for, at once.
func (h *hand) look() {
	h.t.Helper()
	for _, w := range h.node.TakeWindows() {
		h.node.Found(w, h.page(w))
		h.node.Read(w)
	}
	for _, w := range h.node.TakeWanted() {
		h.node.Fetched(w, h.get(w.ID))
	}
}

// settle has everything written and read, until nothing more follows, and returns the ids that were sent.
func (h *hand) settle() []string {
	h.t.Helper()
	before := len(h.safe)
	for range 10 {
		h.node.Claim()
		h.write(h.node.Flush()...)
		h.look()
	}
	var sent []string
	for _, o := range h.safe[before:] {
		sent = append(sent, ids(o.Sends)...)
	}
	return sent
}

func (h *hand) resident() (n int) {
	h.node.Live(func(*ax.Task) { n++ })
	return n
}

func (h *hand) books(resident, far int) {
	h.t.Helper()
	if n, f := h.resident(), h.node.Far(); n != resident || f != far || h.node.Counts.Pending() != n+f {
		h.t.Errorf("%d in memory and %d far, want %d and %d; counted: %+v", n, f, resident, far, h.node.Counts)
	}
}

// bring brings a request to the node, and returns its number.
func (h *hand) bring(e *ax.Entry) int {
	h.asked++
	h.node.Admit(0, e, h.asked, 0, false)
	return h.asked
}

func reschedule(id string, at ax.Time) *ax.Entry {
	return &ax.Entry{ID: "reschedule-" + id, Verb: ax.VerbReschedule, Version: 1, Target: id, Task: &ax.Task{Due: at}}
}

// A task due beyond the horizon leaves memory when it is safe, comes back before it is due, and starts neither early nor late.
func TestFarAndBack(t *testing.T) {
	h := newFar(t)
	h.submit("near", horizon-time.Second)
	h.submit("far", time.Hour)
	h.books(2, 0)
	outs := h.node.Flush()
	h.books(2, 0)
	h.write(outs...)
	h.books(1, 1)
	started := map[string]time.Duration{}
	for passed := time.Duration(0); passed < 2*time.Hour; {
		wait, ok := h.node.Next()
		if !ok {
			break
		}
		step := max(time.Duration(wait)*time.Microsecond, time.Millisecond)
		h.pass(step)
		passed += step
		for _, id := range h.settle() {
			started[id] = passed
		}
	}
	for id, due := range map[string]time.Duration{"near": horizon - time.Second, "far": time.Hour} {
		if at := started[id]; at < due || at > due+2*time.Millisecond {
			t.Errorf("%s started after %v, it was due after %v", id, at, due)
		}
	}
	h.books(2, 0)
}

// An idle node with nothing far sets no timer, whatever was far before.
func TestNothingFarNoTimer(t *testing.T) {
	h := newFar(t)
	h.submit("far", time.Hour)
	h.settle()
	if _, ok := h.node.Next(); !ok {
		t.Error("nothing wakes the node for the next window")
	}
	h.cancel("far")
	h.settle()
	if wait, ok := h.node.Next(); ok {
		t.Errorf("woken after %d µs for nothing", wait)
	}
	h.books(0, 0)
}

// Whoever asks for a far task gets the answers of one that is in memory, and those who ask at once are answered in order.
func TestAskForFar(t *testing.T) {
	h := newFar(t)
	h.submit("a", time.Hour)
	h.settle()
	at := ax.Time(h.now.Wall).Add(2 * time.Hour)
	known, conflict := h.submit("a", time.Hour), h.submit("a", time.Hour, func(e *ax.Entry) { e.Task.Hash = 8 })
	h.write(h.node.Flush()...)
	if len(h.answer) != 1 {
		t.Errorf("answered before it was looked up: %v", h.answer)
	}
	h.settle()
	h.want(known, ax.Known)
	h.want(conflict, ax.Conflict)
	h.books(0, 1)
	moved, canceled, again := h.bring(reschedule("a", at)), h.cancel("a"), h.cancel("a")
	h.settle()
	h.want(moved, ax.Done)
	h.want(canceled, ax.Done)
	h.want(again, ax.Done)
	h.books(0, 0)
	if h.get("a") != nil {
		t.Error("it is still there")
	}
	for _, r := range []int{h.cancel("nobody")} {
		h.settle()
		h.want(r, ax.Refused)
	}
	run := h.bring(&ax.Entry{ID: "r", Verb: ax.VerbRun, Version: 1, Target: "a"})
	h.settle()
	h.want(run, ax.Refused)
}

// A page or a task that was read, and is out of date when it arrives, does no harm: whatever happened to its task meanwhile, and
// whether that is written.
func TestOutOfDate(t *testing.T) {
	meanwhile := map[string]func(h *hand){
		"canceled":            func(h *hand) { h.cancel("a"); h.settle() },
		"canceled, unwritten": func(h *hand) { h.cancel("a"); h.look(); h.cancel("a") },
		"put off":             func(h *hand) { h.bring(reschedule("a", ax.Time(h.now.Wall).Add(30*time.Hour))); h.settle() },
		"canceled and made anew": func(h *hand) {
			h.cancel("a")
			h.settle()
			h.pass(2 * time.Second) // it is forgotten
			h.submit("a", 40*time.Hour, func(e *ax.Entry) { e.Task.Hash = 9 })
			h.settle()
		},
		"run to its end": func(h *hand) {
			h.bring(&ax.Entry{ID: "r", Verb: ax.VerbRun, Version: 1, Target: "a"})
			h.settle()
			for _, o := range h.safe {
				for _, task := range o.Sends {
					h.node.Report(0, task.Kind, &ax.Report{ID: task.ID, Token: task.Last.Token, Outcome: ax.OutcomeSuccess, Started: 1, Ended: 2})
				}
			}
			h.settle()
		},
	}
	for name, happens := range meanwhile {
		for _, how := range []string{"window", "census", "lookup"} {
			t.Run(name+", "+how, func(t *testing.T) {
				h := newFar(t)
				h.submit("a", 20*time.Minute)
				h.settle()
				var late func()
				switch how {
				case "window":
					h.pass(16 * time.Minute)
					w := h.node.TakeWindows()
					if len(w) != 1 {
						t.Fatalf("windows: %v", w)
					}
					page := h.page(w[0])
					if len(page) != 1 {
						t.Fatalf("%d tasks are in the window", len(page))
					}
					late = func() { h.node.Found(w[0], page); h.node.Read(w[0]) }
				case "census":
					h.submit("refused", 0)
					h.back(ax.ErrUnknown, h.node.Flush()...)
					h.own()
					w := h.node.TakeWindows()
					page := h.page(w[0])
					late = func() { h.node.Found(w[0], page); h.node.Read(w[0]) }
				case "lookup":
					h.submit("a", 20*time.Minute)
					w := h.node.TakeWanted()
					task := h.get("a")
					h.node.Fetched(w[0], task)
					h.settle()
					late = func() { h.node.Fetched(w[0], task) }
				}
				happens(h)
				late()
				h.settle()
				stored, want := h.get("a"), 0
				if stored != nil {
					want = 1
				}
				there := h.node.Find(0, "a")
				if there != nil && stored == nil || there == nil && stored != nil && !h.node.IsFar(0, "a") {
					t.Errorf("in memory %v, in the store %v", there, stored)
				}
				if there != nil && stored != nil && there.At != stored.At {
					t.Errorf("in memory due %v, in the store %v", there.At, stored.At)
				}
				found := 0
				for _, task := range h.page(engine.Window{Token: h.token}) {
					if task.ID == "a" {
						found++
					}
				}
				if n := h.resident() + h.node.Far(); found != want || h.node.Counts.Pending() != n {
					t.Errorf("%d in the store, %d in memory or far, counted %+v", found, n, h.node.Counts)
				}
				h.pass(100 * time.Hour)
				starts := 0
				for range 3 {
					for _, id := range h.settle() {
						if id == "a" {
							starts++
						}
					}
				}
				if starts != want {
					t.Errorf("started %d times, want %d", starts, want)
				}
			})
		}
	}
}

// What becomes durable while a window is being read, and is due within it, is not in what was read: it stays.
func TestMadeWhileAWindowIsRead(t *testing.T) {
	h := newFar(t)
	h.submit("old", 14*time.Minute)
	h.settle()
	h.pass(6 * time.Minute)
	w := h.node.TakeWindows()
	page := h.page(w[0])
	h.submit("new", 9*time.Minute)
	h.write(h.node.Flush()...)
	h.node.Found(w[0], page)
	h.node.Read(w[0])
	h.books(2, 0)
	h.pass(9 * time.Minute)
	if sent := h.settle(); len(sent) != 2 {
		t.Errorf("started: %v", sent)
	}
}

// run has a task that waits run to its end, and its end written.
func (h *hand) run(id string) {
	h.t.Helper()
	h.bring(&ax.Entry{ID: "run-" + id, Verb: ax.VerbRun, Version: 1, Target: id})
	h.node.Claim()
	h.write(h.node.Flush()...)
	task := h.node.Find(0, id)
	h.node.Report(0, "work", &ax.Report{ID: id, Token: task.Last.Token, Outcome: ax.OutcomeSuccess, Started: 1, Ended: 2})
	h.write(h.node.Flush()...)
}

// A look-up that comes when its task has been read otherwise, and has ended, is not for those who ask later.
func TestLateLookUp(t *testing.T) {
	for _, again := range []bool{false, true} {
		h := newFar(t)
		h.submit("a", 14*time.Minute)
		h.settle()
		first := h.submit("a", 14*time.Minute)
		lookup := h.node.TakeWanted()
		stale := h.get("a")
		h.pass(6 * time.Minute)
		h.look()
		h.write(h.node.Flush()...)
		h.want(first, ax.Known) // the window brought it
		h.run("a")
		if again { // and made far off again, after it was forgotten
			h.pass(time.Hour)
			h.submit("a", time.Hour, func(e *ax.Entry) { e.Task.Hash = 9 })
			h.settle()
			h.submit("a", time.Hour, func(e *ax.Entry) { e.Task.Hash = 9 })
		}
		h.node.Fetched(lookup[0], stale)
		if there := h.node.Find(0, "a"); there != nil {
			t.Errorf("again %v: %v is back", again, there)
		}
		h.settle()
		if again {
			h.books(0, 1)
		} else {
			h.books(0, 0)
		}
	}
}

// A task that has ended during the census, and whose end is not written, is not looked up: the store still has it.
func TestEndedDuringTheCensus(t *testing.T) {
	h := newFar(t)
	h.submit("a", time.Hour)
	h.settle()
	h.submit("refused", 0)
	h.back(ax.ErrUnknown, h.node.Flush()...)
	h.own()
	h.cancel("a")
	for _, w := range h.node.TakeWanted() {
		h.node.Fetched(w, h.get(w.ID))
	}
	ends := h.node.Flush()
	again := h.submit("a", time.Hour)
	for _, w := range h.node.TakeWanted() {
		h.node.Fetched(w, h.get(w.ID))
	}
	if there := h.node.Find(0, "a"); there != nil || h.node.IsFar(0, "a") {
		t.Errorf("%v is back, or is taken for far", there)
	}
	h.write(ends...)
	h.settle()
	h.want(again, ax.Known)
}

// Until it is known who is far, ids that are not known are looked up, unique names wait, and ordered tasks do not begin; all
// else does.
func TestCensus(t *testing.T) {
	h := newFar(t)
	named := func(e *ax.Entry) { e.Task.Extra = &ax.Extra{Unique: ax.Unique{By: ax.ByContent, Window: time.Hour}} }
	ordered := func(e *ax.Entry) { e.Task.Flags |= ax.Ordered }
	h.submit("u/named", time.Hour, named)
	h.submit("far", time.Hour)
	h.submit("k/first", 0, ordered)
	h.submit("plain", time.Minute)
	for _, id := range h.settle() { // it fails, and keeps its key until its retry far off
		task := h.node.Find(0, id)
		h.node.Report(0, "work", &ax.Report{ID: id, Token: task.Last.Token, Outcome: ax.OutcomeFailed, Started: 1, Ended: 2, After: time.Hour})
	}
	h.settle()
	h.submit("k/second", time.Minute, ordered)
	h.settle()
	h.submit("refused", 0)
	h.back(ax.ErrUnknown, h.node.Flush()...)
	h.own()
	census := h.node.TakeWindows()
	page := h.page(census[0])
	h.pass(2 * time.Minute)
	other, same, fresh := h.submit("u/other", time.Hour, named), h.submit("far", time.Hour), h.submit("fresh", time.Hour)
	var sent []string
	for range 3 {
		h.node.Claim()
		before := len(h.safe)
		h.write(h.node.Flush()...)
		for _, w := range h.node.TakeWanted() {
			h.node.Fetched(w, h.get(w.ID))
		}
		for _, o := range h.safe[before:] {
			sent = append(sent, ids(o.Sends)...)
		}
	}
	if got := fmt.Sprint(sent); got != "[plain refused]" && got != "[refused plain]" {
		t.Errorf("started: %v", got)
	}
	h.want(same, ax.Known)
	h.want(fresh, ax.Made)
	h.want(other, 0)
	h.node.Found(census[0], page)
	h.node.Read(census[0])
	if sent := h.settle(); len(sent) > 0 {
		t.Errorf("started before the head of their key: %v", sent)
	}
	h.want(other, ax.Known)
	if h.answer[other].ID != "u/named" {
		t.Errorf("the name is held by %s", h.answer[other].ID)
	}
	h.pass(2 * time.Hour)
	if sent := h.settle(); len(sent) < 2 {
		t.Errorf("started: %v", sent)
	}
}

// A task that follows the boot-time clock is in time although the wall clock was set back while it was far, and one that follows the
// wall clock although it was set forward.
func TestFarAndClocks(t *testing.T) {
	h := newFar(t)
	h.submit("in", time.Hour, func(e *ax.Entry) {
		e.Task.Boot, e.Task.BootAt = 1, h.now.Boot+time.Hour.Microseconds()
	})
	h.submit("at", 3*time.Hour)
	h.settle()
	h.books(0, 2)
	h.now.Wall -= (50 * time.Minute).Microseconds()
	h.pass(time.Hour - time.Minute)
	if sent := h.settle(); len(sent) > 0 {
		t.Errorf("early: %v", sent)
	}
	h.pass(time.Minute)
	if sent := h.settle(); len(sent) != 1 || sent[0] != "in" {
		t.Errorf("due by elapsed time, started: %v", sent)
	}
	h.now.Wall += (4 * time.Hour).Microseconds()
	h.pass(time.Millisecond)
	if sent := h.settle(); len(sent) != 1 || sent[0] != "at" {
		t.Errorf("due by the wall clock, started: %v", sent)
	}
}

// Those who wait for a far task hear of it when the partition is given up, and are admitted again when a write has failed.
func TestAskForFarAndFail(t *testing.T) {
	h := newFar(t)
	h.submit("a", time.Hour)
	h.settle()
	waits := h.submit("a", time.Hour)
	h.submit("b", time.Hour)
	if h.node.Idle(false) {
		t.Error("idle, and somebody waits")
	}
	h.back(ax.ErrUnknown, h.node.Flush()...)
	h.own()
	h.settle()
	h.want(waits, ax.Known)
	h.submit("a", time.Hour)
	replies, _ := h.node.Drop(0)
	if len(replies) != 1 || !errors.Is(replies[0].Answer.Err, ax.ErrUnknown) {
		t.Errorf("%v", replies)
	}
}

// A far task costs some 20 bytes here. Maps grow in steps, so the bound is generous.
func TestFarIsSmall(t *testing.T) {
	const n = 200_000
	h := newFar(t)
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	census := make([]*ax.Task, 0, 1000)
	h.submit("refused", 0)
	h.back(ax.ErrUnknown, h.node.Flush()...)
	h.own()
	w := h.node.TakeWindows()
	before := heap()
	for i := range n {
		census = append(census, &ax.Task{ID: fmt.Sprint("task-", i), State: ax.Scheduled, At: ax.Time(h.now.Wall).Add(time.Hour)})
		if len(census) == cap(census) {
			h.node.Found(w[0], census)
			clear(census)
			census = census[:0]
		}
	}
	h.node.Read(w[0])
	each := float64(heap()-before) / n
	if h.node.Far() != n || each > 40 {
		t.Errorf("%d far tasks at %.1f bytes", h.node.Far(), each)
	}
	t.Logf("%.1f bytes for each", each)
}
