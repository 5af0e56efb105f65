package scheduler

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"gridbroker/forecast/scheduler/plan"
)

// A job with large input files, or a site that takes them slowly: sending takes longer than until
// the slots that are booked for others. How long is learned for the job and the cluster, and the
// next slot there is that far ahead. It may be later than the agent's word is good for: the
// chances of slots tell what that is worth, and the site holds the job until then.

// tooSlow tells whether a job was still being sent when its slot began, so that it cannot have
// been there in time.
func tooSlow(w *work, j *Job, r result) bool {
	limit := w.now.Add(-w.s.conf.Grace / 2).Unix()
	return !j.Booking.Turn && (r.Late || r.Seconds > minLead.Seconds() && j.Booking.From < limit)
}

// slowly notes how long that took; what was never done took longer than there was time.
func slowly(w *work, j *Job, r result) {
	p, took := j.Booking, int64(r.Seconds)
	if r.Late {
		took = 2 * (w.now.Unix() - p.Made)
	}
	if took <= j.Leads[p.Cluster] {
		return
	}
	if took > int64(w.s.conf.Horizon/time.Second)/2 { // slots are foreseen no farther
		avoid(w, j, p.Cluster, neverAgain)
		w.say(j, p.Cluster, "slow", "sending it to %s takes longer than slots are foreseen for (%s): it is not sent there again", p.Cluster, short(w.s.conf.Horizon))
		return
	}
	if j.Leads == nil {
		j.Leads = map[string]int64{}
	}
	j.Leads[p.Cluster] = took
	w.change(j)
	w.say(j, p.Cluster, "slow", "sending it to %s took %s, and its slot began before that: its next slot there is that far ahead", p.Cluster, short(time.Duration(took)*time.Second))
}

// neverAgain is for how long a cluster is avoided to which a job cannot be sent in time.
const neverAgain = 7 * 24 * time.Hour

// avoid keeps a job from a cluster for a time.
func avoid(w *work, j *Job, cluster string, d time.Duration) {
	if j.Avoid == nil {
		j.Avoid = map[string]int64{}
	}
	j.Avoid[cluster] = max(j.Avoid[cluster], w.now.Add(d).Unix())
	w.change(j)
}

// lead is how far ahead a job is sent to a cluster, in seconds: a quarter more than it took
// before, since networks are no clocks; 0: as every job.
func (j *Job) lead(cluster string) int64 { return j.Leads[cluster] * 5 / 4 }

// leads tells the planner of a job's.
func (in *inputs) leads(j *Job) (list []plan.Lead) {
	if len(j.Leads) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(j.Leads)) {
		at, there := slices.BinarySearchFunc(in.clusters, name, func(c *cluster, name string) int { return cmp.Compare(c.name, name) })
		if there {
			list = append(list, plan.Lead{Cluster: uint16(at), Seconds: seconds(j.lead(name)) + in.rules.Clusters[at].TMin})
		}
	}
	return list
}
