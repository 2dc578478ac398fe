package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/axsched/ax/internal/engine"
)

// Generate makes a script from a seed: a configuration, what callers ask for, and what goes wrong.
func Generate(seed uint64, partitions, nodes int) *Script {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0x5eed)), nodes: nodes}
	s := &Script{Config: g.config(seed, partitions, nodes)}
	g.length = s.Config.Length
	if apart := rand.New(rand.NewPCG(seed, 0xfa4)); apart.IntN(2) == 0 {
		s.Config.Horizon = []time.Duration{2 * time.Second, 8 * time.Second, 30 * time.Second}[apart.IntN(3)]
	}
	if nodes == 1 { // drawn apart, so that all else of a seed is as it is without
		s.Config.Pipelined = rand.New(rand.NewPCG(seed, 0xd15c)).IntN(2) == 0
	}
	g.disk = s.Config.Pipelined
	g.steady = g.one(2)
	many := 50
	if g.one(10) {
		many = 250
	}
	for range 30 + g.IntN(many) {
		s.Ops = append(s.Ops, g.request())
	}
	if g.IntN(8) > 0 {
		most := 14
		if g.one(4) {
			most = 50
		}
		for range g.IntN(most) {
			op := g.trouble()
			s.Ops = append(s.Ops, op)
			if op.Do == "late" {
				crash := Op{At: op.At + time.Duration(g.IntN(1500))*time.Millisecond, Node: op.Node, Do: "crash", Args: []string{fmt.Sprintf("for=%v", time.Duration(g.IntN(20_000))*time.Millisecond)}}
				if g.disk {
					crash.Args = append(crash.Args, "power")
				}
				s.Ops = append(s.Ops, crash)
			}
		}
	}
	if g.disk {
		s.Ops = append(s.Ops, crowd(seed, s.Ops)...)
	}
	slices.SortStableFunc(s.Ops, func(a, b Op) int { return cmp.Compare(a.At, b.At) })
	return s
}

// crowd lets more happen shortly after some operations, while they are on their way to the disk: the same task again, others,
// and failures.
func crowd(seed uint64, ops []Op) (more []Op) {
	r := rand.New(rand.NewPCG(seed, 0xc0de))
	for i := range ops {
		op := ops[i]
		if op.Do != "submit" || r.IntN(3) > 0 {
			continue
		}
		soon := func(do string, args ...string) {
			more = append(more, Op{At: op.At + time.Duration(r.IntN(40_000))*time.Microsecond, Node: op.Node, Do: do, Args: args})
		}
		if r.IntN(2) == 0 {
			soon("repeat", "id="+op.get("id"))
		}
		for k := range r.IntN(4) {
			soon("submit", fmt.Sprintf("id=k%d/%c%d", 1+r.IntN(4), 's'+rune(r.IntN(4)), k), "kind=a", fmt.Sprintf("in=%v", time.Duration(r.IntN(50))*time.Millisecond), "do=ok:5ms")
		}
		if r.IntN(6) == 0 {
			fault := []string{"call=apply", "times=1", "after"}
			soon("fail", fault[:2+r.IntN(2)]...)
		}
		if r.IntN(25) == 0 {
			soon("crash", "for=1s", "power")
		}
	}
	return more
}

type generator struct {
	*rand.Rand
	nodes  int
	steady bool // no clock is stepped
	disk   bool // the power can be cut
	length time.Duration
}

func (g *generator) config(seed uint64, partitions, nodes int) Config {
	c := Config{Seed: seed, Partitions: partitions, Nodes: nodes, Workers: 1 + g.IntN(6), Finishes: g.one(2),
		Length: time.Duration(40+g.IntN(150)) * time.Second}
	if g.one(3) {
		c.Window = []time.Duration{2 * time.Second, 20 * time.Second, 5 * time.Minute}[g.IntN(3)]
	}
	if g.one(6) {
		c.Remember = 1 + g.IntN(5)
	}
	if g.one(8) {
		c.MaxPending = 4 + g.IntN(10)
	}
	if g.one(3) {
		c.AgeAfter, c.AgeStep = time.Duration(1+g.IntN(10))*time.Second, time.Duration(1+g.IntN(5))*time.Second
	}
	if g.one(5) {
		c.Slow = 5 + g.IntN(30)
	}
	for _, of := range []string{"kind.a", "kind.b", "key.k1", "key.k2", "job.j1", "eachkey", "eachjob"} {
		if !g.one(4) {
			continue
		}
		l := engine.Limit{}
		if !g.one(4) {
			l.Concurrent = 1 + g.IntN(3)
		}
		if l.Concurrent == 0 || g.one(3) {
			l.PerSecond, l.Burst = []float64{0.5, 1, 3, 20}[g.IntN(4)], g.IntN(4)
		}
		c.limit(of, l)
	}
	return c
}

func (g *generator) one(in int) bool { return g.IntN(in) == 0 }

func (g *generator) at() time.Duration {
	return time.Duration(500+g.Int64N(g.length.Milliseconds()-500)) * time.Millisecond
}

// id names one of few tasks, so that operations meet.
func (g *generator) id() string {
	if g.one(8) {
		return fmt.Sprintf("j%d/@2027011%dT080000.000Z", 1+g.IntN(2), g.IntN(5))
	}
	return fmt.Sprintf("k%d/%c", 1+g.IntN(4), 'a'+rune(g.IntN(8)))
}

