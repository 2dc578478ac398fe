package journal

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/disk"
)

// Config sets the bounds of a Backend. The zero value is usable.
type Config struct {
	// Partitions is the number of partitions, fixed when the directory is created; 0 means what the directory has, 1 for
	// a new one. From 1 to 4096. Another number than the directory has is refused with ErrInvalid.
	Partitions int

	// Keep is how many finished tasks the archive holds, and how many facts; the oldest go first. 0 means 100,000. A
	// finished task costs some 60 bytes of memory, and its record in the log.
	Keep int

	// KeepFor is how long a finished task is kept at most; 0 means for ever, as far as Keep allows.
	KeepFor time.Duration

	// Inbox is how many entries the inbox of a partition holds; entries beyond it are refused with ErrFull. 0 means
	// 100,000.
	Inbox int

	// Now is the wall clock: eras, leases, documents and KeepFor go by it. nil means time.Now.
	Now func() time.Time

	// Logger gets what an operator should know: a torn tail that was cut off, a full disk, a disk that failed. nil
	// discards.
	Logger *slog.Logger

	fs      disk.FS // of tests
	segment int64   // size of the largest segments, in bytes; 0: segmentMost
}

// Sizes of segments: the first one of an opening is small, each further one twice as large up to the most.
const (
	segmentLeast = 4 << 20
	segmentMost  = 64 << 20
	segmentLimit = 1 << 30 // where one that grows because there is no next one is full for good
)

func (c Config) withDefaults(dir string) Config {
	if c.Keep == 0 {
		c.Keep = 100_000
	}
	if c.Inbox == 0 {
		c.Inbox = 100_000
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.fs == nil {
		c.fs = disk.OS(dir)
	}
	if c.segment == 0 {
		c.segment = segmentMost
	}
	return c
}

func (c *Config) validate() error {
	bad := func(field string, value any, reason string) error {
		return &ax.Error{Op: "open", Field: field, Value: fmt.Sprint(value), Reason: reason, Err: ax.ErrInvalid}
	}
	switch {
	case c.Partitions < 0 || c.Partitions > 4096:
		return bad("Partitions", c.Partitions, "from 1 to 4096, 0 for what the directory has")
	case c.Keep < 1:
		return bad("Keep", c.Keep, "at least 1, 0 for 100,000")
	case c.KeepFor < 0:
		return bad("KeepFor", c.KeepFor, "not negative")
	case c.Inbox < 1:
		return bad("Inbox", c.Inbox, "at least 1, 0 for 100,000")
	}
	return nil
}
