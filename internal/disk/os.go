package disk

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// OS returns a directory of the operating system. It is made when something is made in it; nobody but this user may read it.
func OS(dir string) FS { return osFS(dir) }

type osFS string

func (d osFS) path(name string) (string, error) {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\`) {
		return "", fmt.Errorf("disk: %q is no plain file name", name)
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

func (d osFS) Create(name string) (File, error) {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return nil, err
	}
	return d.open(name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
}

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

// Lock writes into the file who has it, for people.
func (d osFS) Lock(name string) (io.Closer, error) {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return nil, err
	}
	path, err := d.path(name)
	if err != nil {
		return nil, err
	}
	f, err := lock(path)
	if err != nil {
		if text, _ := os.ReadFile(path); len(text) > 0 && len(text) < 200 {
			return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(string(text)))
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
