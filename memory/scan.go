package memory

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/axsched/ax"
)

// place is where an item stands in its index: by at, then by id. As a cursor it says "after this".
type place struct {
	at int64
	id string
}

func (a place) compare(b place) int {
	return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.id, b.id))
}

// cursor writes a place as a page's Next; readPlace reads it back.
func (a place) cursor() string { return strconv.FormatInt(a.at, 36) + "/" + a.id }

func readPlace(s string) (place, error) {
	at, id, found := strings.Cut(s, "/")
	n, err := strconv.ParseInt(at, 36, 64)
	if err != nil || !found {
		return place{}, &ax.Error{Op: "scan", Field: "From", Value: fmt.Sprintf("%.80q", s), Reason: "it is no Page.Next", Err: ax.ErrInvalid}
	}
	return place{n, id}, nil
}

// walk is a cache: the sorted places that follow a page. Without it every page of a long index would sort all of it.
// A page asked for out of turn makes another one, so that a walk may be left, repeated or begun anew at any time.
type walk struct {
	next      string // the From of the request that it answers
	after, to ax.Time
	rest      []place
}

// scanLimit is how many items a page holds when the request does not say.
const scanLimit = 1000

// scan reads one page.
func (p *partition) scan(req ax.ScanRequest) (page ax.Page, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if req.Token.IsZero() || req.Token != p.token {
		return page, ax.ErrFenced
	}
	rest, err := p.places(req)
	if err != nil {
		return page, err
	}
	limit := req.Limit
	if limit <= 0 {
		limit = scanLimit
	}
	for n := 0; n < limit && len(rest) > 0; {
		if p.take(&page, req.Index, rest[0]) {
			n++
		}
		if page.Next = ""; len(rest) > 1 {
			page.Next = rest[0].cursor()
		}
		rest = rest[1:]
	}
	if len(rest) == 0 {
		delete(p.walks, req.Index)
		return page, nil
	}
	p.walks[req.Index] = &walk{next: page.Next, after: req.After, to: req.To, rest: rest}
	return page, nil
}

// places returns the sorted places of an index from where the request goes on.
func (p *partition) places(req ax.ScanRequest) ([]place, error) {
	if w := p.walks[req.Index]; w != nil && req.From != "" && w.next == req.From && w.after == req.After && w.to == req.To {
		return w.rest, nil
	}
	list := p.collect(req)
	if list == nil {
		return nil, nil
	}
	slices.SortFunc(list, place.compare)
	if req.From != "" {
		from, err := readPlace(req.From)
		if err != nil {
			return nil, err
		}
		i, found := slices.BinarySearchFunc(list, from, place.compare)
		if found {
			i++
		}
		list = list[i:]
	}
	return list, nil
}

// collect returns the places of an index, unsorted.
func (p *partition) collect(req ax.ScanRequest) (list []place) {
	switch req.Index {
	case ax.IndexDue, ax.IndexWaiting, ax.IndexRunning, ax.IndexHeld, ax.IndexEnded:
		for t := range p.tasks.All() {
			if at, ok := placeOf(t, req.Index); ok && (req.Index != ax.IndexDue ||
				(req.After == 0 || t.At > req.After) && (req.To == 0 || t.At <= req.To)) {
				list = append(list, at)
			}
		}
	case ax.IndexInbox:
		for id, q := range p.inbox.byID {
			list = append(list, place{q.serial, id})
		}
	case ax.IndexFacts:
		for id, q := range p.facts.byID {
			list = append(list, place{q.serial, id})
		}
	case ax.IndexIDs:
		for r := range p.records.byID.All() {
			list = append(list, place{int64(r.Ended), r.ID})
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

func names[T any](m map[string]T) (list []place) {
	for id := range m {
		list = append(list, place{0, id})
	}
	return list
}

// placeOf returns where a task stands in an index of tasks, and whether it does.
func placeOf(t *ax.Task, in ax.Index) (place, bool) {
	switch in {
	case ax.IndexDue:
		return place{int64(t.At), t.ID}, t.State == ax.Scheduled
	case ax.IndexWaiting:
		return place{0, t.ID}, t.State == ax.Created
	case ax.IndexRunning:
		return place{0, t.ID}, t.State == ax.Running
	case ax.IndexHeld:
		return place{0, t.ID}, t.State == ax.Held
	}
	return place{0, t.ID}, t.State.Terminal()
}

// take adds what stands at a place now to the page. False if it is no longer there.
func (p *partition) take(page *ax.Page, in ax.Index, at place) bool {
	switch in {
	case ax.IndexInbox:
		q, ok := p.inbox.byID[at.id]
		return pick(&page.Entries, q.value, ok && q.serial == at.at)
	case ax.IndexFacts:
		q, ok := p.facts.byID[at.id]
		return pick(&page.Facts, q.value, ok && q.serial == at.at)
	case ax.IndexIDs:
		if r := p.records.byID.Get(at.id); r != nil {
			return pick(&page.IDs, r, int64(r.Ended) == at.at)
		}
		return false
	case ax.IndexJobs:
		v, ok := p.jobs[at.id]
		return pick(&page.Jobs, v, ok)
	case ax.IndexInstances:
		v, ok := p.instances[at.id]
		return pick(&page.Instances, v, ok)
	case ax.IndexReasons:
		v, ok := p.reasons[at.id]
		return pick(&page.Reasons, v, ok)
	case ax.IndexOutgoing:
		v, ok := p.outgoing[at.id]
		return pick(&page.Outgoing, v, ok)
	}
	t := p.tasks.Get(at.id)
	if t == nil {
		return false
	}
	now, ok := placeOf(t, in)
	return pick(&page.Tasks, t, ok && now == at)
}

func pick[T any](list *[]T, v T, ok bool) bool {
	if ok {
		*list = append(*list, v)
	}
	return ok
}
