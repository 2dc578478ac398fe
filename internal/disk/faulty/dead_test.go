package faulty_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/axsched/ax/internal/disk"
	"github.com/axsched/ax/internal/disk/faulty"
)

// everything calls every method of a file system and of a file, and returns their errors by name.
func everything(d *faulty.FS, f disk.File) map[string]error {
	errs := map[string]error{}
	_, errs["Names"] = d.Names()
	_, errs["Create"] = d.Create("another")
	_, errs["Open"] = d.Open("f")
	_, errs["OpenRead"] = d.OpenRead("f")
	_, errs["Lock"] = d.Lock("another")
	_, errs["ReadAt"] = f.ReadAt(make([]byte, 1), 0)
	_, errs["WriteAt"] = f.WriteAt([]byte("x"), 0)
	_, errs["Size"] = f.Size()
	errs["Truncate"] = f.Truncate(0)
	errs["Sync"] = f.Sync()
	errs["SyncDir"] = d.SyncDir()
	errs["Rename"] = d.Rename("f", "g")
	errs["Remove"] = d.Remove("g")
	return errs
}

// TestDead shows that after a crash, of each kind, everything is refused and changes nothing.
func TestDead(t *testing.T) {
	for name, crash := range map[string]func(d *faulty.FS) *faulty.FS{
		"kill":      (*faulty.FS).Kill,
		"power cut": func(d *faulty.FS) *faulty.FS { return d.PowerCut(seeded(1)) },
		"frozen":    func(d *faulty.FS) *faulty.FS { d.CrashAfter(0); return nil },
	} {
		d := faulty.New()
		f := create(t, d, "f", "f")
		if err := errors.Join(f.Sync(), d.SyncDir()); err != nil {
			t.Fatal(err)
		}
		next := crash(d)
		for method, err := range everything(d, f) {
			if !errors.Is(err, faulty.ErrCrashed) {
				t.Errorf("%s: %s answers %v", name, method, err)
			}
		}
		if next == nil {
			next = d.Kill()
		}
		if got := content(t, next, "f"); got != "f" {
			t.Errorf("%s: then the file held %q", name, got)
		}
		g, err := next.Open("f")
		if err != nil {
			t.Fatal(err)
		}
		for method, err := range everything(next, g) {
			if err != nil {
				t.Errorf("%s: the next process: %s answers %v", name, method, err)
			}
		}
	}
}

// TestCrashAfter shows that exactly as many operations happen as were asked for, and that Ops counts them.
func TestCrashAfter(t *testing.T) {
	steps := func(d *faulty.FS) (done int) {
		f, err := d.Create("f")
		if err != nil {
			return 0
		}
		for _, step := range []func() error{
			func() error { _, err := f.WriteAt([]byte("f"), 0); return err },
			f.Sync, d.SyncDir,
			func() error { return d.Rename("f", "g") },
			func() error { return f.Truncate(0) },
			func() error { return d.Remove("g") },
		} {
			if done++; step() != nil {
				return done
			}
		}
		return done + 1
	}
	d := faulty.New()
	if done := steps(d); done != 7 || d.Ops() != 7 {
		t.Fatalf("%d steps, %d operations, want 7", done, d.Ops())
	}
	for n := range 7 {
		d := faulty.New()
		d.CrashAfter(n)
		if done := steps(d); done != n || d.Ops() != int64(n) {
			t.Errorf("of %d operations %d happened, %d are counted", n, done, d.Ops())
		}
	}
}

// TestKilledInSync kills a process that waits in a sync: it does nothing more.
func TestKilledInSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := faulty.New()
		f := create(t, d, "f", "a")
		d.OnSync(func() { time.Sleep(5 * time.Second) })
		var group sync.WaitGroup
		group.Go(func() {
			if err := f.Sync(); !errors.Is(err, faulty.ErrCrashed) {
				t.Errorf("a sync of a process that was killed: %v", err)
			}
		})
		synctest.Wait()
		d.Kill()
		group.Wait()
	})
}

// TestConcurrent uses one directory from many goroutines, for the race detector, and crashes it meanwhile.
func TestConcurrent(t *testing.T) {
	d := faulty.New()
	f := create(t, d, "shared", "s")
	d.SyncDir()
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			rng := seeded(uint64(i))
			name := string(rune('a' + i))
			for range 500 {
				if g, err := d.Create(name); err == nil {
					g.WriteAt([]byte("x"), rng.Int64N(2000))
					g.Sync()
				}
				f.WriteAt([]byte("y"), rng.Int64N(2000))
				f.ReadAt(make([]byte, 10), 0)
				d.Flip("shared", 0, 1)
				d.SyncDir()
				d.Names()
				d.Remove(name)
				if d.Used() < 0 {
					t.Error("less than nothing is in use")
				}
			}
		})
	}
	group.Go(func() {
		for d.Ops() < 1000 {
			d.Names()
		}
		if names, err := d.PowerCut(seeded(1)).Names(); err != nil || !slices.Contains(names, "shared") {
			t.Errorf("%v, %v", names, err)
		}
	})
	group.Wait()
	if _, err := d.Names(); !errors.Is(err, faulty.ErrCrashed) {
		t.Errorf("after the power cut: %v", err)
	}
}
