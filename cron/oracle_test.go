package cron_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/cron"
)

// zones are those with odd clock changes, and some plain ones.
var zones = []string{
	"UTC", "Europe/Berlin", "America/New_York", "America/Los_Angeles", "Australia/Lord_Howe", "America/Sao_Paulo", "America/Santiago", "Africa/Cairo",
	"Africa/Casablanca", "Asia/Kolkata", "Asia/Kathmandu", "Asia/Tehran", "Asia/Gaza", "Asia/Beirut", "Pacific/Apia", "Pacific/Kwajalein", "Pacific/Chatham",
	"America/Caracas", "America/Havana", "America/Asuncion", "America/Nuuk", "America/St_Johns", "Antarctica/Troll", "Asia/Pyongyang", "Asia/Shanghai",
	"Asia/Tokyo", "Europe/Dublin", "Europe/Istanbul", "Europe/London", "Europe/Lisbon", "Europe/Moscow", "Australia/Sydney", "Australia/Adelaide",
	"Pacific/Auckland", "Pacific/Fiji", "Pacific/Norfolk", "Asia/Amman", "Asia/Damascus", "America/Mexico_City", "Africa/Windhoek",
}

// reading is an independent reading of the Seconds dialect: sets of values by field, out of the same text.
type reading struct {
	sets             [6]map[int]bool
	dayFree, dowFree bool
	literal          bool
}

func read(expr string) (r reading) {
	bounds := [6][2]int{{0, 59}, {0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}}
	fields := strings.Fields(expr)
	for i, f := range fields {
		r.sets[i] = map[int]bool{}
		for item := range strings.SplitSeq(f, ",") {
			body, step, stepped := strings.Cut(item, "/")
			n := 1
			if stepped {
				n, _ = strconv.Atoi(step)
			}
			lo, hi := bounds[i][0], bounds[i][1]
			if body != "*" {
				from, to, ranged := strings.Cut(body, "-")
				lo, _ = strconv.Atoi(from)
				if ranged {
					hi, _ = strconv.Atoi(to)
				} else if !stepped {
					hi = lo
				}
			}
			size := bounds[i][1] - bounds[i][0] + 1
			if hi < lo {
				hi += size
			}
			for v := lo; v <= hi; v += n {
				r.sets[i][(v-bounds[i][0])%size+bounds[i][0]] = true
			}
		}
	}
	r.dayFree, r.dowFree = fields[3][0] == '*', fields[5][0] == '*'
	r.literal = fields[0][0] == '*' || fields[1][0] == '*' || fields[2][0] == '*'
	return r
}

// matches reports whether a local time, whose zone is not looked at, matches.
func (r *reading) matches(t time.Time) bool {
	if !r.sets[0][t.Second()] || !r.sets[1][t.Minute()] || !r.sets[2][t.Hour()] || !r.sets[4][int(t.Month())] {
		return false
	}
	day, dow := r.sets[3][t.Day()], r.sets[5][int(t.Weekday())]
	if r.dayFree || r.dowFree {
		return day && dow
	}
	return day || dow
}

// oracle walks second by second, with a clock on the wall, and writes down the fires.
func (r *reading) oracle(from, to time.Time, loc *time.Location, rule cron.Rule) (fires []time.Time) {
	wall := func(t time.Time) time.Time { // what the clock reads, as if in UTC
		l := t.In(loc)
		return time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), l.Second(), 0, time.UTC)
	}
	literal := r.literal || rule == cron.Literal
	start := from.Add(-26 * time.Hour)
	latest := wall(start.Add(-time.Second)) // that the clock has read
	for t := start; t.Before(to); t = t.Add(time.Second) {
		now := wall(t)
		fire := r.matches(now) && (literal || now.After(latest))
		if gap := now.Sub(latest) - time.Second; gap > 0 && gap <= 3*time.Hour && !literal && rule == cron.Vixie {
			for l := latest.Add(time.Second); l.Before(now); l = l.Add(time.Second) {
				if r.matches(l) {
					fire = true
					break
				}
			}
		}
		if now.After(latest) {
			latest = now
		}
		if fire && t.After(from) {
			fires = append(fires, t)
		}
	}
	return fires
}

// randomExpr returns an expression of the Seconds dialect that fires now and then.
func randomExpr(rng *rand.Rand) string {
	item := func(lo, hi int) string {
		a, b := lo+rng.IntN(hi-lo+1), lo+rng.IntN(hi-lo+1)
		switch rng.IntN(6) {
		case 0:
			return fmt.Sprintf("%d-%d", a, b)
		case 1:
			return fmt.Sprintf("%d-%d/%d", a, b, 1+rng.IntN(hi))
		case 2:
			return fmt.Sprintf("%d/%d", a, 1+rng.IntN(hi))
		}
		return fmt.Sprint(a)
	}
	field := func(lo, hi, star int) string {
		switch n := rng.IntN(star); n {
		case 0:
			return item(lo, hi) + "," + item(lo, hi)
		case 1:
			return item(lo, hi)
		case 2:
			return fmt.Sprintf("*/%d", 1+rng.IntN(hi))
		}
		return "*"
	}
	sec := "0"
	if rng.IntN(4) == 0 {
		sec = field(0, 59, 3)
	}
	return strings.Join([]string{sec, field(0, 59, 3), field(0, 23, 4), field(1, 31, 6), field(1, 12, 8), field(0, 6, 6)}, " ")
}

