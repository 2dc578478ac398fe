package engine_test

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/clock"
	"github.com/axsched/ax/internal/engine"
	"github.com/axsched/ax/memory"
)

// hand steps a node of one partition by hand, with a store that is told of batches when the test says so.
type hand struct {
	t      *testing.T
	node   *engine.Node
	ahead  time.Duration // the horizon
	store  *memory.Backend
	token  ax.Token
	now    clock.Now
	safe   []*engine.Output
	asked  int
	answer map[int]ax.Answer // by the number of the request
}

func newHand(t *testing.T, cfg engine.Config) *hand {
	t.Helper()
	h := &hand{t: t, ahead: time.Duration(cfg.Horizon) * time.Microsecond, store: memory.New(memory.Config{}), now: clock.Now{Wall: 1_800_000_000_000_000, Boot: 1_000_000_000}, answer: map[int]ax.Answer{}}
	cfg.Name, cfg.BootTag, cfg.MaxPending, cfg.Remember = "hand", 1, 1000, 1000
	cfg.Window = max(cfg.Window, time.Second)
	cfg.Rand, cfg.Seed = rand.New(rand.NewPCG(1, 2)), maphash.MakeSeed()
	h.node = engine.NewNode(cfg, 10, []string{"work"})
	h.node.Advance(h.now)
	lease, err := h.store.Acquire(context.Background(), "partition", "0", "hand", time.Hour, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.token = lease.Token
	h.own()
	return h
}

// own opens the partition and gives the node what is in it.
func (h *hand) own() {
	h.t.Helper()
	ctx := context.Background()
	opened, err := h.store.Open(ctx, 0, h.token)
	if err != nil {
		h.t.Fatal(err)
	}
	l := &engine.Loaded{Opened: opened}
	if h.ahead > 0 {
		l.UpTo = ax.Time(h.now.Wall).Add(h.ahead)
	}
	for _, index := range []ax.Index{ax.IndexDue, ax.IndexRunning, ax.IndexHeld, ax.IndexEnded, ax.IndexIDs} {
		page, err := h.store.Scan(ctx, ax.ScanRequest{Token: h.token, Index: index, To: l.UpTo})
		if err != nil {
			h.t.Fatal(err)
		}
		l.Tasks, l.IDs = append(l.Tasks, page.Tasks...), append(l.IDs, page.IDs...)
	}
	h.hear(h.node.Own(0, h.token, l))
}

func (h *hand) hear(outs ...*engine.Output) {
	h.safe = append(h.safe, outs...)
	for _, o := range outs {
		for _, r := range o.Replies {
			n := r.Ticket.(int)
			if old, twice := h.answer[n]; twice {
				h.t.Errorf("request %d is answered %v, then %v", n, old, r.Answer)
			}
			h.answer[n] = r.Answer
		}
	}
}

func (h *hand) pass(d time.Duration) {
	h.now.Wall += d.Microseconds()
	h.now.Boot += d.Microseconds()
	h.node.Advance(h.now)
}

// submit asks for a task that is due after a while, and returns the number of the request.
func (h *hand) submit(id string, in time.Duration, change ...func(*ax.Entry)) int {
	h.asked++
	due := ax.Time(h.now.Wall).Add(in)
	e := &ax.Entry{ID: id, Verb: ax.VerbSubmit, Version: 1, Task: &ax.Task{ID: id, Kind: "work", Timeout: 60_000_000, State: ax.Scheduled, Run: 1, Due: due, At: due, MaxRetries: 1, Hash: 7}}
	for _, f := range change {
		f(e)
	}
	h.node.Admit(0, e, h.asked, 0, false)
	return h.asked
}

func (h *hand) cancel(id string) int {
	h.asked++
	h.node.Admit(0, &ax.Entry{ID: fmt.Sprint("cancel-", id), Verb: ax.VerbCancel, Version: 1, Target: id}, h.asked, 0, false)
	return h.asked
}

// flush returns what the node wants written, which is to be of these durabilities.
func (h *hand) flush(want ...ax.Durability) []*engine.Output {
	h.t.Helper()
	outs := h.node.Flush()
	var got []ax.Durability
	for _, o := range outs {
		got = append(got, o.Batch.Durability)
	}
	if !slices.Equal(got, want) {
		h.t.Fatalf("durabilities %v are flushed, want %v", got, want)
	}
	return outs
}

// write has the store take outputs, and commits them.
func (h *hand) write(outs ...*engine.Output) {
	h.t.Helper()
	for _, o := range outs {
		var err error
		if !o.Batch.Empty() {
			err = h.store.Apply(context.Background(), []*ax.Batch{o.Batch})[0]
		}
		if err != nil {
			h.t.Fatalf("batch %d: %v", o.Batch.Number, err)
		}
		h.back(nil, o)
	}
}

// back says how writes ended, without the store.
func (h *hand) back(err error, outs ...*engine.Output) {
	errs := make([]error, len(outs))
	for i := range errs {
		errs[i] = err
	}
	h.hear(h.node.Committed(outs, errs)...)
}

func (h *hand) want(request int, code ax.Code) {
	h.t.Helper()
	if a, ok := h.answer[request]; a.Code != code || !ok && code != 0 {
		h.t.Errorf("request %d is answered %v, want %v", request, a.Code, code)
	}
}

func ids(tasks []*ax.Task) (list []string) {
	for _, t := range tasks {
		list = append(list, t.ID)
	}
	slices.Sort(list)
	return list
}

// A claim of a task that is durable goes ahead of what is being synced; that of one which is not, does not, nor does that of
// another task of its key.
func TestClaimsGoAhead(t *testing.T) {
	h := newHand(t, engine.Config{Pipelined: true})
	h.submit("old", time.Second)
	h.submit("k/old", time.Second)
	h.write(h.flush(ax.Durable)...)
	h.submit("new", time.Second)
	h.submit("k/new", time.Hour)
	first := h.flush(ax.Durable)
	h.pass(2 * time.Second)
	h.node.Claim()
	second := h.flush(ax.Written, ax.Durable)
	early, late := second[0], second[1]
	if got := ids(early.Sends); !slices.Equal(got, []string{"old"}) {
		t.Errorf("%v go ahead", got)
	}
	if got := ids(late.Sends); !slices.Equal(got, []string{"k/old", "new"}) {
		t.Errorf("%v wait", got)
	}
	if early.Batch.Number+1 != late.Batch.Number || early.Batch.Number != first[0].Batch.Number+1 {
		t.Errorf("numbers %d, %d and %d", first[0].Batch.Number, early.Batch.Number, late.Batch.Number)
	}
	h.write(slices.Concat(first, second)...)
}

// What becomes of a task after its claim went ahead, before that is handed over, has the later number.
func TestChangeAfterEarlyClaim(t *testing.T) {
	h := newHand(t, engine.Config{Pipelined: true})
	h.submit("a", 0)
	h.submit("b", time.Second)
	h.write(h.flush(ax.Durable)...)
	h.pass(2 * time.Second)
	h.node.Claim()
	canceled := h.cancel("b")
	outs := h.flush(ax.Written, ax.Durable)
	if got := ids(outs[0].Batch.Move); !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("claimed: %v", got)
	}
	h.write(outs...) // refused, if the cancel came before the claim
	h.want(canceled, ax.Done)
	if got, err := h.store.Get(t.Context(), "b"); err != nil || got.State != ax.Running || got.Marks&ax.CancelAsked == 0 {
		t.Errorf("%v %v", got, err)
	}
	if c := h.node.TakeCancels(); len(c) == 0 {
		t.Error("the handler is not told")
	}
}

