package broker

import (
	"strings"

	"gridbroker/glue"
	"gridbroker/jdl/classad"
)

// published is what every record publishes under one name, and since when: most
// news of a record are other numbers of jobs, and few filters look at these.
type published struct {
	get    glue.Getter
	plan   int // the last one for which it was looked at
	values []classad.Value
	since  []int // by row: the plan from which on the value is this one
}

// read finds what a filter reads of records for jobs like that of a match; nil
// where it does not tell, or there is one plan.
func (v *verdicts) read(m *Match, f *Filter) (reads []*published) {
	if f.Reads == nil || !v.standing() {
		return nil
	}
	if v.published == nil {
		v.published = map[string]*published{}
	}
	for _, name := range f.Reads(m.Job) {
		low := strings.ToLower(name)
		p := v.published[low]
		if p == nil {
			get, _ := glue.Column(name)
			p = &published{get: get, values: make([]classad.Value, len(m.Resources)), since: make([]int, len(m.Resources))}
			v.published[low] = p
		}
		p.look(v, m.Resources)
		reads = append(reads, p)
	}
	return reads
}

// look reads the records that have changed since it was last done. Lists are taken
// as new whatever is in them.
func (p *published) look(v *verdicts, rs []*glue.Resource) {
	if p.plan == v.plan {
		return
	}
	for i, since := range v.since {
		if since <= p.plan {
			continue
		}
		got, ok := p.get(rs[i])
		if !ok {
			got = classad.UndefinedValue()
		}
		if got != p.values[i] {
			p.values[i], p.since[i] = got, v.plan
		}
	}
	p.plan = v.plan
}

// touched says whether anything that a verdict rests on may be another than when
// it was last looked at, of a record that is.
func (v *verdict) touched(row int) bool {
	for _, p := range v.reads {
		if p.since[row] > v.plan {
			return true
		}
	}
	return len(v.reads) == 0
}
