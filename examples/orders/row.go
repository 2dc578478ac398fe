package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/axsched/ax"
)

// row is one task of a file: field to text. A field that is "" says nothing.
type row map[string]string

// fields are what a task may say, by the names in the file.
var fields = []string{"id", "kind", "in", "at", "priority", "timeout", "max_retries", "payload"}

// fieldError says what is wrong with a field, and what is allowed.
type fieldError struct {
	field, value, allowed string
}

func (e *fieldError) Error() string {
	if e.value == "" {
		return e.field + ": " + e.allowed
	}
	return fmt.Sprintf("%s %.80q: %s", e.field, e.value, e.allowed)
}

// set notes that a field is there. It must be a known one, and new.
func (r row) set(field string) error {
	if !slices.Contains(fields, field) {
		return fmt.Errorf("unknown field %.80q: want %s", field, strings.Join(fields, ", "))
	}
	if _, ok := r[field]; ok {
		return &fieldError{field, "", "stands twice"}
	}
	r[field] = ""
	return nil
}

// submission turns the row into what is submitted.
func (r row) submission(now time.Time) (ax.Submission, error) {
	sub := ax.Submission{ID: r["id"], Kind: r["kind"]}
	for _, field := range fields {
		if r[field] == "" {
			continue
		}
		if allowed := setField(&sub, field, r[field]); allowed != "" {
			return sub, &fieldError{field, r[field], allowed}
		}
	}
	if sub.Kind == "" {
		return sub, &fieldError{"kind", "", "is missing: want " + kindNames()}
	}
	if r["in"] != "" && r["at"] != "" {
		return sub, &fieldError{"at", r["at"], "in says when, too: want one of them"}
	}
	if err := checkPayload(sub); err != nil {
		return sub, err
	}
	return sub, explain(sub.Task(now, 0))
}

// setField reads one field into sub. It returns what is allowed, if text is not.
func setField(sub *ax.Submission, field, text string) (allowed string) {
	var err error
	var n int
	switch field {
	case "kind":
		if _, ok := kinds[text]; !ok {
			return "want " + kindNames()
		}
	case "in":
		if sub.In, err = time.ParseDuration(text); err != nil || sub.In < 0 {
			return "want a duration from now, such as 15s, 1m30s or 250ms"
		}
	case "at":
		if sub.At, err = time.Parse(time.RFC3339, text); err != nil {
			return "want an instant in RFC 3339, such as 2026-11-30T02:30:00Z"
		}
	case "priority":
		if n, err = strconv.Atoi(text); err != nil || n < 0 || n >= ax.Levels {
			return fmt.Sprintf("want a whole number from 0 (runs first) to %d; without it, %d", ax.Levels-1, ax.DefaultLevel)
		}
		sub.Priority = ax.P(n)
	case "timeout":
		if sub.Timeout, err = time.ParseDuration(text); err != nil || sub.Timeout < time.Millisecond || sub.Timeout > ax.MaxTimeout {
			return fmt.Sprintf("want a duration from 1ms to %v, such as 5s", ax.MaxTimeout)
		}
	case "max_retries":
		if n, err = strconv.Atoi(text); err != nil || n < 0 || n > ax.MaxRetries {
			return fmt.Sprintf("want a whole number from 0 (none) to %d; without it, %d", ax.MaxRetries, ax.DefaultRetries)
		}
		if sub.MaxRetries = n; n == 0 {
			sub.MaxRetries = ax.NoRetries
		}
	case "payload":
		sub.Payload = []byte(text)
	}
	return ""
}

// checkPayload tries the payload on the argument of its handler: what does not fit would fail when it is due.
func checkPayload(sub ax.Submission) error {
	if sub.Payload == nil {
		return nil
	}
	args := kinds[sub.Kind].args()
	if err := json.Unmarshal(sub.Payload, args); err != nil {
		what := strings.TrimPrefix(fmt.Sprintf("%T", args), "*main.")
		return &fieldError{"payload", string(sub.Payload), fmt.Sprintf("does not fit %s: %v", what, err)}
	}
	return nil
}

// explain turns what ax says is wrong with a submission into the words of the file.
func explain(_ *ax.Task, err error) error {
	var bad *ax.Error
	if !errors.As(err, &bad) {
		return err
	}
	field := map[string]string{"ID": "id", "Kind": "kind", "In": "in", "At": "at", "Payload": "payload"}[bad.Field]
	if field == "" {
		return err
	}
	return fmt.Errorf("%s %s: %s", field, bad.Value, bad.Reason)
}

// kindNames lists the kinds there are.
func kindNames() string { return strings.Join([]string{kindClose, kindActivate, kindPush}, ", ") }
