package wheel

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// In steps of a few timers a wheel fires the same ones, in the same order, as at once; and it says that more are due.
func TestAdvanceSome(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		whole, parts := New[int](0), New[int](0)
		var now int64
		var a, b []int
		for step := range 30 {
			for i := range rng.IntN(200) {
				when := now + rng.Int64N(3_000_000) - 5_000
				whole.Add(&Timer[int]{Value: step*1000 + i}, when)
				parts.Add(&Timer[int]{Value: step*1000 + i}, when)
			}
			now += rng.Int64N(200_000)
			whole.Advance(now, func(t *Timer[int]) { a = append(a, t.Value) })
			for calls := 0; ; calls++ {
				before := len(b)
				parts.AdvanceSome(now, 1+rng.IntN(7), func(t *Timer[int]) { b = append(b, t.Value) })
				if len(b)-before > 7 {
					t.Fatalf("%d fired by one call", len(b)-before)
				}
				if next, ok := parts.Next(); !ok || next > now {
					break
				}
				if calls > 10_000 {
					t.Fatal("it does not end")
				}
			}
			if len(a) != len(b) || whole.Len() != parts.Len() {
				t.Fatalf("%d fired in parts, %d at once", len(b), len(a))
			}
		}
		slices.Sort(a) // overdue ones may come in another order, all others may not: see below
		slices.Sort(b)
		if !slices.Equal(a, b) {
			t.Fatal("other timers fired")
		}
	}
	w := New[int](0)
	for i := range 1000 {
		w.Add(&Timer[int]{Value: i}, 5_000)
	}
	var got []int
	for len(got) < 1000 {
		w.AdvanceSome(6_000, 64, func(t *Timer[int]) { got = append(got, t.Value) })
	}
	if !slices.IsSorted(got) {
		t.Error("timers of one instant fired out of order")
	}
}
