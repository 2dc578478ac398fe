package wheel

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"
)

const (
	ms   = int64(1000)
	sec  = 1000 * ms
	hour = 3600 * sec
	day  = 24 * hour
)

type task struct{ id int }

// firing is one call of fire: which timer, and the now of the Advance.
type firing struct {
	id int
	at int64
}

// rig is a wheel with its own fake clock that checks every firing against the timer's instant.
type rig struct {
	t     *testing.T
	w     *Wheel[*task]
	now   int64
	fired []firing
	after func(*Timer[*task]) // called for each firing, may be nil
}

func newRig(t *testing.T, now int64) *rig {
	return &rig{t: t, w: New[*task](now), now: now}
}

func (r *rig) add(id int, when int64) *Timer[*task] {
	tm := &Timer[*task]{Value: &task{id}}
	r.w.Add(tm, when)
	return tm
}

func (r *rig) advance(now int64) {
	r.t.Helper()
	r.now = now
	r.w.Advance(now, func(tm *Timer[*task]) {
		if tm.Armed() {
			r.t.Fatalf("timer %d is still in the wheel when it fires", tm.Value.id)
		}
		if tm.When() > now {
			r.t.Fatalf("timer %d fired early: due %d, now %d", tm.Value.id, tm.When(), now)
		}
		r.fired = append(r.fired, firing{tm.Value.id, now})
		if r.after != nil {
			r.after(tm)
		}
	})
}

// run drives the wheel as a driver does, by Next, until it is empty or until is reached; it returns the number of wake-ups.
func (r *rig) run(until int64) (wakes int) {
	r.t.Helper()
	for {
		next, ok := r.w.Next()
		if !ok || next > until {
			r.advance(until)
			return wakes
		}
		wakes++
		r.advance(max(next, r.now))
	}
}

func TestTimerIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(Timer[*task]{}); unsafe.Sizeof(uintptr(0)) == 8 && size > 40 {
		t.Fatalf("Timer of a pointer takes %d bytes, more than 40", size)
	}
}

func TestC34_LevelBoundaries(t *testing.T) {
	cursors := []int64{0, 1, 200, 511, 512, 32767, 1<<21 - 1}
	delays := []int64{0, 1, 311, 312, 511, 512, 513, 600, 1023, 1024, 32767, 32768, 32769, 100000}
	for _, c := range []struct{ origin, frac int64 }{{0, 0}, {-40000, 1}, {1 << 40, 999}} {
		for _, cursor := range cursors {
			for _, delay := range delays {
				start := (c.origin + cursor) * ms
				r := newRig(t, start)
				when := start + delay*ms + c.frac
				r.add(1, when)
				for step := int64(1); len(r.fired) == 0 && step <= delay+3; step++ {
					next, ok := r.w.Next()
					if !ok || next > max(when+ms-1, start) {
						t.Fatalf("cursor %d delay %d ms + %d us: Next %d, %v is later than the firing", cursor, delay, c.frac, next, ok)
					}
					r.advance(start + step*ms)
				}
				if len(r.fired) != 1 {
					t.Fatalf("cursor %d delay %d ms + %d us: fired %d times", cursor, delay, c.frac, len(r.fired))
				}
				if late := r.fired[0].at - when; late > ms {
					t.Fatalf("cursor %d delay %d ms + %d us: %d us late", cursor, delay, c.frac, late)
				}
				r.advance(start + 300000*ms)
				if len(r.fired) != 1 || r.w.Len() != 0 {
					t.Fatalf("cursor %d delay %d: fired again, or left over", cursor, delay)
				}
			}
		}
	}
}

// Every cursor position of level 0, with a cursor that got there by advancing.
func TestC34_EveryCursorPosition(t *testing.T) {
	for cursor := range int64(2 * 512) {
		r := newRig(t, 0)
		r.advance(cursor * ms)
		for i, delay := range []int64{1, 311, 312, 511, 512, 513, 600, 32767, 32768, 32769} {
			r.add(i, (cursor+delay)*ms)
		}
		r.run((cursor + 40000) * ms)
		want := fmt.Sprint([]firing{
			{0, (cursor + 1) * ms}, {1, (cursor + 311) * ms}, {2, (cursor + 312) * ms}, {3, (cursor + 511) * ms}, {4, (cursor + 512) * ms},
			{5, (cursor + 513) * ms}, {6, (cursor + 600) * ms}, {7, (cursor + 32767) * ms}, {8, (cursor + 32768) * ms}, {9, (cursor + 32769) * ms},
		})
		if got := fmt.Sprint(r.fired); got != want {
			t.Fatalf("cursor %d:\n got %s\nwant %s", cursor, got, want)
		}
	}
}

