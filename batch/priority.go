package batch

import (
	"fmt"
	"math"
	"strconv"
)

// Weights are the factors of Maui's linear priority (administrator's guide,
// 5.1.2): the sum of each weight times its component, more for earlier
// start. With all weights zero jobs go by the cluster's own priority, then by
// submission, which is also what Maui's default QUEUETIMEWEIGHT 1 amounts to.
type Weights struct {
	QueueTime    float64 // QUEUETIMEWEIGHT: per minute in the queue
	QueueTimeCap float64 // QUEUETIMECAP: minutes counted at most; 0: no cap
	XFactor      float64 // XFACTORWEIGHT: times 1 + queue time / limit
	XFactorCap   float64 // XFACTORCAP; 0: no cap
	Procs        float64 // PROCWEIGHT: per processor
	PS           float64 // PSWEIGHT: per processor second asked for
	XFMinLimit   int64   // XFMINWCLIMIT: seconds; shorter limits count as this in XFACTOR
}

// priority is higher for jobs that go ahead.
func (w *Weights) priority(j *job, now int64) float64 {
	wait := float64(now - j.Submit)
	minutes := wait / 60
	if w.QueueTime != 0 && w.QueueTimeCap == 0 {
		// All jobs gain alike by waiting: only the time of submission
		// matters, and keys need not change.
		minutes = -float64(j.Submit) / 60
	} else if w.QueueTimeCap > 0 {
		minutes = min(minutes, w.QueueTimeCap)
	}
	x := 1 + wait/float64(max(j.limit, w.XFMinLimit, 1))
	if w.XFactorCap > 0 {
		x = min(x, w.XFactorCap)
	}
	return j.Priority + w.QueueTime*minutes + w.XFactor*x +
		w.Procs*float64(j.procs) + w.PS*float64(j.procs)*float64(j.limit)
}

// changing tells whether the order of waiting jobs changes with time.
func (w Weights) changing() bool {
	return w.XFactor != 0 || w.QueueTime != 0 && w.QueueTimeCap > 0
}

func (w *Weights) set(name, value string) error {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return fmt.Errorf("%s %q: want a number", name, value)
	}
	field := map[string]*float64{
		"QUEUETIMEWEIGHT": &w.QueueTime, "QUEUETIMECAP": &w.QueueTimeCap, "XFACTORWEIGHT": &w.XFactor,
		"XFACTORCAP": &w.XFactorCap, "PROCWEIGHT": &w.Procs, "PSWEIGHT": &w.PS,
	}[name]
	switch {
	case name == "XFMINWCLIMIT":
		w.XFMinLimit = int64(n)
	case field == nil:
		return fmt.Errorf("parameter %q of maui is not known", name)
	default:
		*field = n
	}
	return nil
}
