package bench

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestDrillSeesEffectsTwice runs a drill without package once: one task in ten fails after its effect and runs again, which
// the drill must find.
func TestDrillSeesEffectsTwice(t *testing.T) {
	o := Options{Rounds: 2, Dir: t.TempDir()}.or(drillScenario.Defaults)
	r := newResult("drill", t.Output())
	d, err := newDrill(t.Context(), o, r)
	if err != nil {
		t.Fatal(err)
	}
	d.bare = true
	if err := d.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r.total.duplicates == 0 || r.Wrong == nil {
		t.Errorf("%d duplicates, wrong: %q", r.total.duplicates, r.Wrong)
	}
}

// TestDrillSeesWorkerEnd: a worker that cannot open its journal is a wrong result, whoever is to blame.
func TestDrillSeesWorkerEnd(t *testing.T) {
	o := Options{Rounds: 1, Dir: t.TempDir()}.or(drillScenario.Defaults)
	r := newResult("drill", t.Output())
	d, err := newDrill(t.Context(), o, r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.with(0).Dir, []byte("no directory"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.drain(t.Context()); err == nil { // nobody kills this one before it says what is wrong
		t.Fatal("a worker opened a file as its directory")
	}
	if err := d.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(fmt.Sprint(r.Wrong), "ended by itself") {
		t.Errorf("wrong: %q", r.Wrong)
	}
}

// TestDrillLedgerBites proves that each kind of wrong history is found, and a right one is not.
func TestDrillLedgerBites(t *testing.T) {
	right := []string{
		"submit a 100", "ack a", "start a 01 100", "start a 02 300", "ended a SUCCESS",
		"submit b 200", "start b 03 250", "found b SUCCESS", "found a SUCCESS", // nobody heard the answer for b
		"submit poison-c 100", "ack poison-c", "start poison-c 04 100", "start poison-c 05 110", "start poison-c 06 120", "found poison-c FAILED",
		"submit d 100", // killed before it was written
		"drained",
	}
	for _, c := range []struct {
		what    string
		drop    string   // the line to leave out
		add     []string // lines before the last
		effects string   // of a, b, poison-c, d
		wrong   string   // in a line of what is found
	}{
		{"nothing", "", nil, "1100", ""},
		{"lost", "found a SUCCESS", nil, "1100", "a: found nothing in the end"},
		{"not ended", "found b SUCCESS", []string{"found b SCHEDULED"}, "1100", "b: found SCHEDULED"},
		{"failed", "found b SUCCESS", []string{"found b FAILED"}, "1100", "b: found FAILED"},
		{"held in the end", "found b SUCCESS", []string{"found b HELD"}, "1100", "b: found HELD"},
		{"held", "", []string{"held b"}, "1100", "b was held"},
		{"effect twice", "", nil, "1200", "b had 2 effects"},
		{"no effect", "", nil, "0100", "a had 0 effects"},
		{"effect of poison", "", nil, "1110", "poison-c had 1 effects"},
		{"effect of what was lost", "", nil, "1101", "d: found nothing in the end"},
		{"early", "", []string{"submit e 500", "start e 07 499"}, "1100", "e started 1 µs early"},
		{"undone by a start", "", []string{"start a 08 400"}, "1100", "a started again after it had ended"},
		{"undone", "found a SUCCESS", []string{"found a FAILED"}, "1100", "a had ended SUCCESS, and is FAILED now"},
		{"told twice", "", []string{"ended a FAILED"}, "1100", "a was told to be SUCCESS, and then FAILED"},
		{"found twice", "", []string{"found b FAILED"}, "1100", "b was told to be SUCCESS, and then FAILED"},
		{"old token", "", []string{"start b 03 260"}, "1100", "b: token 03"},
		{"too many attempts", "", []string{"start poison-c 09 130"}, "1100", "killed its process for the 4. time"},
		{"poison succeeded", "found poison-c FAILED", []string{"found poison-c SUCCESS"}, "1100", "poison-c: found SUCCESS"},
		{"invented", "", []string{"start z 09 130"}, "1100", "nobody submitted that"},
		{"garbled", "", []string{"stort a 09 130"}, "1100", "not understood"},
	} {
		t.Run(c.what, func(t *testing.T) {
			l := newDrillLedger()
			last := len(right) - 1
			for _, line := range append(append(append([]string{}, right[:last]...), c.add...), right[last]) {
				if line != c.drop {
					l.hear(line)
				}
			}
			effects := map[string]int{}
			for i, id := range []string{"a", "b", "poison-c", "d"} {
				if n := int(c.effects[i] - '0'); n > 0 {
					effects[id] = n
				}
			}
			l.settle(effects)
			found := fmt.Sprintf("%q", l.wrong)
			if c.wrong == "" && l.wrong != nil || !strings.Contains(found, c.wrong) {
				t.Errorf("found %s, want %q", found, c.wrong)
			}
			if !l.drained {
				t.Error("not drained")
			}
		})
	}
}

// TestUnanswered: only what nobody knows the answer of is submitted again.
func TestUnanswered(t *testing.T) {
	l := newDrillLedger()
	for _, line := range []string{"submit a 1", "submit b 2", "ack b", "submit c 3", "start c 01 4", "submit d 5", "ended d SUCCESS"} {
		l.hear(line)
	}
	if again := l.unanswered(); len(again) != 1 || again[0] != (drillAgain{"a", 1}) {
		t.Errorf("again: %v", again)
	}
}
