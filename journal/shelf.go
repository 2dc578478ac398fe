package journal

// shelf keeps values by id, in memory whole: what is small, or few. Each knows its place in the order in which they came
// and the segment in which it was written last.
type shelf[T any] struct {
	items map[string]kept[T]
	peak  int // the most it held since items was made
}

type kept[T any] struct {
	v       T
	serial  uint64
	segment uint64
}

// roomy is how many values a map may have held and still be kept once it is empty: a Go map never shrinks.
const roomy = 1024

// put adds a value, or replaces it and leaves it its place in the order.
func (s *shelf[T]) put(id string, v T, serial, segment uint64) {
	if s.items == nil {
		s.items = map[string]kept[T]{}
	}
	if old, ok := s.items[id]; ok {
		serial = old.serial
	}
	s.items[id] = kept[T]{v, serial, segment}
	s.peak = max(s.peak, len(s.items))
}

func (s *shelf[T]) get(id string) (T, bool) {
	k, ok := s.items[id]
	return k.v, ok
}

func (s *shelf[T]) drop(id string) {
	delete(s.items, id)
	if len(s.items) == 0 && s.peak > roomy {
		s.items, s.peak = nil, 0
	}
}
