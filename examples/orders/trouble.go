package main

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/axsched/ax"
	"github.com/axsched/ax/journal"
)

// trouble says in one line what is wrong with a directory, and what can be done.
func trouble(dir string, err error) error {
	corrupt := (*journal.Corrupt)(nil)
	switch {
	case errors.Is(err, ax.ErrHeld):
		return fmt.Errorf("%s is in use by another orders: wait until it has ended, or take another one with -dir", dir)
	case errors.As(err, &corrupt):
		return fmt.Errorf("%s is damaged at byte %d (%s): -fresh begins anew, without what was there; journal.Repair saves what can be read",
			corrupt.File, corrupt.Offset, corrupt.Reason)
	case errors.Is(err, ax.ErrNoSpace), errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("the disk that %s is on is full: make room and start again, the run is continued; or take another one with -dir", dir)
	}
	return err
}
