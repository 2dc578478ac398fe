package journal_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/axtest"
	"github.com/axsched/ax/internal/disk/faulty"
	"github.com/axsched/ax/journal"
	"github.com/axsched/ax/sched"
)

// machine is a machine on which one program with a scheduler and a journal runs, crashes, and is started again.
type machine struct {
	t     *testing.T
	fs    *faulty.FS
	clock *axtest.Clock
	mux   func(*life) *ax.Mux
	event func(*life, sched.Event) // may be nil
	cfg   sched.Config

	lives int
	life  *life
}

// life is one life of the program.
type life struct {
	number int
	b      *journal.Backend
	s      *sched.Scheduler
	dead   atomic.Bool // what handlers do now reaches nobody
}

func newMachine(t *testing.T, mux func(*life) *ax.Mux) *machine {
	return &machine{t: t, fs: faulty.New(), clock: axtest.NewClock(), mux: mux}
}

// start starts the program.
func (m *machine) start() *life {
	m.t.Helper()
	b, err := journal.Open("", journal.Config{Now: m.clock.Now}.On(m.fs, 256<<10))
	if err != nil {
		m.t.Fatal(err)
	}
	m.lives++
	l := &life{number: m.lives, b: b}
	cfg := m.cfg
	if m.event != nil {
		cfg.OnEvent = func(e sched.Event) { m.event(l, e) }
	}
	cfg.Mux, cfg.Store, cfg.Registry, cfg.Clock, cfg.Node = m.mux(l), b, b, m.clock, "node"
	if l.s, err = sched.New(cfg); err != nil {
		m.t.Fatal(err)
	}
	if err := l.s.Start(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
	m.life = l
	return l
}

// crash ends the program with kill -9, or the machine with a power cut if rng is given. What is left of the program is
// cleared away, which reaches nothing.
func (m *machine) crash(rng *rand.Rand) {
	m.life.dead.Store(true)
	if rng == nil {
		m.fs = m.fs.Kill()
	} else {
		m.fs = m.fs.PowerCut(rng)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _ = m.life.s.Stop(ctx)
	m.life.b.Close()
	synctest.Wait()
}

// stop ends the program in good order.
func (m *machine) stop() sched.Receipt {
	m.t.Helper()
	r, err := m.life.s.Stop(context.Background())
	if err != nil {
		m.t.Error(err)
	}
	if err := m.life.b.Close(); err != nil {
		m.t.Error(err)
	}
	return r
}

// log notes what handlers did, as an outside ledger would: nothing of a dead program gets into it.
type log struct {
	mu     sync.Mutex
	starts map[string][]entry
}

type entry struct {
	life  int
	at    time.Time
	token ax.AttemptToken
}

func (g *log) start(l *life, ctx context.Context, t *ax.Task) {
	if l.dead.Load() {
		return
	}
	token := ax.TokenFrom(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.starts == nil {
		g.starts = map[string][]entry{}
	}
	g.starts[t.ID] = append(g.starts[t.ID], entry{l.number, time.Now(), token})
}

func (g *log) of(id string) []entry {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.starts[id]
}

// muxOf registers one handler.
func muxOf(f ax.HandlerFunc) *ax.Mux {
	mux := ax.NewMux()
	mux.Handle("work", f)
	return mux
}

// bubble runs a test in virtual time.
func bubble(t *testing.T, f func(t *testing.T)) { synctest.Test(t, f) }

func submit(t *testing.T, s *sched.Scheduler, sub ax.Submission) {
	t.Helper()
	sub.Kind = "work"
	if a, err := s.Submit(t.Context(), sub); err != nil || a.Code != ax.Made {
		t.Fatalf("submit %s: %v, %v", sub.ID, a, err)
	}
}

func state(t *testing.T, s *sched.Scheduler, id string) *ax.Task {
	t.Helper()
	got, err := s.Get(t.Context(), id)
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	return got
}

// TestC52_CrashBetweenClaimAndEnd kills the program (a) while a claimed task waits for a worker or runs, (b) after its
// handler has done its work and before that is stored, (c) across the due time. Each task has at least one completed run,
// and none is held.
func TestC52_CrashBetweenClaimAndEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var g log
		m := newMachine(t, func(l *life) *ax.Mux {
			return muxOf(func(ctx context.Context, t *ax.Task) error {
				g.start(l, ctx, t)
				if l.number == 1 && t.ID == "slow" {
					<-ctx.Done()
				}
				return nil
			})
		})
		l := m.start()
		submit(t, l.s, ax.Submission{ID: "slow"})                                      // (a)
		submit(t, l.s, ax.Submission{ID: "later", In: 10 * time.Second})               // (c)
		submit(t, l.s, ax.Submission{ID: "tomorrow", In: 26 * time.Hour})              // beyond any horizon
		m.fs.OnSync(func() { time.Sleep(5 * time.Second) })                            // (b): what ends now is not stored
		go l.s.Submit(context.Background(), ax.Submission{ID: "unsure", Kind: "work"}) // nobody waits for its answer
		time.Sleep(time.Second)
		m.crash(rand.New(rand.NewPCG(3, 3)))
		time.Sleep(time.Minute)
		l = m.start()
		time.Sleep(time.Minute)
		for _, id := range []string{"slow", "later"} {
			if got := state(t, l.s, id); got.State != ax.Success {
				t.Errorf("%s: %v", id, got)
			}
		}
		if n := len(g.of("later")); n != 1 {
			t.Errorf("later ran %d times", n)
		}
		if got := state(t, l.s, "slow"); got.Attempts()[0].Outcome != ax.OutcomeInterrupted || len(g.of("slow")) != 2 {
			t.Errorf("slow: first attempt %v, %d starts", got.Attempts()[0], len(g.of("slow")))
		}
		time.Sleep(27 * time.Hour)
		if got, n := state(t, l.s, "tomorrow"), len(g.of("tomorrow")); got.State != ax.Success || n != 1 {
			t.Errorf("tomorrow: %v, ran %d times", got, n)
		}
		m.stop()
	})
}

