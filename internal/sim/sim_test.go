package sim

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axsched/ax/internal/invariant"
)

// shapes are the clusters that seeds are spread over.
var shapes = [][2]int{{1, 1}, {3, 1}, {16, 1}, {1, 3}, {3, 3}, {16, 3}}

func generate(seed uint64) *Script {
	of := shapes[seed%uint64(len(shapes))]
	return Generate(seed, of[0], of[1])
}

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

// TestSeeds runs AX_SEEDS scripts (2000), or the one of AX_SEED, or so many from that on, twice each.
func TestSeeds(t *testing.T) {
	first, count := uint64(1), number(t, "AX_SEEDS", 2000)
	if one := number(t, "AX_SEED", 0); one > 0 {
		first, count = one, number(t, "AX_SEEDS", 1)
	}
	var next, failed, events, starts, writes atomic.Int64
	var virtual atomic.Int64
	var mu sync.Mutex
	began := time.Now()
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for {
				i := uint64(next.Add(1) - 1)
				if i >= count {
					return
				}
				s := generate(first + i)
				r := Run(s, Options{})
				if again := Run(s, Options{}); r.Violation == nil && again.Hash != r.Hash {
					r.Violation = &invariant.Violation{Law: invariant.Replayable, Detail: fmt.Sprintf("%x, then %x", r.Hash, again.Hash)}
				}
				events.Add(int64(r.Events))
				starts.Add(int64(r.Starts))
				writes.Add(int64(r.Writes))
				virtual.Add(int64(r.Virtual))
				if r.Violation != nil {
					n := failed.Add(1)
					mu.Lock()
					if n <= int64(number(t, "AX_SHOW", 5)) {
						t.Errorf("%s", explain(s))
					} else if n < 200 {
						fmt.Printf("seed %d: %.300v\n", s.Config.Seed, r.Violation)
					}
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	fmt.Printf("simulated %v in %v: %d events, %d writes, %d handlers\n", time.Duration(virtual.Load()).Round(time.Minute),
		time.Since(began).Round(time.Millisecond), events.Load(), writes.Load(), starts.Load())
	fmt.Printf("seeds=%d failed=%d\n", count, failed.Load())
	if failed.Load() > 0 {
		t.Fail()
	}
}

// explain shrinks what failed, and says how to see it again.
func explain(s *Script) string {
	seed, opt := s.Config.Seed, Options{Trace: true}
	small, r := Shrink(s, Options{}, 20*time.Second, time.Now)
	again := Run(small, opt)
	lines := again.Lines[max(0, len(again.Lines)-50):]
	return fmt.Sprintf("seed %d: %.3000v\nrerun: AX_SEED=%d go test ./internal/sim -run TestSeeds -v\nthe last of the trace:\n%s\nthe script, shrunk from %d operations:\n%s",
		seed, r.Violation, seed, strings.Join(lines, "\n"), len(s.Ops), small)
}
