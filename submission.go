package ax

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of what a submission may hold. MaxPayload is a default that a scheduler's configuration may change.
const (
	MaxID         = 200       // bytes of an id
	MaxKey        = 100       // bytes of a key
	MaxKind       = 100       // bytes of a kind
	MaxPayload    = 256 << 10 // bytes of a payload
	MaxHeaders    = 32        // headers of one task
	MaxHeaderSize = 8 << 10   // bytes of all header names and values of one task
	MaxResult     = 64 << 10  // bytes of a result
	MaxErrorText  = 8 << 10   // bytes kept of an error text
	MaxRetries    = 1000      // retries of one run
	MaxWindow     = 366 * 24 * time.Hour
	MaxTimeout    = 45 * 24 * time.Hour

	DefaultTimeout = 30 * time.Minute
	DefaultRetries = 3
	NoRetries      = -1 // Submission.MaxRetries: the first attempt is the last
)

// Submission is what a caller asks for. The zero value of every field but Kind is a sensible choice.
type Submission struct {
	// ID names the task for ever; submitting it again is answered Known. Characters a-z A-Z 0-9 . _ : - and at most one
	// '/', which ends the key. Empty: ax makes one.
	ID string
	// Key, if set, is put before an ID without '/'.
	Key string
	// Kind names the handler.
	Kind string
	// Payload is handed to the handler as it is; it is copied. Args, if Payload is nil, is encoded as JSON.
	Payload []byte
	Args    any

	// In and At say when: after a time that passes (suspend counts, steps of the wall clock do not), or at an instant of
	// the wall clock. At most one may be set. Neither, a negative In, or an At in the past: now.
	In time.Duration
	At time.Time

	Priority       Priority          // zero: level 50; P(0) is the first
	Timeout        time.Duration     // of one attempt, 1 ms to 45 days, rounded up to 1 ms; 0: 30 minutes
	MaxRetries     int               // attempts after the first; 0: 3; NoRetries: none
	Backoff        Backoff           // zero: 1 s × 2^(n−1) + 0–500 ms, at most 10 min
	RetryOnTimeout bool              // retry a timed-out attempt too, once its handler returned
	HoldLost       bool              // an attempt whose fate is unknown waits for a person
	Ordered        bool              // one after another with the ordered tasks of its key, by due time
	Unique         Unique            // at most once per window
	Headers        map[string]string // for tracing and labels; copied

	// Made is when the ID was made, if a retry may come later than the dedupe window: one that is older than all that
	// is remembered is answered Expired instead of being created again.
	Made time.Time
}

// Task checks the submission and turns it into the task it asks for, at the wall-clock instant now. maxPayload is in
// bytes; 0 means MaxPayload. The errors are *Error with ErrInvalid, naming the field and the value.
// The boot-time fields are left to the owner of a clock.
func (s *Submission) Task(now time.Time, maxPayload int) (*Task, error) {
	t := &Task{ID: s.ID, Kind: s.Kind, Priority: s.Priority, State: Scheduled, Run: 1}
	if err := CheckKind(s.Kind); err != nil {
		return nil, err
	}
	if err := s.content(t, maxPayload); err != nil {
		return nil, err
	}
	if err := s.numbers(t); err != nil {
		return nil, err
	}
	if err := s.name(t, now); err != nil {
		return nil, err
	}
	switch {
	case s.In != 0 && !s.At.IsZero():
		return nil, invalid("submit", "In", s.In, "set In or At, not both")
	case !s.At.IsZero() && (s.At.Year() > 9999 || At(s.At) > MaxTime):
		return nil, invalid("submit", "At", s.At.Year(), "the last year is 9999")
	case !s.At.IsZero():
		t.Due = max(At(s.At), 1)
	default:
		t.Due = At(now).Add(max(s.In, 0))
	}
	if t.Due > MaxTime {
		return nil, invalid("submit", "In", s.In, "the last year is 9999")
	}
	t.At = t.Due
	t.Hash = contentHash(t)
	return t, nil
}

func (s *Submission) content(t *Task, limit int) error {
	if limit <= 0 {
		limit = MaxPayload
	}
	switch {
	case s.Payload != nil && s.Args != nil:
		return invalid("submit", "Args", "", "set Payload or Args, not both")
	case s.Payload != nil:
		t.Payload = bytes.Clone(s.Payload)
	case s.Args != nil:
		var err error
		if t.Payload, err = json.Marshal(s.Args); err != nil {
			return invalid("submit", "Args", s.Args, "%v", err)
		}
	}
	if len(t.Payload) > limit {
		return invalid("submit", "Payload", len(t.Payload), "%d bytes, the limit is %d", len(t.Payload), limit)
	}
	if len(s.Headers) > MaxHeaders {
		return invalid("submit", "Headers", len(s.Headers), "at most %d", MaxHeaders)
	}
	size := 0
	for k, v := range s.Headers {
		if why := checkName(k, MaxKind, false); why != "" {
			return invalid("submit", "Headers", k, "name %s", why)
		}
		if !utf8.ValidString(v) || strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return invalid("submit", "Headers", v, "value of %s has control characters or is not UTF-8", k)
		}
		size += len(k) + len(v)
	}
	if size > MaxHeaderSize {
		return invalid("submit", "Headers", size, "%d bytes in all, the limit is %d", size, MaxHeaderSize)
	}
	if len(s.Headers) == 0 && s.Backoff == (Backoff{}) && s.Unique == (Unique{}) {
		return nil
	}
	t.Extra = &Extra{Backoff: s.Backoff, Unique: s.Unique}
	if len(s.Headers) > 0 {
		t.Extra.Headers = maps.Clone(s.Headers)
	}
	return nil
}

