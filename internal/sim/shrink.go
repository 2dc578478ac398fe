package sim

import "time"

// Shrink takes operations out of a script for as long as the same law is broken, until none can go or the time given is
// over: delta debugging by halves, then by ever smaller pieces. It returns the script and what it runs into.
func Shrink(s *Script, opt Options, bound time.Duration, now func() time.Time) (*Script, *Result) {
	opt.Trace = false
	best := Run(s, opt)
	if best.Violation == nil {
		return s, best
	}
	law, until := best.Violation.Law, now().Add(bound)
	try := func(ops []Op, cfg Config) bool {
		c := &Script{Config: cfg, Ops: ops}
		r := Run(c, opt)
		if r.Violation == nil || r.Violation.Law != law {
			return false
		}
		s, best = c, r
		return true
	}
	for piece := max(len(s.Ops)/2, 1); now().Before(until); {
		smaller := false
		for at := 0; at < len(s.Ops) && now().Before(until); {
			rest := append(append([]Op{}, s.Ops[:at]...), s.Ops[min(at+piece, len(s.Ops)):]...)
			if try(rest, s.Config) {
				smaller = true
			} else {
				at += piece
			}
		}
		if piece == 1 && !smaller {
			break
		}
		if !smaller || piece > len(s.Ops) {
			piece = max(piece/2, 1)
		}
	}
	for i := range s.Ops { // then words, and what the configuration says
		for k := 0; k < len(s.Ops[i].Args) && now().Before(until); {
			ops := append([]Op{}, s.Ops...)
			ops[i].Args = append(append([]string{}, ops[i].Args[:k]...), ops[i].Args[k+1:]...)
			if !try(ops, s.Config) {
				k++
			}
		}
	}
	for name := range s.Config.Limits {
		cfg := s.Config
		cfg.Limits = nil
		for other, l := range s.Config.Limits {
			if other != name {
				cfg.limit(other, l)
			}
		}
		try(s.Ops, cfg)
	}
	plain := s.Config
	plain.AgeAfter, plain.AgeStep, plain.Slow, plain.Remember, plain.MaxPending, plain.Window = 0, 0, 0, 0, 0, 0
	try(s.Ops, plain)
	return s, best
}
