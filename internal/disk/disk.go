// Package disk is the file system under package journal: one directory of plain files, and nothing that a log does not
// need. OS is the real one; package faulty is one that fails as it is told.
package disk

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrLocked is what Lock answers when somebody has the lock.
var ErrLocked = errors.New("locked by another opener")

// FS is one directory. Names are plain file names. All methods are safe for concurrent use.
type FS interface {
	Names() ([]string, error)           // of the regular files, sorted
	Create(name string) (File, error)   // new and empty, to read and write; fs.ErrExist
	Open(name string) (File, error)     // to read and write; fs.ErrNotExist
	OpenRead(name string) (File, error) // to read only; fs.ErrNotExist
	Rename(from, to string) error       // in the place of what is there
	Remove(name string) error
	SyncDir() error // makes Create, Rename and Remove durable

	// Lock makes a file that one opener at a time can have locked, of this process or another; it is free again when it
	// is closed, or its process has died. ErrLocked if it is not free.
	Lock(name string) (io.Closer, error)
}

// File is an open file. Reads and writes may happen at the same time.
type File interface {
	io.ReaderAt
	io.WriterAt
	Size() (int64, error)
	Truncate(size int64) error
	Sync() error // makes what was written durable, and what is needed to read it back
	Close() error
}

// CheckName refuses what is no plain file name.
func CheckName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\`) {
		return fmt.Errorf("disk: %q is no plain file name", name)
	}
	return nil
}
