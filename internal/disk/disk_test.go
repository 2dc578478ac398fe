package disk_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/axsched/ax/internal/disk"
	"github.com/axsched/ax/internal/disk/faulty"
)

// TestTwins does the same at random to a real directory and to the one in memory: they answer alike.
func TestTwins(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	real, fake := disk.OS(t.TempDir()), disk.FS(faulty.New())
	names := []string{"a", "b", "c"}
	files := map[string][2]disk.File{}
	agree := func(what string, err1, err2 error) {
		t.Helper()
		if (err1 == nil) != (err2 == nil) || errors.Is(err1, fs.ErrExist) != errors.Is(err2, fs.ErrExist) || errors.Is(err1, fs.ErrNotExist) != errors.Is(err2, fs.ErrNotExist) {
			t.Fatalf("%s: %v and %v", what, err1, err2)
		}
	}
	for range 3000 {
		name, other := names[rng.IntN(3)], names[rng.IntN(3)]
		pair, open := files[name]
		switch rng.IntN(9) {
		case 0:
			f, err1 := real.Create(name)
			g, err2 := fake.Create(name)
			agree("create", err1, err2)
			if err1 == nil {
				files[name] = [2]disk.File{f, g}
			}
		case 1:
			f, err1 := real.Open(name)
			g, err2 := fake.Open(name)
			agree("open", err1, err2)
			if err1 == nil {
				files[name] = [2]disk.File{f, g}
			}
		case 2:
			if name != other {
				agree("rename", real.Rename(name, other), fake.Rename(name, other))
				delete(files, name)
				delete(files, other)
			}
		case 3:
			if rng.IntN(5) == 0 {
				agree("remove", real.Remove(name), fake.Remove(name))
				delete(files, name)
			}
		case 4:
			agree("sync", real.SyncDir(), fake.SyncDir())
		case 5:
			n1, err1 := real.Names()
			n2, err2 := fake.Names()
			agree("names", err1, err2)
			if !slices.Equal(n1, n2) {
				t.Fatalf("%v and %v", n1, n2)
			}
		default:
			if !open {
				continue
			}
			off, p := int64(rng.IntN(3000)), make([]byte, rng.IntN(1500))
			for i := range p {
				p[i] = byte(rng.Uint32())
			}
			switch rng.IntN(4) {
			case 0:
				n1, err1 := pair[0].WriteAt(p, off)
				n2, err2 := pair[1].WriteAt(p, off)
				agree("write", err1, err2)
				if n1 != n2 {
					t.Fatalf("wrote %d and %d", n1, n2)
				}
			case 1:
				agree("truncate", pair[0].Truncate(off), pair[1].Truncate(off))
			case 2:
				agree("sync", pair[0].Sync(), pair[1].Sync())
			}
			q := make([]byte, len(p))
			n1, err1 := pair[0].ReadAt(p, off)
			n2, err2 := pair[1].ReadAt(q, off)
			if n1 != n2 || !bytes.Equal(p[:n1], q[:n2]) || err1 != err2 && !(errors.Is(err1, io.EOF) && errors.Is(err2, io.EOF)) {
				t.Fatalf("read %d %v and %d %v", n1, err1, n2, err2)
			}
			s1, err1 := pair[0].Size()
			s2, err2 := pair[1].Size()
			agree("size", err1, err2)
			if s1 != s2 {
				t.Fatalf("sizes %d and %d", s1, s2)
			}
		}
	}
}

