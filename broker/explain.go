package broker

import (
	"cmp"
	"fmt"
	"slices"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jdl/classad"
	"gridbroker/rank"
)

// Explanation says why resources match a job or do not.
type Explanation struct {
	Job         string         `json:"job"`
	File        string         `json:"file"`
	As          Identity       `json:"as"` // whom access rules were compared with
	Resources   int            `json:"resources"`
	Matching    int            `json:"matching"`
	Filters     []FilterCount  `json:"filters"`
	Clauses     []ClauseCount  `json:"clauses"`
	Nearest     []Miss         `json:"nearest"`
	Unpublished []Unpublished  `json:"unpublished"` // attributes used that no resource publishes
	Rejected    []RejectedLine `json:"rejected"`
	// Environments tells where the runtime environments are that the job asks for.
	Environments []EnvironmentLine `json:"environments,omitempty"`
}

// FilterCount is one filter's share of the rejections.
type FilterCount struct {
	Name     FilterName `json:"name"`
	Rejected int        `json:"rejected"`
	Left     int        `json:"left"`
}

// ClauseCount counts the verdicts of one clause of Requirements over all
// resources; Left of those passed by the other filters pass this clause and
// all before it.
type ClauseCount struct {
	Clause
	True      int `json:"true"`
	False     int `json:"false"`
	Undefined int `json:"undefined"`
	Error     int `json:"error"`
	Left      int `json:"left"`
}

// Unpublished is an attribute that Requirements or Rank name and no resource
// publishes.
type Unpublished struct {
	Name    string `json:"name"`
	Meant   string `json:"meant,omitempty"` // a known name near to it
	Unknown bool   `json:"unknown"`         // not a GLUE attribute at all
}

// RejectedLine is one resource with the first reason against it.
type RejectedLine struct {
	ID     string  `json:"id"`
	Name   string  `json:"name"`
	Site   string  `json:"site"`
	ViewOf string  `json:"view_of,omitempty"`
	Reason *Reason `json:"reason"`
	// Obstacles is how many filters and clauses keep it away: 1 is the nearest.
	// 0: it is not counted, because another entry stands for it or it passed the
	// filters.
	Obstacles int `json:"obstacles"`
}

// Explain works out the whole explanation; it evaluates every clause and
// filter for every resource.
func (m *Match) Explain(dropped []rank.Dropped) *Explanation {
	m = m.whole()
	e := &Explanation{Job: m.Job.Name, File: m.Job.File, As: m.who, Resources: len(m.Resources), Matching: len(m.Survivors),
		Clauses: []ClauseCount{}, Nearest: []Miss{}, Unpublished: []Unpublished{}, Rejected: []RejectedLine{}}
	e.Filters = m.filterCounts()
	cs := m.verdicts()
	e.Clauses = append(e.Clauses, m.clauseCounts(cs)...)
	groups := m.groups(cs)
	e.Nearest = append(e.Nearest, m.nearest(groups)...)
	e.Environments = environmentLines(m)
	e.Unpublished = append(e.Unpublished, m.unpublished()...)
	for _, r := range m.Rejected() {
		e.Rejected = append(e.Rejected, rejectedLine(r.Resource, r.Reason(m.Job)))
	}
	for _, d := range dropped {
		e.Matching--
		e.Rejected = append(e.Rejected, rejectedLine(d.Resource, &Reason{Filter: ByRank, Want: Fact{Kind: NumericRank}, Have: Fact{Kind: Unrankable, Said: d.Why}}))
	}
	e.sortRejected(groups)
	return e
}

// sortRejected puts those first that the fewest obstacles keep away, and those
// that the same filter rejects beside each other.
func (e *Explanation) sortRejected(groups map[string]*group) {
	obstacles := map[string]int{}
	for _, g := range groups {
		for _, r := range g.resources {
			obstacles[r.ID] = len(g.obstacles)
		}
	}
	place := map[FilterName]int{}
	for i, f := range e.Filters {
		place[f.Name] = i
	}
	for i := range e.Rejected {
		e.Rejected[i].Obstacles = obstacles[e.Rejected[i].ID]
	}
	slices.SortStableFunc(e.Rejected, func(a, b RejectedLine) int {
		return cmp.Or(cmp.Compare(uint(a.Obstacles-1), uint(b.Obstacles-1)), // none of its own: last
			cmp.Compare(place[b.Reason.Filter], place[a.Reason.Filter]), // passed the most before
			a.Reason.Want.Compare(b.Reason.Want), a.Reason.byLimit(b.Reason), a.Reason.Have.Compare(b.Reason.Have), cmp.Compare(a.ID, b.ID))
	})
}

// byLimit puts what has more of the quantity that the job asks too much of first.
func (r *Reason) byLimit(o *Reason) int {
	if r.limit == "" || r.limit != o.limit {
		return 0
	}
	return cmp.Compare(o.Have.Amount, r.Have.Amount)
}

func rejectedLine(r *glue.Resource, why *Reason) RejectedLine {
	return RejectedLine{ID: r.ID, Name: r.Name, Site: r.Site, ViewOf: r.ViewOf, Reason: why}
}

// of makes the explanation, which equal jobs share, that of one of them.
func (e *Explanation) of(job *jdl.Job) *Explanation {
	e.Job, e.File = job.Name, job.File
	return e
}

