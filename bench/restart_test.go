package bench

import (
	"testing"
	"time"
)

// TestFarOff: no task that should wait is due before an hour has passed, however many there are.
func TestFarOff(t *testing.T) {
	for _, far := range []int{1, 7, 1_000_000, 100_000_000} {
		last := time.Duration(0)
		for _, i := range []int{0, far / 9, far / 2, far - 1} {
			after := farOff(i, far)
			if after < time.Hour || after > 25*time.Hour || after < last {
				t.Errorf("task %d of %d is due after %v, the one before after %v", i, far, after, last)
			}
			last = after
		}
	}
}