func TestC35_LongDelaysAndRearmed(t *testing.T) {
	r := newRig(t, 0)
	const churners = 1000
	again := r.add(1, 10*sec)
	shots := map[int]int64{2: 40 * sec, 3: hour, 4: 25 * day, 5: 400 * day}
	for id, when := range shots {
		r.add(id, when)
	}
	for i := range churners {
		r.add(100+i, int64(i)*ms/3)
	}
	var own []int64
	r.after = func(tm *Timer[*task]) {
		switch id := tm.Value.id; {
		case id == 1:
			own = append(own, r.now)
			if r.now+10*sec < 123*sec {
				r.w.Add(again, r.now+10*sec)
			}
		case id < 100:
			if late := r.now - shots[id]; late > ms {
				t.Errorf("one-shot %d is %d us late", id, late)
			}
			delete(shots, id)
		case r.now < 123*sec:
			r.w.Add(tm, r.now+int64(id)*700)
		}
	}
	r.run(401 * day)
	if len(own) != 12 || own[11] != 120*sec {
		t.Errorf("re-arming timer fired at %v", own)
	}
	if len(shots) != 0 {
		t.Errorf("not fired: %v", shots)
	}
}

func TestC36_HugeZeroNegative(t *testing.T) {
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC).UnixMicro()
	for name, c := range map[string]struct {
		when    int64
		overdue bool
	}{
		"max int64":      {math.MaxInt64, false},
		"max int64 ns":   {now + math.MaxInt64/1000, false},
		"year 9999":      {time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC).UnixMicro(), false},
		"year 2400":      {time.Date(2400, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(), false},
		"2^31-1 ms":      {now + 2147483647*ms, false},
		"2^31 ms":        {now + 2147483648*ms, false},
		"zero delay":     {now, true},
		"-1 ms":          {now - ms, true},
		"1970":           {0, true},
		"zero time":      {time.Time{}.UnixMicro(), true},
		"min int64":      {math.MinInt64, true},
		"min int64 + 1":  {math.MinInt64 + 1, true},
		"one us in past": {now - 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, now)
			tm := r.add(1, c.when)
			next, ok := r.w.Next()
			if !ok || (next <= now) != c.overdue {
				t.Fatalf("Next = %d, %v at now %d", next, ok, now)
			}
			r.advance(now)
			r.advance(now + 3*sec)
			if c.overdue {
				if len(r.fired) != 1 || r.fired[0].at != now {
					t.Fatalf("overdue timer: fired %v, want once, at once", r.fired)
				}
				return
			}
			if len(r.fired) != 0 || !tm.Armed() || tm.When() != c.when {
				t.Fatalf("fired %v, armed %v, when %d", r.fired, tm.Armed(), tm.When())
			}
			if c.when < math.MaxInt64-ms {
				r.advance(c.when - 1) // the checks are in advance
				wakes := r.run(c.when + ms)
				if len(r.fired) != 1 || wakes > levels {
					t.Fatalf("fired %v after %d wake-ups", r.fired, wakes)
				}
			}
		})
	}
}

func TestC36_WholeRangeOfInt64(t *testing.T) {
	r := newRig(t, math.MinInt64)
	r.add(-2, math.MinInt64)
	first, ok := r.w.Next()
	if !ok || first > math.MinInt64+ms {
		t.Fatalf("Next = %d, %v for what is due at the first instant", first, ok)
	}
	r.advance(first)
	if len(r.fired) != 1 {
		t.Fatalf("fired %v at %d", r.fired, first)
	}
	r.fired = nil
	r.w.Rebase(math.MinInt64)
	whens := []int64{math.MinInt64, math.MinInt64 + 1, -hour, -1001, -1000, -999, -1, 0, 1, 999, 1000, 1001, hour, math.MaxInt64 - 2*ms}
	for i, when := range whens {
		r.add(i, when)
	}
	r.add(-1, math.MaxInt64)
	for _, when := range whens {
		r.advance(when)
		if next, ok := r.w.Next(); !ok || next/2 < when/2-ms {
			t.Fatalf("at %d Next = %d, %v", when, next, ok)
		}
	}
	r.advance(math.MaxInt64)
	if got := len(r.fired); got != len(whens) {
		t.Fatalf("fired %d of %d", got, len(whens))
	}
	if next, ok := r.w.Next(); !ok || next != math.MaxInt64 || r.w.Len() != 1 {
		t.Fatalf("the timer that never comes: Next = %d, %v, Len %d", next, ok, r.w.Len())
	}
	r.w.Rebase(math.MinInt64)
	r.advance(math.MaxInt64)
	if len(r.fired) != len(whens) || r.w.Len() != 1 {
		t.Fatal("rebase over the whole range lost or fired something")
	}
}

