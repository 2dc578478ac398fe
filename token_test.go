package ax_test

import (
	"strings"
	"testing"
	"testing/quick"

	"github.com/axsched/ax"
)

// The order of the text is the order of Compare.
func TestTokenTextOrder(t *testing.T) {
	sign := func(n int) int { return max(-1, min(1, n)) }
	check := func(a, b ax.AttemptToken) bool {
		return sign(a.Compare(b)) == strings.Compare(a.String(), b.String()) && sign(a.Token.Compare(b.Token)) == strings.Compare(a.Token.String(), b.Token.String()) &&
			len(a.String()) == 40 && len(a.Token.String()) == 24 && strings.HasPrefix(a.String(), a.Token.String())
	}
	near := func(era1, era2 uint8, rev1, rev2 uint8, c1, c2 uint8) bool { // mostly equal parts, large and small
		make := func(e, r, c uint8) ax.AttemptToken {
			big := func(n uint8) uint64 { return uint64(n%4) * 0x4000000000000001 }
			return ax.AttemptToken{Token: ax.Token{Era: uint32(big(e) >> 32), Revision: big(r)}, Claim: big(c)}
		}
		return check(make(era1, rev1, c1), make(era2, rev2, c2))
	}
	if err := quick.Check(check, &quick.Config{MaxCount: 10_000}); err != nil {
		t.Error(err)
	}
	if err := quick.Check(near, &quick.Config{MaxCount: 50_000}); err != nil {
		t.Error(err)
	}
}

func TestTokenText(t *testing.T) {
	token := ax.AttemptToken{Token: ax.Token{Era: 0xabc, Revision: 1<<64 - 1}, Claim: 7}
	if got := token.String(); got != "00000abcffffffffffffffff0000000000000007" {
		t.Errorf("%s", got)
	}
	roundTrip := func(a ax.AttemptToken) bool {
		text, err := a.MarshalText()
		appended, err2 := a.AppendText([]byte("x"))
		var back ax.AttemptToken
		return err == nil && err2 == nil && string(appended) == "x"+string(text) && back.UnmarshalText(text) == nil && back == a && a.IsZero() == (a == ax.AttemptToken{})
	}
	if err := quick.Check(roundTrip, nil); err != nil {
		t.Error(err)
	}
	if !roundTrip(ax.AttemptToken{}) {
		t.Error("the zero token")
	}
	for _, bad := range []string{"", "0", strings.Repeat("0", 39), strings.Repeat("0", 41), strings.Repeat("g", 40), strings.Repeat("0", 4000), strings.Repeat(" ", 40)} {
		kept := token
		if err := kept.UnmarshalText([]byte(bad)); err == nil || kept != token {
			t.Errorf("%.50q: %v, %v", bad, err, kept)
		}
	}
}

func FuzzAttemptTokenText(f *testing.F) {
	f.Add("00000abcffffffffffffffff0000000000000007")
	f.Add(strings.Repeat("F", 40))
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		var a ax.AttemptToken
		if err := a.UnmarshalText([]byte(text)); err == nil && a.String() != strings.ToLower(text) {
			t.Errorf("%q was read as %v", text, a)
		}
	})
}
