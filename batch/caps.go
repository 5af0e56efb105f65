package batch

import (
	"cmp"
	"slices"
	"time"
)

// Cap is how much of something jobs may have at once, all of them together: licences, or what a limit of a
// QOS or an association lets run. The policy slurm alone keeps to it, as Slurm does: it is looked at when a job is to start, and
// who would have more is passed by.
type Cap struct {
	Name string
	Most int
	// Planned: backfill gives a job that it keeps from starting a place in the future nevertheless. Slurm does so where
	// processors, nodes, memory or GPUs are limited, and not where jobs or licences are.
	Planned bool
	Later   []More
}

// More is what jobs may have besides from a time on, as licences that a reservation keeps until then.
type More struct {
	At     time.Time
	Amount int
}

// Take is how much a job has of a Cap from its start to its end.
type Take struct {
	Cap    string
	Amount int
}

// caps are those of a machine, by number.
type caps struct {
	left    []int64
	planned []bool
	later   []more // in order of time
}

type more struct {
	at     int64
	cap    int32
	amount int64
}

// take is a Take by numbers.
type take struct {
	cap    int32
	amount int64
}

// caps sets up what jobs may have.
func (s *State) caps() (c caps) {
	for i := range s.Caps {
		c.left, c.planned = append(c.left, int64(s.Caps[i].Most)), append(c.planned, s.Caps[i].Planned)
		for _, l := range s.Caps[i].Later {
			c.later = append(c.later, more{l.At.Unix(), int32(i), int64(l.Amount)})
		}
	}
	slices.SortStableFunc(c.later, func(a, b more) int { return cmp.Compare(a.at, b.at) })
	return c
}

// takes are those of a job that the state has caps for.
func (s *State) takes(j *Job) (list []take) {
	for _, t := range j.Takes {
		if i := slices.IndexFunc(s.Caps, func(c Cap) bool { return c.Name == t.Cap }); i >= 0 && t.Amount > 0 {
			list = append(list, take{int32(i), int64(t.Amount)})
		}
	}
	return list
}

// beyond names a cap of which a job would have more than all may ever have.
func (s *State) beyond(j *Job) (name string, most int) {
	for _, t := range j.Takes {
		for _, c := range s.Caps {
			for _, l := range c.Later {
				c.Most += l.Amount
			}
			if c.Name == t.Cap && t.Amount > c.Most {
				return c.Name, c.Most
			}
		}
	}
	return "", 0
}

// clone copies them.
func (c caps) clone() caps {
	c.left = slices.Clone(c.left)
	return c
}

// any tells whether there are any.
func (c *caps) any() bool { return len(c.left) > 0 }

// lets tells whether there is as much left as a job would have.
func (c *caps) lets(j *job) bool {
	return !slices.ContainsFunc(j.takes, func(t take) bool { return c.left[t.cap] < t.amount })
}

// plans tells whether a job may have a place in the future.
func (c *caps) plans(j *job) bool {
	return !slices.ContainsFunc(j.takes, func(t take) bool { return !c.planned[t.cap] && c.left[t.cap] < t.amount })
}

// begun takes what a job has that starts, ended gives it back.
func (c *caps) begun(j *job) {
	for _, t := range j.takes {
		c.left[t.cap] -= t.amount
	}
}

func (c *caps) ended(j *job) {
	for _, t := range j.takes {
		c.left[t.cap] += t.amount
	}
}

// next is when there is more.
func (c *caps) next() int64 {
	if len(c.later) == 0 {
		return never
	}
	return c.later[0].at
}

// refill takes in what there is more by a time, and tells whether that is anything.
func (c *caps) refill(now int64) (any bool) {
	for ; c.next() <= now; c.later = c.later[1:] {
		c.left[c.later[0].cap] += c.later[0].amount
		any = true
	}
	return any
}
