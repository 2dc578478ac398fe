package ax

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// Token fences the owner of a partition, or any other holder of a lease: what is written under a token is refused
// once a higher one was granted. Era is in unix seconds and is raised whenever a registry is created, restored or
// emptied; Revision grows with every grant inside an era.
type Token struct {
	Era      uint32
	Revision uint64
}

// Compare orders tokens by age: negative when t is older than u.
func (t Token) Compare(u Token) int {
	return cmp.Or(cmp.Compare(t.Era, u.Era), cmp.Compare(t.Revision, u.Revision))
}

// IsZero reports whether t was never granted.
func (t Token) IsZero() bool { return t == Token{} }

// String writes 24 hex digits, which sort as text in the order of Compare.
func (t Token) String() string { return fmt.Sprintf("%08x%016x", t.Era, t.Revision) }

// AttemptToken fences attempts: the token of the partition's owner at the claim, and the number of the claim in the
// partition. For one key it grows with every attempt, over runs, restarts, handovers and restores, and so it can be
// compared by whatever the handler writes to. Tokens of two different keys say nothing about each other.
type AttemptToken struct {
	Token
	Claim uint64
}

// Compare orders attempt tokens of one key: negative when t is older than u.
func (t AttemptToken) Compare(u AttemptToken) int {
	return cmp.Or(t.Token.Compare(u.Token), cmp.Compare(t.Claim, u.Claim))
}

// IsZero reports whether t belongs to no attempt.
func (t AttemptToken) IsZero() bool { return t == AttemptToken{} }

// AppendText writes 40 lower-case hex digits (era 8, revision 16, claim 16), which sort as text in SQL, HTTP and Go
// in the order of Compare.
func (t AttemptToken) AppendText(b []byte) ([]byte, error) {
	var raw [20]byte
	binary.BigEndian.PutUint32(raw[0:], t.Era)
	binary.BigEndian.PutUint64(raw[4:], t.Revision)
	binary.BigEndian.PutUint64(raw[12:], t.Claim)
	return hex.AppendEncode(b, raw[:]), nil
}

// MarshalText is AppendText to a new slice.
func (t AttemptToken) MarshalText() ([]byte, error) { return t.AppendText(nil) }

// String is MarshalText as a string.
func (t AttemptToken) String() string {
	b, _ := t.AppendText(make([]byte, 0, 40))
	return string(b)
}

// UnmarshalText reads what MarshalText writes.
func (t *AttemptToken) UnmarshalText(b []byte) error {
	var raw [20]byte
	if n, err := hex.Decode(raw[:], b[:min(len(b), 40)]); err != nil || n != 20 || len(b) != 40 {
		return fmt.Errorf("ax: attempt token %.60q: want 40 lower-case hex digits", b)
	}
	t.Era = binary.BigEndian.Uint32(raw[0:])
	t.Revision = binary.BigEndian.Uint64(raw[4:])
	t.Claim = binary.BigEndian.Uint64(raw[12:])
	return nil
}
