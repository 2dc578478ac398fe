package bench

import (
	"os"
	"syscall"
)

// syncData makes what was written to a file safe, without what is not needed to read it back.
func syncData(f *os.File) error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); err != syscall.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
