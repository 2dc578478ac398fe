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
	"github.com/axsched/ax/sched"
)

// TestLives runs a whole program, scheduler and journal, through power cuts and kills at random instants, and lets it end
// in peace: every submission that was confirmed is there and ends, no terminal state that anybody was told is undone,
// nothing is held, nothing starts early, two attempts of a task never run at once, and tokens grow. AX_SEEDS (500) seeds,
// or the one of AX_SEED.
func TestLives(t *testing.T) {
	first, count := uint64(1), number(t, "AX_SEEDS", 500)
	if one := number(t, "AX_SEED", 0); one > 0 {
		first, count = one, 1
	}
	var crashes, confirmed, unsure, ended atomic.Int64
	for seed := first; seed < first+count && !t.Failed(); seed++ {
		synctest.Test(t, func(t *testing.T) {
			p := newProgram(t, seed)
			p.run()
			crashes.Add(int64(p.m.lives - 1))
			confirmed.Add(int64(len(p.confirmed)))
			unsure.Add(int64(len(p.unsure)))
			ended.Add(int64(len(p.told)))
		})
	}
	t.Logf("%d seeds: %d crashes; %d submissions confirmed, %d not; %d ends were told", count, crashes.Load(), confirmed.Load(), unsure.Load(), ended.Load())
	if count >= 100 && (crashes.Load() == 0 || unsure.Load() == 0 || ended.Load() == 0) {
		t.Error("too little happened: the drill shows nothing")
	}
}

// program is one program through its lives, and what an observer outside knows of it.
type program struct {
	t    *testing.T
	seed uint64
	rng  *rand.Rand
	m    *machine

	mu        sync.Mutex // guards all below
	next      int
	confirmed map[string]time.Time // by id: when it is due at the earliest
	unsure    map[string]bool      // submitted, and not answered
	canceled  map[string]bool      // a cancel was asked for: it may end CANCELED
	told      map[string]ax.State  // ends that were told
	running   map[string]int       // attempts that run in the present life
	tokens    map[string]ax.AttemptToken
}

func newProgram(t *testing.T, seed uint64) *program {
	p := &program{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 99)), confirmed: map[string]time.Time{}, unsure: map[string]bool{},
		canceled: map[string]bool{}, told: map[string]ax.State{}, running: map[string]int{}, tokens: map[string]ax.AttemptToken{}}
	p.m = newMachine(t, p.mux)
	p.m.event = p.event
	p.m.cfg = sched.Config{Workers: 1 + p.rng.IntN(8)}
	return p
}

func (p *program) errorf(format string, args ...any) {
	p.t.Errorf("seed %d: "+format, append([]any{p.seed}, args...)...)
}

// mux has one handler, whose ways depend on the id.
func (p *program) mux(l *life) *ax.Mux {
	return muxOf(func(ctx context.Context, t *ax.Task) error {
		if l.dead.Load() {
			return errors.New("dead")
		}
		token := ax.TokenFrom(ctx)
		p.mu.Lock()
		if due := p.confirmed[t.ID]; time.Now().Before(due.Truncate(time.Microsecond)) {
			p.errorf("%s started %v early", t.ID, time.Until(due))
		}
		if p.running[t.ID]++; p.running[t.ID] > 1 {
			p.errorf("two attempts of %s run at once", t.ID)
		}
		if token.Compare(p.tokens[t.ID]) <= 0 {
			p.errorf("%s: token %s after %s", t.ID, token, p.tokens[t.ID])
		}
		p.tokens[t.ID] = token
		p.mu.Unlock()
		h := t.Hash>>8 ^ uint64(t.Attempt)*2654435761
		select {
		case <-time.After(time.Duration(h%200) * time.Millisecond):
		case <-ctx.Done():
		}
		if !l.dead.Load() {
			p.mu.Lock()
			p.running[t.ID]--
			p.mu.Unlock()
		}
		if h%5 == 0 {
			return errors.New("no luck")
		}
		return nil
	})
}

