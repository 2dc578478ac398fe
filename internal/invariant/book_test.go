package invariant

import (
	"strings"
	"testing"
)

// history is a Book with a task of id k/a in partition 0, whose owner has token 1.1.
type history struct {
	*Book
	t Task
}

func begin(rules Rules) *history {
	h := &history{Book: New(rules), t: Task{ID: "k/a", Key: "k", Kind: "a", Hash: 7, Retries: 1, Created: 1, Due: 1, At: 1, State: Scheduled, Run: 1, Cap: 1e6, Base: 1e6}}
	h.Opened(0, Token{Era: 1, Revision: 1})
	h.write(&Batch{Create: []*Task{h.task(nil)}})
	return h
}

// task returns a copy of the task with changes, which stay.
func (h *history) task(change func(*Task)) *Task {
	if change != nil {
		change(&h.t)
	}
	c := h.t
	return &c
}

func (h *history) write(w *Batch) {
	if w.Token == (Token{}) {
		w.Token = Token{Era: 1, Revision: 1}
	}
	h.Wrote(w)
}

func (h *history) move(change func(*Task)) { h.write(&Batch{Move: []*Task{h.task(change)}}) }

func (h *history) claim(n uint64) {
	h.move(func(t *Task) {
		t.Prev = t.Last
		t.State, t.Attempt = Running, t.Attempt+1
		t.Last = Attempt{Token: Token{1, 1, n}, Run: t.Run, N: t.Attempt, Executor: "n"}
	})
}

func (h *history) end(s State, o Outcome) {
	h.move(func(t *Task) { t.State, t.At, t.Last.Outcome, t.Last.Settled, t.Last.Ended = s, 100, o, 100, 100 })
}

func (h *history) run(o Outcome) {
	last := h.t.Last
	h.Began("k/a", h.t.Run, h.t.Attempt, last.Token)
	h.Returned(last.Token, o, 0)
}

