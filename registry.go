package ax

import (
	"context"
	"time"
)

// Registry knows who is alive, who owns what, and the documents that define jobs. All methods are safe for concurrent
// use; ErrUnknown means that a change may or may not have happened.
//
// A lease is identified by class and name: "node"/id, "partition"/number, "executor"/id. Its token is granted when it
// is acquired, grows with every grant of any lease, and stays through renewals; for an executor it is the epoch. A
// holder may trust a lease for TTL counted from the start of the request that granted or renewed it, less a margin of
// its own; the registry lets it go only after TTL has passed since it answered.
type Registry interface {
	// Acquire grants a lease that is free or expired. ErrHeld if another holder has it, or if the same holder has it under
	// a token it did not release: a process that restarts waits for its own old lease, unless it can show the old
	// process is dead.
	Acquire(ctx context.Context, class, name, holder string, ttl time.Duration, data []byte) (Lease, error)

	// Renew extends a lease by its TTL from now and replaces its data. ErrLeaseLost if it expired or was granted to
	// another.
	Renew(ctx context.Context, l Lease) error

	// Release ends a lease at once. Nil also if it was lost.
	Release(ctx context.Context, l Lease) error

	// Leases lists the live leases of a class, by name.
	Leases(ctx context.Context, class string) ([]Lease, error)

	// Put writes a document if its present revision is rev (0: it must not exist), and returns the new revision, higher
	// than any before in the registry. A nil body deletes it; its history stays. ErrRevision otherwise.
	Put(ctx context.Context, class, name string, rev int64, body []byte) (int64, error)

	// Document returns a document: its present revision, or an earlier one if rev is not 0. ErrNoDoc.
	Document(ctx context.Context, class, name string, rev int64) (Document, error)

	// Documents lists the documents of a class by name, from the first name above after, at most limit (0: 1000), without
	// deleted ones; with a name it lists the revisions of that document, newest first, deleted ones included.
	Documents(ctx context.Context, class, name, after string, limit int) ([]Document, error)

	// Watch sends the name of every class in which a lease or a document changed, until ctx ends, and then closes the
	// channel. Changes of one class may coalesce; none is dropped. It is a hint to read again. A renewal that leaves the data
	// as they are is no change; that a lease ran out may come late, when somebody asks for it.
	Watch(ctx context.Context) (<-chan string, error)
}

// Lease is time-bound ownership.
type Lease struct {
	Class, Name string
	Holder      string
	Token       Token
	TTL         time.Duration
	Data        []byte
}

// Document is one revision of a named document.
type Document struct {
	Class, Name string
	Revision    int64
	Body        []byte // nil: this revision deleted it
	Changed     Time
}
