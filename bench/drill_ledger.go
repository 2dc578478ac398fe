package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/axsched/ax"
)

// What a worker tells, one line each; times are of the wall clock, in microseconds:
//
//	submit ID DUE              about to submit it
//	ack ID                     the submit has returned Made or Known
//	start ID TOKEN NOW         the first line of its handler
//	ended ID STATE             ax told the listener
//	held ID                    likewise
//	found ID STATE             what ax has in the end, of all tasks
//	drained                    nothing is pending, and all was told

// drillLedger is what the parent knows: which tasks were asked for, and what their handlers told.
type drillLedger struct {
	tasks    map[string]*drillTask
	attempts int
	drained  bool
	poison   int
	tally    tally
	wrong    []string // at most wrongMost lines, and how many more there were
	more     int
}

// drillTask is one task.
type drillTask struct {
	due      int64
	acked    bool
	answered bool // or known to have ended: not to be submitted again
	starts   int
	token    string   // of the newest attempt
	ended    ax.State // that ax told of; 0: none yet
	found    ax.State // in the end; 0: nothing
}

const wrongMost = 30

func newDrillLedger() *drillLedger { return &drillLedger{tasks: map[string]*drillTask{}} }

func (l *drillLedger) bad(format string, args ...any) {
	if len(l.wrong) == wrongMost {
		l.more++
		return
	}
	l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
}

// hear notes a line. A line that was cut off by a kill is no line: writes of a line are whole or not at all.
func (l *drillLedger) hear(line string) {
	var what, id, word string
	var at int64
	fmt.Sscan(line, &what, &id, &word)
	if what == "drained" {
		l.drained = true
		return
	}
	if what == "submit" {
		if l.tasks[id] == nil {
			l.tasks[id] = new(drillTask)
		}
		fmt.Sscan(word, &l.tasks[id].due)
		return
	}
	t := l.tasks[id]
	if t == nil {
		l.bad("%q: nobody submitted that", line)
		return
	}
	switch what {
	case "ack":
		t.acked, t.answered = true, true
	case "start":
		fmt.Sscan(line, &what, &id, &word, &at)
		l.start(t, id, word, at)
	case "held":
		l.bad("%s was held: its process is dead, which ax can know", id)
	case "ended":
		t.answered = true
		l.end(t, id, &t.ended, word)
	case "found":
		l.end(t, id, &t.found, word)
		if t.ended != 0 && t.ended != t.found {
			l.bad("%s had ended %v, and is %v now", id, t.ended, t.found)
		}
	default:
		l.bad("%q: not understood", line)
	}
}

func (l *drillLedger) start(t *drillTask, id, token string, now int64) {
	l.attempts++
	t.starts++
	if now < t.due {
		l.tally.early++
		l.bad("%s started %d µs early", id, t.due-now)
	}
	if t.ended != 0 {
		l.bad("%s started again after it had ended %v", id, t.ended)
	}
	if token <= t.token {
		l.bad("%s: token %s of an attempt is not above %s of the one before", id, token, t.token)
	}
	t.token = token
	if isPoison(id) && t.starts > poisonAttempts {
		l.bad("%s killed its process for the %d. time, %d are allowed", id, t.starts, poisonAttempts)
	}
}

// end notes a state where one is told for the first time, or must be the same.
func (l *drillLedger) end(t *drillTask, id string, known *ax.State, word string) {
	var s ax.State
	if err := s.UnmarshalText([]byte(word)); err != nil {
		l.bad("%s: %v", id, err)
		return
	}
	if *known != 0 && *known != s {
		l.bad("%s was told to be %v, and then %v", id, *known, s)
	}
	*known = s
}

// unanswered returns the submissions that nobody knows the answer of.
func (l *drillLedger) unanswered() (again []drillAgain) {
	for _, id := range slices.Sorted(maps.Keys(l.tasks)) {
		if t := l.tasks[id]; !t.answered && t.starts == 0 {
			again = append(again, drillAgain{id, t.due})
		}
	}
	return again
}

// settle judges every task, once all have ended: by what was asked and found, and by how many effects it had.
func (l *drillLedger) settle(effects map[string]int) {
	for id := range effects {
		if l.tasks[id] == nil {
			l.bad("%s had an effect: nobody submitted that", id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(l.tasks)) {
		t := l.tasks[id]
		if t.found == 0 && !t.acked && t.starts == 0 && effects[id] == 0 {
			continue // killed before it was safe, which nobody was told of
		}
		l.tally.submitted++
		l.judge(t, id, effects[id])
	}
	if l.more > 0 {
		l.wrong = append(l.wrong, fmt.Sprintf("and %d more", l.more))
	}
}

func (l *drillLedger) judge(t *drillTask, id string, effects int) {
	l.tally.duplicates += max(effects-1, 0)
	want, wantEffects := ax.Success, 1
	if isPoison(id) {
		l.poison++
		want, wantEffects = ax.Failed, 0
	}
	if effects != wantEffects {
		l.bad("%s had %d effects after %d attempts, want %d", id, effects, t.starts, wantEffects)
	}
	switch {
	case t.found == ax.Success:
		l.tally.succeeded++
	case t.found == ax.Held:
		l.tally.held++
	case t.found.Terminal():
		l.tally.failed++
	default:
		l.tally.lost++
		l.tally.pending++
	}
	found := "nothing"
	if t.found != 0 {
		found = t.found.String()
	}
	if t.found != want {
		l.bad("%s: found %s in the end, want %v: acknowledged %v, %d attempts", id, found, want, t.acked, t.starts)
	}
}

// poisonID is what ids of tasks that kill their process begin with.
const poisonID = "poison-"

func isPoison(id string) bool { return strings.HasPrefix(id, poisonID) }
