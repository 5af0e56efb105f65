package batch

import (
	"slices"
	"time"
)

// admits tells whether a job may use the reservation. A job that names it
// must be on its lists too, where it has any.
func (r *Reservation) admits(j *Job) bool {
	named := j.Reservation == r.Name
	switch {
	case named && r.Name != "" && len(r.Users)+len(r.Groups)+len(r.Accounts)+len(r.Queues) == 0:
		return true
	case j.Reservation != "" && !named, r.ByName && !named:
		return false
	}
	return slices.Contains(r.Users, j.User) || slices.Contains(r.Groups, j.Group) ||
		slices.Contains(r.Accounts, j.Account) || slices.Contains(r.Queues, j.Queue)
}

// access is the number, from 1, of the reservation a job may use: the first
// that admits it and is not over; 0: none.
func (s *State) access(j *Job, now int64) int32 {
	for i := range s.Reservations {
		if r := &s.Reservations[i]; r.End.Unix() > now && r.admits(j) {
			return int32(i + 1)
		}
	}
	return 0
}

// inside tells whether a job runs in its reservation, of the number access, only.
func (s *State) inside(j *Job, access int32) bool {
	return j.Reservation != "" && (access == 0 || !s.Reservations[access-1].Flex)
}

// shared tells whether any job of the state may use a reservation.
func (s *State) shared() bool {
	return slices.ContainsFunc(s.Reservations, func(r Reservation) bool {
		return r.End.After(s.Now) && slices.ContainsFunc(s.Jobs, func(j Job) bool { return r.admits(&j) })
	})
}

// barred says why the reservation a job names does not let it run.
func (c *cluster) barred(j *Job) verdict {
	if j.Reservation == "" {
		return verdict{}
	}
	n := c.state.access(j, c.now)
	if n == 0 {
		i := slices.IndexFunc(c.state.Reservations, func(r Reservation) bool { return r.Name == j.Reservation })
		switch {
		case i < 0:
			return refuse(NoReservation, "there is no reservation %s", j.Reservation)
		case c.state.Reservations[i].End.Unix() <= c.now:
			return refuse(NoReservation, "reservation %s is over", j.Reservation)
		}
		return refuse(NoReservation, "reservation %s does not admit it", j.Reservation)
	}
	r := c.state.Reservations[n-1]
	if r.Flex || c.rules.Name == "slurm" {
		return verdict{}
	}
	if left := r.End.Unix() - max(r.Start.Unix(), c.now); c.limit(j) > left {
		v := refuse(NoReservation, "wall time %s, reservation %s has %s left", time.Duration(c.limit(j))*time.Second, r.Name, time.Duration(left)*time.Second)
		v.until = r.End
		return v
	}
	return verdict{}
}

// until is when a job ends that would run for so long from a time on: with its reservation at
// the latest, where that ends it.
func (j *job) until(from, run int64) int64 {
	if n := j.Need; n != nil && n.cut && n.to > from {
		return min(from+run, n.to)
	}
	return from + run
}

// keep holds the reservations of named nodes. It comes before the running
// jobs, of which those that are admitted lie in what is kept.
func (c *cluster) keep(p *nodePlan) {
	for i, r := range c.state.Reservations {
		from, to := max(r.Start.Unix(), c.now), r.End.Unix()
		if len(r.Nodes) == 0 || from >= to {
			continue
		}
		var shares []share
		named := make(map[string]bool, len(r.Nodes))
		for _, name := range r.Nodes {
			if n, ok := c.nodes.find(name); ok && !named[name] { // once, however often it is named
				named[name] = true
				procs := p.nodes[n].have.procs
				if r.Each > 0 {
					procs = min(procs, int32(r.Each))
				}
				shares = append(shares, share{int32(n), procs})
			}
		}
		p.keep(int32(i+1), from, to, shares)
	}
}

// reserve holds the reservations of processors, beside the running jobs: of
// nodes those with the least room that suffice.
func (c *cluster) reserve() {
	for i, r := range c.state.Reservations {
		from, to := max(r.Start.Unix(), c.now), r.End.Unix()
		if from >= to {
			continue
		}
		c.reserved = true
		if c.wakes = append(c.wakes, to); from > c.now {
			c.wakes = append(c.wakes, from)
		}
		if len(r.Nodes) > 0 {
			continue
		}
		j := &job{procs: int32(min(r.Procs, c.procs)), limit: to - from}
		p, byNode := c.plan.(*nodePlan)
		if !byNode {
			c.plan.occupy(j, from, to)
			continue
		}
		j.procs = max(0, j.procs-c.within(&r))
		j.Need = anyNode(len(p.nodes))
		var shares []share
		p.choose(j, from, &shares)
		p.keep(int32(i+1), from, to, shares)
	}
	slices.Sort(c.wakes)
}

// within is the number of processors of running jobs that name a reservation.
func (c *cluster) within(r *Reservation) (procs int32) {
	for i := range c.jobs {
		if j := &c.jobs[i]; j.state == running && r.Name != "" && c.state.Jobs[j.ID].Reservation == r.Name {
			procs += j.procs
		}
	}
	return procs
}

// anyNode is the need that each of so many nodes could serve.
func anyNode(nodes int) *Need {
	n := &Need{}
	for i := range nodes {
		n.allow(int32(i))
	}
	return n
}
