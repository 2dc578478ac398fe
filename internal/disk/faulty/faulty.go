// Package faulty is a disk.FS in memory, for tests: it knows what a kill leaves and what a power cut leaves, and fails
// when it is told to.
//
// # Model
//
//	file   synced   what is on the disk for certain
//	       writes   what was written or cut off since, in order: in the page cache
//	dir    durable  names that are on the disk for certain
//	       present  names as the process sees them
//
// A kill leaves what the process saw. A power cut leaves what was synced, and of the writes since any share: each of its
// sectors of 512 bytes by itself, so that a later write may be there and an earlier one not. Of the changes of names since the last
// SyncDir it leaves any prefix.
//
// # Guaranteed
//
// What is left follows from the operations and the rng alone. All methods are safe for concurrent use, and work in a bubble of
// testing/synctest. The file system that a crash was taken of refuses everything from then on.
package faulty

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"

	"github.com/axsched/ax/internal/disk"
)

// ErrCrashed is what everything answers once the machine has crashed.
var ErrCrashed = errors.New("faulty: the machine has crashed")

// sector is what a disk writes whole or not at all.
const sector = 512

// FS is one directory. Make it with New.
type FS struct {
	mu      sync.Mutex // guards all below, and what is in the files
	present map[string]*inode
	durable map[string]*inode
	changes []change // of names, since the last SyncDir
	locked  bool

	crashed   bool
	left      int64 // operations until it crashes; negative: it does not
	space     int64 // bytes that files may have in all; 0: no bound
	failSync  int64 // the so-manyth Sync from now on fails; 0: none
	failWrite int64
	failRead  int64
	onSync    func()
	syncs     int64
}

// change is one change of the names: name now stands for file, or for nothing.
type change struct {
	name string
	file *inode
}

// inode is the content of a file.
type inode struct {
	data   []byte // as the process sees it
	synced []byte
	writes []write
}

// write is a write since the last sync; with cut, the file was cut off to offset.
type write struct {
	offset int64
	data   []byte
	cut    bool
}

// New returns an empty directory that does not fail.
func New() *FS {
	return &FS{present: map[string]*inode{}, durable: map[string]*inode{}, left: -1}
}

// CrashAfter lets n more operations happen, and then nothing any more.
func (d *FS) CrashAfter(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = int64(n)
}

// Space bounds how many bytes the files may have in all; 0 lifts the bound. A write beyond it writes what fits and answers ENOSPC.
func (d *FS) Space(bytes int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.space = bytes
}

// Used returns how many bytes the files have in all.
func (d *FS) Used() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used()
}

func (d *FS) used() (n int64) {
	for _, f := range d.present {
		n += int64(len(f.data))
	}
	return n
}

// FailSync makes the n-th Sync from now on fail, 1 the next one, as Linux does it: what it should have written is lost, and the next
// Sync succeeds without it.
func (d *FS) FailSync(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failSync = int64(n)
}

// FailWrite makes the n-th WriteAt from now on answer EIO, FailRead the n-th ReadAt.
func (d *FS) FailWrite(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failWrite = int64(n)
}

// FailRead makes the n-th ReadAt from now on answer EIO.
func (d *FS) FailRead(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failRead = int64(n)
}

// OnSync has f called in every Sync of a file, before it takes effect, with nothing locked: it may wait.
func (d *FS) OnSync(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.onSync = f
}

// Syncs returns how many Syncs of files there were.
func (d *FS) Syncs() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.syncs
}

// Flip flips one bit of a file, on the disk and in the cache.
func (d *FS) Flip(name string, offset int64, bit int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.present[name]
	f.data[offset] ^= 1 << bit
	if offset < int64(len(f.synced)) {
		f.synced[offset] ^= 1 << bit
	}
}

// Kill ends this file system and returns what the next process finds.
func (d *FS) Kill() *FS {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.crashed = true
	next := New()
	next.present = d.copies(d.present)
	next.durable = d.pairs(next.present)
	for name, f := range next.present { // the cache is still there: nothing became durable by the kill
		next.changes = append(next.changes, change{name, f})
	}
	slices.SortFunc(next.changes, func(a, b change) int { return cmpString(a.name, b.name) })
	next.durable = map[string]*inode{}
	for name, f := range d.durable {
		if is, ok := d.nameOf(f); ok {
			next.durable[name] = next.present[is]
		} else {
			next.durable[name] = f.copy()
		}
	}
	return next
}

