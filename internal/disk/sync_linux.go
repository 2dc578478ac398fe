package disk

import (
	"os"
	"syscall"
)

// syncData is fdatasync: it writes the size of a file, but not its times.
func syncData(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		for {
			if failed = syscall.Fdatasync(int(fd)); failed != syscall.EINTR {
				return
			}
		}
	})
	if err != nil { // Control fails for one reason, and does not name it as the other methods do
		failed = os.ErrClosed
	}
	if failed != nil {
		return &os.PathError{Op: "fdatasync", Path: f.Name(), Err: failed}
	}
	return nil
}
