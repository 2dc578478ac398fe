package invariant

import "fmt"

// Book keeps what is known and finds the first violation. Make it with New. It belongs to one goroutine.
type Book struct {
	rules Rules
	bad   *Violation

	live     map[string]*Task    // as the store last took them
	lives    map[string]*life    // of every id that was ever created
	attempts map[Token]*attempt  // every one that was claimed
	highest  map[string]Token    // by key
	ripe     map[string]int64    // ids that ended well after they were made, and when that was
	fresh    map[string]Token    // by key: the highest claimed by the batch that is judged
	full     map[string]int      // limits of the keys and jobs that the batch takes more of
	floors   map[int]Token       // by partition: the highest token that opened it
	inbox    map[string]bool     // entries waiting in the store
	records  map[string]Record   // ids that the store remembers
	names    map[string]nameTask // unique names
	keys     map[string]counter  // running and held tasks by key and job, of those that are limited
	calls    map[int]*callState
	filed    map[string]State   // by id, life and run
	rates    map[string][]int64 // instants of claims
	maxWall  int64              // the highest wall clock any node has read

	Now int64 // true time, as far as the caller knows it

	Starts, Claims, Writes, Answers int // what was checked, for the report
}

// life is one existence of an id, from its creation to when it is forgotten.
type life struct {
	before   *life
	n        int // 1 for the first
	hash     uint64
	born     int64 // when the caller made the id, 0 if it did not say
	acked    int   // the highest run that a caller was told of
	canceled int   // the run whose cancel was acknowledged
	end      map[int]State
	skipped  bool        // a run ended and the next began in one batch: the store never showed its end
	claims   map[int]int // that count, by run
}

// attempt is one try, from its claim.
type attempt struct {
	id, executor string
	run, n       int
	running      bool // its handler has begun and not ended
	ended        bool // its handler has returned, or will never begin
	killed       bool // its process died
	outcome      Outcome
	after        int64 // the wait its handler asked for
	closed       bool  // the store has its outcome
	gone         bool  // its process is given up
	over         int64 // when it ended, by Now
}

type nameTask struct {
	id    string
	until int64 // 0 while its task lives
}

type counter map[string]bool

type callState struct{ answers int }

// Record is what a store remembers of an id.
type Record struct {
	ID           string
	Hash         uint64
	State        State
	Run          int
	Ended, Until int64
}

// New returns an empty Book.
func New(rules Rules) *Book {
	return &Book{rules: rules, live: map[string]*Task{}, lives: map[string]*life{}, attempts: map[Token]*attempt{},
		highest: map[string]Token{}, floors: map[int]Token{}, inbox: map[string]bool{}, records: map[string]Record{},
		names: map[string]nameTask{}, keys: map[string]counter{}, calls: map[int]*callState{}, filed: map[string]State{}, rates: map[string][]int64{}, ripe: map[string]int64{}}
}

// Violation returns the first broken law, or nil.
func (b *Book) Violation() *Violation { return b.bad }

// Broke notes a violation.
func (b *Book) Broke(l Law, format string, args ...any) {
	if b.bad == nil {
		b.bad = &Violation{l, fmt.Sprintf(format, args...)}
	}
}

// Saw notes a wall clock, for laws that hold only until some clock has passed an instant.
func (b *Book) Saw(wall int64) { b.maxWall = max(b.maxWall, wall) }

// Opened notes that a token opened a partition.
func (b *Book) Opened(p int, t Token) {
	t.Claim = 0
	if t.Less(b.floors[p]) {
		b.Broke(Fenced, "partition %d was opened by %v after %v", p, t, b.floors[p])
		return
	}
	b.floors[p] = t
}

// Inboxed notes that an entry is in the store's inbox.
func (b *Book) Inboxed(id string) { b.inbox[id] = true }

// Each calls f with every live task, in no particular order.
func (b *Book) Each(f func(*Task)) {
	for _, t := range b.live {
		f(t)
	}
}

// Waiting returns how many entries wait in inboxes.
func (b *Book) Waiting() int { return len(b.inbox) }

// Stored compares what the store shows of an id with what it was given; got is nil if it shows nothing.
func (b *Book) Stored(id string, got *Task) {
	want := b.live[id]
	switch {
	case want == nil && got == nil:
	case want == nil:
		b.Broke(NeverLost, "the store shows %v, which was deleted", got)
	case got == nil:
		b.Broke(NeverLost, "the store shows nothing of %v", want)
	case got.Run != want.Run || got.State != want.State || got.Attempt != want.Attempt || got.Last.Token != want.Last.Token || got.At != want.At:
		b.Broke(NeverLost, "the store shows %v, it was given %v", got, want)
	}
}

// Filed notes that the archive has a run.
func (b *Book) Filed(id string, run int, s State) {
	l := b.lives[id]
	if l == nil {
		b.Broke(TerminalStays, "%s run %d was archived as %v and never created", id, run, s)
		return
	}
	if l.end[run] == s {
		b.filed[fmt.Sprint(id, "/", l.n, "/", run)] = s
		return
	}
	if l.end[run] == None && l.skipped {
		l.end[run] = s
		return
	}
	if l.n == 1 { // of a later life it may be the one before, filed late
		b.Broke(TerminalStays, "%s run %d was archived as %v and ended as %v", id, run, s, l.end[run])
	}
}

func (b *Book) isFiled(id string, l *life, run int) bool {
	_, ok := b.filed[fmt.Sprint(id, "/", l.n, "/", run)]
	return ok
}

// Floor returns the highest token that opened a partition.
func (b *Book) Floor(p int) Token { return b.floors[p] }

// IsLast reports whether a run is the last of an id's present life.
func (b *Book) IsLast(id string, hash uint64, run int) bool {
	l := b.lives[id]
	return l != nil && l.hash == hash && l.end[run] != None && l.end[run+1] == None
}
