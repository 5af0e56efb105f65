package broker

import (
	"fmt"
	"slices"
	"strings"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jdl/classad"
)

// Clause is one top-level conjunct of Requirements.
type Clause struct {
	Text string `json:"text"`
	Line int    `json:"line"` // 0: not from the file, a default
	Col  int    `json:"col"`
	expr classad.Expr
}

func newClause(e classad.Expr) Clause {
	p := beginning(e)
	if p == (classad.Pos{Line: 1, Col: 1}) {
		// A default or implied clause, parsed by itself: in a file the
		// name of the attribute stands before the expression.
		p = classad.Pos{}
	}
	return Clause{Text: exprText(e), Line: p.Line, Col: p.Col, expr: e}
}

// beginning is the leftmost place of an expression; an operator's own place
// is in its middle.
func beginning(e classad.Expr) classad.Pos {
	first := e.Pos()
	classad.Walk(e, func(e classad.Expr) bool {
		p := e.Pos()
		if p.Line > 0 && (p.Line < first.Line || p.Line == first.Line && p.Col < first.Col) {
			first = p
		}
		return true
	})
	return first
}

// at is the place for people.
func (c Clause) at() string {
	if c.Line == 0 {
		return "default"
	}
	return fmt.Sprintf("%d:%d", c.Line, c.Col)
}

// requirements evaluates the job's expression; only the boolean true lets a
// resource pass. The reason names the first conjunct that is not true.
func requirements(job *jdl.Job, res *glue.Resource, eval *classad.Evaluation, names *namesOf) *Reason {
	if job.SubmitTo != "" || eval.Eval(job.Requirements, res).IsTrue() {
		return nil
	}
	parts := classad.Conjuncts(job.Requirements)
	blame := parts[len(parts)-1]
	v := eval.Eval(blame, res)
	for _, e := range parts {
		if got := eval.Eval(e, res); !holds(got) {
			blame, v = e, got
			break
		}
	}
	why := clauseReason(names.in(blame), res, blame, v)
	if err := eval.Err(); err != nil && v.IsError() {
		why.Have = Fact{Kind: Evaluation, Said: err.Error()}
	}
	return why
}

// requirementsFilter judges by the job's Requirements. The expression is
// compiled once for many resources; that, the reasons for one job and the verdicts on its
// clauses share an allowance.
func requirementsFilter() Filter {
	var of *jdl.Job
	var eval *classad.Evaluation
	var names *namesOf
	evaluation := func(job *jdl.Job) *classad.Evaluation {
		if of != job {
			of, eval, names = job, classad.NewEvaluation(job.Ad), &namesOf{job: job, known: map[classad.Expr][]string{}}
		}
		return eval
	}
	reject := func(job *jdl.Job, res *glue.Resource) *Reason { return requirements(job, res, evaluation(job), names) }
	pass := func(job *jdl.Job, table *classad.Table, rows []int32) []int32 {
		if job.SubmitTo != "" {
			return rows
		}
		return evaluation(job).Compile(job.Requirements, table).Filter(slices.Clone(rows))
	}
	return Filter{Name: ByRequirements, Reject: reject, Pass: pass, Of: ofRequirements, Reads: readByRequirements, evaluation: evaluation}
}

// namesOf remembers the references of a job's clauses, which are the same for every resource.
type namesOf struct {
	job   *jdl.Job
	known map[classad.Expr][]string
}

func (n *namesOf) in(e classad.Expr) []string {
	names, ok := n.known[e]
	if !ok {
		names = references(n.job, e)
		n.known[e] = names
	}
	return names
}

func clauseReason(names []string, res *glue.Resource, blame classad.Expr, v classad.Value) *Reason {
	c := newClause(blame)
	why := &Reason{Want: Fact{Kind: ExpressionHolding, Name: c.Text}, Have: Fact{Kind: ValueOf, Verdict: verdictOf(v)}, Clause: &c, Unknown: v.IsUndefined()}
	var have []Published
	for _, name := range names {
		got, ok := res.Lookup(name)
		have = append(have, Published{name, got, ok})
		why.Temporary = why.Temporary || isState(name)
	}
	if len(have) > 0 {
		why.Have = Fact{Kind: PublishedValues, Values: have}
	}
	return why
}

// holds reports whether a conjunct lets the whole be true: within && numbers
// count as booleans.
func holds(v classad.Value) bool {
	if n, ok := v.Number(); ok {
		return n != 0
	}
	return v.IsTrue()
}

// Verdict is what the value of a clause means.
type Verdict uint8

// The verdicts.
const (
	IsTrue Verdict = iota
	IsFalse
	IsUndefined
	IsError
	NotBoolean
)

// String is the verdict for people.
func (v Verdict) String() string {
	return [...]string{"true", "false", "undefined", "an error", "not a boolean"}[v]
}

func verdictOf(v classad.Value) Verdict {
	switch {
	case v.IsUndefined():
		return IsUndefined
	case v.IsError():
		return IsError
	case v.IsTrue():
		return IsTrue
	case v.Kind() == classad.Bool:
		return IsFalse
	}
	return NotBoolean
}

// isState tells dynamic attributes, whose values may be other ones soon.
func isState(name string) bool {
	low := strings.ToLower(name)
	return strings.HasPrefix(low, "gluecestate") || strings.HasPrefix(low, "glue2computingshare") &&
		(strings.HasSuffix(low, "jobs") && !strings.Contains(low, "max") || strings.Contains(low, "free") ||
			strings.Contains(low, "waiting") && !strings.Contains(low, "max") || strings.Contains(low, "servingstate"))
}

// references lists the attributes of the other ad that an expression names
// as other.X or target.X, itself or through attributes of the job, in order,
// each once.
func references(job *jdl.Job, e classad.Expr) []string {
	var names []string
	seen, own := map[string]bool{}, map[string]bool{}
	var look func(e classad.Expr) bool
	look = func(e classad.Expr) bool {
		if name, ok := otherName(e); ok && !seen[strings.ToLower(name)] {
			seen[strings.ToLower(name)] = true
			names = append(names, name)
		}
		if ref, ok := e.(*classad.AttrRef); ok && job.Ad != nil && !own[strings.ToLower(ref.Name)] {
			own[strings.ToLower(ref.Name)] = true
			if x, has := job.Ad.Expr(ref.Name); has {
				classad.Walk(x, look)
			}
		}
		return true
	}
	classad.Walk(e, look)
	return names
}

func isOther(name string) bool {
	return strings.EqualFold(name, "other") || strings.EqualFold(name, "target")
}

// shortValue writes a value for a line of a table.
func shortValue(v classad.Value) string {
	if vs, ok := v.List(); ok {
		return fmt.Sprintf("a list of %d", len(vs))
	}
	s := valueText(v)
	if len(s) > 60 {
		s = s[:57] + "..."
	}
	return s
}
