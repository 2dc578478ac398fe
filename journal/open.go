package journal

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/disk"
	"github.com/axsched/ax/internal/registry"
	"github.com/axsched/ax/journal/record"
)

// Open opens a directory, which it makes if there is none, reads it, and begins a new era in it. Errors: ErrHeld if a
// process has it open, this one or another; *Corrupt if what is there is not what was written, other than a tail that a
// crash tears; ErrInvalid for a field of cfg; those of the system. Nothing is changed in a directory that is refused.
func Open(dir string, cfg Config) (*Backend, error) {
	cfg = cfg.withDefaults(dir)
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	lock, err := cfg.fs.Lock(lockName)
	if errors.Is(err, disk.ErrLocked) {
		return nil, &ax.Error{Op: "open", ID: dir, Reason: err.Error(), Err: ax.ErrHeld}
	}
	if err != nil {
		return nil, fmt.Errorf("journal: open %s: %w", dir, err)
	}
	b := &Backend{cfg: cfg, hash: newHasher(), lock: lock, stop: make(chan struct{}), need: make(chan struct{}, 1),
		documents: map[string]place{}, archive: newArchive(cfg.Keep), opening: true}
	b.wake.L = &b.mu
	b.log = log{fs: cfg.fs, now: cfg.Now, slots: make([]*segment, 1, 64), most: cfg.segment, need: b.need}
	if err := b.start(); err != nil {
		for _, seg := range b.log.order {
			seg.file.Close()
		}
		lock.Close()
		return nil, err
	}
	b.work.Add(2)
	go func() { defer b.work.Done(); b.syncer() }()
	go func() { defer b.work.Done(); b.housekeeper() }()
	return b, nil
}

// start reads what is there, and begins the first segment of this opening.
func (b *Backend) start() error {
	now := b.cfg.Now()
	chain, stale, err := findSegments(b.cfg.fs)
	if err != nil {
		return err
	}
	b.log.era, b.log.partitions = uint32(now.Unix()), max(b.cfg.Partitions, 1)
	last := uint64(0)
	if len(chain) > 0 {
		newest := chain[len(chain)-1].head
		last = newest.Number
		b.log.era = max(b.log.era, newest.Era+1)
		b.log.partitions = int(newest.Partitions)
	}
	if n := b.cfg.Partitions; n != 0 && n != b.log.partitions {
		return &ax.Error{Op: "open", Field: "Partitions", Value: fmt.Sprint(n),
			Reason: fmt.Sprintf("the directory was created with %d, which cannot be changed", b.log.partitions), Err: ax.ErrInvalid}
	}
	for i := range b.log.partitions {
		b.partitions = append(b.partitions, newPartition(ax.Partition(i)))
	}
	r := replay{b: b, orphans: map[key]bool{}}
	if err := r.all(chain); err != nil {
		return err
	}
	for _, name := range append(stale, b.cut...) {
		if err := b.cfg.fs.Remove(name); err != nil {
			return fmt.Errorf("journal: removing what a crash has left: %w", err)
		}
		last = max(last, numberOf(name))
	}
	b.Registry = registry.New(registry.Config{Now: b.cfg.Now, Era: b.log.era, Write: b.write})
	r.load(b.Registry)
	b.archive.order(b)
	b.opening = false
	return b.begins(last)
}

// begins makes the first segment of an opening. What was read is made durable first: from here on it is told to others.
func (b *Backend) begins(last uint64) error {
	l := &b.log
	var before uint64
	var end int64
	for _, old := range l.order {
		if err := secure(old); err != nil {
			return fmt.Errorf("journal: making %s durable: %w", old.name, err)
		}
		before, end = old.number, old.end
		last = max(last, old.number)
	}
	slot, err := l.freeSlot()
	if err != nil {
		return err
	}
	seg := &segment{number: last + 1, slot: slot}
	seg.name = segmentName(seg.number)
	if l.oldest == 0 {
		l.oldest = seg.number
	}
	if seg.file, err = l.fs.Create(seg.name); err != nil {
		return fmt.Errorf("journal: creating %s: %w", seg.name, err)
	}
	seg.filled = min(segmentLeast, l.most)
	if err := fill(seg.file, 0, seg.filled, make([]byte, fillChunk)); err != nil {
		seg.file.Close()
		l.fs.Remove(seg.name)
		return fmt.Errorf("journal: filling %s: %w", seg.name, err)
	}
	l.spareWant = min(2*seg.filled, l.most)
	if err := l.fs.SyncDir(); err != nil { // before its head names the files that it follows
		return fmt.Errorf("journal: syncing the directory: %w", err)
	}
	if err := l.enter(seg, before, end, end); err != nil {
		return err
	}
	if err := seg.file.Sync(); err != nil {
		return fmt.Errorf("journal: syncing %s: %w", seg.name, err)
	}
	seg.durable = seg.end
	l.durable = l.written
	return nil
}

