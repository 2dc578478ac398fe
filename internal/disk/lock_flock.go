//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package disk

import (
	"os"
	"syscall"
)

// lock opens a file and locks it with flock, which the end of the process undoes.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EINTR {
			break
		}
	}
	if err == nil {
		return f, nil
	}
	f.Close()
	if err == syscall.EWOULDBLOCK {
		return nil, ErrLocked
	}
	return nil, &os.PathError{Op: "flock", Path: path, Err: err}
}
