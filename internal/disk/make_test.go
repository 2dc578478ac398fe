package disk

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestMakeDir makes directories while syncs fail, one after the other: once it succeeds, the name of each directory that
// was made has been synced after it was made, by this call or by one that failed before.
func TestMakeDir(t *testing.T) {
	for fail := range 5 {
		root := t.TempDir()
		dirs := []string{filepath.Join(root, "a"), filepath.Join(root, "a", "b"), filepath.Join(root, "a", "b", "c")}
		durable := map[string]bool{}
		calls := 0
		sync := func(dir string) error {
			if calls++; calls == fail {
				return errors.New("the process was killed here")
			}
			for _, d := range dirs {
				if _, err := os.Stat(d); err == nil && filepath.Dir(d) == dir {
					durable[d] = true
				}
			}
			return nil
		}
		for try := 0; ; try++ {
			if err := makeDir(dirs[2], sync); err == nil {
				break
			} else if try > 1 {
				t.Fatal(err)
			}
		}
		for _, d := range dirs {
			if !durable[d] {
				t.Errorf("sync %d failed: %s was made, and its name is not durable", fail, d)
			}
		}
	}
}

// TestMakeDirForeign is content with a directory that is there, in one that may not be read, but not with a sync that
// fails.
func TestMakeDirForeign(t *testing.T) {
	dir := t.TempDir()
	if err := makeDir(dir, func(string) error { return os.ErrPermission }); err != nil {
		t.Error(err)
	}
	if err := makeDir(dir, func(string) error { return errors.New("input/output error") }); err == nil {
		t.Error("a sync failed, and nobody was told")
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := makeDir(filepath.Join(file, "a"), func(string) error { return nil }); err == nil {
		t.Error("made a directory in a file")
	}
}
