package invariant

// Code is the kind of an answer.
type Code uint8

// The codes.
const (
	Accepted Code = 1 + iota
	Made
	Known
	Conflict
	Expired
	Done
	Refused
)

// Answer is what a caller was told.
type Answer struct {
	Verb   string
	Code   Code
	Target string // the id that was asked about
	ID     string // the id that the answer names
	Hash   uint64 // of what was submitted
	Born   int64  // when the caller made the id, 0 if it does not say
	State  State
	Run    int
}

// Asked notes that a node has taken in a request.
func (b *Book) Asked(call int) { b.calls[call] = &callState{} }

// Forgiven notes that a call will have no answer: its process died.
func (b *Book) Forgiven(call int) { delete(b.calls, call) }

// Answered judges an answer.
func (b *Book) Answered(call int, a Answer) {
	b.Answers++
	c := b.calls[call]
	if c == nil || c.answers > 0 {
		b.Broke(AnsweredOnce, "%s of %s is answered again, %+v", a.Verb, a.Target, a)
		return
	}
	c.answers++
	b.True(a)
}

// True judges what an answer says.
func (b *Book) True(a Answer) {
	l := b.lives[a.ID]
	switch a.Code {
	case Made:
		for b.rules.Exclusive && l != nil && l.hash != a.Hash && l.before != nil { // the answer was long on its way, and batches follow each other
			l = l.before
		}
		if l == nil || l.hash != a.Hash && !(l.skipped && a.Run < b.run(a.ID)) {
			b.Broke(NeverLost, "%s was answered created, the store never had it", a.ID)
			return
		}
		l.acked = max(l.acked, a.Run)
		if l.born = a.Born; a.Born != 0 && b.rules.Steady && b.ripe[a.ID] == a.Born {
			b.Broke(Remembered, "%s, whose id was made at %d, was created twice", a.ID, a.Born)
		}
	case Known:
		if a.Verb == "submit" && l == nil && !b.inbox[a.ID] {
			b.Broke(AnswerTrue, "%s was answered known, the store never had it", a.ID)
		}
	case Conflict:
		if l != nil && l.hash == a.Hash && l.n == 1 && !b.inbox[a.ID] {
			b.Broke(AnswerTrue, "%s was answered conflict, and is the same submission", a.ID)
		}
	case Done:
		if l == nil {
			b.Broke(AnswerTrue, "%s of %s was answered done, the store never had it", a.Verb, a.ID)
			return
		}
		t := b.live[a.ID]
		if a.Verb == "cancel" && (l.end[a.Run] == Canceled || t != nil && t.Run == a.Run && t.CancelAsked) {
			l.canceled = max(l.canceled, a.Run)
		}
		l.acked = max(l.acked, a.Run)
	}
}

// run returns the newest run of an id that the store has had, 0 if there is none.
func (b *Book) run(id string) (n int) {
	if t := b.live[id]; t != nil {
		n = t.Run
	}
	if l := b.lives[id]; l != nil {
		for run := range l.end {
			n = max(n, run)
		}
	}
	return n
}

// Finish judges what is left once nothing goes on any more.
func (b *Book) Finish() {
	for id, c := range b.calls {
		if c.answers == 0 {
			b.Broke(AnsweredOnce, "call %d was never answered", id)
		}
	}
	for token, a := range b.attempts {
		if a.running {
			b.Broke(NothingLeft, "attempt %v of %s still runs", token, a.id)
		}
	}
	for id, t := range b.live {
		b.Broke(Progress, "%v is left (%s, at %d, cancel asked %v)", t, id, t.At, t.CancelAsked)
	}
	for id, l := range b.lives {
		if t := b.live[id]; t == nil && l.acked > 0 && !b.isFiled(id, l, l.acked) && l.n == 1 {
			b.Broke(NeverLost, "%s run %d is neither in the store nor in the archive", id, l.acked)
		}
	}
}
