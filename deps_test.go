package ax_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// modulePath is the import path of the root module; below, a path under it is
// written without it ("memory", "internal/engine"), and "." is the root package.
const modulePath = "github.com/axsched/ax"

// edge forbids an import. It binds production files; a test may import what it likes
// of the standard library and this module.
type edge struct {
	from   string   // package or prefix ("internal/..."); "..." is every package
	forbid string   // import path or prefix; "ax" is the root, "ax/..." all below it
	except []string // imports allowed all the same, in the form of forbid
	spare  []string // packages this row does not bind, in the form of from
	why    string
}

// testKits are the packages that exist to be imported by tests.
var testKits = []string{"storetest", "registrytest", "archivetest", "axtest"}

// planned lists packages that rows may name before they exist. Nothing else may be
// named and missing: a row about a package that was renamed guards nothing.
var planned = []string{}

// importTable is the architecture, read as forbidden imports. It points one way:
// root, pure internals, seams' implementations, driver.
var importTable = []edge{
	{".", "ax/...", nil, nil, "the glossary is below everything, so it can import nothing of ours"},
	{".", "net", nil, nil, "the glossary does no I/O"},
	{".", "os", nil, nil, "the glossary does no I/O"},

	{"internal/engine", "ax/...", []string{"ax/internal/wheel", "ax/internal/ready", "ax/internal/clock", "ax/internal/index", "ax/internal/invariant"}, nil,
		"the step machine knows no driver and no backend: three homes drive the same one"},
	{"internal/wheel", "ax/...", []string{"ax/internal/invariant"}, nil, "a leaf: a timing wheel knows nothing of what it times"},
	{"internal/ready", "ax/...", []string{"ax/internal/index", "ax/internal/invariant"}, nil, "a leaf: the order of ready tasks"},
	{"internal/clock", "ax/...", []string{"ax/internal/invariant"}, nil, "a leaf: arithmetic on readings that are handed in"},
	{"internal/index", "ax/...", []string{"ax/internal/invariant"}, nil, "a leaf: an ordered index"},
	{"internal/engine", "os", nil, nil, "pure: it must run in the simulator, a million steps a second"},
	{"internal/wheel", "os", nil, nil, "pure"},
	{"internal/ready", "os", nil, nil, "pure"},
	{"internal/clock", "os", nil, nil, "pure: the driver reads the clocks"},
	{"internal/index", "os", nil, nil, "pure"},
	{"internal/engine", "net", nil, nil, "pure"},
	{"internal/wheel", "net", nil, nil, "pure"},
	{"internal/ready", "net", nil, nil, "pure"},
	{"internal/clock", "net", nil, nil, "pure"},
	{"internal/index", "net", nil, nil, "pure"},
	{"internal/invariant", "ax/...", nil, nil, "everything may check an invariant, so the check imports nothing"},
	{"internal/invariant", "ax", nil, nil, "everything may check an invariant, so the check imports nothing"},
	{"internal/pool", "ax/...", []string{"ax/internal/clock", "ax/internal/invariant"}, nil, "workers run handlers and decide nothing"},
	{"internal/sim", "ax/sched", nil, nil, "the simulator replaces the driver"},
	{"internal/sim", "net", nil, nil, "the simulated network is the only one"},

	{"internal/registry", "ax/...", []string{"ax/internal/invariant"}, nil, "a leaf: leases and documents of one process"},
	{"internal/registry", "os", nil, nil, "who embeds it writes"},
	{"memory", "ax/...", []string{"ax/internal/index", "ax/internal/ready", "ax/internal/registry", "ax/internal/invariant"}, nil, "the reference backend shows that the seams suffice"},
	{"internal/disk", "ax/...", []string{"ax/internal/invariant"}, nil, "a leaf: files of one directory"},
	{"internal/disk/faulty", "ax/...", []string{"ax/internal/disk"}, nil, "the same, failing as it is told"},
	{"journal/record", "ax/...", nil, nil, "a backend in another module writes the same records: they may cost only the root"},
	{"journal/record", "os", nil, nil, "a record knows no device"},
	{"journal", "ax/...", []string{"ax/journal/record", "ax/internal/disk", "ax/internal/registry", "ax/internal/invariant"}, nil,
		"the durable backend of one process stands on the seams and on files"},
	{"journal", "os", nil, nil, "files are reached through internal/disk, or a test could not let them fail"},
	{"journal", "net", nil, nil, "embedding a journal opens no socket"},
	{"...", "ax/internal/disk/faulty", nil, nil, "a file system that fails is for tests"},

	{"cron", "ax", nil, nil, "cron expressions are of use without ax"},
	{"cron", "ax/...", nil, nil, "cron expressions are of use without ax"},
	{"cron/describe", "ax", nil, nil, "sentences about schedules, and nothing else"},
	{"cron/describe", "ax/...", []string{"ax/cron"}, nil, "sentences about schedules, and nothing else"},
	{"cron", "os", nil, nil, "time zones are found by package time"},
	{"once", "ax/...", nil, nil, "a guard knows the words and database/sql"},
	{"outbox", "ax/...", nil, nil, "whoever submits is an interface"},

	{"sched", "ax/...", []string{"ax/memory", "ax/internal/engine", "ax/internal/pool", "ax/internal/clock", "ax/internal/invariant"}, nil,
		"the driver reaches wheel and ready through the engine, and stores through the seams (memory is its default)"},
	{"sched", "net", nil, nil, "embedding a scheduler opens no socket"},

	{"storetest", "ax/...", nil, nil, "a backend in another module runs the suite: it may cost only the root"},
	{"registrytest", "ax/...", nil, nil, "a backend in another module runs the suite: it may cost only the root"},
	{"archivetest", "ax/...", nil, nil, "a backend in another module runs the suite: it may cost only the root"},

	{"...", "ax/storetest", nil, []string{"axtest"}, "a test kit in production links package testing into users' programs"},
	{"...", "ax/registrytest", nil, []string{"axtest"}, "a test kit in production links package testing into users' programs"},
	{"...", "ax/archivetest", nil, []string{"axtest"}, "a test kit in production links package testing into users' programs"},
	{"...", "ax/axtest", nil, nil, "a test kit in production links package testing into users' programs"},
	{"...", "ax/internal/sim", nil, nil, "the simulator is for tests"},
	{"...", "testing", nil, append([]string{"internal/sim"}, testKits...), "testing in production registers flags in users' programs"},
	{"...", "C", nil, nil, "ax builds without a C compiler"},
	{"...", "unsafe", nil, []string{"sched"}, "one raw system call needs it: the driver's boot-time clock"},
}

