package registry

import (
	"context"
	"maps"
	"slices"
)

// watcher is one call of Watch: the classes that changed and were not sent yet.
type watcher struct {
	pending map[string]bool // guarded by registry.mu
	wake    chan struct{}   // capacity 1: something is pending; coalesces
}

// changed tells every watcher of a change in a class. mu must be held; the send does not wait.
func (r *Registry) changed(class string) {
	for w := range r.watchers {
		w.pending[class] = true
		select {
		case w.wake <- struct{}{}:
		default: // coalesces
		}
	}
}

// Watch sends the class of every change; see ax.Registry. Several classes come in the order of their names. That a lease
// ran out is seen when somebody asks for it. The goroutine behind it ends with ctx or with Close, whether or not anybody
// receives.
func (r *Registry) Watch(ctx context.Context) (<-chan string, error) {
	w := &watcher{pending: map[string]bool{}, wake: make(chan struct{}, 1)}
	if err := r.lock(ctx); err != nil {
		return nil, err
	}
	r.watchers[w] = true
	r.mu.Unlock()
	out := make(chan string)
	go func() {
		defer close(out)
		defer func() {
			r.mu.Lock()
			delete(r.watchers, w)
			r.mu.Unlock()
		}()
		for {
			select {
			case <-w.wake:
			case <-ctx.Done():
				return
			case <-r.ended:
				return
			}
			r.mu.Lock()
			classes := slices.Sorted(maps.Keys(w.pending))
			clear(w.pending)
			r.mu.Unlock()
			for _, class := range classes {
				select {
				case out <- class:
				case <-ctx.Done():
					return
				case <-r.ended:
					return
				}
			}
		}
	}()
	return out, nil
}