// Two durable batches at most are under way; claims go on; what piles up is the next batch.
func TestDepth(t *testing.T) {
	h := newHand(t, engine.Config{Pipelined: true})
	h.submit("due", time.Second)
	h.write(h.flush(ax.Durable)...)
	h.submit("a", time.Hour)
	one := h.flush(ax.Durable)
	h.submit("b", time.Hour)
	two := h.flush(ax.Durable)
	h.submit("c", time.Hour)
	h.flush()
	h.submit("d", time.Hour)
	h.pass(time.Second)
	h.node.Claim()
	claims := h.flush(ax.Written)
	h.back(nil, claims...)
	if got := ids(h.safe[len(h.safe)-1].Sends); !slices.Equal(got, []string{"due"}) {
		t.Errorf("sent: %v", got)
	}
	h.back(nil, one...)
	if three := h.flush(ax.Durable); len(three[0].Batch.Create) != 2 {
		t.Errorf("%d tasks are in the third batch", len(three[0].Batch.Create))
	}
	h.back(nil, two...)
}

// An answer that tells of what is not durable yet waits until it is.
func TestAnswerWaitsForWhatItTells(t *testing.T) {
	h := newHand(t, engine.Config{Pipelined: true})
	made := h.submit("a", time.Hour)
	outs := h.flush(ax.Durable)
	known, conflict := h.submit("a", time.Hour), h.submit("a", time.Hour, func(e *ax.Entry) { e.Task.Hash = 8 })
	h.flush()
	if len(h.answer) > 0 {
		t.Errorf("answered ahead of the disk: %v", h.answer)
	}
	h.write(outs...)
	h.want(made, ax.Made)
	h.want(known, ax.Known)
	h.want(conflict, ax.Conflict)
}

