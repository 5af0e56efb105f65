package maui

import "slices"

// choice says which waiting jobs are looked at, by policies and limits.
type choice struct {
	*cluster
	*limits
	*desk
}

// selectAll lists the jobs that the policies let wait for a start, in order of
// priority.
func (r *choice) selectAll(hard bool) (list []*job) {
	r.idle = usages{}
	full := r.Config.Accrual == "FULLPOLICY"
	for _, j := range r.jobs {
		if j.State != JobIdle && j.State != JobSuspended {
			continue
		}
		switch {
		case j.State == JobIdle && (j.deferred > r.now || j.held != ""),
			r.Config.Weights.RejectNegative && j.priority < 0:
			if full {
				j.since = r.now
			}
			r.release(j)
		case max(j.Begin, j.earliest) > r.now:
			r.release(j)
		case j.procs > r.procs:
			r.deferJob(j)
		case j.State == JobSuspended: // waits for its own nodes, whatever else waits
			if r.within(j, hard, limitsActive|limitsSystem) {
				list = append(list, j)
			}
		case !j.wanted && !r.within(j, hard, limitsActive|limitsIdle|limitsSystem): // who has a reservation waits by right
			if hard && r.Config.Accrual != "ALWAYS" {
				j.since = r.now
			}
		default:
			r.idle.add(r.credentials(j), r.consumption(j), 1)
			list = append(list, j)
		}
	}
	return list
}

// selection says which jobs of a list are looked at.
type selection struct {
	hard  bool
	whole bool  // for the whole cluster and any time: a job that violates a policy loses its reservation
	home  bool  // only jobs whose first partition this is
	part  *part // nil: any
	procs int64 // of the window, where not whole
	span  int64
}

// selectJobs lists the jobs that may start now by policy, partition and size.
func (r *choice) selectJobs(from []*job, by selection) (list []*job) {
	for _, j := range from {
		if j.State != JobIdle && j.State != JobSuspended || j.deferred > r.now {
			continue
		}
		if p := by.part; p != nil && (!j.mayUse(p) || j.procs > p.procs || by.home && p.name != "DEFAULT") {
			continue
		}
		if !by.whole && (j.procs > by.procs || j.Limit > by.span) {
			continue
		}
		if !r.within(j, by.hard, limitsActive) || r.capped(j) {
			if by.whole {
				r.release(j)
			}
			continue
		}
		list = append(list, j)
	}
	return list
}

// mayUse tells whether a job may run in a partition.
func (j *job) mayUse(p *part) bool {
	return len(j.Partitions) == 0 || slices.Contains(j.Partitions, p.name)
}

// candidates lists the jobs that may be backfilled into a window.
func (r *choice) candidates(list []*job, by selection) (out []*job) {
	for _, j := range r.selectJobs(list, by) {
		if j.reserved != nil || contains(j.qos.Flags, "NOBF") || j.State != JobIdle {
			continue
		}
		out = append(out, j)
		if r.Config.BackfillDepth > 0 && len(out) >= r.Config.BackfillDepth {
			break
		}
	}
	return out
}
