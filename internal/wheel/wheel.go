package wheel

import (
	"iter"
	"math"
	"math/bits"
)

const (
	tickMicros = 1000 // one tick in microseconds: the promised resolution is 1 ms

	bits0  = 9 // level 0 has 512 slots: half a second without placing anything anew
	bitsN  = 6 // levels 1…8 have 64 slots: one bitmap word each
	levels = 9 // 9 + 8*6 = 57 bits; the ticks of all int64 microseconds, biased, need 55

	slots0     = 1 << bits0
	words      = (slots0 + (levels-1)<<bitsN) / 64 // bitmap words of all levels
	overdue    = words * 64                        // this slot and the one after it hold what is overdue
	overdueBit = uint32(1) << words                // the summary bit of those two

	// bias makes every tick positive, so that order and prefix of ticks are those of unsigned numbers.
	bias = 1 << 54
)

// Timer is an entry of a Wheel, embedded or held by its owner. The zero value is ready. It must not be copied while armed.
type Timer[T any] struct {
	next, prev *Timer[T] // neighbours in a ring: nil exactly when slot = 0; wheel only
	when       int64     // microseconds, as given to the last Add; wheel only
	slot       int32     // 1 + index of the slot it is in, 0 = not in a wheel; wheel only
	Value      T         // the owner's
}

// Armed reports whether t is in a wheel.
func (t *Timer[T]) Armed() bool { return t.slot != 0 }

// When returns the instant given to the last Add, exactly, also after t fired or was removed.
func (t *Timer[T]) When() int64 { return t.when }

// Wheel holds timers; see the package comment. It belongs to one goroutine. Make it with New.
type Wheel[T any] struct {
	cur    uint64                 // biased tick; no timer in a slot of a level has an earlier one
	n      int                    // number of armed timers
	due    int                    // overdue or overdue+1: the slot that takes what is overdue now
	firing bool                   // true while Advance runs
	sum    uint32                 // bit i is set exactly when occ[i] != 0
	occ    [words + 1]uint64      // bit s&63 of word s>>6 is set exactly when slots[s] != nil
	slots  [overdue + 2]*Timer[T] // first timer of each slot; its prev is the last one
}

// New returns an empty wheel that stands at now.
func New[T any](now int64) *Wheel[T] {
	return &Wheel[T]{cur: floorTick(now), due: overdue}
}

// Len returns the number of armed timers.
func (w *Wheel[T]) Len() int { return w.n }

// Add arms t for when. An instant that has passed is overdue: it fires at the next Advance. A timer that is already in this
// wheel is moved, and counts as added now. Adding a timer that is in another wheel is not allowed.
func (w *Wheel[T]) Add(t *Timer[T], when int64) {
	if t.slot != 0 {
		w.unlink(t)
	} else {
		w.n++
	}
	t.when = when
	w.place(t)
}

// Remove takes t out of the wheel. It returns false, and does nothing, if t was not in it: fired, removed or never added.
func (w *Wheel[T]) Remove(t *Timer[T]) bool {
	if t.slot == 0 {
		return false
	}
	w.unlink(t)
	w.n--
	return true
}

// Advance moves the wheel to now and calls fire for every timer that is due by then, in the order the package comment
// states. A now in an earlier tick than the last one is ignored. The timer is out of the wheel when fire gets it. fire may
// add and remove any timer, but must not call Advance or Rebase.
func (w *Wheel[T]) Advance(now int64, fire func(*Timer[T])) { w.AdvanceSome(now, math.MaxInt, fire) }

// AdvanceSome is Advance for at most so many timers. If more are due, the wheel stands where it stopped, Next returns an
// instant already reached, and the next call goes on from there.
func (w *Wheel[T]) AdvanceSome(now int64, most int, fire func(*Timer[T])) {
	w.mustNotFire()
	target := floorTick(now)
	if target < w.cur {
		return
	}
	w.firing = true
	defer func() { w.firing = false }()

	due := w.due
	w.due ^= 1 // what fire adds as overdue is not fired by this Advance, so it ends
	most = w.drain(due, most, fire)
	for most > 0 {
		slot, tick, ok := w.first()
		if !ok || tick > target {
			w.cur = target
			return
		}
		w.cur = tick
		if slot < slots0 {
			most = w.drain(slot, most, fire)
		} else {
			w.cascade(slot)
		}
	}
}

// Next returns the earliest instant at which Advance has something to do, and false if the wheel is empty. It is never later
// than the first firing. It may be earlier, when timers have to be placed anew: at most eight times in the life of a timer.
// It is an instant already reached if something is overdue.
func (w *Wheel[T]) Next() (when int64, ok bool) {
	if w.sum&overdueBit != 0 {
		return micros(w.cur), true
	}
	_, tick, ok := w.first()
	if !ok {
		return 0, false
	}
	return micros(tick), true
}

// Rebase tells the wheel that its clock stepped backwards to now: every timer is placed anew, so that none fires before now
// has reached it once more. It fires nothing and takes time in proportion to Len. A now that is not earlier needs nothing
// but Advance, and is ignored.
func (w *Wheel[T]) Rebase(now int64) {
	w.mustNotFire()
	cur := floorTick(now)
	if cur >= w.cur {
		return
	}
	var all *Timer[T]
	end := &all
	for slot := range w.slots { // timers of one tick are in one slot, so any order of slots will do
		if w.slots[slot] == nil {
			continue
		}
		first, last := w.detach(slot)
		*end, end = first, &last.next
	}
	*end = nil
	w.cur = cur
	for t := all; t != nil; {
		next := t.next
		w.place(t)
		t = next
	}
}

