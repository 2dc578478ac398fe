package cron_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/axsched/ax/cron"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func instant(t testing.TB, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// vector is an expression and its first fires after an instant.
type vector struct {
	expr, zone, after string
	dialect           cron.Dialect
	rule              cron.Rule
	next              []string // a date alone is midnight UTC; without seconds and Z, they are 00Z
}

func (v vector) check(t *testing.T) {
	t.Helper()
	if v.zone == "" {
		v.zone = "UTC"
	}
	s, err := cron.Parse(v.expr, cron.Options{Dialect: v.dialect, Location: zone(t, v.zone), Rule: v.rule})
	if err != nil {
		t.Errorf("%s: %v", v.expr, err)
		return
	}
	from := instant(t, v.after)
	at := from
	var got []string
	for _, want := range v.next {
		at = s.Next(at)
		layout := map[int]string{10: "2006-01-02", 16: "2006-01-02T15:04", 20: time.RFC3339}[len(want)]
		if len(want) == 10 && (at.UTC().Hour() != 0 || at.UTC().Minute() != 0) {
			layout = time.RFC3339
		}
		got = append(got, at.UTC().Format(layout))
	}
	if !slices.Equal(got, v.next) {
		t.Errorf("%s in %s after %s: %v, want %v", v.expr, v.zone, v.after, got, v.next)
	}
	last := at.Add(time.Nanosecond)
	var walked []string
	for f := range s.Between(from, last) {
		walked = append(walked, f.UTC().Format(time.RFC3339))
	}
	if n := s.Count(from, last); n != int64(len(v.next)) || len(walked) != len(v.next) {
		t.Errorf("%s in %s: %d counted, %d walked, want %d", v.expr, v.zone, n, len(walked), len(v.next))
	}
	if p := s.Prev(last); !p.Equal(at) {
		t.Errorf("%s in %s: the last before %v is %v", v.expr, v.zone, last, p)
	}
}

func TestC01_FirstMissingMinute(t *testing.T) {
	vector{expr: "0 2 * * *", zone: "America/Los_Angeles", after: "2025-03-08T10:00:00Z",
		next: []string{"2025-03-09T10:00:00Z", "2025-03-10T09:00:00Z", "2025-03-11T09:00:00Z"}}.check(t)
	vector{expr: "0 2 * * *", zone: "America/Los_Angeles", after: "2025-03-08T10:00:00Z", rule: cron.Literal, next: []string{"2025-03-10T09:00:00Z"}}.check(t)
	vector{expr: "0 2 * * *", zone: "America/Los_Angeles", after: "2025-03-08T10:00:00Z", rule: cron.Skip, next: []string{"2025-03-10T09:00:00Z"}}.check(t)
}

func TestC02_InsideTheMissingHour(t *testing.T) {
	const ny, after = "America/New_York", "2026-03-08T06:30:00Z"
	vector{expr: "30 2 * * *", zone: ny, after: after, next: []string{"2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z", "2026-03-10T06:30:00Z"}}.check(t)
	vector{expr: "30 2 * * *", zone: ny, after: after, rule: cron.Literal, next: []string{"2026-03-09T06:30:00Z"}}.check(t)
	vector{expr: "0,30 2 * * *", zone: ny, after: after, next: []string{"2026-03-08T07:00:00Z", "2026-03-09T06:00:00Z", "2026-03-09T06:30:00Z"}}.check(t)
	vector{expr: "0 2,3 * * *", zone: ny, after: after, next: []string{"2026-03-08T07:00:00Z", "2026-03-09T06:00:00Z", "2026-03-09T07:00:00Z"}}.check(t)
	s, err := cron.Parse("30 2 * * *", cron.Options{Location: zone(t, ny)})
	if err != nil {
		t.Fatal(err)
	}
	at := instant(t, after)
	for range 1000 {
		next := s.Next(at)
		if !next.After(at) {
			t.Fatalf("%v after %v", next, at)
		}
		at = next
	}
}

