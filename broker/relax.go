package broker

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"gridbroker/glue"
	"gridbroker/rank"
)

// Relaxation is a change of the job by which more resources would match, with
// what it would bring.
type Relaxation struct {
	Changes []Change `json:"changes"` // one or two
	More    int      `json:"more"`    // resources that would match besides
	Queues  int      `json:"queues"`  // they belong to
	// Seconds is when the job would be done at the best of them, by the score
	// and what is published; 0 where the policy does not estimate it. Sooner is
	// how much earlier that is than at the best resource that matches now;
	// negative is later, 0 where there is none.
	Seconds float64 `json:"done_seconds,omitempty"`
	Sooner  float64 `json:"sooner_seconds,omitempty"`
	cost    float64
}

// Change is one edit of the job.
type Change struct {
	From string `json:"from"`         // "memory 2048 MB", or a clause of Requirements
	To   string `json:"to"`           // "memory 2000 MB"; "": without it
	At   string `json:"at,omitempty"` // line:col of a clause

	value float64 // the number in To, where it is one
}

// String says it as "FROM -> TO".
func (c Change) String() string {
	from := c.From
	if c.At != "" {
		from += " (" + c.At + ")"
	}
	if c.To == "" {
		return "without " + from
	}
	return from + " -> " + c.To
}

// Limits of a search for relaxations.
const (
	maxChoices     = 4  // steps of one number that are tried
	maxCombined    = 24 // pairs of obstacles that are looked at, those with the most resources
	maxRelaxations = 10
)

// Relax searches what small changes of a job would open: each bound and clause
// by itself and in pairs, at the values that resources publish. What the user
// cannot change, as access rules or a closed queue, is no obstacle that could
// be moved. The best come first: most resources for the smallest changes.
func (b *Broker) Relax(j *JobPlan) []Relaxation {
	m := j.Match.whole()
	var near []resourceSteps
	rejected := map[*glue.Resource]bool{}
	for _, r := range m.Rejected() {
		rejected[r.Resource] = true
	}
	cs := m.verdicts()
	for row, r := range m.Resources {
		if !rejected[r] {
			continue
		}
		if steps, ok := m.steps(cs, row); ok {
			near = append(near, resourceSteps{r, steps})
		}
	}
	out := append(single(near), pairs(near)...)
	slices.SortStableFunc(out, func(a, b Relaxation) int { return cmp.Compare(b.worth(), a.worth()) })
	out = undominated(out)
	b.price(m, j, out, near)
	return out
}

// worth orders relaxations: queues opened, per size of the change.
func (r Relaxation) worth() float64 {
	return float64(r.Queues) / (0.05 + r.cost) / math.Pow(4, float64(len(r.Changes)-1))
}

// undominated leaves out what changes the same things as another one, or more
// things, by more, and opens no more, and what is beyond the first maxRelaxations: there may be one for each resource.
func undominated(rs []Relaxation) []Relaxation {
	var out []Relaxation
	said := map[string]bool{}
	for _, r := range rs {
		text := r.String()
		if !said[text] && !slices.ContainsFunc(rs, func(o Relaxation) bool { return o.dominates(r) }) {
			out = append(out, r)
		}
		if said[text] = true; len(out) == maxRelaxations {
			break
		}
	}
	return out
}

// dominates reports whether r brings as much as o by less of the same.
func (r Relaxation) dominates(o Relaxation) bool {
	if r.cost > o.cost || r.More < o.More || r.cost == o.cost && r.More == o.More && len(r.Changes) == len(o.Changes) {
		return false
	}
	return !slices.ContainsFunc(r.Changes, func(c Change) bool {
		return !slices.ContainsFunc(o.Changes, func(d Change) bool { return c.From == d.From })
	})
}

// single are the changes of one thing.
func single(near []resourceSteps) []Relaxation {
	by := map[string][]step{}
	open := map[string][]*glue.Resource{}
	for _, n := range near {
		if len(n.steps) == 1 {
			k := n.steps[0].key
			by[k], open[k] = append(by[k], n.steps[0]), append(open[k], n.resource)
		}
	}
	var out []Relaxation
	for _, k := range slices.Sorted(maps.Keys(by)) {
		for _, v := range values(by[k]) {
			var rs []*glue.Resource
			for i, s := range by[k] {
				if s.opens(v) {
					rs = append(rs, open[k][i])
				}
			}
			out = append(out, relaxation(rs, []Change{by[k][0].change(v)}, by[k][0].cost(v)))
		}
	}
	return out
}

func relaxation(rs []*glue.Resource, changes []Change, cost float64) Relaxation {
	queues := map[string]bool{}
	for _, r := range rs {
		queues[queueKey(r)] = true
	}
	return Relaxation{Changes: changes, More: len(rs), Queues: len(queues), cost: cost}
}

// combined is the resources that two obstacles keep away, and each of them.
type combined struct {
	keys  [2]string
	first []step // of those that both keep away
	other []step
}

