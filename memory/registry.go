package memory

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/axsched/ax"
)

// name identifies a lease or a document.
type name struct{ class, name string }

// registry is the state behind the methods of ax.Registry.
type registry struct {
	now func() time.Time // immutable; called with mu held, since an answer must not be older than the one before
	era uint32           // immutable

	mu       sync.Mutex // guards all below
	revision uint64     // of the last change: grants of leases and documents draw from one counter
	leases   map[name]*lease
	docs     map[name][]ax.Document // revisions, oldest first; Body nil where it was deleted
	watchers map[*watcher]bool
}

// lease is a granted lease; until is when it runs out.
type lease struct {
	ax.Lease
	until time.Time
}

// init starts an era: tokens begin at the nanosecond inside the second, so that a Backend made later in the same second
// grants higher ones.
func (r *registry) init(now func() time.Time) {
	at := now()
	r.now, r.era, r.revision = now, uint32(at.Unix()), uint64(at.Nanosecond())
	r.leases, r.docs, r.watchers = map[name]*lease{}, map[name][]ax.Document{}, map[*watcher]bool{}
}

// live returns the lease of that name unless it ran out. mu must be held.
func (r *registry) live(n name) *lease {
	l := r.leases[n]
	if l == nil || l.until.After(r.now()) {
		return l
	}
	delete(r.leases, n)
	r.changed(n.class)
	return nil
}

// Acquire grants a lease; see ax.Registry. ErrInvalid for a ttl that is not positive.
func (b *Backend) Acquire(ctx context.Context, class, nam, holder string, ttl time.Duration, data []byte) (ax.Lease, error) {
	if err := b.usable(ctx); err != nil {
		return ax.Lease{}, err
	}
	if ttl <= 0 {
		return ax.Lease{}, &ax.Error{Op: "acquire", Field: "ttl", Value: ttl.String(), Reason: "more than 0", Err: ax.ErrInvalid}
	}
	r, n := &b.registry, name{class, nam}
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.live(n); l != nil {
		return ax.Lease{}, &ax.Error{Op: "acquire", ID: class + "/" + nam, Reason: fmt.Sprintf("%.80q holds it", l.Holder), Err: ax.ErrHeld}
	}
	r.revision++
	l := &lease{Lease: ax.Lease{Class: class, Name: nam, Holder: holder, TTL: ttl, Data: bytes.Clone(data),
		Token: ax.Token{Era: r.era, Revision: r.revision}}, until: r.now().Add(ttl)}
	r.leases[n] = l
	r.changed(class)
	return l.copy(), nil
}

func (l *lease) copy() ax.Lease {
	out := l.Lease
	out.Data = bytes.Clone(out.Data)
	return out
}

// Renew extends a lease; see ax.Registry.
func (b *Backend) Renew(ctx context.Context, l ax.Lease) error {
	if err := b.usable(ctx); err != nil {
		return err
	}
	r := &b.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	held := r.live(name{l.Class, l.Name})
	if held == nil || held.Token != l.Token || held.Holder != l.Holder {
		return &ax.Error{Op: "renew", ID: l.Class + "/" + l.Name, Err: ax.ErrLeaseLost}
	}
	held.until = r.now().Add(held.TTL)
	if !bytes.Equal(held.Data, l.Data) {
		held.Data = bytes.Clone(l.Data)
		r.changed(l.Class)
	}
	return nil
}

// Release ends a lease; see ax.Registry.
func (b *Backend) Release(ctx context.Context, l ax.Lease) error {
	if err := b.usable(ctx); err != nil {
		return err
	}
	r, n := &b.registry, name{l.Class, l.Name}
	r.mu.Lock()
	defer r.mu.Unlock()
	if held := r.live(n); held != nil && held.Token == l.Token {
		delete(r.leases, n)
		r.changed(l.Class)
	}
	return nil
}

// Leases lists the live leases of a class; see ax.Registry.
func (b *Backend) Leases(ctx context.Context, class string) ([]ax.Lease, error) {
	if err := b.usable(ctx); err != nil {
		return nil, err
	}
	r := &b.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []ax.Lease
	for _, n := range slices.Collect(maps.Keys(r.leases)) {
		if n.class != class {
			continue
		}
		if l := r.live(n); l != nil {
			list = append(list, l.copy())
		}
	}
	slices.SortFunc(list, func(a, b ax.Lease) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Put writes or deletes a document; see ax.Registry.
func (b *Backend) Put(ctx context.Context, class, nam string, rev int64, body []byte) (int64, error) {
	if err := b.usable(ctx); err != nil {
		return 0, err
	}
	r, n := &b.registry, name{class, nam}
	r.mu.Lock()
	defer r.mu.Unlock()
	history := r.docs[n]
	var present int64
	if len(history) > 0 && history[len(history)-1].Body != nil {
		present = history[len(history)-1].Revision
	}
	if rev != present || body == nil && present == 0 {
		return 0, &ax.Error{Op: "put", ID: class + "/" + nam, Field: "revision", Value: fmt.Sprint(rev),
			Reason: fmt.Sprintf("it is at %d", present), Err: ax.ErrRevision}
	}
	r.revision++
	r.docs[n] = append(history, ax.Document{Class: class, Name: nam, Revision: int64(r.revision), Body: bytes.Clone(body), Changed: ax.At(r.now())})
	r.changed(class)
	return int64(r.revision), nil
}

// Document returns a document or one of its revisions; see ax.Registry.
func (b *Backend) Document(ctx context.Context, class, nam string, rev int64) (ax.Document, error) {
	if err := b.usable(ctx); err != nil {
		return ax.Document{}, err
	}
	r := &b.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	history := r.docs[name{class, nam}]
	for i := len(history) - 1; i >= 0; i-- {
		if d := history[i]; rev == 0 && d.Body != nil || rev == d.Revision {
			return copyDoc(d), nil
		} else if rev == 0 {
			break // the present revision deleted it
		}
	}
	return ax.Document{}, &ax.Error{Op: "document", ID: class + "/" + nam, Err: ax.ErrNoDoc}
}

func copyDoc(d ax.Document) ax.Document {
	d.Body = bytes.Clone(d.Body)
	return d
}

// documentLimit is how many documents a page holds when the caller does not say.
const documentLimit = 1000

// Documents lists documents, or the revisions of one; see ax.Registry.
func (b *Backend) Documents(ctx context.Context, class, nam, after string, limit int) ([]ax.Document, error) {
	if err := b.usable(ctx); err != nil {
		return nil, err
	}
	if limit <= 0 {
		limit = documentLimit
	}
	r := &b.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []ax.Document
	if nam != "" {
		list = slices.Clone(r.docs[name{class, nam}])
		slices.Reverse(list)
	} else {
		for n, history := range r.docs {
			if d := history[len(history)-1]; n.class == class && n.name > after && d.Body != nil {
				list = append(list, d)
			}
		}
		slices.SortFunc(list, func(a, b ax.Document) int { return strings.Compare(a.Name, b.Name) })
	}
	list = list[:min(len(list), limit)]
	for i := range list {
		list[i] = copyDoc(list[i])
	}
	return list, nil
}
