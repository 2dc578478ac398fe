package sim

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what the scripts do now into testdata")

// separator divides a script from what it is known to do.
const separator = "----\n"

// TestScripts runs the stories of testdata and compares what they do, line by line.
func TestScripts(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text, want, _ := strings.Cut(string(b), separator)
			s, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			r := Run(s, Options{Trace: true})
			if r.Violation != nil {
				t.Errorf("%v\n%s", r.Violation, strings.Join(r.Lines, "\n"))
				return
			}
			got := story(r.Lines)
			if *update {
				if err := os.WriteFile(name, []byte(text+separator+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("does something else now (go test ./internal/sim -run TestScripts -update, and look at the diff)\n%s", got)
			}
		})
	}
}

// story leaves out what every run does at its end, and how it begins.
func story(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		words := strings.Fields(line)
		switch {
		case len(words) == 2 && words[1] == "heal":
			return b.String()
		case len(words) < 2, words[1] == "opened", words[1] == "acquire", strings.Contains(line, "probe"):
		default:
			b.WriteString(strings.Join(words, " ") + "\n")
		}
	}
	return b.String()
}

// TestParse holds that a script is what it is printed as.
func TestParse(t *testing.T) {
	for seed := uint64(1); seed <= 60; seed++ {
		text := generate(seed).String()
		s, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if again := s.String(); again != text {
			t.Fatalf("seed %d: printed\n%s\nread and printed\n%s", seed, text, again)
		}
	}
}
