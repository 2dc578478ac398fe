package sched

import (
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/engine"
)

// Config says what a Scheduler works with. The zero value of every field but Mux is a sensible choice, and Workers is
// the only one to think about on the first day.
type Config struct {
	// Mux holds the handlers. A scheduler without any only submits, and runs nothing.
	Mux *ax.Mux

	// Workers is how many handlers may run at once; 0 means 100. Handlers that wait (I/O) want rate × duration of them,
	// handlers that compute want about one per core. From 1 to 1,000,000; an idle one costs a few KiB.
	Workers int

	// Store, Registry and Archive are where the truth lives. All nil: in memory, gone with the process. Store and Registry
	// come from one system and must be set together; an Archive that is nil is taken from them if they are one.
	Store    ax.Store
	Registry ax.Registry
	Archive  ax.Archive

	// Keep is how many finished tasks the memory of this process keeps to be looked at and re-run; 0 means 100,000. It
	// does not go together with Store or Archive, which have bounds of their own.
	Keep int

	// Partitions is into how many the store's key space was cut when it was created; 0 means 1.
	Partitions int

	// Node names this process in leases, attempts and logs; empty: host name and process id.
	Node string

	// MaxPending bounds the tasks that have not ended; 0 means 1,000,000. At the bound a submit is answered ErrFull at
	// once, or waits for room until its context ends if WaitForRoom is set.
	MaxPending  int
	WaitForRoom bool

	// Horizon is how far ahead tasks are kept in memory; 0 means 10 minutes, at least 1 s. What is due later is in the store only,
	// and costs some 20 bytes here. It is read when half of the horizon is left. In memory, without Store or with a
	// memory.Backend, tasks are kept once anyway, and there is no horizon.
	Horizon time.Duration

	// RefuseUnknownKinds refuses a submit whose kind has no handler here with ErrNoHandler. Otherwise such a task waits,
	// visibly, for a process that has one.
	RefuseUnknownKinds bool

	// MaxPayload bounds a payload in bytes; 0 means ax.MaxPayload.
	MaxPayload int

	Limits Limits // zero: none
	Aging  Aging  // zero: one level up after 40 s of waiting, and every 30 s from then on
	Dedupe Dedupe // zero: 1 h, 1,000,000 ids

	// LeaseTTL is for how long this process holds its partitions without a renewal; 0 means 10 s. A crashed process
	// keeps a shared store from others for this long.
	LeaseTTL time.Duration

	// ShutdownWait is how long Run lets handlers finish once its context has ended; 0 means 30 s.
	ShutdownWait time.Duration

	// Logger gets what an operator should know, and is what ax.Log starts from; nil discards.
	Logger *slog.Logger

	// OnEvent, if set, is called for every task that ended, was held or overran, from one goroutine, which it must not
	// hold up: scheduling goes on without waiting for it, but at most 65,536 events wait for a slow one, the others are
	// counted in Stats.EventsDropped.
	OnEvent func(Event)

	// Clock is for tests (package axtest); nil is the machine's.
	Clock Clock
}

// Limits bound how many tasks run at once and how fast they start. Kinds count on this node, keys and jobs everywhere:
// all tasks of a key, and so of a job, are in one partition. Keys and Jobs override EachKey and EachJob.
type Limits struct {
	Kinds   map[string]Limit
	Keys    map[string]Limit
	Jobs    map[string]Limit // by uid
	EachKey Limit
	EachJob Limit
}

// Limit bounds one kind, key or job; zero fields do not.
type Limit = engine.Limit

// Aging raises the effective priority of a waiting task, so that none starves; see engine.Aging.
type Aging = engine.Aging

// Dedupe bounds what is remembered of tasks that have ended.
type Dedupe struct {
	Window time.Duration // 0 means 1 h
	Max    int           // ids in all, shared evenly by the partitions; 0 means 1,000,000
}

// Event tells that a task ended, was held, or overran its timeout while its handler goes on.
type Event struct {
	Task    *ax.Task
	Overrun bool // the task is RUNNING and its attempt has timed out
}

// Clock reads the machine's clocks. Now is the wall clock, which may be stepped; only Boot and Mono measure what has
// passed, in microseconds: Boot since the boot, suspend included, Mono since any instant, without it. BootTag names the
// boot, never 0. NewTimer returns a timer, not yet set, that runs on Mono and calls f on any goroutine but the setter's.
type Clock interface {
	Now() time.Time
	Boot() int64
	Mono() int64
	BootTag() uint32
	NewTimer(f func()) Timer
}