func TestC03_RepeatedHour(t *testing.T) {
	vector{expr: "30 1 * * *", zone: "America/New_York", after: "2026-11-01T04:00:00Z",
		next: []string{"2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z", "2026-11-03T06:30:00Z"}}.check(t)
	vector{expr: "30 1 * * *", zone: "America/New_York", after: "2026-11-01T04:00:00Z", rule: cron.Literal,
		next: []string{"2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z", "2026-11-02T06:30:00Z"}}.check(t)
	vector{expr: "30 1 * * *", zone: "America/New_York", after: "2026-11-01T06:00:00Z", next: []string{"2026-11-02T06:30:00Z"}}.check(t) // in the second pass
	vector{expr: "*/30 1 * * *", zone: "America/New_York", after: "2026-11-01T04:00:00Z",
		next: []string{"2026-11-01T05:00:00Z", "2026-11-01T05:30:00Z", "2026-11-01T06:00:00Z", "2026-11-01T06:30:00Z"}}.check(t)
}

func TestC05_TwoHourlySteps(t *testing.T) {
	vector{expr: "0 */2 * * *", zone: "America/New_York", after: "2026-03-08T04:30:00Z",
		next: []string{"2026-03-08T05:00", "2026-03-08T08:00", "2026-03-08T10:00", "2026-03-08T12:00"}}.check(t)
	vector{expr: "0 */2 * * *", zone: "America/New_York", after: "2026-11-01T03:30:00Z",
		next: []string{"2026-11-01T04:00", "2026-11-01T07:00", "2026-11-01T09:00", "2026-11-01T11:00"}}.check(t)
}

func TestC06_NoMidnight(t *testing.T) {
	for _, v := range []vector{
		{expr: "0 1 4 11 *", zone: "America/Sao_Paulo", after: "2018-11-04T02:00:00Z", next: []string{"2018-11-04T03:00:00Z"}},
		{expr: "0 1 * * 0", zone: "America/Sao_Paulo", after: "2018-11-03T12:00:00Z", next: []string{"2018-11-04T03:00:00Z", "2018-11-11T03:00:00Z"}},
		{expr: "0 0 * * *", zone: "America/Sao_Paulo", after: "2018-11-03T12:00:00Z", next: []string{"2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"}},
		{expr: "0 0 * * *", zone: "America/Santiago", after: "2026-09-05T12:00:00Z", next: []string{"2026-09-06T04:00:00Z", "2026-09-07T03:00:00Z"}},
		{expr: "0 0 * * *", zone: "Africa/Cairo", after: "2026-04-23T12:00:00Z", next: []string{"2026-04-23T22:00:00Z", "2026-04-24T21:00:00Z"}},
		{expr: "0 0 * * *", zone: "Africa/Cairo", after: "2026-04-23T12:00:00Z", rule: cron.Literal, next: []string{"2026-04-24T21:00:00Z"}},
	} {
		v.check(t)
	}
}

func TestC08_HalfHours(t *testing.T) {
	for _, v := range []vector{
		{expr: "15 2 * * *", zone: "Australia/Lord_Howe", after: "2026-10-03T14:00:00Z", next: []string{"2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"}},
		{expr: "45 1 * * *", zone: "Australia/Lord_Howe", after: "2026-04-04T12:00:00Z", next: []string{"2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"}},
		{expr: "15 2 * * *", zone: "Australia/Lord_Howe", after: "2026-10-03T14:00:00Z", rule: cron.Literal, next: []string{"2026-10-04T15:15:00Z"}},
		{expr: "45 1 * * *", zone: "Australia/Lord_Howe", after: "2026-04-04T12:00:00Z", rule: cron.Literal, next: []string{"2026-04-04T14:45:00Z", "2026-04-04T15:15:00Z"}},
	} {
		v.check(t)
	}
}

func TestC13_DaysOf23And25Hours(t *testing.T) {
	for _, v := range []vector{
		{expr: "0 12 * * 0", zone: "Europe/Berlin", after: "2022-03-24T11:00:00Z", next: []string{"2022-03-27T10:00:00Z"}},
		{expr: "4 16 * * *", zone: "America/New_York", after: "2025-03-08T12:00:00Z", next: []string{"2025-03-08T21:04", "2025-03-09T20:04", "2025-03-10T20:04"}},
		{expr: "30 * 1 * *", zone: "Europe/Berlin", after: "2023-03-31T20:00:00Z", next: []string{"2023-03-31T22:30", "2023-03-31T23:30", "2023-04-01T00:30"}},
	} {
		v.check(t)
	}
}