// TestLock locks a directory twice in one process, and from another one that is killed.
func TestLock(t *testing.T) {
	if dir := os.Getenv("DISK_LOCK"); dir != "" { // the other process
		if _, err := disk.OS(dir).Lock("lock"); err != nil {
			os.Exit(3)
		}
		os.Stdout.WriteString("locked\n")
		io.Copy(io.Discard, os.Stdin) // until it is killed
	}
	dir := t.TempDir() + "/made/on/demand"
	d := disk.OS(dir)
	l, err := d.Lock("lock")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Lock("lock"); !errors.Is(err, disk.ErrLocked) || !strings.Contains(err.Error(), "process ") {
		t.Errorf("a second time: %v", err)
	}
	l.Close()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLock$")
	cmd.Env = append(os.Environ(), "DISK_LOCK="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 7)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Lock("lock"); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("while another process has it: %v", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	l, err = d.Lock("lock")
	if err != nil {
		t.Fatalf("after that was killed: %v", err)
	}
	l.Close()
}

// TestNames refuses what is no plain file name.
func TestNames(t *testing.T) {
	d := disk.OS(t.TempDir())
	for _, name := range []string{"", ".", "..", "a/b", "../a", `a\b`} {
		if _, err := d.Create(name); err == nil {
			t.Errorf("created %q", name)
		}
	}
}

// TestCrash shows that a power cut may lose and may keep each sector that was not synced, keeps what was, and that a kill
// loses nothing.
func TestCrash(t *testing.T) {
	lost, kept, torn := 0, 0, 0
	for seed := range uint64(200) {
		d := faulty.New()
		f, err := d.Create("f")
		if err != nil {
			t.Fatal(err)
		}
		a, b := bytes.Repeat([]byte{1}, 1000), bytes.Repeat([]byte{2}, 2000)
		f.WriteAt(a, 0)
		if err := errors.Join(f.Sync(), d.SyncDir()); err != nil {
			t.Fatal(err)
		}
		f.WriteAt(b, 1000)
		var next *faulty.FS
		if seed == 0 {
			next = d.Kill()
		} else {
			next = d.PowerCut(rand.New(rand.NewPCG(seed, 1)))
		}
		if _, err := f.WriteAt(a, 0); !errors.Is(err, faulty.ErrCrashed) {
			t.Fatalf("a write after the crash: %v", err)
		}
		g, err := next.Open("f")
		if err != nil {
			t.Fatalf("seed %d: a file that was synced, and its name: %v", seed, err)
		}
		got := make([]byte, 3000)
		n, _ := g.ReadAt(got, 0)
		if n < 1000 || !bytes.Equal(got[:1000], a) {
			t.Fatalf("seed %d: what was synced is not there", seed)
		}
		switch twos := bytes.Count(got[1000:n], []byte{2}); {
		case twos == 2000:
			kept++
		case twos == 0 && seed != 0:
			lost++
		case seed != 0:
			torn++
		default:
			t.Fatal("a kill lost a write")
		}
	}
	if lost < 10 || kept < 10 || torn < 10 {
		t.Errorf("lost %d, kept %d, torn %d", lost, kept, torn)
	}
}

// TestCrashNames shows that names that were not synced may be lost or kept, and those that were are there.
func TestCrashNames(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(200) {
		d := faulty.New()
		for _, name := range []string{"safe", "old"} {
			f, _ := d.Create(name)
			f.Sync()
		}
		d.SyncDir()
		d.Create("new")
		d.Rename("old", "renamed")
		next := d.PowerCut(rand.New(rand.NewPCG(seed, 2)))
		names, err := next.Names()
		if err != nil || !slices.Contains(names, "safe") || !slices.Contains(names, "old") && !slices.Contains(names, "renamed") {
			t.Fatalf("seed %d: %v, %v", seed, names, err)
		}
		for _, name := range names {
			seen[name]++
		}
	}
	for _, name := range []string{"new", "old", "renamed"} {
		if seen[name] < 20 || seen[name] > 180 {
			t.Errorf("%s was there %d times of 200", name, seen[name])
		}
	}
}

// TestInjected shows each fault once.
func TestInjected(t *testing.T) {
	d := faulty.New()
	f, _ := d.Create("f")
	d.Space(100)
	if n, err := f.WriteAt(make([]byte, 150), 0); n != 100 || err == nil {
		t.Errorf("a full disk took %d, %v", n, err)
	}
	d.Space(0)
	d.FailWrite(2)
	_, err1 := f.WriteAt([]byte{1}, 0)
	_, err2 := f.WriteAt([]byte{1}, 0)
	_, err3 := f.WriteAt([]byte{1}, 0)
	if err1 != nil || err2 == nil || err3 != nil {
		t.Errorf("the second write was to fail: %v, %v, %v", err1, err2, err3)
	}
	d.FailRead(1)
	if _, err := f.ReadAt(make([]byte, 1), 0); err == nil {
		t.Error("a read was to fail")
	}
	d.SyncDir()
	waited := false
	d.OnSync(func() { waited = true })
	d.FailSync(1)
	if err := f.Sync(); err == nil || !waited {
		t.Errorf("a sync was to wait and to fail: %v, %v", waited, err)
	}
	if err := f.Sync(); err != nil || d.Syncs() != 2 {
		t.Errorf("the next sync: %v, of %d", err, d.Syncs())
	}
	d.Flip("f", 0, 3)
	got := make([]byte, 1)
	if f.ReadAt(got, 0); got[0] != 1^8 {
		t.Errorf("a bit was to flip: %d", got[0])
	}
	d.CrashAfter(1)
	if err := d.SyncDir(); err != nil {
		t.Errorf("the last operation before a crash: %v", err)
	}
	if err := d.SyncDir(); !errors.Is(err, faulty.ErrCrashed) {
		t.Errorf("after it: %v", err)
	}
	next := d.PowerCut(rand.New(rand.NewPCG(1, 1)))
	g, err := next.Open("f")
	if err != nil {
		t.Fatal(err)
	}
	if size, _ := g.Size(); size != 0 {
		t.Errorf("what a failed sync had left out is there: %d bytes", size)
	}
}
