package record

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/axsched/ax"
)

// Tag says what the items of a section are.
type Tag uint8

// The tags of version 1. The first seventeen are the fields of ax.Batch, in its order.
const (
	TagDelete    Tag = iota + 1 // ids
	TagFinish                   // moves of live tasks that ended and were filed
	TagFull                     // whole tasks that ended and were filed
	TagCreate                   // whole tasks
	TagMove                     // moves
	TagRemember                 // id records
	TagForget                   // ids
	TagAdmit                    // entry ids
	TagJob                      // job states
	TagDropJob                  // uids
	TagInstance                 // instances
	TagDropInst                 // ids
	TagReason                   // reasons
	TagDropWhy                  // names
	TagOutgoing                 // outgoing entries
	TagRelayed                  // entry ids
	TagFact                     // facts
	TagFiled                    // fact ids
	TagEntry                    // entries of an inbox
	TagDocument                 // documents
	_                           // unused
	TagArchived                 // facts that the archive has
	TagKeptEntry                // entries of an inbox with their place in its order
	TagKeptFact                 // facts not yet filed, likewise
	lastTag      = TagKeptFact
)

// Partition is the state of a partition that is not items.
type Partition struct {
	ID     ax.Partition
	Token  ax.Token // the floor
	Number uint64   // of the last batch
	Wrote  ax.Token // who wrote it
	Floor  ax.Time  // what Prune returned last
}

// Segment is what the first frame of a file says.
type Segment struct {
	Number     uint64
	Before     uint64  // the file before it, 0 for the first
	End        uint64  // where that one ended
	Durable    uint64  // up to where that one was durable for certain
	Oldest     uint64  // the first file that was still needed
	Era        uint32  // of this opening
	Partitions uint32  // how many there are, fixed at the creation of the store
	Made       ax.Time // by the wall clock
}

// Pruned are the arguments of an Archive.Prune.
type Pruned struct {
	Before ax.Time
	Keep   int64
}

