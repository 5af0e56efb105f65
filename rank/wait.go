package rank

import (
	"math"
	"time"
)

// wait combines all words on the wait, each weighted by 1/σ² where σ grows
// with the age of the word: so old data counts for less, and the prior for
// more, but no word can make a resource better by being worse. σ never
// depends on the value itself, which keeps the combination monotone.
func (m *Model) wait(sc *scene, c *Candidate) (seconds, sigma float64, terms []Term) {
	terms = m.waits(sc, c)
	sum := 0.0
	for i := range terms {
		terms[i].Weight = 1 / (terms[i].Uncertainty * terms[i].Uncertainty)
		sum += terms[i].Weight
	}
	for i := range terms {
		t := &terms[i]
		t.Weight /= sum
		t.Seconds = clamp(t.Seconds, 0, worst) * t.Weight * m.WaitWeight
		seconds += t.Seconds
	}
	return seconds, m.WaitWeight / math.Sqrt(sum), terms
}

func (m *Model) waits(sc *scene, c *Candidate) []Term {
	terms := sc.terms()
	for i := range c.Forecasts {
		if t, ok := m.forecast(sc, c, &c.Forecasts[i]); ok {
			terms = append(terms, t)
		}
	}
	told := len(terms) // by forecasts
	if q := c.Queue; q != nil && !toldBy(terms[:told], q.Source, sc.now.Sub(q.At)) {
		t := m.word(TermQueue, unitJobs, q.Source, sc.now.Sub(q.At), m.QueueError)
		n := count(q.Total() - count(q.CE) + c.held())
		if q.Own.OK { // the other queues' jobs go to slots of their own, mostly
			n = count(count(q.Own.V) + c.held())
		}
		t.Raw = float64(n)
		t.Seconds = m.drain(sc, c, n, c.Placed.Slots)
		terms = append(terms, t)
	}
	if n, ok := c.published(); ok && !toldBy(terms[:told], c.Resource.Source, c.Age) {
		t := m.word(TermCounters, unitJobs, c.Resource.Source, c.Age, m.CountersError)
		t.Raw = float64(n)
		t.Seconds = m.drain(sc, c, n, c.Placed.slots())
		terms = append(terms, t)
	}
	if r := c.Resource; r.EstimatedWait.OK && !r.EstimatedWaitIsPlaceholder && !toldBy(terms[:told], r.Source, c.Age) {
		t := m.word(TermResponse, unitSeconds, r.Source, c.Age, m.PublishedError)
		t.Raw = r.EstimatedWait.V.Seconds()
		t.Seconds = max(0, t.Raw) + m.overflow(sc, c, c.Placed.slots())
		terms = append(terms, t)
	}
	return append(terms, Term{Name: TermPrior, Source: "prior", Raw: m.PriorWait.Seconds(), Unit: unitSeconds,
		Seconds: m.PriorWait.Seconds() + m.overflow(sc, c, c.Placed.slots()), Uncertainty: max(1, m.PriorError.Seconds())})
}

// toldBy reports whether one of the forecasts is by this source and not much older
// than its other word: one who foretells the start from a queue has counted the jobs
// in it, and what he counted is no second opinion. It would speak against him most
// where few wait behind jobs that take long.
func toldBy(forecasts []Term, source string, age time.Duration) bool {
	for i := range forecasts {
		if forecasts[i].Source == source && forecasts[i].Age <= age+sameLook {
			return true
		}
	}
	return false
}

// sameLook is how far apart the answers to one look at a queue are made.
const sameLook = 30 * time.Second

// word starts a term said by somebody some time ago.
func (m *Model) word(name, unit, source string, age, fresh time.Duration) Term {
	age = max(age, 0)
	return Term{Name: name, Unit: unit, Source: source, Age: age, OK: true,
		Uncertainty: max(1, fresh.Seconds()+m.Drift*age.Seconds())}
}