// request is one thing a caller asks for.
func (g *generator) request() Op {
	op := Op{At: g.at(), Node: 1 + g.IntN(g.nodes)}
	add := func(format string, args ...any) { op.Args = append(op.Args, fmt.Sprintf(format, args...)) }
	if g.one(3) {
		add("inbox")
	}
	id := g.id()
	add("id=%s", id)
	switch n := g.IntN(100); {
	case n < 62:
		op.Do = "submit"
		g.submission(add)
	case n < 68:
		op.Do = "repeat"
	case n < 76:
		op.Do = "cancel"
	case n < 81:
		op.Do = "runnow"
	case n < 86:
		op.Do = "reschedule"
		g.when(add)
	case n < 91:
		op.Do = "rerun"
	case n < 95:
		op.Do = "resolve"
		add("as=%d", 1+g.IntN(3))
	case n < 98:
		op.Do = "report"
	default:
		op.Do = "odd"
	}
	return op
}

func (g *generator) when(add func(string, ...any)) {
	switch g.IntN(6) {
	case 0, 1:
		add("in=%v", time.Duration(g.IntN(20_000))*time.Millisecond)
	case 2:
		add("at=%v", time.Duration(g.Int64N(g.length.Milliseconds()+60_000))*time.Millisecond)
	case 3:
		add("at=%v", -time.Duration(g.IntN(100_000))*time.Millisecond)
	case 4:
		add("in=%v", time.Duration(g.IntN(3000))*time.Hour)
	}
}

func (g *generator) submission(add func(string, ...any)) {
	add("kind=%s", []string{"a", "a", "b", "c"}[g.IntN(4)])
	g.when(add)
	var do strings.Builder
	for i := range 1 + g.IntN(4) {
		if i > 0 {
			do.WriteString(",")
		}
		do.WriteString(g.act())
	}
	add("do=%s", do.String())
	if g.one(2) {
		add("retries=%d", g.IntN(6)-1)
	}
	if g.one(3) {
		add("timeout=%v", []time.Duration{100 * time.Millisecond, time.Second, 5 * time.Second, time.Minute}[g.IntN(4)])
		if g.one(2) {
			add("retrytimeout")
		}
	} else {
		add("timeout=5m")
	}
	if g.one(3) {
		add("level=%d", g.IntN(100))
	}
	if g.one(3) {
		add("base=%v", []time.Duration{time.Millisecond, 300 * time.Millisecond, 3 * time.Second}[g.IntN(3)])
		add("cap=%v", []time.Duration{time.Second, 20 * time.Second}[g.IntN(2)])
		if g.one(2) {
			add("full")
		}
	} else {
		add("cap=30s")
	}
	for _, word := range []string{"hold", "ordered", "made"} {
		if g.one(3) {
			add(word)
		}
	}
	switch g.IntN(8) {
	case 0:
		add("byid")
		add("window=%v", time.Duration(1+g.IntN(60))*time.Second)
	case 1:
		add("bycontent")
		add("window=%v", time.Duration(1+g.IntN(60))*time.Second)
	}
}

func (g *generator) act() string {
	takes := []time.Duration{0, time.Duration(g.IntN(50)) * time.Millisecond, time.Duration(g.IntN(2000)) * time.Millisecond,
		time.Duration(g.IntN(2000)) * time.Millisecond, time.Duration(g.IntN(20)) * time.Second, time.Duration(g.IntN(90)) * time.Second}[g.IntN(6)]
	how := []string{"ok", "ok", "ok", "ok", "fail", "fail", "fail", "panic", "never", "cancel", "after"}[g.IntN(11)]
	s := fmt.Sprintf("%s:%v", how, takes)
	if how == "after" {
		s += fmt.Sprintf(":%v", time.Duration(1+g.IntN(10_000))*time.Millisecond)
	}
	if g.one(4) {
		s += "!"
	}
	return s
}

// trouble is one thing that goes wrong.
func (g *generator) trouble() Op {
	op := Op{At: g.at(), Node: 1 + g.IntN(g.nodes)}
	add := func(format string, args ...any) { op.Args = append(op.Args, fmt.Sprintf(format, args...)) }
	some := func() time.Duration {
		return []time.Duration{time.Duration(1+g.IntN(500)) * time.Millisecond, time.Duration(1+g.IntN(6000)) * time.Millisecond,
			time.Duration(5+g.IntN(55)) * time.Second, 9*time.Second + time.Duration(g.IntN(3000))*time.Millisecond}[g.IntN(4)]
	}
	switch n := g.IntN(100); {
	case n < 18:
		op.Do = "pause"
		add("for=%v", some())
	case n < 22:
		op.Do = "suspend"
		add("for=%v", some())
	case n < 25:
		op.Do = "late"
		add("for=%v", 7*time.Second+time.Duration(g.IntN(5000))*time.Millisecond)
	case n < 34:
		op.Do = "crash"
		add("for=%v", some())
		if g.one(4) {
			add("reboot")
		}
		if g.disk && g.one(2) {
			add("power")
		}
	case n < 40:
		op.Do = "stop"
		add("for=%v", some())
	case n < 48 && !g.steady:
		op.Do = "step"
		add("by=%v", []time.Duration{time.Second, -time.Second, 4 * time.Minute, -4 * time.Minute, 20 * time.Second, -20 * time.Second,
			300 * time.Millisecond, -300 * time.Millisecond}[g.IntN(8)])
	case n < 50 && !g.steady:
		op.Do = "drift"
		add("ppm=%d", g.IntN(1001)-500)
	case n < 58:
		op.Do = "give"
	case n < 84:
		op.Do = "fail"
		add("call=%s", []string{"apply", "apply", "apply", "apply", "open", "scan", "submit", "renew"}[g.IntN(8)])
		add("times=%d", 1+g.IntN(4))
		if g.one(2) {
			add("after")
		}
	case n < 92:
		op.Do = "nospace"
		add("for=%v", time.Duration(1+g.IntN(15))*time.Second)
	default:
		op.Do = "nofiling"
		add("for=%v", time.Duration(1+g.IntN(30))*time.Second)
	}
	return op
}
