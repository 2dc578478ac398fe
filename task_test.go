package ax_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax"
)

// A chain of attempts comes out oldest first, and each run shows its own result and error only.
func TestAttemptsAndTimeline(t *testing.T) {
	first := &ax.Attempt{Run: 1, N: 1, Ready: 10, Claimed: 11, Started: 12, Ended: 13, Settled: 14, Outcome: ax.OutcomeFailed, Error: "no"}
	second := &ax.Attempt{Run: 1, N: 2, Ready: 20, Claimed: 21, Settled: 24, Outcome: ax.OutcomeLost, Prev: first} // never started, as far as known
	third := &ax.Attempt{Run: 2, N: 1, Ready: 30, Claimed: 31, Started: 32, Ended: 33, Settled: 34, Outcome: ax.OutcomeSuccess, Result: []byte("1"), Prev: second}
	task := &ax.Task{ID: "k/a", Kind: "work", Run: 2, Attempt: 1, State: ax.Success, Created: 5, Due: 10, At: 34, Last: third, Priority: ax.P(7)}
	if got := task.Attempts(); len(got) != 3 || got[0] != first || got[2] != third {
		t.Errorf("%v", got)
	}
	if string(task.Result()) != "1" || task.LastError() != "" || task.EndedAt() != 34 {
		t.Errorf("%s %s %v", task.Result(), task.LastError(), task.EndedAt())
	}
	var steps []string
	for _, h := range task.Timeline() {
		steps = append(steps, h.Step)
	}
	if got := strings.Join(steps, " "); got != "submitted due ready claimed started ended settled ready claimed settled ready claimed started ended settled" {
		t.Errorf("%s", got)
	}
	reopened := *task
	reopened.Run, reopened.State = 3, ax.Scheduled
	if reopened.Result() != nil || reopened.LastError() != "" || reopened.EndedAt() != 0 {
		t.Error("a new run shows the result of the last")
	}
	b, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	var back struct {
		ID, State string
		Priority  int
		Attempts  []struct {
			Outcome string
			Token   string
		}
	}
	if err := json.Unmarshal(b, &back); err != nil || back.ID != "k/a" || back.State != "SUCCESS" || back.Priority != 7 || len(back.Attempts) != 3 || back.Attempts[1].Outcome != "LOST" || len(back.Attempts[0].Token) != 40 {
		t.Errorf("%s: %+v %v", b, back, err)
	}
	var nobody ax.Task
	if nobody.Attempts() == nil || len(nobody.Timeline()) != 2 || nobody.Headers() != nil || nobody.Unique() != (ax.Unique{}) || nobody.Backoff() != (ax.Backoff{}).WithDefaults() {
		t.Error("the zero task")
	}
	if s := task.String(); !strings.Contains(s, "k/a work SUCCESS run 2 attempt 1") {
		t.Error(s)
	}
}

func TestPriority(t *testing.T) {
	if ax.Priority(0).Level() != ax.DefaultLevel || ax.P(50).Level() != 50 || ax.P(0).Level() != 0 || ax.P(99).Level() != 99 {
		t.Error("levels")
	}
	for _, bad := range []int{-1, 100, 1 << 40, -1 << 63} {
		if sub := (ax.Submission{Kind: "k", Priority: ax.P(bad)}); true {
			if _, err := sub.Task(time.Now(), 0); !errors.Is(err, ax.ErrInvalid) {
				t.Errorf("level %d: %v", bad, err)
			}
		}
	}
}

// An error says the operation, what it is about, and why, and can be told by errors.Is.
func TestErrorText(t *testing.T) {
	e := &ax.Error{Op: "cancel", ID: "a", State: ax.Success, Err: ax.ErrFinished}
	if e.Error() != "ax: cancel a: task has ended (SUCCESS)" || !errors.Is(e, ax.ErrFinished) || errors.Is(e, ax.ErrNoTask) {
		t.Error(e)
	}
	e = &ax.Error{Op: "submit", Field: "Kind", Value: `""`, Reason: "is empty", Err: ax.ErrInvalid}
	if e.Error() != `ax: submit: invalid: Kind "": is empty` {
		t.Error(e)
	}
}
