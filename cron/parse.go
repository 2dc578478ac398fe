package cron

import (
	"fmt"
	"math/bits"
	"strings"
	"time"
)

// Dialect is how an expression is read.
type Dialect uint8

// The dialects.
const (
	Unix    Dialect = iota // five fields
	Seconds                // six fields, seconds first
	Quartz                 // six or seven fields, seconds first, with ? L W #
)

// String names the dialect.
func (d Dialect) String() string {
	switch d {
	case Unix:
		return "Unix"
	case Seconds:
		return "Seconds"
	case Quartz:
		return "Quartz"
	}
	return fmt.Sprintf("Dialect(%d)", uint8(d))
}

// Rule says what becomes of times of day that a clock change leaves out or repeats.
type Rule uint8

// The rules; see the package documentation.
const (
	Vixie Rule = iota
	Literal
	Skip
)

// String names the rule.
func (r Rule) String() string {
	switch r {
	case Vixie:
		return "vixie"
	case Literal:
		return "literal"
	case Skip:
		return "skip"
	}
	return fmt.Sprintf("Rule(%d)", uint8(r))
}

// Options say how an expression is read. The zero value is the Unix dialect, in UTC, by the rule Vixie.
type Options struct {
	Dialect  Dialect
	Location *time.Location // nil: what the expression names in front, or UTC. Naming another one there is an error
	Rule     Rule
}

// MaxLength is the most bytes that an expression may have.
const MaxLength = 1024

// Bounds of an "@every" interval.
const (
	MinEvery = time.Second
	MaxEvery = 100 * 365 * 24 * time.Hour
)

// SyntaxError says what is wrong with an expression.
type SyntaxError struct {
	Expr   string // at most 100 bytes of it
	Column int    // of Token in the expression, in bytes from 1
	Field  string // "minute", ...; "" for the whole
	Token  string // what is wrong, at most 40 bytes
	Reason string // what is allowed, or what to do
}

// Error writes it in one line.
func (e *SyntaxError) Error() string {
	field := ""
	if e.Field != "" {
		field = e.Field + " "
	}
	return fmt.Sprintf("cron: %q, column %d: %s%q: %s", e.Expr, e.Column, field, e.Token, e.Reason)
}

// field is what is known of a field.
type field struct {
	name   string
	lo, hi int
	names  []string // of lo, lo+1, ...
	wraps  int      // what is added when a range runs backwards
}

var (
	secondField  = field{"second", 0, 59, nil, 60}
	minuteField  = field{"minute", 0, 59, nil, 60}
	hourField    = field{"hour", 0, 23, nil, 24}
	dayField     = field{"day of month", 1, 31, nil, 31}
	monthField   = field{"month", 1, 12, []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}, 12}
	weekdayNames = []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}
	weekdayUnix  = field{"day of week", 0, 7, weekdayNames, 7}
	weekdayQuart = field{"day of week", 1, 7, weekdayNames, 7}
	yearField    = field{"year", firstYear, lastYear, nil, 0}
)

// shortcuts, by what they stand for in the Unix dialect.
var shortcuts = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// Parse reads an expression. The error is a *SyntaxError. An expression that never fires is none: see Schedule.Never.
func Parse(expr string, o Options) (*Schedule, error) {
	p := parser{expr: expr, o: o}
	s := p.parse()
	if p.err != nil {
		return nil, p.err
	}
	return s, nil
}

// parser reads one expression; after the first error it does nothing.
type parser struct {
	expr string
	o    Options
	err  *SyntaxError
}

// token is a part of the expression.
type token struct {
	text string
	at   int // in bytes
}

// fail notes what is wrong.
func (p *parser) fail(field string, t token, reason string, args ...any) {
	if p.err == nil {
		p.err = &SyntaxError{Expr: clip(p.expr, 100), Column: t.at + 1, Field: field, Token: clip(t.text, 40), Reason: fmt.Sprintf(reason, args...)}
	}
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}

