package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestWorkload(t *testing.T) {
	r := orders(t, "", "-n", "300", "-spread", "1s", "-workers", "200")
	r.want(t, exitOK, "300 tasks due within 1s", "300 submitted in 0.", "300 done, 0 failed",
		"early 0   lost 0   done twice 0   all kept")
	if r.stderr != "" {
		t.Errorf("stderr: %s", r.stderr)
	}
	if strings.Contains(r.stdout, "\x1b") {
		t.Error("escape sequences, and stdout is no terminal")
	}
	if !regexp.MustCompile(`(?m)^ *1\.\d s  submitted 300  waiting \d+  running \d+  done \d+ .* early 0$`).MatchString(r.stdout) {
		t.Errorf("no line of progress after a second:\n%s", r.stdout)
	}
}

func TestQuiet(t *testing.T) {
	r := orders(t, "", "-n", "30", "-spread", "100ms", "-quiet")
	r.want(t, exitOK, "30 submitted in 0.", "30 done")
	if !strings.HasPrefix(r.stdout, "\nreport\n") {
		t.Errorf("more than the report:\n%s", r.stdout)
	}
}

// TestInterrupt interrupts the program at different points: the receipt accounts for each task.
func TestInterrupt(t *testing.T) {
	for name, c := range map[string]struct {
		n, spread string
		when      string // in stdout
		some      bool   // all were submitted, and some of them done
	}{
		"before it submits": {"20000", "20s", "orders: ", false},
		"while it submits":  {"400000", "1h", " 1.", false},
		"while it runs":     {"2000", "20s", " 1.", true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			r := ordersWatched(t, ctx, "", func(s string) {
				if strings.Contains(s, c.when) {
					interrupt()
				}
			}, "-n", c.n, "-spread", c.spread, "-workers", "400")
			r.want(t, exitOK, "receipt", "report", "all kept")
			number := func(name string) int {
				m := regexp.MustCompile(`(?m)^  ` + name + ` +([\d,]+)(  .*)?$`).FindStringSubmatch(r.stdout)
				if m == nil {
					t.Fatalf("the receipt does not say %s:\n%s", name, r.stdout)
				}
				n, _ := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
				return n
			}
			submitted, done, returned, running := number("submitted"), number("done"), number("returned"), number("running")
			waiting := 0
			if strings.Contains(r.stdout, "\n  waiting ") { // only if something is due much later
				waiting = number("waiting")
			}
			if submitted != done+returned+running+waiting || running != 0 {
				t.Errorf("submitted %d, done %d, returned %d, running %d, waiting %d", submitted, done, returned, running, waiting)
			}
			total, _ := strconv.Atoi(c.n)
			if c.some && (submitted != total || done == 0 || returned == 0) || !c.some && submitted > total {
				t.Errorf("submitted %d of %d, done %d, returned %d", submitted, total, done, returned)
			}
			if !regexp.MustCompile(`(?m)^ +r1-(order|coupon|message)-\d+ +due \d\d:\d\d:\d\d\.\d{3}$`).MatchString(r.stdout) && returned > 0 {
				t.Errorf("no returned task is named:\n%s", r.stdout)
			}
		})
	}
}

// TestServiceEnds kills the service: the program notices, and does not wait for tasks that cannot succeed.
func TestServiceEnds(t *testing.T) {
	title, pid := regexp.MustCompile(`pid (\d+)`), 0
	r := ordersWatched(t, t.Context(), "", func(s string) {
		if m := title.FindStringSubmatch(s); m != nil {
			pid, _ = strconv.Atoi(m[1])
		} else if p, err := os.FindProcess(pid); err == nil && strings.Contains(s, " 1.") {
			p.Kill()
		}
	}, "-n", "1000", "-spread", "10s")
	r.want(t, exitBroken)
	if !strings.Contains(r.stderr, "the service has ended") {
		t.Errorf("stderr: %s", r.stderr)
	}
}

func TestTasks(t *testing.T) {
	for name, c := range map[string]struct{ file, stdin string }{
		"JSON lines":      {file: "testdata/orders.jsonl"},
		"CSV":             {file: "testdata/orders.csv"},
		"JSON from stdin": {"-", `{"kind":"order.close"}` + "\n" + `{"kind":"message.push","in":"10ms"}`},
		"CSV from stdin":  {"-", "kind,in\norder.close,\nmessage.push,10ms\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			total := "6"
			if c.file == "-" {
				total = "2"
			}
			orders(t, c.stdin, "-tasks", c.file).want(t, exitOK, total+" tasks from ", total+" submitted in 0.", total+" done, 0 failed", "all kept")
		})
	}
}

// TestFailingTask shows that a task that fails is told of, with its reason and an exit code.
func TestFailingTask(t *testing.T) {
	r := orders(t, `{"id":"slow","kind":"message.push","timeout":"20ms","max_retries":0}`, "-tasks", "-")
	r.want(t, exitBroken, "1 submitted in 0.", "0 done, 1 failed", "r1-slow TIMEOUT", "all kept")
}

func TestBadTasks(t *testing.T) {
	r := orders(t, "", "-tasks", "testdata/bad.jsonl")
	r.want(t, exitUsage)
	if r.stdout != "" {
		t.Errorf("something ran:\n%s", r.stdout)
	}
	for _, text := range []string{
		`testdata/bad.jsonl:1: in "15": want a duration from now, such as 15s`,
		`testdata/bad.jsonl:2: kind "order.clos": want order.close, coupon.activate, message.push`,
		"9 bad lines, 1 good one: nothing was submitted (-skip-bad runs the good ones)",
	} {
		if !strings.Contains(r.stderr, text) {
			t.Errorf("stderr does not say %q:\n%s", text, r.stderr)
		}
	}
	r = orders(t, "", "-tasks", "testdata/bad.jsonl", "-skip-bad")
	r.want(t, exitOK, "1 submitted in 0.", "1 done")
	if !strings.Contains(r.stderr, "testdata/bad.jsonl:2: ") {
		t.Errorf("the bad lines are not listed:\n%s", r.stderr)
	}
}

func TestUsage(t *testing.T) {
	for args, text := range map[string]string{
		"-n 0":                         "-n 0: from 1 to",
		"-n many":                      "invalid value",
		"-spread -1s":                  "-spread -1s: from 0 to",
		"-workers 0":                   "-workers 0: from 1 to",
		"tasks.csv":                    "tasks are read with -tasks FILE",
		"-skip-bad":                    "-skip-bad needs -tasks FILE",
		"-n 5 -tasks x":                "-n and -tasks",
		"-memory -fresh":               "-memory keeps nothing on disk",
		"-memory -dir x":               "-memory keeps nothing on disk",
		"-tasks testdata/missing.json": "no such file",
		"-tasks " + filepath.Join("testdata", "empty.csv"): "has no tasks",
	} {
		r := orders(t, "", strings.Fields(args)...)
		if r.code != exitUsage || !strings.Contains(r.stderr, text) || r.stdout != "" {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q; want it to say %q", args, r.code, r.stdout, r.stderr, text)
		}
	}
	if r := orders(t, "", "-h"); r.code != exitOK || !strings.Contains(r.stderr, "-spread") {
		t.Errorf("-h: exit code %d, stderr %q", r.code, r.stderr)
	}
}

// TestInterruptedInput interrupts the program while it waits for its input.
func TestInterruptedInput(t *testing.T) {
	in, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer write.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	if code := run(ctx, []string{"-tasks", "-"}, in, &strings.Builder{}, &strings.Builder{}); code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
}
