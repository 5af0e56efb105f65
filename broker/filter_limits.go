package broker

import (
	"math"
	"strings"

	"gridbroker/glue"
	"gridbroker/jdl"
)

// wallTime checks the queue's limits on wall time.
func (r *Rules) wallTime(job *jdl.Job, res *glue.Resource) *Reason {
	need := job.Demand.WallTime
	if why := r.atMost("maximal wall time", need.Seconds(), unlessFree(res, glue.LimitWallTime, seconds(res.MaxWallTime)), Seconds); why != nil {
		return why
	}
	if low := res.MinWallTime; need > 0 && low.OK && need < low.V {
		return &Reason{Want: period(Quantity, need), Have: period(AtLeast, low.V)}
	}
	return nil
}

// cpuTime checks the queue's limit on CPU time.
func (r *Rules) cpuTime(job *jdl.Job, res *glue.Resource) *Reason {
	return r.atMost("maximal CPU time", job.Demand.CPUTime.Seconds(), unlessFree(res, glue.LimitCPUTime, seconds(res.MaxCPUTime)), Seconds)
}

// unlessFree is a limit, beyond every need where the resource says that it has none.
func unlessFree(res *glue.Resource, l glue.Limits, limit glue.Opt[float64]) glue.Opt[float64] {
	if !limit.OK && res.Free(l) {
		return glue.Some(math.Inf(1))
	}
	return limit
}

// memory checks the share's limit and the node's size: each that is
// published must suffice.
func (r *Rules) memory(job *jdl.Job, res *glue.Resource) *Reason {
	main := smaller(res.MaxMemory, res.MainMemory)
	if why := r.atMost("memory", float64(job.Demand.Memory), float(main), Megabytes); why != nil {
		return why
	}
	virtual := smaller(res.MaxVirtualMemory, res.VirtualMemory)
	return r.atMost("virtual memory", float64(job.Demand.VirtualMemory), float(virtual), Megabytes)
}

// smaller is the smaller of those published.
func smaller(a, b glue.Opt[int64]) glue.Opt[int64] {
	if !a.OK || b.OK && b.V < a.V {
		return b
	}
	return a
}

// slots checks how many processors a job may have, in all and on one node,
// and GPUs.
func (r *Rules) slots(job *jdl.Job, res *glue.Resource) *Reason {
	d := job.Demand
	if d.Slots > 1 {
		limit := smaller(res.MaxSlotsPerJob, res.TotalSlots)
		if !limit.OK {
			limit = smaller(res.LogicalCPUs, res.PhysicalCPUs)
		}
		if why := r.atMost("slots per job", float64(d.Slots), float(limit), Slots); why != nil {
			return why
		}
	}
	if d.SlotsPerNode > 1 {
		if why := r.atMost("processors of a node", float64(d.SlotsPerNode), float(res.SMPSize), SlotsOnNode); why != nil {
			return why
		}
	}
	return r.gpus(job, res)
}

// gpus keeps what has as many GPUs in a node, those of a job of several nodes
// being spread over them. What publishes none has none,
// whatever is thought of other values that are not published: nearly no queue
// has any, and those that do say so. Resources that describe themselves without
// GPUs (a scheduler in between) are asked.
func (r *Rules) gpus(job *jdl.Job, res *glue.Resource) *Reason {
	if job.Demand.GPUs > 0 && !res.GPUs.OK && res.Schema != "self" {
		return &Reason{Want: amount(float64(job.Demand.GPUs), GPUs), Have: Fact{Kind: NonePublished, Name: "GPUs"}, Unknown: true}
	}
	return r.atMost("GPUs", float64(job.Demand.GPUsPerNode()), float(res.GPUs), GPUs)
}

// disk checks the share's limit on working space.
func (r *Rules) disk(job *jdl.Job, res *glue.Resource) *Reason {
	return r.atMost("disk", float64(job.Demand.Disk), unlessFree(res, glue.LimitDisk, float(res.MaxDisk)), Megabytes)
}

// inQueue checks the queue's name.
func inQueue(job *jdl.Job, res *glue.Resource) *Reason {
	if q := job.Demand.Queue; q != "" && !strings.EqualFold(q, res.Queue) {
		return &Reason{Want: Fact{Kind: InQueue, Name: q}, Have: named(res.Queue)}
	}
	return nil
}

// environments checks runtime environment tags, without regard to case, with
// their versions where the job bounds them.
func (r *Rules) environments(job *jdl.Job, res *glue.Resource) *Reason {
	for _, want := range job.Demand.RuntimeEnvironments {
		if len(res.RuntimeEnvironments) == 0 {
			return &Reason{Want: named(want), Have: Fact{Kind: NonePublished, Name: "tags"}, Unknown: true}
		}
		if _, ok := jdl.ParseEnvironmentWish(want).Best(res.RuntimeEnvironments); !ok {
			return &Reason{Want: named(want), Have: nearTag(res.RuntimeEnvironments, want)}
		}
	}
	return nil
}

// nearTag names the tag that shares the longest beginning with the wanted
// one: mostly another version of the same software.
func nearTag(tags []string, want string) Fact {
	nearest, longest := "", 0
	for _, tag := range tags {
		n := 0
		for n < len(tag) && n < len(want) && lower(tag[n]) == lower(want[n]) {
			n++
		}
		if n > longest {
			nearest, longest = tag, n
		}
	}
	if longest < 4 {
		return Fact{Kind: OtherTags, Amount: float64(len(tags))}
	}
	return named(nearest)
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
}
