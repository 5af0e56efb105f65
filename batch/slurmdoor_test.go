package batch

import (
	"math/rand/v2"
	"slices"
	"time"
)

// slowDoor is what keeps jobs of a slow run from waiting: their begin, jobs that they wait
// for, limits of arrays and queues, and their deadline.
type slowDoor struct {
	outside      []job         // who waits for a time or for other jobs
	began, ended map[int]int64 // when jobs did, by place in the state
	ids          map[int64]int // place in the state by seq
	shut         map[int]bool  // who waited outside at first
	lapsed       map[int]int64 // when it was too late for a job
	event        int64         // the last end: whose time had come by then was let in with it
}

func newSlowDoor(s *State) slowDoor {
	d := slowDoor{began: map[int]int64{}, ended: map[int]int64{}, ids: map[int64]int{}, shut: map[int]bool{}, lapsed: map[int]int64{}}
	for i := range s.Jobs {
		if at := s.Jobs[i].Started; !at.IsZero() {
			d.began[i] = at.Unix()
		}
	}
	return d
}

// gates are the times at which a job need not wait any more for its begin, and for each other
// job; never: that is not known yet.
func (r *slowRunner) gates(i int) []int64 {
	mine, list := &r.state.Jobs[i], []int64{r.state.Now.Unix()}
	if at, ok := r.back[i]; ok {
		return append(list, at)
	}
	begin := mine.Begin.Unix() // it waits for one time where others have started already
	for _, d := range mine.After {
		other := slices.IndexFunc(r.state.Jobs, func(o Job) bool { return o.ID == d.ID })
		if other < 0 || other == i {
			continue
		}
		when, ok := r.ended[other]
		if d.On == OnStart {
			when, ok = r.began[other]
		}
		if !ok && d.On != OnSuccess {
			when, ok = r.lapsed[other]
		}
		if !ok {
			when = never
		}
		when = min(never, when+int64(d.Delay/time.Second))
		if d.On == OnStart && !r.state.Jobs[other].Started.IsZero() {
			begin = max(begin, when)
		} else {
			list = append(list, when)
		}
	}
	return append(list, begin)
}

// opens is when a job need not wait outside any more.
func (r *slowRunner) opens(i int) int64 { return slices.Max(r.gates(i)) }

// eligible is from when a job's age counts: its submission, or when it need not wait for a
// time or for other jobs any more.
func (r *slowRunner) eligible(j *Job) int64 {
	i := slices.IndexFunc(r.state.Jobs, func(o Job) bool { return o.ID == j.ID })
	switch {
	case j.Eligible:
		return j.Submitted.Unix()
	case r.shut[i]:
		return r.opens(i)
	}
	return slices.Max(append(r.gates(i)[1:], j.Submitted.Unix()))
}

// late tells whether a job could not be done by its deadline any more.
func (r *slowRunner) late(j *job) bool {
	by := r.state.Jobs[j.ID].Deadline
	return !by.IsZero() && r.now+j.Limit > by.Unix()
}

// turns is when a job that waits outside need not any more, or not for one thing more, or one
// is too late.
func (r *slowRunner) turns() int64 {
	at := never
	after := func(t int64) {
		if t > r.woken {
			at = min(at, t)
		}
	}
	for i := range r.outside {
		id := int(r.outside[i].ID)
		at = min(at, r.opens(id))
		for _, t := range r.gates(id) {
			if t > r.event || r.follows(id, t) {
				after(t)
			}
		}
	}
	for _, list := range [][]job{r.waiting, r.parked, r.outside} {
		for i := range list {
			if by := r.state.Jobs[list[i].ID].Deadline; !by.IsZero() {
				after(by.Unix() - list[i].Limit + 1)
			}
		}
	}
	return at
}

// follows tells whether a job need wait no more, from a time on, for one that started then or was too late.
func (r *slowRunner) follows(i int, at int64) bool {
	return slices.ContainsFunc(r.state.Jobs[i].After, func(d Dependency) bool {
		other := slices.IndexFunc(r.state.Jobs, func(o Job) bool { return o.ID == d.ID })
		began, ok := r.began[other]
		lapsed, late := r.lapsed[other]
		return d.Delay == 0 && (d.On == OnStart && ok && began == at || late && lapsed == at)
	})
}

