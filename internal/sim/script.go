package sim

import (
	"bufio"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/axsched/ax/internal/engine"
)

// Script is a configuration and what happens. Its text form is one operation a line:
//
//	config seed=7 partitions=3 nodes=2 workers=4
//	1.5s n1 submit id=k1/a kind=a in=5s do=fail:1s,ok:2s
//	3s n2 pause for=25s
//
// Lines that start with # are comments.
type Script struct {
	Config Config
	Ops    []Op
}

// Config is what a run is made of. The zero value of a field means what withDefaults says.
type Config struct {
	Seed       uint64
	Partitions int
	Nodes      int
	Workers    int
	MaxPending int
	Window     time.Duration // dedupe
	Remember   int           // ids per partition
	Lease      time.Duration
	Length     time.Duration // of the first phase
	AgeAfter   time.Duration
	AgeStep    time.Duration
	Finishes   bool                    // the store files what ends
	Horizon    time.Duration           // 0: all tasks are in memory
	Pipelined  bool                    // the store is a log on a disk, of one process at a time; see disk
	Slow       int                     // store delays are multiplied by this
	Limits     map[string]engine.Limit // "kind.a", "key.k1", "job.j1", "eachkey", "eachjob"
}

func (c Config) withDefaults() Config {
	def := func(f *int, v int) {
		if *f == 0 {
			*f = v
		}
	}
	dur := func(f *time.Duration, v time.Duration) {
		if *f == 0 {
			*f = v
		}
	}
	def(&c.Partitions, 1)
	def(&c.Nodes, 1)
	def(&c.Workers, 4)
	def(&c.MaxPending, 1_000_000)
	def(&c.Remember, 100_000)
	def(&c.Slow, 1)
	dur(&c.Window, time.Hour)
	dur(&c.Lease, 10*time.Second)
	dur(&c.Length, time.Minute)
	dur(&c.AgeAfter, 40*time.Second)
	dur(&c.AgeStep, 30*time.Second)
	return c
}

// Op is one thing that happens at an instant, counted from the start. Node is from 1; 0 is none in particular.
type Op struct {
	At   time.Duration
	Node int
	Do   string
	Args []string // name=value, or a word
}

// get returns the value of an argument.
func (o *Op) get(name string) string {
	for _, a := range o.Args {
		if v, ok := strings.CutPrefix(a, name+"="); ok {
			return v
		}
	}
	return ""
}

func (o *Op) has(word string) bool {
	return slices.Contains(o.Args, word)
}

func (o *Op) dur(name string) time.Duration {
	d, _ := time.ParseDuration(o.get(name))
	return d
}

func (o *Op) num(name string, otherwise int) int {
	if n, err := strconv.Atoi(o.get(name)); err == nil {
		return n
	}
	return otherwise
}

// String writes the operation as a line.
func (o *Op) String() string {
	s := o.At.String()
	if o.Node > 0 {
		s += " n" + strconv.Itoa(o.Node)
	}
	return strings.Join(append([]string{s, o.Do}, o.Args...), " ")
}

// String writes the configuration as a line, without what is zero.
func (c *Config) String() string {
	var s strings.Builder
	s.WriteString("config")
	add := func(name string, v any, zero bool) {
		if !zero {
			s.WriteString(fmt.Sprintf(" %s=%v", name, v))
		}
	}
	add("seed", c.Seed, false)
	add("partitions", c.Partitions, c.Partitions == 0)
	add("nodes", c.Nodes, c.Nodes == 0)
	add("workers", c.Workers, c.Workers == 0)
	add("maxpending", c.MaxPending, c.MaxPending == 0)
	add("window", c.Window, c.Window == 0)
	add("remember", c.Remember, c.Remember == 0)
	add("lease", c.Lease, c.Lease == 0)
	add("length", c.Length, c.Length == 0)
	add("ageafter", c.AgeAfter, c.AgeAfter == 0)
	add("agestep", c.AgeStep, c.AgeStep == 0)
	add("horizon", c.Horizon, c.Horizon == 0)
	add("finishes", c.Finishes, !c.Finishes)
	add("pipelined", c.Pipelined, !c.Pipelined)
	add("slow", c.Slow, c.Slow == 0)
	var names []string
	for name := range c.Limits {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		l := c.Limits[name]
		s.WriteString(fmt.Sprintf(" limit.%s=%d/%g/%d", name, l.Concurrent, l.PerSecond, l.Burst))
	}
	return s.String()
}

// String writes the script.
func (s *Script) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, s.Config.String())
	for i := range s.Ops {
		fmt.Fprintln(&b, s.Ops[i].String())
	}
	return b.String()
}

// Parse reads what String writes.
func Parse(text string) (*Script, error) {
	s := &Script{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		if words[0] == "config" {
			if err := s.Config.parse(words[1:]); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			continue
		}
		at, err := time.ParseDuration(words[0])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		op := Op{At: at}
		words = words[1:]
		if len(words) > 0 && words[0][0] == 'n' {
			if k, err := strconv.Atoi(words[0][1:]); err == nil {
				op.Node, words = k, words[1:]
			}
		}
		if len(words) == 0 {
			return nil, fmt.Errorf("line %d: no operation", n)
		}
		op.Do, op.Args = words[0], words[1:]
		s.Ops = append(s.Ops, op)
	}
	return s, nil
}

func (c *Config) parse(words []string) error {
	for _, w := range words {
		name, v, _ := strings.Cut(w, "=")
		var err error
		num := func(f *int) { *f, err = strconv.Atoi(v) }
		dur := func(f *time.Duration) { *f, err = time.ParseDuration(v) }
		switch name {
		case "seed":
			c.Seed, err = strconv.ParseUint(v, 10, 64)
		case "partitions":
			num(&c.Partitions)
		case "nodes":
			num(&c.Nodes)
		case "workers":
			num(&c.Workers)
		case "maxpending":
			num(&c.MaxPending)
		case "remember":
			num(&c.Remember)
		case "slow":
			num(&c.Slow)
		case "finishes":
			c.Finishes, err = strconv.ParseBool(v)
		case "pipelined":
			c.Pipelined, err = strconv.ParseBool(v)
		case "window":
			dur(&c.Window)
		case "lease":
			dur(&c.Lease)
		case "length":
			dur(&c.Length)
		case "horizon":
			dur(&c.Horizon)
		case "ageafter":
			dur(&c.AgeAfter)
		case "agestep":
			dur(&c.AgeStep)
		default:
			of, ok := strings.CutPrefix(name, "limit.")
			if !ok {
				return fmt.Errorf("config %s: unknown", w)
			}
			var l engine.Limit
			if _, err = fmt.Sscanf(v, "%d/%g/%d", &l.Concurrent, &l.PerSecond, &l.Burst); err == nil {
				c.limit(of, l)
			}
		}
		if err != nil {
			return fmt.Errorf("config %s: %w", w, err)
		}
	}
	return nil
}

func (c *Config) limit(of string, l engine.Limit) {
	if c.Limits == nil {
		c.Limits = map[string]engine.Limit{}
	}
	c.Limits[of] = l
}