func TestC15_LeapDays(t *testing.T) {
	for _, v := range []vector{
		{expr: "0 9 29 2 *", after: "2096-03-01T00:00:00Z", next: []string{"2104-02-29T09:00:00Z"}},
		{expr: "0 9 29 2 *", after: "2016-02-29T09:00:00Z", next: []string{"2020-02-29T09:00:00Z"}},
		{expr: "0 0 29 2 *", zone: "America/New_York", after: "2026-01-01T00:00:00Z", next: []string{"2028-02-29T05:00:00Z"}},
	} {
		v.check(t)
	}
}

func TestC16_NeverComes(t *testing.T) {
	for _, expr := range []string{"0 0 31 2 *", "0 0 30 2 *", "0 0 31 4 *", "0 0 31 2,4,6,9,11 *", "quartz 0 0 0 30 2 ?", "quartz 0 0 0 29 2 ? 2026-2027"} {
		o := cron.Options{}
		if text, is := strings.CutPrefix(expr, "quartz "); is {
			expr, o.Dialect = text, cron.Quartz
		}
		s, err := cron.Parse(expr, o)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
			continue
		}
		now := time.Now()
		if !s.Never() || !s.Next(now).IsZero() || s.Count(now, now.AddDate(100, 0, 0)) != 0 || !s.Prev(now).IsZero() {
			t.Errorf("%s fires: %v", expr, s.Next(now))
		}
	}
	vector{expr: "0 0 31 2,4,5 *", after: "2026-01-01T00:00:00Z", next: []string{"2026-05-31"}}.check(t)
}

func TestC17_C18_C19_Days(t *testing.T) {
	for _, v := range []vector{
		{expr: "0 0 31 2 1", after: "2026-01-01T00:00:00Z", next: []string{"2026-02-02", "2026-02-09", "2026-02-16"}},
		{expr: "0 18 1-7,15-21 * TUE", after: "2024-06-08T00:00:00Z", next: []string{"2024-06-11T18:00", "2024-06-15T18:00", "2024-06-16T18:00", "2024-06-17T18:00"}},
		{expr: "0 0 13 * 5", after: "2026-02-01T00:00:00Z", next: []string{"2026-02-06", "2026-02-13", "2026-02-20", "2026-02-27"}},
		{expr: "0 0 */2 * 1", after: "2024-12-31T23:59:00Z", next: []string{"2025-01-13", "2025-01-27", "2025-02-03"}},
		{expr: "0 0 15 * */3", after: "2024-12-31T23:59:00Z", next: []string{"2025-01-15", "2025-02-15", "2025-03-15"}},
	} {
		v.check(t)
	}
}

func TestC20_C21_C22_StepsAndRanges(t *testing.T) {
	const from = "2026-01-01T00:00:00Z" // a Thursday
	for _, v := range []vector{
		{expr: "*/40 * * * *", after: "2026-01-01T00:05:00Z", next: []string{"2026-01-01T00:40", "2026-01-01T01:00", "2026-01-01T01:40", "2026-01-01T02:00"}},
		{expr: "0 5/15 * * * *", dialect: cron.Seconds, after: from,
			next: []string{"2026-01-01T00:05", "2026-01-01T00:20", "2026-01-01T00:35", "2026-01-01T00:50", "2026-01-01T01:05"}},
		{expr: "0-59/59 10 * * *", after: from, next: []string{"2026-01-01T10:00", "2026-01-01T10:59"}},
		{expr: "0 22-2 * * *", after: "2026-01-01T12:00:00Z", next: []string{"2026-01-01T22:00", "2026-01-01T23:00", "2026-01-02T00:00", "2026-01-02T01:00", "2026-01-02T02:00", "2026-01-02T22:00"}},
		{expr: "0 22-2/2 * * *", after: "2026-01-01T12:00:00Z", next: []string{"2026-01-01T22:00", "2026-01-02T00:00", "2026-01-02T02:00", "2026-01-02T22:00"}},
		{expr: "0 0 * * FRI-MON", after: from, next: []string{"2026-01-02", "2026-01-03", "2026-01-04", "2026-01-05", "2026-01-09"}},
		{expr: "0 0 1 NOV-FEB *", after: from, next: []string{"2026-02-01", "2026-11-01", "2026-12-01", "2027-01-01", "2027-02-01", "2027-11-01"}},
		{expr: "0 0 * * 5-7", after: from, next: []string{"2026-01-02", "2026-01-03", "2026-01-04", "2026-01-09"}},
		{expr: "0 0 * * SAT-SUN", after: from, next: []string{"2026-01-03", "2026-01-04", "2026-01-10"}},
		{expr: "0 0 * * 7", after: from, next: []string{"2026-01-04"}},
		{expr: "0 0 * * MON-SUN", after: from, next: []string{"2026-01-02", "2026-01-03"}},
		{expr: "0 0 * * SUN-TUE", after: from, next: []string{"2026-01-04", "2026-01-05", "2026-01-06", "2026-01-11"}},
		{expr: "0 0 * * 7-2", after: from, next: []string{"2026-01-04", "2026-01-05", "2026-01-06", "2026-01-11"}},
	} {
		v.check(t)
	}
}

