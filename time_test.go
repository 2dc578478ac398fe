package ax_test

import (
	"math"
	"math/big"
	"testing"
	"testing/quick"
	"time"

	"github.com/axsched/ax"
)

// clamp is the exact result held in the range of int64.
func clamp(n *big.Int) int64 {
	switch {
	case n.IsInt64():
		return n.Int64()
	case n.Sign() > 0:
		return math.MaxInt64
	}
	return math.MinInt64
}

// Add and Sub against exact arithmetic.
func TestTimeArithmetic(t *testing.T) {
	add := func(at int64, d int64) bool {
		us := new(big.Int).Div(new(big.Int).Add(big.NewInt(d), big.NewInt(999)), big.NewInt(1000)) // rounded up; Div is Euclidean
		return int64(ax.Time(at).Add(time.Duration(d))) == clamp(us.Add(us, big.NewInt(at)))
	}
	sub := func(a, b int64) bool {
		ns := new(big.Int).Mul(new(big.Int).Sub(big.NewInt(a), big.NewInt(b)), big.NewInt(1000))
		return int64(ax.Time(a).Sub(ax.Time(b))) == clamp(ns)
	}
	edges := []int64{math.MinInt64, math.MinInt64 + 1, -1_000_000, -1001, -1000, -999, -1, 0, 1, 999, 1000, 1001, 1_000_000, math.MaxInt64 / 1000, math.MaxInt64/1000 + 1,
		math.MinInt64 / 1000, math.MinInt64/1000 - 1, int64(ax.MaxTime), math.MaxInt64 - 1, math.MaxInt64}
	for _, a := range edges {
		for _, b := range edges {
			if !add(a, b) {
				t.Errorf("%d + %d ns = %d", a, b, ax.Time(a).Add(time.Duration(b)))
			}
			if !sub(a, b) {
				t.Errorf("%d - %d = %d ns", a, b, ax.Time(a).Sub(ax.Time(b)))
			}
		}
	}
	for _, f := range []any{add, sub} {
		if err := quick.Check(f, &quick.Config{MaxCount: 20_000}); err != nil {
			t.Error(err)
		}
	}
}

// At never makes anything due early, and is exact to the microsecond.
func TestAt(t *testing.T) {
	for _, c := range []struct {
		at   time.Time
		want ax.Time
	}{
		{time.Time{}, 0},
		{time.Unix(0, 1), 1},
		{time.Unix(0, 1000), 1},
		{time.Unix(0, 1001), 2},
		{time.Unix(1, 0), 1_000_000},
		{time.Unix(-1, 0), -1_000_000},
		{time.Unix(-1, 1), -999_999},
		{time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC), ax.MaxTime},
		{time.Date(2026, 11, 30, 2, 30, 0, 123_456_789, time.FixedZone("x", 3600)), 1796002200123457},
	} {
		if got := ax.At(c.at); got != c.want {
			t.Errorf("%v: %d, want %d", c.at, got, c.want)
		}
	}
	never := func(sec int32, ns uint32) bool {
		at := time.Unix(int64(sec)+1<<31+1, int64(ns%1e9))
		got := ax.At(at)
		return !got.Time().Before(at) && got.Time().Sub(at) < time.Microsecond && ax.At(got.Time()) == got
	}
	if err := quick.Check(never, nil); err != nil {
		t.Error(err)
	}
	if !ax.Time(0).Time().IsZero() || ax.Time(1).Time().Location() != time.UTC {
		t.Error("the zero Time, or the zone")
	}
}

func TestTimeText(t *testing.T) {
	for text, want := range map[string]ax.Time{
		"2026-11-30T02:30:00Z":                1796005800000000,
		"2026-11-30T02:30:00.000001Z":         1796005800000001,
		"2026-11-30T02:30:00.0000001Z":        1796005800000001,
		"2026-11-30T03:30:00+01:00":           1796005800000000,
		"9999-12-31T23:59:59.999999Z":         ax.MaxTime,
		"1970-01-01T00:00:00.000001Z":         1,
		"":                                    0,
		"2026-11-30T02:30:00.123456789+00:00": 1796005800123457,
	} {
		var got ax.Time
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q: %d %v, want %d", text, got, err, want)
		}
		back, err := got.MarshalText()
		var again ax.Time
		if err != nil || again.UnmarshalText(back) != nil || again != got {
			t.Errorf("%q: back %s %v", text, back, err)
		}
	}
	for _, bad := range []string{"now", "2026-11-30", "2026-13-30T02:30:00Z", "10000-01-01T00:00:00Z", "1796005800", " ", "none"} {
		var got ax.Time
		if err := got.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q was read as %v", bad, got)
		}
	}
	if ax.Time(0).String() != "none" || ax.MaxTime.String() != "9999-12-31T23:59:59.999999Z" {
		t.Errorf("%v %v", ax.Time(0), ax.MaxTime)
	}
	if ax.Millis(1500).Duration() != 1500*time.Millisecond || ax.Millis(math.MaxUint32).Duration() < ax.MaxTimeout {
		t.Error("Millis")
	}
}
