package predict

import (
	"math"
	"slices"

	"gridbroker/batch"
)

// draws is the number of draws of an ensemble; a prime.
const draws = 7

// The first members of an ensemble; the draws follow.
const (
	byEstimate = iota
	bySimilar
	firstDraw
	members = firstDraw + draws
)

// Ensemble is several beliefs about run times: the owners' estimates, the mean of
// what similar jobs took, and draws from it.
type Ensemble struct {
	similar *batch.Similar
	members []batch.Belief
}

// NewEnsemble has seen no job.
func NewEnsemble() *Ensemble {
	s := batch.NewSimilar()
	return &Ensemble{s, Members(s)}
}

// Members are the beliefs of an ensemble of what similar jobs took.
func Members(s *batch.Similar) []batch.Belief {
	return append([]batch.Belief{batch.Estimate{}, s}, s.Draws(draws)...)
}

// Members are the beliefs, in the order in which an Outlook lists waits.
func (e *Ensemble) Members() []batch.Belief { return slices.Clone(e.members) }

// Run implements batch.Belief: the mean of similar jobs.
func (e *Ensemble) Run(t *batch.Task, elapsed int64) int64 { return e.similar.Run(t, elapsed) }

// Learn implements batch.Belief: all members learn.
func (e *Ensemble) Learn(t *batch.Task) { e.similar.Learn(t) }

// Outlook is what is known of a waiting job when its start is foretold.
type Outlook struct {
	Queue   string
	Procs   int
	Limit   int64   // wall time asked for, s
	Run     int64   // wall time believed, s
	Waiting int     // jobs that wait on the cluster, this one among them
	Waited  int64   // by this job so far, s
	Waits   []int64 // from now on, s, as each member of an ensemble foretells; empty: the queue cannot be seen
	Others  []Other `json:",omitempty"` // under policies that the cluster may have instead
}

// Other is the wait under another policy, with the mean of similar jobs, and the
// chance that it is the cluster's. The chances of all are less than 1.
type Other struct {
	Wait   int64 // from now on, s
	Chance float64
}

// seen tells whether the outlook is an ensemble's.
func (o *Outlook) seen() bool { return len(o.Waits) == members }

// idle tells whether the job is foretold to start at once, whatever is believed.
func (o *Outlook) idle() bool { return o.seen() && slices.Max(o.Waits) == 0 }

// features is the number of facts a quantile is worked out from.
const features = 14

// facts are what a regression goes by: the centre of what was foretold, in
// doublings, and how far from it each member, and its spread, lies.
type facts struct {
	Base float64           `json:"b"`
	X    [features]float32 `json:"x"`
}

func (o *Outlook) facts() facts {
	var at [members]float64
	for i, w := range o.Waits {
		at[i] = min(scale(float64(w)), longest)
	}
	drawn := at[firstDraw:]
	slices.Sort(drawn)
	mean := 0.0
	for _, v := range drawn {
		mean += v / draws
	}
	f := facts{Base: (at[bySimilar] + mean) / 2}
	size := func(v int64, middle float64) float32 { return float32((math.Log2(float64(max(v, 1))) - middle) / 3) }
	off := func(v float64) float32 { return float32(v - f.Base) }
	f.X = [features]float32{
		1, off(at[byEstimate]), off(at[bySimilar]),
		off(drawn[0]), off(drawn[1]), off(drawn[draws/2]), off(drawn[draws-2]), off(drawn[draws-1]),
		float32((f.Base - 6) / 3), size(int64(o.Procs), 3), size(o.Limit, 12), size(int64(o.Waiting+1), 4), size(o.Run, 11),
		size(1+o.Waited/minute, 0),
	}
	return f
}

// first are the weights of one who has learned nothing: the members' spread.
func first(level int) (w [features]float64) {
	switch p := levels[level]; {
	case p < 0.2:
		w[3] = 1
	case p < 0.4:
		w[4] = 1
	case p > 0.8:
		w[7] = 1
	case p > 0.6:
		w[6] = 1
	}
	return w
}
