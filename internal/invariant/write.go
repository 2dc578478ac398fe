package invariant

// Batch is what a store took in one piece.
type Batch struct {
	Partition int
	Token     Token // of the owner, Claim 0
	Delete    []string
	Finish    []*Task // ended, filed and gone at once
	Create    []*Task
	Move      []*Task
	Remember  []Record
	Admit     []string
}

// Wrote judges a batch that took effect.
func (b *Book) Wrote(w *Batch) {
	b.Writes++
	if w.Token != b.floors[w.Partition] {
		b.Broke(Fenced, "partition %d took a batch of %v, its owner is %v", w.Partition, w.Token, b.floors[w.Partition])
	}
	for _, id := range w.Admit {
		if !b.inbox[id] {
			b.Broke(AdmittedOnce, "%s was admitted and is not in the inbox", id)
		}
		delete(b.inbox, id)
	}
	remembered := map[string]bool{}
	b.full = map[string]int{}
	b.fresh = map[string]Token{} // claims in a batch stand in any order
	defer b.raise()
	for i := range w.Remember {
		remembered[w.Remember[i].ID] = true
	}
	for _, id := range w.Delete {
		b.deleted(id, remembered[id])
	}
	for _, t := range w.Finish {
		b.finished(t, remembered[t.ID])
	}
	for _, t := range w.Create {
		b.created(t)
	}
	for _, t := range w.Move {
		old := b.live[t.ID]
		if old == nil || old.Run != t.Run {
			b.Broke(LegalMoves, "a move of %v, the store holds %v", t, old)
			continue
		}
		b.moved(old, t)
	}
	for _, r := range w.Remember {
		if b.lives[r.ID] != nil && r.State != None && r.Until < r.Ended+b.rules.Window {
			b.Broke(Remembered, "%s is remembered for %d µs, it should be %d", r.ID, r.Until-r.Ended, b.rules.Window)
		}
		b.records[r.ID] = r
	}
}

// deleted judges that the store let go of a task.
func (b *Book) deleted(id string, remembered bool) {
	t := b.live[id]
	if t == nil {
		return
	}
	l := b.lives[id]
	switch {
	case !t.State.Terminal():
		b.Broke(NeverLost, "%v was deleted", t)
	case !b.isFiled(id, l, t.Run):
		b.Broke(NeverLost, "%v was deleted before the archive had it", t)
	case !remembered:
		b.Broke(Remembered, "%v was deleted and is not remembered", t)
	}
	delete(b.live, id)
}

// finished judges a task that ends and leaves in one piece.
func (b *Book) finished(t *Task, remembered bool) {
	if !t.State.Terminal() {
		b.Broke(NeverLost, "%v is filed", t)
	}
	if old := b.live[t.ID]; old == nil || old.State.Terminal() && old.Run != t.Run {
		b.created(t) // and canceled in the same batch
	} else {
		b.moved(old, t)
	}
	b.Filed(t.ID, t.Run, t.State)
	if !remembered {
		b.Broke(Remembered, "%v has left and is not remembered", t)
	}
	delete(b.live, t.ID)
}

// created judges a new task, or the next run of an old one.
func (b *Book) created(t *Task) {
	old, l := b.live[t.ID], b.lives[t.ID]
	if old != nil && !old.State.Terminal() {
		switch a := b.attempts[old.Last.Token]; {
		case old.State == Scheduled && t.Run == old.Run+1: // it was canceled in this very batch
			l.skipped = true
		case a == nil || !a.ended || a.killed:
			b.Broke(NeverLost, "%v takes the place of %v", t, old)
		default:
			a.closed, l.skipped = true, true
		}
		b.count(old, &Task{ID: old.ID, Key: old.Key, Job: old.Job})
	}
	if t.State != Scheduled && t.State != Running && t.State != Created && t.State != Canceled {
		b.Broke(LegalMoves, "%v is created in this state", t)
	}
	switch {
	case l != nil && l.hash == t.Hash && t.Run > 1 && (l.end[t.Run-1] != None || l.skipped): // the next run
		if l.end[t.Run] != None || l.claims[t.Run] > 0 {
			b.Broke(TerminalStays, "%v is opened again", t)
		}
	default:
		n := 1
		if l != nil {
			n = l.n + 1
			b.again(t, l)
		}
		// Of another submission than the run before, which may have come and gone in this very batch.
		skipped := t.Run > 1 && (l == nil || l.end[t.Run-1] == None)
		l = &life{before: l, n: n, hash: t.Hash, skipped: skipped, end: map[int]State{}, claims: map[int]int{}}
		b.lives[t.ID] = l
	}
	b.takeName(t)
	b.live[t.ID] = t
	if t.State == Running {
		b.claimed(nil, t)
	}
	if t.State == Canceled {
		b.ended(t)
	}
}

