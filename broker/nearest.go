package broker

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gridbroker/glue"
	"gridbroker/jdl/classad"
)

// Miss is a change of the job that would let more resources match: the
// obstacles to drop, and where it is a single bound, the nearest value that
// helps.
type Miss struct {
	Drop []string `json:"drop"`         // clauses and filters
	At   string   `json:"at,omitempty"` // line:col of the clause
	More int      `json:"more"`         // resources that would match then
	// To is the nearest published value, and ToMore how many more would
	// match with the bound moved just there.
	To     string `json:"to,omitempty"`
	ToMore int    `json:"to_more,omitempty"`
}

// String says it as one line.
func (m Miss) String() string {
	what := strings.Join(m.Drop, " and ")
	if m.At != "" {
		what += " (" + m.At + ")"
	}
	s := fmt.Sprintf("without %s: %d more", what, m.More)
	if m.To != "" {
		s += fmt.Sprintf("; with %s: %d more", m.To, m.ToMore)
	}
	return s
}

// obstacle is what keeps one resource from matching: a filter, or a clause
// of Requirements.
type obstacle struct {
	name   string
	filter FilterName // "": a clause
	clause *Clause
	reason *Reason
}

// maxMisses limits the list of nearest misses.
const maxMisses = 5

// group is the resources that the same obstacles keep away.
type group struct {
	obstacles []obstacle
	resources []*glue.Resource
	bounds    []*Reason // of the one obstacle, if it is a limit
}

// nearest groups resources by the set of their obstacles and reports the
// smallest sets, most resources first.
func (m *Match) nearest(groups map[string]*group) []Miss {
	var misses []Miss
	for _, g := range groups {
		if len(g.obstacles) > 0 {
			misses = append(misses, m.miss(g))
		}
	}
	slices.SortFunc(misses, func(a, b Miss) int {
		return cmp.Or(cmp.Compare(len(a.Drop), len(b.Drop)), cmp.Compare(b.More, a.More),
			cmp.Compare(strings.Join(a.Drop, "\x00"), strings.Join(b.Drop, "\x00")))
	})
	n := 0
	for n < min(len(misses), maxMisses) && len(misses[n].Drop) == len(misses[0].Drop) {
		n++
	}
	return misses[:n]
}

func (m *Match) groups(cs []judged) map[string]*group {
	rejected := make(map[*glue.Resource]bool, len(m.Rejected()))
	for _, r := range m.Rejected() {
		rejected[r.Resource] = true
	}
	groups := map[string]*group{}
	for row, r := range m.Resources {
		if !rejected[r] {
			continue
		}
		obs := m.obstacles(cs, row)
		if slices.ContainsFunc(obs, func(o obstacle) bool { return o.filter == ByView }) {
			continue // another entry stands for it
		}
		var key strings.Builder
		for _, o := range obs {
			key.WriteString(o.name)
			key.WriteByte(0)
		}
		g := groups[key.String()]
		if g == nil {
			g = &group{obstacles: obs}
			groups[key.String()] = g
		}
		g.resources = append(g.resources, r)
		if len(obs) == 1 && obs[0].reason != nil && obs[0].reason.limit != "" {
			g.bounds = append(g.bounds, obs[0].reason)
		}
	}
	return groups
}

// miss is what dropping a group's obstacles would bring.
func (m *Match) miss(g *group) Miss {
	miss := Miss{More: len(g.resources)}
	for _, o := range g.obstacles {
		miss.Drop = append(miss.Drop, o.name)
	}
	if len(g.obstacles) > 1 {
		return miss
	}
	if c := g.obstacles[0].clause; c != nil {
		miss.At = c.at()
		miss.To, miss.ToMore = m.relax(c.expr, g.resources)
	} else if g.obstacles[0].filter == ByAccess {
		miss.To, miss.ToMore = commonestVO(g.resources)
	} else {
		miss.To, miss.ToMore = relaxBound(g.bounds)
	}
	return miss
}

// commonestVO is the VO most of the resources let in.
func commonestVO(rs []*glue.Resource) (to string, more int) {
	counts := map[string]int{}
	for _, r := range rs {
		seen := map[string]bool{}
		for _, rule := range r.Access {
			if vo := glue.VOOf(rule); vo != "" && !seen[vo] {
				seen[vo] = true
				counts[vo]++
			}
		}
	}
	if vo := most(counts); vo != "" {
		return "VO:" + vo, counts[vo]
	}
	return "", 0
}

