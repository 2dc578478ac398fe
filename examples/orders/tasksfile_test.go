package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax"
)

// parse reads a tasks file that is a string.
func parse(t testing.TB, name, content string) (*tasksFile, error) {
	t.Helper()
	return readInput(t.Context(), name, strings.NewReader(content))
}

func TestReadTasks(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	want := []ax.Submission{
		{ID: "a", Kind: kindClose, In: 15 * time.Second, Priority: ax.P(0), Timeout: 5 * time.Second, MaxRetries: ax.NoRetries,
			Payload: []byte(`{"order":"1"}`)},
		{ID: "line-3", Kind: kindPush, At: at, Priority: ax.P(99), MaxRetries: 7},
		{ID: "shop/b", Kind: kindActivate},
	}
	for name, content := range map[string]string{
		"tasks.jsonl": `{"id":"a","kind":"order.close","in":"15s","priority":0,"timeout":"5s","max_retries":0,"payload":{"order":"1"}}` + "\n\n" +
			`{"kind":"message.push","at":"2030-01-02T03:04:05Z","priority":"99","max_retries":7,"in":null}` + "\r\n" +
			`  {"id":"shop/b","kind":"coupon.activate"}`,
		"tasks.csv": "id,kind,in,at,priority,timeout,max_retries,payload\n" +
			`a,order.close,15s,,0,5s,0,"{""order"":""1""}"` + "\n" +
			",message.push,,2030-01-02T03:04:05Z,99,,7,\r\n" +
			"shop/b, coupon.activate ,,,,,,\n",
	} {
		for _, name := range []string{name, "stdin"} {
			f, err := parse(t, name, "\ufeff"+content)
			if err != nil || f.bad > 0 {
				t.Fatalf("%s: %v %q", name, err, f.problems)
			}
			if got, want := fmt.Sprintf("%+v", f.tasks), fmt.Sprintf("%+v", want); got != want {
				t.Errorf("%s:\n got %s\nwant %s", name, got, want)
			}
		}
	}
}

func TestBadLines(t *testing.T) {
	for line, want := range map[string]string{
		`[1]`:                      `want an object such as {"kind":"order.close","in":"15s"}`,
		`{"kind":"order.close"`:    `the object does not end on its line`,
		`{"kind":"order.close"}}`:  `want one object on a line, there is more after it`,
		`{"kind":}`:                `not JSON: `,
		`{}`:                       `kind: is missing: want order.close, coupon.activate, message.push`,
		`{"kind":"mail"}`:          `kind "mail": want order.close, coupon.activate, message.push`,
		`{"kind":["order.close"]}`: `kind "[\"order.close\"]": want a string or a number`,
		`{"kind":"order.close","kind":"order.close"}`:                    `kind: stands twice`,
		`{"kind":"order.close","delay":"1s"}`:                            `unknown field "delay": want id, kind, in, at, priority, timeout, max_retries, payload`,
		`{"kind":"order.close","in":"-1s"}`:                              `in "-1s": want a duration from now, such as 15s, 1m30s or 250ms`,
		`{"kind":"order.close","in":"99999999h"}`:                        `in "99999999h": want a duration`,
		`{"kind":"order.close","at":"tomorrow"}`:                         `at "tomorrow": want an instant in RFC 3339, such as 2026-11-30T02:30:00Z`,
		`{"kind":"order.close","in":"1s","at":"2026-11-30T02:30:00Z"}`:   `at "2026-11-30T02:30:00Z": in says when, too: want one of them`,
		`{"kind":"order.close","priority":100}`:                          `priority "100": want a whole number from 0 (runs first) to 99; without it, 50`,
		`{"kind":"order.close","priority":1.5}`:                          `priority "1.5": want a whole number`,
		`{"kind":"order.close","timeout":"0s"}`:                          `timeout "0s": want a duration from 1ms to 1080h0m0s, such as 5s`,
		`{"kind":"order.close","max_retries":-1}`:                        `max_retries "-1": want a whole number from 0 (none) to 1000; without it, 3`,
		`{"kind":"order.close","payload":{"order":17}}`:                  `payload "{\"order\":17}": does not fit CloseOrder: json: cannot unmarshal number`,
		`{"kind":"order.close","payload":"text"}`:                        `does not fit CloseOrder`,
		`{"kind":"order.close","id":"a b"}`:                              `id "a b": may hold only a-z A-Z 0-9 . _ : - (an id also one '/')`,
		`{"kind":"order.close","id":"` + strings.Repeat("x", 101) + `"}`: `: is longer than 100 bytes without a '/'`,
	} {
		f, err := parse(t, "tasks.jsonl", line)
		if err != nil || f.bad != 1 || !strings.HasPrefix(f.problems[0], "tasks.jsonl:1: ") || !strings.Contains(f.problems[0], want) {
			t.Errorf("%s\n got %v %q\nwant %s", line, err, f.problems, want)
		}
	}
}

