package engine

import (
	"github.com/axsched/ax"
)

// recent tells which tasks a batch that is not durable yet may be about. A claim that goes ahead of such a batch must not
// touch its tasks, or others of their keys: the order and the limits of a key, and the growth of its tokens, hold in the
// store at every moment, also at the one at which the power fails.
//
// Keys share slots by their hash: a key may be taken for busy that is not, and then its claim waits for the disk. The nil
// recent of an engine that is not pipelined knows nothing, and lets nothing go ahead.
type recent struct {
	slots []uint32 // by the hash of the key: serial of the newest batch that is about a task of it
	next  uint32   // serial of the batch being built; never 0, which says that an output has no durable batch
	safe  uint32   // serial of the last one that is durable, and so all before it
}

// recentSlots is some ten times as many as the tasks that a disk of the common kind has under way.
const recentSlots = 1 << 15

func newRecent(cfg *Config) (r recent) {
	if cfg.Pipelined {
		r = recent{slots: make([]uint32, recentSlots), next: 1}
	}
	return r
}

// slot hashes without a seed (FNV-1a), so that a run can be repeated. Whoever chooses keys to fall together slows down their claims.
func (r *recent) slot(t *ax.Task) *uint32 {
	h := uint64(14695981039346656037)
	key := t.Key()
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * 1099511628211
	}
	return &r.slots[(h^h>>32)%recentSlots]
}

// note says that the batch being built is about a task.
func (r *recent) note(t *ax.Task) {
	if r.slots != nil {
		*r.slot(t) = r.next
	}
}

// clear reports whether all that is known of a task and its key is durable. Serials are compared modulo 2^32: what was noted
// that long ago may be taken for new.
func (r *recent) clear(t *ax.Task) bool {
	return r.slots != nil && int32(*r.slot(t)-r.safe) <= 0
}

// built gives the batch being built its serial.
func (r *recent) built() (serial uint32) {
	if r.slots == nil {
		return 0
	}
	serial = r.next
	r.next = max(r.next+1, 1)
	return serial
}

// durable says that a batch is durable, and so all before it.
func (r *recent) durable(serial uint32) {
	if serial != 0 && int32(serial-r.safe) > 0 {
		r.safe = serial
	}
}

// claimEarly is set and send for a claim that goes ahead of the batch being built. What becomes of the task from now on is in
// that batch, and so follows the claim: it gets the number before.
func (e *Engine) claimEarly(it *item, t *ax.Task) {
	e.change(it, t)
	if e.early == nil {
		e.early = e.node.output()
	}
	o := e.early
	o.Batch.Move = append(o.Batch.Move, t)
	e.sendWith(o, it)
}

// flushEarly hands over the claims that need not wait for the disk, or nil. Losing them with the power loses nothing that
// anyone was told: they are of local attempts, which die with the process anyway.
func (e *Engine) flushEarly() *Output {
	o := e.early
	if o == nil {
		return nil
	}
	e.early = nil
	e.number(o)
	o.Batch.Durability = ax.Written
	return o
}

// flush hands over what else has piled up, or nil. Answers that change nothing, and so need no batch, may tell of what last
// has: they go with it.
func (e *Engine) flush(last *Output) *Output {
	o := e.out
	switch {
	case !o.Batch.Empty():
		for i, it := range e.touched {
			it.pos = 0
			e.touched[i] = nil
		}
		e.touched = e.touched[:0]
		e.number(o)
		if !e.cfg.Pipelined && onlyClaims(o) {
			o.Batch.Durability = ax.Written
		}
		o.serial = e.recent.built()
	case len(o.Sends)+len(o.Ended)+len(o.Replies) == 0:
		return nil
	case last != nil && len(o.Sends)+len(o.Ended) == 0:
		last.Replies = append(last.Replies, o.Replies...)
		clear(o.Replies)
		o.Replies = o.Replies[:0]
		return nil
	}
	o.Batch.Partition, o.Batch.Token = e.p, e.token
	e.out = e.node.output()
	return o
}

// number makes a batch the next one of its partition.
func (e *Engine) number(o *Output) {
	e.batches++
	o.Batch.Partition, o.Batch.Token, o.Batch.Number = e.p, e.token, e.batches
}

// onlyClaims reports whether losing the batch with the power would lose nothing that anyone was told: claims of local
// attempts, which die with the process anyway.
func onlyClaims(o *Output) bool {
	b := o.Batch
	return len(b.Move) == len(o.Sends) && len(b.Create)+len(b.Delete)+len(b.Remember)+len(b.Admit)+len(b.Facts)+
		len(o.Replies)+len(o.Ended) == 0
}
