package record

import (
	"fmt"

	"github.com/axsched/ax"
)

// BatchHead is the preamble of KindBatch.
type BatchHead struct {
	Partition  ax.Partition
	Token      ax.Token
	Number     uint64
	Durability ax.Durability
}

// AppendBatchHead appends the preamble of a batch; its sections follow.
func AppendBatchHead(dst []byte, b *ax.Batch) []byte {
	dst = appendToken(appendInt(dst, int64(b.Partition)), b.Token)
	return append(appendUint(dst, b.Number), byte(b.Durability))
}

// ReadBatchHead reads the preamble of a batch and returns the sections that follow.
func ReadBatchHead(payload []byte) (BatchHead, []byte, error) {
	r := reader{b: payload}
	h := BatchHead{Partition: ax.Partition(r.int32()), Token: r.token(), Number: r.uint(), Durability: ax.Durability(r.byte())}
	if r.bad {
		return h, nil, fmt.Errorf("%w: the head of a batch is malformed", ErrSum)
	}
	return h, r.b, nil
}

// ReadPartitionHead reads the preamble of KindOpen, KindPrune and KindSubmit and returns what follows.
func ReadPartitionHead(payload []byte) (Partition, []byte, error) {
	r := reader{b: payload}
	p := r.partition()
	if r.bad {
		return p, nil, fmt.Errorf("%w: the state of a partition is malformed", ErrSum)
	}
	return p, r.b, nil
}

// Rest appends the sections of a batch that are not tasks.
func (w *Writer) Rest(b *ax.Batch) {
	w.Section(TagRemember, len(b.Remember))
	for _, k := range b.Remember {
		w.Record(k)
	}
	w.Strings(TagForget, b.Forget)
	w.Strings(TagAdmit, b.Admit)
	w.Section(TagJob, len(b.Jobs))
	for i := range b.Jobs {
		w.Job(&b.Jobs[i])
	}
	w.Strings(TagDropJob, b.DropJobs)
	w.Section(TagInstance, len(b.Instances))
	for _, in := range b.Instances {
		w.Instance(in)
	}
	w.Strings(TagDropInst, b.DropInst)
	w.Section(TagReason, len(b.Reasons))
	for i := range b.Reasons {
		w.Reason(&b.Reasons[i])
	}
	w.Strings(TagDropWhy, b.DropWhy)
	w.Section(TagOutgoing, len(b.Outgoing))
	for i := range b.Outgoing {
		w.Outgoing(&b.Outgoing[i])
	}
	w.Strings(TagRelayed, b.Relayed)
	w.Section(TagFact, len(b.Facts))
	for i := range b.Facts {
		w.Fact(&b.Facts[i])
	}
	w.Strings(TagFiled, b.Filed)
}

// AppendBatch appends the payload of a batch in which finished tasks are whole, so that it can be read without any other.
func AppendBatch(dst []byte, b *ax.Batch) []byte {
	w := Writer{Buf: AppendBatchHead(dst, b)}
	w.Strings(TagDelete, b.Delete)
	w.Section(TagFull, len(b.Finish))
	for _, t := range b.Finish {
		w.Task(t)
	}
	w.Section(TagCreate, len(b.Create))
	for _, t := range b.Create {
		w.Task(t)
	}
	w.Section(TagMove, len(b.Move))
	for _, t := range b.Move {
		w.Move(t)
	}
	w.Rest(b)
	return w.Buf
}

// ReadBatch reads the payload of a batch. Tasks of TagMove and TagFinish have only the fields from State on, Due and ID.
func ReadBatch(payload []byte) (*ax.Batch, error) {
	head, sections, err := ReadBatchHead(payload)
	if err != nil {
		return nil, err
	}
	b := &ax.Batch{Partition: head.Partition, Token: head.Token, Number: head.Number, Durability: head.Durability}
	return b, Walk(sections, func(tag Tag, _, _ int, body []byte) error { return ReadItem(b, tag, body) })
}

// ReadItem reads the body of an item of a batch and appends it to the field of b that its tag belongs to.
func ReadItem(b *ax.Batch, tag Tag, body []byte) (err error) {
	switch tag {
	case TagDelete:
		b.Delete = append(b.Delete, string(body))
	case TagFull:
		b.Finish, err = add(b.Finish, body, ReadTask)
	case TagFinish:
		b.Finish, err = add(b.Finish, body, readMoved)
	case TagCreate:
		b.Create, err = add(b.Create, body, ReadTask)
	case TagMove:
		b.Move, err = add(b.Move, body, readMoved)
	case TagRemember:
		b.Remember, err = add(b.Remember, body, ReadRecord)
	case TagForget:
		b.Forget = append(b.Forget, string(body))
	case TagAdmit:
		b.Admit = append(b.Admit, string(body))
	case TagJob:
		b.Jobs, err = add(b.Jobs, body, ReadJob)
	case TagDropJob:
		b.DropJobs = append(b.DropJobs, string(body))
	case TagInstance:
		b.Instances, err = add(b.Instances, body, ReadInstance)
	case TagDropInst:
		b.DropInst = append(b.DropInst, string(body))
	case TagReason:
		b.Reasons, err = add(b.Reasons, body, ReadReason)
	case TagDropWhy:
		b.DropWhy = append(b.DropWhy, string(body))
	case TagOutgoing:
		b.Outgoing, err = add(b.Outgoing, body, ReadOutgoing)
	case TagRelayed:
		b.Relayed = append(b.Relayed, string(body))
	case TagFact:
		b.Facts, err = add(b.Facts, body, ReadFact)
	case TagFiled:
		b.Filed = append(b.Filed, string(body))
	default:
		err = fmt.Errorf("%w: tag %d in a batch", ErrVersion, tag)
	}
	return err
}

func readMoved(body []byte) (*ax.Task, error) {
	t := new(ax.Task)
	return t, ReadMove(body, t)
}

func add[T any](list []T, body []byte, read func([]byte) (T, error)) ([]T, error) {
	v, err := read(body)
	if err != nil {
		return list, err
	}
	return append(list, v), nil
}
