package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// OS returns a directory of the operating system. It is made, with all above it, when something is made in it; nobody but
// this user may read it. Lock sees to it that the directory itself is durable: its name in the one above.
func OS(dir string) FS { return osFS(dir) }

type osFS string

func (d osFS) path(name string) (string, error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	return filepath.Join(string(d), name), nil
}

func (d osFS) Names() ([]string, error) {
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries { // sorted
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func (d osFS) open(name string, flag int) (File, error) {
	path, err := d.path(name)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// makeDir makes a directory with all above it, from the top, each durable by sync before the next. The first that is
// there already may have been made by a process that died before it could sync: so its name is synced too, unless it is
// in a directory that this user may not read, which is somebody else's to keep.
func makeDir(dir string, sync func(dir string) error) error {
	above := filepath.Dir(dir)
	_, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) && above != dir {
		if err := makeDir(above, sync); err != nil {
			return err
		}
		if err = os.Mkdir(dir, 0o700); errors.Is(err, fs.ErrExist) { // somebody else was faster
			err = nil
		}
	}
	if err != nil {
		return err
	}
	if err := sync(above); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}

func (d osFS) Create(name string) (File, error) {
	const flags = os.O_RDWR | os.O_CREATE | os.O_EXCL
	f, err := d.open(name, flags)
	if errors.Is(err, fs.ErrNotExist) { // the directory
		if err := makeDir(string(d), syncDir); err != nil {
			return nil, err
		}
		return d.open(name, flags)
	}
	return f, err
}

func (d osFS) SyncDir() error { return syncDir(string(d)) }

func (d osFS) Open(name string) (File, error)     { return d.open(name, os.O_RDWR) }
func (d osFS) OpenRead(name string) (File, error) { return d.open(name, os.O_RDONLY) }

func (d osFS) Rename(from, to string) error {
	old, err := d.path(from)
	if err != nil {
		return err
	}
	new, err := d.path(to)
	if err != nil {
		return err
	}
	return os.Rename(old, new)
}

func (d osFS) Remove(name string) error {
	path, err := d.path(name)
	if err != nil {
		return err
	}
	return os.Remove(path)
}

// Lock writes into the file who has it, for people. Where that file is, the directory was made durable before.
func (d osFS) Lock(name string) (io.Closer, error) {
	path, err := d.path(name)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := makeDir(string(d), syncDir); err != nil {
			return nil, err
		}
	}
	f, err := lock(path)
	if err != nil {
		if text, _ := os.ReadFile(path); len(text) > 0 && len(text) < 200 {
			return nil, fmt.Errorf("%w: held by %s", err, strings.TrimSpace(string(text)))
		}
		return nil, err
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = fmt.Fprintf(f, "process %d since %s\n", os.Getpid(), time.Now().Format(time.RFC3339))
	}
	if err != nil { // a full disk: it is locked all the same
		_ = f.Truncate(0)
	}
	return f, nil
}

type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f osFile) Sync() error { return syncData(f.File) }
