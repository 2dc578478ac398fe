package engine

import (
	"strconv"
	"unicode/utf8"

	"github.com/axsched/ax"
)

func factID(token ax.Token, n uint64) string { return token.String() + "-" + strconv.FormatUint(n, 36) }

// clip cuts s to at most n bytes, at the border of a character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
