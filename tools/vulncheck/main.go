// Command vulncheck runs govulncheck over modules against a vulnerability database
// that needs no web site.
//
//	go run ./vulncheck DIR...
//
// The Go vulnerability database is itself a Go module, golang.org/x/vulndb, whose
// folder data/osv govulncheck reads as it is. So the database comes the way every
// dependency comes, and stays in the module cache; offline, the newest one already
// there is used and named. Where there is none, the public database is tried, and
// where that cannot be reached either the check says SKIPPED and succeeds.
//
// A call that reaches a known vulnerability in a dependency fails the check. One in
// the standard library is printed only: the cure is a newer toolchain, which this
// repository does not choose. So is one that is required or imported but not called.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const vulndb = "golang.org/x/vulndb"

// maxAge is when a database is called old: it is published several times a week.
const maxAge = 60 * 24 * time.Hour

// finding is the part of govulncheck's JSON stream that is read here.
type finding struct {
	OSV          string  `json:"osv"`
	FixedVersion string  `json:"fixed_version"`
	Trace        []frame `json:"trace"`
}

type frame struct {
	Module, Version, Package, Function, Receiver string
	Position                                     *struct {
		Filename string
		Line     int
	}
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: vulncheck DIR...")
		os.Exit(2)
	}
	db := database()
	failed := false
	for _, dir := range os.Args[1:] {
		found, err := scan(dir, db)
		if err != nil {
			if db == "" {
				fmt.Printf("SKIPPED: vulnerability check: no module %s, and with the public database: %v\n", vulndb, err)
				return
			}
			fmt.Fprintf(os.Stderr, "vulncheck: %s: %v\n", dir, err)
			os.Exit(1)
		}
		if report(os.Stdout, dir, found) {
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// database returns the file URL of a database in the module cache, or "" for none.
func database() string {
	if out, err := exec.Command("go", "mod", "download", "-json", vulndb+"@latest").Output(); err == nil {
		var mod struct{ Version, Dir string }
		if json.Unmarshal(out, &mod) == nil && mod.Dir != "" {
			return use(mod.Version, mod.Dir)
		}
	}
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		return ""
	}
	// Pseudo-versions sort by their time stamps.
	dirs, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(cache)), filepath.FromSlash(vulndb)+"@*"))
	if len(dirs) == 0 {
		return ""
	}
	newest := slices.Max(dirs)
	_, version, _ := strings.Cut(filepath.Base(newest), "@")
	fmt.Println("vulncheck: cannot ask for the latest database; using the cached one")
	return use(version, newest)
}

// use names the database, says when it is old, and returns its URL.
func use(version, dir string) string {
	fmt.Printf("vulncheck: database %s@%s\n", vulndb, version)
	if parts := strings.Split(version, "-"); len(parts) == 3 {
		if at, err := time.Parse("20060102150405", parts[1]); err == nil && time.Since(at) > maxAge {
			fmt.Printf("vulncheck: WARNING: this database is of %s\n", at.Format(time.DateOnly))
		}
	}
	path := filepath.ToSlash(filepath.Join(dir, "data", "osv"))
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	return "file://" + path
}

// scan returns the closest finding per vulnerability and module: called before
// imported before required.
func scan(dir, db string) (map[string]finding, error) {
	args := []string{"tool", "govulncheck", "-format", "json", "-C", dir}
	if db != "" {
		args = append(args, "-db", db)
	}
	var stderr bytes.Buffer
	cmd := exec.Command("go", append(args, "./...")...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	found := map[string]finding{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var m struct{ Finding *finding }
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, err
		}
		if m.Finding == nil || len(m.Finding.Trace) == 0 {
			continue
		}
		key := m.Finding.OSV + " " + m.Finding.Trace[0].Module
		if old, ok := found[key]; !ok || rank(*m.Finding) > rank(old) {
			found[key] = *m.Finding
		}
	}
}

// rank is 2 for a call, 1 for an import, 0 for a requirement.
func rank(f finding) int {
	switch {
	case f.Trace[0].Function != "":
		return 2
	case f.Trace[0].Package != "":
		return 1
	}
	return 0
}

// report prints what was found in dir and says whether it fails the check.
func report(w io.Writer, dir string, found map[string]finding) (failed bool) {
	var std, quiet int
	for _, key := range slices.Sorted(maps.Keys(found)) {
		f := found[key]
		at := f.Trace[0]
		switch {
		case rank(f) < 2:
			quiet++
		case at.Module == "stdlib":
			std++
			fmt.Fprintf(w, "  %s: standard library %s, fixed in %s: %s\n", f.OSV, at.Version, f.FixedVersion, call(f))
		default:
			failed = true
			fixed := "no fix yet"
			if f.FixedVersion != "" {
				fixed = "fixed in " + f.FixedVersion
			}
			fmt.Fprintf(w, "  FAIL %s: %s@%s, %s: %s\n", f.OSV, at.Module, at.Version, fixed, call(f))
		}
	}
	word := "ok  "
	if failed {
		word = "FAIL"
	}
	fmt.Fprintf(w, "%s vulncheck %s: %d in the standard library (not failed), %d not called\n", word, dir, std, quiet)
	return failed
}

// call describes the vulnerable symbol and our own line that leads to it.
func call(f finding) string {
	at := f.Trace[0]
	name := at.Function
	if at.Receiver != "" {
		name = strings.TrimPrefix(at.Receiver, "*") + "." + name
	}
	text := at.Package + "." + name
	if own := f.Trace[len(f.Trace)-1]; own.Position != nil {
		text += fmt.Sprintf(", reached from %s:%d", own.Position.Filename, own.Position.Line)
	}
	return text
}