func cmpString(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (d *FS) nameOf(f *inode) (string, bool) {
	for name, other := range d.present {
		if other == f {
			return name, true
		}
	}
	return "", false
}

func (d *FS) copies(m map[string]*inode) map[string]*inode {
	out := map[string]*inode{}
	for name, f := range m {
		out[name] = f.copy()
	}
	return out
}

func (d *FS) pairs(m map[string]*inode) map[string]*inode { return maps.Clone(m) }

func (f *inode) copy() *inode {
	return &inode{data: slices.Clone(f.data), synced: slices.Clone(f.synced), writes: slices.Clone(f.writes)}
}

// PowerCut ends this file system and returns what is on the disk.
func (d *FS) PowerCut(rng *rand.Rand) *FS {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.crashed = true
	names := maps.Clone(d.durable)
	for _, c := range d.changes[:rng.IntN(len(d.changes)+1)] {
		if names[c.name] = c.file; c.file == nil {
			delete(names, c.name)
		}
	}
	next := New()
	cut := map[*inode]*inode{} // one file may have two names, after a rename of which half is there
	for _, name := range slices.Sorted(maps.Keys(names)) {
		f := names[name]
		if cut[f] == nil {
			cut[f] = f.powerCut(rng)
		}
		next.present[name] = cut[f]
	}
	next.durable = maps.Clone(next.present)
	return next
}

// powerCut returns the file with what was synced and a share of the rest. How large the share is differs from cut to cut.
func (f *inode) powerCut(rng *rand.Rand) *inode {
	data := slices.Clone(f.synced)
	share := rng.Float64()
	switch rng.IntN(6) {
	case 0:
		share = 0
	case 1:
		share = 1
	}
	for _, w := range f.writes {
		if w.cut {
			if rng.Float64() < share {
				data = resize(data, w.offset)
			}
			continue
		}
		for from := 0; from < len(w.data); {
			to := min(len(w.data), int((w.offset+int64(from))/sector+1)*sector-int(w.offset))
			if rng.Float64() < share {
				end := w.offset + int64(to)
				if int64(len(data)) < end {
					data = resize(data, end)
				}
				copy(data[w.offset+int64(from):], w.data[from:to])
			}
			from = to
		}
	}
	return &inode{data: data, synced: slices.Clone(data)}
}

func resize(b []byte, n int64) []byte {
	if int64(len(b)) >= n {
		return b[:n]
	}
	return append(b, make([]byte, n-int64(len(b)))...)
}

// enter counts an operation and says whether it may happen. mu must be held.
func (d *FS) enter() error {
	if d.left == 0 {
		d.crashed = true
	}
	if d.crashed {
		return ErrCrashed
	}
	if d.left > 0 {
		d.left--
	}
	return nil
}

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
	if d.present[name] != nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	f := &inode{}
	d.set(name, f)
	return &file{d, f}, nil
}

func (d *FS) set(name string, f *inode) {
	if d.present[name] = f; f == nil {
		delete(d.present, name)
	}
	d.changes = append(d.changes, change{name, f})
}

// Open opens a file; see disk.FS.
func (d *FS) Open(name string) (disk.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.enter(); err != nil {
		return nil, err
	}
	f := d.present[name]
	if f == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &file{d, f}, nil
}

// OpenRead opens a file for reading; see disk.FS.
func (d *FS) OpenRead(name string) (disk.File, error) { return d.Open(name) }

// Rename renames a file; see disk.FS.
func (d *FS) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.enter(); err != nil {
		return err
	}
	f := d.present[from]
	if f == nil {
		return &fs.PathError{Op: "rename", Path: from, Err: fs.ErrNotExist}
	}
	d.set(to, f)
	d.set(from, nil)
	return nil
}

// Remove removes a file; see disk.FS.
func (d *FS) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.enter(); err != nil {
		return err
	}
	if d.present[name] == nil {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	d.set(name, nil)
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

// Lock locks the directory; see disk.FS. A crash frees it.
func (d *FS) Lock(string) (io.Closer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.locked {
		return nil, disk.ErrLocked
	}
	d.locked = true
	return unlock{d}, nil
}

type unlock struct{ d *FS }

func (u unlock) Close() error {
	u.d.mu.Lock()
	defer u.d.mu.Unlock()
	u.d.locked = false
	return nil
}

// file is an open file.
type file struct {
	d *FS
	f *inode
}

func (f *file) ReadAt(p []byte, off int64) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if f.d.crashed {
		return 0, ErrCrashed
	}
	if f.d.failRead > 0 {
		if f.d.failRead--; f.d.failRead == 0 {
			return 0, syscall.EIO
		}
	}
	if off >= int64(len(f.f.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.f.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) WriteAt(p []byte, off int64) (int, error) {
	d := f.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.enter(); err != nil {
		return 0, err
	}
	if d.failWrite > 0 {
		if d.failWrite--; d.failWrite == 0 {
			return 0, syscall.EIO
		}
	}
	n := int64(len(p))
	if grow := off + n - int64(len(f.f.data)); d.space > 0 && grow > 0 {
		if room := max(d.space-d.used(), 0); grow > room {
			n = max(n-(grow-room), 0)
		}
	}
	if n > 0 {
		if end := off + n; int64(len(f.f.data)) < end {
			f.f.data = resize(f.f.data, end)
		}
		copy(f.f.data[off:], p[:n])
		f.f.writes = append(f.f.writes, write{offset: off, data: slices.Clone(p[:n])})
	}
	if n < int64(len(p)) {
		return int(n), syscall.ENOSPC
	}
	return int(n), nil
}

func (f *file) Size() (int64, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if f.d.crashed {
		return 0, ErrCrashed
	}
	return int64(len(f.f.data)), nil
}

func (f *file) Truncate(size int64) error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.d.enter(); err != nil {
		return err
	}
	f.f.data = resize(f.f.data, size)
	f.f.writes = append(f.f.writes, write{offset: size, cut: true})
	return nil
}

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
	d.syncs++
	if d.failSync > 0 {
		if d.failSync--; d.failSync == 0 {
			f.f.writes = nil // clean, though not on the disk
			return syscall.EIO
		}
	}
	for _, w := range f.f.writes {
		if w.cut {
			f.f.synced = resize(f.f.synced, w.offset)
			continue
		}
		if end := w.offset + int64(len(w.data)); int64(len(f.f.synced)) < end {
			f.f.synced = resize(f.f.synced, end)
		}
		copy(f.f.synced[w.offset:], w.data)
	}
	f.f.writes = nil
	return nil
}

func (f *file) Close() error { return nil }
