package main

import (
	"context"
	"errors"
	"fmt"
)

// open takes up the run that is to be continued, or begins one with the workload.
func (r *rig) open(w workload) (err error) {
	r.work = w
	if !r.memory {
		if r.home, err = openHome(&r.options, w); err != nil {
			return err
		}
		if r.work, err = r.home.workload(w); err != nil {
			return err
		}
	}
	r.book = newBook(r.work.total)
	if r.home != nil && r.home.continuing {
		return r.book.recall(r.home, r.work)
	}
	return nil
}

// close closes the directory, and notes that the run is done if it is.
func (r *rig) close(end *outcome) (err error) {
	if r.home == nil {
		return nil
	}
	if end != nil && end.complete {
		err = r.home.finish()
	}
	return errors.Join(err, r.home.close())
}

// takeUp settles what an earlier start has left: which tasks had ended, and which are in the store.
func (r *rig) takeUp(sub *submitter) error {
	if r.home == nil {
		return nil
	}
	live := r.sched.Stats().Submitted
	if !r.home.continuing {
		if live > 0 {
			return fmt.Errorf("%s holds %s of a run that nobody knows: -fresh begins anew, without them", r.dir, plural(live, "task"))
		}
		return nil
	}
	err := sub.first()
	failed, err2 := r.home.failed(context.Background())
	r.before.submitted = r.book.acknowledgedBefore() - live
	r.before.failed = failed
	r.before.done = r.before.submitted - failed
	return errors.Join(err, err2)
}
