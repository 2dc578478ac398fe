package bench

import (
	"errors"
	"os"
	"slices"
	"time"
)

// probe measures the disk of a directory: how long 4 KiB into a file that is there already take to be safe. What a journal
// reaches depends on it, and on a machine that others use it changes from minute to minute.
type probe struct {
	file *os.File
	took []int64 // sorted by quantile
	next int64   // place in the file
}

const (
	probeBlock  = 4 << 10
	probeBlocks = 300 // of one sample, and of the file
)

func newProbe(under string) (*probe, error) {
	f, err := os.CreateTemp(under, "axbench-probe-")
	if err != nil {
		return nil, err
	}
	p := &probe{file: f}
	if _, err = f.Write(make([]byte, probeBlocks*probeBlock)); err == nil {
		err = f.Sync() // so that a later one has no metadata to write
	}
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// sample writes and syncs some hundred times.
func (p *probe) sample() error {
	block := make([]byte, probeBlock)
	for range probeBlocks {
		block[0]++
		start := time.Now()
		if _, err := p.file.WriteAt(block, p.next%probeBlocks*probeBlock); err != nil {
			return err
		}
		if err := syncData(p.file); err != nil {
			return err
		}
		p.took = append(p.took, int64(time.Since(start)))
		p.next++
	}
	return nil
}

// quantile returns milliseconds, over all samples.
func (p *probe) quantile(q float64) float64 {
	slices.Sort(p.took)
	return inMillis(quantile(p.took, q))
}

func (p *probe) close() error {
	return errors.Join(p.file.Close(), os.Remove(p.file.Name()))
}
