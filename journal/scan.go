package journal

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/axsched/ax"
)

// point is where an item stands in its index: by at, then by id, or for a task by its key. As a cursor it says "after
// this".
type point struct {
	at  int64
	id  string
	key key
}

func (a point) compare(b point) int {
	return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.id, b.id), cmp.Compare(a.key[0], b.key[0]), cmp.Compare(a.key[1], b.key[1]))
}

// cursor writes a point as a page's Next; readPoint reads it back.
func (a point) cursor() string {
	return fmt.Sprintf("%s/%x/%x/%s", strconv.FormatInt(a.at, 36), a.key[0], a.key[1], a.id)
}

func readPoint(s string) (point, error) {
	parts := strings.SplitN(s, "/", 4)
	bad := &ax.Error{Op: "scan", Field: "From", Value: fmt.Sprintf("%.80q", s), Reason: "it is no Page.Next", Err: ax.ErrInvalid}
	if len(parts) != 4 {
		return point{}, bad
	}
	at, err1 := strconv.ParseInt(parts[0], 36, 64)
	k0, err2 := strconv.ParseUint(parts[1], 16, 64)
	k1, err3 := strconv.ParseUint(parts[2], 16, 64)
	if err1 != nil || err2 != nil || err3 != nil {
		return point{}, bad
	}
	return point{at, parts[3], key{k0, k1}}, nil
}

// walk is a cache: the sorted points that follow a page. Without it every page of a long index would sort all of it. A
// page asked for out of turn makes another one, so that a walk may be left, repeated or begun anew at any time.
type walk struct {
	next      string // the From of the request that it answers
	after, to ax.Time
	rest      []point
}

const (
	scanLimit = 1000     // how many items a page holds when the request does not say
	scanBytes = 64 << 20 // and how many bytes of tasks at most, about
	scanSlice = 4096     // how many tasks are looked at while nothing else goes on
)

// Scan reads one page of an index; see ax.Store. Tasks are read from the disk; those of one At, and those of the other
// indexes of tasks, come in the order of a hash.
func (b *Backend) Scan(ctx context.Context, req ax.ScanRequest) (ax.Page, error) {
	if err := ctx.Err(); err != nil {
		return ax.Page{}, err
	}
	if req.Index < ax.IndexDue || req.Index > ax.IndexFacts {
		return ax.Page{}, &ax.Error{Op: "scan", Field: "Index", Value: fmt.Sprint(req.Index), Reason: "no such index", Err: ax.ErrInvalid}
	}
	b.files.RLock() // the places that are found stay until they have been read
	defer b.files.RUnlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.usable(); err != nil {
		return ax.Page{}, err
	}
	p, err := b.partition("scan", req.Partition)
	if err != nil {
		return ax.Page{}, err
	}
	rest, err := b.points(p, req)
	if err != nil {
		return ax.Page{}, err
	}
	if req.Token.IsZero() || req.Token != p.token { // also if that changed meanwhile
		return ax.Page{}, ax.ErrFenced
	}
	var page ax.Page
	var spots []spot
	limit, bytes := req.Limit, int64(0)
	if limit <= 0 {
		limit = scanLimit
	}
	for n := 0; n < limit && bytes < scanBytes && len(rest) > 0; {
		if s, ok := p.take(&page, req.Index, rest[0]); ok {
			n++
			if s.base != 0 {
				spots = append(spots, s)
				bytes += s.size()
			}
		}
		if page.Next = ""; len(rest) > 1 {
			page.Next = rest[0].cursor()
		}
		rest = rest[1:]
	}
	if len(rest) == 0 {
		delete(p.walks, req.Index)
	} else {
		p.walks[req.Index] = &walk{next: page.Next, after: req.After, to: req.To, rest: rest}
	}
	err = b.flushed()
	if err == nil && len(spots) > 0 {
		page.Tasks, err = b.readAll(spots)
	}
	b.mu.Lock()
	if err != nil {
		return ax.Page{}, err
	}
	return page, nil
}