// rouse has those looked at once more in this second who wait for a job that has begun, or has been cancelled
// or was too late at first.
func (r *slowRunner) rouse(id int, began bool) {
	for i := range r.outside {
		for _, d := range r.state.Jobs[r.outside[i].ID].After {
			if d.ID == r.state.Jobs[id].ID && (d.On == OnStart) == began && d.Delay == 0 && (d.On != OnSuccess || r.lapsed[id] == 0) {
				r.woken = r.now - 1
			}
		}
	}
}

// limited is what limits a job, and to how many that run or wait at once: its array, else its
// queue; 0: nothing does.
func (r *slowRunner) limited(j *Job) (by string, most int) {
	if j.Array != "" && j.ArrayLimit > 0 {
		return "array " + j.Array, j.ArrayLimit
	}
	q, _ := r.state.queue(j.Queue)
	return "queue " + j.Queue, q.MaxRunning
}

// full tells whether so many run or wait that a job may not wait yet.
func (r *slowRunner) full(j *job) bool {
	by, most := r.limited(&r.state.Jobs[j.ID])
	if most == 0 {
		return false
	}
	count := func(id int) {
		if other, _ := r.limited(&r.state.Jobs[id]); other == by {
			most--
		}
	}
	for _, s := range r.runs {
		count(r.ids[s.seq])
	}
	for i := range r.waiting {
		count(int(r.waiting[i].ID))
	}
	return most <= 0
}

// enter lets those wait whose time has come and who are not too many, and lets go of those
// for whom it is too late.
func (r *slowRunner) enter() {
	late := func(j job) bool {
		if r.late(&j) {
			r.lapsed[int(j.ID)] = r.now
		}
		_, last := r.booked.may(&j)
		return r.late(&j) || r.now > last
	}
	if slices.ContainsFunc(r.waiting, late) {
		r.happened()
	}
	r.waiting, r.parked = slices.DeleteFunc(r.waiting, late), slices.DeleteFunc(r.parked, late)
	r.places = slices.DeleteFunc(r.places, func(s slowStay) bool {
		return !slices.ContainsFunc(r.waiting, func(j job) bool { return j.seq == s.seq })
	})
	parked := r.parked
	r.parked = nil
	r.admit(parked)
	var open []job
	opened := map[int64]bool{} // whoever is let in by one that is too late comes next
	for i := range r.outside {
		opened[r.outside[i].ID] = r.opens(int(r.outside[i].ID)) <= r.now
	}
	r.outside = slices.DeleteFunc(r.outside, func(j job) bool {
		if !opened[j.ID] {
			return false
		}
		j.limit = j.rounded(&r.p.Slurm)
		j.since = r.eligible(&r.state.Jobs[j.ID])
		if r.order[j.ID] = r.priority(&r.state.Jobs[j.ID]); !late(j) {
			open = append(open, j)
		}
		return true
	})
	r.admit(open)
	r.sort()
}

// admit lets jobs wait in order of priority, as many as may.
func (r *slowRunner) admit(list []job) {
	slices.SortFunc(list, r.before)
	for _, j := range list {
		if r.full(&j) {
			r.parked = append(r.parked, j)
			continue
		}
		r.order[j.ID] = r.priority(&r.state.Jobs[j.ID])
		r.waiting = append(r.waiting, j)
		r.happened()
	}
	slices.SortFunc(r.parked, r.before)
}

// doors gives jobs that wait others that they wait for, deadlines, and limits of arrays and
// queues.
func doors(rng *rand.Rand, s *State) {
	kind := rng.IntN(4)
	if kind == 0 {
		s.Queues[rng.IntN(2)].MaxRunning = 1 + rng.IntN(6)
	}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if kind == 1 && rng.IntN(3) == 0 {
			j.Array, j.ArrayLimit = []string{"x", "y"}[rng.IntN(2)], 2
		}
		if !j.Started.IsZero() {
			continue
		}
		if rng.IntN(8) == 0 {
			for range 1 + rng.IntN(2) {
				d := Dependency{ID: s.Jobs[rng.IntN(len(s.Jobs))].ID, On: []Trigger{OnEnd, OnSuccess, OnStart}[rng.IntN(3)]}
				if rng.IntN(2) == 0 {
					d.Delay = time.Duration(rng.IntN(600)) * time.Second
				}
				j.After = append(j.After, d)
			}
		}
		if rng.IntN(8) == 0 {
			j.Deadline = s.Now.Add(time.Duration(float64(j.Requested) * (0.8 + 3*rng.Float64()))).Truncate(time.Second)
		}
	}
}
