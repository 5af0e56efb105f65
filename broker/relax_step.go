package broker

import (
	"fmt"
	"math"
	"slices"

	"gridbroker/glue"
	"gridbroker/jdl/classad"
)

// step is how far one obstacle of a resource must be moved.
type step struct {
	key    string // equal for the same obstacle of all resources
	from   string
	at     string
	need   float64 // the value the bound must come to; NaN: none, the obstacle goes or becomes text
	up     bool    // the bound is a lower one: it must come down to need
	text   string  // what replaces it, where need is NaN
	bound  float64
	render func(float64) string
}

// resourceSteps are the steps, one or two, that open a resource.
type resourceSteps struct {
	resource *glue.Resource
	steps    []step
}

// steps are what keeps a resource away, if the user can change all of it and
// it is not more than two things.
func (m *Match) steps(cs []judged, row int) ([]step, bool) {
	obs := m.obstacles(cs, row)
	if len(obs) == 0 || len(obs) > 2 {
		return nil, false
	}
	var out []step
	for _, o := range obs {
		s, ok := m.step(o, m.Resources[row])
		if !ok {
			return nil, false
		}
		out = append(out, s)
	}
	return out, true
}

func (m *Match) step(o obstacle, r *glue.Resource) (step, bool) {
	if o.clause != nil {
		return clauseStep(o.clause, r)
	}
	why := o.reason
	switch {
	case why.limit != "":
		render := func(f float64) string { return why.limited(why.Want.Unit.of(f)) }
		return step{key: o.name, from: o.name, need: why.Have.Amount, up: true, bound: why.Want.Amount, render: render}, true
	case o.filter == ByEnvironment, o.filter == ByQueue:
		return step{key: why.Want.String(), from: why.Want.String(), need: math.NaN()}, true
	}
	return step{}, false
}

// clauseStep is what to do to a clause of Requirements. Defaults that the user
// did not write are not his to change.
func clauseStep(c *Clause, r *glue.Resource) (step, bool) {
	s := step{key: c.Text, from: c.Text, at: c.at(), need: math.NaN()}
	if c.Line == 0 {
		return s, false
	}
	name, op, literal, ok := comparison(c.expr)
	if !ok {
		return s, true
	}
	v, published := r.Lookup(name)
	if text, isText := v.Str(); isText && published && op == classad.OpEq {
		s.text = fmt.Sprintf("%s == %q", name, text)
		s.key += "\x00" + s.text
		return s, true
	}
	want, isNumber := literal.Number()
	n, has := v.Number()
	up := op == classad.OpGe || op == classad.OpGt
	if !isNumber || !has || !published || !up && op != classad.OpLe && op != classad.OpLt {
		return s, true
	}
	sign := map[bool]string{true: ">=", false: "<="}[up]
	s.need, s.up, s.bound = n, up, want
	s.render = func(f float64) string { return fmt.Sprintf("%s %s %s", name, sign, number(f)) }
	return s, true
}

// opens reports whether moving the obstacle to value lets the step's resource in.
func (s step) opens(value float64) bool {
	if math.IsNaN(s.need) {
		return true
	}
	if s.up {
		return value <= s.need
	}
	return value >= s.need
}

// cost is the size of a change: relative for numbers, 1 for what goes.
func (s step) cost(value float64) float64 {
	if math.IsNaN(value) {
		return 1
	}
	return min(1, math.Abs(s.bound-value)/max(1, math.Abs(s.bound)))
}

func (s step) change(value float64) Change {
	c := Change{From: s.from, To: s.text, At: s.at, value: value}
	if !math.IsNaN(value) {
		c.To = s.render(value)
	}
	return c
}

// values are those to which an obstacle could be moved, the nearest first, at
// most maxChoices: the nearest, the farthest, and between them evenly.
func values(steps []step) []float64 {
	var all []float64
	for _, s := range steps {
		if math.IsNaN(s.need) {
			return []float64{math.NaN()}
		}
		all = append(all, s.need)
	}
	slices.Sort(all)
	if all = slices.Compact(all); steps[0].up {
		slices.Reverse(all)
	}
	if len(all) <= maxChoices {
		return all
	}
	out := make([]float64, maxChoices)
	for i := range out {
		out[i] = all[i*(len(all)-1)/(maxChoices-1)]
	}
	return out
}

// within reports whether a change of the same obstacle goes far enough.
func (s step) within(c Change) bool {
	if c.From != s.from {
		return false
	}
	if math.IsNaN(s.need) {
		return c.To == s.text
	}
	return s.opens(c.value)
}
