package broker

import (
	"gridbroker/glue"
	"gridbroker/jdl"
)

// Match is what the filters say of all resources for one class of equal jobs.
type Match struct {
	Job       *jdl.Job // stands for its class
	Resources []*glue.Resource
	Survivors []*glue.Resource
	Rejected  []Rejection
	filters   []Filter
}

// Rejection is a resource with the one reason that came first.
type Rejection struct {
	Resource *glue.Resource
	Reason   *Reason
}

// match runs the filters in order over every resource.
func match(job *jdl.Job, rs []*glue.Resource, filters []Filter) *Match {
	m := &Match{Job: job, Resources: rs, filters: filters}
	for _, r := range rs {
		if why := m.reject(r); why != nil {
			m.Rejected = append(m.Rejected, Rejection{r, why})
		} else {
			m.Survivors = append(m.Survivors, r)
		}
	}
	return m
}

func (m *Match) reject(r *glue.Resource) *Reason {
	for _, f := range m.filters {
		if why := f.Reject(m.Job, r); why != nil {
			why.Filter = f.Name
			return why
		}
	}
	return nil
}
