package record

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"

	"github.com/axsched/ax"
)

// AppendTask appends the body of a whole task.
func AppendTask(dst []byte, t *ax.Task) []byte {
	start := len(dst)
	dst = appendStatus(dst, t)
	dst = appendString(dst, t.Kind)
	dst = appendBytes(dst, t.Payload)
	dst = binary.LittleEndian.AppendUint64(dst, t.Hash)
	dst = appendUint(dst, t.Seq)
	dst = appendInt(dst, int64(t.Created))
	dst = appendUint(dst, uint64(t.Timeout))
	dst = appendInt(dst, int64(t.MaxRetries))
	dst = append(dst, byte(t.Priority), byte(t.Flags))
	dst = appendExtra(dst, t.Extra)
	return appendSum(dst, start)
}

// AppendMove appends the body of what a move changes in a task.
func AppendMove(dst []byte, t *ax.Task) []byte {
	start := len(dst)
	return appendSum(appendStatus(dst, t), start)
}

func appendSum(dst []byte, start int) []byte {
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

// appendStatus writes the id and what moves. What an index wants to know stands in front: see Peek.
func appendStatus(dst []byte, t *ax.Task) []byte {
	dst = appendString(dst, t.ID)
	dst = appendInt(dst, int64(t.At))
	dst = append(dst, byte(t.State), byte(t.Marks))
	dst = appendInt(dst, int64(t.Run))
	dst = appendInt(dst, int64(t.Attempt))
	dst = appendInt(dst, int64(t.Due))
	dst = appendUint(dst, uint64(t.Boot))
	if t.Boot != 0 {
		dst = appendInt(dst, t.BootAt)
	}
	n := 0
	for a := t.Last; a != nil; a = a.Prev {
		n++
	}
	dst = appendUint(dst, uint64(n))
	for a := t.Last; a != nil; a = a.Prev {
		dst = appendAttempt(dst, a)
	}
	return dst
}

func appendAttempt(dst []byte, a *ax.Attempt) []byte {
	dst = appendInt(dst, int64(a.Run))
	dst = appendInt(dst, int64(a.N))
	dst = appendToken(dst, a.Token.Token)
	dst = appendUint(dst, a.Token.Claim)
	dst = appendString(dst, a.Executor)
	dst = appendInt(dst, int64(a.Claimed))
	for _, t := range [...]ax.Time{a.Ready, a.Started, a.Ended, a.Settled, a.Deadline} {
		dst = appendStamp(dst, t, a.Claimed)
	}
	dst = append(dst, byte(a.Outcome))
	dst = appendBool(dst, a.Returned)
	dst = appendString(dst, a.Error)
	return appendBytes(dst, a.Result)
}

func appendExtra(dst []byte, x *ax.Extra) []byte {
	if x == nil {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	dst = appendUint(dst, uint64(len(x.Headers)))
	for _, k := range slices.Sorted(maps.Keys(x.Headers)) {
		dst = appendString(appendString(dst, k), x.Headers[k])
	}
	dst = appendInt(dst, int64(x.Backoff.Base))
	dst = appendInt(dst, int64(x.Backoff.Cap))
	dst = appendInt(dst, int64(x.Backoff.Jitter))
	dst = appendBool(dst, x.Backoff.Full)
	dst = append(dst, byte(x.Unique.By))
	dst = appendInt(dst, int64(x.Unique.Window))
	if x.Shard == nil {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	dst = appendInt(dst, int64(x.Shard.Index))
	dst = appendInt(dst, int64(x.Shard.Total))
	return appendString(dst, x.Shard.Params)
}

// Peek is what an index wants to know of the body of a task. ID is a part of the body.
type Peek struct {
	ID    []byte
	At    ax.Time
	State ax.State
	Run   int32
}

// PeekTask reads the beginning of the body of a task, whole or moved, without looking at its checksum.
func PeekTask(body []byte) (Peek, error) {
	r := reader{b: body}
	p := Peek{ID: r.raw(), At: r.time(), State: ax.State(r.byte())}
	r.byte()
	p.Run = r.int32()
	if r.bad {
		return Peek{}, fmt.Errorf("%w: a task is malformed", ErrSum)
	}
	return p, nil
}

// ReadTask reads the body of a whole task.
func ReadTask(body []byte) (*ax.Task, error) {
	r, err := summed(body)
	if err != nil {
		return nil, err
	}
	t := new(ax.Task)
	r.status(t)
	t.Kind = r.string()
	t.Payload = r.bytes()
	t.Hash = r.u64()
	t.Seq = r.uint()
	t.Created = r.time()
	t.Timeout = ax.Millis(r.narrow(32))
	t.MaxRetries = int16(r.signed(16))
	t.Priority, t.Flags = ax.Priority(r.byte()), ax.Flags(r.byte())
	t.Extra = r.extra()
	return t, r.end("a task")
}

// ReadMove reads the body of a move into t, which holds the task as it was before: the id stays.
func ReadMove(body []byte, t *ax.Task) error {
	r, err := summed(body)
	if err != nil {
		return err
	}
	id := t.ID
	r.status(t)
	if id != "" && t.ID != id {
		return fmt.Errorf("%w: a move of %.80q stands in the place of one of %.80q", ErrSum, t.ID, id)
	}
	return r.end("a move")
}

// summed returns a reader of a body without its checksum, which must be right.
func summed(body []byte) (*reader, error) {
	n := len(body) - 4
	if n < 0 || crc32.Checksum(body[:n], castagnoli) != binary.LittleEndian.Uint32(body[n:]) {
		return nil, fmt.Errorf("%w: the checksum of a task is wrong", ErrSum)
	}
	return &reader{b: body[:n]}, nil
}

func (r *reader) status(t *ax.Task) {
	t.ID = r.string()
	t.At = r.time()
	t.State, t.Marks = ax.State(r.byte()), ax.Marks(r.byte())
	t.Run, t.Attempt = r.int32(), r.int32()
	t.Due = r.time()
	t.Boot, t.BootAt = uint32(r.narrow(32)), 0
	if t.Boot != 0 {
		t.BootAt = r.int()
	}
	t.Last = nil
	at := &t.Last
	for range r.count(20) {
		a := r.attempt()
		*at = a
		at = &a.Prev
	}
}

func (r *reader) attempt() *ax.Attempt {
	a := &ax.Attempt{Run: r.int32(), N: r.int32(), Token: ax.AttemptToken{Token: r.token(), Claim: r.uint()},
		Executor: r.string(), Claimed: r.time()}
	for _, t := range [...]*ax.Time{&a.Ready, &a.Started, &a.Ended, &a.Settled, &a.Deadline} {
		*t = r.stamp(a.Claimed)
	}
	a.Outcome, a.Returned = ax.Outcome(r.byte()), r.bool()
	a.Error, a.Result = r.string(), r.bytes()
	return a
}

func (r *reader) extra() *ax.Extra {
	if !r.bool() {
		return nil
	}
	x := new(ax.Extra)
	if n := r.count(2); n > 0 {
		x.Headers = make(map[string]string, n)
		for range n {
			k := r.string()
			x.Headers[k] = r.string()
		}
	}
	x.Backoff = ax.Backoff{Base: r.duration(), Cap: r.duration(), Jitter: r.duration(), Full: r.bool()}
	x.Unique = ax.Unique{By: ax.UniqueBy(r.byte()), Window: r.duration()}
	if r.bool() {
		x.Shard = &ax.Shard{Index: r.int32(), Total: r.int32(), Params: r.string()}
	}
	return x
}

// narrow reads a number that must fit into so many bits, signed one with a sign.
func (r *reader) narrow(bits int) uint64 {
	v := r.uint()
	if v>>bits != 0 {
		r.fail()
	}
	return v
}

func (r *reader) signed(bits int) int64 {
	v := r.int()
	if v<<(64-bits)>>(64-bits) != v {
		r.fail()
	}
	return v
}
