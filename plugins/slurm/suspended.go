package slurm

import (
	"strings"

	"gridbroker/batch"
)

// suspends are the partitions whose jobs Slurm suspends by itself for others (slurm.conf(5),
// PreemptMode): these are given the processors back, and no other job of the partition gets them.
func (c *cluster) suspends() map[string]bool {
	of := map[string]bool{}
	for _, p := range c.parts {
		mode := strings.ToUpper(p["PreemptMode"])
		of[p["PartitionName"]] = strings.Contains(mode, "SUSPEND") || strings.Contains(mode, "GANG")
	}
	return of
}

// lasts takes in of a job that runs when Slurm says that it will end: later than its limit says
// where it was suspended. What is suspended now has given its processors up, but where Slurm does
// that by itself.
func (e *entry) lasts(j *batch.Job, itself map[string]bool) {
	if e.state != "RUNNING" && e.state != "SUSPENDED" {
		return
	}
	if end := unix(e.end); j.Requested > 0 && end.After(j.Started.Add(j.Requested)) {
		j.Requested = end.Sub(j.Started)
	}
	j.Suspended, j.Paused = e.state == "SUSPENDED" && !itself[j.Queue], e.state == "SUSPENDED" && itself[j.Queue]
}

// occupied is how many processors a job that runs has.
func occupied(j *batch.Job) int {
	if j.Suspended {
		return 0
	}
	return j.Procs
}