func (s *Submission) numbers(t *Task) error {
	timeout, retries := s.Timeout, s.MaxRetries
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	if retries == 0 {
		retries = DefaultRetries
	}
	switch {
	case timeout < 0 || timeout > MaxTimeout:
		return invalid("submit", "Timeout", s.Timeout, "from 1ms to %v", MaxTimeout)
	case retries < NoRetries || retries > MaxRetries:
		return invalid("submit", "MaxRetries", s.MaxRetries, "from 1 to %d, 0 for %d, NoRetries for none", MaxRetries, DefaultRetries)
	case s.Priority > P(Levels-1):
		return invalid("submit", "Priority", s.Priority.Level(), "a level from 0 to %d", Levels-1)
	case s.Backoff.Base < 0 || s.Backoff.Cap < 0 || max(s.Backoff.Base, s.Backoff.Cap, s.Backoff.Jitter) > MaxTimeout:
		return invalid("submit", "Backoff", s.Backoff.Base, "Base, Cap and Jitter from 0 to %v", MaxTimeout)
	case s.Unique.By > ByContent:
		return invalid("submit", "Unique", s.Unique.By, "NotUnique, ByID or ByContent")
	case s.Unique.By == NotUnique && s.Unique.Window != 0:
		return invalid("submit", "Unique", s.Unique.Window, "a window without By")
	case s.Unique.By != NotUnique && (s.Unique.Window < time.Millisecond || s.Unique.Window > MaxWindow):
		return invalid("submit", "Unique", s.Unique.Window, "a window from 1ms to %v", MaxWindow)
	}
	t.Timeout = Millis((timeout + time.Millisecond - 1) / time.Millisecond)
	t.MaxRetries = int16(max(retries, 0))
	for _, f := range []struct {
		on   bool
		flag Flags
	}{{s.Ordered, Ordered}, {s.RetryOnTimeout, RetryOnTimeout}, {s.HoldLost, HoldLost}} {
		if f.on {
			t.Flags |= f.flag
		}
	}
	return nil
}

func (s *Submission) name(t *Task, now time.Time) error {
	if s.Key != "" {
		if why := checkName(s.Key, MaxKey, false); why != "" {
			return invalid("submit", "Key", s.Key, "%s", why)
		}
		if strings.Contains(s.ID, "/") && KeyOf(s.ID) != s.Key {
			return invalid("submit", "ID", s.ID, "its key is not Key %q", s.Key)
		}
	}
	key := s.Key
	if s.Unique.By == ByContent && key == "" && !strings.Contains(s.ID, "/") {
		key = contentKey(t)
	}
	if t.ID == "" {
		t.ID = NewID(now)
	}
	if key != "" && !strings.Contains(t.ID, "/") {
		t.ID = key + "/" + t.ID
	}
	return CheckID(t.ID)
}

// UniqueName returns what a ByContent task occupies: its key and the hash of its kind and payload. It cannot be an id.
func (t *Task) UniqueName() string { return t.Key() + "/#" + contentKey(t) }

func contentKey(t *Task) string {
	h := sha256.New()
	h.Write([]byte(t.Kind))
	h.Write([]byte{0})
	h.Write(t.Payload)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// CheckID reports what is wrong with a caller's id: an *Error with ErrInvalid, or nil.
func CheckID(id string) error {
	key, rest, found := strings.Cut(id, "/")
	why := checkName(key, MaxKey, !found)
	if found && why == "" {
		why = checkName(rest, MaxID, false)
	}
	if len(id) > MaxID {
		why = "is longer than 200 bytes"
	} else if !found && len(id) > MaxKey {
		why = "is longer than 100 bytes without a '/', and an id without one is its own key"
	}
	if why != "" {
		return invalid("submit", "ID", id, "%s", why)
	}
	return nil
}

// CheckKind reports what is wrong with a kind: an *Error with ErrInvalid, or nil.
func CheckKind(kind string) error {
	if why := checkName(kind, MaxKind, false); why != "" {
		return invalid("submit", "Kind", kind, "%s", why)
	}
	return nil
}

// checkName returns what is wrong with a name of up to most bytes, or "".
func checkName(s string, most int, whole bool) string {
	switch {
	case s == "":
		return "is empty"
	case len(s) > most && !whole:
		return "is too long"
	case s == "." || s == "..":
		return "may not be . or .."
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == ':', c == '-':
		default:
			return "may hold only a-z A-Z 0-9 . _ : - (an id also one '/')"
		}
	}
	return ""
}

// CheckTarget reports whether an id could name a task, derived ids of jobs included: an *Error with ErrInvalid, or nil.
func CheckTarget(id string) error {
	if id == "" || len(id) > 2*MaxID || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return invalid("find", "ID", id, "want 1 to %d printable ASCII characters", 2*MaxID)
	}
	return nil
}
