package memory

// queue keeps values by id and in the order in which they came.
type queue[T any] struct {
	byID   map[string]queued[T]
	serial int64 // of the last that came
	peak   int   // the most it held since byID was made
}

// queued is a value with its place in the order.
type queued[T any] struct {
	serial int64
	value  T
}

// roomy is how many values a map may have held and still be kept once it is empty.
const roomy = 1024

// put adds a value after all others; one that is there already is replaced in its place.
func (q *queue[T]) put(id string, v T) {
	at := q.byID[id].serial
	if at == 0 {
		q.serial++
		at = q.serial
	}
	q.byID[id] = queued[T]{at, v}
	q.peak = max(q.peak, len(q.byID))
}

// drop removes a value. A Go map never shrinks: after a burst the empty one is replaced.
func (q *queue[T]) drop(id string) {
	delete(q.byID, id)
	if len(q.byID) == 0 && q.peak > roomy {
		q.byID, q.peak = map[string]queued[T]{}, 0
	}
}
