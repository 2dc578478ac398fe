package ax

import (
	"context"
	"time"
)

// Partition is a slice of the key space, from 0. Exactly one node owns it at a time.
type Partition int32

// Store is the live truth about tasks: one writer per partition, the owner, who changes tasks with Apply under its
// token; everybody else may only add to the partition's inbox with Submit. All methods are safe for concurrent use.
// Slices handed in belong to the caller again when the method returns; the *Task, *IDRecord, *Instance and other values that
// they point to are immutable and may be kept. What a method returns is the caller's, but for those same values.
//
// Errors: ErrClosed from every method after Close; context errors where nothing was written; ErrUnknown where a write
// may or may not have happened; ErrInvalid for a partition that does not exist, for a cursor that is none, and for a batch
// that its owner should not have written. A zero Token is nobody's: ErrFenced.
//
// Optional capabilities, found by type assertion: InboxWatcher, Finisher, Pipeliner, Roomer, Exclusive.
type Store interface {
	// Submit adds entries to the inbox of a partition, in one durable write, without a token. Idempotent by Entry.ID: an
	// entry that is in the inbox, or was admitted inside the dedupe window, is not added again. Answers come one per
	// entry, in order. A VerbSubmit entry is answered Known or Conflict if the store can tell from the live tasks, the
	// id records and the inbox, otherwise Accepted: then the owner decides at admission; so it does for a task
	// unique ByID whose id ended FAILED, TIMEOUT or CANCELED. Two entries of one id in one call count as one after the
	// other. Other verbs are answered Accepted, or Known if the entry was seen before. ErrNoSpace and ErrFull refuse all.
	Submit(ctx context.Context, p Partition, entries []Entry) ([]Answer, error)

	// Open makes token the owner of the partition. It raises the floor first and reads after, so that what Scan returns
	// from then on includes every batch an older token got in, and no older token gets another one in. ErrFenced if a
	// higher token has opened the partition. Opening again with the same token is allowed and settles an unknown
	// outcome: Opened.Number is the last batch that was applied.
	Open(ctx context.Context, p Partition, token Token) (Opened, error)

	// Scan reads one page of an index of a partition; req.Token must be the one that opened it last, or ErrFenced.
	// Pages follow each other by req.From = Page.Next until Next is "". What Apply changes during a walk may or may not
	// be seen; everything else is seen exactly once. An item is as it stands when its page is read, and is in the index then.
	// A page may be asked for again, with the same From; a page may be empty and have a Next all the same.
	Scan(ctx context.Context, req ScanRequest) (Page, error)

	// Apply writes batches, each of one partition, each all or nothing. It returns one error per batch, nil for those
	// applied: ErrFenced for a token that is not the owner's, ErrGap for a number that is not the last plus one (a
	// repeat of the last number under the same token is answered nil again and changes nothing), ErrInvalid for a Move
	// of a task that is not live, ErrNoSpace, ErrUnknown. A refused batch uses up no number.
	// After a failure in a partition, every later batch of that partition in the call is refused with ErrGap.
	Apply(ctx context.Context, batches []*Batch) []error

	// Get returns a live task by id, without Open, from any process, or ErrNoTask.
	Get(ctx context.Context, id string) (*Task, error)

	// Prune forgets id records of a partition whose Until is before now, and the oldest beyond keep by Ended, under
	// the owner's token (ErrFenced). It returns the floor: submissions with a Made before it are too old to be told from
	// repeats. The floor never falls. It lies above the Ended of every forgotten record of a task (State not 0), and not
	// above the newest of those by more than a microsecond.
	Prune(ctx context.Context, p Partition, token Token, now Time, keep int) (floor Time, err error)

	// Close releases the store. Calls in flight end, with ErrClosed or their result. Closing twice is allowed. A Registry
	// of the same system may end with it.
	Close() error
}

// InboxWatcher is an optional capability of a Store: the channel receives after entries were added to the inbox of a
// partition, and at first if some wait already; several additions may be one receive. It may be closed once ctx ends,
// and not before. Without it the owner polls. It is a hint: the owner also polls, seldom, beside it.
type InboxWatcher interface {
	WatchInbox(ctx context.Context, p Partition) (<-chan struct{}, error)
}

// Opened is what Open found.
type Opened struct {
	Number uint64 // of the last batch applied to the partition, by whatever owner; 0 for a new one
	Floor  Time   // as Prune returns it; 0 if nothing was forgotten yet
}

// Durability says what a batch must survive before Apply returns.
type Durability uint8

// Durable batches survive power loss. Written ones survive the process; a backend without the difference treats them as
// Durable. A Durable batch makes every batch before it durable too.
const (
	Durable Durability = iota
	Written
)

