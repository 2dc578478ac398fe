package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"

	"github.com/axsched/ax"
	"github.com/axsched/ax/internal/disk"
	"github.com/axsched/ax/internal/registry"
	"github.com/axsched/ax/journal/record"
)

// Report is what Inspect and Repair found in a directory.
type Report struct {
	Files      []File
	Partitions int
	Damage     []Damage // nil: nothing that had been durable is damaged
	Batches    int64    // missing between those that are there, where the numbers show it

	Tasks   map[ax.State]int // live ones
	Ended   int              // in the archive
	Inbox   int
	Records int // remembered ids
	Jobs    int
	Changes int // tasks of which there are changes, but no beginning: they cannot be saved
}

// File is one file of the log.
type File struct {
	Name   string
	Size   int64
	Used   int64 // up to where it is written
	Era    uint32
	Made   ax.Time
	Frames map[string]int // by kind
	Torn   bool           // it ends in a torn tail, of which nobody was told
}

// Damage is a part of a file that is not what was written there.
type Damage struct {
	Corrupt
	To int64 // where the next good frame begins
}

// Inspect reads a directory and changes nothing, not even its lock: of one that a process has open it shows what has
// reached the disk so far. Damage is no error. Errors: those of the system, and record.ErrVersion.
func Inspect(dir string, cfg Config) (*Report, error) {
	cfg = cfg.withDefaults(dir)
	b, report, err := salvage(cfg, cfg.fs.OpenRead)
	if b != nil {
		for _, seg := range b.log.order {
			seg.file.Close()
		}
	}
	return report, err
}

// Repair saves what is left of a damaged directory: it writes all that can be read into new files, after which Open
// accepts it, and renames the old ones to *.damaged, for people. What the report says is lost is lost: tasks that were
// created in the damaged part are gone, and tasks that ended there may run again. It does nothing if there is no damage.
// Errors: ErrHeld if a process has the directory open; as Inspect.
func Repair(dir string, cfg Config) (*Report, error) {
	cfg = cfg.withDefaults(dir)
	lock, err := cfg.fs.Lock(lockName)
	if errors.Is(err, disk.ErrLocked) {
		return nil, &ax.Error{Op: "repair", ID: dir, Reason: err.Error(), Err: ax.ErrHeld}
	}
	if err != nil {
		return nil, fmt.Errorf("journal: repair %s: %w", dir, err)
	}
	defer lock.Close()
	if done, err := resume(cfg.fs); err != nil {
		return nil, fmt.Errorf("journal: repair %s: %w", dir, err)
	} else if done {
		return Inspect(dir, cfg)
	}
	b, report, err := salvage(cfg, cfg.fs.Open)
	if err != nil || b == nil {
		return report, err
	}
	defer func() {
		for _, seg := range b.log.order {
			seg.file.Close()
		}
	}()
	if report.Damage == nil {
		return report, nil
	}
	if err := b.rescue(cfg.fs); err != nil {
		return report, fmt.Errorf("journal: repair %s: %w", dir, err)
	}
	return report, nil
}

// salvage reads all that can be read. There is no Backend if there is no log.
func salvage(cfg Config, open func(string) (disk.File, error)) (*Backend, *Report, error) {
	report := &Report{Tasks: map[ax.State]int{}}
	names, err := cfg.fs.Names()
	if err != nil {
		return nil, nil, fmt.Errorf("journal: listing the directory: %w", err)
	}
	all := map[uint64]found{}
	for _, name := range names {
		number := numberOf(name)
		if number == 0 {
			continue
		}
		f, err := headOf(open, name, number)
		var damaged *Corrupt
		if errors.As(err, &damaged) {
			report.Damage = append(report.Damage, Damage{Corrupt: *damaged})
			if f.file, err = open(name); err == nil {
				f.size, err = f.file.Size()
			}
		}
		if err != nil {
			return nil, nil, err
		}
		if f.file != nil {
			all[number] = f
			report.Partitions = max(report.Partitions, int(f.head.Partitions))
		}
	}
	chain := report.chain(all)
	if len(chain) == 0 {
		return nil, report, nil
	}
	report.Partitions = max(report.Partitions, cfg.Partitions, 1)
	b := &Backend{cfg: cfg, hash: newHasher(), stop: make(chan struct{}), need: make(chan struct{}, 1),
		documents: map[string]place{}, archive: newArchive(cfg.Keep), opening: true}
	b.wake.L = &b.mu
	b.log = log{fs: cfg.fs, now: cfg.Now, slots: make([]*segment, 1, 64), most: cfg.segment, need: b.need, partitions: report.Partitions}
	for i := range report.Partitions {
		b.partitions = append(b.partitions, newPartition(ax.Partition(i)))
	}
	for _, f := range chain {
		b.log.era = max(b.log.era, f.head.Era)
	}
	r := replay{b: b, orphans: map[key]bool{}, report: report}
	if err := r.all(chain); err != nil {
		return b, report, err
	}
	b.Registry = registry.New(registry.Config{Now: cfg.Now})
	b.archive.order(b)
	b.opening = false
	report.sum(b, &r)
	return b, report, nil
}

