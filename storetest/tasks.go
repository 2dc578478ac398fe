package storetest

import (
	"fmt"
	"math"
	"slices"

	"github.com/axsched/ax"
)

// taskCases are about live tasks: what a batch does to them, and that they come back as they went in.
func taskCases() []Case {
	return []Case{
		{"task/create", "Create adds live tasks, and Get returns them", func(t *T) {
			o := t.own(0)
			a, b := t.task(0, "a"), t.task(0, "b")
			o.must(ax.Batch{Create: []*ax.Task{a, b}})
			t.get(a.ID, a)
			t.get(b.ID, b)
			t.get(t.id(0, "c"), nil)
			o.holds(ax.IndexDue, a.ID, b.ID)
		}},
		{"task/move", "Move gives a live task new values in the fields from State on, and Due", func(t *T) {
			o := t.own(0)
			a := t.fullTask(0, "a", ax.Scheduled)
			o.must(ax.Batch{Create: []*ax.Task{a, t.task(0, "b")}})
			other := filled[ax.Task](2)
			a = with(a, func(m *ax.Task) {
				m.State, m.Marks, m.Boot, m.Run, m.Attempt = ax.Running, other.Marks, other.Boot, other.Run, other.Attempt
				m.Due, m.At, m.BootAt, m.Last = other.Due, other.At, other.BootAt, other.Last
			})
			o.must(ax.Batch{Move: []*ax.Task{a}})
			t.get(a.ID, a)
			o.holds(ax.IndexRunning, a.ID)
			o.holds(ax.IndexDue, t.id(0, "b"))
			a = with(a, func(m *ax.Task) { m.Last, m.Marks, m.Boot, m.BootAt, m.Attempt = nil, 0, 0, 0, 0 })
			o.must(ax.Batch{Move: []*ax.Task{a}})
			t.get(a.ID, a) // back to zero too
		}},
		{"task/move-absent", "a batch that moves a task which is not live is refused with ErrInvalid", func(t *T) {
			o := t.own(0)
			t.refused("Move of a task that was never there", o.apply(ax.Batch{Move: []*ax.Task{t.task(0, "a")}}), ax.ErrInvalid)
			t.get(t.id(0, "a"), nil)
			o.must(ax.Batch{Create: []*ax.Task{t.task(0, "a")}})
			t.refused("Move of a task that the same batch deletes",
				o.apply(ax.Batch{Delete: []string{t.id(0, "a")}, Move: []*ax.Task{t.task(0, "a")}}), ax.ErrInvalid)
			t.get(t.id(0, "a"), t.task(0, "a"))
			o.must(ax.Batch{Delete: []string{t.id(0, "a")}})
			t.refused("Move of a task that was deleted", o.apply(ax.Batch{Move: []*ax.Task{t.task(0, "a")}}), ax.ErrInvalid)
		}},
		{"task/delete", "Delete removes a live task; removing what is not there is passed over, in every list", func(t *T) {
			o := t.own(0)
			a, b := t.task(0, "a"), t.task(0, "b")
			o.must(ax.Batch{Create: []*ax.Task{a, b}})
			o.must(ax.Batch{Delete: []string{t.id(0, "x"), a.ID}, Forget: []string{"x"}, Admit: []string{"x"}, DropJobs: []string{"x"},
				DropInst: []string{"x"}, DropWhy: []string{"x"}, Relayed: []string{"x"}, Filed: []string{"x"}})
			t.get(a.ID, nil)
			t.get(b.ID, b)
			o.holds(ax.IndexDue, b.ID)
		}},
		{"task/next-run", "Create replaces a task of that id that is there, whatever its state: by its next run", func(t *T) {
			o := t.own(0)
			a := t.fullTask(0, "a", ax.Success)
			o.must(ax.Batch{Create: []*ax.Task{a}})
			next := with(a, func(n *ax.Task) { n.Run, n.State, n.At, n.Kind = 2, ax.Scheduled, start, "other" })
			o.must(ax.Batch{Create: []*ax.Task{next}})
			t.get(a.ID, next)
			o.holds(ax.IndexEnded)
			o.holds(ax.IndexDue, a.ID)
			again := with(next, func(n *ax.Task) { n.State, n.Hash = ax.Created, 99 })
			o.must(ax.Batch{Create: []*ax.Task{again}})
			t.get(a.ID, again)
			o.holds(ax.IndexDue)
			o.holds(ax.IndexWaiting, a.ID)
		}},
		{"task/order", "order inside a batch: deletes, creates, moves", func(t *T) {
			o := t.own(0)
			o.must(ax.Batch{Create: []*ax.Task{t.task(0, "a")}})
			fresh := with(t.task(0, "a"), func(n *ax.Task) { n.Hash, n.Payload = 8, []byte("new") })
			o.must(ax.Batch{Delete: []string{fresh.ID}, Create: []*ax.Task{fresh, t.task(0, "b")}, Move: []*ax.Task{in(t.task(0, "b"), ax.Running)}})
			t.get(fresh.ID, fresh)
			t.get(t.id(0, "b"), in(t.task(0, "b"), ax.Running))
			o.holds(ax.IndexDue, fresh.ID)
			o.holds(ax.IndexRunning, t.id(0, "b"))
		}},
		{"task/finish", "for a Finisher: Finish files a task that has ended, and it is live no longer if it was, in one batch", func(t *T) {
			f, ok := t.Store.(ax.Finisher)
			t.Need(ok, "the store is no Finisher")
			o := t.own(0)
			a, b, c := t.fullTask(0, "a", ax.Success), t.task(0, "b"), in(t.task(0, "c"), ax.Failed)
			o.must(ax.Batch{Create: []*ax.Task{in(a, ax.Running), in(b, ax.Running), t.task(0, "d")}})
			filed := func(id string, want ...*ax.Task) {
				got, _, err := f.Archive().Get(t.ctx, id)
				if want == nil {
					t.refused("Get of "+id+" from the archive", err, ax.ErrNoTask)
					return
				}
				t.same("the archive's runs of "+id, got, want)
			}
			bad := ax.Batch{Finish: []*ax.Task{a, in(b, ax.Canceled), c}, Move: []*ax.Task{t.task(0, "absent")}}
			t.refused("a batch with an impossible move", o.apply(bad), ax.ErrInvalid)
			filed(a.ID)
			filed(c.ID)
			o.holds(ax.IndexRunning, a.ID, b.ID)
			next := with(b, func(n *ax.Task) { n.Run = 2 }) // finishes come before creates
			o.must(ax.Batch{Finish: []*ax.Task{a, in(b, ax.Canceled), c}, Create: []*ax.Task{next}})
			t.get(a.ID, nil)
			t.get(b.ID, next)
			t.get(c.ID, nil) // it was never live: it came and ended between two batches
			filed(a.ID, a)
			filed(b.ID, in(b, ax.Canceled))
			filed(c.ID, c)
			o.holds(ax.IndexEnded)
			o.holds(ax.IndexRunning)
			o.holds(ax.IndexDue, b.ID, t.id(0, "d"))
			o.must(ax.Batch{Finish: []*ax.Task{in(next, ax.Success)}})
			filed(b.ID, in(next, ax.Success), in(b, ax.Canceled))
			o.holds(ax.IndexDue, t.id(0, "d"))
		}},
		{"task/fields", "every field of a task comes back as it went in, its linked attempts too", func(t *T) {
			o := t.own(0)
			for _, s := range []ax.State{ax.Created, ax.Scheduled, ax.Running, ax.Held, ax.Success, ax.Failed, ax.Timeout, ax.Canceled} {
				full := t.fullTask(0, s.String(), s)
				o.must(ax.Batch{Create: []*ax.Task{full}})
				t.get(full.ID, full)
			}
			least := &ax.Task{ID: t.id(0, "least"), Kind: "k", State: ax.Scheduled, Run: 1}
			most := with(t.fullTask(0, "most", ax.Scheduled), func(m *ax.Task) {
				m.Hash, m.Seq, m.BootAt, m.At, m.Due = math.MaxUint64, math.MaxUint64, math.MinInt64, ax.MaxTime, ax.MaxTime
				m.Priority, m.MaxRetries, m.Timeout = ax.P(99), math.MaxInt16, math.MaxUint32
			})
			o.must(ax.Batch{Create: []*ax.Task{least, most}})
			t.get(least.ID, least)
			t.get(most.ID, most)
			o = t.own(0)
			for _, i := range []ax.Index{ax.IndexDue, ax.IndexWaiting, ax.IndexRunning, ax.IndexHeld, ax.IndexEnded} {
				for _, got := range o.scan(i).Tasks {
					want := most
					if got.ID == least.ID {
						want = least
					} else if got.ID != most.ID {
						want = t.fullTask(0, got.State.String(), got.State)
					}
					t.same("Scan "+got.ID, got, want)
				}
			}
		}},
		{"task/payload", "a payload comes back byte for byte: empty, 256 KiB, every byte, no UTF-8", func(t *T) {
			o := t.own(0)
			for name, b := range payloads() {
				id := t.id(0, fmt.Sprint("p", len(name), name[0]))
				a := &ax.Task{ID: id, Kind: "k", State: ax.Running, Run: 1, Payload: b, Last: &ax.Attempt{Run: 1, N: 1, Result: b[:min(len(b), ax.MaxResult)]}}
				o.must(ax.Batch{Create: []*ax.Task{a}})
				got, err := t.Store.Get(t.ctx, id)
				if err != nil {
					t.Fatalf("Get of the task with payload %s: %v", name, err)
				}
				t.same(name, got, a)
			}
		}},
		{"task/ids", "ids that differ in separators, case or length are different ids", func(t *T) {
			o := t.own(0)
			key := t.id(0, "")
			var tasks []*ax.Task
			for i, rest := range []string{"a", "A", "a.b", "a:b", "a-b", "a_b", "a.b.", "ab", "a.", "@a", "@a#1", "@a#10", "@a#2", "!a", "@a~b", "..a", "%61", "a b", "a*", "a?", "[a]"} {
				tasks = append(tasks, &ax.Task{ID: key + rest, Kind: "k", State: ax.Created, Run: 1, Hash: uint64(i)})
			}
			tasks = append(tasks, &ax.Task{ID: key[:len(key)-1], Kind: "k", State: ax.Created, Run: 1, Hash: 100}) // the key itself
			o.must(ax.Batch{Create: tasks})
			var want []string
			for _, a := range tasks {
				t.get(a.ID, a)
				want = append(want, a.ID)
			}
			slices.Sort(want)
			o.holds(ax.IndexWaiting, want...)
			o.must(ax.Batch{Delete: []string{key + "a"}})
			for _, a := range tasks[1:] {
				t.get(a.ID, a)
			}
		}},
		{"task/states", "a task is in the one index of its state: due, waiting, running, held, ended", func(t *T) {
			o := t.own(0)
			where := map[ax.State]ax.Index{ax.Created: ax.IndexWaiting, ax.Scheduled: ax.IndexDue, ax.Running: ax.IndexRunning, ax.Held: ax.IndexHeld,
				ax.Success: ax.IndexEnded, ax.Failed: ax.IndexEnded, ax.Timeout: ax.IndexEnded, ax.Canceled: ax.IndexEnded}
			a := t.task(0, "a")
			o.must(ax.Batch{Create: []*ax.Task{a}})
			for _, s := range []ax.State{ax.Created, ax.Scheduled, ax.Running, ax.Held, ax.Running, ax.Scheduled, ax.Success, ax.Failed, ax.Timeout, ax.Canceled, ax.Created} {
				o.must(ax.Batch{Move: []*ax.Task{in(a, s)}})
				for _, i := range []ax.Index{ax.IndexDue, ax.IndexWaiting, ax.IndexRunning, ax.IndexHeld, ax.IndexEnded} {
					if found := len(o.scan(i).Tasks) == 1; found != (i == where[s]) {
						t.Errorf("a task %v is in index %d: %v, want %v", s, i, found, !found)
					}
				}
			}
		}},
	}
}