// AppendEntry appends the body of an inbox entry; ReadEntry reads it back.
func AppendEntry(dst []byte, e *ax.Entry) []byte {
	dst = appendString(dst, e.ID)
	dst = appendString(dst, string(e.Verb))
	dst = append(dst, e.Version)
	dst = appendInt(dst, int64(e.Added))
	dst = appendString(dst, e.By)
	dst = appendString(dst, e.Target)
	dst = appendInt(dst, int64(e.Made))
	dst = append(dst, byte(e.Resolve))
	dst = appendBytes(dst, e.Body)
	var has byte
	if e.Task != nil {
		has |= 1
	}
	if e.Report != nil {
		has |= 2
	}
	dst = append(dst, has)
	if e.Task != nil {
		at := len(dst)
		dst = AppendTask(append(dst, 0, 0, 0, 0), e.Task)
		binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	if r := e.Report; r != nil {
		dst = appendString(dst, r.ID)
		dst = appendUint(appendToken(dst, r.Token.Token), r.Token.Claim)
		dst = appendString(dst, r.Executor)
		dst = append(dst, byte(r.Outcome))
		dst = appendInt(appendInt(dst, int64(r.Started)), int64(r.Ended))
		dst = appendInt(dst, int64(r.After))
		dst = appendBool(appendBool(dst, r.Never), r.Returned)
		dst = appendBytes(appendString(dst, r.Error), r.Result)
	}
	return dst
}

// ReadEntry reads the body of an inbox entry.
func ReadEntry(body []byte) (ax.Entry, error) {
	r := reader{b: body}
	e := r.entry()
	return e, r.end("an inbox entry")
}

func (r *reader) entry() ax.Entry {
	e := ax.Entry{ID: r.string(), Verb: ax.Verb(r.string()), Version: r.byte(), Added: r.time(), By: r.string(),
		Target: r.string(), Made: r.time(), Resolve: ax.Resolution(r.byte()), Body: r.bytes()}
	has := r.byte()
	if has&1 != 0 {
		t, err := ReadTask(r.take(int(r.u32())))
		if err != nil {
			r.fail()
			return e
		}
		e.Task = t
	}
	if has&2 != 0 {
		e.Report = &ax.Report{ID: r.string(), Token: ax.AttemptToken{Token: r.token(), Claim: r.uint()}, Executor: r.string(),
			Outcome: ax.Outcome(r.byte()), Started: r.time(), Ended: r.time(), After: time.Duration(r.int()),
			Never: r.bool(), Returned: r.bool(), Error: r.string(), Result: r.bytes()}
	}
	return e
}

// AppendKept appends a place in an order; the body of an entry or a fact follows. ReadKept takes it off again.
func AppendKept(dst []byte, serial uint64) []byte { return appendUint(dst, serial) }

// ReadKept reads the place in an order that AppendKept has put before a body, and returns the body.
func ReadKept(body []byte) (serial uint64, rest []byte, err error) {
	r := reader{b: body}
	serial = r.uint()
	if r.bad {
		err = fmt.Errorf("%w: a place in an order is malformed", ErrSum)
	}
	return serial, r.b, err
}

func appendRecord(dst []byte, k *ax.IDRecord) []byte {
	dst = appendString(dst, k.ID)
	dst = binary.LittleEndian.AppendUint64(dst, k.Hash)
	dst = append(dst, byte(k.State))
	dst = appendInt(dst, int64(k.Run))
	dst = appendInt(dst, int64(k.Ended))
	dst = appendInt(dst, int64(k.Until))
	return appendString(dst, k.Holder)
}

// ReadRecord reads the body of an id record.
func ReadRecord(body []byte) (*ax.IDRecord, error) {
	r := reader{b: body}
	k := &ax.IDRecord{ID: r.string(), Hash: r.u64(), State: ax.State(r.byte()), Run: r.int32(), Ended: r.time(), Until: r.time(), Holder: r.string()}
	return k, r.end("an id record")
}

func appendJob(dst []byte, j *ax.JobState) []byte {
	dst = appendString(dst, j.UID)
	dst = appendInt(dst, j.Revision)
	dst = appendInt(dst, int64(j.Cursor))
	dst = appendInt(dst, j.Runs)
	dst = appendBool(dst, j.Paused)
	return appendBytes(appendString(dst, j.Note), j.Body)
}

// ReadJob reads the body of a job state.
func ReadJob(body []byte) (ax.JobState, error) {
	r := reader{b: body}
	j := ax.JobState{UID: r.string(), Revision: r.int(), Cursor: r.time(), Runs: r.int(), Paused: r.bool(), Note: r.string(), Body: r.bytes()}
	return j, r.end("a job state")
}

func appendInstance(dst []byte, in *ax.Instance) []byte {
	dst = appendString(appendString(dst, in.ID), in.Job)
	dst = appendInt(dst, int64(in.Fire))
	dst = appendInt(dst, in.Revision)
	for _, n := range [...]int32{in.Total, in.Made, in.Ended, in.Failed} {
		dst = appendInt(dst, int64(n))
	}
	return appendBytes(append(dst, byte(in.State)), in.Plan)
}

// ReadInstance reads the body of an instance.
func ReadInstance(body []byte) (*ax.Instance, error) {
	r := reader{b: body}
	in := &ax.Instance{ID: r.string(), Job: r.string(), Fire: r.time(), Revision: r.int(), Total: r.int32(), Made: r.int32(),
		Ended: r.int32(), Failed: r.int32(), State: ax.State(r.byte()), Plan: r.bytes()}
	return in, r.end("an instance")
}

func appendReason(dst []byte, w *ax.Reason) []byte {
	dst = appendString(dst, w.Job)
	dst = appendInt(dst, w.Revision)
	dst = appendInt(appendInt(dst, int64(w.From)), int64(w.To))
	return appendString(appendInt(dst, w.Count), w.Code)
}

// ReadReason reads the body of a reason.
func ReadReason(body []byte) (ax.Reason, error) {
	r := reader{b: body}
	w := ax.Reason{Job: r.string(), Revision: r.int(), From: r.time(), To: r.time(), Count: r.int(), Code: r.string()}
	return w, r.end("a reason")
}

func appendOutgoing(dst []byte, o *ax.Outgoing) []byte {
	return AppendEntry(appendInt(dst, int64(o.To)), &o.Entry)
}

// ReadOutgoing reads the body of an outgoing entry.
func ReadOutgoing(body []byte) (ax.Outgoing, error) {
	r := reader{b: body}
	o := ax.Outgoing{To: ax.Partition(r.int32()), Entry: r.entry()}
	return o, r.end("an outgoing entry")
}

func appendFact(dst []byte, f *ax.Fact) []byte {
	dst = appendInt(appendString(dst, f.ID), int64(f.At))
	dst = appendInt(appendString(dst, f.Task), int64(f.Run))
	return appendString(appendString(appendString(dst, string(f.What)), f.By), f.Text)
}

// ReadFact reads the body of a fact.
func ReadFact(body []byte) (ax.Fact, error) {
	r := reader{b: body}
	f := ax.Fact{ID: r.string(), At: r.time(), Task: r.string(), Run: r.int32(), What: ax.FactKind(r.string()), By: r.string(), Text: r.string()}
	return f, r.end("a fact")
}

// AppendDocument appends the body of a revision of a document; ReadDocument reads it back.
func AppendDocument(dst []byte, d *ax.Document) []byte {
	dst = appendString(appendString(dst, d.Class), d.Name)
	dst = appendInt(appendInt(dst, d.Revision), int64(d.Changed))
	return appendBytes(appendBool(dst, d.Body != nil), d.Body)
}

// ReadDocument reads the body of a document. A body that is empty is not nil: nil means that the revision deleted it.
func ReadDocument(body []byte) (ax.Document, error) {
	r := reader{b: body}
	d := ax.Document{Class: r.string(), Name: r.string(), Revision: r.int(), Changed: r.time()}
	is := r.bool()
	if d.Body = r.bytes(); is && d.Body == nil {
		d.Body = []byte{}
	}
	return d, r.end("a document")
}

// AppendPartition appends the state of a partition, the preamble of KindOpen and KindPrune; ReadPartitionHead reads it back.
func AppendPartition(dst []byte, p Partition) []byte {
	dst = appendToken(appendInt(dst, int64(p.ID)), p.Token)
	return appendInt(appendToken(appendUint(dst, p.Number), p.Wrote), int64(p.Floor))
}

func (r *reader) partition() Partition {
	return Partition{ID: ax.Partition(r.int32()), Token: r.token(), Number: r.uint(), Wrote: r.token(), Floor: r.time()}
}

// AppendSegment appends the payload of KindSegment; ReadSegment reads it back.
func AppendSegment(dst []byte, s Segment) []byte {
	for _, n := range [...]uint64{s.Number, s.Before, s.End, s.Durable, s.Oldest, uint64(s.Era), uint64(s.Partitions)} {
		dst = appendUint(dst, n)
	}
	return appendInt(dst, int64(s.Made))
}

// ReadSegment reads the payload of KindSegment.
func ReadSegment(payload []byte) (Segment, error) {
	r := reader{b: payload}
	s := Segment{Number: r.uint(), Before: r.uint(), End: r.uint(), Durable: r.uint(), Oldest: r.uint(),
		Era: uint32(r.narrow(32)), Partitions: uint32(r.narrow(32)), Made: r.time()}
	return s, r.end("the head of a file")
}

// AppendPruned appends the payload of KindArchivePrune; ReadPruned reads it back.
func AppendPruned(dst []byte, p Pruned) []byte {
	return appendInt(appendInt(dst, int64(p.Before)), p.Keep)
}

// ReadPruned reads the payload of KindArchivePrune.
func ReadPruned(payload []byte) (Pruned, error) {
	r := reader{b: payload}
	p := Pruned{Before: r.time(), Keep: r.int()}
	return p, r.end("a prune of the archive")
}

// AppendDropped appends the payload of KindDrop, the number of the oldest file that is still needed; ReadDropped reads it
// back.
func AppendDropped(dst []byte, number uint64) []byte { return appendUint(dst, number) }

// ReadDropped reads the payload of KindDrop.
func ReadDropped(payload []byte) (uint64, error) {
	r := reader{b: payload}
	n := r.uint()
	return n, r.end("a drop")
}
