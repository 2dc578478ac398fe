package sched

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/axsched/ax"
)

// Get returns a task: the live one, or else the last finished run that the archive has. Errors: ErrNoTask, ErrInvalid,
// those of the store.
func (s *Scheduler) Get(ctx context.Context, id string) (*ax.Task, error) {
	if err := ax.CheckTarget(id); err != nil {
		return nil, err
	}
	t, err := s.cfg.Store.Get(ctx, id)
	if !errors.Is(err, ax.ErrNoTask) {
		return t, err
	}
	runs, _, err := s.cfg.Archive.Get(ctx, id)
	if err == nil && len(runs) == 0 || errors.Is(err, ax.ErrNoTask) {
		return nil, &ax.Error{Op: "get", ID: id, Err: ax.ErrNoTask}
	}
	if err != nil {
		return nil, err
	}
	return runs[0], nil
}

// Facts returns what the archive knows beside a task's own fields: who canceled it, which reports were stale.
func (s *Scheduler) Facts(ctx context.Context, id string) ([]ax.Fact, error) {
	_, facts, err := s.cfg.Archive.Get(ctx, id)
	if errors.Is(err, ax.ErrNoTask) {
		return nil, nil
	}
	return facts, err
}

// ListRequest selects live tasks; zero fields select all.
type ListRequest struct {
	State  ax.State
	Kind   string
	Prefix string // of the id
	After  string // the last id of the page before
	Limit  int    // 0: 100; at most 1000
}

// List returns live tasks by id, one page. It looks at every live task, and reads those beyond Config.Horizon from the store:
// meant for people, not for loops. A task that comes within the horizon meanwhile may be missing.
func (s *Scheduler) List(ctx context.Context, req ListRequest) ([]*ax.Task, error) {
	if req.Limit <= 0 {
		req.Limit = 100
	}
	req.Limit = min(req.Limit, 1000)
	var found []*ax.Task
	look := func(t *ax.Task) {
		if (req.State == 0 || t.State == req.State) && (req.Kind == "" || t.Kind == req.Kind) &&
			strings.HasPrefix(t.ID, req.Prefix) && t.ID > req.After {
			found = append(found, t)
		}
	}
	keep := func() { // what may be on the page, or a page would cost as much memory as all of it
		if len(found) > 16*req.Limit {
			found = firstByID(found, req.Limit)
		}
	}
	for part := range listParts {
		err := s.callAndWait(ctx, "list", func() {
			s.node.LivePart(part, listParts, look)
		})
		if err != nil {
			return nil, err
		}
		keep()
	}
	if req.State == 0 || req.State == ax.Scheduled {
		if err := s.beyond(ctx, func(t *ax.Task) { look(t); keep() }); err != nil {
			return nil, err
		}
	}
	return firstByID(found, req.Limit), nil
}

// firstByID returns the first n by id. Of two of one id the first counts: it was in memory.
func firstByID(tasks []*ax.Task, n int) []*ax.Task {
	slices.SortStableFunc(tasks, func(a, b *ax.Task) int { return strings.Compare(a.ID, b.ID) })
	tasks = slices.CompactFunc(tasks, func(a, b *ax.Task) bool { return a.ID == b.ID })
	clear(tasks[min(len(tasks), n):])
	return tasks[:min(len(tasks), n)]
}

// listParts is into how many turns of the loop a List is cut, so that a million tasks do not hold it up.
const listParts = 64

// History returns one page of finished tasks from the archive.
func (s *Scheduler) History(ctx context.Context, q ax.Query) (ax.Archived, error) {
	return s.cfg.Archive.Query(ctx, q)
}
