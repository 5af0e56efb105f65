package batch

import "slices"

// Accuracy measures forecasts of starts against what came.
type Accuracy struct {
	jobs   int
	wait   float64
	error  float64
	errors []int64 // of the jobs that waited or were foretold to
	early  int
}

// AccuracyFigures are the figures of an Accuracy. Errors in seconds; those of
// "waiting" jobs leave out the jobs that did not wait and were not foretold to.
type AccuracyFigures struct {
	Jobs          int     `json:"jobs"`
	MeanError     float64 `json:"error_mean" unit:"seconds"` // mean absolute error
	RelativeError float64 `json:"error_mean_over_wait_mean"` // divided by the mean wait
	Waiting       int     `json:"waiting_jobs"`
	Median        float64 `json:"waiting_error_median" unit:"seconds"` // of the absolute error
	Minute        float64 `json:"waiting_within_1min"`                 // parts of the waiting jobs
	TenMinutes    float64 `json:"waiting_within_10min"`
	Hour          float64 `json:"waiting_within_1h"`
	Earlier       float64 `json:"waiting_earlier"` // started before the start foretold
}

// Add takes a job of Machine.Foretell.
func (a *Accuracy) Add(s Start) {
	off := s.Foretold - s.Start
	a.jobs++
	a.wait += float64(s.Start - s.Submit)
	a.error += float64(max(off, -off))
	if s.Start > s.Submit || s.Foretold > s.Submit {
		a.errors = append(a.errors, max(off, -off))
		if off > 0 {
			a.early++
		}
	}
}

// Figures works the figures out.
func (a *Accuracy) Figures() AccuracyFigures {
	f := AccuracyFigures{Jobs: a.jobs, Waiting: len(a.errors)}
	if a.jobs == 0 || len(a.errors) == 0 {
		return f
	}
	f.MeanError = a.error / float64(a.jobs)
	if a.wait > 0 {
		f.RelativeError = a.error / a.wait
	}
	slices.Sort(a.errors)
	n := float64(len(a.errors))
	f.Median = rank(a.errors, 0.5)
	f.Minute, f.TenMinutes, f.Hour = a.within(60), a.within(600), a.within(3600)
	f.Earlier = float64(a.early) / n
	return f
}

// within is the part of the sorted errors of at most so many seconds.
func (a *Accuracy) within(seconds int64) float64 {
	i, _ := slices.BinarySearch(a.errors, seconds+1)
	return float64(i) / float64(len(a.errors))
}
