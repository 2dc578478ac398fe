package invariant

import (
	"maps"
	"slices"
)

// claimed judges that an attempt was made durable.
func (b *Book) claimed(old, t *Task) {
	b.Claims++
	l, token := b.lives[t.ID], t.Last.Token
	if had := b.highest[t.Key]; !had.Less(token) {
		b.Broke(TokensGrow, "%v is claimed under %v, its key has had %v", t, token, had)
	}
	if b.fresh[t.Key].Less(token) {
		b.fresh[t.Key] = token
	}
	if old != nil && open(old.State) {
		if t.Prev.Token != old.Last.Token {
			b.Broke(OneAttempt, "%v is claimed again as %v", old, t)
		}
		b.close(old, t.Prev)
	}
	for _, a := range b.attempts {
		if a.id == t.ID && a.running && !a.closed {
			b.Broke(OneAttempt, "%v is claimed, attempt %d of run %d still runs", t, a.n, a.run)
		}
	}
	if l.canceled >= t.Run {
		b.Broke(CancelHolds, "%v is claimed", t)
	}
	l.claims[t.Run]++
	if l.claims[t.Run] != t.Attempt {
		b.Broke(AttemptsBounded, "%v is claimed, it is the one with number %d that counts", t, l.claims[t.Run])
	}
	if t.Attempt > 1+t.Retries {
		b.Broke(AttemptsBounded, "%v is claimed, with %d retries allowed", t, t.Retries)
	}
	b.attempts[token] = &attempt{id: t.ID, executor: t.Last.Executor, run: t.Run, n: t.Attempt}
	if old == nil {
		b.count(&Task{}, t)
	}
}

// raise notes the tokens of a batch, and judges what is in use after it.
func (b *Book) raise() {
	maps.Copy(b.highest, b.fresh)
	for name, limit := range b.full {
		if n := len(b.keys[name]); n > limit {
			b.Broke(Limits, "%d tasks of %s are running or held, the limit is %d: %v", n, name, limit, slices.Sorted(maps.Keys(b.keys[name])))
		}
	}
}

// closed judges that the store left an attempt behind.
func (b *Book) closed(old, t *Task) {
	last := t.Last
	if last.Token != old.Last.Token { // and claimed the next one
		last = t.Prev
	}
	b.close(old, last)
	if t.State != Scheduled || last.Returned {
		return
	}
	b.retried(t, last)
	if last.Outcome == RanOut && !t.RetryOnTimeout {
		b.Broke(RetryPolicy, "%v is retried after a timeout, which it does not ask for", t)
	}
	if last.Outcome == Lost && old.State == Running && t.HoldLost {
		b.Broke(LostPolicy, "%v is retried, nobody knows whether its attempt runs, and it is to be held", t)
	}
}

// close judges the outcome the store has of an attempt.
func (b *Book) close(old *Task, last Attempt) {
	a, l := b.attempts[old.Last.Token], b.lives[old.ID]
	if a == nil || a.closed {
		b.Broke(SettledByReport, "%v is settled twice", old)
		return
	}
	a.closed = true
	if last.Returned {
		l.claims[a.run]--
	}
	switch last.Outcome {
	case Lost:
	case Interrupted:
		if a.running {
			b.Broke(OneAttempt, "%v is settled as interrupted, its handler runs", old)
		}
	case Ongoing:
		if old.State == Running {
			b.Broke(SettledByReport, "%v is settled without an outcome", old)
		}
	default:
		if !a.ended || a.killed {
			b.Broke(SettledByReport, "%v is settled as %d, its handler has not returned", old, last.Outcome)
			return
		}
		same := last.Outcome == a.outcome ||
			last.Outcome == RanOut && a.outcome != Succeeded || last.Outcome == GaveUp && a.outcome == Erred
		if !same {
			b.Broke(SettledByReport, "%v is settled as %d, its handler reported %d", old, last.Outcome, a.outcome)
		}
	}
}

