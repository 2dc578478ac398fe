package ax_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The pure packages: what they do follows from their arguments alone, so the
// simulator can replay them and a seed means the same thing tomorrow. The root package
// is the glossary and starts nothing; it may use a context, and one file of it makes
// ids from the system's random source.
var purePackages = []string{"internal/engine", "internal/wheel", "internal/ready", "internal/clock", "internal/index", "."}

// idFile is the one file of the root that may import crypto/rand.
const idFile = "id.go"

// impureImports are forbidden in the pure internals, with what lies below them.
var impureImports = map[string]string{
	"os":          "a pure package does no I/O",
	"io/ioutil":   "a pure package does no I/O",
	"net":         "a pure package does no I/O",
	"syscall":     "a pure package makes no system call",
	"log":         "a pure package says what happened in its outputs",
	"sync":        "one goroutine owns a pure package: nothing to lock",
	"context":     "nothing here waits, so there is nothing to cancel",
	"runtime":     "the answer may not depend on the machine",
	"crypto/rand": "randomness is an argument: a *rand.Rand handed in",
}

// impureRoot are forbidden in the root package.
var impureRoot = map[string]string{
	"os":      "the root package does no I/O",
	"net":     "the root package does no I/O",
	"syscall": "the root package makes no system call",
}

// impureTime are the functions of package time that read a clock or make a timer.
var impureTime = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}

// pureRand is what the rand packages offer beside their global source.
var pureRand = []string{"Rand", "Source", "Source64", "PCG", "ChaCha8", "Zipf", "New", "NewSource", "NewPCG", "NewChaCha8", "NewZipf"}

// purity walks one file and collects what it finds.
type purity struct {
	fset  *token.FileSet
	root  bool
	names map[string]string // local name → import path
	bad   []string
}

// checkPurity returns one "file:line: reason" per impurity of a parsed file.
func checkPurity(fset *token.FileSet, f *ast.File, root bool) []string {
	p := &purity{fset: fset, root: root, names: map[string]string{}}
	for _, spec := range f.Imports {
		p.importSpec(spec)
	}
	for _, d := range f.Decls {
		p.decl(d)
	}
	ast.Inspect(f, p.node)
	return p.bad
}

func (p *purity) report(at ast.Node, format string, args ...any) {
	p.bad = append(p.bad, fmt.Sprintf("%s: %s", p.fset.Position(at.Pos()), fmt.Sprintf(format, args...)))
}

func (p *purity) importSpec(spec *ast.ImportSpec) {
	name, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		p.report(spec, "import %s: %v", spec.Path.Value, err)
		return
	}
	local := path.Base(name)
	if name == "math/rand/v2" {
		local = "rand"
	}
	if spec.Name != nil {
		local = spec.Name.Name
	}
	if local == "." || local == "_" {
		p.report(spec, "import %s %q: no dot and no blank import in a pure package", local, name)
	}
	p.names[local] = name

	forbidden := impureImports
	if p.root {
		forbidden = impureRoot
		if name == "crypto/rand" && filepath.Base(p.fset.Position(spec.Pos()).Filename) != idFile {
			p.report(spec, "imports crypto/rand: only %s makes ids", idFile)
		}
	}
	for prefix, why := range forbidden {
		if covers(prefix, name) {
			p.report(spec, "imports %s: %s", name, why)
		}
	}
}

// decl judges a top-level declaration.
func (p *purity) decl(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && d.Name.Name == "init" {
			p.report(d, "init: nothing happens by being imported")
		}
	case *ast.GenDecl:
		if d.Tok != token.VAR {
			return
		}
		for _, spec := range d.Specs {
			spec := spec.(*ast.ValueSpec)
			if slices.ContainsFunc(spec.Names, func(n *ast.Ident) bool { return n.Name != "_" }) {
				p.packageVar(spec)
			}
		}
	}
}