// obstacles lists all filters and clauses that reject the resource. A filter
// on what a clause asks for, too, is the same obstacle and left out.
func (m *Match) obstacles(cs []judged, row int) []obstacle {
	var obs []obstacle
	var same []FilterName
	for i := range cs {
		if !holds(cs[i].values[row]) {
			obs, same = append(obs, obstacle{name: cs[i].Text, clause: &cs[i].Clause}), append(same, cs[i].same...)
		}
	}
	for _, f := range m.filters {
		if f.Pass != nil || slices.Contains(same, f.Name) {
			continue
		}
		if why := f.Reject(m.Job, m.Resources[row]); why != nil {
			name := string(f.Name)
			if why.limit != "" {
				name = why.limited(why.Want.String())
			}
			obs = append(obs, obstacle{name: name, filter: f.Name, reason: why})
		}
	}
	return obs
}

// attributes are parts of names of the attributes a filter looks at.
var attributes = map[FilterName][]string{
	ByState:       {"statestatus", "servingstate"},
	ByWallTime:    {"walltime", "wallclocktime"},
	ByCPUTime:     {"cputime"},
	ByMemory:      {"ramsize", "memory", "virtualsize"},
	BySlots:       {"totalcpus", "logicalcpus", "smpsize"},
	ByQueue:       {"uniqueid", "mappingqueue"},
	ByEnvironment: {"runtimeenvironment", "applicationenvironment"},
}

// lookingAt are the filters that look at one of the attributes.
func lookingAt(names []string) []FilterName {
	var list []FilterName
	for filter, parts := range attributes {
		if slices.ContainsFunc(names, func(name string) bool {
			name = strings.ToLower(name)
			return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(name, part) })
		}) {
			list = append(list, filter)
		}
	}
	return list
}

// relaxBound moves a filter's bound to the nearest value there is.
func relaxBound(bs []*Reason) (to string, more int) {
	if len(bs) == 0 {
		return "", 0
	}
	nearest := math.Inf(-1)
	for _, b := range bs {
		nearest = max(nearest, b.Have.Amount)
	}
	for _, b := range bs {
		if b.Have.Amount >= nearest {
			more++
		}
	}
	return amount(nearest, bs[0].Want.Unit).String(), more
}

// relax moves the bound of a clause "other.X op number" to the nearest
// published value, or replaces the text of "other.X == text" by the
// commonest published one.
func (m *Match) relax(e classad.Expr, rs []*glue.Resource) (to string, more int) {
	name, op, literal, ok := comparison(e)
	if !ok {
		return "", 0
	}
	if _, isText := literal.Str(); isText && op == classad.OpEq {
		return commonest(name, rs)
	}
	if _, isNumber := literal.Number(); !isNumber {
		return "", 0
	}
	up := op == classad.OpGe || op == classad.OpGt
	if !up && op != classad.OpLe && op != classad.OpLt {
		return "", 0
	}
	nearest, count := 0.0, 0
	for _, r := range rs {
		v, published := r.Lookup(name)
		n, ok := v.Number()
		switch {
		case !ok || !published:
		case count == 0 || up && n > nearest || !up && n < nearest:
			nearest, count = n, 1
		case n == nearest:
			count++
		}
	}
	if count == 0 {
		return "", 0
	}
	sign := "<="
	if up {
		sign = ">="
	}
	return fmt.Sprintf("%s %s %s", name, sign, number(nearest)), count
}

func number(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return fmt.Sprintf("%.0f", f)
	}
	return fmt.Sprintf("%g", f)
}

func commonest(name string, rs []*glue.Resource) (to string, more int) {
	counts := map[string]int{}
	for _, r := range rs {
		v, published := r.Lookup(name)
		if s, ok := v.Str(); ok && published {
			counts[s]++
		}
	}
	best := most(counts)
	if counts[best] == 0 {
		return "", 0
	}
	return fmt.Sprintf("%s == %q", name, best), counts[best]
}

// most is the text with the highest count, of several the first.
func most(counts map[string]int) string {
	best := ""
	for s, n := range counts {
		if n > counts[best] || n == counts[best] && s < best {
			best = s
		}
	}
	return best
}

// comparison takes apart "other.X op literal" and "literal op other.X".
func comparison(e classad.Expr) (name string, op classad.Op, literal classad.Value, ok bool) {
	b, ok := e.(*classad.Binary)
	if !ok {
		return "", 0, classad.Value{}, false
	}
	if name, ok = otherName(b.X); ok {
		literal, ok = constant(b.Y)
		return name, b.Op, literal, ok
	}
	if name, ok = otherName(b.Y); ok {
		literal, ok = constant(b.X)
		return name, b.Op.Mirrored(), literal, ok
	}
	return "", 0, classad.Value{}, false
}

func otherName(e classad.Expr) (string, bool) {
	s, ok := e.(*classad.Select)
	if !ok {
		return "", false
	}
	scope, ok := s.X.(*classad.AttrRef)
	return s.Name, ok && isOther(scope.Name)
}

func constant(e classad.Expr) (classad.Value, bool) {
	l, ok := e.(*classad.Literal)
	if !ok {
		return classad.Value{}, false
	}
	return l.Value, true
}
