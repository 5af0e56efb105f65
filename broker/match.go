package broker

import (
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jdl/classad"
)

// Match is what the filters say of all resources for one class of equal jobs.
type Match struct {
	Job       *jdl.Job // stands for its class
	Resources []*glue.Resource
	Survivors []*glue.Resource
	Rejected  []*Rejection
	who       Identity // as whom the job was judged
	filters   []Filter
	rows      []int32 // of the survivors among Resources
	table     *classad.Table
}

// Rejection is a resource with the filter that came first. Where that judged
// many at once the reason is worked out when it is asked for: most are never
// shown.
type Rejection struct {
	Resource *glue.Resource
	Filter   FilterName
	reason   *Reason                                // nil: not worked out yet
	why      func(*jdl.Job, *glue.Resource) *Reason // works it out
}

// Reason is the one reason against the resource.
func (r *Rejection) Reason(job *jdl.Job) *Reason {
	if r.reason == nil {
		r.reason = r.why(job, r.Resource)
	}
	if r.reason == nil { // cannot be: it was rejected by the same filter
		r.reason = &Reason{Want: string(r.Filter), Have: "not so"}
	}
	r.reason.Filter = r.Filter
	return r.reason
}

// match runs the filters one after the other, each over what the ones before
// have left.
func match(job *jdl.Job, rs []*glue.Resource, filters []Filter, table *classad.Table) *Match {
	m := &Match{Job: job, Resources: rs, filters: filters, table: table, rows: make([]int32, len(rs))}
	for i := range m.rows {
		m.rows[i] = int32(i)
	}
	for i := range filters {
		if f := &filters[i]; f.Pass != nil {
			m.rows = m.keep(f, f.Pass(job, table, m.rows))
		} else {
			m.rows = m.each(f)
		}
	}
	m.Survivors = make([]*glue.Resource, len(m.rows))
	for i, row := range m.rows {
		m.Survivors[i] = rs[row]
	}
	return m
}

// each asks a filter about every row that is left, and returns what passes.
func (m *Match) each(f *Filter) []int32 {
	left := m.rows[:0]
	for _, row := range m.rows {
		if why := f.Reject(m.Job, m.Resources[row]); why != nil {
			m.Rejected = append(m.Rejected, &Rejection{Resource: m.Resources[row], Filter: f.Name, reason: why})
		} else {
			left = append(left, row)
		}
	}
	return left
}

// keep rejects the rows that a filter has not let pass.
func (m *Match) keep(f *Filter, passed []int32) []int32 {
	rest := passed
	for _, row := range m.rows {
		if len(rest) > 0 && rest[0] == row {
			rest = rest[1:]
		} else {
			m.Rejected = append(m.Rejected, &Rejection{Resource: m.Resources[row], Filter: f.Name, why: f.Reject})
		}
	}
	return passed
}