func (m *Match) filterCounts() []FilterCount {
	rejected := map[FilterName]int{}
	for _, n := range m.by {
		if n > 0 {
			rejected[m.filters[n-1].Name]++
		}
	}
	for _, r := range m.later {
		rejected[r.Filter]++
	}
	left := len(m.Resources)
	out := make([]FilterCount, 0, len(m.filters))
	names := []FilterName{}
	for _, f := range m.filters {
		names = append(names, f.Name)
	}
	for _, name := range append(names, ByHealth) {
		left -= rejected[name]
		out = append(out, FilterCount{name, rejected[name], left})
	}
	return out
}

// judged is a clause of Requirements with its values for all resources.
type judged struct {
	Clause
	same   []FilterName // filters that look at an attribute of the resource that it looks at, too
	values []classad.Value
}

// verdicts evaluates every clause for every resource.
func (m *Match) verdicts() []judged {
	if m.Job.SubmitTo != "" {
		return nil
	}
	var cs []judged
	eval := evaluationOf(m)
	for _, e := range classad.Conjuncts(m.Job.Requirements) {
		c := judged{Clause: newClause(e), same: lookingAt(references(m.Job, e)), values: make([]classad.Value, len(m.Resources))}
		program := eval.Compile(e, m.table)
		for row := range m.Resources {
			c.values[row] = program.Eval(row)
		}
		cs = append(cs, c)
	}
	return cs
}

// evaluationOf goes on with what the filter by Requirements has left of the job's allowance.
func evaluationOf(m *Match) *classad.Evaluation {
	for i := range m.filters {
		if of := m.filters[i].evaluation; of != nil {
			return of(m.Job)
		}
	}
	return classad.NewEvaluation(m.Job.Ad)
}

func (m *Match) clauseCounts(cs []judged) []ClauseCount {
	out := make([]ClauseCount, len(cs))
	for i := range cs {
		out[i].Clause = cs[i].Clause
	}
	reached := m.reachedClauses()
	for row, r := range m.Resources {
		left := reached[r]
		for i := range cs {
			v := cs[i].values[row]
			out[i].count(verdictOf(v), holds(v))
			if left = left && holds(v); left {
				out[i].Left++
			}
		}
	}
	return out
}

func (c *ClauseCount) count(v Verdict, holds bool) {
	switch {
	case holds:
		c.True++
	case v == IsUndefined:
		c.Undefined++
	case v == IsFalse:
		c.False++
	default:
		c.Error++
	}
}

// reachedClauses are the resources that no filter before the one that judges
// by clauses has rejected.
func (m *Match) reachedClauses() map[*glue.Resource]bool {
	before := map[FilterName]bool{}
	for _, f := range m.filters {
		if f.Pass != nil {
			break
		}
		before[f.Name] = true
	}
	reached := map[*glue.Resource]bool{}
	for _, r := range m.Survivors {
		reached[r] = true
	}
	for _, r := range m.Rejected() {
		if !before[r.Filter] {
			reached[r.Resource] = true
		}
	}
	return reached
}

func (m *Match) unpublished() []Unpublished {
	names := references(m.Job, m.Job.Requirements)
	if m.Job.Rank != nil {
		names = append(names, references(m.Job, m.Job.Rank)...)
	}
	var out []Unpublished
	seen := map[string]bool{classad.Fold(dataAccessCost): true}
	for _, name := range names {
		if seen[classad.Fold(name)] || m.publishes(name) {
			continue
		}
		seen[classad.Fold(name)] = true
		u := Unpublished{Name: name, Unknown: true}
		if _, _, known := jdl.GLUEType(name); known {
			u.Unknown = false
		} else if len(out) < mostMeant {
			u.Meant = classad.Nearest(name, jdl.GLUENames())
		}
		out = append(out, u)
	}
	return out
}

// mostMeant is for how many names that nobody publishes it is told what may be meant.
const mostMeant = 100

func (m *Match) publishes(name string) bool {
	for _, r := range m.Resources {
		if _, ok := r.Lookup(name); ok {
			return true
		}
	}
	return false
}

// NoMatchError is that nothing matches a job.
type NoMatchError struct {
	job *jdl.Job
	why *noMatch
}

// noMatch is why nothing matches any of some equal jobs.
type noMatch struct {
	match   *Match
	dropped []rank.Dropped
	worst   FilterCount // what rejects most
}

func newNoMatch(m *Match, dropped []rank.Dropped) *noMatch {
	worst := slices.MaxFunc(m.filterCounts(), func(a, b FilterCount) int { return cmp.Compare(a.Rejected, b.Rejected) })
	return &noMatch{m, dropped, worst}
}

// Explanation works out the whole explanation; see Match.Explain.
func (e *NoMatchError) Explanation() *Explanation {
	return e.why.match.Explain(e.why.dropped).of(e.job)
}

// Tried reports whether most resources are left out because the job was tried
// there before.
func (e *NoMatchError) Tried() bool { return e.why.worst.Name == ByTried && e.why.worst.Rejected > 0 }

// Reason is the error without the job's name: equal jobs have the same.
func (e *NoMatchError) Reason() string {
	n := len(e.why.match.Resources)
	if n == 0 {
		return "no resource to choose from: no source published any"
	}
	if e.Tried() && e.why.worst.Rejected == n {
		return fmt.Sprintf("it was tried at every resource that there is (%d)", n)
	}
	said := fmt.Sprintf("none of %d resources matches; most fail on %s (%d)", n, e.why.worst.Name, e.why.worst.Rejected)
	for _, l := range environmentLines(e.why.match) {
		said += "; " + l.String()
	}
	return said
}

// Error implements error.
func (e *NoMatchError) Error() string { return e.job.Name + ": " + e.Reason() }
