package rank

import "time"

// Usage is what ended jobs used of the run time that they had asked for. Users ask
// for several times what their jobs need, so that these are not killed, and each
// goes on doing so (Mu'alem and Feitelson, IEEE TPDS 12(6), 2001): what jobs of a
// user used so far says more of the next one than what it asks for.
type Usage struct {
	Used, Asked float64 // seconds at the same speed, summed; what is old counts for less
	Jobs        float64 // how many jobs the sums are worth
}

const (
	usageJobs  = 50 // the sums follow about so many last jobs
	usagePrior = 5  // how many jobs the first guess is worth, that all is used
	minShare   = 0.001
)

// Add takes in a job that ended: how long it ran and how long it had asked for, at
// the speed of one machine. What cannot be is left out.
func (u *Usage) Add(used, asked time.Duration) {
	if asked <= 0 || used <= 0 {
		return
	}
	if u.Jobs >= usageJobs {
		keep := (usageJobs - 1) / u.Jobs
		u.Used, u.Asked, u.Jobs = u.Used*keep, u.Asked*keep, u.Jobs*keep
	}
	u.Used += min(used, asked).Seconds()
	u.Asked += asked.Seconds()
	u.Jobs++
}

// Share is the part of the run time asked for that a next job is expected to use,
// above 0 and at most 1; 1 where no job has ended.
func (u Usage) Share() float64 {
	if !(u.Jobs > 0 && u.Asked > 0) {
		return 1
	}
	return clamp((u.Used/u.Asked*u.Jobs+usagePrior)/(u.Jobs+usagePrior), minShare, 1)
}
