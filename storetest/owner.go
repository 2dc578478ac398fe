package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/axsched/ax"
)

// start is the instant that cases count from.
const start = ax.Time(1_800_000_000_000_000)

// leaseTTL is longer than any case takes.
const leaseTTL = time.Hour

// id returns an id of the partition: all ids of one partition share their key.
func (t *T) id(p ax.Partition, name string) string {
	for i := 0; ; i++ {
		if key := fmt.Sprint("key", i); ax.PartitionOf(key, t.Partitions) == p {
			return key + "/" + name
		}
	}
}

// task returns a task of the partition, SCHEDULED for start.
func (t *T) task(p ax.Partition, name string) *ax.Task {
	return &ax.Task{ID: t.id(p, name), Kind: "kind", Hash: 7, State: ax.Scheduled, Run: 1, Due: start, At: start, Created: start}
}

// with returns a changed copy of a task.
func with(task *ax.Task, change func(*ax.Task)) *ax.Task {
	c := *task
	change(&c)
	return &c
}

// in returns a copy of a task in another state.
func in(task *ax.Task, s ax.State) *ax.Task { return with(task, func(t *ax.Task) { t.State = s }) }

// submission returns an inbox entry that asks for a task.
func submission(task *ax.Task) ax.Entry {
	return ax.Entry{ID: task.ID, Verb: ax.VerbSubmit, Version: 1, Added: start, Task: task}
}

// request returns an inbox entry with another verb.
func request(id string, verb ax.Verb, target string) ax.Entry {
	return ax.Entry{ID: id, Verb: verb, Version: 1, Added: start, Target: target}
}

// grant takes the lease of a partition, in place of the one the case held.
func (t *T) grant(p ax.Partition) ax.Token {
	name := fmt.Sprint(p)
	if l, held := t.leases[p]; held {
		if err := t.Registry.Release(t.ctx, l); err != nil {
			t.Fatalf("Release(%v) = %v", l, err)
		}
	}
	l, err := t.Registry.Acquire(t.ctx, "partition", name, "suite", leaseTTL, nil)
	if err != nil {
		t.Fatalf("Acquire(partition/%s) = %v", name, err)
	}
	if t.leases == nil {
		t.leases = map[ax.Partition]ax.Lease{}
	}
	t.leases[p] = l
	return l.Token
}

// owner writes to a partition as its owner does.
type owner struct {
	t      *T
	p      ax.Partition
	token  ax.Token
	opened ax.Opened
	number uint64 // of the last batch applied
}

// own makes the case the new owner of a partition.
func (t *T) own(p ax.Partition) *owner {
	o := &owner{t: t, p: p, token: t.grant(p)}
	o.open()
	return o
}

// open opens the partition again with the owner's token.
func (o *owner) open() {
	var err error
	if o.opened, err = o.t.Store.Open(o.t.ctx, o.p, o.token); err != nil {
		o.t.Fatalf("Open(%d, %v) = %v", o.p, o.token, err)
	}
	o.number = o.opened.Number
}

// next fills in what makes a batch the next one of the owner.
func (o *owner) next(b ax.Batch) *ax.Batch {
	b.Partition, b.Token, b.Number = o.p, o.token, o.number+1
	return &b
}

// apply writes the next batch, and counts it if it was applied.
func (o *owner) apply(b ax.Batch) error {
	err := o.t.apply(o.next(b))
	if err == nil {
		o.number++
	}
	return err
}

// must writes the next batch and ends the case if it is refused.
func (o *owner) must(b ax.Batch) {
	if err := o.apply(b); err != nil {
		o.t.Fatalf("Apply of batch %d = %v, want nil", o.number+1, err)
	}
}

// apply writes one batch as it is.
func (t *T) apply(b *ax.Batch) error {
	errs := t.Store.Apply(t.ctx, []*ax.Batch{b})
	if len(errs) != 1 {
		t.Fatalf("Apply of 1 batch returned %d errors, want one per batch", len(errs))
	}
	return errs[0]
}

// refused checks that an error is the sentinel.
func (t *T) refused(what string, err, want error) {
	if !errors.Is(err, want) {
		t.Errorf("%s: got %v, want %v", what, err, want)
	}
}

// submit adds entries and ends the case if that fails.
func (t *T) submit(p ax.Partition, entries ...ax.Entry) []ax.Answer {
	answers, err := t.Store.Submit(t.ctx, p, entries)
	if err != nil || len(answers) != len(entries) {
		t.Fatalf("Submit of %d entries = %d answers, %v", len(entries), len(answers), err)
	}
	return answers
}

// walkLimit pages every walk of the suite, so that no case passes by everything fitting into a page.
const walkLimit = 3