func (p *parser) parse() *Schedule {
	whole := token{p.expr, 0}
	switch {
	case len(p.expr) > MaxLength:
		p.fail("", whole, "%d bytes long; at most %d", len(p.expr), MaxLength)
	case p.o.Dialect > Quartz:
		p.fail("", whole, "no such dialect: %d", p.o.Dialect)
	case p.o.Rule > Skip:
		p.fail("", whole, "no such rule: %d", p.o.Rule)
	}
	for i := 0; i < len(p.expr) && p.err == nil; i++ {
		if c := p.expr[i]; c != '\t' && c < ' ' || c >= 0x7f {
			p.fail("", token{p.expr[i : i+1], i}, "only printable ASCII is allowed")
		}
	}
	if p.err != nil {
		return nil
	}
	s := &Schedule{expr: p.expr, loc: p.o.Location}
	list := fields(p.expr)
	list = p.zone(s, list)
	if s.loc == nil {
		s.loc = time.UTC
	}
	if p.err != nil {
		return nil
	}
	if len(list) == 0 {
		p.fail("", token{"", len(p.expr)}, "empty; %s", p.wants())
		return nil
	}
	if strings.HasPrefix(list[0].text, "@") {
		return p.shortcut(s, list)
	}
	p.fields(s, list)
	return s
}

// fields splits at spaces and tabs.
func fields(s string) (list []token) {
	list = make([]token, 0, 8)
	for i := 0; i < len(s); {
		for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
			i++
		}
		from := i
		for i < len(s) && s[i] != ' ' && s[i] != '\t' {
			i++
		}
		if i > from {
			list = append(list, token{s[from:i], from})
		}
	}
	return list
}

// zone takes a CRON_TZ= or TZ= off the front.
func (p *parser) zone(s *Schedule, list []token) []token {
	if len(list) == 0 {
		return list
	}
	t := list[0]
	name, is := strings.CutPrefix(t.text, "CRON_TZ=")
	if !is {
		if name, is = strings.CutPrefix(t.text, "TZ="); !is {
			return list
		}
	}
	t.at += len(t.text) - len(name)
	t.text = name
	const want = `a name like "Europe/Berlin" or "UTC"`
	if name == "" || strings.ContainsAny(name, "=\\") || strings.Contains(name, "..") || name[0] == '/' || strings.EqualFold(name, "local") {
		p.fail("time zone", t, "want %s", want)
		return nil
	}
	loc, err := time.LoadLocation(name)
	switch {
	case err != nil:
		p.fail("time zone", t, "not known here; want %s (package time/tzdata brings them all)", want)
	case s.loc != nil && s.loc.String() != loc.String():
		p.fail("time zone", t, "the schedule's own time zone is %s: name it once", s.loc)
	}
	s.loc = loc
	return list[1:]
}

// wants says how many fields a dialect has.
func (p *parser) wants() string {
	switch p.o.Dialect {
	case Seconds:
		return "want 6 fields: second minute hour day month weekday"
	case Quartz:
		return "want 6 or 7 fields: second minute hour day month weekday [year]"
	}
	return "want 5 fields: minute hour day month weekday"
}

// shortcut reads @daily and the like, and @every.
func (p *parser) shortcut(s *Schedule, list []token) *Schedule {
	t := list[0]
	word := strings.ToLower(t.text)
	if word == "@every" {
		return p.interval(s, list)
	}
	long, ok := shortcuts[word]
	switch {
	case word == "@reboot":
		p.fail("", t, "a scheduler has no reboot; use a job that runs once")
	case !ok:
		p.fail("", t, "want @yearly @annually @monthly @weekly @daily @midnight @hourly or @every")
	case len(list) > 1:
		p.fail("", list[1], "nothing may follow %s", word)
	}
	if p.err != nil {
		return nil
	}
	q := parser{expr: long, o: Options{Location: s.loc, Rule: p.o.Rule}}
	q.fields(s, fields(long))
	return s
}

// interval reads @every.
func (p *parser) interval(s *Schedule, list []token) *Schedule {
	t := list[0]
	if len(list) != 2 {
		p.fail("", t, `want one interval, like "@every 1h30m"`)
		return nil
	}
	d, err := time.ParseDuration(list[1].text)
	switch {
	case err != nil:
		p.fail("interval", list[1], "want numbers with the units h, m and s, like 1h30m")
	case d < MinEvery || d > MaxEvery || d%time.Second != 0:
		p.fail("interval", list[1], "want whole seconds, from 1s to %.0fh", MaxEvery.Hours())
	}
	s.every = d
	return s
}

