package broker

import (
	"fmt"

	"gridbroker/jdl"
	"gridbroker/rank"
)

// Collocate sends all jobs of a set with NodesCollocation to one resource:
// the one that all can use and whose places among their choices add up to
// the least. Jobs that have no resource in common get an Err.
func (p *Plan) Collocate(set *jdl.JobSet) {
	if !set.Collocated || len(set.Jobs) < 2 {
		return
	}
	in := map[*jdl.Job]bool{}
	for _, job := range set.Jobs {
		in[job] = true
	}
	var of []*JobPlan
	sum, count := map[string]int{}, map[string]int{}
	for i := range p.Jobs {
		if !in[p.Jobs[i].Job] {
			continue
		}
		of = append(of, &p.Jobs[i])
		for place, c := range p.Jobs[i].Choices {
			sum[c.Resource.ID] += place
			count[c.Resource.ID]++
		}
	}
	best := ""
	for id, n := range count {
		if n == len(of) && (best == "" || sum[id] < sum[best] || sum[id] == sum[best] && id < best) {
			best = id
		}
	}
	for _, jp := range of {
		jp.only(best)
	}
}

// only keeps the one choice.
func (jp *JobPlan) only(id string) {
	if jp.Err != nil {
		return
	}
	for _, c := range jp.Choices {
		if c.Resource.ID == id {
			jp.Choices = []rank.Ranked{c}
			return
		}
	}
	jp.Choices = nil
	jp.Err = fmt.Errorf("%s: no resource takes all nodes, as NodesCollocation asks", jp.Job.Name)
}