// All iterates over the armed timers in no useful order. The timer just handed out may be removed during the iteration;
// nothing may be added and no other one removed.
func (w *Wheel[T]) All() iter.Seq[*Timer[T]] {
	return func(yield func(*Timer[T]) bool) {
		for _, t := range w.slots {
			if t == nil {
				continue
			}
			for last := t.prev; ; {
				this, next := t, t.next
				if !yield(this) {
					return
				}
				if this == last {
					break
				}
				t = next
			}
		}
	}
}

func (w *Wheel[T]) mustNotFire() {
	if w.firing {
		panic("wheel: Advance or Rebase called from fire")
	}
}

// first returns the earliest occupied slot of any level and the tick at which the cursor reaches it.
func (w *Wheel[T]) first() (slot int, tick uint64, ok bool) {
	sum := w.sum &^ overdueBit
	if sum == 0 {
		return 0, 0, false
	}
	word := bits.TrailingZeros32(sum)
	bit := bits.TrailingZeros64(w.occ[word])
	slot = word<<6 | bit
	if slot < slots0 {
		return slot, w.cur&^(slots0-1) | uint64(slot), true
	}
	shift := bits0 + bitsN*(word-slots0/64)
	return slot, w.cur>>(shift+bitsN)<<(shift+bitsN) | uint64(bit)<<shift, true
}

// place links t into the slot where t.when belongs as seen from the cursor.
func (w *Wheel[T]) place(t *Timer[T]) {
	tick := ceilTick(t.when)
	if tick <= w.cur {
		w.link(t, w.due)
		return
	}
	w.link(t, slotOf(tick, w.cur))
}

// cascade places the timers of a slot anew, on lower levels, when the cursor has reached it. A tick equal to the cursor is
// still to be fired, so it goes to its own slot and not to the overdue ones.
func (w *Wheel[T]) cascade(slot int) {
	t, last := w.detach(slot)
	last.next = nil
	for t != nil {
		next := t.next
		w.link(t, slotOf(ceilTick(t.when), w.cur))
		t = next
	}
}

// slotOf returns the slot of a tick that is not before the cursor.
func slotOf(tick, cur uint64) int {
	diff := tick ^ cur
	if diff < slots0 {
		return int(tick & (slots0 - 1))
	}
	level := (bits.Len64(diff) - bits0 - 1) / bitsN // from 0: the first level above level 0
	return slots0 + level<<bitsN + int(tick>>(bits0+bitsN*level))&(1<<bitsN-1)
}

// drain fires the timers of a slot, at most so many, and returns how many more may be fired. Nothing is ever added to a slot
// while it is drained.
func (w *Wheel[T]) drain(slot, most int, fire func(*Timer[T])) (left int) {
	for t := w.slots[slot]; t != nil && most > 0; t = w.slots[slot] {
		w.unlink(t)
		w.n--
		most--
		fire(t)
	}
	return most
}

// link appends t to a slot.
func (w *Wheel[T]) link(t *Timer[T], slot int) {
	t.slot = int32(slot) + 1
	first := w.slots[slot]
	if first == nil {
		t.next, t.prev = t, t
		w.slots[slot] = t
		w.occ[slot>>6] |= 1 << (slot & 63)
		w.sum |= 1 << (slot >> 6)
		return
	}
	last := first.prev
	t.next, t.prev = first, last
	last.next, first.prev = t, t
}

// unlink takes t out of its slot.
func (w *Wheel[T]) unlink(t *Timer[T]) {
	slot := int(t.slot) - 1
	next, prev := t.next, t.prev
	t.next, t.prev, t.slot = nil, nil, 0
	if next == t {
		w.detach(slot)
		return
	}
	next.prev, prev.next = prev, next
	if w.slots[slot] == t {
		w.slots[slot] = next
	}
}

// detach empties an occupied slot and returns the ends of the ring that was in it, which is not opened.
func (w *Wheel[T]) detach(slot int) (first, last *Timer[T]) {
	first = w.slots[slot]
	w.slots[slot] = nil
	w.occ[slot>>6] &^= 1 << (slot & 63)
	if w.occ[slot>>6] == 0 {
		w.sum &^= 1 << (slot >> 6)
	}
	return first, first.prev
}

// floorTick returns the last tick that has begun at an instant, biased.
func floorTick(us int64) uint64 {
	tick := us / tickMicros
	if us%tickMicros < 0 {
		tick--
	}
	return uint64(tick + bias)
}

// ceilTick returns the first tick that does not begin before an instant, biased.
func ceilTick(us int64) uint64 {
	tick := us / tickMicros
	if us%tickMicros > 0 {
		tick++
	}
	return uint64(tick + bias)
}

// micros returns the instant at which a tick that a timer can have begins. The very last one begins beyond int64.
func micros(tick uint64) int64 {
	t := int64(tick) - bias
	if t > math.MaxInt64/tickMicros {
		return math.MaxInt64
	}
	return t * tickMicros
}
