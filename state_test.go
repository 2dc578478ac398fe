package ax_test

import (
	"os"
	"strings"
	"testing"

	"github.com/axsched/ax"
)

var states = []ax.State{0, ax.Created, ax.Scheduled, ax.Running, ax.Held, ax.Success, ax.Failed, ax.Timeout, ax.Canceled}

// The transition table of the docs is the one of the code.
func TestLegalIsTheTableInTheDocs(t *testing.T) {
	doc, err := os.ReadFile("docs/states.md")
	if err != nil {
		t.Fatal(err)
	}
	name := func(s ax.State) string {
		if s == 0 {
			return "–"
		}
		return s.String()
	}
	rows, columns := map[string][]string{}, []string(nil)
	for line := range strings.Lines(string(doc)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case len(cells) != 9:
		case cells[0] == "from":
			columns = cells
		case !strings.HasPrefix(cells[0], "-"):
			rows[cells[0]] = cells
		}
	}
	if len(rows) != len(states) || len(columns) != len(states) {
		t.Fatalf("the table has %d rows and %d columns", len(rows), len(columns))
	}
	for _, from := range states {
		row := rows[name(from)]
		if row == nil {
			t.Errorf("no row for %s", name(from))
			continue
		}
		for i, to := range states[1:] {
			if columns[i+1] != name(to) {
				t.Fatalf("column %d is %s, want %s", i+1, columns[i+1], name(to))
			}
			if row[i+1] != "" && row[i+1] != "✓" {
				t.Errorf("%s to %s: %q", name(from), name(to), row[i+1])
			}
			if got := row[i+1] == "✓"; got != ax.Legal(from, to) {
				t.Errorf("%s to %s: the docs say %v, ax.Legal %v", name(from), name(to), got, ax.Legal(from, to))
			}
		}
		if ax.Legal(from, 0) || ax.Legal(from, 9) {
			t.Errorf("%s may move to what is no state", name(from))
		}
		if from.Terminal() != (from >= ax.Success) {
			t.Errorf("%s terminal: %v", name(from), from.Terminal())
		}
	}
}

func TestStateText(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range states[1:] {
		text, err := s.MarshalText()
		var back ax.State
		if err != nil || seen[string(text)] || back.UnmarshalText(text) != nil || back != s {
			t.Errorf("%v: %s %v, back %v", s, text, err, back)
		}
		seen[string(text)] = true
	}
	for _, s := range []ax.State{0, 9, 255} {
		if text := s.String(); !strings.HasPrefix(text, "State(") {
			t.Errorf("%d is called %q", uint8(s), text)
		}
	}
	for o := ax.Ongoing; o <= ax.OutcomeInterrupted; o++ {
		text, err := o.MarshalText()
		var back ax.Outcome
		if err != nil || back.UnmarshalText(text) != nil || back != o {
			t.Errorf("%v: %s %v, back %v", o, text, err, back)
		}
	}
	for _, bad := range []string{"", "success", "SUCCESS ", "State(0)", "State(9)", "\x00", strings.Repeat("x", 1000)} {
		var s ax.State
		var o ax.Outcome
		if s.UnmarshalText([]byte(bad)) == nil || o.UnmarshalText([]byte(bad)) == nil {
			t.Errorf("%q was read", bad)
		}
	}
	for c := ax.Accepted; c <= ax.Refused; c++ {
		if c.String() == "" || c.String() == "unanswered" {
			t.Errorf("code %d has no name", c)
		}
	}
	if ax.Code(0).String() != "unanswered" || ax.Code(99).String() != "" {
		t.Error("the zero code, or one that is none")
	}
}

func FuzzStateText(f *testing.F) {
	for _, s := range states {
		f.Add(s.String())
	}
	f.Fuzz(func(t *testing.T, text string) {
		var s ax.State
		if err := s.UnmarshalText([]byte(text)); err == nil && (s.String() != text || s == 0) {
			t.Errorf("%q was read as %v", text, s)
		}
		var o ax.Outcome
		if err := o.UnmarshalText([]byte(text)); err == nil && o.String() != text {
			t.Errorf("%q was read as %v", text, o)
		}
	})
}
