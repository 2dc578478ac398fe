package faulty_test

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/axsched/ax/internal/disk"
	"github.com/axsched/ax/internal/disk/faulty"
)

// TestSpace shows a full disk: a write beyond it writes what fits, what is removed or cut off makes room, and so does a
// larger one.
func TestSpace(t *testing.T) {
	d := faulty.New()
	f := create(t, d, "f", strings.Repeat("f", 100))
	d.Space(150)
	full := func(what string, f disk.File, offset int64, want int) {
		t.Helper()
		n, err := f.WriteAt(make([]byte, 100), offset)
		if n != want || (want < 100) != errors.Is(err, syscall.ENOSPC) || want == 100 && err != nil {
			t.Errorf("%s: wrote %d, %v; want %d", what, n, err, want)
		}
	}
	full("in place", f, 0, 100)
	full("half of it", f, 100, 50)
	full("none of it", f, 150, 0)
	if size, _ := f.Size(); size != 150 || d.Used() != 150 {
		t.Errorf("%d bytes, %d in use", size, d.Used())
	}
	if err := f.Truncate(40); err != nil {
		t.Fatal(err)
	}
	g, err := d.Create("g")
	if err != nil {
		t.Fatal(err)
	}
	full("after a cut", g, 0, 100)
	full("full again", g, 100, 10)
	if err := d.Remove("f"); err != nil {
		t.Fatal(err)
	}
	full("after a removal", g, 110, 40)
	d.Space(1000)
	full("on a larger disk", g, 150, 100)
	d.Space(1)
	d.Space(0)
	full("without a bound", g, 5000, 100)
}

// TestFail shows that the n-th call of a kind fails, and no other.
func TestFail(t *testing.T) {
	for name, c := range map[string]struct {
		fail func(d *faulty.FS, n int)
		call func(f disk.File) error
	}{
		"write": {(*faulty.FS).FailWrite, func(f disk.File) error { _, err := f.WriteAt([]byte("g"), 0); return err }},
		"read":  {(*faulty.FS).FailRead, func(f disk.File) error { _, err := f.ReadAt(make([]byte, 1), 0); return err }},
		"sync":  {(*faulty.FS).FailSync, disk.File.Sync},
	} {
		for n := 1; n <= 3; n++ {
			d := faulty.New()
			f := create(t, d, "f", "f")
			c.fail(d, n)
			for i := 1; i <= 5; i++ {
				if err := c.call(f); (i == n) != errors.Is(err, syscall.EIO) || i != n && err != nil {
					t.Errorf("%s %d, of which %d was to fail: %v", name, i, n, err)
				}
			}
		}
	}
	d := faulty.New()
	f := create(t, d, "f", "f")
	d.FailWrite(1)
	if f.WriteAt([]byte("g"), 0); content(t, d, "f") != "f" {
		t.Error("a write that failed has written")
	}
}

// TestFailSync shows that what a failed sync was to write is lost for good, though it can be read, and that what is
// written after it is not.
func TestFailSync(t *testing.T) {
	tally(t, []string{"old."}, func(rng *rand.Rand) string {
		d := faulty.New()
		f := create(t, d, "f", "old")
		if err := errors.Join(f.Sync(), d.SyncDir()); err != nil {
			t.Fatal(err)
		}
		f.WriteAt([]byte("new"), 0)
		d.FailSync(1)
		if err := f.Sync(); !errors.Is(err, syscall.EIO) {
			t.Fatalf("the sync that was to fail: %v", err)
		}
		f.WriteAt([]byte("."), 3)
		if err := f.Sync(); err != nil {
			t.Fatalf("the next sync: %v", err)
		}
		if got := content(t, d, "f"); got != "new." {
			t.Fatalf("the cache holds %q", got)
		}
		return content(t, d.Kill().PowerCut(rng), "f")
	})
}

// TestFlip shows that a bit that flips has flipped wherever the byte is: in the cache, on the disk, and on its way there.
func TestFlip(t *testing.T) {
	for _, synced := range []bool{true, false} {
		d := faulty.New()
		f := create(t, d, "f", "abc")
		if synced {
			f.Sync()
		}
		d.Flip("f", 1, 0)
		if got := content(t, d, "f"); got != "acc" {
			t.Errorf("%q in the cache", got)
		}
		if err := errors.Join(f.Sync(), d.SyncDir()); err != nil {
			t.Fatal(err)
		}
		if got := content(t, d.PowerCut(seeded(1)), "f"); got != "acc" {
			t.Errorf("%q on the disk, synced before: %v", got, synced)
		}
	}
}

// TestOpenFiles shows what a file is good for: one opened to read takes no write, one that is closed does nothing, and
// one that was removed or renamed goes on.
func TestOpenFiles(t *testing.T) {
	d := faulty.New()
	f := create(t, d, "f", "f")
	r, err := d.OpenRead("f")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.WriteAt([]byte("x"), 0); err == nil {
		t.Error("wrote to a file that was opened to read")
	}
	if r.Truncate(0) == nil {
		t.Error("cut off a file that was opened to read")
	}
	if err := errors.Join(d.Rename("f", "g"), d.Rename("g", "g")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("g"), 0); err != nil || content(t, d, "g") != "g" {
		t.Errorf("after a rename: %v, %q", err, content(t, d, "g"))
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	_, read := f.ReadAt(make([]byte, 1), 0)
	_, wrote := f.WriteAt(make([]byte, 1), 0)
	_, size := f.Size()
	for what, err := range map[string]error{"read": read, "write": wrote, "size": size, "truncate": f.Truncate(0), "sync": f.Sync(), "close": f.Close()} {
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s of a closed file: %v", what, err)
		}
	}
}

// TestLock shows that a lock is held until it is closed, or its process is dead.
func TestLock(t *testing.T) {
	d := faulty.New()
	l, err := d.Lock("lock")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Lock("lock"); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("a second time: %v", err)
	}
	if _, err := d.Lock("another"); err != nil {
		t.Errorf("another one: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Lock("lock"); err != nil {
		t.Errorf("after it was closed: %v", err)
	}
	if _, err := d.Kill().Lock("lock"); err != nil {
		t.Errorf("after a kill: %v", err)
	}
}

// TestSlowSync lets a sync take time in a bubble; what is written meanwhile does not wait, and is synced with it.
func TestSlowSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := faulty.New()
		f := create(t, d, "f", "a")
		d.SyncDir()
		d.OnSync(func() { time.Sleep(5 * time.Second) })
		begin := time.Now()
		var group sync.WaitGroup
		group.Go(func() {
			if err := f.Sync(); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		if _, err := f.WriteAt([]byte("b"), 1); err != nil || time.Since(begin) != 0 {
			t.Errorf("a write beside a sync took %v: %v", time.Since(begin), err)
		}
		group.Wait()
		if took := time.Since(begin); took != 5*time.Second || d.Syncs() != 1 {
			t.Errorf("%d syncs took %v", d.Syncs(), took)
		}
	})
}