// imported is one import of one file.
type imported struct {
	path string // as written
	at   string // file:line
	test bool   // in a _test.go file
}

// checkEdges returns one line per forbidden import and per row about no package.
func checkEdges(table []edge, planned []string, pkgs map[string][]imported) []string {
	var bad []string
	for _, e := range table {
		hit := false
		for pkg, imports := range pkgs {
			if !under(pkg, e.from) {
				continue
			}
			hit = true
			if slices.ContainsFunc(e.spare, func(s string) bool { return under(pkg, s) }) {
				continue
			}
			for _, im := range imports {
				p := short(im.path)
				allowed := slices.ContainsFunc(e.except, func(s string) bool { return covers(s, p) })
				if !im.test && covers(e.forbid, p) && !allowed {
					bad = append(bad, fmt.Sprintf("%s: %s imports %s: %s", im.at, pkg, im.path, e.why))
				}
			}
		}
		if !hit && !slices.Contains(planned, e.from) {
			bad = append(bad, fmt.Sprintf("the import table names %s, which does not exist", e.from))
		}
	}
	slices.Sort(bad)
	return slices.Compact(bad)
}

// under says whether package pkg is from, or is below it where from ends in "...".
func under(pkg, from string) bool {
	prefix, below := strings.CutSuffix(from, "...")
	return pkg == from || below && strings.HasPrefix(pkg, prefix)
}

// covers says whether pattern forbids import p. "ax" and "unsafe" mean that path,
// "ax/..." what is below; a standard package brings its sub-packages with it.
func covers(pattern, p string) bool {
	if prefix, below := strings.CutSuffix(pattern, "/..."); below {
		return strings.HasPrefix(p, prefix+"/")
	}
	return p == pattern || pattern != "ax" && strings.HasPrefix(p, pattern+"/")
}

// short writes an import path of ours as "ax" or "ax/…".
func short(p string) string {
	if p == modulePath || strings.HasPrefix(p, modulePath+"/") {
		return "ax" + strings.TrimPrefix(p, modulePath)
	}
	return p
}

// isOurs says whether p is of this module or the standard library, whose paths have
// no dot in the first element.
func isOurs(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	return strings.HasPrefix(short(p), "ax/") || short(p) == "ax" || !strings.Contains(first, ".")
}

