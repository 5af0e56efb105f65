package broker

import (
	"context"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jdl/classad"
)

// Standing makes plans of single jobs one after the other over resources of
// which few have news between two plans, as a service does that is handed job
// after job. What filters said of a record is not asked again as long as it is
// the same record: records must not change, news are a new one. The plans are
// those of Broker.Plan, with as many choices as a job may be offered. What a Match
// works out when it is asked is by the time of the last plan. A Standing is for one
// goroutine at a time.
type Standing struct {
	broker  *Broker
	rows    []*glue.Resource
	known   verdicts
	rules   Rules    // of the last plan
	filters []Filter // that judge by them
}

// Standing returns a planner that has made no plan yet.
func (b *Broker) Standing() *Standing { return &Standing{broker: b} }

// Plan plans one job; see Broker.Plan.
func (s *Standing) Plan(ctx context.Context, job *jdl.Job, rs []*glue.Resource) (*Plan, error) {
	s.note(rs)
	s.rules = s.broker.rules()
	if s.filters == nil {
		s.filters = filtersBy(&s.rules)
	}
	s.filters[len(s.filters)-1] = requirementsFilter() // every plan has an allowance of its own
	return s.broker.plan(ctx, []*jdl.Job{job}, rs, Experience{}, basis{s.rules, &s.known, s.filters})
}

// note finds the rows whose record is another than in the last plan.
func (s *Standing) note(rs []*glue.Resource) {
	if len(rs) != len(s.rows) {
		s.rows = make([]*glue.Resource, len(rs))
		s.known = verdicts{of: map[FilterName]map[string]*verdict{}, since: make([]int, len(rs))}
	}
	s.known.plan++
	for i, r := range rs {
		if s.rows[i] != r {
			s.rows[i], s.known.since[i] = r, s.known.plan
		}
	}
}

// ofRequirements is the text of an expression that looks at nothing but what
// the resource publishes; "" for others, as jobs differ in what these look at.
func ofRequirements(job *jdl.Job) (key string, all bool) {
	if job.SubmitTo != "" {
		return "", true
	}
	others := 0
	plain := true
	classad.Walk(job.Requirements, func(e classad.Expr) bool {
		switch e := e.(type) {
		case *classad.AttrRef:
			others--
			plain = plain && isOther(e.Name)
		case *classad.Select:
			_, ok := otherName(e)
			others++
			plain = plain && ok
		case *classad.Call:
			plain = false // of the time, perhaps, or of chance
		}
		return plain
	})
	if !plain || others != 0 {
		return "", false
	}
	return exprText(job.Requirements), false
}

// readByRequirements are the names in an expression that ofRequirements has a text of.
func readByRequirements(job *jdl.Job) (names []string) {
	classad.Walk(job.Requirements, func(e classad.Expr) bool {
		if name, ok := otherName(e); ok {
			names = append(names, name)
		}
		return true
	})
	return names
}