// TestLaws breaks each law that a history of one task can break, and wants it named.
func TestLaws(t *testing.T) {
	turn := func(h *history, c *Turn) {
		c.Node, c.ByKind = "n", map[string]int{}
		c.Handled = map[string]bool{"a": true}
		h.Turn(c)
	}
	for _, of := range []struct {
		law   Law
		rules Rules
		do    func(h *history)
	}{
		{0, Rules{}, func(h *history) {
			h.claim(1)
			h.run(Erred)
			h.move(func(t *Task) {
				t.State, t.At, t.Last.Outcome, t.Last.Settled = Scheduled, 1_000_100, Erred, 100
			})
			h.claim(2)
			h.run(Succeeded)
			h.end(Success, Succeeded)
			h.Filed("k/a", 1, Success)
			h.write(&Batch{Delete: []string{"k/a"}, Remember: []Record{{ID: "k/a", State: Success, Run: 1, Until: 1e9}}})
			h.Finish()
		}},
		{NeverEarly, Rules{}, func(h *history) {
			turn(h, &Turn{Workers: 1, InHand: 1, Clock: Clock{Wall: 4}, Claims: []*Task{h.task(func(t *Task) { t.At = 5 })}})
		}},
		{NeverLost, Rules{}, func(h *history) { h.write(&Batch{Delete: []string{"k/a"}}) }},
		{NeverLost, Rules{}, func(h *history) { h.Stored("k/a", nil) }},
		{NeverLost, Rules{}, func(h *history) {
			h.Asked(1)
			h.Answered(1, Answer{Verb: "submit", Code: Made, ID: "k/b"})
		}},
		{NeverLost, Rules{}, func(h *history) {
			h.claim(1)
			h.run(Succeeded)
			h.end(Success, Succeeded)
			h.write(&Batch{Delete: []string{"k/a"}})
		}},
		{TerminalStays, Rules{}, func(h *history) { h.end(Canceled, Ongoing); h.end(Scheduled, Ongoing) }},
		{LegalMoves, Rules{}, func(h *history) { h.end(Success, Ongoing) }},
		{OneAttempt, Rules{}, func(h *history) {
			h.claim(1)
			h.Began("k/a", 1, 1, Token{1, 1, 1})
			h.end(Scheduled, Interrupted)
		}},
		{OneAttempt, Rules{}, func(h *history) {
			h.claim(1)
			h.Began("k/a", 1, 1, Token{1, 1, 1})
			h.Began("k/a", 1, 1, Token{1, 1, 1})
		}},
		{TokensGrow, Rules{}, func(h *history) {
			h.claim(2)
			h.run(Erred)
			h.move(func(t *Task) {
				t.State, t.At, t.Last.Outcome, t.Last.Settled = Scheduled, 1_000_100, Erred, 100
			})
			h.claim(1)
		}},
		{Fenced, Rules{}, func(h *history) {
			h.Opened(0, Token{Era: 1, Revision: 2})
			h.claim(1)
		}},
		{Fenced, Rules{}, func(h *history) { h.Opened(0, Token{Era: 1}) }},
		{ClaimFirst, Rules{}, func(h *history) { h.Began("k/a", 1, 1, Token{1, 1, 1}) }},
		{AttemptsBounded, Rules{}, func(h *history) { h.task(func(t *Task) { t.Attempt = 5 }); h.claim(1) }},
		{RetryPolicy, Rules{}, func(h *history) {
			h.claim(1)
			h.run(Erred)
			h.move(func(t *Task) { t.State, t.At, t.Last.Outcome, t.Last.Settled = Scheduled, 900_000, Erred, 100 })
		}},
		{RetryPolicy, Rules{}, func(h *history) {
			h.claim(1)
			h.run(RanOut)
			h.move(func(t *Task) { t.State, t.At, t.Last.Outcome, t.Last.Settled = Scheduled, 1_000_100, RanOut, 100 })
		}},
		{LostPolicy, Rules{}, func(h *history) {
			h.task(func(t *Task) { t.HoldLost = true })
			h.claim(1)
			h.move(func(t *Task) { t.State, t.At, t.Last.Outcome, t.Last.Settled = Scheduled, 1_000_100, Lost, 100 })
		}},
		{Limits, Rules{EachKey: Limit{Concurrent: 1}}, func(h *history) {
			h.claim(1)
			h.write(&Batch{Create: []*Task{{ID: "k/b", Key: "k", State: Running, Run: 1, Attempt: 1, Last: Attempt{Token: Token{1, 1, 2}, Run: 1, N: 1}}}})
		}},
		{Rates, Rules{Kinds: map[string]Limit{"a": {PerSecond: 2}}}, func(h *history) {
			h.Claimed(&Turn{Clock: Clock{Boot: 0}}, &h.t, "")
			h.Claimed(&Turn{Clock: Clock{Boot: 499_999}}, &h.t, "")
		}},
		{UniqueWindow, Rules{}, func(h *history) {
			h.write(&Batch{Create: []*Task{{ID: "u", Name: "n", State: Scheduled, Run: 1}}})
			h.write(&Batch{Create: []*Task{{ID: "v", Name: "n", State: Scheduled, Run: 1}}})
		}},
		{CancelHolds, Rules{}, func(h *history) {
			h.claim(1)
			h.Asked(1)
			h.task(func(t *Task) { t.CancelAsked = true })
			h.move(nil)
			h.Answered(1, Answer{Verb: "cancel", Code: Done, ID: "k/a", Run: 1})
			h.run(Erred)
			h.move(func(t *Task) {
				t.State, t.At, t.Last.Outcome, t.Last.Settled = Scheduled, 1_000_100, Erred, 100
			})
			h.claim(2)
		}},
		{AnsweredOnce, Rules{}, func(h *history) {
			h.Asked(1)
			h.Answered(1, Answer{Verb: "cancel", Code: Refused})
			h.Answered(1, Answer{Verb: "cancel", Code: Refused})
		}},
		{AnsweredOnce, Rules{}, func(h *history) { h.Asked(1); h.Finish() }},
		{AnswerTrue, Rules{}, func(h *history) { h.True(Answer{Verb: "submit", Code: Known, ID: "other"}) }},
		{CountsTrue, Rules{}, func(h *history) { turn(h, &Turn{Counts: &Counts{Running: 1}}) }},
		{Remembered, Rules{}, func(h *history) {
			h.end(Canceled, Ongoing)
			h.Filed("k/a", 1, Canceled)
			h.write(&Batch{Delete: []string{"k/a"}, Remember: []Record{{ID: "k/a", State: Canceled, Run: 1, Until: 1e9}}})
			h.write(&Batch{Create: []*Task{h.task(func(t *Task) { t.State = Scheduled })}})
		}},
		{BestFirst, Rules{NoAging: true}, func(h *history) {
			c := &Task{ID: "k/b", Key: "k", Kind: "a", Level: 5, State: Running, Run: 1}
			turn(h, &Turn{Workers: 1, InHand: 1, Clock: Clock{Wall: 5000}, Tasks: []Seen{{Task: &h.t}}, Claims: []*Task{c}})
		}},
		{NoIdleWorker, Rules{}, func(h *history) {
			turn(h, &Turn{Workers: 1, Clock: Clock{Wall: 5000}, Tasks: []Seen{{Task: &h.t}}})
		}},
		{WorkersBounded, Rules{}, func(h *history) { turn(h, &Turn{Workers: 1, InHand: 2}) }},
		{AdmittedOnce, Rules{}, func(h *history) { h.write(&Batch{Admit: []string{"r1"}}) }},
		{SettledByReport, Rules{}, func(h *history) { h.claim(1); h.end(Success, Succeeded) }},
		{SettledByReport, Rules{}, func(h *history) { h.claim(1); h.run(Erred); h.end(Success, Succeeded) }},
		{ReportArrives, Rules{}, func(h *history) { h.claim(1); h.run(Succeeded); h.Now = 1e9; h.end(Held, Lost) }},
		{Progress, Rules{}, func(h *history) { h.Finish() }},
		{Ordered, Rules{}, func(h *history) {
			u, v := h.task(func(t *Task) { t.Ordered, t.State = true, Running }), h.task(func(t *Task) { t.ID = "k/b" })
			turn(h, &Turn{Workers: 9, Tasks: []Seen{{Task: u}, {Task: v}}, Counts: &Counts{Running: 2}})
		}},
	} {
		h := begin(of.rules)
		of.do(h)
		var got Law
		if v := h.Violation(); v != nil {
			got = v.Law
			if !strings.Contains(v.Error(), got.Sentence()) {
				t.Errorf("%v does not say its law", v)
			}
		}
		if got != of.law {
			t.Errorf("%v is said to be broken, and it is %q: %v", got.Sentence(), of.law.Sentence(), h.Violation())
		}
	}
}

// TestSentences holds that every law has one.
func TestSentences(t *testing.T) {
	for l := Law(1); l < last; l++ {
		if l.Sentence() == "" {
			t.Errorf("law %d has no sentence", l)
		}
	}
}
