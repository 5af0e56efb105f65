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
	Rejected  []Rejection
	who       Identity // as whom the job was judged
	filters   []Filter
	rows      []int32 // of the survivors among Resources
	table     *classad.Table
}

// Rejection is a resource with the filter that came first. What Requirements
// have against it is worked out when it is asked for: most are never shown.
type Rejection struct {
	Resource *glue.Resource
	Filter   string
	reason   *Reason // nil: of Requirements, not worked out yet
	eval     *classad.Evaluation
}

// Reason is the one reason against the resource.
func (r Rejection) Reason(job *jdl.Job) *Reason {
	if r.reason == nil {
		r.reason = requirements(job, r.Resource, r.eval)
	}
	if r.reason == nil { // cannot be: it was rejected by the same expression
		r.reason = &Reason{Want: exprText(job.Requirements), Have: "not true"}
	}
	r.reason.Filter = r.Filter
	return r.reason
}

// match runs the filters in order over every resource. The job's expression
// is compiled once and evaluated over the columns of what is left.
func match(job *jdl.Job, rs []*glue.Resource, filters []Filter, table *classad.Table) *Match {
	m := &Match{Job: job, Resources: rs, filters: filters, table: table}
	var rows []int32
	ask := false
	for _, f := range filters {
		ask = ask || f.Name == requirementsFilter
	}
	for i, r := range rs {
		if why := m.reject(r); why != nil {
			m.Rejected = append(m.Rejected, Rejection{Resource: r, Filter: why.Filter, reason: why})
		} else {
			rows = append(rows, int32(i))
		}
	}
	if !ask || job.SubmitTo != "" {
		m.keep(rows, rows)
		return m
	}
	m.keep(rows, classad.Compile(job.Requirements, job.Ad, table).Filter(append([]int32(nil), rows...)))
	return m
}

// keep makes the passed rows the survivors; the others of those that came
// this far are rejected by Requirements.
func (m *Match) keep(rows, passed []int32) {
	eval := classad.NewEvaluation(m.Job.Ad)
	m.rows = passed
	for _, row := range rows {
		if len(passed) > 0 && passed[0] == row {
			passed = passed[1:]
			m.Survivors = append(m.Survivors, m.Resources[row])
		} else {
			m.Rejected = append(m.Rejected, Rejection{Resource: m.Resources[row], Filter: requirementsFilter, eval: eval})
		}
	}
}

// reject asks the filters other than Requirements.
func (m *Match) reject(r *glue.Resource) *Reason {
	for _, f := range m.filters {
		if f.Name == requirementsFilter {
			continue
		}
		if why := f.Reject(m.Job, r); why != nil {
			why.Filter = f.Name
			return why
		}
	}
	return nil
}
