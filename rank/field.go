package rank

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jdl/classad"
)

// Source of draws: uniform in [0, 1). *math/rand/v2.Rand is one.
type Source interface{ Float64() float64 }

// Tally counts what one call has placed, per pool of slots.
type Tally struct{ loads map[poolName]*Load }

// NewTally returns an empty tally.
func NewTally() *Tally { return &Tally{loads: map[poolName]*Load{}} }

// poolName names the slots a resource starts jobs on: several VO views of one
// queue share them.
type poolName struct{ ce, queue, id string } // id: of a resource that names no queue

func pool(r *glue.Resource) poolName {
	if r.CE != "" && r.Queue != "" {
		return poolName{ce: r.CE, queue: r.Queue}
	}
	return poolName{id: r.ID}
}

func (t *Tally) load(r *glue.Resource) *Load {
	key := pool(r)
	l := t.loads[key]
	if l == nil {
		l = &Load{}
		t.loads[key] = l
	}
	return l
}

// Place counts a job of that many slots as sent to the resource.
func (t *Tally) Place(r *glue.Resource, slots int) {
	l := t.load(r)
	l.Jobs++
	l.Slots += max(1, slots)
}

// Earlier counts a job that an earlier call has sent to the resource since it
// published its state.
func (t *Tally) Earlier(r *glue.Resource, slots int) {
	l := t.load(r)
	l.EarlierJobs++
	l.EarlierSlots += max(1, slots)
}

// scene is what is the same for all candidates of a job.
type scene struct {
	now     time.Time
	slots   float64  // asked for
	runTime float64  // seconds, at the reference speed
	named   bool     // the job names its wall time
	inputs  []string // hosts of the remote input files, "" where not known
	wishes  []jdl.EnvironmentWish
	spare   []Term // where terms are written that nobody keeps; nil: in a place of their own
}

// terms is where a score's terms go.
func (sc *scene) terms() []Term {
	if sc.spare == nil {
		return make([]Term, 0, 6)
	}
	return sc.spare[:0]
}

func newScene(p *Policy, job *jdl.Job, now time.Time) *scene {
	sc := &scene{now: now, slots: float64(max(1, job.Demand.Slots)), runTime: p.Model.PriorRun.Seconds()}
	if t := job.Demand.WallTime; t > 0 {
		sc.runTime, sc.named = t.Seconds(), true
	} else if t := job.Demand.CPUTime; t > 0 {
		sc.runTime = t.Seconds() / sc.slots
	}
	for _, f := range job.InputSandbox {
		if f.IsURL() {
			sc.inputs = append(sc.inputs, hostOf(f.Source))
		}
	}
	for _, name := range job.InputData {
		sc.inputs = append(sc.inputs, hostOf(name))
	}
	for _, wish := range job.Demand.RuntimeEnvironments {
		sc.wishes = append(sc.wishes, jdl.ParseEnvironmentWish(wish))
	}
	return sc
}

// entry is one candidate in a field.
type entry struct {
	base    *Candidate
	load    *Load // of its pool of slots; nil: nothing is placed there
	by      Load  // what it was scored with
	score   score
	scored  bool
	kept    bool    // its terms are its own
	primary float64 // the JDL rank where it decides, else 0
	why     string  // not empty: cannot be ranked
}

// placed is what the call has sent to the resource's slots.
func (e *entry) placed() Load {
	if e.load == nil {
		return Load{}
	}
	return *e.load
}

// Field holds the candidates of equal jobs, scored once; scores of those
// whose slots the call has filled since are renewed when the next job is
// ordered.
type Field struct {
	policy  Policy
	job     *jdl.Job
	scene   *scene
	ranks   bool // the JDL rank decides
	rank    func(*glue.Resource) classad.Value
	tally   *Tally
	pools   int // of the tally, when loads were last looked for
	entries []entry
	spare   []Term
	ks      []key // of the last order; kept for the next
	order   []int
	over    []int // those over their limit
}

// NewField prepares the candidates of a job, which are the field's from then on.
// Their order does not matter; to have them by ID saves the sorting.
// Where jobs were placed since, rankOf evaluates the job's Rank again, with
// corrected counters. It may be nil where Candidate.JDLRank stays as it is.
func (p Policy) NewField(job *jdl.Job, now time.Time, cs []Candidate, t *Tally, rankOf func(*glue.Resource) classad.Value) *Field {
	if p.Model == (Model{}) {
		p.Model = DefaultModel()
	}
	if p.Name == "" {
		p.Name = Hybrid
	}
	f := &Field{policy: p, job: job, scene: newScene(&p, job, now), rank: rankOf, tally: t}
	kind := kinds[p.Name]
	f.ranks = kind.usesRank && (job.Rank != nil || p.Name == JDL)
	f.entries = make([]entry, len(cs))
	for i := range cs {
		f.entries[i].base = &cs[i]
	}
	byID := func(a, b entry) int { return cmp.Compare(a.base.Resource.ID, b.base.Resource.ID) }
	if !slices.IsSortedFunc(f.entries, byID) {
		slices.SortFunc(f.entries, byID)
	}
	return f
}

