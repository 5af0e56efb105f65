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
	jobs     int
	wait     float64
	slowdown float64
	longest  int64
}

// Class is the figures of the jobs whose width lies in a range. Waits in seconds.
type Class struct {
	Name         string  `json:"name"`
	Jobs         int     `json:"jobs"`
	MeanWait     float64 `json:"wait_mean"`
	MedianWait   float64 `json:"wait_median"`
	P95Wait      float64 `json:"wait_p95"`
	MaxWait      int64   `json:"wait_max"`
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
			c.waits = append(c.waits, uint32(min(wait, math.MaxUint32)))
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
	all := s.all
	all.waits = s.waits()
	return all.figures("all")
}

// waits is the waits of all jobs.
func (s *Summary) waits() []uint32 {
	list := make([]uint32, 0, s.all.jobs)
	for i := range s.classes {
		list = append(list, s.classes[i].waits...)
	}
	return list
}

// Classes lists the figures by width, without ranges in which no job lies.
func (s *Summary) Classes() (list []Class) {
	for i := range s.classes {
		c := &s.classes[i]
		name := fmt.Sprintf("%d-%d", c.from, c.to)
		if c.from == c.to {
			name = fmt.Sprint(c.from)
		}
		if len(c.waits) > 0 {
			list = append(list, c.figures(name))
		}
	}
	return list
}

func (c *class) figures(name string) Class {
	n := float64(c.jobs)
	if n == 0 {
		return Class{Name: name}
	}
	slices.Sort(c.waits)
	return Class{
		Name: name, Jobs: c.jobs, MeanWait: c.wait / n, MedianWait: rank(c.waits, 0.5),
		P95Wait: rank(c.waits, 0.95), MaxWait: c.longest, MeanSlowdown: c.slowdown / n,
	}
}

// rank is the q-quantile of sorted values, between the two nearest ranks.
func rank[T int64 | uint32](sorted []T, q float64) float64 {
	at := q * float64(len(sorted)-1)
	lo := int(math.Floor(at))
	hi := min(lo+1, len(sorted)-1)
	return float64(sorted[lo]) + (at-float64(lo))*(float64(sorted[hi])-float64(sorted[lo]))
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

// Waits lists the waits of all jobs in seconds, shortest first; those beyond
// 2^32 s as that.
func (s *Summary) Waits() []int64 {
	waits := s.waits()
	slices.Sort(waits)
	list := make([]int64, len(waits))
	for i, w := range waits {
		list[i] = int64(w)
	}
	return list
}