func TestC25_Quartz(t *testing.T) {
	for _, v := range []vector{
		{expr: "0 0 11 L * ?", after: "2017-02-28T05:00:00Z", next: []string{"2017-02-28T11:00", "2017-03-31T11:00", "2017-04-30T11:00"}},
		{expr: "0 0 12 LW * ?", after: "2025-04-01T00:00:00Z", next: []string{"2025-04-30T12:00", "2025-05-30T12:00", "2025-06-30T12:00"}},
		{expr: "0 0 12 L-3 * ?", after: "2026-02-01T00:00:00Z", next: []string{"2026-02-25T12:00", "2026-03-28T12:00"}},
		{expr: "0 0 12 ? * 6L", after: "2026-01-01T00:00:00Z", next: []string{"2026-01-30T12:00", "2026-02-27T12:00"}},
		{expr: "0 0 12 ? * L", after: "2026-01-01T00:00:00Z", next: []string{"2026-01-03T12:00", "2026-01-10T12:00"}},
		{expr: "0 0 12 ? * FRI#3", after: "2026-01-01T00:00:00Z", next: []string{"2026-01-16T12:00", "2026-02-20T12:00"}},
		{expr: "0 0 12 ? * 6#5", after: "2026-01-01T00:00:00Z", next: []string{"2026-01-30T12:00", "2026-05-29T12:00"}},
		{expr: "0 0 12 15W * ?", after: "2026-02-01T00:00:00Z", next: []string{"2026-02-16T12:00", "2026-03-16T12:00", "2026-04-15T12:00", "2026-05-15T12:00"}},
		{expr: "0 0 12 1W * ?", after: "2026-01-15T00:00:00Z", next: []string{"2026-02-02T12:00", "2026-03-02T12:00", "2026-04-01T12:00"}},
		{expr: "0 0 0 1 1 ? 2030", after: "2026-01-15T00:00:00Z", next: []string{"2030-01-01"}},
		{expr: "0 0 12 1,L * ?", after: "2026-01-15T00:00:00Z", next: []string{"2026-01-31T12:00", "2026-02-01T12:00", "2026-02-28T12:00"}},
	} {
		v.dialect = cron.Quartz
		v.check(t)
	}
}

func TestC28_FieldCounts(t *testing.T) {
	from := instant(t, "2026-01-05T00:00:00Z").Add(-time.Nanosecond)
	to := instant(t, "2026-01-06T00:00:00Z")
	for _, c := range []struct {
		expr    string
		dialect cron.Dialect
		n       int64
	}{{"* 0 * * *", cron.Unix, 60}, {"* */12 * * *", cron.Unix, 120}, {"0 */12 * * *", cron.Unix, 2}, {"* * */4 * * *", cron.Seconds, 21600}, {"0 0 */4 * * *", cron.Seconds, 6}} {
		s, err := cron.Parse(c.expr, cron.Options{Dialect: c.dialect})
		if err != nil {
			t.Errorf("%s: %v", c.expr, err)
		} else if n := s.Count(from, to); n != c.n {
			t.Errorf("%s: %d a day, want %d", c.expr, n, c.n)
		}
	}
	refused(t, cron.Unix, "0 0 * * * *", "6 fields; want 5", 11)
	refused(t, cron.Unix, "0 0 * *", "4 fields; want 5", 8)
	refused(t, cron.Quartz, "0 0 0 ? * * 2030 1", "8 fields; want 6 or 7", 0)
}

