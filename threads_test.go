package ax_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// threadsPage lists every goroutine. Each row of its tables names in backquotes what starts it: "file.go:Function" or
// "file.go:Type.Method", one row for each place in the code.
const threadsPage = "docs/threads.md"

var threadRow = regexp.MustCompile("`([a-z0-9/_]+\\.go:[A-Za-z_.]+)`")

// threadStarts returns what starts a goroutine in a parsed file, once for each place: a go statement, and a call of a
// method Go (sync.WaitGroup) or AfterFunc (time, context), whose function runs on a goroutine of its own.
func threadStarts(name string, f *ast.File) (starts []string) {
	for _, d := range f.Decls {
		at := name + ":var"
		if fn, ok := d.(*ast.FuncDecl); ok {
			at = name + ":" + funcName(fn)
		}
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				starts = append(starts, at)
			case *ast.CallExpr:
				if sel, ok := n.Fun.(*ast.SelectorExpr); ok && (sel.Sel.Name == "Go" || sel.Sel.Name == "AfterFunc") {
					starts = append(starts, at)
				}
			}
			return true
		})
	}
	return starts
}

// funcName returns the name of a function, with the type of its receiver before it.
func funcName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	of := fn.Recv.List[0].Type
	for {
		switch t := of.(type) {
		case *ast.StarExpr:
			of = t.X
		case *ast.IndexExpr:
			of = t.X
		case *ast.IndexListExpr:
			of = t.X
		case *ast.Ident:
			return t.Name + "." + fn.Name.Name
		default:
			return fn.Name.Name
		}
	}
}

// checkThreads compares the places in the code with the rows of the page.
func checkThreads(starts []string, page string) (bad []string) {
	code, rows := map[string]int{}, map[string]int{}
	for _, at := range starts {
		code[at]++
	}
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		for _, m := range threadRow.FindAllStringSubmatch(line, -1) {
			rows[m[1]]++
		}
	}
	for _, at := range slices.Sorted(maps.Keys(code)) {
		if code[at] != rows[at] {
			bad = append(bad, fmt.Sprintf("%s starts goroutines in %d places, %s has %d rows for it", at, code[at], threadsPage, rows[at]))
		}
	}
	for _, at := range slices.Sorted(maps.Keys(rows)) {
		if code[at] == 0 {
			bad = append(bad, fmt.Sprintf("%s has a row for %s, which starts no goroutine", threadsPage, at))
		}
	}
	return bad
}

// TestThreads holds docs/threads.md to the code. Test kits are left out: their goroutines end with the case that
// started them.
func TestThreads(t *testing.T) {
	var starts []string
	for dir, names := range goFiles(t) {
		if slices.Contains(testKits, dir) {
			continue
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			starts = append(starts, threadStarts(filepath.ToSlash(name), f)...)
		}
	}
	page, err := os.ReadFile(threadsPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range checkThreads(starts, string(page)) {
		t.Error(line)
	}
}

// TestThreadsBites proves that the check can fail.
func TestThreadsBites(t *testing.T) {
	const source = `package p
type T[K any] struct{}
func (t *T[K]) Run() {
	go f()
	func() { t.group.Go(f) }()
}
func start() { time.AfterFunc(d, f) }
var v = func() { go f() }
func quiet() { Go(f); t.Going(f) }
`
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	starts := threadStarts(path.Join("x", "p.go"), f)
	want := []string{"x/p.go:T.Run", "x/p.go:T.Run", "x/p.go:start", "x/p.go:var"}
	if !slices.Equal(starts, want) {
		t.Fatalf("found %q, want %q", starts, want)
	}
	row := func(at string) string { return "| a | `" + at + "` | b |\n" }
	full := row(want[0]) + row(want[1]) + row(want[2]) + row(want[3])
	for name, c := range map[string]struct {
		page string
		bad  int
	}{
		"complete":             {full, 0},
		"a place is missing":   {row(want[0]) + row(want[1]) + row(want[3]), 1},
		"one of two is":        {row(want[0]) + row(want[2]) + row(want[3]), 1},
		"only in the text":     {"`x/p.go:start`\n" + row(want[0]) + row(want[1]) + row(want[3]), 1},
		"a row is left over":   {full + row("x/q.go:gone"), 1},
		"nothing is there":     {"", 3},
		"a row is there twice": {full + row(want[2]), 1},
	} {
		if bad := checkThreads(starts, c.page); len(bad) != c.bad {
			t.Errorf("%s: %d reports, want %d: %q", name, len(bad), c.bad, bad)
		}
	}
}
