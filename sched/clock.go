package sched

import (
	"time"

	"github.com/axsched/ax/internal/clock"
)

// systemClock is the machine's.
type systemClock struct {
	base time.Time // its monotonic reading is where Mono counts from
}

func (systemClock) Now() time.Time  { return time.Now() }
func (systemClock) Boot() int64     { return bootTime() }
func (c systemClock) Mono() int64   { return time.Since(c.base).Microseconds() }
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
	guard clock.Guard
	last  clock.Reading
}

func (w *watch) read() (clock.Now, []clock.Change) {
	r := clock.Reading{Mono: w.clock.Mono(), Wall: w.clock.Now().UnixMicro(), Boot: w.clock.Boot()}
	for range 4 { // a pause between the readings looks like a step: only what shows again is one
		mono, wall, boot := r.Mono-w.last.Mono, r.Wall-w.last.Wall, r.Boot-w.last.Boot
		if max(mono, wall, boot)-min(mono, wall, boot) < time.Millisecond.Microseconds() {
			break
		}
		before := r.Mono
		r = clock.Reading{Mono: w.clock.Mono(), Wall: w.clock.Now().UnixMicro(), Boot: w.clock.Boot()}
		if w.clock.Mono()-r.Mono < time.Millisecond.Microseconds() && r.Mono > before {
			break
		}
	}
	w.last = r
	return w.guard.Observe(r)
}