// When a write fails, all that is under way comes back before the partition is opened again. What was written is answered,
// what was not is done again, and nothing is answered twice.
func TestAllOfAPartitionFail(t *testing.T) {
	for _, written := range []int{0, 1, 2, 3} { // so many of the batches are in the store
		for _, order := range [][]int{{0, 1, 2}, {1, 0, 2}, {1, 2, 0}} {
			t.Run(fmt.Sprint(written, " written, back in the order ", order), func(t *testing.T) {
				h := newHand(t, engine.Config{Pipelined: true})
				h.submit("due", time.Second)
				h.write(h.flush(ax.Durable)...)
				a := h.submit("a", time.Hour)
				outs := h.flush(ax.Durable)
				b := h.submit("b", time.Hour)
				h.pass(time.Second)
				h.node.Claim()
				outs = append(outs, h.flush(ax.Written, ax.Durable)...)
				again := h.submit("a", time.Hour)
				h.flush()
				for _, o := range outs[:written] {
					if err := h.store.Apply(t.Context(), []*ax.Batch{o.Batch})[0]; err != nil {
						t.Fatal(err)
					}
				}
				cause := errors.New("the disk")
				for i, k := range order {
					err := ax.ErrGap
					switch {
					case k == 0:
						err = cause
					case k == 1 && i == 0 && written > 1:
						err = nil // claims that came back before the batch before them failed
					}
					if broken, _ := h.node.Broken(); len(broken) > 0 {
						t.Errorf("broken with %d of 3 back", i)
					}
					h.back(err, outs[k])
					h.flush()
				}
				if broken, errs := h.node.Broken(); len(broken) != 1 || errs[0] != cause {
					t.Errorf("broken: %v %v", broken, errs)
				}
				if len(h.answer) > 1 {
					t.Errorf("answered before it is known: %v", h.answer)
				}
				h.own()
				h.write(h.node.Flush()...)
				h.want(a, ax.Made)
				h.want(b, ax.Made)
				h.want(again, ax.Known)
				h.node.Claim()
				h.write(h.node.Flush()...)
				sends := 0
				for _, o := range h.safe {
					sends += len(o.Sends)
				}
				if sends != 1 {
					t.Errorf("sent %d times", sends)
				}
				for _, id := range []string{"a", "b", "due"} {
					if _, err := h.store.Get(t.Context(), id); err != nil {
						t.Error(err)
					}
				}
				if h.node.Counts.Pending() != 3 {
					t.Errorf("%+v", h.node.Counts)
				}
			})
		}
	}
}

// Whoever waits for a batch under way is told when the partition is given up, and the workers of its claims are free.
func TestDropWithBatchesUnderWay(t *testing.T) {
	h := newHand(t, engine.Config{Pipelined: true})
	h.submit("due", time.Second)
	h.write(h.flush(ax.Durable)...)
	h.submit("a", time.Hour)
	outs := h.flush(ax.Durable)
	h.submit("b", 0)
	h.pass(time.Second)
	h.node.Claim()
	outs = append(outs, h.flush(ax.Written, ax.Durable)...)
	h.submit("c", time.Hour)
	replies, _ := h.node.Drop(0)
	if len(replies) != 3 {
		t.Errorf("%d replies", len(replies))
	}
	for _, r := range replies {
		if !errors.Is(r.Answer.Err, ax.ErrUnknown) {
			t.Errorf("%v", r.Answer)
		}
	}
	h.own() // it comes back before they do
	for i := range 10 {
		h.submit(fmt.Sprint("more-", i), 0)
	}
	h.node.Claim()
	got := h.flush(ax.Written, ax.Durable)
	if n := len(got[0].Sends) + len(got[1].Sends); n != 10 {
		t.Errorf("%d workers are free of 10", n)
	}
	h.back(nil, outs...)
}

