package plan

import (
	"cmp"
	"slices"
)

// Pairwise is the planning cycle as published: jobs by falling global priority;
// slots that begin between tmin and tmax, by start; each job gets the first
// slot whose local priority it beats, whose owner lets it in and whose
// resources suffice. Slots are not divided, and a job takes one.
type Pairwise struct{}

// Name implements Planner.
func (Pairwise) Name() string { return "pairwise" }

// Plan implements Planner.
func (Pairwise) Plan(jobs []Job, slots []Slot, r *Rules) []Booking {
	left := r.purses()
	var free []int32
	for i := range slots {
		if c := &r.Clusters[slots[i].Cluster]; c.open() && slots[i].From >= c.TMin && slots[i].From <= c.TMax {
			free = append(free, int32(i))
		}
	}
	slices.SortStableFunc(free, func(a, b int32) int { return cmp.Compare(slots[a].From, slots[b].From) })
	var list []Booking
	for _, i := range byPriority(jobs) {
		j := &jobs[i]
		if j.Queued || !r.affords(j, left[j.User]) {
			continue
		}
		if len(j.Leads) > 0 {
			b, ok := r.later(i, j, slots, list)
			if ok {
				free = slices.DeleteFunc(free, func(at int32) bool { return at == b.Parts[0].Slot })
				left[j.User] -= r.fee(j)
				list = append(list, b)
			}
			continue
		}
		for k, at := range free {
			s := &slots[at]
			if !r.outranks(j, s) || !r.Wishes[j.Wish].Allows(s.Cluster, s.Class) || !r.fits(j, s) {
				continue
			}
			free = slices.Delete(free, k, k+1)
			left[j.User] -= r.fee(j)
			list = append(list, r.whole(i, j, at, s))
			break
		}
	}
	return list
}

// later is the first slot for a job that takes longer to be brought to some clusters than
// others: all of it that is left when the job can be there. The published system knows no such job,
// which would miss slot after slot.
func (r *Rules) later(i int32, j *Job, slots []Slot, booked []Booking) (first Booking, ok bool) {
	taken := map[int32]bool{}
	for _, b := range booked {
		taken[b.Parts[0].Slot] = true
	}
	for at := range slots {
		v := slots[at]
		tmin, tmax := r.window(j, v.Cluster)
		if v.From < tmin {
			v.From, v.Start = tmin, r.Clusters[v.Cluster].startAt(tmin-r.Now, v.Start)
		}
		if taken[int32(at)] || ok && v.From >= first.From || v.From > tmax || !r.Clusters[v.Cluster].open() ||
			!r.outranks(j, &v) || !r.Wishes[j.Wish].Allows(v.Cluster, v.Class) || !r.fits(j, &v) {
			continue
		}
		first, ok = r.whole(i, j, int32(at), &v), true
	}
	return first, ok
}

// byPriority is the order of the published system.
func byPriority(jobs []Job) []int32 {
	order := make([]int32, len(jobs))
	inTurn := true
	for i := range order {
		order[i] = int32(i)
		inTurn = inTurn && (i == 0 || jobs[i-1].Seq <= jobs[i].Seq)
	}
	if inTurn && len(jobs) > few {
		keys, sorted := make([]float32, len(jobs)), true
		for i := range jobs {
			keys[i] = 0 - jobs[i].Priority
			sorted = sorted && (i == 0 || keys[i-1] <= keys[i])
		}
		if sorted {
			return order
		}
		return radix(order, keys)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(jobs[b].Priority, jobs[a].Priority), cmp.Compare(jobs[a].Seq, jobs[b].Seq), cmp.Compare(a, b))
	})
	return order
}

// fits tells whether the slot's resources suffice.
func (r *Rules) fits(j *Job, s *Slot) bool {
	c := &r.Clusters[s.Cluster]
	return j.Nodes <= 1 && j.Procs <= int32(s.CPUs) && (s.Memory == 0 || j.Memory <= s.Memory) &&
		(s.To == Never || j.Wall <= s.To-s.From) && c.takes(j.Wall)
}

// whole books all of a slot.
func (r *Rules) whole(i int32, j *Job, at int32, s *Slot) Booking {
	done := s.From + int32(float32(j.Wall)/r.Clusters[s.Cluster].speed())
	return Booking{Job: i, From: s.From, Done: done, Chance: float32(s.Start) / 100, Parts: []Part{{at, s.CPUs}}, Cluster: s.Cluster}
}

// Clip makes slots that have begun already begin at the earliest time at which
// a job can be brought there, and leaves out what is over by then: gaps are
// slots at any time within them. The slots given are changed in place.
func Clip(slots []Slot, r *Rules) {
	for i := range slots {
		if c := &r.Clusters[slots[i].Cluster]; slots[i].From < c.TMin && slots[i].To > c.TMin {
			slots[i].From = c.TMin
		}
	}
}
