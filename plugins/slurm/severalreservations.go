package slurm

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"gridbroker/batch"
)

// holder has some processors of a reservation until it ends.
type holder struct {
	amount int
	end    time.Time
}

// mostTurns bounds how many jobs of a reservation are reckoned with.
const mostTurns = 256

// inOneReservation lets each job that names several reservations, of which one will do, wait for the one in which it is
// its turn first, whatever their order: behind those that run there, and those of more priority that name several, too. Where none has room for it
// it waits in the first to begin.
func inOneReservation(s *batch.State) {
	if !slices.ContainsFunc(s.Jobs, func(j batch.Job) bool { return strings.Contains(j.Reservation, ",") }) {
		return
	}
	order := make([]*batch.Job, len(s.Jobs))
	for i := range s.Jobs {
		order[i] = &s.Jobs[i]
	}
	slices.SortStableFunc(order, func(a, b *batch.Job) int {
		return cmp.Or(cmp.Compare(len(b.Placed), len(a.Placed)), cmp.Compare(b.Priority, a.Priority), cmp.Compare(number(a.ID), number(b.ID)))
	})
	held, room := map[int][]holder{}, processorsOf(s) // by place in the reservations
	for _, j := range order {
		if j.Reservation == "" {
			continue
		}
		best, at, first := -1, time.Time{}, -1
		names := strings.Split(j.Reservation, ",")
		for k := range s.Reservations {
			r := &s.Reservations[k]
			if !slices.Contains(names, r.Name) || len(j.Placed) > 0 && !slices.Contains(r.Nodes, j.Placed[0].Node) {
				continue
			}
			if r.End.After(s.Now) && (first < 0 || r.Start.Before(s.Reservations[first].Start)) {
				first = k
			}
			if from := turnIn(s.Now, r, room[k], held[k], j); from.Before(r.End) && (best < 0 || from.Before(at)) {
				best, at = k, from
			}
		}
		if best < 0 && first < 0 {
			continue
		}
		if best < 0 {
			j.Reservation = s.Reservations[first].Name // which refuses it
			continue
		}
		if j.Reservation = s.Reservations[best].Name; len(held[best]) < mostTurns {
			held[best] = append(held[best], holder{amount: j.Procs, end: at.Add(j.Requested)})
		}
	}
}

// processorsOf are how many processors each reservation has.
func processorsOf(s *batch.State) []int {
	cpus := make(map[string]int, len(s.Nodes))
	for i := range s.Nodes {
		cpus[s.Nodes[i].Name] = s.Nodes[i].CPUs
	}
	room := make([]int, len(s.Reservations))
	for k := range s.Reservations {
		r := &s.Reservations[k]
		room[k] = r.Procs
		for _, name := range r.Nodes {
			room[k] += min(cpus[name], cmp.Or(r.Each, cpus[name]))
		}
	}
	return room
}

// turnIn is when a reservation has so many of its processors free of jobs that have some of them; its end: never.
func turnIn(now time.Time, r *batch.Reservation, free int, held []holder, j *batch.Job) time.Time {
	if !j.Started.IsZero() {
		return j.Started
	}
	at := later(now, r.Start)
	held = slices.SortedFunc(slices.Values(held), func(a, b holder) int { return a.end.Compare(b.end) })
	for _, h := range held {
		if h.end.After(at) {
			free -= h.amount
		}
	}
	for _, h := range held {
		if free >= j.Procs {
			break
		}
		if h.end.After(at) {
			at, free = h.end, free+h.amount
		}
	}
	if free < j.Procs {
		return r.End
	}
	return at
}