// forecast turns a service's word into what is left of the wait. A forecast
// that is over its time is no word at all.
func (m *Model) forecast(sc *scene, c *Candidate, f *Forecast) (Term, bool) {
	if !f.GoodUntil.IsZero() && sc.now.After(f.GoodUntil) {
		return Term{}, false
	}
	fresh := m.ForecastError
	width := time.Duration(float64(f.High-f.Low) / 2.563) // 10 % to 90 % of a normal distribution
	switch {
	case f.PastError.OK:
		fresh = max(f.PastError.V*5/4, width) // σ = 1.25 mean absolute errors
	case width > 0:
		fresh = width
	}
	t := m.word(TermForecast, unitSeconds, f.Source, sc.now.Sub(f.Made), fresh)
	t.Raw = f.Median.Seconds()
	by := 1.0
	if h := c.History; h != nil && h.WaitCorrection.OK {
		by = clamp(h.WaitCorrection.V, 0.05, 20)
	}
	t.Quantiles = f.left(t.Age, by)
	t.Seconds = f.expected(t.Age, by) + m.overflow(sc, c, c.Placed.Slots)
	return t, true
}

// left are the quantiles of what is left of the wait after some time, the wait
// longer by a factor than foretold.
func (f *Forecast) left(age time.Duration, by float64) []Quantile {
	var list []Quantile
	for _, q := range f.quantiles() {
		list = append(list, Quantile{q.Chance, max(0, time.Duration(float64(q.Wait)*by)-age)})
	}
	return list
}

// quantiles are those given, or the three, where they are not one number.
func (f *Forecast) quantiles() []Quantile {
	switch {
	case len(f.Quantiles) > 0:
		return f.Quantiles
	case f.High > f.Low:
		return []Quantile{{0.1, f.Low}, {0.5, f.Median}, {0.9, f.High}}
	}
	return nil
}

// expected is the mean of what is left of the wait, in seconds: of quantiles each
// stands for the chances nearer to it than to the next ones. Of one number it is
// that number less the age.
func (f *Forecast) expected(age time.Duration, by float64) float64 {
	list := f.left(age, by)
	if len(list) == 0 {
		return max(0, f.Median.Seconds()*by-age.Seconds())
	}
	mean, from := 0.0, 0.0
	for i, q := range list {
		to := 1.0
		if i+1 < len(list) {
			to = (q.Chance + list[i+1].Chance) / 2
		}
		mean += (to - from) * q.Wait.Seconds()
		from = to
	}
	return mean
}

// published is the number of waiting jobs the resource publishes, those in
// the CE itself included: a full CE publishes free slots and no waiting jobs
// while jobs wait before its batch system.
func (c *Candidate) published() (int64, bool) {
	r := c.Resource
	if r.StateIsPlaceholder || !r.Waiting.OK && !r.FreeSlots.OK {
		return 0, false
	}
	return count(r.Waiting.Or(0)) + count(r.PreLRMSWaiting.Or(0)) + count(r.Staging.Or(0)), true
}

// count limits a published number of jobs to what cannot overflow a sum.
func count(n int64) int64 { return min(max(n, 0), 1e12) }

// drain is the time until a job behind n waiting ones starts, where slots
// come free at the rate slots / run time: the run time of jobs in general for
// those ahead, the job's own for the slots of what was placed there before it.
func (m *Model) drain(sc *scene, c *Candidate, n int64, placed int) float64 {
	work := float64(n) * m.PriorRun.Seconds()
	free := c.Resource.FreeSlots
	left := float64(count(free.Or(0)) - int64(placed))
	if free.OK || n > 0 {
		work += max(0, sc.slots-max(0, left)) * m.turn(sc, c)
	}
	return (work + max(0, -left)*sc.own(c)) / m.slots(c)
}

// turn is the run time of what runs in the slots a job waits for: the call's
// own jobs where there were free slots for them, else others'.
func (m *Model) turn(sc *scene, c *Candidate) float64 {
	if c.Resource.FreeSlots.Or(0) > 0 {
		return min(sc.own(c), m.PriorRun.Seconds())
	}
	return m.PriorRun.Seconds()
}

// overflow is the wait added by slots placed beyond the free ones.
func (m *Model) overflow(sc *scene, c *Candidate, placed int) float64 {
	over := int64(placed) - count(c.Resource.FreeSlots.Or(0))
	return float64(max(0, over)) * sc.own(c) / m.slots(c)
}

// slots is how many slots serve the queue, by the best number published.
func (m *Model) slots(c *Candidate) float64 {
	r := c.Resource
	for _, n := range []int64{r.TotalSlots.Or(0), r.LogicalCPUs.Or(0), r.PhysicalCPUs.Or(0), m.PriorSlots} {
		if n > 0 {
			return float64(n)
		}
	}
	return 1
}
