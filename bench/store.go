package bench

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/axsched/ax"
)

// The stores that ax can be measured on.
const (
	inMemory  = "memory"
	onJournal = "journal"
)

// place is where ax keeps the tasks of a run.
type place struct {
	store string // memory or journal
	under string // where a journal gets a directory of its own
}

func (o Options) place() place { return place{o.Store, o.Dir} }

// home is an open place. The zero value is memory, which the scheduler makes itself.
type home struct {
	store    ax.Store
	registry ax.Registry
	dir      string // to be removed; empty: none
}

// open makes an empty place.
func (p place) open() (home, error) {
	if p.store == inMemory {
		return home{}, nil
	}
	dir, err := os.MkdirTemp(p.under, "axbench-journal-")
	if err != nil {
		return home{}, err
	}
	h, err := openJournal(dir)
	h.dir = dir
	if err != nil {
		return home{}, errors.Join(err, os.RemoveAll(dir))
	}
	return h, nil
}

// close closes the store and removes what it left.
func (h home) close() error {
	if h.store == nil {
		return nil
	}
	err := h.store.Close()
	if h.dir != "" {
		err = errors.Join(err, os.RemoveAll(h.dir))
	}
	return err
}

// diskBytes returns the room that the files of a directory take on the disk, which is more than what they hold where room
// was taken ahead.
func diskBytes(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		n, err := allocated(path)
		total += n
		return err
	})
	return total, err
}
