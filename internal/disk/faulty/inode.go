package faulty

import (
	"math/rand/v2"
	"slices"
)

// sector is what a disk writes whole or not at all.
const sector = 512

// inode is the content of a file.
type inode struct {
	data   []byte // as the process sees it
	synced []byte
	writes []write // since the last sync
}

// write is one write; with cut, the file was cut off to offset. Its data never changes, but for a flip.
type write struct {
	offset int64
	data   []byte
	cut    bool
}

// put writes into a content that grows as needed.
func put(content []byte, offset int64, data []byte) []byte {
	if end := offset + int64(len(data)); int64(len(content)) < end {
		content = resize(content, end)
	}
	copy(content[offset:], data)
	return content
}

func resize(b []byte, n int64) []byte {
	if int64(len(b)) >= n {
		return b[:n]
	}
	return append(b, make([]byte, n-int64(len(b)))...)
}

func (f *inode) write(w write) {
	w.apply(&f.data)
	f.writes = append(f.writes, w)
}

func (w write) apply(content *[]byte) {
	if w.cut {
		*content = resize(*content, w.offset)
		return
	}
	*content = put(*content, w.offset, w.data)
}

func (f *inode) sync() {
	for _, w := range f.writes {
		w.apply(&f.synced)
	}
	f.writes = nil
}

func (f *inode) flip(offset int64, mask byte) {
	f.data[offset] ^= mask
	if offset < int64(len(f.synced)) {
		f.synced[offset] ^= mask
	}
	for _, w := range f.writes {
		if i := offset - w.offset; i >= 0 && i < int64(len(w.data)) {
			w.data[i] ^= mask
		}
	}
}

// kill returns the file as the next process finds it: what was not synced still is not.
func (f *inode) kill() *inode {
	g := &inode{data: slices.Clone(f.data), synced: slices.Clone(f.synced), writes: slices.Clone(f.writes)}
	for i := range g.writes {
		g.writes[i].data = slices.Clone(g.writes[i].data)
	}
	return g
}

// powerCut returns the file with what was synced and a share of the rest. How large the share is differs from cut to cut.
func (f *inode) powerCut(rng *rand.Rand, garbage bool) *inode {
	data := slices.Clone(f.synced)
	share := someShare(rng)
	for _, w := range f.writes {
		if w.cut {
			if rng.Float64() < share {
				w.apply(&data)
			}
			continue
		}
		for from := int64(0); from < int64(len(w.data)); {
			at := w.offset + from
			to := min(int64(len(w.data)), from+sector-at%sector)
			switch part := w.data[from:to]; {
			case rng.Float64() < share:
				data = put(data, at, part)
			case garbage && rng.IntN(4) == 0:
				noise := make([]byte, len(part))
				for i := range noise {
					noise[i] = byte(rng.Uint32())
				}
				data = put(data, at, noise)
			}
			from = to
		}
	}
	return &inode{data: data, synced: slices.Clone(data)}
}

// someShare draws which share survives a power cut: often all or nothing.
func someShare(rng *rand.Rand) float64 {
	switch rng.IntN(6) {
	case 0:
		return 0
	case 1:
		return 1
	}
	return rng.Float64()
}
