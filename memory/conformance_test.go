package memory_test

import (
	"testing"

	"github.com/axsched/ax/memory"
	"github.com/axsched/ax/storetest"
)

func TestStore(t *testing.T) {
	for _, n := range []int{1, 3} {
		t.Run(map[int]string{1: "one", 3: "three"}[n], func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) storetest.Harness {
				b := memory.New(memory.Config{Partitions: n})
				t.Cleanup(func() { b.Close() })
				return storetest.Harness{Store: b, Registry: b, Partitions: n}
			})
		})
	}
}
