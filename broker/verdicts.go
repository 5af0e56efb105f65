package broker

import (
	"fmt"
	"slices"
	"strings"

	"gridbroker/jdl"
)

// verdicts are what filters said of every resource, for jobs that are alike in
// what the filter looks at: of many jobs with different Requirements most are
// alike in all else. Those of several plans are renewed for records that changed.
type verdicts struct {
	of        map[FilterName]map[string]*verdict
	since     []int // by row: the plan from which on its record is this one; nil: there is one plan
	plan      int
	published map[string]*published // by name in lower case, what filters read
}

// verdict is what one filter said for jobs that are alike.
type verdict struct {
	passes []uint64 // a bit a resource
	plan   int      // the last one for which it was looked at
	reads  []*published
}

func (v *verdict) put(row int, passes bool) {
	if v.passes[row/64] &^= 1 << (row % 64); passes {
		v.passes[row/64] |= 1 << (row % 64)
	}
}

// maxVerdicts bounds how many a filter may have; each is a bit a resource.
const maxVerdicts = 64

// knows says whether verdicts of a filter are kept.
func (v *verdicts) knows(f *Filter) bool {
	return v != nil && f.Of != nil && (v.since == nil || !f.Timed)
}

// standing says whether verdicts are kept for plans to come.
func (v *verdicts) standing() bool { return v != nil && v.since != nil }

// pass returns the rows that are left and that the filter lets pass. The first
// jobs are judged over all resources, for those that come after them.
func (v *verdicts) pass(m *Match, f *Filter, key string) []int32 {
	of := v.of[f.Name]
	if of == nil {
		of = map[string]*verdict{}
		v.of[f.Name] = of
	}
	known := of[key]
	switch {
	case known != nil:
		v.renew(known, m, f)
	case len(of) < maxVerdicts:
		known = &verdict{passes: make([]uint64, (len(m.Resources)+63)/64), plan: v.plan, reads: v.read(m, f)}
		for i, r := range m.Resources {
			known.put(i, f.passes(m.Job, r))
		}
		of[key] = known
	default:
		return m.each(f)
	}
	left := make([]int32, 0, len(m.rows))
	for _, row := range m.rows {
		if known.passes[row/64]>>(row%64)&1 == 1 {
			left = append(left, row)
		}
	}
	return left
}

// renew judges the records anew that have changed since a verdict was last looked at.
func (v *verdicts) renew(known *verdict, m *Match, f *Filter) {
	if known.plan == v.plan {
		return
	}
	for _, p := range known.reads {
		p.look(v, m.Resources)
	}
	for i, since := range v.since {
		if since > known.plan && known.touched(i) {
			known.put(i, f.passes(m.Job, m.Resources[i]))
		}
	}
	known.plan = v.plan
}

// What the default filters look at of a job: a key that is equal for jobs they
// judge alike, and whether they let all resources pass.

func (r *Rules) ofSite(job *jdl.Job) (string, bool) {
	return job.SubmitTo, job.SubmitTo == "" && len(r.Sites) == 0
}

func (r *Rules) ofTried(*jdl.Job) (string, bool) {
	ids := make([]string, 0, len(r.Avoid))
	for id, avoid := range r.Avoid {
		if avoid {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return strings.Join(ids, "\x00"), len(ids) == 0
}

func ofNothing(*jdl.Job) (string, bool) { return "", false }

func ofVO(job *jdl.Job) (string, bool) { return job.VO, false }

func ofWallTime(job *jdl.Job) (string, bool) {
	return fmt.Sprint(job.Demand.WallTime), job.Demand.WallTime <= 0
}

func ofDowntime(job *jdl.Job) (string, bool) { return fmt.Sprint(job.Demand.WallTime), false }

func ofCPUTime(job *jdl.Job) (string, bool) {
	return fmt.Sprint(job.Demand.CPUTime), job.Demand.CPUTime <= 0
}

func ofMemory(job *jdl.Job) (string, bool) {
	d := job.Demand
	return fmt.Sprint(d.Memory, d.VirtualMemory), d.Memory <= 0 && d.VirtualMemory <= 0
}

func ofDisk(job *jdl.Job) (string, bool) {
	return fmt.Sprint(job.Demand.Disk), job.Demand.Disk <= 0
}

func ofSlots(job *jdl.Job) (string, bool) {
	d := job.Demand
	return fmt.Sprint(d.Slots, d.SlotsPerNode, d.GPUs, min(d.Nodes, d.GPUs)), d.Slots <= 1 && d.SlotsPerNode <= 1 && d.GPUs <= 0
}

func ofEnvironments(job *jdl.Job) (string, bool) {
	d := job.Demand
	return strings.Join(d.RuntimeEnvironments, "\x00"), len(d.RuntimeEnvironments) == 0
}

func ofFiles(job *jdl.Job) (string, bool) {
	in, out := job.FileSchemes()
	return strings.Join(in, " ") + "\x00" + strings.Join(out, " "), len(in)+len(out) == 0
}

func ofQueue(job *jdl.Job) (string, bool) { return job.Demand.Queue, job.Demand.Queue == "" }