// Finisher is an optional capability of a Store: its archive is a part of it, so that a task can end, be filed and
// leave the live ones in one batch (Batch.Finish). Without it a task that has ended stays live, in IndexEnded, until a
// later batch deletes it, once the Archive has it.
type Finisher interface {
	Archive() Archive
}

// Pipeliner is an optional capability of a Store that lives in this process: batches may follow each other without waiting
// for the disk in between.
type Pipeliner interface {
	// Begin is Apply without the wait. It checks the batches and takes them up before it returns, and they are seen by
	// every later call; it waits for no disk, and is to be called from one goroutine at a time. done is called once, with
	// one error per batch as Apply returns them, when every batch that was taken up is as durable as it asks: by Begin
	// itself, or later from a goroutine of the store, which it must not hold up. Calls whose batches ask for the same
	// durability are done in the order of their Begin. The batches are the caller's again when Begin returns.
	Begin(batches []*Batch, done func(errs []error))
}

// Roomer is an optional capability of a Store: it can tell that it is running out of room before it has.
type Roomer interface {
	// Room returns nil, or an error with ErrNoSpace as long as submissions, and batches that create tasks, are refused for
	// want of room. It costs next to nothing.
	Room() error
}

// Exclusive is an optional capability of a Store that one process at a time can have open.
type Exclusive interface {
	// Era returns the era of this opening: whoever holds a token of an earlier era is provably dead. All tokens of the
	// Registry of the same system are of this era.
	Era() uint32
}

// Batch is one atomic change of one partition. Numbers follow each other without a gap over all owners: the first
// batch after Open carries Opened.Number + 1. Order inside a batch: deletes, finishes, creates, moves, then the rest as
// the fields stand; no id stands twice in the same list. Removing what is not there is passed over, in every list.
//
// That a transition is legal is the owner's to know; a store does not look. It refuses one thing, with ErrInvalid: a batch
// that moves a task which is not live.
type Batch struct {
	Partition  Partition
	Token      Token
	Number     uint64
	Durability Durability

	Delete   []string    // live tasks to remove
	Finish   []*Task     // for a Finisher: ended; to be filed, and live no longer if they were
	Create   []*Task     // new live tasks; one of that id that is there is replaced, whatever its state: by its next run
	Move     []*Task     // live tasks with new values in the fields from State on, and Due
	Remember []*IDRecord // what stays known of ids; replaces an earlier record of the same id
	Forget   []string    // id records that no longer hold: a unique window that opened early
	Admit    []string    // inbox entries taken in, by Entry.ID; they leave the inbox and stay known, see AdmitWindow

	Jobs      []JobState  // cursors and switches, written whole
	DropJobs  []string    // job states removed, by uid
	Instances []*Instance // instance records, written whole
	DropInst  []string    // instance records removed, by id
	Reasons   []Reason    // why planned fires did not run, written whole; one that continues a range has its From, thus its Name, and replaces it
	DropWhy   []string    // reason ranges removed, by Reason.Name
	Outgoing  []Outgoing  // entries for the inboxes of other partitions, kept until relayed
	Relayed   []string    // outgoing entries that reached their inbox, by Entry.ID
	Facts     []Fact      // events of the timelines, kept until the Archive has them
	Filed     []string    // facts the Archive has, by Fact.ID
}

// Empty reports whether the batch would change nothing.
func (b *Batch) Empty() bool {
	return len(b.Delete)+len(b.Finish)+len(b.Create)+len(b.Move)+len(b.Remember)+len(b.Forget)+len(b.Admit)+len(b.Jobs)+
		len(b.DropJobs)+len(b.Instances)+len(b.DropInst)+len(b.Reasons)+len(b.DropWhy)+len(b.Outgoing)+
		len(b.Relayed)+len(b.Facts)+len(b.Filed) == 0
}

// AdmitWindow is how long after Entry.Added an admitted entry stays known at least, if its batch does not say (Remember):
// the store then keeps IDRecord{ID, Ended: Added, Until: Added + AdmitWindow}, unless there is a record of that id. A
// VerbSubmit entry gets none: it is known by its task, or was refused and may come again.
const AdmitWindow = time.Hour

// IDRecord is what stays known of an id, or of a unique name, after its task has left the live ones. A *IDRecord is
// immutable from the moment it is handed to a Store.
type IDRecord struct {
	ID     string
	Hash   uint64 // of the submission
	State  State  // how the task ended; 0 for an entry or a unique name
	Run    int32
	Ended  Time
	Until  Time   // to be forgotten after
	Holder string // for a unique name: the task that holds the window
}

// Index names what Scan walks over.
type Index uint8

