package sched_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/axtest"
	"github.com/axsched/ax/memory"
	"github.com/axsched/ax/sched"
	"github.com/axsched/ax/storetest"
)

// finishing is a faulty store that still files what ends in its own archive.
type finishing struct {
	*storetest.Faulty
	b *memory.Backend
}

func (f finishing) Archive() ax.Archive { return f.b.Archive() }

// Writes fail, before they are done or after, now and then: opening again settles it. Nobody gets a wrong answer, every
// task runs to its end, none is lost or done twice by the books.
func TestWritesFail(t *testing.T) {
	for _, effect := range []string{"refuse", "lose"} {
		for _, finisher := range []bool{false, true} {
			for _, every := range []int{2, 3, 7} {
				name := fmt.Sprint(effect, " every ", every, ", finisher ", finisher)
				t.Run(name, func(t *testing.T) {
					bubble(t, func(t *testing.T, r *recorder) {
						clock := axtest.NewClock()
						b := backend(clock, memory.Config{Partitions: 2})
						var plan strings.Builder
						for i := every; i < 200*every; i += every {
							plan.WriteString(fmt.Sprintln("apply", i, effect))
						}
						faulty, err := storetest.NewFaulty(b, plan.String())
						if err != nil {
							t.Fatal(err)
						}
						var events eventLog
						cfg := sched.Config{Store: faulty, Registry: b, Archive: b.Archive(), Clock: clock, Partitions: 2, Workers: 5, OnEvent: events.add,
							Limits: sched.Limits{EachKey: sched.Limit{Concurrent: 2}, Kinds: map[string]sched.Limit{"work": {Concurrent: 4}}}}
						cfg.Mux = one(r.handler(func(_ context.Context, task *ax.Task) error {
							time.Sleep(10 * time.Millisecond)
							if task.Attempt == 1 && len(task.ID)%3 == 0 {
								return errWork
							}
							return nil
						}))
						if finisher {
							cfg.Store, cfg.Archive = finishing{faulty, b}, nil
						}
						s := begin(t, cfg)
						const n = 200
						answers := make([]ax.Answer, n)
						for i := range n {
							a, err := s.Submit(t.Context(), ax.Submission{ID: fmt.Sprintf("k%d/%d", i%7, i), Kind: "work", In: time.Duration(i%5) * time.Millisecond,
								Ordered: i%2 == 0, Backoff: ax.Backoff{Base: 5 * time.Millisecond}})
							if err != nil || a.Code != ax.Made {
								t.Fatalf("submission %d: %v %v", i, a.Code, err)
							}
							answers[i] = a
							if i%10 == 9 {
								again, err := s.Submit(t.Context(), ax.Submission{ID: a.ID, Kind: "work", In: time.Duration(i%5) * time.Millisecond,
									Ordered: i%2 == 0, Backoff: ax.Backoff{Base: 5 * time.Millisecond}})
								if err != nil || again.Code != ax.Known {
									t.Fatalf("submission %d again: %v %v", i, again.Code, err)
								}
							}
						}
						axtest.Wait(10 * time.Minute)
						seen := map[string]int{}
						for _, e := range events.all() {
							seen[e.Task.ID]++
						}
						for i, a := range answers {
							task := axtest.RequireState(t, s, a.ID, ax.Success)
							tries := 1
							if len(a.ID)%3 == 0 {
								tries = 2
							}
							if starts, noted := len(r.of(a.ID)), begun(task); starts != tries || noted != tries || int(task.Attempt) != tries {
								t.Errorf("task %d started %d times, %d are noted, the last is number %d, want %d", i, starts, noted, task.Attempt, tries)
							}
							if seen[a.ID] != 1 {
								t.Errorf("task %d: %d events", i, seen[a.ID])
							}
						}
						if st := s.Stats(); st.Submitted != n || st.Succeeded != n || st.Pending != 0 || st.Running != 0 || st.Overrun != 0 {
							t.Errorf("%+v", st)
						}
						if faulty.Calls("apply") < 20 {
							t.Errorf("only %d writes", faulty.Calls("apply"))
						}
					})
				})
			}
		}
	}
}

// begun counts the attempts whose handler began: others were claimed and handed back.
func begun(t *ax.Task) (n int) {
	for _, a := range t.Attempts() {
		if a.Started != 0 {
			n++
		}
	}
	return n
}

