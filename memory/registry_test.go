package memory_test

import (
	"sync"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/memory"
	"github.com/axsched/ax/registrytest"
)

// clock is a clock that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 11, 30, 2, 30, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func TestRegistry(t *testing.T) {
	registrytest.Run(t, func(t *testing.T) registrytest.Harness {
		c := newClock()
		open := func() ax.Registry {
			b := memory.New(memory.Config{Now: c.Now})
			t.Cleanup(func() { b.Close() })
			return b
		}
		return registrytest.Harness{Registry: open(), Advance: c.Advance, Recreate: func() ax.Registry {
			c.Advance(time.Second)
			return open()
		}}
	})
}