func TestC37_StallAndCatchUp(t *testing.T) {
	for _, steps := range [][]int64{{5 * sec}, {1800}, {ms}, {7 * ms / 3}} {
		r := newRig(t, 0)
		type add struct{ at, advance int64 }
		added := map[int]add{}
		for i := range 1000 {
			r.add(i, int64(i)*5*sec/999)
		}
		calls := int64(0)
		r.after = func(tm *Timer[*task]) {
			if id := tm.Value.id; id < 1000 {
				added[id+1000] = add{r.now, calls}
				r.add(id+1000, r.now)
			} else if calls > added[id].advance+1 || r.now-added[id].at > ms+steps[0] {
				t.Errorf("timer %d, added at %d, fired at %d", id, added[id].at, r.now)
			}
		}
		for i := int64(1); r.now < 5*sec+2*steps[0]; i++ {
			calls++
			r.advance(i * steps[0])
		}
		seen := map[int]int{}
		last := -1
		for _, f := range r.fired {
			seen[f.id]++
			if f.id < 1000 {
				if f.id < last {
					t.Fatalf("step %d: timer %d fired after %d", steps[0], f.id, last)
				}
				last = f.id
			}
		}
		if len(r.fired) != 2000 || len(seen) != 2000 || r.w.Len() != 0 {
			t.Fatalf("step %d: %d firings of %d timers, %d left", steps[0], len(r.fired), len(seen), r.w.Len())
		}
	}
}

// In one catch-up Advance, what is added for now comes after everything due before it.
func TestC37_CatchUpKeepsDeadlineOrder(t *testing.T) {
	r := newRig(t, 0)
	for i := range 999 {
		r.add(i, int64(i)*5*ms)
	}
	r.after = func(tm *Timer[*task]) {
		if tm.Value.id < 1000 {
			r.add(tm.Value.id+1000, r.now)
		}
	}
	r.advance(5 * sec)
	if !slices.IsSortedFunc(r.fired, func(a, b firing) int { return a.id - b.id }) || len(r.fired) != 2*999 {
		t.Fatalf("fired %d, or out of order", len(r.fired))
	}
}

func TestAdvanceEnds(t *testing.T) {
	r := newRig(t, 0)
	r.add(1, 5*ms)
	r.after = func(tm *Timer[*task]) { r.w.Add(tm, tm.When()) } // always due again
	for i := range 10 {
		r.advance(10 * ms)
		if len(r.fired) != i+1 {
			t.Fatalf("after %d Advances fired %d times", i+1, len(r.fired))
		}
		if next, ok := r.w.Next(); !ok || next > 10*ms {
			t.Fatalf("Next = %d, %v with an overdue timer", next, ok)
		}
	}
}

func TestC39_CancelledAreFreedAndCountedOnce(t *testing.T) {
	total, live := 5_000_000, 100_000
	if testing.Short() {
		total = 500_000
	}
	w := New[*task](0)
	ring := make([]*Timer[*task], live)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var full uint64
	for i := range total {
		tm := &Timer[*task]{}
		if old := ring[i%live]; old != nil {
			if !w.Remove(old) || w.Remove(old) {
				t.Fatal("a timer is removed once")
			}
		}
		ring[i%live] = tm
		w.Add(tm, int64(i)+hour)
		if i == live {
			full = heap()
		}
	}
	if w.Len() != live {
		t.Fatalf("Len = %d, want %d", w.Len(), live)
	}
	if now := heap(); now > full+uint64(live)*40 {
		t.Errorf("heap grew from %d to %d with the same number of live timers", full, now)
	}
	for _, tm := range ring {
		w.Remove(tm)
	}
	if _, ok := w.Next(); ok || w.Len() != 0 {
		t.Fatalf("Len = %d after all were removed", w.Len())
	}
}

func TestC39_CancelledBySlotMate(t *testing.T) {
	r := newRig(t, 0)
	var mates []*Timer[*task]
	for i := range 11 {
		mates = append(mates, r.add(i, 5*ms))
	}
	r.after = func(*Timer[*task]) {
		if r.w.Remove(mates[0]) {
			t.Error("the firing timer was still in the wheel")
		}
		for _, tm := range mates[1:] {
			if !r.w.Remove(tm) {
				t.Error("a slot mate was not in the wheel")
			}
		}
	}
	r.advance(hour)
	if len(r.fired) != 1 || r.w.Len() != 0 {
		t.Fatalf("fired %v, Len %d", r.fired, r.w.Len())
	}
}

