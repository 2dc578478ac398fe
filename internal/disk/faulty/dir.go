package faulty

import (
	"io"
	"io/fs"
	"maps"
	"slices"

	"github.com/axsched/ax/internal/disk"
)

// Names lists the files; see disk.FS.
func (d *FS) Names() ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.enter(); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(d.present)), nil
}

// Create makes a file; see disk.FS.
func (d *FS) Create(name string) (disk.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.enter(); err != nil {
		return nil, err
	}
	if err := disk.CheckName(name); err != nil {
		return nil, err
	}
	if d.present[name] != nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	f := &inode{}
	d.change(change{name: name, file: f})
	return &file{d: d, of: f, name: name}, nil
}

func (d *FS) change(c change) {
	c.apply(d.present)
	d.changes = append(d.changes, c)
}

// Open opens a file; see disk.FS.
func (d *FS) Open(name string) (disk.File, error) { return d.open(name, false) }

// OpenRead opens a file for reading; see disk.FS.
func (d *FS) OpenRead(name string) (disk.File, error) { return d.open(name, true) }

func (d *FS) open(name string, readOnly bool) (disk.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.enter(); err != nil {
		return nil, err
	}
	f, err := d.find("open", name)
	if err != nil {
		return nil, err
	}
	return &file{d: d, of: f, name: name, readOnly: readOnly}, nil
}

// find returns the file of a name. mu must be held.
func (d *FS) find(op, name string) (*inode, error) {
	if err := disk.CheckName(name); err != nil {
		return nil, err
	}
	f := d.present[name]
	if f == nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return f, nil
}

// Rename renames a file; see disk.FS.
func (d *FS) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.enter(); err != nil {
		return err
	}
	f, err := d.find("rename", from)
	if err != nil {
		return err
	}
	if err := disk.CheckName(to); err != nil {
		return err
	}
	if from != to {
		d.change(change{name: to, file: f, from: from})
	}
	return nil
}

// Remove removes a file; see disk.FS.
func (d *FS) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.enter(); err != nil {
		return err
	}
	if _, err := d.find("remove", name); err != nil {
		return err
	}
	d.change(change{name: name})
	return nil
}

// SyncDir makes the names durable; see disk.FS.
func (d *FS) SyncDir() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.enter(); err != nil {
		return err
	}
	d.durable, d.changes = maps.Clone(d.present), nil
	return nil
}

// Lock locks a name; see disk.FS. It makes no file. A crash frees it.
func (d *FS) Lock(name string) (io.Closer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.alive(); err != nil {
		return nil, err
	}
	if err := disk.CheckName(name); err != nil {
		return nil, err
	}
	if d.locked[name] {
		return nil, disk.ErrLocked
	}
	d.locked[name] = true
	return unlock{d, name}, nil
}

type unlock struct {
	d    *FS
	name string
}

func (u unlock) Close() error {
	u.d.mu.Lock()
	defer u.d.mu.Unlock()
	delete(u.d.locked, u.name)
	return nil
}