// packageVar forbids package-level variables through which state can be shared.
// Without type checking a call's result is unknown, so of calls only errors.New passes.
func (p *purity) packageVar(spec *ast.ValueSpec) {
	const cure = "use a constant, an array, a switch or a field"
	if spec.Type != nil && mutable(spec.Type) {
		p.report(spec, "package-level var %s is a map, slice, pointer, channel or func: %s", spec.Names[0].Name, cure)
		return
	}
	for _, v := range spec.Values {
		v = ast.Unparen(v)
		switch v := v.(type) {
		case *ast.CompositeLit:
			if v.Type != nil && mutable(v.Type) {
				p.report(spec, "package-level var %s is a map or slice: %s", spec.Names[0].Name, cure)
			}
		case *ast.UnaryExpr:
			if v.Op == token.AND {
				p.report(spec, "package-level var %s is a pointer: %s", spec.Names[0].Name, cure)
			}
		case *ast.FuncLit:
			p.report(spec, "package-level var %s is a func: declare the func", spec.Names[0].Name)
		case *ast.CallExpr:
			if pkg, name := p.selector(v.Fun); pkg != "errors" || name != "New" {
				p.report(spec, "package-level var %s is the result of a call: only errors.New may fill one", spec.Names[0].Name)
			}
		}
	}
}

// mutable says whether a type shares state when it is copied.
func mutable(typ ast.Expr) bool {
	switch typ := ast.Unparen(typ).(type) {
	case *ast.MapType, *ast.StarExpr, *ast.ChanType, *ast.FuncType:
		return true
	case *ast.ArrayType:
		return typ.Len == nil
	}
	return false
}

// selector returns the import path and name of pkg.Name, or "" for anything else.
func (p *purity) selector(e ast.Expr) (pkg, name string) {
	if s, ok := e.(*ast.SelectorExpr); ok {
		if x, ok := s.X.(*ast.Ident); ok {
			return p.names[x.Name], s.Sel.Name
		}
	}
	return "", ""
}

// node judges statements and expressions, at any depth.
func (p *purity) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		p.report(n, "go: a pure package starts no goroutine")
	case *ast.SelectStmt:
		p.report(n, "select: a pure package waits for nothing")
	case *ast.SendStmt:
		p.report(n, "channel send: outputs are returned")
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			p.report(n, "channel receive: inputs are arguments")
		}
	case *ast.ChanType:
		// A seam in the root may hand out a channel; it may not make one.
		if !p.root {
			p.report(n, "channel type: inputs are arguments, outputs are returned")
		}
	case *ast.CallExpr:
		if fn, ok := n.Fun.(*ast.Ident); ok && fn.Name == "make" && len(n.Args) > 0 {
			if _, ok := n.Args[0].(*ast.ChanType); ok {
				p.report(n, "make(chan): a pure package makes no channel")
			}
		}
	case *ast.SelectorExpr:
		switch pkg, name := p.selector(n); {
		case pkg == "time" && slices.Contains(impureTime, name):
			p.report(n, "time.%s: time is an argument", name)
		case (pkg == "math/rand" || pkg == "math/rand/v2") && !slices.Contains(pureRand, name):
			p.report(n, "rand.%s: randomness is an argument: a *rand.Rand handed in", name)
		}
	}
	return true
}

// TestPurity holds the pure packages to their word.
func TestPurity(t *testing.T) {
	files := goFiles(t)
	for _, pkg := range purePackages {
		checked := 0
		for _, name := range files[pkg] {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Error(err)
				continue
			}
			checked++
			for _, line := range checkPurity(fset, f, pkg == ".") {
				t.Error(line)
			}
		}
		if checked == 0 {
			t.Errorf("package %s has no file to check", pkg)
		}
	}
}