// refused checks that an expression is refused, what the error says, and where it points, if column is not 0.
func refused(t *testing.T, d cron.Dialect, expr, says string, column int) {
	t.Helper()
	began := time.Now()
	_, err := cron.Parse(expr, cron.Options{Dialect: d})
	var e *cron.SyntaxError
	if !errors.As(err, &e) {
		t.Errorf("%.60q: %v, want a SyntaxError", expr, err)
		return
	}
	if !strings.Contains(e.Error(), says) || column != 0 && e.Column != column || len(e.Error()) > 500 || time.Since(began) > time.Second {
		t.Errorf("%.60q: %v (column %d), want %q at %d", expr, e, e.Column, says, column)
	}
}

func TestC29_NamesAndShortcuts(t *testing.T) {
	vector{expr: "15 6 1 jan,JUL mon", after: "2026-06-01T00:00:00Z", next: []string{"2026-07-01T06:15", "2026-07-06T06:15", "2026-07-13T06:15"}}.check(t)
	for short, long := range map[string]string{"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *",
		"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@hourly": "0 * * * *", "@Hourly": "0 * * * *"} {
		for _, d := range []cron.Dialect{cron.Unix, cron.Seconds, cron.Quartz} {
			a, err1 := cron.Parse(short, cron.Options{Dialect: d, Location: zone(t, "Europe/Berlin")})
			b, err2 := cron.Parse(long, cron.Options{Location: zone(t, "Europe/Berlin")})
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			x, y := instant(t, "2026-03-28T12:00:00Z"), instant(t, "2026-03-28T12:00:00Z")
			for range 10 {
				if x, y = a.Next(x), b.Next(y); !x.Equal(y) {
					t.Errorf("%s: %v, want %v", short, x, y)
				}
			}
		}
	}
	refused(t, cron.Unix, "0 0 * * MONDAY", `"MONDAY": want a number from 0 to 7, or SUN to SAT`, 9)
	refused(t, cron.Unix, "0 0 * XYZ *", `month "XYZ"`, 7)
	refused(t, cron.Unix, "@fortnightly", "want @yearly", 1)
	refused(t, cron.Unix, "@reboot", "runs once", 1)
	refused(t, cron.Unix, "@daily 5", "nothing may follow", 8)
}

