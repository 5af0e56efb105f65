package htcondor

import (
	"fmt"
	"strings"
)

// whyNever says why no slot could ever start a job, empty as it may be; "" one
// could. HTCondor would take the job and leave it idle for ever.
func whyNever(slots []slot, r request) string {
	if len(slots) == 0 {
		return ""
	}
	job := r.record()
	large, in := false, false
	for _, s := range slots {
		fits, open := s.couldHold(r), s.takes(job)
		if fits && open {
			return ""
		}
		large, in = large || fits, in || open
	}
	if !large {
		return "no slot is large enough: " + strings.Join(r.best(slots), ", ")
	}
	if !in {
		return "START of every slot refuses the job"
	}
	return "START of every slot that is large enough refuses the job"
}

// best tells what the slots offer at most of each thing that is lacking, and
// where each is there, but in no one slot, of all.
func (r request) best(slots []slot) []string {
	var lacking, all []string
	for _, need := range []struct {
		attr, unit string
		want       int64
	}{{"TotalSlotCpus", "cores", r.cpus}, {"TotalSlotMemory", "MB", r.memory}, {"TotalSlotDisk", "kB of disk", r.disk}, {"TotalSlotGPUs", "GPUs", r.gpus}} {
		var most int64
		for _, s := range slots {
			most = max(most, s.integer(need.attr))
		}
		said := fmt.Sprintf("%d %s asked for, %d %s at most", need.want, need.unit, most, need.unit)
		all = append(all, said)
		if most < need.want {
			lacking = append(lacking, said)
		}
	}
	if len(lacking) == 0 {
		return append(all, "never all in one")
	}
	return lacking
}
