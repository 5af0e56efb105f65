package htcondor

import (
	"maps"
	"strconv"

	"gridbroker/batch"
)

// factory is a cluster whose jobs the schedd makes as others go (late
// materialisation).
type factory struct {
	like  ad    // one of its jobs
	most  int64 // jobs of it that are in the queue at once (max_materialize); 0: any number
	stuck int64 // jobs of it that are in the queue and will not run: held, or ended and left there
}

// factoriesOf finds the factories among the jobs of a schedd, by cluster.
func factoriesOf(jobs []ad) map[int64]*factory {
	all := map[int64]*factory{}
	for _, j := range jobs {
		if _, made := j["JobMaterializeNextProcId"]; !made {
			continue
		}
		id := j.integer("ClusterId")
		f := all[id]
		if f == nil {
			f = &factory{}
			all[id] = f
		}
		f.like, f.most = j, max(0, j.integer("JobMaterializeLimit"))
		switch j.integer("JobStatus") {
		case statusIdle, statusRunning, statusTransferring, statusSuspended:
		default:
			f.stuck++
		}
	}
	return all
}

// bind says of a job of the factory, which may be nil, how many of them run at
// once: no more than are in the queue, where those that do not run keep their
// places.
func (f *factory) bind(b *batch.Job) {
	if f == nil || f.most == 0 {
		return
	}
	b.Array, b.ArrayLimit = strconv.FormatInt(f.like.integer("ClusterId"), 10), int(min(max(1, f.most-f.stuck), maxUnmaterialised))
}

// closed reports whether the factory makes no jobs: it is paused, as by a hold
// of the cluster, or jobs that do not run have all its places.
func (f *factory) closed() bool {
	return f.like.integer("JobMaterializePaused") != 0 || f.most > 0 && f.stuck >= f.most
}

// maxUnmaterialised bounds the jobs that are made up.
const maxUnmaterialised = 200_000

// unmaterialised are the jobs that the schedd has still to make, at most so many:
// like the one that is there.
func (f *factory) unmaterialised(most int, where places) []batch.Job {
	var jobs []batch.Job
	total := f.like.amount("TotalSubmitProcs")
	for n := f.like.amount("JobMaterializeNextProcId"); n < total && len(jobs) < most; n++ {
		later := maps.Clone(f.like)
		later["ProcId"], later["JobStatus"] = float64(n), float64(statusIdle)
		if j, ok := queuedJob(later); ok {
			f.bind(&j)
			where.bind(&j, later)
			j.Held = f.closed()
			jobs = append(jobs, j)
		}
	}
	return jobs
}