func TestC30_ZonePrefix(t *testing.T) {
	for _, expr := range []string{"CRON_TZ=Asia/Tokyo 0 9 * * *", "TZ=Asia/Tokyo\t0 9 * * *"} {
		s, err := cron.Parse(expr, cron.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Next(instant(t, "2026-05-01T12:00:00Z")); got.UTC().Format(time.RFC3339) != "2026-05-02T00:00:00Z" {
			t.Errorf("%s: %v", expr, got)
		}
	}
	for _, expr := range []string{"TZ=", "TZ=UTC", "CRON_TZ=UTC", "TZ=0", "TZ=TZ=TZ=", "TZ= 0 0 * * *", "CRON_TZ=No/Such 0 0 * * *", "CRON_TZ=../../x 0 0 * * *", "TZ=/etc/localtime 0 0 * * *", "TZ=Local 0 0 * * *"} {
		refused(t, cron.Unix, expr, "", 0)
	}
	if _, err := cron.Parse("TZ=Asia/Tokyo 0 9 * * *", cron.Options{Location: time.UTC}); err == nil || !strings.Contains(err.Error(), "name it once") {
		t.Errorf("a zone that contradicts the schedule's own: %v", err)
	}
}

func TestC31_Intervals(t *testing.T) {
	s, err := cron.Parse("@every 12h", cron.Options{})
	if err != nil {
		t.Fatal(err)
	}
	anchor := instant(t, "2026-01-01T00:00:07Z")
	at := anchor
	for n := 1; n <= 6; n++ {
		if at = s.NextFrom(anchor, at.Add(5*time.Hour)); at.Sub(anchor) != time.Duration(n)*12*time.Hour {
			t.Errorf("mark %d is %v after the anchor", n, at.Sub(anchor))
		}
	}
	if n := s.Count(instant(t, "2026-01-01T00:00:00Z"), instant(t, "2026-01-04T00:00:01Z")); n != 6 {
		t.Errorf("%d in 72 h, want 6", n)
	}
	for _, expr := range []string{"@every 0s", "@every -5m", "@every 1ns", "@every 1d", "@every", "@every 99999999h", "@every 1500ms", "@every 1h 2h"} {
		refused(t, cron.Unix, expr, "", 0)
	}
}

func TestC32_Malformed(t *testing.T) {
	for expr, says := range map[string]string{
		"": "empty", "   ": "empty", "60 * * * *": `minute "60"`, "* 24 * * *": `hour "24"`, "* * 0 * *": `day of month "0"`, "* * 32 * *": `day of month "32"`,
		"* * * 0 *": `month "0"`, "* * * 13 *": `month "13"`, "* * * * 8": `day of week "8"`, "0 60/5 * * *": `hour "60"`, "0 0 * 13-20 *": `month "13"`,
		"*/0 * * * *": `minute step "0"`, "*/-1 * * * *": `minute step "-1"`, "*/90 * * * *": `minute step "90": want a number from 1 to 59`, "1- * * * *": `minute ""`, "-1 * * * *": `minute ""`,
		"1--5 * * * *": `minute "-5"`, "1-5-7 * * * *": `minute "5-7"`, ", * * * *": `minute ""`, "1,,2 * * * *": `minute ""`, "1/2/3 * * * *": `minute step "2/3"`,
		"99999999999999999999 * * * *": `minute "99999999999999999999"`, "１ * * * *": "only printable ASCII", "1\x00 * * * *": "only printable ASCII",
		"0 0 ? * *": `day of month "?"`, "0 0 L * *": `day of month "L"`, "*x * * * *": `minute "*x"`,
		strings.Repeat("1,1,1,", 170_000): "at most 1024",
	} {
		refused(t, cron.Unix, expr, says, 0)
	}
	for expr, says := range map[string]string{
		"0 0 0 ? * ?": "only one of", "0 0 0 1 * 1": "must be ?", "0 0 0 LW-1 * ?": "day of month", "0 0 0 32W * ?": `"32"`, "0 0 0 L-31 * ?": `"31"`, "0 0 0 ? * 6#6": `"6"`, "0 0 0 ? * 8L": `"8"`,
		"0 0 0 1 1 ? 1969": `year "1969"`, "0 0 0 1 1 ? 2030-2020": "backwards", "0 0 0 ? * 0": `day of week "0"`,
	} {
		refused(t, cron.Quartz, expr, says, 0)
	}
}

// TestDateLine: shifts of a day are not made up, and what is repeated by one runs once.
func TestDateLine(t *testing.T) {
	// Samoa left out 2011-12-30.
	vector{expr: "0 12 * * *", zone: "Pacific/Apia", after: "2011-12-29T12:00:00Z", next: []string{"2011-12-29T22:00:00Z", "2011-12-30T22:00:00Z"}}.check(t)
	// Kwajalein left out 1993-08-21.
	vector{expr: "0 12 21 8 *", zone: "Pacific/Kwajalein", after: "1993-01-01T00:00:00Z", next: []string{"1994-08-21T00:00:00Z"}}.check(t)
}

func ExampleParse() {
	s, err := cron.Parse("CRON_TZ=Europe/Berlin 30 2 * * *", cron.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	at := time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC)
	for range 3 { // the clock goes from 02:00 to 03:00 on the 29th
		at = s.Next(at)
		fmt.Println(at.Format(time.RFC3339))
	}
	_, err = cron.Parse("30 25 * * *", cron.Options{})
	fmt.Println(err)
	// Output:
	// 2026-03-28T02:30:00+01:00
	// 2026-03-29T03:00:00+02:00
	// 2026-03-30T02:30:00+02:00
	// cron: "30 25 * * *", column 4: hour "25": want a number from 0 to 23
}
