package ax

import "fmt"

// JobState is what moves in a job: a record of its partition, written only in the batch that creates a fire or records
// why there is none. The job's definition is a document of the Registry.
type JobState struct {
	UID      string
	Revision int64 // of the definition the cursor was computed from
	Cursor   Time  // every planned fire up to here has an instance or a reason
	Runs     int64 // instances created so far
	Paused   bool
	Note     string // why it is paused
	Body     []byte // what its schedule keeps, opaque to stores
}

// Instance is one firing of a job, the atom from which its shards are derived.
type Instance struct {
	ID       string // uid/@fire, uid/!request or uid/@fire~backfill
	Job      string
	Fire     Time
	Revision int64
	Total    int32 // shards
	Made     int32 // shards created so far
	Ended    int32
	Failed   int32
	State    State
	Plan     []byte // where the shards go, opaque to stores
}

// Reason says why planned fires of a job did not run: a range, so that a year of downtime is one record.
type Reason struct {
	Job      string
	Revision int64
	From, To Time // first and last planned fire of the range
	Count    int64
	Code     string // revised paused removed misfire overlap limit calendar ...
}

// Name identifies the range inside its partition and sorts by job, revision and time.
func (r Reason) Name() string {
	return fmt.Sprintf("%s/%019d/%019d/%s", r.Job, r.Revision, int64(r.From), r.Code)
}

// Outgoing is an entry for the inbox of another partition, written in the batch that causes it and relayed at least
// once; the entry's id makes the relay idempotent.
type Outgoing struct {
	To    Partition
	Entry Entry
}

// FireID returns the id of the instance of a job planned for an instant: the same wherever it is computed.
func FireID(uid string, fire Time) string {
	return uid + "/@" + fire.Time().Format("20060102T150405.000Z")
}

// ShardID returns the id of one shard of an instance.
func ShardID(instance string, index int32) string { return fmt.Sprintf("%s#%d", instance, index) }
