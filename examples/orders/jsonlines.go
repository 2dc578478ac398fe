package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// readJSONLines reads one object per line. Empty lines are skipped.
func (f *tasksFile) readJSONLines(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if row, err := jsonRow(lines.Bytes()); err != nil {
			f.reject(n, err)
		} else {
			f.add(n, row)
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("%s:%d: the line is longer than %s bytes", f.name, n+1, count(maxLine))
	}
	return lines.Err()
}

// jsonRow reads one object, key by key, so that a key that stands twice is found. Numbers and strings become the same
// text, which is checked later.
func jsonRow(line []byte) (row, error) {
	dec := json.NewDecoder(bytes.NewReader(line))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New(`want an object such as {"kind":"order.close","in":"15s"}`)
	}
	r := row{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, badJSON(err)
		}
		field := key.(string) // a key that is not a string is an error of Token
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, badJSON(err)
		}
		if err := r.set(field); err != nil {
			return nil, err
		}
		if r[field], err = jsonText(field, value); err != nil {
			return nil, err
		}
	}
	if _, err := dec.Token(); err != nil { // the closing brace
		return nil, badJSON(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("want one object on a line, there is more after it")
	}
	return r, nil
}

// jsonText returns a value as a CSV cell would have it.
func jsonText(field string, value json.RawMessage) (string, error) {
	switch {
	case string(value) == "null":
		return "", nil
	case field == "payload":
		return string(value), nil
	}
	switch value[0] {
	case '"':
		var s string
		err := json.Unmarshal(value, &s)
		return s, err
	case '{', '[', 't', 'f':
		return "", &fieldError{field, string(value), "want a string or a number"}
	}
	return string(value), nil
}

func badJSON(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the object does not end on its line")
	}
	return fmt.Errorf("not JSON: %w", err)
}