// fields reads the fields of a schedule.
func (p *parser) fields(s *Schedule, list []token) {
	want := map[Dialect]int{Unix: 5, Seconds: 6, Quartz: 6}[p.o.Dialect]
	if len(list) != want && !(p.o.Dialect == Quartz && len(list) == 7) {
		at := token{"", len(p.expr)}
		if len(list) > want {
			at = list[want]
		}
		p.fail("", at, "%d fields; %s", len(list), p.wants())
		return
	}
	star := false // second, minute or hour begins with a star
	s.second = 1
	if p.o.Dialect != Unix {
		s.second = p.set(&secondField, list[0], nil)
		star = list[0].text[0] == '*'
		list = list[1:]
	}
	s.minute = p.set(&minuteField, list[0], nil)
	s.hour = uint32(p.set(&hourField, list[1], nil))
	star = star || list[0].text[0] == '*' || list[1].text[0] == '*'
	x := new(special)
	weekday := &weekdayUnix
	if p.o.Dialect == Quartz {
		weekday = &weekdayQuart
	}
	s.day = uint32(p.days(x, list[2], list[4]))
	s.month = uint16(p.set(&monthField, list[3], nil))
	s.weekday = p.weekdays(x, weekday, list[4])
	s.years = years{last: lastYear}
	if len(list) == 6 {
		p.years(s, list[5])
	}
	if p.err != nil {
		return
	}
	if x.inDay || x.inWeekday {
		s.special = x
	}
	free := func(t token) bool { return t.text[0] == '*' || t.text[0] == '?' }
	s.either = !free(list[2]) && !free(list[4])
	if free(list[2]) && list[2].text == "?" {
		s.day = 1<<32 - 2
	}
	s.literal = star || p.o.Rule == Literal
	s.makeUp = !star && p.o.Rule == Vixie
	s.perDay = bits.OnesCount64(s.second) * bits.OnesCount64(s.minute) * bits.OnesCount32(s.hour)
	_, fires := s.search(0, 1<<62)
	s.never = !fires
}

// days reads the day field.
func (p *parser) days(x *special, t, weekday token) uint64 {
	if p.o.Dialect != Quartz {
		return p.set(&dayField, t, nil)
	}
	switch {
	case t.text == "?" && weekday.text == "?":
		p.fail(dayField.name, t, "only one of day of month and day of week may be ?")
	case t.text == "?":
		return 1<<32 - 2
	case weekday.text != "?":
		if t.text != "*" && weekday.text != "*" {
			p.fail(weekdayQuart.name, weekday, "one of day of month and day of week must be ?")
		}
	}
	return p.set(&dayField, t, func(item token) bool {
		text := strings.ToUpper(item.text)
		switch {
		case text == "L":
			x.fromLast |= 1
		case text == "LW" || text == "WL":
			x.lastWeekday = true
		case strings.HasPrefix(text, "L-"):
			n := p.number(&field{dayField.name, 1, 30, nil, 0}, token{text[2:], item.at + 2})
			x.fromLast |= 1 << n
		case strings.HasSuffix(text, "W"):
			n := p.number(&dayField, token{text[:len(text)-1], item.at})
			x.nearest |= 1 << n
		default:
			return false
		}
		x.inDay = true
		return true
	})
}

