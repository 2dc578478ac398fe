// Package faulty is a disk.FS in memory, for tests: it knows what a kill leaves and what a power cut leaves, and fails
// when it is told to.
//
// # Model
//
//	file   synced   what is on the disk for certain
//	       writes   what was written or cut off since, in order: in the page cache
//	dir    durable  names that are on the disk for certain
//	       changes  of names since, in order
//
// A kill leaves what the process saw, and makes nothing durable. A power cut leaves what was synced, and of the rest any
// share:
//
//   - of the writes to a file each sector of 512 bytes by itself, so that a later write may be there and an earlier one
//     not;
//   - of the names, at some cuts the changes up to one of them, as a file system with a journal does; at others each by
//     itself, but none of a name without those of that name before it. A rename may also leave both names.
//
// # Guaranteed
//
// What is left follows from the operations and the rng alone. A file that was synced is there whole, once its name was
// synced, under that name or one it was renamed to since, unless it was removed or replaced. All methods are safe for
// concurrent use, and work in a bubble of testing/synctest. A file system that crashed refuses everything from then on,
// with ErrCrashed; what a crash leaves is a new one, of which no fault is asked.
//
// # Not guaranteed
//
// A sector is never torn: what was synced does not suffer from what is written beside it. A kill between two operations
// is all there is; none comes in the middle of a write. Room is counted by the sizes of files, holes included, and
// cutting a file off to more than it has is not refused for want of it.
package faulty

import (
	"errors"
	"fmt"
	"sync"
)

// ErrCrashed is what everything answers once the machine has crashed.
var ErrCrashed = errors.New("faulty: the machine has crashed")

// FS is one directory. Make it with New.
type FS struct {
	mu      sync.Mutex        // guards all below, and what is in the files
	present map[string]*inode // the names as the process sees them
	durable map[string]*inode // those on the disk
	changes []change          // since the last SyncDir
	locked  map[string]bool

	crashed   bool
	ops       int64
	left      int64 // operations until it crashes; negative: it does not
	space     int64 // bytes that files may have in all; 0: no bound
	failSync  int64 // the so-manyth Sync from now on fails; 0: none
	failWrite int64
	failRead  int64
	garbage   bool
	onSync    func()
	syncs     int64
}

// New returns an empty directory that does not fail.
func New() *FS {
	return &FS{present: map[string]*inode{}, durable: map[string]*inode{}, locked: map[string]bool{}, left: -1}
}

// CrashAfter lets n more operations happen, as Ops counts them, and then nothing any more; negative: it does not crash.
func (d *FS) CrashAfter(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = int64(n)
}

// Ops returns how many operations have happened or failed otherwise than by a crash: all but reads, sizes and closes of
// files, and locks.
func (d *FS) Ops() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ops
}

// Space bounds how many bytes the files may have in all; 0 lifts the bound. A write beyond it writes what fits and
// answers ENOSPC.
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

// used is Used. mu must be held.
func (d *FS) used() (n int64) {
	for _, f := range d.present {
		n += int64(len(f.data))
	}
	return n
}

// FailSync makes the n-th Sync of a file from now on answer EIO, 1 the next one, as Linux does it: what it should have
// written can be read, but is lost, and the next Sync succeeds without it.
func (d *FS) FailSync(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failSync = int64(n)
}

// FailWrite makes the n-th WriteAt from now on write nothing and answer EIO, 1 the next one.
func (d *FS) FailWrite(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failWrite = int64(n)
}

// FailRead makes the n-th ReadAt from now on answer EIO, 1 the next one.
func (d *FS) FailRead(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failRead = int64(n)
}

// Garbage lets a power cut leave anything at all in the place of what a write would have put into a sector. Never beside
// it.
func (d *FS) Garbage(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.garbage = on
}

// OnSync has f called in every Sync of a file, before it takes effect, with nothing locked: it may wait.
func (d *FS) OnSync(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.onSync = f
}

// Syncs returns how many Syncs of files there were, those that failed included.
func (d *FS) Syncs() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.syncs
}

// Flip flips one bit of a byte, wherever it is: in the cache, on the disk, and on its way there. It panics if there is no
// such byte.
func (d *FS) Flip(name string, offset int64, bit int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.present[name]
	if f == nil || offset < 0 || offset >= int64(len(f.data)) {
		panic(fmt.Sprintf("faulty: flip a bit of byte %d of %q: there is none", offset, name))
	}
	f.flip(offset, 1<<bit)
}

// alive returns ErrCrashed after a crash. mu must be held.
func (d *FS) alive() error {
	if d.left == 0 {
		d.crashed = true
	}
	if d.crashed {
		return ErrCrashed
	}
	return nil
}

// enter counts an operation and says whether it may happen. mu must be held.
func (d *FS) enter() error {
	if err := d.alive(); err != nil {
		return err
	}
	d.ops++
	if d.left > 0 {
		d.left--
	}
	return nil
}

// now counts down to a fault and says whether it is this time.
func now(n *int64) bool {
	if *n == 0 {
		return false
	}
	*n--
	return *n == 0
}
