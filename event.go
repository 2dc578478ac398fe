package ax

// Fact is one event in the life of a task or a job that its fields do not keep: who asked for what, what was refused,
// what was found.
type Fact struct {
	ID   string // unique: the partition's batch number and a counter, or the entry's id
	At   Time
	Task string // or the job
	Run  int32
	What FactKind
	By   string // who caused it
	Text string // at most 1 KiB
}

// FactKind names what happened.
type FactKind string

// The facts.
const (
	FactCancel     FactKind = "cancel"     // a cancel was asked for
	FactReschedule FactKind = "reschedule" // its due time was moved
	FactRunNow     FactKind = "run-now"    // a person wanted it now
	FactRerun      FactKind = "rerun"      // the next run was opened
	FactResolve    FactKind = "resolve"    // a person decided on a HELD attempt
	FactStale      FactKind = "stale"      // a report came that was not the current attempt's
	FactLost       FactKind = "lost"       // an attempt's fate became unknown
	FactReturned   FactKind = "returned"   // an attempt was handed back unfinished
	FactAnomaly    FactKind = "anomaly"    // something that the transition table forbids was asked for
	FactVerb       FactKind = "verb"       // an entry with a verb this version does not know
)
