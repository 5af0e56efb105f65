package predict

import "slices"

// Score is how good a predictor's quantiles were. Jobs "waiting" are those that
// waited or were foretold to: over all jobs, those that start at once hide
// errors.
type Score struct {
	Predictor string  `json:"predictor"`
	Pinball   float64 `json:"pinball_seconds"`            // mean over the levels, twice: of a point forecast the mean absolute error
	Share     float64 `json:"pinball_share_of_mean_wait"` // Pinball over the mean wait
	Log       float64 `json:"pinball_doublings"`          // the same on log2(1 minute + wait)
	Below     float64 `json:"waiting_below_10"`           // part of the waiting jobs that started before the 10 % quantile
	Above     float64 `json:"waiting_above_90"`
	Width     int64   `json:"waiting_median_width_seconds"` // of the 10 to 90 % interval: sharpness
}

// scorer adds a Score up.
type scorer struct {
	loss, log    float64
	below, above int
	widths       []int64
}

func (s *scorer) add(q quantiles, wait float64, waiting bool) {
	for k, p := range judged {
		s.loss += 2 * Pinball(p, q[k], wait) / float64(len(judged))
		s.log += 2 * Pinball(p, scale(q[k]), scale(wait)) / float64(len(judged))
	}
	if !waiting {
		return
	}
	s.widths = append(s.widths, int64(q[len(q)-1]-q[0]))
	switch {
	case wait+1 <= q[0]: // waits are whole seconds
		s.below++
	case wait-1 >= q[len(q)-1]:
		s.above++
	}
}

func (s *scorer) score(name string, jobs int, wait float64) Score {
	out := Score{Predictor: name, Pinball: s.loss / float64(max(jobs, 1)), Log: s.log / float64(max(jobs, 1))}
	if wait > 0 {
		out.Share = s.loss / wait
	}
	if n := len(s.widths); n > 0 {
		slices.Sort(s.widths)
		out.Below, out.Above, out.Width = float64(s.below)/float64(n), float64(s.above)/float64(n), s.widths[n/2]
	}
	return out
}
