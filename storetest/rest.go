package storetest

import (
	"fmt"

	"github.com/axsched/ax"
)

// restCases are about the other records of a partition: jobs, instances, reasons, outgoing entries, facts.
func restCases() []Case {
	return []Case{
		{"rest/fields", "job states, instances, reasons, outgoing entries and facts come back with every field", func(t *T) {
			o := t.own(0)
			inst := filled[ax.Instance](1)
			b := ax.Batch{Jobs: []ax.JobState{filled[ax.JobState](1)}, Instances: []*ax.Instance{&inst}, Reasons: []ax.Reason{filled[ax.Reason](1)},
				Outgoing: []ax.Outgoing{filled[ax.Outgoing](1)}, Facts: []ax.Fact{filled[ax.Fact](1)}}
			o.must(b)
			o = t.own(0)
			t.same("jobs", o.scan(ax.IndexJobs).Jobs, b.Jobs)
			t.same("instances", o.scan(ax.IndexInstances).Instances, b.Instances)
			t.same("reasons", o.scan(ax.IndexReasons).Reasons, b.Reasons)
			t.same("outgoing", o.scan(ax.IndexOutgoing).Outgoing, b.Outgoing)
			t.same("facts", o.scan(ax.IndexFacts).Facts, b.Facts)
		}},
		{"rest/whole", "job states and instance records are written whole: zero values replace", func(t *T) {
			o := t.own(0)
			job, inst := filled[ax.JobState](1), filled[ax.Instance](1)
			o.must(ax.Batch{Jobs: []ax.JobState{job}, Instances: []*ax.Instance{&inst}})
			want := ax.Batch{Jobs: []ax.JobState{{UID: job.UID, Cursor: 1}}, Instances: []*ax.Instance{{ID: inst.ID, Made: 2}}}
			o.must(want)
			t.same("the job", o.scan(ax.IndexJobs).Jobs, want.Jobs)
			t.same("the instance", o.scan(ax.IndexInstances).Instances, want.Instances)
			o.must(ax.Batch{DropJobs: []string{job.UID}, DropInst: []string{inst.ID}})
			o.holds(ax.IndexJobs)
			o.holds(ax.IndexInstances)
		}},
		{"rest/fire", "a fire is one batch: the job's cursor, the instance, its shards, the reason for what did not run, and the follow-up elsewhere", func(t *T) {
			o := t.own(0)
			uid := t.id(0, "")
			uid = uid[:len(uid)-1]
			at := start
			inst := ax.FireID(uid, at)
			out := ax.Outgoing{To: ax.Partition(t.Partitions - 1), Entry: request("follow-1", ax.VerbFollowUp, "other-job")}
			b := ax.Batch{Jobs: []ax.JobState{{UID: uid, Cursor: at, Runs: 1}}, Instances: []*ax.Instance{{ID: inst, Job: uid, Fire: at, Total: 2, Made: 2, State: ax.Running}},
				Reasons: []ax.Reason{{Job: uid, Revision: 3, From: at - 60, To: at - 60, Count: 1, Code: "misfire"}}, Outgoing: []ax.Outgoing{out}}
			for i := range int32(2) {
				b.Create = append(b.Create, &ax.Task{ID: ax.ShardID(inst, i), Kind: "k", State: ax.Scheduled, Run: 1, At: at, Extra: &ax.Extra{Shard: &ax.Shard{Index: i, Total: 2, Params: "p"}}})
			}
			broken := b
			broken.Move = []*ax.Task{t.task(0, "absent")}
			t.refused("a fire with an impossible move", o.apply(broken), ax.ErrInvalid)
			for _, i := range indexes {
				if n := items(o.scan(i)); n != 0 {
					t.Errorf("the refused fire left %d items in index %d", n, i)
				}
			}
			o.must(b)
			o = t.own(0)
			o.holds(ax.IndexJobs, uid)
			o.holds(ax.IndexInstances, inst)
			o.holds(ax.IndexDue, ax.ShardID(inst, 0), ax.ShardID(inst, 1))
			o.holds(ax.IndexOutgoing, "follow-1")
			for _, s := range b.Create {
				t.get(s.ID, s)
			}
			t.submit(out.To, out.Entry) // relayed, twice for want of knowing better
			t.submit(out.To, out.Entry)
			o.must(ax.Batch{Relayed: []string{"follow-1"}})
			o.holds(ax.IndexOutgoing)
			if out.To == 0 {
				o.holds(ax.IndexInbox, "follow-1")
			} else {
				t.own(out.To).holds(ax.IndexInbox, "follow-1")
				o.holds(ax.IndexInbox)
			}
		}},
		{"rest/reasons", "a reason is a range, by Reason.Name; one that continues a range has its From, thus its Name, and replaces it", func(t *T) {
			o := t.own(0)
			r := ax.Reason{Job: "job", Revision: 2, From: start, To: start, Count: 1, Code: "paused"}
			o.must(ax.Batch{Reasons: []ax.Reason{r}})
			for i := range 5 { // a year of downtime is one record
				r.To, r.Count = start+ax.Time(i*100), int64(i+2)
				o.must(ax.Batch{Reasons: []ax.Reason{r}})
			}
			t.same("a range that was extended", o.scan(ax.IndexReasons).Reasons, []ax.Reason{r})
			others := []ax.Reason{r, r, r, r}
			others[0].Code, others[1].From, others[2].Revision, others[3].Job = "overlap", start+1000, 10, "job2"
			o.must(ax.Batch{Reasons: others})
			o.holds(ax.IndexReasons, others[0].Name(), r.Name(), others[1].Name(), others[2].Name(), others[3].Name())
			o.must(ax.Batch{DropWhy: []string{r.Name(), others[3].Name()}})
			o.holds(ax.IndexReasons, others[0].Name(), others[1].Name(), others[2].Name())
		}},
		{"rest/facts", "facts are kept in the order they were written until they are filed", func(t *T) {
			o := t.own(0)
			for i := range 5 {
				o.must(ax.Batch{Facts: []ax.Fact{{ID: fmt.Sprint("f", 9-i), At: start - ax.Time(i)}, {ID: fmt.Sprint("g", i), At: start}}})
			}
			o.holds(ax.IndexFacts, "f9", "g0", "f8", "g1", "f7", "g2", "f6", "g3", "f5", "g4")
			o.must(ax.Batch{Filed: []string{"g0", "f7", "f9", "g4"}, Facts: []ax.Fact{{ID: "a"}}})
			o = t.own(0)
			o.holds(ax.IndexFacts, "f8", "g1", "g2", "f6", "g3", "f5", "a")
		}},
		{"rest/outgoing", "outgoing entries are kept until relayed, by entry id", func(t *T) {
			o := t.own(0)
			for _, id := range []string{"c", "a", "b"} {
				o.must(ax.Batch{Outgoing: []ax.Outgoing{{To: 0, Entry: request(id, ax.VerbFollowUp, "x")}}})
			}
			o.holds(ax.IndexOutgoing, "a", "b", "c")
			o.holds(ax.IndexInbox) // the relay puts them there, not the store
			o.must(ax.Batch{Relayed: []string{"a", "c"}})
			o.holds(ax.IndexOutgoing, "b")
		}},
	}
}
