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
	ranked  Ranked
	base    Candidate
	load    *Load
	scored  bool
	primary float64 // the JDL rank where it decides, else 0
	why     string  // not empty: cannot be ranked
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
	entries []entry
	ks      []key // of the last order; kept for the next
	order   []int
	over    []int // those over their limit
}

// NewField prepares the candidates of a job. Their order does not matter.
// Where jobs were placed since, rankOf evaluates the job's Rank again, with
// corrected counters. It may be nil where Candidate.JDLRank stays as it is.
func (p Policy) NewField(job *jdl.Job, now time.Time, cs []Candidate, t *Tally, rankOf func(*glue.Resource) classad.Value) *Field {
	if p.Model == (Model{}) {
		p.Model = DefaultModel()
	}
	if p.Name == "" {
		p.Name = Hybrid
	}
	f := &Field{policy: p, job: job, scene: newScene(&p, job, now), rank: rankOf}
	kind := kinds[p.Name]
	f.ranks = kind.usesRank && (job.Rank != nil || p.Name == JDL)
	at := make([]*Candidate, len(cs)) // sorted in the place of the entries, which are large
	for i := range cs {
		at[i] = &cs[i]
	}
	slices.SortFunc(at, func(a, b *Candidate) int { return cmp.Compare(a.Resource.ID, b.Resource.ID) })
	f.entries = make([]entry, len(cs))
	for i, c := range at {
		f.entries[i] = entry{base: *c, load: t.load(c.Resource)}
	}
	return f
}

// Order returns the best n candidates (all where n <= 0), best first, and
// those that cannot be ranked. It draws one number per candidate.
func (f *Field) Order(draws Source, n int) ([]Ranked, []Dropped) {
	f.refresh()
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
	return h != nil && h.AtMost > 0 && e.load.Jobs >= h.AtMost
}

// full reports whether the resource has all the jobs it may have before it
// has shown that it runs them.
func (e *entry) full() bool {
	return e.base.Limit.On && e.load.Jobs >= e.base.Limit.Jobs
}

func (f *Field) take(order []int, keys []key) []Ranked {
	out := make([]Ranked, len(order))
	for i, at := range order {
		out[i] = f.entries[at].ranked
		if f.policy.Name == Paper {
			mark(&out[i], keys[at].u)
		}
	}
	return out
}

// refresh scores what is new or has changed.
func (f *Field) refresh() {
	for i := range f.entries {
		e := &f.entries[i]
		if e.scored && e.ranked.Placed == *e.load {
			continue
		}
		c := e.base
		c.Placed = *e.load
		if f.rank != nil && c.Placed != (Load{}) {
			c.JDLRank = f.rank(placedOn(c.Resource, c.Placed))
		}
		e.ranked = kinds[f.policy.Name].score(&f.policy, f.scene, &c)
		if e.full() && f.policy.Name == Hybrid {
			e.ranked.keepBack()
		}
		e.primary, e.why = f.verdict(&e.ranked)
		e.scored = true
	}
}

// verdict gives the number of the job's Rank where that decides. A candidate
// for which the Rank is no number comes last and is not lost: the commonest
// Rank of all, -other.GlueCEStateEstimatedResponseTime, is published by few.
// Only what the user's own formula cannot score is dropped.
func (f *Field) verdict(r *Ranked) (primary float64, why string) {
	r.Unranked = ""
	if f.ranks {
		v, ok := r.JDLRank.Number()
		switch {
		case !ok:
			v, r.Unranked = math.Inf(-1), describe(r.JDLRank)
		case math.IsNaN(v) || math.IsInf(v, 0):
			v, r.Unranked = math.Inf(-1), fmt.Sprint(v)
		}
		primary = v
	}
	if math.IsNaN(r.Score) || math.IsInf(r.Score, 0) {
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