// TestPurityBites proves that each rule catches its snippet, and where, and that none
// objects to what is allowed.
func TestPurityBites(t *testing.T) {
	type snippet struct {
		src  string
		want string // part of the one report; "" is none
	}
	internal := []snippet{
		{`func f() { go f() }`, "go:"},
		{`func f() { select {} }`, "select:"},
		{`func f[C ~[]int](c C) { c <- 1 }`, "channel send"},
		{`func f(c C) int { return <-c }`, "channel receive"},
		{`type T struct{ c chan int }`, "channel type"},
		{`func f(c <-chan int) {}`, "channel type"},
		{`func f() { func() { func() { go f() }() }() }`, "go:"},
		{`func init() {}`, "init:"},
		{`var m = map[string]int{}`, "map or slice"},
		{`var m map[string]int`, "map, slice, pointer"},
		{`var s = []int{1}`, "map or slice"},
		{`var s []int`, "map, slice, pointer"},
		{`var p = &T{}; type T struct{}`, "is a pointer"},
		{`var p *int`, "map, slice, pointer"},
		{`var p = new(int)`, "result of a call"},
		{`var m = make(map[string]int)`, "result of a call"},
		{`var f = func() {}`, "is a func"},
		{`var f func()`, "map, slice, pointer"},
		{`import "time"; func f() any { return time.Now }`, "time.Now"},
		{`import "time"; var start = time.Unix(0, 0)`, "result of a call"},
		{`import clock "time"; func f() any { return clock.Now() }`, "time.Now"},
		{`import "math/rand"; func f() int { return rand.Intn(3) }`, "rand.Intn"},
		{`import "math/rand/v2"; func f() int { return rand.N(3) }`, "rand.N"},
		{`import r "math/rand/v2"; func f() int { return r.IntN(3) }`, "rand.IntN"},
		{`import . "time"`, "no dot"},
		{`import _ "embed"`, "blank import"},
		{`import "sync/atomic"`, "nothing to lock"},
		{`import "net/http"`, "no I/O"},

		{`import "errors"; var ErrFull = errors.New("full")`, ""},
		{`var _ I = (*T)(nil); type I any; type T struct{}`, ""},
		{`var names = [...]string{"a", "b"}`, ""},
		{`var zero T; type T struct{}`, ""},
		{`func init_() { var m = map[string]int{}; _ = m }`, ""},
		{`type T struct{}; func (T) init() {}`, ""},
		{`import "time"; func f(now time.Time) time.Time { return now.Add(time.Second) }`, ""},
		{`import "math/rand/v2"; func f(r *rand.Rand) int { return r.IntN(3) }`, ""},
		{`import "math/rand/v2"; func f() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }`, ""},
		{`type T struct{ time clock }; type clock struct{}; func (clock) Now() {}; func f(t T) { t.time.Now() }`, ""},
	}
	for name := range impureImports {
		internal = append(internal, snippet{fmt.Sprintf("import %q", name), impureImports[name]})
	}
	for _, name := range impureTime {
		internal = append(internal, snippet{`import "time"; func f() any { return time.` + name + ` }`, "time." + name})
	}
	root := []snippet{
		{`import "context"; func f(ctx context.Context) {}`, ""},
		{`import "sync"; type T struct{ mu sync.Mutex }`, ""},
		{`type T interface{ Watch() <-chan int }`, ""},
		{`func f() any { return make(chan int) }`, "make(chan)"},
		{`func f() { go f() }`, "go:"},
		{`import "time"; func f() { time.Sleep(1) }`, "time.Sleep"},
		{`import "crypto/rand"`, "only id.go"},
		{`import "net/http"`, "no I/O"},
	}
	for name := range impureRoot {
		root = append(root, snippet{fmt.Sprintf("import %q", name), impureRoot[name]})
	}
	check := func(file string, root bool, s snippet) {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file, "package p\n\n"+s.src, parser.SkipObjectResolution)
		if err != nil {
			t.Errorf("%s: %v", s.src, err)
			return
		}
		got := checkPurity(fset, f, root)
		switch {
		case s.want == "" && len(got) > 0:
			t.Errorf("%s: allowed, but reported: %q", s.src, got)
		case s.want != "" && (len(got) != 1 || !strings.Contains(got[0], s.want) || !strings.HasPrefix(got[0], file+":3:")):
			t.Errorf("%s: want one report with %q at line 3, got %q", s.src, s.want, got)
		}
	}
	for _, s := range internal {
		check("planted.go", false, s)
	}
	for _, s := range root {
		check("planted.go", true, s)
	}
	check(idFile, true, snippet{`import "crypto/rand"`, ""})
	check(idFile, false, snippet{`import "crypto/rand"`, impureImports["crypto/rand"]})
}