// Order returns the best n candidates (all where n <= 0), best first, and
// those that cannot be ranked. It draws one number per candidate.
func (f *Field) Order(draws Source, n int) ([]Ranked, []Dropped) {
	f.refresh(n <= 0 || 2*n > len(f.entries))
	keys := f.keys(draws)
	order, over := f.order[:0], f.over[:0]
	var dropped []Dropped
	for i := range f.entries {
		e := &f.entries[i]
		if e.why != "" {
			dropped = append(dropped, Dropped{e.base.Resource, e.why})
			continue
		}
		switch {
		case e.onTrial():
		case e.full() && !e.base.Limit.Wait:
			over = append(over, i)
		default:
			order = append(order, i)
		}
	}
	if len(order) == 0 { // better than nowhere
		order = append(order, over...)
	}
	f.order, f.over = order, over
	if n <= 0 || n > len(order) {
		n = len(order)
	}
	best(order, n, func(a, b int) int { return keys[a].compare(keys[b]) })
	return f.take(order[:n], keys), dropped
}

// onTrial reports whether the resource has been given all the jobs it may
// have until it has shown that it works again.
func (e *entry) onTrial() bool {
	h := e.base.History
	return h != nil && h.AtMost > 0 && e.placed().Jobs >= h.AtMost
}

// full reports whether the resource has all the jobs it may have before it
// has shown that it runs them.
func (e *entry) full() bool {
	return e.base.Limit.On && e.placed().Jobs >= e.base.Limit.Jobs
}

func (f *Field) take(order []int, keys []key) []Ranked {
	out := make([]Ranked, len(order))
	for i, at := range order {
		e := &f.entries[at]
		f.mark(e, true)
		out[i] = Ranked{Candidate: *e.base, Score: e.score.value, Uncertainty: e.score.sigma, Terms: e.score.terms, Unranked: e.score.unranked}
		out[i].Placed = e.by
		if f.policy.Name == Paper {
			mark(&out[i], keys[at].u)
		}
	}
	return out
}

// refresh scores what is new or has changed. keep: all terms will be asked for.
func (f *Field) refresh(keep bool) {
	f.findLoads()
	for i := range f.entries {
		f.mark(&f.entries[i], keep)
	}
}

// findLoads looks for what was placed since on the pools of the candidates.
func (f *Field) findLoads() {
	if f.pools == len(f.tally.loads) {
		return
	}
	f.pools = len(f.tally.loads)
	for i := range f.entries {
		if e := &f.entries[i]; e.load == nil {
			e.load = f.tally.loads[pool(e.base.Resource)]
		}
	}
}

// mark scores one candidate where its score is not as it was. The terms are kept
// for those whose terms are asked for: of most candidates nobody does.
func (f *Field) mark(e *entry, keep bool) {
	placed := e.placed()
	if e.scored && e.by == placed && (e.kept || !keep) {
		return
	}
	c := e.base
	c.Placed = placed
	if f.rank != nil && placed != (Load{}) && (!e.scored || e.by != placed) {
		c.JDLRank = f.rank(placedOn(c.Resource, placed))
	}
	f.scene.spare = f.spare
	if keep {
		f.scene.spare = nil
	}
	e.score = kinds[f.policy.Name].score(&f.policy, f.scene, c)
	if e.full() && f.policy.Name == Hybrid {
		e.score.keepBack(c.Limit.Jobs)
	}
	e.primary, e.why = f.verdict(c, &e.score)
	e.by, e.scored, e.kept = placed, true, keep
	if !keep {
		f.spare, e.score.terms = e.score.terms[:0], nil
	}
}

// verdict gives the number of the job's Rank where that decides. A candidate
// for which the Rank is no number comes last and is not lost: the commonest
// Rank of all, -other.GlueCEStateEstimatedResponseTime, is published by few.
// Only what the user's own formula cannot score is dropped.
func (f *Field) verdict(c *Candidate, s *score) (primary float64, why string) {
	if f.ranks {
		v, ok := c.JDLRank.Number()
		switch {
		case !ok:
			v, s.unranked = math.Inf(-1), describe(c.JDLRank)
		case math.IsNaN(v) || math.IsInf(v, 0):
			v, s.unranked = math.Inf(-1), fmt.Sprint(v)
		}
		primary = v
	}
	if math.IsNaN(s.value) || math.IsInf(s.value, 0) {
		return 0, "the formula gives no number"
	}
	return primary, ""
}

func describe(v classad.Value) string {
	switch v.Kind() {
	case classad.Undefined:
		return "undefined"
	case classad.Error:
		return "an error"
	}
	return "not a number"
}

// placedOn is the resource as it will look when the jobs of this call, and
// those sent since it published its state, have arrived: so a Rank on free slots or waiting jobs spreads them too.
func placedOn(r *glue.Resource, l Load) *glue.Resource {
	if l == (Load{}) {
		return r
	}
	c := *r
	slots, jobs := int64(l.slots()), int64(l.Jobs+l.EarlierJobs)
	fit := min(slots, max(0, r.FreeSlots.Or(0)))
	started := jobs * fit / slots
	c.FreeSlots.V = r.FreeSlots.V - fit
	c.Running.V += started
	c.Waiting.V += jobs - started
	c.Total.V += jobs
	return &c
}
