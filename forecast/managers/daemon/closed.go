package daemon

import "gridbroker/forecast/managers"

// free is what the own system has beside what is held; the mutex is held.
func free(d *Daemon) managers.Resources {
	free := d.config.Total
	for _, a := range d.held {
		free = free.Less(a.Job.Need)
	}
	return free
}

// shut keeps the own system from jobs, since assignments could not be kept,
// and lets these jobs wait or go elsewhere: nothing was offered. The mutex is held.
func shut(d *Daemon, starts []*assignment, cause error) {
	d.config.Log.Error("assignments not kept: the system takes no jobs until they can be", "jobs", len(starts), "error", cause)
	d.closed = true
	for _, a := range starts {
		delete(d.held, a.Job.Key())
	}
	total := d.config.Total
	d.carryOut(d.manager.Resize(now(), total, total.Less(total)))
	for _, a := range starts {
		d.carryOut(d.manager.Submit(now(), a.Job))
	}
}

// reopen writes all that is held anew after a write has failed, and lets jobs in
// again.
func reopen(d *Daemon) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.keep.broken || d.keep.rewrite(d.held) != nil || !d.closed {
		return
	}
	d.config.Log.Info("assignments are kept again: the system takes jobs")
	d.closed = false
	d.carryOut(d.manager.Resize(now(), d.config.Total, free(d)))
}
