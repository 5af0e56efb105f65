package predict

import (
	"container/heap"
	"maps"
	"math"
	"slices"

	"gridbroker/batch"
)

// Model learns on line how starts come out and foretells them. It is of one
// cluster.
type Model struct {
	regression regression
	correction correction
	waits      waits
	drift      drift
	errors     batch.Errors // of the mean of similar jobs
	idle       recent       // waits of jobs foretold to start at once
	// loss is the discounted loss of each way to foretell, in seconds: the best
	// is gone by.
	loss   [ways]float64
	judged int64
	open   map[string]*promise
	due    agenda
}

// The ways to foretell.
const (
	byRegression = iota
	byErrors     // the replay with the mean of similar jobs, and its past errors
	byWaits      // past waits of the class
	ways
)

// promise is a forecast whose outcome is still to come.
type promise struct {
	id      string
	made    int64
	outlook Outlook
	facts   facts
	raw     [ways]Distribution // before correction
	told    Distribution
	classes [4]string
	decided int // levels whose outcome is known
}

// NewModel has learned nothing.
func NewModel() *Model {
	return &Model{
		regression: newRegression(), correction: newCorrection(), waits: newWaits(), open: map[string]*promise{},
	}
}

const (
	lossOver = 500  // jobs the losses are of
	settled  = 500  // jobs before an alarm is believed
	surely   = 0.99 // bound of the chance of a wait that was exceeded
	better   = 0.98 // times the regression's loss, at which another way is taken
)

// Foretell says how long a job will wait from now on.
func (m *Model) Foretell(o Outlook) Distribution { return m.foretell(o).told }

func (m *Model) foretell(o Outlook) *promise {
	p := &promise{outlook: o}
	if o.idle() {
		p.told, p.decided = mixed(m.idle.foretell(), &o), nLevels
		return p
	}
	p.raw[byWaits] = m.waits.foretell(&o)
	by := byWaits
	if o.seen() {
		p.facts = o.facts()
		p.raw[byRegression] = spread(m.regression.all(&p.facts))
		p.raw[byErrors] = m.offset(o.Waits[bySimilar], p.raw[byRegression])
		by = m.best()
	}
	base := p.raw[by]
	p.classes = o.classes(base.at[nLevels/2])
	at := base.at
	for k, shift := range m.correction.shifts(p.classes) {
		at[k] += shift
	}
	p.told = mixed(spread(at), &o)
	return p
}

// best is the way with the least loss.
func (m *Model) best() int {
	by := byRegression
	least := better * m.loss[by]
	for i, loss := range m.loss {
		if loss < least {
			by, least = i, loss
		}
	}
	return by
}

// offset adds the quantiles of past errors to a wait; where there are none yet it
// is the other forecast.
func (m *Model) offset(wait int64, other Distribution) Distribution {
	var at [nLevels]float64
	for k, p := range levels {
		off, ok := m.errors.Quantile(wait, p)
		if !ok {
			return other
		}
		at[k] = scale(float64(wait + off))
	}
	return spread(at)
}

// Promise is Foretell for a job whose outcome will be told: by Started or Left.
// A later promise for the same job takes the place of an earlier one.
func (m *Model) Promise(id string, now int64, o Outlook) Distribution {
	m.Advance(now)
	p := m.foretell(o)
	p.id, p.made = id, now
	m.open[id] = p
	m.expect(p)
	return p.told
}

// Learned is the number of starts that it has learned from.
func (m *Model) Learned() int64 { return m.judged + int64(m.idle.N) }

// Promised tells whether a job's outcome is waited for, and since when.
func (m *Model) Promised(id string) (made int64, ok bool) {
	p := m.open[id]
	if p == nil {
		return 0, false
	}
	return p.made, true
}

// Open lists the jobs whose outcome is waited for, in the order of their IDs.
func (m *Model) Open() []string { return slices.Sorted(maps.Keys(m.open)) }

