package axtest

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/axsched/ax/sched"
)

// Clock is a machine's clocks, to be played with: time flows as package time has it (in a synctest bubble: the bubble's
// time), and beside that the wall clock can be stepped and the machine suspended. Two schedulers that share a Clock run
// on one machine; each NewClock is another machine, with a boot tag of its own. Safe for concurrent use.
type Clock struct {
	base time.Time // immutable; its monotonic reading, where there is one, is what Mono counts from
	tag  uint32    // immutable

	mu      sync.Mutex
	stepped time.Duration // guarded by mu; how far the wall clock was set
	slept   time.Duration // guarded by mu; how long the machine was suspended in all
}

var _ sched.Clock = (*Clock)(nil)

// uptime is the boot time at which a Clock begins: not 0, so that nothing passes for a boot time by chance.
const uptime = time.Hour

// NewClock returns a clock that agrees with time.Now.
func NewClock() *Clock { return &Clock{base: time.Now(), tag: max(rand.Uint32(), 1)} }

// Step sets the wall clock forward by d, or back if d is negative. No time passes: Boot and Mono stay.
func (c *Clock) Step(d time.Duration) {
	c.mu.Lock()
	c.stepped += d
	c.mu.Unlock()
}

// Suspend puts the machine to sleep for d, all at once: the wall clock and Boot go on by d, Mono stands still, and so
// does every timer, which comes late by d. A scheduler finds out when it next looks, after at most a minute.
func (c *Clock) Suspend(d time.Duration) {
	c.mu.Lock()
	c.slept += max(d, 0)
	c.mu.Unlock()
}

// Now returns the wall clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.stepped + c.slept)
}

// Boot returns the microseconds since boot, suspend included.
func (c *Clock) Boot() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return (uptime + time.Since(c.base) + c.slept).Microseconds()
}

// Mono returns the microseconds since NewClock, without suspend.
func (c *Clock) Mono() int64 { return time.Since(c.base).Microseconds() }

// BootTag names the boot of the machine.
func (c *Clock) BootTag() uint32 { return c.tag }

// NewTimer returns a timer, not set yet, that calls f.
func (c *Clock) NewTimer(f func()) sched.Timer {
	t := time.AfterFunc(time.Hour, f)
	t.Stop()
	return timer{t}
}

type timer struct{ t *time.Timer }

func (t timer) Reset(d time.Duration) { t.t.Reset(d) }
func (t timer) Stop()                 { t.t.Stop() }