// Timer is one alarm: Reset sets it anew, Stop takes it back.
type Timer interface {
	Reset(d time.Duration)
	Stop()
}

func (c Config) withDefaults() Config {
	def := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	def(&c.Workers, 100)
	def(&c.Partitions, 1)
	def(&c.MaxPending, 1_000_000)
	def(&c.MaxPayload, ax.MaxPayload)
	def(&c.Dedupe.Max, 1_000_000)
	if c.Mux == nil {
		c.Mux = ax.NewMux()
	}
	if c.Dedupe.Window == 0 {
		c.Dedupe.Window = time.Hour
	}
	if c.Horizon == 0 {
		c.Horizon = 10 * time.Minute
	}
	if c.LeaseTTL == 0 {
		c.LeaseTTL = 10 * time.Second
	}
	if c.ShutdownWait == 0 {
		c.ShutdownWait = 30 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Node == "" {
		host, _ := os.Hostname()
		c.Node = host + "-" + strconv.Itoa(os.Getpid())
	}
	if c.Clock == nil {
		c.Clock = systemClock{base: time.Now()}
	}
	c.Aging = c.Aging.WithDefaults()
	return c
}

func (c *Config) validate() error {
	bad := func(field string, value any, reason string) error {
		return &ax.Error{Op: "configure", Field: field, Value: fmt.Sprint(value), Reason: reason, Err: ax.ErrInvalid}
	}
	switch {
	case c.Workers < 1 || c.Workers > 1_000_000:
		return bad("Workers", c.Workers, "from 1 to 1,000,000, 0 for 100")
	case c.Partitions < 1 || c.Partitions > 4096:
		return bad("Partitions", c.Partitions, "from 1 to 4096")
	case c.MaxPending < 1:
		return bad("MaxPending", c.MaxPending, "at least 1, 0 for 1,000,000")
	case c.MaxPayload < 1 || c.MaxPayload > 64<<20:
		return bad("MaxPayload", c.MaxPayload, "from 1 byte to 64 MiB")
	case c.Keep < 0 || c.Keep > 0 && (c.Store != nil || c.Archive != nil):
		return bad("Keep", c.Keep, "not negative, and only without Store and Archive")
	case (c.Store == nil) != (c.Registry == nil):
		return bad("Registry", c.Registry, "Store and Registry come from one system: set both or neither")
	case c.Dedupe.Window < 0 || c.Dedupe.Window > ax.MaxWindow:
		return bad("Dedupe.Window", c.Dedupe.Window, "from 1ms to 366 days")
	case c.Dedupe.Max < 0:
		return bad("Dedupe.Max", c.Dedupe.Max, "at least 1")
	case c.Horizon < time.Second || c.Horizon > 1000*24*time.Hour:
		return bad("Horizon", c.Horizon, "from 1s to 1000 days, 0 for 10 minutes")
	case c.LeaseTTL < 100*time.Millisecond || c.LeaseTTL > time.Hour:
		return bad("LeaseTTL", c.LeaseTTL, "from 100ms to 1h")
	case c.ShutdownWait < 0:
		return bad("ShutdownWait", c.ShutdownWait, "not negative")
	case c.Aging.After < 0 || c.Aging.Step < 0:
		return bad("Aging", c.Aging, "not negative")
	}
	for _, of := range []struct {
		field  string
		limits map[string]Limit
	}{{"Limits.Kinds", c.Limits.Kinds}, {"Limits.Keys", c.Limits.Keys}, {"Limits.Jobs", c.Limits.Jobs},
		{"Limits.EachKey", map[string]Limit{"": c.Limits.EachKey}}, {"Limits.EachJob", map[string]Limit{"": c.Limits.EachJob}}} {
		for name, l := range of.limits {
			if l.Concurrent < 0 || !(l.PerSecond >= 0 && l.PerSecond <= 1e6) || l.Burst < 0 {
				return bad(of.field, fmt.Sprintf("%q %+v", name, l), "Concurrent and Burst not negative, PerSecond from 0 to 1e6")
			}
		}
	}
	return nil
}
