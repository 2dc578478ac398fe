package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMain plays the part of a child where a scenario has started this program again.
func TestMain(m *testing.M) {
	if status, is := Child(); is {
		os.Exit(status)
	}
	os.Exit(m.Run())
}

// TestScenarios runs every scenario on every store it knows, at a size that takes a few seconds at most: it shows that they
// work, not how fast ax is. What they find wrong fails the test, and every count must add up.
func TestScenarios(t *testing.T) {
	for _, s := range Scenarios() {
		for _, store := range s.on() {
			t.Run(s.Name+"/"+store, func(t *testing.T) { smoke(t, s, s.Tiny, store) })
		}
	}
}

// TestPeerRiver runs the work that is due at once: the delayed work takes as long as River looks apart.
func TestPeerRiver(t *testing.T) {
	s, _ := Find("peers")
	smoke(t, s, Options{Peer: riverPeer, Only: "now", Tasks: 300}, onJournal)
}

func smoke(t *testing.T, s Scenario, o Options, store string) {
	o.Store, o.Dir = store, t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // one that is stuck fails, and the others still run
	defer cancel()
	r, err := s.Run(ctx, o, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range r.Wrong {
		t.Errorf("wrong: %s", line)
	}
	js, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	checkJSON(t, js, s.Name)
	if left, err := os.ReadDir(o.Dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestStuckStore: a store that does not answer ends the run with its context, and is no good result.
func TestStuckStore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l := newLedger(2, false)
	full := make(chan struct{})
	a, err := newBoundedAx(ctx, place{store: inMemory}, l, 2, 1, 1, func(int) { <-full }) // room for one, which does not end
	if err != nil {
		t.Fatal(err)
	}
	submitted := make(chan struct{})
	go func() {
		flood(a, l, 2, 1, 1)
		close(submitted)
	}()
	for a.s.Stats().Waiting == 0 { // until the second submit waits for room
		runtime.Gosched()
	}
	cancel()
	<-submitted // while there is still no room
	close(full)
	if u := a.stop(l, 2); u.refused != 1 || u.check() == nil {
		t.Errorf("%d refused, wrong: %q", u.refused, u.check())
	}
}

// checkJSON holds what a program reads against the accounting identity.
func checkJSON(t *testing.T, js []byte, name string) {
	t.Helper()
	var got map[string]any
	if err := json.Unmarshal(js, &got); err != nil {
		t.Fatalf("%v in %s", err, js)
	}
	if got["scenario"] != name {
		t.Errorf("scenario is %v", got["scenario"])
	}
	if got["submitted"] == nil {
		if name != "loc" {
			t.Errorf("nothing was submitted: %s", js)
		}
		return
	}
	sum := 0.0
	for _, key := range []string{"succeeded", "failed", "held", "skipped", "refused", "pending"} {
		sum += got[key].(float64)
	}
	if got["submitted"] != sum || sum == 0 {
		t.Errorf("submitted is not the sum of what follows it: %s", js)
	}
	for _, key := range []string{"early", "lost", "duplicates", "refused", "failed"} {
		if key == "failed" && name == "drill" {
			continue // tasks that kill their process must end so
		}
		if got[key] != 0.0 {
			t.Errorf("%s is %v", key, got[key])
		}
	}
}

// TestTallyBites proves that each kind of wrong result is found.
func TestTallyBites(t *testing.T) {
	good := func() *ledger {
		l := newLedger(4, false)
		for i := range 4 {
			l.fate[i], l.due[i], l.start[i], l.runs[i] = acknowledged, 100, 150, 1
		}
		return l
	}
	for _, c := range []struct {
		what  string
		spoil func(*ledger, *tally)
	}{
		{"nothing", func(*ledger, *tally) {}},
		{"early", func(l *ledger, _ *tally) { l.start[2] = 99 }},
		{"lost", func(l *ledger, u *tally) { l.runs[1] = 0; u.succeeded-- }},
		{"twice", func(l *ledger, _ *tally) { l.runs[3]++ }},
		{"unasked", func(l *ledger, _ *tally) { l.fate[0] = refused }},
		{"uncounted", func(_ *ledger, u *tally) { u.succeeded-- }},
		{"invented", func(l *ledger, _ *tally) { l.runs[0], l.back[0] = 0, true }},
		{"fault", func(_ *ledger, u *tally) { u.faults = []string{"stop failed"} }},
	} {
		l, u := good(), tally{submitted: 4, succeeded: 4}
		c.spoil(l, &u)
		u.outside(l)
		if wrong := u.check(); (len(wrong) > 0) != (c.what != "nothing") {
			t.Errorf("%s: found %q", c.what, wrong)
		}
	}
}

// TestCompareBites proves that a metric that is off is found, and a lawful one is not.
func TestCompareBites(t *testing.T) {
	late, least := make([]int64, 2000), make([]int64, 2000)
	for i := range late {
		late[i] = 5e6
		least[i] = 3e6
	}
	for off, wrong := range map[int64]bool{5e6: false, 3e6: false, 5.9e6: false, 6.5e6: true, 1.5e6: true} {
		r := newResult("test", t.Output())
		r.compare(late, least, func(float64) time.Duration { return time.Duration(off) })
		if (r.Wrong != nil) != wrong {
			t.Errorf("a metric of %v: found %q", time.Duration(off), r.Wrong)
		}
	}
}

func TestCodeLines(t *testing.T) {
	src := "// doc\npackage x\n\n/* two\nlines */\nvar s = `a\n\nb` // c\n\nfunc f() {\n\t// no\n}\n"
	if n := codeLines([]byte(src)); n != 6 {
		t.Errorf("%d lines, want 6: package, three of the raw string, func, }", n)
	}
}

func TestResultJSON(t *testing.T) {
	r := newResult("x", t.Output())
	for _, key := range slices.Backward(keys) {
		r.set(key, 1234567.25)
	}
	r.set("own", 1)
	r.atMost("a", 2, 1)
	js, err := r.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	want.WriteString(`{"scenario":"x"`)
	for _, key := range keys {
		fmt.Fprintf(&want, ",%q:1234567.25", key)
	}
	want.WriteString(`,"own":1,"missed":["a 2, bound <= 1"]}`)
	if string(js) != want.String() {
		t.Errorf("got  %s\nwant %s", js, want.String())
	}
}
