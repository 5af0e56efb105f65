package predict

import (
	"math"
	"slices"
)

// regression is one linear quantile regression per level, on the scale of
// doublings, learned on line by stochastic gradients of the pinball loss in
// seconds (Koenker and Bassett 1978, "Regression quantiles"), each weight with a
// rate of its own (Duchi, Hazan, Singer 2011, AdaGrad). After every sample a few
// past ones are gone over again.
type regression struct {
	Weights [nLevels][features]float64 `json:"weights"`
	Squares [nLevels][features]float64 `json:"squares"` // of the gradients so far
	Mean    float64                    `json:"mean"`    // of the waits, s
	Count   int64                      `json:"count"`
	Past    []sample                   `json:"past"` // a ring
}

// sample is a job that has started, or left after Wait without having started.
type sample struct {
	facts
	Wait     float64 `json:"w"`
	Censored bool    `json:"c,omitempty"`
}

const (
	rate     = 0.05 // of learning, doublings
	past     = 4000 // samples kept
	young    = 500  // of them that outlast a drift
	again    = 3    // gone over again with each new one
	steepest = 4    // bound of one gradient
	meanOver = 5000 // samples the mean is of
	meanFrom = 20   // that the first guess counts for
	inertia  = 10   // of the weights in the beginning
)

func newRegression() regression {
	r := regression{Mean: 1000}
	for k := range r.Weights {
		r.Weights[k] = first(k)
	}
	return r
}

// at is the quantile of a level on the scale, before it is put in order.
func (r *regression) at(level int, f *facts) float64 {
	v := f.Base
	for i, x := range f.X {
		v += r.Weights[level][i] * float64(x)
	}
	return min(max(v, 0), longest)
}

func (r *regression) all(f *facts) (at [nLevels]float64) {
	for k := range at {
		at[k] = r.at(k, f)
	}
	return at
}

// learn takes in a sample.
func (r *regression) learn(s sample) {
	r.Count++
	if !s.Censored {
		r.Mean += (s.Wait + minute - r.Mean) / float64(min(meanFrom+r.Count, meanOver))
	}
	r.step(&s)
	if len(r.Past) >= past {
		r.Past = r.Past[1:]
	}
	r.Past = append(r.Past, s)
	for i := range int64(again) {
		r.step(&r.Past[pick(r.Count*again+i, len(r.Past))])
	}
}

// step moves the weights of every level down the gradient of one sample.
func (r *regression) step(s *sample) {
	at := r.all(&s.facts)
	y, below := scale(s.Wait), 0.0
	if s.Censored {
		below = min(spread(at).Chance(s.Wait), surely)
	}
	for k, v := range at {
		g := slope(levels[k], y, v, s.Censored, below)
		g *= minute * math.Exp2(v) / r.Mean
		g = min(max(g, -steepest), steepest)
		for i, x := range s.X {
			d := g * float64(x)
			r.Squares[k][i] += d * d
			r.Weights[k][i] -= rate * d / math.Sqrt(inertia+r.Squares[k][i])
		}
	}
}

// slope is the derivative of the pinball loss of a quantile v where y came. Of a
// sample known only to be more than y, below is the chance of less than that:
// the rest of the chance is spread as foretold beyond y (self-consistency, Efron
// 1967; Portnoy 2003, "Censored regression quantiles").
func slope(level, y, v float64, censored bool, below float64) float64 {
	switch {
	case y > v:
		return -level
	case censored:
		return -below * (1 - level) / (1 - below)
	}
	return 1 - level
}

// forget drops all but the latest samples and lets the weights move twice as fast:
// the world is another now.
func (r *regression) forget() {
	r.Past = slices.Clone(r.Past[max(0, len(r.Past)-young):])
	for k := range r.Squares {
		for i := range r.Squares[k] {
			r.Squares[k][i] /= 4
		}
	}
}

// pick is a number below n that looks drawn by chance and is the same for the same
// turn: what was saved goes on as it would have.
func pick(turn int64, n int) int {
	x := uint64(turn) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return int((x ^ x>>31) % uint64(n))
}
