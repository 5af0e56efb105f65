package batch

import (
	"fmt"
	"math"
	"slices"
)

// Summary collects what a replay yields. Figures as the field defines them:
// wait is start - submission; bounded slowdown is max(1, (wait + run) /
// max(run, 10 s)) (Feitelson, Rudolph, Schwiegelshohn, Sevcik, Wong 1997);
// utilisation is the processor time used over that available between the
// first submission and the last end. Every job counts, none is warm-up.
type Summary struct {
	Procs   int // of the machine
	classes []class
	all     class
	first   int64
	last    int64
	area    float64   // processor seconds used
	hours   []float64 // processor seconds used in each hour since the first submission
}

// class is the jobs of a range of widths.
type class struct {
	from, to int
	waits    []uint32 // four bytes a job: traces may have 10^7
	long     []int64  // waits that need more
	jobs     int
	wait     float64
	slowdown float64
	longest  int64
}

// Class is the figures of the jobs whose width lies in a range. Waits in seconds.
type Class struct {
	Name         string  `json:"name"`
	Jobs         int     `json:"jobs"`
	MeanWait     float64 `json:"wait_mean" unit:"seconds"`
	MedianWait   float64 `json:"wait_median" unit:"seconds"`
	P95Wait      float64 `json:"wait_p95" unit:"seconds"`
	MaxWait      int64   `json:"wait_max" unit:"seconds"`
	MeanSlowdown float64 `json:"bounded_slowdown_mean"`
}

// NewSummary makes an empty summary for a machine of procs processors.
func NewSummary(procs int) *Summary {
	s := &Summary{Procs: procs}
	for from, to := 1, 1; from <= procs; from, to = to+1, next8(to) {
		s.classes = append(s.classes, class{from: from, to: min(to, procs)})
	}
	return s
}

// next8 is the end of the class of widths after the one that ends at to: the
// classes are 1, 2-7, 8-63, 64-511...
func next8(to int) int {
	if to == 1 {
		return 7
	}
	return (to+1)*8 - 1
}

// Add takes one job.
func (s *Summary) Add(j Start) {
	if s.all.jobs == 0 {
		s.first = j.Submit
	}
	s.first = min(s.first, j.Submit)
	s.last = max(s.last, j.Start+j.Run)
	s.area += float64(j.Run) * float64(j.Procs)
	s.use(j)
	wait := j.Start - j.Submit
	slowdown := max(1, float64(wait+j.Run)/float64(max(j.Run, 10)))
	s.all.add(wait, slowdown)
	for i := range s.classes {
		if c := &s.classes[i]; j.Procs <= c.to {
			c.add(wait, slowdown)
			c.remember(wait)
			return
		}
	}
}

func (c *class) add(wait int64, slowdown float64) {
	c.jobs++
	c.wait += float64(wait)
	c.slowdown += slowdown
	c.longest = max(c.longest, wait)
}

// remember keeps a wait.
func (c *class) remember(wait int64) {
	if wait >= 0 && wait <= math.MaxUint32 {
		c.waits = append(c.waits, uint32(wait))
	} else {
		c.long = append(c.long, wait)
	}
}

// sort puts the waits in order; those that were long are behind the others.
func (c *class) sort() {
	slices.Sort(c.waits)
	slices.Sort(c.long)
}

// rank is the q-quantile of the waits in order.
func (c *class) rank(q float64) float64 {
	return quantile(len(c.waits)+len(c.long), q, func(i int) float64 {
		if i < len(c.waits) {
			return float64(c.waits[i])
		}
		return float64(c.long[i-len(c.waits)])
	})
}

// use spreads a job's processor time over the hours it runs in. Jobs longer
// than ten thousand hours are counted for those only.
func (s *Summary) use(j Start) {
	const hour = 3600
	end := min(j.Start+j.Run, j.Start+10000*hour)
	for t := j.Start; t < end; {
		h := (t - s.first) / hour
		if h < 0 || h >= 1<<20 {
			return
		}
		for int64(len(s.hours)) <= h {
			s.hours = append(s.hours, 0)
		}
		next := min(end, s.first+(h+1)*hour)
		s.hours[h] += float64(next-t) * float64(j.Procs)
		t = next
	}
}

// Jobs is the number of jobs added.
func (s *Summary) Jobs() int { return s.all.jobs }

// Total is the figures of all jobs.
func (s *Summary) Total() Class {
	all := s.merged()
	return all.figures("all")
}

// merged is the class of all jobs, with their waits in order.
func (s *Summary) merged() class {
	all := s.all
	all.waits = make([]uint32, 0, all.jobs)
	for i := range s.classes {
		all.waits = append(all.waits, s.classes[i].waits...)
		all.long = append(all.long, s.classes[i].long...)
	}
	all.sort()
	return all
}

// Classes lists the figures by width, without ranges in which no job lies.
func (s *Summary) Classes() (list []Class) {
	for i := range s.classes {
		c := &s.classes[i]
		if c.jobs > 0 {
			list = append(list, c.figures(c.name()))
		}
	}
	return list
}

func (c *class) figures(name string) Class {
	n := float64(c.jobs)
	if n == 0 {
		return Class{Name: name}
	}
	c.sort()
	return Class{
		Name: name, Jobs: c.jobs, MeanWait: c.wait / n, MedianWait: c.rank(0.5), P95Wait: c.rank(0.95),
		MaxWait: c.longest, MeanSlowdown: c.slowdown / n,
	}
}

// rank is the q-quantile of sorted values.
func rank(sorted []int64, q float64) float64 {
	return quantile(len(sorted), q, func(i int) float64 { return float64(sorted[i]) })
}

// quantile is the q-quantile of n sorted values, between the two nearest ranks.
func quantile(n int, q float64, value func(int) float64) float64 {
	at := q * float64(n-1)
	lo := int(math.Floor(at))
	return value(lo) + (at-float64(lo))*(value(min(lo+1, n-1))-value(lo))
}

// Makespan is the time from the first submission to the last end, in seconds.
func (s *Summary) Makespan() int64 { return s.last - s.first }

// Utilisation is the part of the machine's time that was used, 0 to 1.
func (s *Summary) Utilisation() float64 {
	if s.Makespan() == 0 {
		return 0
	}
	return s.area / (float64(s.Procs) * float64(s.Makespan()))
}

// Hourly is the utilisation of each hour since the first submission.
func (s *Summary) Hourly() []float64 {
	list := make([]float64, len(s.hours))
	for i, used := range s.hours {
		list[i] = used / (3600 * float64(s.Procs))
	}
	return list
}

// Waits lists the waits of all jobs in seconds, shortest first.
func (s *Summary) Waits() []int64 {
	all := s.merged()
	list := make([]int64, 0, all.jobs)
	for _, w := range all.waits {
		list = append(list, int64(w))
	}
	return append(list, all.long...)
}

// WaitsOf lists the waits of the jobs of a Class by its name, shortest first.
func (s *Summary) WaitsOf(class string) []int64 {
	for i := range s.classes {
		c := &s.classes[i]
		if c.name() != class {
			continue
		}
		c.sort()
		list := make([]int64, 0, c.jobs)
		for _, w := range c.waits {
			list = append(list, int64(w))
		}
		return append(list, c.long...)
	}
	return nil
}

// name is the range of widths.
func (c *class) name() string {
	if c.from == c.to {
		return fmt.Sprint(c.from)
	}
	return fmt.Sprintf("%d-%d", c.from, c.to)
}
