package disk_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
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
	happened := map[string]int{}
	agree := func(what string, err1, err2 error) {
		t.Helper()
		for _, kind := range []error{fs.ErrExist, fs.ErrNotExist, fs.ErrClosed} {
			if (err1 == nil) != (err2 == nil) || errors.Is(err1, kind) != errors.Is(err2, kind) {
				t.Fatalf("%s: %v and %v", what, err1, err2)
			}
		}
		if err1 != nil {
			what += " refused"
		}
		happened[what]++
	}
	for range 3000 {
		name, other := names[rng.IntN(3)], names[rng.IntN(3)]
		pair, open := files[name]
		switch rng.IntN(11) {
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
			agree("rename", real.Rename(name, other), fake.Rename(name, other)) // the files go on under their old names
		case 3:
			if rng.IntN(5) == 0 {
				agree("remove", real.Remove(name), fake.Remove(name))
			}
		case 4:
			agree("sync of the directory", real.SyncDir(), fake.SyncDir())
		case 5:
			n1, err1 := real.Names()
			n2, err2 := fake.Names()
			agree("names", err1, err2)
			if !slices.Equal(n1, n2) {
				t.Fatalf("%v and %v", n1, n2)
			}
		case 6:
			f, err1 := real.OpenRead(name)
			g, err2 := fake.OpenRead(name)
			agree("open to read", err1, err2)
			if err1 == nil {
				files[name] = [2]disk.File{f, g}
			}
		case 7:
			if open && rng.IntN(5) == 0 { // it stays in files, closed
				agree("close", pair[0].Close(), pair[1].Close())
			}
		default:
			if !open {
				continue
			}
			off, p := int64(rng.IntN(3000)), make([]byte, max(rng.IntN(1500)-100, 0))
			if rng.IntN(50) == 0 {
				off = -1
			}
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
			agree("read", err1, err2)
			if n1 != n2 || !bytes.Equal(p[:n1], q[:n2]) || errors.Is(err1, io.EOF) != errors.Is(err2, io.EOF) {
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
	for _, what := range []string{"create", "open", "open to read", "rename", "remove", "write", "truncate", "read", "size", "sync", "close"} {
		if happened[what] == 0 || happened[what+" refused"] == 0 {
			t.Errorf("%s: %d times, and refused %d times", what, happened[what], happened[what+" refused"])
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
	if _, err := d.Lock("lock"); !errors.Is(err, disk.ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("held by process %d since ", os.Getpid())) {
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

// TestNames refuses what is no plain file name, wherever one is asked for.
func TestNames(t *testing.T) {
	for _, d := range []disk.FS{disk.OS(t.TempDir()), faulty.New()} {
		if _, err := d.Create("f"); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"", ".", "..", "a/b", "../a", `a\b`} {
			_, create := d.Create(name)
			_, open := d.Open(name)
			_, read := d.OpenRead(name)
			_, lock := d.Lock(name)
			for i, err := range []error{create, open, read, lock, d.Remove(name), d.Rename(name, "g"), d.Rename("f", name)} {
				if err == nil || !strings.Contains(err.Error(), "no plain file name") {
					t.Errorf("%T, call %d with %q: %v", d, i, name, err)
				}
			}
		}
	}
}

// TestMode shows that nobody but the user may read what is there.
func TestMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("windows has no modes")
	}
	dir := t.TempDir() + "/a/b"
	d := disk.OS(dir)
	if _, err := d.Names(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("names of a directory that is not there: %v", err)
	}
	if _, err := d.Create("f"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Lock("lock"); err != nil {
		t.Fatal(err)
	}
	if names, err := d.Names(); err != nil || !slices.Equal(names, []string{"f", "lock"}) {
		t.Errorf("%q, %v", names, err)
	}
	for path, want := range map[string]fs.FileMode{dir: 0o700, dir + "/..": 0o700, dir + "/f": 0o600, dir + "/lock": 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
}