// TestC72_BackBeforeAnyoneNotices kills the program and starts it again at once: what it was running is retried at once,
// whatever its timeout, its lost policy and the lease of the dead process say.
func TestC72_BackBeforeAnyoneNotices(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var g log
		m := newMachine(t, func(l *life) *ax.Mux {
			return muxOf(func(ctx context.Context, t *ax.Task) error {
				g.start(l, ctx, t)
				if l.number == 1 {
					<-ctx.Done()
				}
				return nil
			})
		})
		m.cfg.LeaseTTL = time.Hour
		l := m.start()
		submit(t, l.s, ax.Submission{ID: "held", Timeout: 10 * time.Minute, HoldLost: true})
		time.Sleep(5 * time.Second)
		m.crash(nil)
		time.Sleep(3 * time.Second)
		l = m.start()
		time.Sleep(10 * time.Second) // the backoff
		got := state(t, l.s, "held")
		if got.State != ax.Success || got.Attempt != 2 {
			t.Errorf("%v", got)
		}
		if a := got.Attempts()[0]; a.Outcome != ax.OutcomeInterrupted || a.Error == "" {
			t.Errorf("the attempt of the dead process: %+v", a)
		}
		if st := l.s.Stats(); st.Held != 0 {
			t.Errorf("%d held", st.Held)
		}
		if s := g.of("held"); len(s) != 2 || s[1].token.Compare(s[0].token) <= 0 {
			t.Errorf("starts %v", s)
		}
		m.stop()
	})
}

// TestC85_TaskThatKillsItsProcess starts a task that kills its process each time: it ends FAILED after its attempts, and
// the tasks beside it succeed.
func TestC85_TaskThatKillsItsProcess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var g log
		kill := make(chan struct{}, 1) // holds one: the process is to die
		m := newMachine(t, func(l *life) *ax.Mux {
			return muxOf(func(ctx context.Context, t *ax.Task) error {
				g.start(l, ctx, t)
				if t.ID == "poison" {
					kill <- struct{}{}
					<-ctx.Done()
				}
				return nil
			})
		})
		l := m.start()
		submit(t, l.s, ax.Submission{ID: "poison", MaxRetries: 3})
		for i := range 20 {
			submit(t, l.s, ax.Submission{ID: fmt.Sprint("beside-", i), In: time.Duration(i) * time.Second})
		}
		deaths := 0
		for deaths < 10 {
			select {
			case <-kill:
				deaths++
				synctest.Wait() // its claim is written
				m.crash(nil)
				time.Sleep(time.Second)
				l = m.start()
				continue
			case <-time.After(5 * time.Minute): // far longer than any backoff of three retries
			}
			break
		}
		if got := state(t, l.s, "poison"); got.State != ax.Failed || deaths != 4 || got.Attempt != 4 {
			t.Errorf("after %d deaths: %v", deaths, got)
		}
		for i := range 20 {
			if got := state(t, l.s, fmt.Sprint("beside-", i)); got.State != ax.Success {
				t.Errorf("%v", got)
			}
		}
		m.stop()
	})
}

// TestC51_RestartsUntilDue restarts the program many times while a task waits: it runs once, when it is due.
func TestC51_RestartsUntilDue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var g log
		m := newMachine(t, func(l *life) *ax.Mux {
			return muxOf(func(ctx context.Context, t *ax.Task) error { g.start(l, ctx, t); return nil })
		})
		l := m.start()
		began := time.Now()
		submit(t, l.s, ax.Submission{ID: "waits", In: 6 * time.Hour})
		for i := range 10 {
			time.Sleep(30 * time.Minute)
			if i%2 == 0 {
				m.crash(rand.New(rand.NewPCG(uint64(i), 1)))
			} else {
				m.stop()
			}
			m.start()
		}
		time.Sleep(2 * time.Hour)
		s := g.of("waits")
		if len(s) != 1 || s[0].at.Sub(began).Truncate(time.Millisecond) != 6*time.Hour {
			t.Errorf("starts %v, submitted at %v", s, began)
		}
		m.stop()
	})
}