// pairs are the changes of two things at once: of those pairs of obstacles that
// keep the most resources away.
func pairs(near []resourceSteps) []Relaxation {
	by := map[[2]string]*combined{}
	for _, n := range near {
		if len(n.steps) != 2 || n.steps[0].key == n.steps[1].key {
			continue
		}
		a, b := n.steps[0], n.steps[1]
		if a.key > b.key {
			a, b = b, a
		}
		k := [2]string{a.key, b.key}
		if by[k] == nil {
			by[k] = &combined{keys: k}
		}
		by[k].first, by[k].other = append(by[k].first, a), append(by[k].other, b)
	}
	most := slices.SortedFunc(maps.Values(by), func(a, b *combined) int {
		return cmp.Or(cmp.Compare(len(b.first), len(a.first)), strings.Compare(a.keys[0], b.keys[0]), strings.Compare(a.keys[1], b.keys[1]))
	})
	var out []Relaxation
	for _, c := range most[:min(len(most), maxCombined)] {
		for _, v := range values(c.first) {
			for _, w := range values(c.other) {
				rs := opened(near, map[string]float64{c.keys[0]: v, c.keys[1]: w})
				both := []Change{c.first[0].change(v), c.other[0].change(w)}
				out = append(out, relaxation(rs, both, c.first[0].cost(v)+c.other[0].cost(w)))
			}
		}
	}
	return out
}

// opened are the resources all of whose obstacles are moved far enough.
func opened(near []resourceSteps, to map[string]float64) []*glue.Resource {
	var out []*glue.Resource
	for _, n := range near {
		if !slices.ContainsFunc(n.steps, func(s step) bool { v, ok := to[s.key]; return !ok || !s.opens(v) }) {
			out = append(out, n.resource)
		}
	}
	return out
}

// price works out when the job would be done at what a relaxation opens. The
// services were not asked about these resources: what is published decides.
func (b *Broker) price(m *Match, j *JobPlan, rs []Relaxation, near []resourceSteps) {
	seconds := b.priced(j, near)
	now := 0.0
	if len(j.Choices) > 0 {
		now, _ = Parts(j.Choices[0]).Seconds()
	}
	for i := range rs {
		rs[i].Seconds = m.soonest(rs[i], near, seconds)
		if rs[i].Seconds > 0 && now > 0 {
			rs[i].Sooner = now - rs[i].Seconds
		}
	}
}

// priced is when the job would be done at each resource that changes of it open: where the change is of its wall time, as a job of
// the time that is had there.
func (b *Broker) priced(j *JobPlan, near []resourceSteps) map[*glue.Resource]float64 {
	rules, policy := b.rules(), b.policyFor(j.Job)
	if policy.Name == "" || policy.Name == rank.JDL {
		policy.Name = rank.Hybrid
	}
	byTime := map[time.Duration][]rank.Candidate{}
	for _, n := range near {
		e, _ := rules.endpoint(n.resource)
		wall := j.Job.Demand.WallTime
		if limit := n.resource.MaxWallTime; limit.OK && limit.V < wall {
			wall = limit.V
		}
		byTime[wall] = append(byTime[wall], rank.Candidate{Resource: n.resource, Endpoint: e, Age: ageOf(n.resource, rules.Now)})
	}
	seconds := map[*glue.Resource]float64{}
	for wall, cs := range byTime {
		job := *j.Job
		job.Demand.WallTime = wall
		ranked, _ := policy.NewField(&job, rules.Now, cs, rank.NewTally(), nil).Order(rand.New(rand.NewPCG(b.Seed, 1)), 0)
		for _, r := range ranked {
			if s, ok := Parts(r).Seconds(); ok {
				seconds[r.Resource] = s
			}
		}
	}
	return seconds
}

// soonest is the least of the times at what a relaxation opens, 0 without any.
func (m *Match) soonest(r Relaxation, near []resourceSteps, seconds map[*glue.Resource]float64) float64 {
	best := 0.0
	for _, n := range near {
		fits := len(n.steps) <= len(r.Changes) && !slices.ContainsFunc(n.steps, func(s step) bool {
			return !slices.ContainsFunc(r.Changes, func(c Change) bool { return s.within(c) })
		})
		if t := seconds[n.resource]; fits && t > 0 && (best == 0 || t < best) {
			best = t
		}
	}
	return best
}

// String is the whole as one line: "memory 2048 MB -> 2000 MB: +5 queues, 3h
// earlier".
func (r Relaxation) String() string {
	parts := make([]string, len(r.Changes))
	for i, c := range r.Changes {
		parts[i] = c.String()
	}
	s := fmt.Sprintf("%s: +%d queues", strings.Join(parts, " and "), r.Queues)
	if r.Queues == 1 {
		s = strings.TrimSuffix(s, "s")
	}
	span := func(seconds float64) string {
		d := time.Duration(seconds) * time.Second
		if d > 10*time.Minute {
			d = d.Round(time.Minute)
		}
		return duration(d)
	}
	switch {
	case r.Sooner >= 60:
		s += ", " + span(r.Sooner) + " earlier"
	case r.Sooner <= -60:
		s += ", " + span(-r.Sooner) + " later than the best now"
	case r.Sooner == 0 && r.Seconds > 0:
		s += ", done in " + span(r.Seconds)
	}
	return s
}