// retried judges how long a retry waits.
func (b *Book) retried(t *Task, last Attempt) {
	wait := t.Cap
	if shift := last.N - 1; shift < 40 && t.Base <= t.Cap>>shift {
		wait = t.Base << shift
	}
	least, most := wait, wait+t.Jitter
	if t.Full {
		least, most = 1000, max(wait, 1000)
	}
	if a := b.attempts[last.Token]; a.after > 0 && last.Outcome == Erred { // the handler said when
		least, most = a.after, a.after
	}
	got := t.At - last.Settled
	if !t.Moved && (got < least || got > most+1) {
		b.Broke(RetryPolicy, "%v waits %d µs after attempt %d, its backoff is %d to %d", t, got, last.N, least, most)
	}
	if late := last.Ended - last.Settled; late > b.rules.Stale {
		b.Broke(RetryPolicy, "%v was settled %d µs before it ended, so that its retry is early", t, late)
	}
}

// onItsWay is how long a report may take to its owner, through an inbox that does not answer at once.
const onItsWay = 20_000_000

// held judges that an attempt is left to a person.
func (b *Book) held(t *Task) {
	if a := b.attempts[t.Last.Token]; a != nil && a.ended && !a.killed && !a.gone && b.Now-a.over > onItsWay {
		b.Broke(ReportArrives, "%v is held, its handler has returned and its process lives", t)
	}
}

// Gone notes that an executor's process has ended, or will be given up: what it holds is not heard of.
func (b *Book) Gone(executor string) {
	for _, a := range b.attempts {
		if a.executor == executor {
			a.gone = true
		}
	}
}

// Began judges that a handler starts. clock is its node's at the claim.
func (b *Book) Began(id string, run, n int, token Token) {
	b.Starts++
	a := b.attempts[token]
	if a == nil || a.id != id || a.run != run || a.n != n {
		b.Broke(ClaimFirst, "the handler of %s run %d attempt %d starts under %v, which no write has claimed", id, run, n, token)
		return
	}
	if a.running || a.ended {
		b.Broke(OneAttempt, "the handler of %s run %d attempt %d starts twice", id, run, n)
	}
	for other, o := range b.attempts {
		if o.id == id && o.running && !o.closed && !a.closed && other != token {
			b.Broke(OneAttempt, "the handler of %s starts as attempt %d of run %d while attempt %d of run %d runs", id, n, run, o.n, o.run)
		}
	}
	a.running = true
}

// Returned notes what a handler reported, or that it was refused before it began. after is the wait it asked for, or 0.
func (b *Book) Returned(token Token, o Outcome, after int64) {
	if a := b.attempts[token]; a != nil {
		a.running, a.ended, a.outcome, a.after, a.over = false, true, o, after, b.Now
	}
}

// Killed notes that the process of an attempt died: its handler does not run any more.
func (b *Book) Killed(token Token) {
	if a := b.attempts[token]; a != nil && !a.ended {
		a.running, a.ended, a.killed = false, true, true
	}
}

// Undone notes that a claim, which needed not be durable, went with the power; back is the task as it is again. Its process is
// dead, and the attempt does not count.
func (b *Book) Undone(token Token, back *Task) {
	a, was := b.attempts[token], b.live[back.ID]
	if a == nil || was == nil || was.Last.Token != token || a.closed {
		b.Broke(NeverLost, "the claim %v of %v went with the power, and more was told", token, back)
		return
	}
	a.running, a.ended, a.killed, a.closed = false, true, true, true
	b.lives[back.ID].claims[a.run]--
	b.live[back.ID] = back
	b.count(was, back)
}

// count keeps the number of attempts of limited keys and jobs.
func (b *Book) count(old, t *Task) {
	was, is := open(old.State), open(t.State)
	for _, of := range [2]struct {
		name  string
		limit Limit
	}{{"key " + t.Key, b.rules.key(t)}, {"job " + t.Job, b.rules.job(t)}} {
		if of.limit.Concurrent == 0 || was == is && old.ID != "" {
			continue
		}
		if b.keys[of.name] == nil {
			b.keys[of.name] = counter{}
		}
		if is {
			b.keys[of.name][t.ID] = true
			b.full[of.name] = of.limit.Concurrent
		} else {
			delete(b.keys[of.name], t.ID)
		}
	}
}