// TestC55_OnDisk moves or cancels a task at the last moment, and the process dies right after: what was answered holds.
func TestC55_OnDisk(t *testing.T) {
	for round := range 40 {
		bubble(t, func(t *testing.T) {
			var g log
			m := newMachine(t, func(l *life) *ax.Mux {
				return muxOf(func(ctx context.Context, t *ax.Task) error { g.start(l, ctx, t); return nil })
			})
			l := m.start()
			began := time.Now()
			submit(t, l.s, ax.Submission{ID: "k", In: time.Second})
			time.Sleep(time.Second - time.Duration(round%20)*100*time.Microsecond)
			var err error
			if round%2 == 0 {
				_, err = l.s.Cancel(t.Context(), "k")
			} else {
				_, err = l.s.RescheduleIn(t.Context(), "k", 2*time.Second)
			}
			m.crash(rand.New(rand.NewPCG(uint64(round), 1)))
			l = m.start()
			time.Sleep(time.Minute)
			s, got := g.of("k"), state(t, l.s, "k")
			switch {
			case err == nil && round%2 == 0:
				if len(s) > 1 || len(s) == 0 && got.State != ax.Canceled || len(s) == 1 && got.State != ax.Canceled && got.State != ax.Success {
					t.Errorf("round %d: canceled, and %d starts, %v", round, len(s), got)
				}
			case err == nil:
				if len(s) != 1 || s[0].at.Sub(began) < 2900*time.Millisecond || got.State != ax.Success {
					t.Errorf("round %d: moved, and %d starts, %v", round, len(s), got)
				}
			default: // too late: the old run is the only one
				if len(s) == 0 || got.State != ax.Success {
					t.Errorf("round %d: %v, and %d starts, %v", round, err, len(s), got)
				}
			}
			m.stop()
		})
	}
}

// TestC82_DiskAway fills the disk under a running program, and frees it after a minute: submissions fail at once with a
// reason, what runs ends, and all goes on by itself.
func TestC82_DiskAway(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var g log
		m := newMachine(t, func(l *life) *ax.Mux {
			return muxOf(func(ctx context.Context, t *ax.Task) error {
				g.start(l, ctx, t)
				time.Sleep(30 * time.Second)
				return nil
			})
		})
		l := m.start()
		for i := range 50 {
			submit(t, l.s, ax.Submission{ID: fmt.Sprint("before-", i)})
		}
		synctest.Wait()
		m.fs.Space(m.fs.Used())
		var refused error
		for i := 0; refused == nil && i < 20_000; i++ {
			_, refused = l.s.Submit(t.Context(), ax.Submission{ID: fmt.Sprint("fill-", i), Kind: "work", In: 10 * time.Hour, Payload: make([]byte, 1000)})
			synctest.Wait()
		}
		if !errors.Is(refused, ax.ErrNoSpace) {
			t.Fatalf("on a full disk: %v", refused)
		}
		began := time.Now()
		if _, err := l.s.Submit(t.Context(), ax.Submission{ID: "during", Kind: "work"}); !errors.Is(err, ax.ErrNoSpace) || time.Since(began) > time.Second {
			t.Errorf("on a full disk: %v, after %v", err, time.Since(began))
		}
		time.Sleep(time.Minute)
		for i := range 50 {
			if got := state(t, l.s, fmt.Sprint("before-", i)); got.State != ax.Success {
				t.Errorf("on a full disk: %v", got)
			}
		}
		m.fs.Space(0)
		time.Sleep(5 * time.Second)
		submit(t, l.s, ax.Submission{ID: "after"})
		time.Sleep(time.Minute)
		if got := state(t, l.s, "after"); got.State != ax.Success {
			t.Errorf("with room again: %v", got)
		}
		m.stop()
	})
}

// TestDiskDead fails a sync under a running program: every caller is told why, nothing hangs, and the next program has
// what was confirmed.
func TestDiskDead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var g log
		m := newMachine(t, func(l *life) *ax.Mux {
			return muxOf(func(ctx context.Context, t *ax.Task) error { g.start(l, ctx, t); return nil })
		})
		l := m.start()
		submit(t, l.s, ax.Submission{ID: "confirmed", In: time.Hour})
		synctest.Wait()
		m.fs.FailSync(1)
		if _, err := l.s.Submit(t.Context(), ax.Submission{ID: "unknown", Kind: "work", In: time.Hour}); err == nil {
			t.Error("a submission that could not be synced was confirmed")
		}
		synctest.Wait()
		_, err := l.s.Submit(t.Context(), ax.Submission{ID: "refused", Kind: "work", In: time.Hour})
		if err == nil {
			t.Error("a submission to a dead store was confirmed")
		}
		if err != nil && !errors.Is(err, ax.ErrClosed) {
			t.Errorf("it does not say why: %v", err)
		}
		m.crash(rand.New(rand.NewPCG(1, 1)))
		l = m.start()
		if got := state(t, l.s, "confirmed"); got.State != ax.Scheduled {
			t.Errorf("%v", got)
		}
		m.stop()
	})
}
