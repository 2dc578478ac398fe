package bench

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"time"
)

// processCPU returns the processor time this process has used, in user and kernel mode.
func processCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// residentBytes returns the memory the process holds now, where /proc tells, or 0.
func residentBytes() int64 {
	var total, resident int64
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	if _, err := fmt.Sscan(string(b), &total, &resident); err != nil {
		return 0
	}
	return resident * int64(os.Getpagesize())
}

// allocated returns the bytes that a file takes on the disk.
func allocated(path string) (int64, error) {
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		return 0, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return st.Blocks * 512, nil
}

// memory is a reading of the heap after a collection.
type memory struct {
	held    int64  // bytes of live objects and of goroutine stacks
	mallocs uint64 // objects allocated so far
}

// settledMemory collects twice, since what a finalizer or a sync.Pool kept goes with the second collection.
func settledMemory() memory {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return memory{held: int64(m.HeapAlloc + m.StackInuse), mallocs: m.Mallocs}
}

// mallocs returns the number of objects allocated so far.
func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// collections returns how many collections there were and the longest pause of those after the first since, of the last
// 256 that the runtime remembers.
func collections(since uint32) (n uint32, longest time.Duration) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	for i := max(since, uint32(max(int64(m.NumGC)-int64(len(m.PauseNs)), 0))); i < m.NumGC; i++ {
		longest = max(longest, time.Duration(m.PauseNs[i%uint32(len(m.PauseNs))]))
	}
	return m.NumGC, longest
}

// clean makes rounds alike: no garbage from the one before, and its memory given back.
func clean() { debug.FreeOSMemory() }

// quantile returns the smallest value that at least the share q of sorted values do not exceed; 0 if there are none.
func quantile(sorted []int64, q float64) int64 {
	if len(sorted) == 0 {
		return 0
	}
	i := int(q * float64(len(sorted)))
	return sorted[min(i, len(sorted)-1)]
}

// median returns the middle of a few numbers; of an even count, the lower of the middle two.
func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(list))
	return s[(len(s)-1)/2]
}

func inMillis(ns int64) float64 { return float64(ns) / 1e6 }
