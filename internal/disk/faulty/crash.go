package faulty

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// change is one change of the names: name now stands for file, or for nothing; a rename takes the file from another name.
type change struct {
	name string
	file *inode
	from string // "" but for a rename
}

func (c change) apply(names map[string]*inode) {
	if c.from != "" {
		delete(names, c.from)
	}
	if names[c.name] = c.file; c.file == nil {
		delete(names, c.name)
	}
}

// Kill ends this file system and returns what the next process finds.
func (d *FS) Kill() *FS {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.crashed = true
	files := map[*inode]*inode{} // one file may have several names, now and on the disk
	next := func(f *inode) *inode {
		if f != nil && files[f] == nil {
			files[f] = f.kill()
		}
		return files[f]
	}
	after := New()
	for name, f := range d.present {
		after.present[name] = next(f)
	}
	for name, f := range d.durable {
		after.durable[name] = next(f)
	}
	for _, c := range d.changes {
		after.changes = append(after.changes, change{c.name, next(c.file), c.from})
	}
	return after
}

// PowerCut ends this file system and returns what is on the disk.
func (d *FS) PowerCut(rng *rand.Rand) *FS {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.crashed = true
	names := d.survivors(rng)
	after, files := New(), map[*inode]*inode{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		f := names[name]
		if files[f] == nil {
			files[f] = f.powerCut(rng, d.garbage)
		}
		after.present[name] = files[f]
	}
	after.durable = maps.Clone(after.present)
	return after
}

// survivors returns the names after a power cut. mu must be held.
func (d *FS) survivors(rng *rand.Rand) map[string]*inode {
	names := maps.Clone(d.durable)
	if rng.IntN(2) == 0 { // in order
		for _, c := range d.changes[:rng.IntN(len(d.changes)+1)] {
			c.apply(names)
		}
		return names
	}
	share := someShare(rng)
	stuck := map[string]bool{} // names with a change that did not survive: no later one of theirs can have
	for _, c := range d.changes {
		switch {
		case stuck[c.name] || stuck[c.from] || rng.Float64() >= share:
			stuck[c.name], stuck[c.from] = true, c.from != "" || stuck[c.from]
		case c.from != "" && rng.IntN(4) == 0: // half of a rename
			names[c.name] = c.file
		default:
			c.apply(names)
		}
	}
	return names
}
