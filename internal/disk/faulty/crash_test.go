package faulty_test

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/axsched/ax/internal/disk"
	"github.com/axsched/ax/internal/disk/faulty"
)

// seeded returns a source of its own for each seed.
func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// create makes a file with content; it is not synced.
func create(t *testing.T, d *faulty.FS, name, content string) disk.File {
	t.Helper()
	f, err := d.Create(name)
	if err == nil {
		_, err = f.WriteAt([]byte(content), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// content reads a file whole; "-" if there is none.
func content(t *testing.T, d *faulty.FS, name string) string {
	t.Helper()
	f, err := d.OpenRead(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "-"
	}
	if err != nil {
		t.Fatal(err)
	}
	size, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, size)
	if _, err := f.ReadAt(p, 0); err != nil {
		t.Fatal(err)
	}
	return string(p)
}

// tally runs one machine per seed and counts what each ended as; each of the outcomes must come up, and no other.
func tally(t *testing.T, outcomes []string, run func(rng *rand.Rand) string) {
	t.Helper()
	const seeds = 400
	seen := map[string]int{}
	for seed := range uint64(seeds) {
		seen[run(seeded(seed))]++
	}
	for _, o := range outcomes {
		if seen[o] < seeds/100 {
			t.Errorf("%q came up %d times of %d, want at least %d", o, seen[o], seeds, seeds/100)
		}
		delete(seen, o)
	}
	if len(seen) > 0 {
		t.Errorf("came up, and may not: %v", seen)
	}
}

// TestSectors shows that each sector that was not synced survives or not by itself, whatever was written before and after
// it, and that those that were synced survive.
func TestSectors(t *testing.T) {
	sector := func(c string) string { return strings.Repeat(c, 512) }
	tally(t, []string{"abcd", "aBCD", "abCd", "aBcd", "abcD", "aBCd", "abCD", "aBcD"}, func(rng *rand.Rand) string {
		d := faulty.New()
		f := create(t, d, "f", sector("a")+sector("b")+sector("c")+sector("d"))
		if err := errors.Join(f.Sync(), d.SyncDir()); err != nil {
			t.Fatal(err)
		}
		f.WriteAt([]byte(sector("B")+sector("C")), 512)
		f.WriteAt([]byte(sector("D")), 3*512)
		got := content(t, d.PowerCut(rng), "f")
		if len(got) != 4*512 {
			t.Fatalf("%d bytes are left", len(got))
		}
		var out []byte
		for i := 0; i < len(got); i += 512 {
			if got[i:i+512] != sector(got[i:i+1]) {
				t.Fatal("a sector is torn")
			}
			out = append(out, got[i])
		}
		return string(out)
	})
}

// TestUnaligned shows that a write is cut where the sectors of the file are, not its own.
func TestUnaligned(t *testing.T) {
	tally(t, []string{"..", "x.", ".x", "xx"}, func(rng *rand.Rand) string {
		d := faulty.New()
		f := create(t, d, "f", strings.Repeat(".", 1024))
		if err := errors.Join(f.Sync(), d.SyncDir()); err != nil {
			t.Fatal(err)
		}
		f.WriteAt(bytes.Repeat([]byte("x"), 100), 500)
		got := content(t, d.PowerCut(rng), "f")
		if got[500:512] != strings.Repeat(got[500:501], 12) || got[512:600] != strings.Repeat(got[512:513], 88) {
			t.Fatalf("cut within a sector: %q", got[500:600])
		}
		return got[500:501] + got[512:513]
	})
}

// TestTruncate shows that a file may be cut off or not, and that what comes after a cut that was synced is gone.
func TestTruncate(t *testing.T) {
	tally(t, []string{"long", "lo"}, func(rng *rand.Rand) string {
		d := faulty.New()
		f := create(t, d, "f", "long")
		if err := errors.Join(f.Sync(), d.SyncDir(), f.Truncate(2)); err != nil {
			t.Fatal(err)
		}
		return content(t, d.PowerCut(rng), "f")
	})
	tally(t, []string{"lo\x00\x00"}, func(rng *rand.Rand) string {
		d := faulty.New()
		f := create(t, d, "f", "long")
		if err := errors.Join(f.Truncate(2), f.Truncate(4), f.Sync(), d.SyncDir()); err != nil {
			t.Fatal(err)
		}
		return content(t, d.PowerCut(rng), "f")
	})
}

// TestNames shows what a power cut leaves of names that were not synced: any of the changes, but none of a name without
// those of that name before it. A file that was synced, and its name, always has a name.
func TestNames(t *testing.T) {
	start := func(names ...string) *faulty.FS {
		d := faulty.New()
		for _, name := range names {
			if err := create(t, d, name, name).Sync(); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.SyncDir(); err != nil {
			t.Fatal(err)
		}
		return d
	}
	left := func(d *faulty.FS, rng *rand.Rand, names ...string) string {
		d = d.PowerCut(rng)
		var out []string
		for _, name := range names {
			out = append(out, content(t, d, name))
		}
		return strings.Join(out, " ")
	}
	synced := func(d *faulty.FS, name string) {
		if err := create(t, d, name, strings.ToUpper(name)).Sync(); err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]struct {
		change   func(d *faulty.FS)
		outcomes []string // of a and b
	}{
		"nothing":         {func(d *faulty.FS) {}, []string{"a -"}},
		"create":          {func(d *faulty.FS) { synced(d, "b") }, []string{"a -", "a B"}},
		"remove":          {func(d *faulty.FS) { d.Remove("a") }, []string{"a -", "- -"}},
		"rename":          {func(d *faulty.FS) { d.Rename("a", "b") }, []string{"a -", "- a", "a a"}},
		"remove, create":  {func(d *faulty.FS) { d.Remove("a"); synced(d, "b") }, []string{"a -", "- -", "a B", "- B"}},
		"create anew":     {func(d *faulty.FS) { d.Remove("a"); synced(d, "a") }, []string{"a -", "- -", "A -"}},
		"rename, replace": {func(d *faulty.FS) { d.Rename("a", "b"); synced(d, "a") }, []string{"a -", "- a", "A a", "a a"}},
		"synced":          {func(d *faulty.FS) { d.Rename("a", "b"); d.SyncDir() }, []string{"- a"}},
		"come and gone":   {func(d *faulty.FS) { synced(d, "b"); d.Remove("b") }, []string{"a -", "a B"}},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			tally(t, c.outcomes, func(rng *rand.Rand) string {
				d := start("a")
				c.change(d)
				return left(d, rng, "a", "b")
			})
			tally(t, c.outcomes, func(rng *rand.Rand) string { // a kill makes nothing durable
				d := start("a")
				c.change(d)
				return left(d.Kill(), rng, "a", "b")
			})
		})
	}
}

// TestNamesInOrder shows that many changes of names are now and then cut off at one of them, and now and then have gaps.
func TestNamesInOrder(t *testing.T) {
	tally(t, []string{"none", "some first ones", "with gaps", "all"}, func(rng *rand.Rand) string {
		d := faulty.New()
		const all = "abcdefghijklmnopqrst"
		for _, name := range all {
			create(t, d, string(name), "")
		}
		names, err := d.PowerCut(rng).Names()
		if err != nil {
			t.Fatal(err)
		}
		switch got := strings.Join(names, ""); {
		case got == "":
			return "none"
		case got == all:
			return "all"
		case len(got) > 3 && strings.HasPrefix(all, got):
			return "some first ones"
		case len(got) > 3:
			return "with gaps"
		}
		return "none" // or few: it tells nothing
	})
}

// TestContentWithoutName shows that a synced file whose name was not is whole or absent, and one that was not synced may
// be empty.
func TestContentWithoutName(t *testing.T) {
	tally(t, []string{"-", "f"}, func(rng *rand.Rand) string {
		d := faulty.New()
		if err := create(t, d, "f", "f").Sync(); err != nil {
			t.Fatal(err)
		}
		return content(t, d.PowerCut(rng), "f")
	})
	tally(t, []string{"", "f"}, func(rng *rand.Rand) string {
		d := faulty.New()
		create(t, d, "f", "f")
		d.SyncDir()
		d = d.PowerCut(rng)
		f, err := d.Open("f")
		if err != nil {
			t.Fatal(err)
		}
		if size, _ := f.Size(); size == 0 {
			return ""
		}
		return content(t, d, "f")
	})
}

// TestKill shows that a kill loses nothing, and makes nothing durable either.
func TestKill(t *testing.T) {
	tally(t, []string{"old", "new"}, func(rng *rand.Rand) string {
		d := faulty.New()
		f := create(t, d, "f", "old")
		if err := errors.Join(f.Sync(), d.SyncDir()); err != nil {
			t.Fatal(err)
		}
		f.WriteAt([]byte("new"), 0)
		create(t, d, "g", "g")
		d = d.Kill()
		if f, g := content(t, d, "f"), content(t, d, "g"); f != "new" || g != "g" {
			t.Fatalf("a kill left %q and %q", f, g)
		}
		return content(t, d.PowerCut(rng), "f")
	})
}

// TestGarbage shows that sectors which were being written hold anything, if asked for, but no byte beside the write.
func TestGarbage(t *testing.T) {
	for _, ask := range []bool{false, true} {
		strange := 0
		for seed := range uint64(400) {
			d := faulty.New()
			d.Garbage(ask)
			f := create(t, d, "f", strings.Repeat("a", 1500))
			if err := errors.Join(f.Sync(), d.SyncDir()); err != nil {
				t.Fatal(err)
			}
			f.WriteAt(bytes.Repeat([]byte("b"), 1000), 250)
			got := content(t, d.PowerCut(seeded(seed)), "f")
			if strings.Trim(got[:250]+got[1250:], "a") != "" {
				t.Fatal("a byte was changed that was not written")
			}
			if strings.Trim(got, "ab") != "" {
				strange++
			}
		}
		if ask != (strange > 20) || !ask && strange > 0 {
			t.Errorf("with garbage %v: in %d of 400 cuts", ask, strange)
		}
	}
}

// TestSeed shows that the same seed leaves the same.
func TestSeed(t *testing.T) {
	run := func() (out []string) {
		d := faulty.New()
		d.Garbage(true)
		for _, name := range []string{"a", "b", "c", "d"} {
			create(t, d, name, strings.Repeat(name, 5000))
		}
		d.SyncDir()
		d.Remove("a")
		d.Rename("b", "e")
		d = d.Kill().PowerCut(seeded(7))
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			if f, err := d.Open(name); err == nil {
				size, _ := f.Size()
				p := make([]byte, size)
				f.ReadAt(p, 0)
				out = append(out, name+string(p))
			}
		}
		return out
	}
	first := run()
	for range 20 {
		if !slices.Equal(run(), first) {
			t.Fatal("the same seed left something else")
		}
	}
}