// goFiles returns the Go files of the module by package directory ("." is the root),
// for every operating system, without nested modules and testdata.
func goFiles(t *testing.T) map[string][]string {
	t.Helper()
	files := map[string][]string{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() && name != "." {
			if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" {
				return fs.SkipDir
			}
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
				return fs.SkipDir
			}
		}
		if !d.IsDir() && strings.HasSuffix(base, ".go") {
			dir := path.Dir(filepath.ToSlash(name))
			files[dir] = append(files[dir], name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// moduleImports reads the import lines of the module.
func moduleImports(t *testing.T) map[string][]imported {
	t.Helper()
	pkgs := map[string][]imported{}
	fset := token.NewFileSet()
	for dir, names := range goFiles(t) {
		for _, name := range names {
			f, err := parser.ParseFile(fset, name, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			im := pkgs[dir]
			for _, spec := range f.Imports {
				p, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				im = append(im, imported{p, fset.Position(spec.Pos()).String(), strings.HasSuffix(name, "_test.go")})
			}
			pkgs[dir] = im
		}
	}
	return pkgs
}

// TestImports holds the module to the import table.
func TestImports(t *testing.T) {
	pkgs := moduleImports(t)
	for _, p := range planned {
		if pkgs[p] == nil {
			t.Logf("PLANNED, NOT CHECKED: package %s does not exist yet", p)
		} else {
			t.Errorf("package %s exists: take it off the planned list", p)
		}
	}
	for _, line := range checkEdges(importTable, planned, pkgs) {
		t.Error(line)
	}
}

// TestImportsBite proves that each row can fail: the import it forbids is reported,
// what it excepts or spares is not, and neither is the same import in a test.
func TestImportsBite(t *testing.T) {
	full := func(pattern string) string {
		pattern = strings.Replace(pattern, "...", "planted", 1)
		if pattern == "ax" || strings.HasPrefix(pattern, "ax/") {
			return modulePath + strings.TrimPrefix(pattern, "ax")
		}
		return pattern
	}
	for _, e := range importTable {
		rows := []edge{e}
		from := strings.Replace(e.from, "...", "planted", 1)
		check := func(pkg, path string, test bool) int {
			return len(checkEdges(rows, []string{e.from}, map[string][]imported{pkg: {{path, "planted.go:1", test}}}))
		}
		if check(from, full(e.forbid), false) != 1 {
			t.Errorf("%s → %s was not reported", e.from, e.forbid)
		}
		if check(from, full(e.forbid), true) != 0 {
			t.Errorf("%s → %s was reported in a test file", e.from, e.forbid)
		}
		for _, ok := range e.except {
			if check(from, full(ok), false) != 0 {
				t.Errorf("%s → %s was reported although it is excepted", e.from, ok)
			}
		}
		for _, pkg := range e.spare {
			if check(pkg, full(e.forbid), false) != 0 {
				t.Errorf("%s → %s was reported although %s is spared", pkg, e.forbid, pkg)
			}
		}
		if e.from != "..." && len(checkEdges(rows, nil, map[string][]imported{"other": nil})) != 1 {
			t.Errorf("a missing %s was not reported", e.from)
		}
	}
	if covers("net", "network") || covers("os", "oslo/x") || covers("ax", "ax/memory") || !covers("net", "net/http") {
		t.Error("covers: a prefix is matched by path element")
	}
}

// TestNothingRequired keeps an application's go.sum free of us: no require line, no
// go.sum, and only the standard library in every file, tests included.
func TestNothingRequired(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range badModLines(string(mod)) {
		t.Errorf("go.mod: %q: the root module has a module line and a go line, nothing else", line)
	}
	if _, err := os.Stat("go.sum"); err == nil {
		t.Error("go.sum exists: the root module has no dependency, tests included")
	}
	for _, imports := range moduleImports(t) {
		for _, im := range imports {
			if !isOurs(im.path) {
				t.Errorf("%s: imports %s: only the standard library and this module", im.at, im.path)
			}
		}
	}
}

// badModLines returns what a go.mod has beside module, go and comments.
func badModLines(mod string) (bad []string) {
	for line := range strings.Lines(mod) {
		line = strings.TrimSpace(line)
		word, _, _ := strings.Cut(line, " ")
		if word != "" && word != "module" && word != "go" && !strings.HasPrefix(word, "//") {
			bad = append(bad, line)
		}
	}
	return bad
}

// TestNothingRequiredBites proves that the two checks above can fail.
func TestNothingRequiredBites(t *testing.T) {
	const good = "module " + modulePath + "\n\n// why\ngo 1.26.0\n"
	if bad := badModLines(good); bad != nil {
		t.Errorf("a good go.mod was reported: %q", bad)
	}
	for _, extra := range []string{"require example.com/x v1.0.0", "require (", "tool example.com/x", "replace a => b", "toolchain go1.26.8"} {
		if len(badModLines(good+extra+"\n")) != 1 {
			t.Errorf("go.mod line %q was not reported", extra)
		}
	}
	for p, want := range map[string]bool{
		"fmt": true, "math/rand/v2": true, modulePath: true, modulePath + "/memory": true,
		"golang.org/x/sync": false, "example.com/x": false, modulePath + "x/memory": false,
	} {
		if isOurs(p) != want {
			t.Errorf("isOurs(%q) = %v", p, !want)
		}
	}
}