// weekdays reads the weekday field.
func (p *parser) weekdays(x *special, f *field, t token) uint8 {
	if p.o.Dialect == Quartz && t.text == "?" {
		return 0x7f
	}
	set := p.set(f, t, func(item token) bool {
		if p.o.Dialect != Quartz {
			return false
		}
		text := strings.ToUpper(item.text)
		if text == "L" { // Saturday, of each week
			return false
		}
		if name, n, is := strings.Cut(text, "#"); is {
			day := p.number(f, token{name, item.at})
			nth := p.number(&field{"number after #", 1, 5, nil, 0}, token{n, item.at + len(name) + 1})
			if p.err == nil {
				x.nth[nth] |= 1 << (day - 1)
			}
			x.inWeekday = true
			return true
		}
		if name, is := strings.CutSuffix(text, "L"); is {
			day := p.number(f, token{name, item.at})
			if p.err == nil {
				x.last |= 1 << (day - 1)
			}
			x.inWeekday = true
			return true
		}
		return false
	})
	if p.o.Dialect == Quartz {
		return uint8(set >> 1)
	}
	return uint8(set&0x7f | set>>7&1)
}

// years reads the year field.
func (p *parser) years(s *Schedule, t token) {
	if t.text == "*" {
		return
	}
	s.years.restricted, s.years.last = true, 0
	p.each(&yearField, t, nil, func(from, to, step int) {
		for y := from; y <= to; y += step {
			n := y - firstYear
			s.years.set[n/64] |= 1 << (n % 64)
			s.years.last = max(s.years.last, y)
		}
	})
}

// set reads a field as a set of bits. extra, if not nil, is asked first about each item.
func (p *parser) set(f *field, t token, extra func(token) bool) (set uint64) {
	p.each(f, t, extra, func(from, to, step int) {
		for v := from; v <= to; v += step {
			n := v
			if n > f.hi {
				n -= f.wraps
			}
			set |= 1 << n
		}
	})
	return set
}

// each calls add for every item of a field. A range that runs backwards goes beyond the end of the field.
func (p *parser) each(f *field, t token, extra func(token) bool, add func(from, to, step int)) {
	at := t.at
	for text := range strings.SplitSeq(t.text, ",") {
		item := token{text, at}
		at += len(text) + 1
		if p.err != nil {
			return
		}
		if extra != nil && extra(item) {
			continue
		}
		p.item(f, item, add)
	}
}

func (p *parser) item(f *field, item token, add func(from, to, step int)) {
	body, stepText, stepped := strings.Cut(item.text, "/")
	step := 1
	if stepped {
		step = p.number(&field{f.name + " step", 1, f.hi, nil, 0}, token{stepText, item.at + len(body) + 1})
	}
	first, second, ranged := strings.Cut(body, "-")
	switch {
	case body == "*":
		hi := f.hi
		if f.name == weekdayUnix.name && f.lo == 0 {
			hi = 6 // 7 is Sunday again
		}
		add(f.lo, hi, max(step, 1))
	case ranged:
		from, to := p.number(f, token{first, item.at}), p.number(f, token{second, item.at + len(first) + 1})
		if p.err != nil {
			return
		}
		if to < from {
			if f.wraps == 0 {
				p.fail(f.name, item, "a range of years cannot run backwards")
				return
			}
			to += f.wraps
			if f.name == weekdayUnix.name && f.lo == 0 && from == 7 { // 7-2 is 0-2
				from, to = 0, to-f.wraps
			}
		}
		add(from, to, step)
	default:
		from := p.number(f, token{body, item.at})
		to := from
		if stepped {
			if to = f.hi; f.name == weekdayUnix.name && f.lo == 0 {
				to = 6
			}
		}
		if p.err == nil {
			add(from, to, step)
		}
	}
}

// number reads a number or a name of a field.
func (p *parser) number(f *field, t token) int {
	if f.name == weekdayQuart.name && f.lo == 1 && strings.EqualFold(t.text, "L") {
		return 7
	}
	for i, name := range f.names {
		if strings.EqualFold(t.text, name) {
			return f.lo + i
		}
	}
	n := 0
	for i := range len(t.text) {
		c := t.text[i]
		if c < '0' || c > '9' || n > 1e6 {
			n = -1
			break
		}
		n = n*10 + int(c-'0')
	}
	if t.text == "" || n < f.lo || n > f.hi {
		names := ""
		if f.names != nil {
			names = fmt.Sprintf(", or %s to %s", f.names[0], f.names[len(f.names)-1])
		}
		p.fail(f.name, t, "want a number from %d to %d%s", f.lo, f.hi, names)
		return f.lo
	}
	return n
}
