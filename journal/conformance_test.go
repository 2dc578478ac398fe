package journal_test

import (
	"sync"
	"testing"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/archivetest"
	"github.com/axsched/ax/journal"
	"github.com/axsched/ax/registrytest"
	"github.com/axsched/ax/storetest"
)

// open opens a journal, which is closed with the test.
func open(t testing.TB, dir string, cfg journal.Config) *journal.Backend {
	t.Helper()
	b, err := journal.Open(dir, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func TestStore(t *testing.T) {
	for _, n := range []int{1, 3} {
		t.Run(map[int]string{1: "one", 3: "three"}[n], func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) storetest.Harness {
				dir := t.TempDir()
				b := open(t, dir, journal.Config{Partitions: n})
				return storetest.Harness{Store: b, Registry: b, Partitions: n, Reopen: func() (ax.Store, ax.Registry) {
					b.Close()
					b = open(t, dir, journal.Config{})
					return b, b
				}}
			})
		})
	}
}

// clock is a clock that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 11, 30, 2, 30, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func TestRegistry(t *testing.T) {
	registrytest.Run(t, func(t *testing.T) registrytest.Harness {
		c, dir := newClock(), t.TempDir()
		b := open(t, dir, journal.Config{Now: c.Now})
		return registrytest.Harness{Registry: b, Advance: c.Advance, Reopen: func() ax.Registry {
			b.Close()
			b = open(t, dir, journal.Config{Now: c.Now})
			return b
		}, Recreate: func() ax.Registry {
			c.Advance(time.Second)
			return open(t, t.TempDir(), journal.Config{Now: c.Now})
		}}
	})
}

func TestArchive(t *testing.T) {
	archivetest.Run(t, func(t *testing.T) archivetest.Harness {
		dir := t.TempDir()
		b := open(t, dir, journal.Config{})
		return archivetest.Harness{Archive: b.Archive(), Reopen: func() ax.Archive {
			b.Close()
			b = open(t, dir, journal.Config{})
			return b.Archive()
		}}
	})
}
