package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// A run on a disk is measured again if the disk was busy with something else, as a probe before and after it tells.
const (
	tries = 3
	quiet = 5.0 // ms: the most that 99 of 100 syncs of the probe may take
)

// onDisk runs the scenario between two probes of the disk, again if they say that it was busier than quiet milliseconds: at
// most tries times. The quietest try is the result, each one is a row of it, and what any of them found wrong counts.
func (s Scenario) onDisk(ctx context.Context, o Options, log io.Writer, quiet float64) (*Result, error) {
	var best *Result
	var rows []Row
	var wrong []string
	for try := 1; try <= tries; try++ {
		r := newResult(s.Name, log)
		if err := s.probed(ctx, o, r); err != nil {
			return nil, err
		}
		row := Row{"what": fmt.Sprintf("try %d", try)}
		for _, key := range []string{"fsync_p50_ms", "fsync_p99_ms", "per_s", "p99_ms", "max_ms"} {
			if v, ok := r.Number(key); ok {
				row[key] = v
			}
		}
		rows, wrong = append(rows, row), append(wrong, r.Wrong...)
		if best == nil || r.numbers["fsync_p99_ms"] < best.numbers["fsync_p99_ms"] {
			best = r
		}
		if r.numbers["fsync_p99_ms"] <= quiet {
			break
		}
		r.progress("the disk is busy: 99 of 100 syncs of 4 KiB took up to %.1f ms", r.numbers["fsync_p99_ms"])
	}
	best.Wrong = wrong
	for _, row := range rows {
		best.row(row)
	}
	return best, nil
}

// probed runs the scenario once, and sets what the probe of the same minute says.
func (s Scenario) probed(ctx context.Context, o Options, r *Result) (err error) {
	p, err := newProbe(o.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	for _, step := range []func() error{p.sample, func() error { return s.run(ctx, o, r) }, p.sample} {
		if err := step(); err != nil {
			return err
		}
	}
	r.set("fsync_p50_ms", p.quantile(0.5))
	r.set("fsync_p99_ms", p.quantile(0.99))
	return nil
}
