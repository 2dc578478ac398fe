package sched

import (
	"time"

	"github.com/axsched/ax/internal/clock"
)

// systemClock is the machine's.
type systemClock struct{}

func (systemClock) Now() time.Time  { return time.Now() }
func (systemClock) Boot() int64     { return bootTime() }
func (systemClock) BootTag() uint32 { return bootTag() }

func (systemClock) NewTimer(f func()) Timer {
	t := time.AfterFunc(time.Hour, f)
	t.Stop()
	return systemTimer{t}
}

type systemTimer struct{ t *time.Timer }

func (t systemTimer) Reset(d time.Duration) { t.t.Reset(d) }
func (t systemTimer) Stop()                 { t.t.Stop() }

// watch reads the clocks through a guard that notices steps and suspends. It belongs to the loop.
type watch struct {
	clock Clock
	base  time.Time // its monotonic reading counts from here
	guard clock.Guard
}

func newWatch(c Clock) *watch { return &watch{clock: c, base: c.Now()} }

func (w *watch) read() (time.Time, clock.Now, []clock.Change) {
	t := w.clock.Now()
	boot := w.clock.Boot()
	for range 3 { // a pause between the two would look like a step
		again := w.clock.Now()
		if again.Sub(t) < time.Millisecond {
			break
		}
		t, boot = again, w.clock.Boot()
	}
	now, changes := w.guard.Observe(clock.Reading{Wall: t.UnixMicro(), Boot: boot, Mono: t.Sub(w.base).Microseconds()})
	return t, now, changes
}