// TestOracle compares Next, Between, Count and Prev with a walk second by second, around clock changes and elsewhere.
// AX_CRON (50) is the number of walks.
func TestOracle(t *testing.T) {
	count := 50
	if text := os.Getenv("AX_CRON"); text != "" {
		var err error
		if count, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	rng := rand.New(rand.NewPCG(20, 26))
	fired, changes := 0, 0
	for range count {
		name := zones[rng.IntN(len(zones))]
		loc := zone(t, name)
		at := time.Unix(rng.Int64N(50*365*24*3600)+315532800, 0) // 1980 to 2029
		if _, end := at.In(loc).ZoneBounds(); !end.IsZero() && rng.IntN(4) > 0 && end.Year() < 2100 {
			at = end.Add(-time.Duration(rng.IntN(30*3600)) * time.Second)
			changes++
		}
		expr, rule := randomExpr(rng), cron.Rule(rng.IntN(3))
		s, err := cron.Parse(expr, cron.Options{Dialect: cron.Seconds, Location: loc, Rule: rule})
		if err != nil {
			t.Fatalf("%s: %v", expr, err)
		}
		to := at.Add(time.Duration(20+rng.IntN(50)) * time.Hour)
		r := read(expr)
		want := r.oracle(at, to, loc, rule)
		fired += len(want)
		got := slices.Collect(s.Between(at, to))
		if !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Errorf("%q in %s, rule %s, from %s to %s:\ngot  %v\nwant %v", expr, name, rule, at.UTC(), to.UTC(), few(got), few(want))
			continue
		}
		if n := s.Count(at, to); n != int64(len(want)) {
			t.Errorf("%q in %s, rule %s, from %s to %s: counted %d, want %d", expr, name, rule, at.UTC(), to.UTC(), n, len(want))
		}
		for range 20 { // from the middle, too
			mid := at.Add(time.Duration(rng.Int64N(int64(to.Sub(at)))))
			i, _ := slices.BinarySearchFunc(want, mid, time.Time.Compare)
			after := i
			if i < len(want) && want[i].Equal(mid) {
				after++
			}
			if next := s.Next(mid); after < len(want) && !next.Equal(want[after]) || after == len(want) && !next.IsZero() && next.Before(to) {
				t.Errorf("%q in %s, rule %s: after %s comes %s", expr, name, rule, mid.UTC(), next.UTC())
			}
			if i > 0 {
				if prev := s.Prev(mid); !prev.Equal(want[i-1]) {
					t.Errorf("%q in %s, rule %s: before %s was %s, want %s", expr, name, rule, mid.UTC(), prev.UTC(), want[i-1].UTC())
				}
			}
			if n := s.Count(at, mid); n != int64(i) {
				t.Errorf("%q in %s, rule %s: %d up to %s, want %d", expr, name, rule, n, mid.UTC(), i)
			}
		}
	}
	t.Logf("%d walks, %d of them over a clock change: %d fires", count, changes, fired)
}

func few(list []time.Time) (out []string) {
	for _, t := range list[:min(len(list), 12)] {
		out = append(out, t.UTC().Format("01-02T15:04:05"))
	}
	return out
}

// TestCountLong compares Count over years with walking.
func TestCountLong(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 60 {
		loc := zone(t, zones[rng.IntN(len(zones))])
		expr := randomExpr(rng)
		expr = "0 " + expr[strings.Index(expr, " ")+1:]
		s, err := cron.Parse(expr, cron.Options{Dialect: cron.Seconds, Location: loc, Rule: cron.Rule(rng.IntN(3))})
		if err != nil {
			t.Fatal(err)
		}
		from := time.Unix(rng.Int64N(40*365*24*3600)+315532800, rng.Int64N(1e9))
		to := from.Add(time.Duration(rng.Int64N(int64(3 * 365 * 24 * time.Hour))))
		n, walked := s.Count(from, to), int64(0)
		for range s.Between(from, to) {
			if walked++; walked > 200_000 {
				break
			}
		}
		if n != walked && walked <= 200_000 {
			t.Errorf("%q in %s from %s to %s: counted %d, walked %d", expr, loc, from.UTC(), to.UTC(), n, walked)
		}
	}
}

// FuzzParse reads arbitrary expressions: no panic, and what is accepted goes forward.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"* * * * *", "0 0 12 ? * 6#3 2030", "@every 90s", "CRON_TZ=Asia/Tokyo 0 9 * * *", "1-5/2,7 22-2 L-3 JAN-mar 5L"} {
		f.Add(s, uint8(0))
		f.Add(s, uint8(2))
	}
	f.Fuzz(func(t *testing.T, expr string, d uint8) {
		s, err := cron.Parse(expr, cron.Options{Dialect: cron.Dialect(d % 3)})
		if err != nil {
			if len(err.Error()) > 1000 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		for range 50 {
			next := s.Next(at)
			if next.IsZero() {
				return
			}
			if !next.After(at) || s.Never() {
				t.Fatalf("%q: %v after %v", expr, next, at)
			}
			at = next
		}
	})
}

func BenchmarkNext(b *testing.B) {
	exprs := []string{"* * * * *", "*/5 * * * *", "0 0 * * *", "30 2 * * MON-FRI", "0 0 1 1 *", "0 0 29 2 *", "15 10 L * *", "0 9-17 * * 1-5", "0 0 13 * 5", "59 23 31 12 *"}
	for _, name := range []string{"UTC", "America/New_York"} {
		b.Run(name, func(b *testing.B) {
			var list []*cron.Schedule
			for _, e := range exprs {
				if s, err := cron.Parse(e, cron.Options{Location: zone(b, name)}); err == nil {
					list = append(list, s)
				}
			}
			at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				list[i%len(list)].Next(at.Add(time.Duration(i%1000) * time.Hour))
				i++
			}
		})
	}
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			cron.Parse("30 2 1-15 * MON-FRI", cron.Options{})
		}
	})
}
