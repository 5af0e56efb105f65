package predict

import (
	"math/bits"
	"strconv"
)

// correction shifts the outer quantiles by class until each class keeps its promises: of
// all jobs, of a queue, of a size of job and of a lead time. Whether a wait stays
// below a quantile is known when the job starts or the quantile has passed,
// whichever is first, so a burst of late jobs is seen while it waits (Gibbs and
// Candès 2021, "Adaptive conformal inference under distribution shift").
type correction struct {
	Shift map[string]*[nLevels]float64 `json:"shift"` // by class, in doublings
}

const (
	shiftRate  = 0.001 // doublings a job and class: a faster one overshoots in bursts
	mostShift  = 0.5   // doublings of a class
	maxShifted = 1024  // classes
)

func newCorrection() correction { return correction{map[string]*[nLevels]float64{}} }

// classes names the classes of an outlook that is foretold to last so long, in
// doublings.
func (o *Outlook) classes(lead float64) [4]string {
	return [4]string{
		"", "queue " + o.Queue, "size " + strconv.Itoa(bits.Len(uint(max(o.Procs, 0)))),
		"lead " + strconv.Itoa(int(min(max(lead, 0), longest))),
	}
}

// shifts is what the classes are corrected by.
func (c *correction) shifts(classes [4]string) (sum [nLevels]float64) {
	for _, name := range classes {
		if s := c.Shift[name]; s != nil {
			for k := range sum {
				sum[k] += s[k]
			}
		}
	}
	return sum
}

// learn takes in the chance that a wait stayed within the quantile of a level: 1
// or 0 where that is known.
func (c *correction) learn(classes [4]string, level int, within float64) {
	if levels[level] > 0.2 && levels[level] < 0.8 {
		return // the inner ones lose more by being moved than they gain
	}
	step := shiftRate * (levels[level] - within)
	for _, name := range classes {
		s := c.Shift[name]
		if s == nil {
			if len(c.Shift) >= maxShifted {
				continue
			}
			s = &[nLevels]float64{}
			c.Shift[name] = s
		}
		s[level] = min(max(s[level]+step, -mostShift), mostShift)
	}
}

// halve makes room for another world.
func (c *correction) halve() {
	for _, s := range c.Shift {
		for k := range s {
			s[k] /= 2
		}
	}
}