// again judges that an id comes to life once more.
func (b *Book) again(t *Task, l *life) {
	r, known := b.records[t.ID]
	if old := b.live[t.ID]; old != nil {
		r, known = Record{ID: t.ID, State: old.State, Until: 1 << 62}, true
		if t.ByID && old.State != Success {
			known = false
		}
	}
	sure := b.rules.Remember == 0 || b.rules.Remember > 1000
	if known && r.State != None && !(t.ByID && r.State > Success) && t.Created < r.Until && b.maxWall < r.Until && sure {
		b.Broke(Remembered, "%v is created, a task of this id ended %v and is to be remembered until %d, now %d", t, r.State, r.Until, t.Created)
	}
	delete(b.records, t.ID)
}

// takeName judges uniqueness by content.
func (b *Book) takeName(t *Task) {
	if t.Name == "" || t.State == Canceled {
		return
	}
	holder, taken := b.names[t.Name]
	if taken && holder.id != t.ID && t.Run == 1 {
		sure := b.rules.Remember == 0 || b.rules.Remember > 1000
		if holder.until == 0 {
			b.Broke(UniqueWindow, "%v is created while %s holds its name", t, holder.id)
		} else if t.Created < holder.until && b.maxWall < holder.until && sure {
			b.Broke(UniqueWindow, "%v is created, %s closed its window until %d, now %d", t, holder.id, holder.until, t.Created)
		}
	}
	if !taken || holder.until != 0 || holder.id == t.ID {
		b.names[t.Name] = nameTask{id: t.ID}
	}
}

// moved judges one step of a task.
func (b *Book) moved(old, t *Task) {
	legal := false
	for _, s := range moves[old.State] {
		legal = legal || s == t.State
	}
	// One batch may hold several steps: what counts is that there is a way.
	if !legal && !(old.State == Scheduled && b.attempts[t.Last.Token] == nil && t.Last.Token != old.Last.Token) {
		if old.State.Terminal() {
			b.Broke(TerminalStays, "%v becomes %v", old, t)
		}
		b.Broke(LegalMoves, "%v becomes %v", old, t)
	}
	if t.Last.Token != old.Last.Token {
		b.claimed(old, t)
	}
	if open(old.State) && old.Last.Token != t.Last.Token && t.State != Running {
		b.Broke(LegalMoves, "%v becomes %v", old, t)
	}
	if open(old.State) && !open(t.State) {
		b.closed(old, t)
	}
	if old.State == Running && t.State == Held {
		b.held(t)
	}
	if t.State == Held && b.rules.Exclusive {
		b.Broke(LostPolicy, "%v is held, and all processes but one are provably dead", t)
	}
	b.live[t.ID] = t
	if t.State.Terminal() {
		b.ended(t)
	}
	b.count(old, t)
}

func open(s State) bool { return s == Running || s == Held }

// apart is by how much wall clocks that were never stepped may differ, in microseconds.
const apart = 300_000

// ended notes how a run ended.
func (b *Book) ended(t *Task) {
	l := b.lives[t.ID]
	if was := l.end[t.Run]; was != None && was != t.State {
		b.Broke(TerminalStays, "%v ended as %v before", t, was)
	}
	l.end[t.Run] = t.State
	if l.born != 0 && t.At > l.born+apart && !(t.ByID && t.State > Success) {
		b.ripe[t.ID] = l.born
	}
	if t.Name == "" {
		return
	}
	if h := b.names[t.Name]; h.id == t.ID && h.until == 0 {
		delete(b.names, t.Name)
		if t.State == Success && t.Created+t.Window > t.At {
			b.names[t.Name] = nameTask{t.ID, t.Created + t.Window}
		}
	}
}
