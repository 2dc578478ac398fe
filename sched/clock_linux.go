package sched

import (
	"hash/fnv"
	"os"
	"sync"
	"syscall"
	"unsafe"
)

const clockBoottime = 7 // CLOCK_BOOTTIME, linux/time.h: counts while the machine is suspended

// bootTime reads CLOCK_BOOTTIME in microseconds. The call cannot fail on a kernel that Go runs on.
func bootTime() int64 {
	var ts syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&ts)), 0)
	return int64(ts.Sec)*1e6 + int64(ts.Nsec)/1e3
}

// bootTag names this boot of the machine by a hash of the kernel's boot id.
var bootTag = sync.OnceValue(func() uint32 {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return processTag()
	}
	h := fnv.New32a()
	h.Write(id)
	return max(h.Sum32(), 1)
})
