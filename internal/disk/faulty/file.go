package faulty

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"syscall"
)

// file is an open file.
type file struct {
	d        *FS
	of       *inode
	name     string // that it was opened by
	readOnly bool
	closed   bool // guarded by d.mu
}

// usable says whether the file may be used: it is open, and not for reading only if it is to change. d.mu must be held.
func (f *file) usable(op string, change bool) error {
	switch {
	case f.closed:
		return &fs.PathError{Op: op, Path: f.name, Err: fs.ErrClosed}
	case change && f.readOnly:
		return &fs.PathError{Op: op, Path: f.name, Err: fs.ErrPermission}
	}
	return nil
}

func (f *file) ReadAt(p []byte, off int64) (int, error) {
	d := f.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.alive(); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, errNegative("read", f.name)
	}
	if len(p) == 0 { // not even a closed file minds
		return 0, nil
	}
	if err := f.usable("read", false); err != nil {
		return 0, err
	}
	if now(&d.failRead) {
		return 0, syscall.EIO
	}
	n := copy(p, f.of.data[min(off, int64(len(f.of.data))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func errNegative(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: errors.New("negative offset")}
}

func (f *file) WriteAt(p []byte, off int64) (int, error) {
	d := f.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.enter(); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, errNegative("write", f.name)
	}
	if len(p) == 0 { // not even a closed file minds
		return 0, nil
	}
	if err := f.usable("write", true); err != nil {
		return 0, err
	}
	if now(&d.failWrite) {
		return 0, syscall.EIO
	}
	n := int64(len(p))
	if grow := off + n - int64(len(f.of.data)); d.space > 0 && grow > 0 {
		if room := max(d.space-d.used(), 0); grow > room {
			n = max(n-(grow-room), 0)
		}
	}
	if n > 0 {
		f.of.write(write{offset: off, data: slices.Clone(p[:n])})
	}
	if n < int64(len(p)) {
		return int(n), syscall.ENOSPC
	}
	return int(n), nil
}

func (f *file) Size() (int64, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.d.alive(); err != nil {
		return 0, err
	}
	if err := f.usable("stat", false); err != nil {
		return 0, err
	}
	return int64(len(f.of.data)), nil
}

func (f *file) Truncate(size int64) error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.d.enter(); err != nil {
		return err
	}
	if err := f.usable("truncate", true); err != nil {
		return err
	}
	if size < 0 {
		return errNegative("truncate", f.name)
	}
	f.of.write(write{offset: size, cut: true})
	return nil
}

// Sync makes durable what is in the file when the wait of OnSync is over.
func (f *file) Sync() error {
	d := f.d
	d.mu.Lock()
	wait := d.onSync
	d.mu.Unlock()
	if wait != nil {
		wait()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.enter(); err != nil {
		return err
	}
	if err := f.usable("sync", false); err != nil {
		return err
	}
	d.syncs++
	if now(&d.failSync) {
		f.of.writes = nil // clean, though not on the disk
		return syscall.EIO
	}
	f.of.sync()
	return nil
}

func (f *file) Close() error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.usable("close", false); err != nil {
		return err
	}
	f.closed = true
	return nil
}
