package broker

import (
	"slices"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jdl/classad"
)

// Match is what the filters say of all resources for one class of equal jobs.
// In plans of very many different jobs Survivors are forgotten once the jobs
// are placed; the methods work it out again.
type Match struct {
	Job       *jdl.Job // stands for its class
	Resources []*glue.Resource
	Survivors []*glue.Resource
	who       Identity      // as whom the job was judged
	deploy    time.Duration // how long the deployment of a runtime environment is taken to last
	filters   []Filter
	rows      []int32      // of the survivors among Resources
	by        []uint8      // which filter rejects each resource, from 1; 0: none
	later     []*Rejection // those that passed the filters
	rejected  []*Rejection // of by, once it was asked for
	table     *classad.Table
	lrms      map[string]glue.Opt[int64] // jobs waiting in each batch system, as published; nil: nobody needs it
	again     func() []Filter            // the filters anew
	released  bool                       // only counts are left; see whole
	matching  int                        // of a released match
}

// Rejection is a resource with the filter that came first. The reason is worked
// out when it is asked for: most are never shown.
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
		r.reason = &Reason{}
	}
	r.reason.Filter = r.Filter
	return r.reason
}

// match runs the filters one after the other, each over what the ones before
// have left. known are verdicts found before, nil
// for none; an expression is judged for many resources at once where there are no
// plans to come.
func match(job *jdl.Job, rs []*glue.Resource, filters []Filter, table *classad.Table, known *verdicts) *Match {
	m := &Match{Job: job, Resources: rs, filters: filters, table: table, rows: allRows(len(rs)), by: make([]uint8, len(rs))}
	many := len(rs) > fewRows
	for i := range m.filters {
		f, n := &m.filters[i], uint8(i+1)
		key, all := "", false
		if f.Of != nil && (f.Pass == nil && many || f.Pass != nil && known.standing()) {
			key, all = f.Of(job)
		}
		switch {
		case all:
		case f.Pass != nil && key == "" && len(m.rows) > fewRows:
			m.keep(n, f.Pass(job, table, m.rows))
		case known.knows(f) && (f.Pass == nil && many || key != ""):
			m.keep(n, known.pass(m, f, key))
		default:
			m.keep(n, m.each(f))
		}
	}
	m.Survivors = make([]*glue.Resource, len(m.rows))
	for i, row := range m.rows {
		m.Survivors[i] = rs[row]
	}
	return m
}

// fewRows is up to how many rows a filter is asked one by one although it could
// judge many at once or has judged them before: to prepare that, or to look it up,
// costs as much as so many answers.
const fewRows = 16

func allRows(n int) []int32 {
	rows := make([]int32, n)
	for i := range rows {
		rows[i] = int32(i)
	}
	return rows
}

// each asks a filter about every row that is left, and returns what passes.
func (m *Match) each(f *Filter) []int32 {
	var left []int32
	for i, row := range m.rows {
		switch passes := f.passes(m.Job, m.Resources[row]); {
		case !passes && left == nil: // the first that does not
			left = append(make([]int32, 0, len(m.rows)), m.rows[:i]...)
		case passes && left != nil:
			left = append(left, row)
		}
	}
	if left == nil {
		return m.rows
	}
	return left
}

// keep rejects the rows that the n-th filter has not let pass.
func (m *Match) keep(n uint8, passed []int32) {
	if len(passed) == len(m.rows) {
		return
	}
	rest := passed
	for _, row := range m.rows {
		if len(rest) > 0 && rest[0] == row {
			rest = rest[1:]
		} else {
			m.by[row] = n
		}
	}
	m.rows = passed
}

// Rejected lists the resources that do not match, in their order, those that
// passed the filters and were taken out later last.
func (m *Match) Rejected() []*Rejection {
	m = m.whole()
	if m.rejected == nil {
		for row, n := range m.by {
			if n > 0 {
				f := &m.filters[n-1]
				m.rejected = append(m.rejected, &Rejection{Resource: m.Resources[row], Filter: f.Name, why: f.Reject})
			}
		}
	}
	return slices.Concat(m.rejected, m.later)
}