// The indexes of a partition, and their order.
const (
	IndexDue       Index = iota + 1 // tasks SCHEDULED, by At; those of one At in an order of the store's
	IndexWaiting                    // tasks CREATED, in an order of the store's, as the next three
	IndexRunning                    // tasks RUNNING
	IndexHeld                       // tasks HELD
	IndexEnded                      // terminal tasks not yet deleted
	IndexInbox                      // entries, in the order they were added
	IndexIDs                        // id records, by Ended, then id
	IndexJobs                       // job states, by uid
	IndexInstances                  // instance records, by id
	IndexReasons                    // reason ranges, by Reason.Name
	IndexOutgoing                   // outgoing entries, by entry id
	IndexFacts                      // facts not yet filed, in the order they were written
)

// ScanRequest asks for one page. Limit is the most items it holds; 0 means 1000. After and To, where not 0, bound a walk
// of IndexDue: After < At <= To.
type ScanRequest struct {
	Partition Partition
	Token     Token
	Index     Index
	From      string // "" for the first page, then Page.Next
	After     Time
	To        Time
	Limit     int
}

// Page is one page of an index; only the slice that belongs to the index is set.
type Page struct {
	Tasks     []*Task
	Entries   []Entry
	IDs       []*IDRecord
	Jobs      []JobState
	Instances []*Instance
	Reasons   []Reason
	Outgoing  []Outgoing
	Facts     []Fact
	Next      string // opaque; "" when this was the last page
}

// Verb is what an inbox entry asks the owner to do. The set is open: an owner that does not know a verb keeps the
// entry and shows it.
type Verb string

// The verbs of version 1.
const (
	VerbSubmit     Verb = "submit"     // Task
	VerbCancel     Verb = "cancel"     // Target
	VerbReschedule Verb = "reschedule" // Target, Task.Due At BootAt Boot
	VerbRun        Verb = "run"        // Target: now, whatever its due time
	VerbRerun      Verb = "rerun"      // Task: the finished one, with its Run
	VerbResolve    Verb = "resolve"    // Target, Resolve, Report.Token: a person's decision on a HELD task
	VerbReport     Verb = "report"     // Report
	VerbPause      Verb = "pause"      // Target: a job
	VerbResume     Verb = "resume"     // Target: a job
	VerbBackfill   Verb = "backfill"   // Target: a job, Body
	VerbFollowUp   Verb = "follow-up"  // Target: a job, Body
)

// Entry is one request in a partition's inbox.
type Entry struct {
	ID      string // of the request; for VerbSubmit the task's id
	Verb    Verb
	Version uint8
	Added   Time   // by the wall clock of who added it
	By      string // the person or process that asks
	Target  string
	Task    *Task      `json:",omitzero"`
	Made    Time       `json:",omitzero"` // when the id of a submission was made
	Resolve Resolution `json:",omitzero"`
	Report  *Report    `json:",omitzero"`
	Body    []byte     `json:",omitzero"`
}

// Resolution is a person's decision on a HELD task.
type Resolution uint8

// The decisions: it did succeed; it did not, try again by the policy; it did not, and is not to be tried again.
const (
	ResolveSuccess Resolution = iota + 1
	ResolveRetry
	ResolveFail
)

// Report is how an attempt ended, from whoever ran it. It is matched by id and token: one that is not the current
// attempt's is stale, and only recorded.
type Report struct {
	ID       string
	Token    AttemptToken
	Executor string
	Outcome  Outcome
	Started  Time // zero: never started, the attempt does not count
	Ended    Time
	After    time.Duration // retry after this instead of the backoff, if positive
	Never    bool          // do not retry
	Returned bool          // handed back by a shutdown: does not count, and is due again at once
	Error    string
	Result   []byte
}

// Answer is what becomes of one entry.
type Answer struct {
	Code  Code
	ID    string // the task concerned: for Known by a unique window, the one that holds it
	State State  // its state, where known
	Run   int32
	Err   error // why it was refused, with Code Refused
}

// Code is the kind of an answer.
type Code uint8

// The codes. Only Made and Done say that the entry had an effect.
const (
	Accepted Code = iota + 1 // durable in the inbox, not yet admitted
	Made                     // the task was created
	Known                    // the same submission is here, or was; State and Run say how it stands
	Conflict                 // the id belongs to another submission
	Expired                  // too old to be told from a repeat; not created
	Done                     // the change was made
	Refused                  // Err says why
)

// String names the code as APIs show it.
func (c Code) String() string {
	n, _ := name("\x00unanswered\x00accepted\x00created\x00known\x00conflict\x00expired\x00done\x00refused\x00", int(c))
	return n
}
