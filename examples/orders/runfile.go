package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// runName is the file that says which run a directory holds. It is replaced whole, so that it says the old or the new.
const runName = "run.json"

// runVersion is the version of the run file that this program writes, and the only one that it reads.
const runVersion = 1

// runFile is what makes a run the same run after a restart: its number, its workload, and where its tasks are.
type runFile struct {
	Version  int           `json:"version"`
	Number   int           `json:"number"`
	Store    string        `json:"store"` // directory of the journal
	Started  time.Time     `json:"started"`
	Finished bool          `json:"finished"`
	Total    int           `json:"total"`            // tasks
	Spread   time.Duration `json:"spread,omitzero"`  // of a drawn workload, in nanoseconds
	Seed     uint64        `json:"seed,omitzero"`    // likewise
	Source   string        `json:"source,omitzero"`  // the name of a tasks file; a copy of it is in the directory
	SkipBad  bool          `json:"skipbad,omitzero"` // of a tasks file
}

// readRun reads the run file of a directory; nil if there is none.
func readRun(dir string) (*runFile, error) {
	name := filepath.Join(dir, runName)
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var version struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(b, &version); err == nil && version.Version > runVersion {
		return nil, fmt.Errorf("%s has version %d, and this program knows %d: use the newer program, or -fresh to begin anew",
			name, version.Version, runVersion)
	}
	run := &runFile{}
	in := json.NewDecoder(bytes.NewReader(b))
	in.DisallowUnknownFields()
	err = in.Decode(run)
	if _, more := in.Token(); err == nil && more != io.EOF {
		err = errors.New("there is something behind it")
	}
	if err == nil {
		err = run.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not what this program writes (%w): -fresh begins anew, without what was there", name, err)
	}
	return run, nil
}

// prefix stands before the ids of the run's tasks.
func (f *runFile) prefix() string { return fmt.Sprintf("r%d-", f.Number) }

// check says what cannot be right.
func (f *runFile) check() error {
	switch {
	case f.Version != runVersion:
		return fmt.Errorf("version %d", f.Version)
	case f.Number < 1:
		return fmt.Errorf("number %d", f.Number)
	case !storeName.MatchString(f.Store):
		return fmt.Errorf("store %.80q", f.Store)
	case f.Started.IsZero():
		return errors.New("it does not say when it started")
	case f.Total < 1 || f.Total > maxTasks && f.Source == "":
		return fmt.Errorf("total %d", f.Total)
	case f.Spread < 0 || f.Spread > maxSpread:
		return fmt.Errorf("spread %v", f.Spread)
	}
	return nil
}

// write replaces the run file, and returns when that is durable.
func (f *runFile) write(dir string) error {
	b, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	temp := filepath.Join(dir, runName+".new")
	if err := writeFile(temp, append(b, '\n')); err != nil {
		return err
	}
	if err := os.Rename(temp, filepath.Join(dir, runName)); err != nil {
		return err
	}
	return syncDir(dir)
}

// writeFile writes a file and syncs it; its name is durable only after syncDir.
func writeFile(name string, b []byte) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = file.Write(b)
	return errors.Join(err, file.Sync(), file.Close())
}

// syncDir makes the names in a directory durable. Windows has no such call, and does it by itself.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
