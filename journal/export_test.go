package journal

import "github.com/axsched/ax/internal/disk"

// On returns a configuration for a file system of a test, with small segments.
func (c Config) On(fs disk.FS, segment int64) Config {
	c.fs, c.segment = fs, segment
	return c
}