// chain puts the files into their order, and notes those that are missing between them. It closes what is not of the log.
func (report *Report) chain(all map[uint64]found) (chain []found) {
	numbers := slices.Sorted(maps.Keys(all))
	below := func(n uint64) uint64 { // the next one that is there
		if i, _ := slices.BinarySearch(numbers, n); i > 0 {
			return numbers[i-1]
		}
		return 0
	}
	for n := below(1 << 63); n != 0; {
		f := all[n]
		chain = append(chain, f)
		delete(all, n)
		switch before := f.head.Before; {
		case f.head.Number == 0: // its head is damaged
			n = below(n)
		case before != 0 && all[before].file == nil && before >= f.head.Oldest:
			report.Damage = append(report.Damage, Damage{Corrupt: Corrupt{File: segmentName(before), Reason: "the file is missing"}})
			n = below(before)
		case all[before].file == nil: // it was let go
			n = 0
		default:
			n = before
		}
	}
	for _, f := range all {
		f.file.Close()
	}
	slices.Reverse(chain)
	return chain
}

// sum counts what there is.
func (report *Report) sum(b *Backend, r *replay) {
	for i, seg := range b.log.order {
		report.Files[i].Used = seg.end
	}
	for _, p := range b.partitions {
		for s := range maps.Values(p.live) {
			report.Tasks[s.state()]++
		}
		report.Inbox += len(p.inbox.items)
		report.Records += len(p.records.items)
		report.Jobs += len(p.jobs.items)
	}
	report.Ended, report.Changes = b.archive.count(), len(r.orphans)
}

// begin and count note what a file holds, if that is wanted.
func (r *replay) begin(f found) {
	if r.report == nil {
		return
	}
	r.report.Files = append(r.report.Files, File{Name: f.name, Size: f.size, Era: f.head.Era, Made: f.head.Made, Frames: map[string]int{}})
	r.now = &r.report.Files[len(r.report.Files)-1]
}

func (r *replay) count(f *record.Frame) {
	if r.now != nil {
		r.now.Frames[f.Kind.String()]++
	}
}

// repairedName is the file into which Repair writes. Once it is complete it takes the place of the others; if that is cut
// short, the next Repair goes on with it, and Open refuses until then.
const repairedName = "repaired"

// rescue writes everything into one new segment.
func (b *Backend) rescue(dir disk.FS) error {
	l := &b.log
	old := slices.Clone(l.order)
	seg := &segment{number: old[len(old)-1].number + 1, name: repairedName, filled: 1 << offsetBits} // it may grow
	for _, name := range b.cut {
		seg.number = max(seg.number, numberOf(name)+1)
	}
	var err error
	if seg.slot, err = l.freeSlot(); err != nil {
		return err
	}
	if seg.file, err = dir.Create(repairedName); err != nil {
		return err
	}
	l.oldest = seg.number
	if err := l.enter(seg, 0, 0, 0); err != nil {
		return err
	}
	for _, from := range old {
		for _, step := range []func(*segment) error{b.moveTasks, b.moveArchived, b.moveSmall, b.moveDocuments} {
			if err := step(from); err != nil {
				return err
			}
		}
	}
	w := l.frame(record.KindClose)
	if _, _, err := l.write(&w); err != nil {
		return err
	}
	if err := seg.file.Sync(); err != nil {
		return err
	}
	return takePlace(dir, seg.number)
}

// takePlace puts the repaired file in the place of all others.
func takePlace(dir disk.FS, number uint64) error {
	if err := dir.SyncDir(); err != nil {
		return err
	}
	names, err := dir.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if numberOf(name) != 0 {
			if err := dir.Rename(name, name+".damaged"); err != nil {
				return err
			}
		}
	}
	if err := dir.SyncDir(); err != nil {
		return err
	}
	if err := dir.Rename(repairedName, segmentName(number)); err != nil {
		return err
	}
	return dir.SyncDir()
}

// resume goes on with a repair that was cut short: if its file is complete it takes its place, else it is begun anew.
func resume(dir disk.FS) (done bool, err error) {
	f, err := dir.Open(repairedName)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return false, err
	}
	head := make([]byte, min(size, 4096))
	if _, err := f.ReadAt(head, 0); err != nil && err != io.EOF {
		return false, err
	}
	if n, ok := record.PayloadSize(head); ok && record.HeaderSize+n <= len(head) {
		if h, err := record.ReadSegment(head[record.HeaderSize : record.HeaderSize+n]); err == nil {
			s := scanner{r: f, number: h.Number, size: size}
			for {
				frame, err := s.next()
				if err != nil {
					break
				}
				if frame.Kind == record.KindClose {
					return true, takePlace(dir, h.Number)
				}
			}
		}
	}
	return false, dir.Remove(repairedName)
}
