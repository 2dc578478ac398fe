package ax

import "context"

// Archive keeps finished tasks and facts for people to look at. It may lag behind the Store and never decides
// anything. All methods are safe for concurrent use. Slices handed in, and slices returned, are the caller's; the tasks
// they point to are immutable and may be kept.
type Archive interface {
	// Append adds finished tasks (one record per id and run) and facts. Idempotent: what is there already is replaced by
	// the same. It is durable, as far as the archive is, when it returns. ErrInvalid, and nothing is added, if a task has
	// not ended.
	Append(ctx context.Context, tasks []*Task, facts []Fact) error

	// Get returns the finished runs of a task, newest first, and the facts about it, oldest first. ErrNoTask if it knows
	// neither.
	Get(ctx context.Context, id string) ([]*Task, []Fact, error)

	// Query returns one page of finished tasks, newest first by the time they ended; runs that ended in one instant come in
	// an order of the archive's, always the same. What is added or pruned during a walk moves nothing else. ErrInvalid for
	// a Page that is none.
	Query(ctx context.Context, q Query) (Archived, error)

	// Prune removes runs that ended and facts that happened before an instant, and the oldest runs beyond keep (0: no such
	// bound). It returns how many runs it removed.
	Prune(ctx context.Context, before Time, keep int) (int, error)
}

// Query selects finished tasks; zero fields select everything. From and To bound the time a task ended: From <= t < To.
type Query struct {
	Job, Kind, Executor string
	Prefix              string // of the id
	State               State
	From, To            Time
	Page                string // "" for the first page, then Archived.Next
	Limit               int    // 0: 100; at most 1000
}

// Archived is one page of a query.
type Archived struct {
	Tasks []*Task
	Next  string // "" when this was the last page
}

// EndedAt returns when the task ended, zero if it has not.
func (t *Task) EndedAt() Time {
	if !t.State.Terminal() {
		return 0
	}
	return t.At
}