// points returns the sorted points of an index from where the request goes on.
func (b *Backend) points(p *partition, req ax.ScanRequest) ([]point, error) {
	if w := p.walks[req.Index]; w != nil && req.From != "" && w.next == req.From && w.after == req.After && w.to == req.To {
		return w.rest, nil
	}
	var from point
	if req.From != "" {
		var err error
		if from, err = readPoint(req.From); err != nil {
			return nil, err
		}
	}
	list := b.collect(p, req)
	b.mu.Unlock()
	slices.SortFunc(list, point.compare)
	b.mu.Lock()
	if req.From != "" {
		i, found := slices.BinarySearchFunc(list, from, point.compare)
		if found {
			i++
		}
		list = list[i:]
	}
	return list, nil
}

// collect returns the points of an index, unsorted.
func (b *Backend) collect(p *partition, req ax.ScanRequest) (list []point) {
	switch req.Index {
	case ax.IndexDue, ax.IndexWaiting, ax.IndexRunning, ax.IndexHeld, ax.IndexEnded:
		n := 0
		for k, s := range p.live {
			if at, ok := pointOf(k, s, req.Index); ok && (req.Index != ax.IndexDue ||
				(req.After == 0 || s.at() > req.After) && (req.To == 0 || s.at() <= req.To)) {
				list = append(list, at)
			}
			if n++; n%scanSlice == 0 { // let commits through; what they change may be seen or not
				b.mu.Unlock()
				b.mu.Lock()
			}
		}
	case ax.IndexInbox:
		list = orders(p.inbox)
	case ax.IndexFacts:
		list = orders(p.facts)
	case ax.IndexIDs:
		for id, r := range p.records.items {
			list = append(list, point{at: int64(r.v.Ended), id: id})
		}
	case ax.IndexJobs:
		list = names(p.jobs)
	case ax.IndexInstances:
		list = names(p.instances)
	case ax.IndexReasons:
		list = names(p.reasons)
	case ax.IndexOutgoing:
		list = names(p.outgoing)
	}
	return list
}

func names[T any](s shelf[T]) (list []point) {
	for id := range s.items {
		list = append(list, point{id: id})
	}
	return list
}

func orders[T any](s shelf[T]) (list []point) {
	for id, k := range s.items {
		list = append(list, point{at: int64(k.serial), id: id})
	}
	return list
}

// pointOf returns where a task stands in an index of tasks, and whether it does.
func pointOf(k key, s spot, in ax.Index) (point, bool) {
	switch state := s.state(); in {
	case ax.IndexDue:
		return point{at: int64(s.at()), key: k}, state == ax.Scheduled
	case ax.IndexWaiting:
		return point{key: k}, state == ax.Created
	case ax.IndexRunning:
		return point{key: k}, state == ax.Running
	case ax.IndexHeld:
		return point{key: k}, state == ax.Held
	default:
		return point{key: k}, state.Terminal()
	}
}

// take adds what stands at a point now to the page; of a task it returns the spot. False if it is no longer there.
func (p *partition) take(page *ax.Page, in ax.Index, at point) (spot, bool) {
	switch in {
	case ax.IndexInbox:
		k, ok := p.inbox.items[at.id]
		return spot{}, pick(&page.Entries, k.v, ok && int64(k.serial) == at.at)
	case ax.IndexFacts:
		k, ok := p.facts.items[at.id]
		return spot{}, pick(&page.Facts, k.v, ok && int64(k.serial) == at.at)
	case ax.IndexIDs:
		r, ok := p.records.get(at.id)
		return spot{}, pick(&page.IDs, r, ok && int64(r.Ended) == at.at)
	case ax.IndexJobs:
		v, ok := p.jobs.get(at.id)
		return spot{}, pick(&page.Jobs, v, ok)
	case ax.IndexInstances:
		v, ok := p.instances.get(at.id)
		return spot{}, pick(&page.Instances, v, ok)
	case ax.IndexReasons:
		v, ok := p.reasons.get(at.id)
		return spot{}, pick(&page.Reasons, v, ok)
	case ax.IndexOutgoing:
		v, ok := p.outgoing.get(at.id)
		return spot{}, pick(&page.Outgoing, v, ok)
	}
	s, ok := p.live[at.key]
	if !ok {
		return spot{}, false
	}
	now, ok := pointOf(at.key, s, in)
	return s, ok && now == at
}

func pick[T any](list *[]T, v T, ok bool) bool {
	if ok {
		*list = append(*list, v)
	}
	return ok
}
