package broker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gridbroker/jdl"
)

// verdicts are what filters said of every resource, for jobs that are alike in
// what the filter looks at: of many jobs with different Requirements most are
// alike in all else.
type verdicts map[FilterName]map[string][]uint64

// maxVerdicts bounds how many a filter may have; each is a bit a resource.
const maxVerdicts = 64

// pass returns the rows that are left and that the filter lets pass. The first
// jobs are judged over all resources, for those that come after them.
func (v verdicts) pass(m *Match, f *Filter, key string) []int32 {
	of := v[f.Name]
	if of == nil {
		of = map[string][]uint64{}
		v[f.Name] = of
	}
	passes, known := of[key]
	if !known && len(of) < maxVerdicts {
		passes, known = make([]uint64, (len(m.Resources)+63)/64), true
		for i, r := range m.Resources {
			if f.Reject(m.Job, r) == nil {
				passes[i/64] |= 1 << (i % 64)
			}
		}
		of[key] = passes
	}
	left := make([]int32, 0, len(m.rows))
	for _, row := range m.rows {
		if known && passes[row/64]>>(row%64)&1 == 1 || !known && f.Reject(m.Job, m.Resources[row]) == nil {
			left = append(left, row)
		}
	}
	return left
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
	return fmt.Sprint(d.Slots, d.SlotsPerNode, d.GPUs), d.Slots <= 1 && d.SlotsPerNode <= 1 && d.GPUs <= 0
}

func ofEnvironments(job *jdl.Job) (string, bool) {
	d := job.Demand
	return cmp.Or(d.Queue, "\x01") + "\x00" + strings.Join(d.RuntimeEnvironments, "\x00"), d.Queue == "" && len(d.RuntimeEnvironments) == 0
}
