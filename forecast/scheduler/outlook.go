package scheduler

import (
	"cmp"
	"slices"
)

// foreseen is where a job is likely to go.
type foreseen struct {
	job   *Job
	place *Place
}

// maxOutlooks bounds the outlooks that one cycle writes: with a long queue most
// of them move a little in every cycle, which would cost more than all else.
const maxOutlooks = 5000

// foreseen tells whether a job has an outlook already that is as good as one of a cluster and a start: small changes are not
// worth writing.
func (j *Job) foreseen(cluster string, from int64) bool {
	old := j.Outlook
	return old != nil && old.Cluster == cluster && max(old.From-from, from-old.From) <= 60
}

// outlooks keeps where jobs are likely to go that have no such outlook. Where there are more than a cycle writes, those
// come first that have none, then the oldest: each has its turn.
func (w *work) outlooks(list []foreseen) {
	if len(list) > maxOutlooks {
		slices.SortStableFunc(list, func(a, b foreseen) int { return cmp.Compare(a.job.Outlook.age(), b.job.Outlook.age()) })
		list = list[:maxOutlooks]
	}
	for _, f := range list {
		f.job.Outlook = f.place
		w.change(f.job)
	}
	w.report.Outlooks = len(list)
}

// age is when an outlook was made; 0: there is none.
func (p *Place) age() int64 {
	if p == nil {
		return 0
	}
	return p.Made
}
