package ready

// Holder is what waits in a queue. Its ticket changes when it leaves by another way than Pop, and so makes the entry
// it left behind stale: removal needs no search.
type Holder interface {
	comparable
	Ticket() uint32
}

// Queue orders holders by (since, seq), smallest first. What arrives in order, and nearly everything does, costs O(1);
// the rest goes through a heap beside the line. The zero value is ready to use.
type Queue[T Holder] struct {
	line []entry[T] // sorted, from head on
	head int
	heap []entry[T]
	live int // entries that are not stale
}

type entry[T Holder] struct {
	since  int64
	seq    uint64
	v      T
	ticket uint32
}

func (e *entry[T]) before(f *entry[T]) bool {
	return e.since < f.since || e.since == f.since && e.seq < f.seq
}

func (e *entry[T]) stale() bool { return e.v.Ticket() != e.ticket }

// Len returns how many holders wait.
func (q *Queue[T]) Len() int { return q.live }

// Push adds v under its present ticket.
func (q *Queue[T]) Push(since int64, seq uint64, v T) {
	e := entry[T]{since, seq, v, v.Ticket()}
	q.live++
	if len(q.line) == q.head || !e.before(&q.line[len(q.line)-1]) {
		q.line = append(q.line, e)
		return
	}
	q.heap = append(q.heap, e)
	i := len(q.heap) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !q.heap[i].before(&q.heap[up]) {
			break
		}
		q.heap[i], q.heap[up] = q.heap[up], q.heap[i]
		i = up
	}
}

// Left says that one waiting holder has changed its ticket.
func (q *Queue[T]) Left() {
	q.live--
	if len(q.line)-q.head+len(q.heap) > 2*q.live+64 {
		q.compact()
	}
}

// Head returns the first holder without removing it.
func (q *Queue[T]) Head() (v T, since int64, seq uint64, ok bool) {
	if e := q.first(); e != nil {
		return e.v, e.since, e.seq, true
	}
	return v, 0, 0, false
}

// Pop removes and returns the first holder.
func (q *Queue[T]) Pop() (v T, ok bool) {
	e := q.first()
	if e == nil {
		return v, false
	}
	v = e.v
	if q.head < len(q.line) && e == &q.line[q.head] {
		q.skip()
	} else {
		q.popHeap()
	}
	q.live--
	return v, true
}

// first drops stale entries until a live one leads, and returns it; nil when nobody waits.
func (q *Queue[T]) first() *entry[T] {
	for q.head < len(q.line) && q.line[q.head].stale() {
		q.skip()
	}
	for len(q.heap) > 0 && q.heap[0].stale() {
		q.popHeap()
	}
	switch {
	case q.head == len(q.line) && len(q.heap) == 0:
		return nil
	case q.head == len(q.line) || len(q.heap) > 0 && q.heap[0].before(&q.line[q.head]):
		return &q.heap[0]
	}
	return &q.line[q.head]
}

// skip passes the first entry of the line. The space before head is given back once it is most of the line.
func (q *Queue[T]) skip() {
	q.line[q.head] = entry[T]{}
	q.head++
	switch {
	case q.head == len(q.line):
		q.line, q.head = q.line[:0], 0
		if cap(q.line) > 1<<15 { // 1 MiB: a burst has passed
			q.line = nil
		}
	case q.head >= 1024 && q.head > len(q.line)*3/4:
		n := copy(q.line, q.line[q.head:])
		clear(q.line[n:])
		q.line, q.head = q.line[:n], 0
	}
}

func (q *Queue[T]) popHeap() {
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	q.heap[last] = entry[T]{}
	q.heap = q.heap[:last]
	q.down(0)
}

func (q *Queue[T]) down(i int) {
	for {
		least, left := i, 2*i+1
		for _, c := range [2]int{left, left + 1} {
			if c < len(q.heap) && q.heap[c].before(&q.heap[least]) {
				least = c
			}
		}
		if least == i {
			return
		}
		q.heap[i], q.heap[least] = q.heap[least], q.heap[i]
		i = least
	}
}

// compact drops all stale entries, so that they never outnumber the live ones by much.
func (q *Queue[T]) compact() {
	keep := func(from []entry[T], into []entry[T]) []entry[T] {
		for i := range from {
			if !from[i].stale() {
				into = append(into, from[i])
			}
		}
		return into
	}
	whole := q.line
	q.line, q.head = keep(whole[q.head:], whole[:0]), 0
	clear(whole[len(q.line):])
	n := len(q.heap)
	q.heap = keep(q.heap, q.heap[:0])
	clear(q.heap[len(q.heap):n])
	for i := len(q.heap)/2 - 1; i >= 0; i-- {
		q.down(i)
	}
}