// walk reads all of an index in pages of limit.
func (o *owner) walk(index ax.Index, limit int) (all ax.Page) {
	req := ax.ScanRequest{Partition: o.p, Token: o.token, Index: index, Limit: limit}
	seen := map[string]bool{}
	for {
		page, err := o.t.Store.Scan(o.t.ctx, req)
		if err != nil {
			o.t.Fatalf("Scan(%v, from %q) = %v", index, req.From, err)
		}
		if n := items(page); n > limit {
			o.t.Errorf("Scan(%v) with limit %d returned %d items", index, limit, n)
		}
		join(&all, page)
		if page.Next == "" {
			o.settle(index, all.Tasks)
			return all
		}
		if seen[page.Next] {
			o.t.Fatalf("Scan(%v): the cursor %q comes twice in one walk", index, page.Next)
		}
		seen[page.Next] = true
		req.From = page.Next
	}
}

// settle puts tasks whose order is the store's to choose into one of ours, so that walks can be compared.
func (o *owner) settle(index ax.Index, tasks []*ax.Task) {
	byAt := func(a, b *ax.Task) int { return cmp.Compare(a.At, b.At) }
	if index != ax.IndexDue {
		byAt = func(a, b *ax.Task) int { return 0 }
	}
	if !slices.IsSortedFunc(tasks, byAt) {
		o.t.Errorf("Scan of IndexDue does not go by At")
	}
	slices.SortStableFunc(tasks, func(a, b *ax.Task) int { return cmp.Or(byAt(a, b), cmp.Compare(a.ID, b.ID)) })
}

// scan reads all of an index.
func (o *owner) scan(index ax.Index) ax.Page { return o.walk(index, walkLimit) }

func join(all *ax.Page, page ax.Page) {
	all.Tasks = append(all.Tasks, page.Tasks...)
	all.Entries = append(all.Entries, page.Entries...)
	all.IDs = append(all.IDs, page.IDs...)
	all.Jobs = append(all.Jobs, page.Jobs...)
	all.Instances = append(all.Instances, page.Instances...)
	all.Reasons = append(all.Reasons, page.Reasons...)
	all.Outgoing = append(all.Outgoing, page.Outgoing...)
	all.Facts = append(all.Facts, page.Facts...)
}

func items(p ax.Page) int {
	return len(p.Tasks) + len(p.Entries) + len(p.IDs) + len(p.Jobs) + len(p.Instances) + len(p.Reasons) + len(p.Outgoing) + len(p.Facts)
}

// names returns what a page holds, each item by its name, in the order of the page.
func names(p ax.Page) (list []string) {
	for _, t := range p.Tasks {
		list = append(list, t.ID)
	}
	for _, e := range p.Entries {
		list = append(list, e.ID)
	}
	for _, r := range p.IDs {
		list = append(list, r.ID)
	}
	for _, j := range p.Jobs {
		list = append(list, j.UID)
	}
	for _, i := range p.Instances {
		list = append(list, i.ID)
	}
	for _, r := range p.Reasons {
		list = append(list, r.Name())
	}
	for _, o := range p.Outgoing {
		list = append(list, o.Entry.ID)
	}
	for _, f := range p.Facts {
		list = append(list, f.ID)
	}
	return list
}

// indexes are all that Scan walks over.
var indexes = [...]ax.Index{ax.IndexDue, ax.IndexWaiting, ax.IndexRunning, ax.IndexHeld, ax.IndexEnded, ax.IndexInbox, ax.IndexIDs,
	ax.IndexJobs, ax.IndexInstances, ax.IndexReasons, ax.IndexOutgoing, ax.IndexFacts}

// all reads every index.
func (o *owner) all() map[ax.Index]ax.Page {
	m := map[ax.Index]ax.Page{}
	for _, i := range indexes {
		m[i] = o.scan(i)
	}
	return m
}

// holds checks what an index holds, by name and in order.
func (o *owner) holds(index ax.Index, want ...string) {
	if got := names(o.scan(index)); strings.Join(got, "\n") != strings.Join(want, "\n") {
		o.t.Errorf("index %d holds %q, want %q", index, got, want)
	}
}

// get checks the live task of an id: want, or nil for none.
func (t *T) get(id string, want *ax.Task) {
	got, err := t.Store.Get(t.ctx, id)
	switch {
	case want == nil && !errors.Is(err, ax.ErrNoTask):
		t.Errorf("Get(%q) = %v, %v, want ErrNoTask", id, got, err)
	case want != nil && err != nil:
		t.Errorf("Get(%q) = %v, want the task", id, err)
	case want != nil:
		t.same(fmt.Sprintf("Get(%q)", id), got, want)
	}
}

// same checks that two values are equal in every field; nil and empty slices and maps are.
func (t *T) same(what string, got, want any) {
	if diff := Diff(got, want); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}
