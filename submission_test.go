package ax_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax"
)

// The rule for ids, written once more the slow way.
func goodID(id string) bool {
	const chars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-"
	parts := strings.Split(id, "/")
	if len(id) > 200 || len(parts) > 2 || len(parts[0]) > 100 {
		return false
	}
	for _, part := range parts {
		if part == "" || part == "." || part == ".." || strings.Trim(part, chars) != "" {
			return false
		}
		for _, r := range part {
			if !strings.ContainsRune(chars, r) {
				return false
			}
		}
	}
	return true
}

func FuzzCheckID(f *testing.F) {
	for _, id := range []string{"", "a", "a/b", "a/b/c", ".", "..", "a/..", "%2F", "é", "a b", "uid/@20261130T023000.000Z", "uid/!r", strings.Repeat("x", 100), strings.Repeat("x", 101),
		strings.Repeat("k", 100) + "/" + strings.Repeat("i", 99), strings.Repeat("k", 100) + "/" + strings.Repeat("i", 100), "a\x00", "a\n", "\xff", "{tag}"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		err := ax.CheckID(id)
		if (err == nil) != goodID(id) {
			t.Fatalf("%q: %v", id, err)
		}
		var e *ax.Error
		if err != nil && (!errors.Is(err, ax.ErrInvalid) || !errors.As(err, &e) || e.Field != "ID" || e.Reason == "" || len(e.Error()) > 1000) {
			t.Fatalf("%q: %v", id, err)
		}
		if err == nil && (ax.CheckTarget(id) != nil || (&ax.Task{ID: id}).Job() != "") {
			t.Fatalf("%q is an id and no target, or a job's", id)
		}
	})
}

func FuzzSubmission(f *testing.F) {
	f.Add("a/b", "", "kind", []byte("p"), int64(0), int64(0), uint8(0), int64(0), 0, int64(0), int64(0), int64(0), "h", "v", uint8(0), int64(0))
	f.Add("", "k", "kind", []byte(nil), int64(1<<63-1), int64(0), uint8(255), int64(-1), -1, int64(1), int64(1<<62), int64(-5), "", "\x00", uint8(2), int64(time.Hour))
	f.Add("x", "y", "", bytes.Repeat([]byte("x"), 300), int64(-1), int64(1<<62), uint8(100), int64(time.Hour), 1000, int64(0), int64(0), int64(0), "a b", "", uint8(3), int64(-1))
	now := time.Unix(1796005800, 123)
	f.Fuzz(func(t *testing.T, id, key, kind string, payload []byte, in, at int64, priority uint8, timeout int64, retries int, base, most, jitter int64, header, value string, by uint8, window int64) {
		sub := ax.Submission{ID: id, Key: key, Kind: kind, Payload: payload, In: time.Duration(in), Priority: ax.Priority(priority), Timeout: time.Duration(timeout),
			MaxRetries: retries, Backoff: ax.Backoff{Base: time.Duration(base), Cap: time.Duration(most), Jitter: time.Duration(jitter)},
			Unique: ax.Unique{By: ax.UniqueBy(by), Window: time.Duration(window)}}
		if at != 0 {
			sub.At = time.Unix(at, 0)
		}
		if header != "" || value != "" {
			sub.Headers = map[string]string{header: value}
		}
		task, err := sub.Task(now, 256)
		var e *ax.Error
		if err != nil {
			if task != nil || !errors.Is(err, ax.ErrInvalid) || !errors.As(err, &e) || e.Field == "" || e.Reason == "" {
				t.Fatalf("%+v: %v %v", sub, task, err)
			}
			return
		}
		switch b := task.Backoff(); {
		case ax.CheckID(task.ID) != nil || ax.CheckKind(task.Kind) != nil || task.Kind != kind:
			t.Fatalf("id %q kind %q", task.ID, task.Kind)
		case id != "" && task.ID != id && !strings.HasSuffix(task.ID, "/"+id), key != "" && task.Key() != key:
			t.Fatalf("id %q key %q became %q", id, key, task.ID)
		case len(task.Payload) > 256 || !bytes.Equal(task.Payload, payload):
			t.Fatalf("payload of %d bytes became %d", len(payload), len(task.Payload))
		case task.Due <= 0 || task.Due > ax.MaxTime || task.At != task.Due || at == 0 && task.Due < ax.At(now):
			t.Fatalf("due %v", task.Due)
		case task.Timeout == 0 || task.Timeout.Duration() > ax.MaxTimeout || task.Timeout.Duration() < time.Duration(timeout):
			t.Fatalf("timeout %v of %v", task.Timeout.Duration(), time.Duration(timeout))
		case task.MaxRetries < 0 || task.MaxRetries > ax.MaxRetries, task.Priority.Level() < 0 || task.Priority.Level() >= ax.Levels:
			t.Fatalf("retries %d level %d", task.MaxRetries, task.Priority.Level())
		case b.Base <= 0 || b.Cap <= 0 || b.Jitter > ax.MaxTimeout:
			t.Fatalf("backoff %+v", b)
		case task.State != ax.Scheduled || task.Run != 1 || task.Attempt != 0 || task.Last != nil:
			t.Fatalf("%+v", task)
		}
		if id == "" {
			return
		}
		again, err := sub.Task(now.Add(time.Hour), 256)
		if in+int64(time.Hour) < in || err != nil {
			return
		}
		if again.ID != task.ID || again.Hash != task.Hash {
			t.Fatalf("an hour later it is another one: %q %x, %q %x", task.ID, task.Hash, again.ID, again.Hash)
		}
	})
}

// A submission without a key that is unique by content gets the same key everywhere, and its name cannot be an id.
func TestContentKey(t *testing.T) {
	unique := ax.Unique{By: ax.ByContent, Window: time.Hour}
	task := func(sub ax.Submission) *ax.Task {
		t.Helper()
		sub.Kind, sub.Unique = "remind", unique
		got, err := sub.Task(time.Now(), 0)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	a, b, c := task(ax.Submission{Payload: []byte("x")}), task(ax.Submission{Payload: []byte("x"), In: time.Hour}), task(ax.Submission{Payload: []byte("y")})
	if a.Key() != b.Key() || a.Key() == c.Key() || a.ID == b.ID || a.UniqueName() != b.UniqueName() || a.UniqueName() == c.UniqueName() {
		t.Errorf("%s %s %s", a.ID, b.ID, c.ID)
	}
	if a.Key() != "236a74fbb1dd5daa08e6706fdcbbb047" { // sha256("remind" NUL "x"), half of it; it is in stores
		t.Errorf("key %s", a.Key())
	}
	if ax.CheckID(a.UniqueName()) == nil {
		t.Errorf("%s could be an id", a.UniqueName())
	}
	named := task(ax.Submission{ID: "k/x"})
	if named.Key() != "k" || task(ax.Submission{ID: "x"}).Key() == "x" || task(ax.Submission{Key: "k", ID: "x"}).ID != "k/x" {
		t.Errorf("%s", named.ID)
	}
}
