package broker_test

import (
	"strings"
	"testing"

	"gridbroker/broker"
	"gridbroker/glue"
	"gridbroker/jdl"
)

func TestCollocation(t *testing.T) {
	small := func(r *glue.Resource) { r.MainMemory = glue.Some[int64](1000); r.FreeSlots.V = 1000 }
	large := func(r *glue.Resource) { r.MainMemory = glue.Some[int64](9000); r.FreeSlots.V = 1 }
	set := &jdl.JobSet{Collocated: true, Jobs: []*jdl.Job{newJob(t, "[]"), newJob(t, "[]"),
		newJob(t, "[Requirements = other.GlueHostMainMemoryRAMSize > 5000]")}}
	b := newBroker(func(b *broker.Broker) { b.WholeOrder = true })
	p := plan(t, b, []*glue.Resource{site("small", small), site("large", large)}, set.Jobs...)
	p.Collocate(set)
	for i, j := range p.Jobs {
		if len(j.Choices) != 1 || j.Choices[0].Resource.ID != "large" {
			t.Errorf("node %d: %v %v", i, j.Choices, j.Err)
		}
	}
	p = plan(t, b, []*glue.Resource{site("small", small), site("large", large)},
		newJob(t, "[Requirements = other.GlueHostMainMemoryRAMSize < 5000]"), set.Jobs[2])
	p.Collocate(&jdl.JobSet{Collocated: true, Jobs: []*jdl.Job{p.Jobs[0].Job, p.Jobs[1].Job}})
	if p.Jobs[0].Err == nil || !strings.Contains(p.Jobs[0].Err.Error(), "NodesCollocation") {
		t.Errorf("nothing in common: %v", p.Jobs[0].Err)
	}
}

// "Rank = other.DataAccessCost" asks for the resource closest to the data.
func TestDataAccessCost(t *testing.T) {
	near := site("near", func(r *glue.Resource) {
		r.FreeSlots.V = 0
		r.CloseSEs = []glue.StorageBinding{{SE: "se.example.org"}}
	})
	job := newJob(t, "[Rank = other.DataAccessCost]")
	job.InputData = []string{"https://se.example.org/data/1"}
	p := plan(t, newBroker(), []*glue.Resource{site("far"), near}, job)
	if c := p.Jobs[0].Choices; len(c) != 2 || c[0].Resource.ID != "near" {
		t.Errorf("%v, dropped %v", c, p.Jobs[0].Dropped)
	}
}
