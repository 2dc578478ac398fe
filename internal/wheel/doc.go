// Package wheel is a hierarchical timing wheel: it holds any number of timers and hands out those that are due.
//
// It is scheme 7 of Varghese and Lauck, "Hashed and Hierarchical Timing Wheels" (SOSP 1987), with occupancy bitmaps, so
// that time jumps from one occupied slot to the next instead of ticking through the empty ones. The package is pure: no
// goroutine, no clock, no timer of the machine. Instants are microseconds on whichever one clock the owner chose.
//
// # Model
//
//	tick      ceil(when / 1 ms)
//	cursor    floor(now / 1 ms) of the last Advance; every tick up to it has been fired
//	overdue   timers added with tick <= cursor; they fire at the next Advance, first
//	level 0   512 slots of 1 ms: the rest of the cursor's aligned block of 512 ms
//	level 1   64 slots of 512 ms: the rest of the aligned block of 32.768 s
//	level 2…8 64 slots each, 64 times coarser each time; level 8 holds every instant an int64 can name
//
// A timer's level is that of the highest bit in which its tick and the cursor differ. So whatever is on a level lies ahead
// of the cursor in the block they share, no slot ever wraps round, a lower level is always earlier than a higher one, and
// the lowest set bit of the lowest occupied level is the next thing to do. When the cursor reaches a slot of level 1…8, its
// timers are placed anew, on lower levels. Until then nobody can have entered the slots they go to, so order is kept.
//
// Slots by distance from the cursor (the usual form) were rejected: they wrap, and a timer may then land in the very slot
// being drained, a full turn early or late.
//
// # Guaranteed
//
//   - Never early: a timer fires in an Advance whose now has reached its when. At most one tick late by the wheel's own doing.
//   - Once: a timer is out of the wheel before it is handed out; a removed one is not handed out at all.
//   - Order: overdue timers first, in the order they were added; then by tick, and within one tick in the order they were added.
//   - An Advance ends: what fire adds for the tick being fired, or an earlier one, waits for the next Advance; what it adds
//     for a later tick that now has reached fires in the same Advance, in its place.
//   - Add and Remove take constant time and allocate nothing. Next takes constant time. A timer is placed anew at most eight
//     times in its life.
//   - If fire panics the wheel stays whole: no other timer is lost.
//
// # Not guaranteed
//
//   - Order by when within one millisecond.
//   - A bounded Advance: a slot of a million timers is fired, or placed anew, in one go.
//   - Safety for concurrent use: a wheel and its timers belong to one goroutine.
//
// # How it fails
//
// A now that went backwards is ignored: nothing fires until now has caught up, and what is added meanwhile for the gap
// counts as overdue, which is early by the new now. An owner whose clock steps backwards must call Rebase first. A when in
// the last, incomplete millisecond of int64 (math.MaxInt64 among them) never comes. Advance or Rebase called from fire
// panics; a timer copied while armed, or added to a second wheel, breaks both wheels.
package wheel
