// Package registry is the Registry of a backend that lives in one process: leases, documents and their watchers in
// memory. A backend embeds it, and may have documents written elsewhere before they are seen.
//
// Leases live and die with the process. One lock guards everything; nothing but Config.Write is called under it.
package registry

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

// Config is what a Registry works with.
type Config struct {
	Now      func() time.Time // the only clock; called under the lock, since an answer must not be older than the one before
	Era      uint32           // of every token
	Revision uint64           // every grant and every document gets a higher one

	// Write, if set, has a new revision of a document written. It is called under the lock, in the order of the
	// revisions; an error refuses the change. Put returns what wait returns, with the lock free and the change to be
	// seen.
	Write func(ax.Document) (wait func() error, err error)
}

// Registry implements the methods of ax.Registry. Make it with New. All methods are safe for concurrent use.
type Registry struct {
	cfg   Config        // immutable
	ended chan struct{} // closed by the first Close

	mu       sync.Mutex // guards all below
	closed   bool
	revision uint64 // of the last change: grants of leases and documents draw from one counter
	leases   map[name]*lease
	docs     map[name][]ax.Document // revisions, oldest first; Body nil where it was deleted
	watchers map[*watcher]bool
}

// lease is a granted lease; until is when it runs out.
type lease struct {
	ax.Lease
	until time.Time
}

// New returns a Registry without leases and documents.
func New(cfg Config) *Registry {
	return &Registry{cfg: cfg, ended: make(chan struct{}), revision: cfg.Revision,
		leases: map[name]*lease{}, docs: map[name][]ax.Document{}, watchers: map[*watcher]bool{}}
}

// Load puts a revision of a document in that was written before. Revisions of a document come in their order.
func (r *Registry) Load(d ax.Document) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := name{d.Class, d.Name}
	r.docs[n] = append(r.docs[n], d)
	r.revision = max(r.revision, uint64(d.Revision))
}

// Close ends the Registry: every later call answers ErrClosed, and what Watch returned is closed. Closing twice is
// allowed.
func (r *Registry) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.closed = true
		close(r.ended)
	}
}

// lock takes the lock, unless the call may not start: the context has ended, or the Registry is closed.
func (r *Registry) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return ax.ErrClosed
	}
	return nil
}

// live returns the lease of that name unless it ran out. mu must be held.
func (r *Registry) live(n name) *lease {
	l := r.leases[n]
	if l == nil || l.until.After(r.cfg.Now()) {
		return l
	}
	delete(r.leases, n)
	r.changed(n.class)
	return nil
}

// Acquire grants a lease; see ax.Registry. ErrInvalid for a ttl that is not positive.
func (r *Registry) Acquire(ctx context.Context, class, nam, holder string, ttl time.Duration, data []byte) (ax.Lease, error) {
	if ttl <= 0 {
		return ax.Lease{}, &ax.Error{Op: "acquire", Field: "ttl", Value: ttl.String(), Reason: "more than 0", Err: ax.ErrInvalid}
	}
	if err := r.lock(ctx); err != nil {
		return ax.Lease{}, err
	}
	defer r.mu.Unlock()
	n := name{class, nam}
	if l := r.live(n); l != nil {
		return ax.Lease{}, &ax.Error{Op: "acquire", ID: class + "/" + nam, Reason: fmt.Sprintf("%.80q holds it", l.Holder), Err: ax.ErrHeld}
	}
	r.revision++
	l := &lease{Lease: ax.Lease{Class: class, Name: nam, Holder: holder, TTL: ttl, Data: bytes.Clone(data),
		Token: ax.Token{Era: r.cfg.Era, Revision: r.revision}}, until: r.cfg.Now().Add(ttl)}
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
func (r *Registry) Renew(ctx context.Context, l ax.Lease) error {
	if err := r.lock(ctx); err != nil {
		return err
	}
	defer r.mu.Unlock()
	held := r.live(name{l.Class, l.Name})
	if held == nil || held.Token != l.Token || held.Holder != l.Holder {
		return &ax.Error{Op: "renew", ID: l.Class + "/" + l.Name, Err: ax.ErrLeaseLost}
	}
	held.until = r.cfg.Now().Add(held.TTL)
	if !bytes.Equal(held.Data, l.Data) {
		held.Data = bytes.Clone(l.Data)
		r.changed(l.Class)
	}
	return nil
}

// Release ends a lease; see ax.Registry.
func (r *Registry) Release(ctx context.Context, l ax.Lease) error {
	if err := r.lock(ctx); err != nil {
		return err
	}
	defer r.mu.Unlock()
	n := name{l.Class, l.Name}
	if held := r.live(n); held != nil && held.Token == l.Token {
		delete(r.leases, n)
		r.changed(l.Class)
	}
	return nil
}

// Leases lists the live leases of a class; see ax.Registry.
func (r *Registry) Leases(ctx context.Context, class string) ([]ax.Lease, error) {
	if err := r.lock(ctx); err != nil {
		return nil, err
	}
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
func (r *Registry) Put(ctx context.Context, class, nam string, rev int64, body []byte) (int64, error) {
	revision, wait, err := r.put(ctx, class, nam, rev, body)
	if err == nil && wait != nil {
		err = wait()
	}
	if err != nil {
		return 0, err
	}
	return revision, nil
}

func (r *Registry) put(ctx context.Context, class, nam string, rev int64, body []byte) (revision int64, wait func() error, err error) {
	if err := r.lock(ctx); err != nil {
		return 0, nil, err
	}
	defer r.mu.Unlock()
	n := name{class, nam}
	history := r.docs[n]
	var present int64
	if len(history) > 0 && history[len(history)-1].Body != nil {
		present = history[len(history)-1].Revision
	}
	if rev != present || body == nil && present == 0 {
		return 0, nil, &ax.Error{Op: "put", ID: class + "/" + nam, Field: "revision", Value: fmt.Sprint(rev),
			Reason: fmt.Sprintf("it is at %d", present), Err: ax.ErrRevision}
	}
	d := ax.Document{Class: class, Name: nam, Revision: int64(r.revision + 1), Body: bytes.Clone(body), Changed: ax.At(r.cfg.Now())}
	if r.cfg.Write != nil {
		if wait, err = r.cfg.Write(d); err != nil {
			return 0, nil, err
		}
	}
	r.revision++
	r.docs[n] = append(history, d)
	r.changed(class)
	return d.Revision, wait, nil
}

// Document returns a document or one of its revisions; see ax.Registry.
func (r *Registry) Document(ctx context.Context, class, nam string, rev int64) (ax.Document, error) {
	if err := r.lock(ctx); err != nil {
		return ax.Document{}, err
	}
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
func (r *Registry) Documents(ctx context.Context, class, nam, after string, limit int) ([]ax.Document, error) {
	if err := r.lock(ctx); err != nil {
		return nil, err
	}
	if limit <= 0 {
		limit = documentLimit
	}
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