// The store has no room: submissions hear so, what runs goes on, and nothing spins.
func TestNoSpace(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock := axtest.NewClock()
		b := backend(clock, memory.Config{Capacity: 10})
		var applies atomic.Int64
		log := &logBook{}
		cfg := with(b, sched.Config{Mux: one(r.handler(nil)), Clock: clock, Logger: log.logger()}, func(_ []*ax.Batch, do func() []error) []error {
			applies.Add(1)
			return do()
		})
		s := begin(t, cfg)
		submitAll(t, s, many(10, "t", ax.Submission{In: time.Hour}))
		for range 5 {
			a, err := s.Submit(t.Context(), ax.Submission{ID: "more", Kind: "work"})
			want(t, "one too many", a, err, ax.Refused, 0, ax.ErrNoSpace)
		}
		applies.Store(0)
		axtest.Wait(10 * time.Minute)
		if n := applies.Load(); n > 100 {
			t.Errorf("%d writes in 10 quiet minutes", n)
		}
		if _, err := s.Cancel(t.Context(), "t-0"); err != nil {
			t.Error(err)
		}
		axtest.Wait(time.Second)
		submit(t, s, ax.Submission{ID: "fits", In: time.Hour})
		axtest.Wait(2 * time.Hour)
		if st := s.Stats(); st.Succeeded != 10 || st.Pending != 0 {
			t.Errorf("%d succeeded, %d pending", st.Succeeded, st.Pending)
		}
	})
}

// The store is away for a minute: callers wait or give up knowing that nobody knows, nothing spins, and then all goes on.
func TestStoreAway(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock := axtest.NewClock()
		var down atomic.Bool
		var applies atomic.Int64
		cfg := with(backend(clock, memory.Config{}), sched.Config{Mux: one(r.handler(nil)), Clock: clock}, func(b []*ax.Batch, do func() []error) []error {
			applies.Add(1)
			if down.Load() {
				return unknown(b)
			}
			return do()
		})
		s := begin(t, cfg)
		submitAll(t, s, many(10, "t", ax.Submission{In: 30 * time.Second}))
		down.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := s.Submit(ctx, ax.Submission{ID: "gives-up", Kind: "work"})
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ax.ErrUnknown) {
			t.Errorf("who gives up hears %v", err)
		}
		var group sync.WaitGroup
		group.Go(func() {
			if a, err := s.Submit(context.Background(), ax.Submission{ID: "waits", Kind: "work"}); err != nil || a.Code != ax.Made {
				t.Errorf("who waits hears %v %v", a.Code, err)
			}
		})
		axtest.Wait(55 * time.Second)
		if n := applies.Load(); n > 100 {
			t.Errorf("%d writes in a minute without a store", n)
		}
		if len(r.all()) != 0 {
			t.Errorf("%d ran without their claim being written", len(r.all()))
		}
		down.Store(false)
		group.Wait()
		axtest.Wait(5 * time.Second)
		for i := range 10 {
			if n := len(r.of(fmt.Sprint("t-", i))); n != 1 {
				t.Errorf("t-%d started %d times", i, n)
			}
		}
		if n := len(r.of("gives-up")); n > 1 {
			t.Errorf("started %d times", n)
		}
		axtest.RequireState(t, s, "waits", ax.Success)
	})
}

// A shutdown while the store is away ends in bounded time, and answers whoever waits.
func TestShutdownWhileStoreIsAway(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock := axtest.NewClock()
		var down atomic.Bool
		s := axtest.Start(t, with(backend(clock, memory.Config{}), sched.Config{Mux: one(r.handler(nil)), Clock: clock}, func(b []*ax.Batch, do func() []error) []error {
			if down.Load() {
				return unknown(b)
			}
			return do()
		}))
		submit(t, s, ax.Submission{ID: "a", In: time.Hour})
		down.Store(true)
		var group sync.WaitGroup
		group.Go(func() {
			a, err := s.Submit(context.Background(), ax.Submission{ID: "b", Kind: "work"})
			if a.Code != ax.Refused || !errors.Is(err, ax.ErrUnknown) {
				t.Errorf("who waits hears %v %v", a.Code, err)
			}
		})
		axtest.Wait(time.Minute)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		begun := time.Now()
		if _, err := s.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if took := time.Since(begun); took > 12*time.Second {
			t.Errorf("the drain took %v", took)
		}
		group.Wait()
	})
}

// Reads fail too, and open and scan during a reopening.
func TestReopeningFails(t *testing.T) {
	bubble(t, func(t *testing.T, r *recorder) {
		clock := axtest.NewClock()
		b := backend(clock, memory.Config{})
		faulty, err := storetest.NewFaulty(b, "apply 5 lose\napply 9 refuse\nopen 2-4 refuse\nscan 20-22 refuse\nscan 12 lose\nopen 6 lose")
		if err != nil {
			t.Fatal(err)
		}
		s := begin(t, sched.Config{Store: faulty, Registry: b, Archive: b.Archive(), Clock: clock, Mux: one(r.handler(nil))})
		for i := range 20 {
			submit(t, s, ax.Submission{ID: fmt.Sprint("t-", i), In: time.Second})
		}
		axtest.Wait(time.Minute)
		if st := s.Stats(); st.Succeeded != 20 || st.Submitted != 20 {
			t.Errorf("%d submitted, %d succeeded", st.Submitted, st.Succeeded)
		}
	})
}