func TestNextJumps(t *testing.T) {
	r := newRig(t, 0)
	r.advance(100 * 365 * day)
	if _, ok := r.w.Next(); ok {
		t.Fatal("an empty wheel has no Next")
	}
	start := r.now
	r.add(1, start+365*day)
	if wakes := r.run(start + 366*day); wakes > levels || len(r.fired) != 1 || r.fired[0].at != start+365*day {
		t.Fatalf("%d wake-ups for one timer in a year, fired %v", wakes, r.fired)
	}
}

func TestBackwardsNowIsIgnored(t *testing.T) {
	r := newRig(t, 10*sec)
	r.add(1, 11*sec)
	r.add(2, 10*sec)
	r.advance(9 * sec)
	if len(r.fired) != 0 {
		t.Fatal("fired while now was behind")
	}
	r.advance(11 * sec)
	if fmt.Sprint(r.fired) != fmt.Sprint([]firing{{2, 11 * sec}, {1, 11 * sec}}) {
		t.Fatalf("fired %v", r.fired)
	}
}

func TestRebaseBackwards(t *testing.T) {
	r := newRig(t, hour)
	for i := range 100 {
		r.add(i, hour+int64(i-50)*sec)
	}
	r.w.Rebase(hour - 240*sec)
	if next, _ := r.w.Next(); next > hour-50*sec {
		t.Fatalf("Next = %d after the step", next)
	}
	r.advance(hour - 240*sec)
	if len(r.fired) != 0 {
		t.Fatalf("fired %v right after the step", r.fired)
	}
	r.w.Rebase(hour) // forwards: left to Advance
	r.run(2 * hour)
	for i, f := range r.fired {
		if f.id != i || f.at != hour+int64(i-50)*sec {
			t.Fatalf("firing %d: %v", i, f)
		}
	}
	if len(r.fired) != 100 {
		t.Fatalf("fired %d of 100", len(r.fired))
	}
}

func TestAllAllowsRemoval(t *testing.T) {
	r := newRig(t, 0)
	for i := range 1000 {
		r.add(i, int64(i-10)*int64(i)*sec)
	}
	seen := map[int]bool{}
	for tm := range r.w.All() {
		seen[tm.Value.id] = true
		if tm.Value.id%2 == 0 && !r.w.Remove(tm) {
			t.Fatal("All handed out a timer that is not in the wheel")
		}
	}
	if len(seen) != 1000 || r.w.Len() != 500 {
		t.Fatalf("saw %d, left %d", len(seen), r.w.Len())
	}
	for range r.w.All() {
		break
	}
}

func TestPanicInFireLosesNothing(t *testing.T) {
	r := newRig(t, 100*ms)
	for i := range 4 {
		r.add(i, 50*ms)
		r.add(10+i, 200*ms)
		r.add(20+i, hour)
	}
	r.after = func(tm *Timer[*task]) {
		if tm.Value.id%10 == 1 {
			panic("as planned")
		}
	}
	for range 10 {
		func() {
			defer func() { _ = recover() }()
			r.advance(hour)
		}()
	}
	if len(r.fired) != 12 || r.w.Len() != 0 {
		t.Fatalf("fired %v, left %d", r.fired, r.w.Len())
	}
}

func TestAdvanceInFirePanics(t *testing.T) {
	for name, misuse := range map[string]func(*Wheel[*task]){
		"Advance": func(w *Wheel[*task]) { w.Advance(hour, nil) },
		"Rebase":  func(w *Wheel[*task]) { w.Rebase(0) },
	} {
		r := newRig(t, 0)
		r.add(1, ms)
		caught := false
		r.after = func(*Timer[*task]) {
			defer func() { caught = recover() != nil }()
			misuse(r.w)
		}
		r.advance(ms)
		if !caught {
			t.Errorf("%s from fire did not panic", name)
		}
	}
}

func TestNothingAllocates(t *testing.T) {
	w := New[*task](0)
	timers := make([]Timer[*task], 1000)
	now := int64(0)
	fire := func(*Timer[*task]) {}
	if n := testing.AllocsPerRun(100, func() {
		for i := range timers {
			w.Add(&timers[i], now+int64(i*i*i)*17)
		}
		for i := range timers[:300] {
			w.Remove(&timers[i*3])
		}
		w.Next()
		now += 40 * sec
		w.Advance(now, fire)
		w.Rebase(now - 20*sec)
		w.Advance(now, fire)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