// Known takes in the wait of a job of which there was nothing to foretell: one
// that started the moment it was submitted, say.
func (m *Model) Known(o Outlook, wait float64) {
	m.waits.learn(&o, wait)
	if o.idle() {
		m.idle.add(wait, keptWaits)
	}
}

// Started takes in the start of a job.
func (m *Model) Started(id string, at int64) {
	m.Advance(at)
	p := m.open[id]
	if p == nil {
		return
	}
	wait := float64(max(0, at-p.made))
	for p.decided < nLevels {
		m.decide(p, wait <= math.Ceil(unscale(p.told.at[p.decided])), at)
	}
	m.waits.learn(&p.outlook, wait+float64(p.outlook.Waited))
	if p.outlook.idle() {
		m.idle.add(wait, keptWaits)
	} else if p.outlook.seen() {
		m.judge(p, wait)
		m.errors.Learn(p.outlook.Waits[bySimilar], int64(wait))
		m.regression.learn(sample{facts: p.facts, Wait: wait})
	}
	delete(m.open, id)
}

// Left takes in that a job was cancelled before it started: it is known to have
// waited longer than that.
func (m *Model) Left(id string, at int64) {
	m.Advance(at)
	p := m.open[id]
	if p == nil {
		return
	}
	wait := float64(at - p.made)
	before := min(p.told.Chance(wait), surely)
	for k := p.decided; k < nLevels && wait > 0; k++ {
		m.correction.learn(p.classes, k, max(0, levels[k]-before)/(1-before))
	}
	if wait > 0 && p.outlook.seen() && !p.outlook.idle() {
		m.regression.learn(sample{facts: p.facts, Wait: wait, Censored: true})
	}
	delete(m.open, id)
}

// Advance takes in that time goes by: what waits longer than foretold teaches
// while it waits.
func (m *Model) Advance(now int64) {
	for len(m.due) > 0 && m.due[0].at < now {
		d := heap.Pop(&m.due).(due)
		if m.open[d.of.id] != d.of || d.of.decided != d.level {
			continue
		}
		m.decide(d.of, false, d.at)
		m.expect(d.of)
	}
}

// expect notes when the outcome of the next level is known at the latest.
func (m *Model) expect(p *promise) {
	if p.decided < nLevels {
		at := p.made + int64(math.Ceil(unscale(p.told.at[p.decided])))
		heap.Push(&m.due, due{at, p, p.decided})
	}
}

// decide takes in the outcome of the next level.
func (m *Model) decide(p *promise, within bool, now int64) {
	stayed := 0.0
	if within {
		stayed = 1
	}
	m.correction.learn(p.classes, p.decided, stayed)
	if m.judged >= settled && m.drift.learn(p.decided, within, now) {
		m.regression.forget()
		m.correction.halve()
	}
	p.decided++
}

// judge compares the ways to foretell.
func (m *Model) judge(p *promise, wait float64) {
	m.judged++
	for i, d := range p.raw {
		loss := 0.0
		for k, level := range levels {
			loss += Pinball(level, unscale(d.at[k]), wait) / float64(nLevels)
		}
		m.loss[i] += (loss - m.loss[i]) / float64(min(m.judged, lossOver))
	}
}

// Pinball is the loss of a quantile of a level where y came: its mean is least
// for the true quantile.
func Pinball(level, quantile, y float64) float64 {
	if y >= quantile {
		return level * (y - quantile)
	}
	return (1 - level) * (quantile - y)
}

// Drifts are the times at which the world was found to have changed, the last
// hundred.
func (m *Model) Drifts() []int64 { return m.drift.Times }

// due is when a level's outcome is known at the latest.
type due struct {
	at    int64
	of    *promise
	level int
}

// agenda orders them by time; equal ones by when and of whom the promise is.
type agenda []due

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	if a[i].at != a[j].at {
		return a[i].at < a[j].at
	}
	return a[i].of.id < a[j].of.id
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(due)) }
func (a *agenda) Pop() any {
	old := *a
	last := old[len(old)-1]
	*a = old[:len(old)-1]
	return last
}
