package journal

import (
	"runtime"

	"github.com/axsched/ax/internal/disk"
)

// On returns a configuration for a file system of a test, with small segments.
func (c Config) On(fs disk.FS, segment int64) Config {
	c.fs, c.segment = fs, segment
	return c
}

// AwaitSpare waits until the next segment is there.
func (b *Backend) AwaitSpare() {
	for there := false; !there; runtime.Gosched() {
		b.mu.Lock()
		there = b.log.spare != nil
		b.mu.Unlock()
	}
}