// event notes an end that is told.
func (p *program) event(l *life, e sched.Event) {
	if l.dead.Load() || e.Overrun || !e.Task.State.Terminal() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told[e.Task.ID] = e.Task.State
}

func (p *program) run() {
	for range 1 + p.rng.IntN(4) {
		p.m.start()
		p.look()
		p.live()
		p.m.fs.CrashAfter(p.rng.IntN(30))
		if p.rng.IntN(2) == 0 {
			time.Sleep(time.Duration(p.rng.IntN(1000)) * time.Millisecond)
		}
		rng := p.rng
		if p.rng.IntN(3) == 0 {
			rng = nil // a kill
		}
		p.m.crash(rng)
		p.mu.Lock()
		clear(p.running) // nothing of it runs any more
		p.mu.Unlock()
		time.Sleep(time.Duration(p.rng.IntN(5000)) * time.Millisecond)
	}
	l := p.m.start()
	p.look()
	time.Sleep(time.Hour) // far more than all retries
	synctest.Wait()
	p.look()
	if st := l.s.Stats(); st.Held != 0 || st.Pending != 0 || st.Anomalies != 0 {
		p.errorf("in the end: %d held, %d pending, %d anomalies", st.Held, st.Pending, st.Anomalies)
	}
	p.mu.Lock()
	for id := range p.confirmed {
		if p.told[id] == 0 {
			if got, err := l.s.Get(context.Background(), id); err != nil || !got.State.Terminal() {
				p.errorf("%s was confirmed, and is %v, %v", id, got, err)
			}
		}
	}
	p.mu.Unlock()
	p.m.stop()
}

// live lets callers do what they like for a while. Some of their calls are under way when the crash comes.
func (p *program) live() {
	l := p.m.life
	var ids []string
	for range 1 + p.rng.IntN(12) {
		switch p.rng.IntN(5) {
		case 0:
			if len(ids) > 0 {
				id := ids[p.rng.IntN(len(ids))]
				p.mu.Lock()
				p.canceled[id] = true
				p.mu.Unlock()
				go l.s.Cancel(context.Background(), id) // whatever it is answered, the end tells
			}
		default:
			n := 1 + p.rng.IntN(5)
			subs := make([]ax.Submission, n)
			p.mu.Lock()
			for i := range subs {
				p.next++
				id := fmt.Sprint("t", p.next)
				subs[i] = ax.Submission{ID: id, Kind: "work", In: time.Duration(p.rng.IntN(3000)) * time.Millisecond, MaxRetries: 20, Payload: make([]byte, p.rng.IntN(300))}
				p.unsure[id] = true
				ids = append(ids, id)
			}
			p.mu.Unlock()
			asked := time.Now()
			go func() {
				answers, err := l.s.SubmitMany(context.Background(), subs)
				if err != nil || l.dead.Load() {
					return
				}
				p.mu.Lock()
				defer p.mu.Unlock()
				for i, a := range answers {
					if a.Code == ax.Made {
						delete(p.unsure, subs[i].ID)
						p.confirmed[subs[i].ID] = asked.Add(subs[i].In)
					}
				}
			}()
		}
		if p.rng.IntN(2) == 0 {
			time.Sleep(time.Duration(p.rng.IntN(400)) * time.Millisecond)
		}
	}
	if p.rng.IntN(2) == 0 {
		synctest.Wait()
	}
}

// look compares what is there with what was told.
func (p *program) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	ctx, s := context.Background(), p.m.life.s
	for id := range p.confirmed {
		if _, err := s.Get(ctx, id); err != nil {
			p.errorf("life %d: %s was confirmed: %v", p.m.lives, id, err)
		}
	}
	for id, want := range p.told {
		if got, err := s.Get(ctx, id); err != nil || got.State != want {
			p.errorf("life %d: the end of %s was told as %v, and it is %v, %v", p.m.lives, id, want, got, err)
		}
	}
}