// secure makes durable what was read of a segment. It is written again first, the same bytes: after a sync that failed,
// what is in the system's cache can be read, and is taken for written though it is not.
func secure(seg *segment) error {
	if seg.durable >= seg.end {
		return nil
	}
	buf := make([]byte, min(scanChunk, seg.end-seg.durable))
	for at := seg.durable; at < seg.end; {
		b := buf[:min(int64(len(buf)), seg.end-at)]
		if _, err := seg.file.ReadAt(b, at); err != nil && err != io.EOF {
			return err
		}
		if _, err := seg.file.WriteAt(b, at); err != nil {
			return err
		}
		at += int64(len(b))
	}
	if err := seg.file.Sync(); err != nil {
		return err
	}
	seg.durable = seg.end
	return nil
}

// found is a segment as its head describes it.
type found struct {
	name   string
	number uint64
	head   record.Segment
	size   int64
	file   disk.File
}

// findSegments opens the segments that make up the log, from the oldest to the newest, and names the files that do not
// belong to it: the next one that never was, and those that were let go.
func findSegments(dir disk.FS) (chain []found, stale []string, err error) {
	names, err := dir.Names()
	if err != nil {
		return nil, nil, fmt.Errorf("journal: listing the directory: %w", err)
	}
	all := map[uint64]found{}
	defer func() {
		for _, f := range all {
			f.file.Close()
		}
	}()
	newest := uint64(0)
	for _, name := range names {
		number := numberOf(name)
		if name == repairedName {
			return nil, nil, corruptAt(name, 0, "a repair was cut short: repair it again")
		}
		if number == 0 {
			continue // not ours
		}
		f, err := headOf(dir.Open, name, number)
		if err != nil {
			return nil, nil, err
		}
		if f.file == nil {
			stale = append(stale, name)
			continue
		}
		all[number] = f
		newest = max(newest, number)
	}
	for n := newest; n != 0; n = chain[len(chain)-1].head.Before {
		f, ok := all[n]
		if !ok {
			if len(chain) == 0 || n < chain[len(chain)-1].head.Oldest {
				break
			}
			last := chain[len(chain)-1]
			s := scanner{r: last.file, number: last.number, size: last.size}
			if durable, _, err := evidence(&s, 0); err != nil || durable || len(chain) > 1 {
				break // a file is missing, and what follows will say so
			}
			// two files were begun since the last sync, and a crash has kept the second and not the first
			stale = append(stale, last.name)
			last.file.Close()
			chain = chain[:0]
			lower := uint64(0)
			for k := range all {
				lower = max(lower, k)
			}
			if f, ok = all[lower]; !ok {
				break
			}
			n = lower
		}
		chain = append(chain, f)
		delete(all, n)
	}
	slices.Reverse(chain)
	for _, f := range all {
		stale = append(stale, f.name)
	}
	slices.Sort(stale)
	return chain, stale, nil
}

// headOf opens a segment and reads its head. Without a file: a crash kept it from being born, and nothing in it was
// durable.
func headOf(open func(string) (disk.File, error), name string, number uint64) (found, error) {
	file, err := open(name)
	if err != nil {
		return found{}, fmt.Errorf("journal: %w", err)
	}
	f := found{name: name, number: number, file: file}
	if f.size, err = file.Size(); err == nil {
		s := scanner{r: file, number: number, size: f.size}
		f.head, err = s.head()
		if errors.Is(err, record.ErrSum) {
			var durable bool
			durable, _, err = evidence(&s, 0)
			if err == nil && !durable {
				file.Close()
				return found{}, nil
			}
			if durable {
				err = corruptAt(name, 0, "its head is damaged, but what follows had been durable")
			}
		}
	}
	if err != nil {
		file.Close()
		if _, is := errors.AsType[*Corrupt](err); !is {
			err = fmt.Errorf("journal: reading the head of %s: %w", name, err)
		}
		return f, err
	}
	return f, nil
}

// evidence reports whether any frame behind a place that does not check out says that the place had been durable, and
// where the first good frame behind it begins; the end of the file if there is none.
func evidence(s *scanner, bad int64) (durable bool, good int64, err error) {
	good = s.size
	s.offset = bad + 1
	for {
		ok, err := s.seek()
		if !ok || err != nil {
			return false, good, err
		}
		good = min(good, s.offset)
		f, err := s.next()
		if err != nil {
			return false, good, err
		}
		if int64(f.Note) > bad {
			return true, good, nil
		}
	}
}

// Corrupt says that a file does not hold what was written to it.
type Corrupt struct {
	File   string
	Offset int64 // where it begins
	Reason string
}

// Error says where, and what can be done.
func (c *Corrupt) Error() string {
	return fmt.Sprintf("journal: %s is damaged at offset %d: %s (journal.Inspect shows what is left, journal.Repair saves it)", c.File, c.Offset, c.Reason)
}

func corruptAt(file string, offset int64, reason string) error {
	return &Corrupt{File: file, Offset: offset, Reason: reason}
}

func corrupt(seg *segment, offset int64, err error) error {
	return corruptAt(seg.name, offset, err.Error())
}