// Random faults in every method, random calls by several callers, slow writes: what was answered holds at the end.
func TestRandomFaults(t *testing.T) {
	seeds := 20
	if testing.Short() {
		seeds = 3
	}
	again, _ := strconv.ParseUint(os.Getenv("AX_SEED"), 10, 64)
	for range seeds {
		seed := rand.Uint64()
		if again != 0 {
			seed = again
		}
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Logf("once more, as far as goroutines allow: AX_SEED=%d go test ./sched -run TestRandomFaults", seed)
			bubble(t, func(t *testing.T, r *recorder) { randomFaults(t, r, seed) })
		})
	}
}

func randomFaults(t *testing.T, r *recorder, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	clock := axtest.NewClock()
	b := backend(clock, memory.Config{Partitions: 3})
	var plan strings.Builder
	for _, method := range []string{"apply", "apply", "open", "scan"} {
		for i := 40; i < 2000; i += 1 + rng.IntN(20) { // after the start, which fails if its reads do
			plan.WriteString(fmt.Sprintln(method, i, []string{"refuse", "lose", "hold", "holdafter"}[rng.IntN(4)]))
		}
	}
	faulty, err := storetest.NewFaulty(b, plan.String())
	if err != nil {
		t.Fatal(err)
	}
	faulty.Hold = func(context.Context, string, int) { time.Sleep(time.Duration(1+rand.IntN(50)) * time.Millisecond) }
	cfg := sched.Config{Store: faulty, Registry: b, Archive: b.Archive(), Clock: clock, Partitions: 3, Workers: 4,
		Mux: one(r.handler(func(ctx context.Context, task *ax.Task) error {
			if err := obey(5*time.Millisecond)(ctx, task); err != nil {
				return err
			}
			if task.Attempt == 1 && len(task.ID)%4 == 0 {
				return errWork
			}
			return nil
		}))}
	if rng.IntN(2) == 0 {
		cfg.Store, cfg.Archive = finishing{faulty, b}, nil
	}
	s := begin(t, cfg)
	type said struct {
		made, canceled, refused bool
		state                   ax.State
	}
	var mu sync.Mutex
	what := map[string]said{}
	var group sync.WaitGroup
	for g := range 5 {
		group.Go(func() {
			for i := range 40 {
				id := fmt.Sprintf("k%d/%d-%d", i%4, g, i)
				a, err := s.Submit(context.Background(), ax.Submission{ID: id, Kind: "work", In: time.Duration(i%3) * 20 * time.Millisecond, Ordered: i%5 == 0, Backoff: ax.Backoff{Base: 5 * time.Millisecond}})
				say := said{made: err == nil && a.Code == ax.Made}
				if !say.made {
					t.Errorf("%s: %v %v", id, a.Code, err)
				}
				if i%3 == 1 {
					a, err := s.Cancel(context.Background(), id)
					say.canceled, say.state = err == nil, a.State
					if say.refused = errors.Is(err, ax.ErrFinished); err != nil && !say.refused {
						t.Errorf("cancel %s: %v", id, err)
					}
				}
				if i%7 == 2 {
					s.RunNow(context.Background(), id)
				}
				mu.Lock()
				what[id] = say
				mu.Unlock()
			}
		})
	}
	group.Wait()
	axtest.Wait(time.Hour / 2)
	ended := 0
	for id, say := range what {
		task := axtest.Get(t, s, id)
		switch {
		case !task.State.Terminal():
			t.Errorf("%v has not ended", task)
		case say.canceled && say.state == ax.Canceled && task.State != ax.Canceled:
			t.Errorf("%s was answered CANCELED and is %v", id, task.State)
		case say.refused && say.state != task.State:
			t.Errorf("%s was answered %v and is %v", id, say.state, task.State)
		}
		for _, a := range task.Attempts() {
			if a.Outcome == ax.Ongoing || a.Outcome == ax.OutcomeLost {
				t.Errorf("%s: attempt %d is %v", id, a.N, a.Outcome)
			}
		}
		starts := r.of(id)
		for i := 1; i < len(starts); i++ {
			if starts[i].token.Compare(starts[i-1].token) <= 0 {
				t.Errorf("%s: tokens do not grow", id)
			}
		}
		if len(starts) != begun(task) {
			t.Errorf("%s started %d times, %d are noted", id, len(starts), begun(task))
		}
		ended++
	}
	if st := s.Stats(); st.Submitted != ended || st.Pending != 0 || st.Running != 0 {
		t.Errorf("%d tasks, stats: submitted %d, pending %d", ended, st.Submitted, st.Pending)
	}
}