func TestBadCSV(t *testing.T) {
	for content, want := range map[string]string{
		"kind,in\norder.close\n":                      `tasks.csv:2: 1 cell, and the header has 2`,
		"kind,in\n\n\norder.close,soon\n":             `tasks.csv:4: in "soon": want a duration`,
		"kind,payload\norder.close,{\"order\":\"1\"}": `tasks.csv:2: column `,
		"kind,in\n\"order.close\n":                    `tasks.csv:2: column `,
		"id,kind\na,order.close\na,order.close\n":     `tasks.csv:3: id "a": is taken by line 2; each task needs one of its own`,
	} {
		f, err := parse(t, "tasks.csv", content)
		if err != nil || f.bad == 0 || !strings.Contains(f.problems[0], want) {
			t.Errorf("%q\n got %v %q\nwant %s", content, err, f.problems, want)
		}
	}
	for content, want := range map[string]string{
		"id,when\n":        `tasks.csv:1: column 2: unknown field "when": want id, kind`,
		"id,id\n":          `tasks.csv:1: column 2: id: stands twice`,
		"id,in\na,1s\n":    `tasks.csv:1: the first line must name the columns, kind among them`,
		"order.close,1s\n": `tasks.csv:1: column 1: unknown field "order.close"`,
	} {
		if _, err := parse(t, "tasks.csv", content); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q\n got %v\nwant %s", content, err, want)
		}
	}
}

// TestManyBadLines lists the first twenty and counts the rest.
func TestManyBadLines(t *testing.T) {
	f, err := parse(t, "tasks.jsonl", strings.Repeat("x\n", 50))
	if err != nil || f.bad != 50 || len(f.problems) != maxProblems {
		t.Fatalf("%v, %d bad, %d listed", err, f.bad, len(f.problems))
	}
	var out strings.Builder
	f.printProblems(&out)
	if lines := strings.Split(out.String(), "\n"); len(lines) != 22 || lines[20] != "and 30 bad lines more" {
		t.Errorf("printed %q", lines)
	}
}

func TestLongLine(t *testing.T) {
	line := `{"kind":"order.close","payload":{"order":"` + strings.Repeat("x", maxLine) + `"}}`
	_, err := parse(t, "tasks.jsonl", "\n"+line)
	if err == nil || !strings.Contains(err.Error(), "tasks.jsonl:2: the line is longer than 1,048,576 bytes") {
		t.Errorf("got %v", err)
	}
}

// FuzzReadTasks reads anything: it never panics, counts each line as a task or a problem, and takes only what ax takes.
func FuzzReadTasks(f *testing.F) {
	for _, seed := range []string{"", "{", `{"kind":"order.close","in":"15s"}`, "kind,in\norder.close,1s\n", "kind\n\"\n", "\ufeff{}",
		`{"kind":"order.close","payload":{"order":"1"},"id":"a/b"}`, "id,kind,payload\n1,message.push,\"{}\"\n", "kind\n\n,\n"} {
		f.Add(seed, "tasks.jsonl")
		f.Add(seed, "tasks.csv")
		f.Add(seed, "stdin")
	}
	f.Fuzz(func(t *testing.T, content, name string) {
		got, err := parse(t, name, content)
		if err != nil {
			return
		}
		if lines := strings.Count(content, "\n") + 1; got.bad+len(got.tasks) > lines {
			t.Errorf("%d tasks and %d problems of %d lines", len(got.tasks), got.bad, lines)
		}
		if len(got.problems) != min(got.bad, maxProblems) {
			t.Errorf("%d problems for %d bad lines", len(got.problems), got.bad)
		}
		var ids []string
		for _, sub := range got.tasks {
			if _, err := sub.Task(got.now, 0); err != nil {
				t.Errorf("took %+v: %v", sub, err)
			}
			ids = append(ids, sub.ID)
		}
		slices.Sort(ids)
		if n := len(ids); len(slices.Compact(ids)) != n {
			t.Errorf("an id is used twice")
		}
	})
}
