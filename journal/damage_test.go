package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/disk/faulty"
	"github.com/axsched/ax/journal"
)

// closed returns a directory with some segments that was closed in good order, and how many tasks it holds.
func closed(t *testing.T) (*faulty.FS, int) {
	t.Helper()
	r := newRig(t, journal.Config{})
	r.pause = r.b.AwaitSpare
	if err := r.fill("t", 1000); err != nil {
		t.Fatal(err)
	}
	if err := r.b.Close(); err != nil {
		t.Fatal(err)
	}
	return r.fs, 1000
}

// where returns the files of a directory, and how far each is written.
func where(t *testing.T, fs *faulty.FS) *journal.Report {
	t.Helper()
	report, err := journal.Inspect("", journal.Config{}.On(fs, 64<<10))
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// TestInspect counts what there is, and changes nothing.
func TestInspect(t *testing.T) {
	r := newRig(t, journal.Config{})
	if err := r.fill("t", 100); err != nil {
		t.Fatal(err)
	}
	r.must(ax.Batch{Finish: []*ax.Task{ended(task("t-00000"), 5)}, Remember: []*ax.IDRecord{{ID: "t-00000", Until: 9}}, Jobs: []ax.JobState{{UID: "u"}}})
	if _, err := r.b.Submit(t.Context(), 0, []ax.Entry{{ID: "e", Verb: ax.VerbCancel}}); err != nil {
		t.Fatal(err)
	}
	used := r.fs.Used()
	report := where(t, r.fs) // while it is open
	if report.Damage != nil || report.Tasks[ax.Scheduled] != 99 || report.Ended != 1 || report.Inbox != 1 || report.Records != 1 || report.Jobs != 1 ||
		report.Partitions != 1 || len(report.Files) != 1 || report.Files[0].Frames["batch"] != 6 || report.Files[0].Era != r.b.Era() {
		t.Errorf("%+v", report)
	}
	if r.fs.Used() != used {
		t.Error("it changed something")
	}
	r.b.Close()
	if report, err := journal.Inspect("", journal.Config{}.On(faulty.New(), 64<<10)); err != nil || len(report.Files) != 0 {
		t.Errorf("an empty directory: %+v, %v", report, err)
	}
	if _, err := journal.Inspect(t.TempDir()+"/none", journal.Config{}); err == nil {
		t.Error("a directory that is not there")
	}
}

// TestFlippedBit flips bits all over a directory that was closed: Open refuses with the file and an offset not behind the
// bit, or it has everything.
func TestFlippedBit(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	fs, n := closed(t)
	files := where(t, fs).Files
	refused := 0
	for range 600 {
		f := files[rng.IntN(len(files))]
		offset, bit := rng.Int64N(min(f.Used+200, f.Size)), rng.IntN(8)
		fs.Flip(f.Name, offset, bit)
		b, err := journal.Open("", journal.Config{}.On(fs, 64<<10))
		var c *journal.Corrupt
		switch {
		case errors.As(err, &c):
			refused++
			if c.File != f.Name || c.Offset > offset || offset-c.Offset > 20_000 || !strings.Contains(err.Error(), fmt.Sprint(c.Offset)) {
				t.Fatalf("%s, bit %d of byte %d: %v", f.Name, bit, offset, err)
			}
			fs.Flip(f.Name, offset, bit)
		case err != nil:
			t.Fatalf("%s, bit %d of byte %d: %v", f.Name, bit, offset, err)
		default:
			if last := files[len(files)-1]; offset < f.Used-16 || f.Name != last.Name && offset < f.Used {
				t.Fatalf("%s, bit %d of byte %d of %d: opened", f.Name, bit, offset, f.Used)
			}
			if got := b.Stats().Live; got != n {
				t.Fatalf("%s, bit %d of byte %d: %d tasks, want %d", f.Name, bit, offset, got, n)
			}
			b.Close()
			fs, _ = closed(t)
			files = where(t, fs).Files
		}
	}
	if refused < 400 {
		t.Errorf("%d of 600 were refused", refused)
	}
}

// TestMissingFile takes away each file but the last one in turn: Open refuses and names it.
func TestMissingFile(t *testing.T) {
	fs, _ := closed(t)
	for _, f := range where(t, fs).Files[:len(where(t, fs).Files)-1] {
		if err := fs.Rename(f.Name, "elsewhere"); err != nil {
			t.Fatal(err)
		}
		_, err := journal.Open("", journal.Config{}.On(fs, 64<<10))
		var c *journal.Corrupt
		if !errors.As(err, &c) {
			t.Errorf("without %s: %v", f.Name, err)
		}
		if err := fs.Rename("elsewhere", f.Name); err != nil {
			t.Fatal(err)
		}
	}
	b, err := journal.Open("", journal.Config{}.On(fs, 64<<10))
	if err != nil {
		t.Fatalf("with all of them: %v", err)
	}
	b.Close()
}

// TestRepair damages a directory, repairs it, and finds everything in it that was not in the damaged frame.
func TestRepair(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 8))
		fs, n := closed(t)
		files := where(t, fs).Files
		f := files[rng.IntN(len(files))]
		fs.Flip(f.Name, rng.Int64N(f.Used-16), rng.IntN(8))
		cfg := journal.Config{}.On(fs, 64<<10)
		if _, err := journal.Open("", cfg); err == nil {
			t.Fatalf("seed %d: it is not damaged", seed)
		}
		report, err := journal.Repair("", cfg)
		if err != nil || len(report.Damage) == 0 {
			t.Fatalf("seed %d: %+v, %v", seed, report, err)
		}
		b, err := journal.Open("", cfg)
		if err != nil {
			t.Fatalf("seed %d: after the repair: %v", seed, err)
		}
		if got := b.Stats().Live; got < n-20 || got > n { // one frame has at most 20
			t.Errorf("seed %d: %d tasks, want %d less one frame; %+v", seed, got, n, report)
		}
		if names, _ := fs.Names(); !slices.Contains(names, f.Name+".damaged") {
			t.Errorf("seed %d: the damaged file is gone: %v", seed, names)
		}
		b.Close()
		if report, err := journal.Repair("", cfg); err != nil || report.Damage != nil {
			t.Errorf("seed %d: once more: %+v, %v", seed, report, err)
		}
	}
}

