package bench

import "github.com/axsched/ax/journal"

// openJournal opens the journal of a directory that is not ours to remove.
func openJournal(dir string) (home, error) {
	b, err := journal.Open(dir, journal.Config{})
	if err != nil {
		return home{}, err
	}
	return home{store: b, registry: b}, nil
}