// An attempt of an earlier era is interrupted and counts, whether it ran, was asked to stop, or was held; a later opening in the
// same era leaves attempts alone.
func TestEra(t *testing.T) {
	h := newHand(t, engine.Config{})
	for _, id := range []string{"retried", "used-up", "canceled", "held"} {
		h.submit(id, 0, func(e *ax.Entry) {
			e.Task.Flags |= ax.HoldLost
			if id == "used-up" {
				e.Task.MaxRetries = 0
			}
		})
	}
	h.write(h.flush(ax.Durable)...)
	h.node.Claim()
	h.write(h.flush(ax.Written)...)
	h.cancel("canceled")
	h.write(h.flush(ax.Durable)...)
	held, err := h.store.Get(t.Context(), "held")
	if err != nil {
		t.Fatal(err)
	}
	copied := *held
	copied.State = ax.Held
	opened, err := h.store.Open(t.Context(), 0, h.token)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.store.Apply(t.Context(), []*ax.Batch{{Token: h.token, Number: opened.Number + 1, Move: []*ax.Task{&copied}}})[0]; err != nil {
		t.Fatal(err)
	}
	next := newHand(t, engine.Config{Era: h.token.Era + 1})
	next.node.Drop(0)
	next.store, next.token = h.store, ax.Token{Era: h.token.Era + 1, Revision: 1}
	next.own()
	next.write(next.node.Flush()...)
	for id, want := range map[string]ax.State{"retried": ax.Scheduled, "used-up": ax.Failed, "canceled": ax.Canceled, "held": ax.Scheduled} {
		got, err := h.store.Get(t.Context(), id)
		if err != nil {
			t.Error(err)
			continue
		}
		if got.State != want || got.Last.Outcome != ax.OutcomeInterrupted || got.Attempt != 1 || want != ax.Canceled && got.Last.Error != "its process ended before it did" {
			t.Errorf("%s is %v after attempt %d, which was %v: %s", id, got.State, got.Attempt, got.Last.Outcome, got.Last.Error)
		}
	}
	if c := next.node.Counts; c.Running != 0 || c.Held != 0 || c.Scheduled != 2 {
		t.Errorf("%+v", c)
	}
	next.pass(24 * time.Hour)
	next.node.Claim()
	next.write(next.node.Flush()...)
	next.submit("refused", time.Hour)
	next.back(ax.ErrUnknown, next.node.Flush()...)
	before := next.node.Counts
	next.own()
	if after := next.node.Counts; after.Running != 2 || after.Running != before.Running {
		t.Errorf("%+v, then %+v", before, after)
	}
}

// A submission whose id was made before what has been forgotten is refused also if it is admitted anew, because its first
// write failed.
func TestTooOldAfterReopening(t *testing.T) {
	h := newHand(t, engine.Config{})
	made := ax.Time(h.now.Wall)
	h.pass(time.Second)
	h.submit("a", time.Hour)
	h.write(h.flush(ax.Durable)...)
	h.cancel("a")
	h.write(h.node.Flush()...)
	for _, o := range h.safe {
		h.node.Archived(engine.Filing{Ended: o.Ended})
	}
	h.write(h.node.Flush()...)
	again := h.submit("a", time.Hour, func(e *ax.Entry) { e.Made = made })
	other := h.submit("other", time.Hour)
	outs := h.node.Flush() // still remembered
	h.back(ax.ErrUnknown, outs...)
	h.pass(time.Hour) // now forgotten
	h.own()
	h.write(h.node.Flush()...)
	h.want(again, ax.Expired)
	h.want(other, ax.Made)
}