// TestRepairMissing repairs a directory in which a file is missing.
func TestRepairMissing(t *testing.T) {
	fs, n := closed(t)
	files := where(t, fs).Files
	if err := fs.Remove(files[1].Name); err != nil {
		t.Fatal(err)
	}
	cfg := journal.Config{}.On(fs, 64<<10)
	report, err := journal.Repair("", cfg)
	if err != nil || report.Damage == nil || report.Batches == 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	b, err := journal.Open("", cfg)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.Stats().Live; got == 0 || got >= n || got < n-20*int(report.Batches) {
		t.Errorf("%d tasks are left of %d; %+v", got, n, report)
	}
	b.Close()
}

// TestRepairCutShort crashes a repair at every operation: a later one ends it, and Open does not take half of it for the
// whole.
func TestRepairCutShort(t *testing.T) {
	for n := 0; ; n++ {
		fs, tasks := closed(t)
		f := where(t, fs).Files[0]
		fs.Flip(f.Name, f.Used/2, 3)
		cfg := journal.Config{}.On(fs, 64<<10)
		fs.CrashAfter(n)
		_, err := journal.Repair("", cfg)
		if n%2 == 0 {
			fs = fs.Kill()
		} else {
			fs = fs.PowerCut(rand.New(rand.NewPCG(uint64(n), 9)))
		}
		cfg = cfg.On(fs, 64<<10)
		if b, err := journal.Open("", cfg); err == nil {
			if got := b.Stats().Live; got < tasks-20 {
				t.Fatalf("crashed at %d: opened with %d tasks", n, got)
			}
			b.Close()
		} else if _, err := journal.Repair("", cfg); err != nil {
			t.Fatalf("crashed at %d: the next repair: %v", n, err)
		} else if b, err := journal.Open("", cfg); err != nil {
			t.Fatalf("crashed at %d: after the next repair: %v", n, err)
		} else {
			if got := b.Stats().Live; got < tasks-20 {
				t.Fatalf("crashed at %d: %d tasks after the next repair", n, got)
			}
			b.Close()
		}
		if err == nil { // it ended before the crash
			break
		}
	}
}

// FuzzOpen opens a directory in which bytes were changed: it is refused, or everything is there.
func FuzzOpen(f *testing.F) {
	f.Add([]byte{}, uint32(0), []byte{1})
	f.Add([]byte("arbitrary"), uint32(100), []byte{0, 0, 0, 0, 255})
	f.Fuzz(func(t *testing.T, alone []byte, offset uint32, change []byte) {
		if fs := faulty.New(); len(alone) > 0 { // a file of arbitrary bytes
			file, _ := fs.Create("0000000001.log")
			file.WriteAt(alone, 0)
			if b, err := journal.Open("", journal.Config{}.On(fs, 64<<10)); err == nil {
				b.Close()
			}
			_, _ = journal.Inspect("", journal.Config{}.On(fs, 64<<10))
			_, _ = journal.Repair("", journal.Config{}.On(fs, 64<<10))
		}
		fs, n := closed(t)
		files := where(t, fs).Files
		last := files[len(files)-1]
		file, err := fs.Open(files[int(offset)%len(files)].Name)
		if err != nil {
			t.Fatal(err)
		}
		size, _ := file.Size()
		at := int64(offset) % size
		change = change[:min(int64(len(change)), size-at)]
		old := make([]byte, len(change))
		file.ReadAt(old, at)
		if at+int64(len(change)) > last.Used-16 && bytes.Equal(old, change) {
			return
		}
		file.WriteAt(change, at)
		b, err := journal.Open("", journal.Config{}.On(fs, 64<<10))
		if err != nil {
			if _, err := journal.Repair("", journal.Config{}.On(fs, 64<<10)); err != nil {
				t.Errorf("repair: %v", err)
			}
			return
		}
		if got := b.Stats().Live; got != n {
			t.Errorf("opened with %d tasks of %d", got, n)
		}
		b.Close()
	})
}
