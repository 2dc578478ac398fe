package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// keys are the numbers a Result may have, in the order they are printed. Scenarios add a few of their own behind them.
var keys = strings.Fields(`per_s p50_ms p99_ms p999_ms max_ms p99_all_ms cron_p99_ms peer_p99_ms early submitted succeeded
	failed held skipped refused pending lost duplicates ratio bytes_per_task rss_bytes cpu_s server_busy fsync_p50_ms fsync_p99_ms rounds`)

// Result is what one run of a scenario found. It belongs to one goroutine.
type Result struct {
	Scenario string
	Rows     []Row    // one per subject or setting
	Missed   []string // bounds that did not hold
	Wrong    []string // wrong results: the run must not pass

	numbers map[string]float64
	total   tally // of all rounds of ax
	log     io.Writer
}

// Row is one line of a comparison.
type Row map[string]any

func newResult(name string, log io.Writer) *Result {
	return &Result{Scenario: name, numbers: map[string]float64{}, log: log}
}

// Number returns the number under key.
func (r *Result) Number(key string) (float64, bool) {
	v, ok := r.numbers[key]
	return v, ok
}

func (r *Result) set(key string, v float64) { r.numbers[key] = v }

func (r *Result) setDefault(key string, v float64) {
	if _, ok := r.numbers[key]; !ok {
		r.numbers[key] = v
	}
}

func (r *Result) progress(format string, args ...any) { fmt.Fprintf(r.log, format+"\n", args...) }

// row keeps a row and shows it.
func (r *Result) row(row Row) {
	r.Rows = append(r.Rows, row)
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(row)) {
		if v, ok := row[key].(float64); ok {
			fmt.Fprintf(&b, "  %s=%s", key, number(v))
		} else {
			fmt.Fprintf(&b, "  %s=%v", key, row[key])
		}
	}
	r.progress("row%s", b.String())
}

// atMost and atLeast check a bound and say how it went.
func (r *Result) atMost(what string, got, limit float64) {
	r.bound(what, got, "<=", limit, got <= limit)
}
func (r *Result) atLeast(what string, got, limit float64) {
	r.bound(what, got, ">=", limit, got >= limit)
}

func (r *Result) bound(what string, got float64, sign string, limit float64, met bool) {
	line := fmt.Sprintf("%s %s, bound %s %s", what, number(got), sign, number(limit))
	if met {
		r.progress("met     %s", line)
		return
	}
	r.progress("MISSED  %s", line)
	r.Missed = append(r.Missed, line)
}

// wrong records a wrong result.
func (r *Result) wrong(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	r.progress("WRONG   %s", line)
	r.Wrong = append(r.Wrong, line)
}

// add adds what one round of ax did.
func (r *Result) add(t tally) {
	for _, line := range t.check() {
		r.wrong("%s", line)
	}
	r.total.add(t)
}

// finish turns the tally of all rounds into numbers.
func (r *Result) finish() {
	if t := r.total; t.submitted > 0 {
		for key, n := range map[string]int{"submitted": t.submitted, "succeeded": t.succeeded, "failed": t.failed, "held": t.held,
			"skipped": t.skipped, "refused": t.refused, "pending": t.pending, "lost": t.lost, "duplicates": t.duplicates,
			"early": t.early} {
			r.set(key, float64(n))
		}
	}
	r.progress("%d wrong, %d bounds missed", len(r.Wrong), len(r.Missed))
}

// MarshalJSON writes one flat object: scenario, the numbers in the order of keys, the scenario's own ones, then rows,
// missed and wrong.
func (r *Result) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"scenario":%q`, r.Scenario)
	own := slices.DeleteFunc(slices.Sorted(maps.Keys(r.numbers)), func(k string) bool { return slices.Contains(keys, k) })
	for _, key := range slices.Concat(keys, own) {
		if v, ok := r.numbers[key]; ok {
			fmt.Fprintf(&b, ",%q:%s", key, number(v))
		}
	}
	for _, list := range []struct {
		key  string
		of   any
		some bool
	}{{"rows", r.Rows, r.Rows != nil}, {"missed", r.Missed, r.Missed != nil}, {"wrong", r.Wrong, r.Wrong != nil}} {
		if !list.some {
			continue
		}
		fmt.Fprintf(&b, ",%q:", list.key)
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false) // bounds are written with < and >
		if err := e.Encode(list.of); err != nil {
			return nil, err
		}
		b.Truncate(b.Len() - 1) // the encoder's newline
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// number writes v with at most three decimals and never an exponent.
func number(v float64) string {
	return strconv.FormatFloat(math.Round(v*1000)/1000, 'f', -1, 64)
}
