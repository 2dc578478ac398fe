package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// readCSV reads a header with the names of the columns, in any order, and a task per record. An empty cell says nothing.
func (f *tasksFile) readCSV(r io.Reader) error {
	records := csv.NewReader(r)
	records.FieldsPerRecord = -1 // counted here, to say it better
	records.TrimLeadingSpace = true
	header, err := records.Read()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	if err := checkHeader(header); err != nil {
		return fmt.Errorf("%s:1: %w", f.name, err)
	}
	for {
		cells, err := records.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var bad *csv.ParseError
		switch {
		case errors.As(err, &bad):
			f.reject(bad.StartLine, fmt.Errorf("column %d: %w", bad.Column, bad.Err))
			continue
		case err != nil:
			return fmt.Errorf("%s: %w", f.name, err)
		}
		line, _ := records.FieldPos(0)
		if len(cells) != len(header) {
			f.reject(line, fmt.Errorf("%s, and the header has %d (a payload in CSV is quoted: \"{\"\"order\"\":\"\"17\"\"}\")",
				plural(len(cells), "cell"), len(header)))
			continue
		}
		task := row{}
		for i, name := range header {
			task[name] = strings.TrimSpace(cells[i])
		}
		f.add(line, task)
	}
}

// checkHeader checks the names of the columns, and trims them.
func checkHeader(header []string) error {
	seen := row{}
	for i, name := range header {
		header[i] = strings.TrimSpace(name)
		if err := seen.set(header[i]); err != nil {
			return fmt.Errorf("column %d: %w", i+1, err)
		}
	}
	if _, ok := seen["kind"]; !ok {
		return errors.New("the first line must name the columns, kind among them")
	}
	return nil
}
