package batch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// slowBooked are the reservations of a slow run, and which each job may use, by the state alone.
type slowBooked struct {
	state *State
	list  []slowBooking
	of    map[int64]int // place in list, by seq of the job; others may use none
}

// slowBooking is what a reservation keeps of nodes, by node.
type slowBooking struct {
	from, to int64
	procs    map[int]int32
}

func newSlowBooked(s *State, ids map[int64]int) slowBooked {
	b := slowBooked{state: s, of: map[int64]int{}}
	for _, r := range s.Reservations {
		k := slowBooking{max(r.Start.Unix(), s.Now.Unix()), r.End.Unix(), map[int]int32{}}
		for n := range s.Nodes {
			if slices.Contains(r.Nodes, s.Nodes[n].Name) {
				k.procs[n] = int32(s.Nodes[n].CPUs)
				if r.Each > 0 {
					k.procs[n] = int32(min(r.Each, s.Nodes[n].CPUs))
				}
			}
		}
		b.list = append(b.list, k)
	}
	for seq, id := range ids {
		j := &s.Jobs[id]
		for i, r := range s.Reservations {
			lists := slices.Contains(r.Users, j.User) || slices.Contains(r.Queues, j.Queue)
			named := j.Reservation == r.Name
			open := named && len(r.Users)+len(r.Queues) == 0
			if _, has := b.of[seq]; !has && r.End.After(s.Now) && (open || lists && (named || j.Reservation == "" && !r.ByName)) {
				b.of[seq] = i
			}
		}
	}
	return b
}

// inside is the reservation in which alone a job runs.
func (b *slowBooked) inside(j *job) (i int, ok bool) {
	i, ok = b.of[j.seq]
	return i, ok && b.state.Jobs[j.ID].Reservation != "" && !b.state.Reservations[i].Flex
}

// may is from when on a job may start, and at the latest.
func (b *slowBooked) may(j *job) (from, last int64) {
	if i, ok := b.inside(j); ok {
		return b.list[i].from, b.list[i].to - 1
	}
	return -never, never
}

// until is when a job ends that has started and would run for so long: with its reservation, if
// that is not over.
func (b *slowBooked) until(j *job, from, run, now int64) int64 {
	if i, ok := b.inside(j); ok && b.list[i].to > now {
		return min(from+run, b.list[i].to)
	}
	return from + run
}

// ends are when reservations do.
func (b *slowBooked) ends() (list []int64) {
	for _, k := range b.list {
		list = append(list, k.to)
	}
	return list
}

// next is when one begins or ends next.
func (b *slowBooked) next(now int64) int64 {
	at := never
	for _, k := range b.list {
		for _, edge := range []int64{k.from, k.to} {
			if edge > now {
				at = min(at, edge)
			}
		}
	}
	return at
}

// beneath is how many processors of a job a node can take from a time to another, beside what
// runs and what is kept for others: beside the most of each resource at any moment.
func (s *slowPass) beneath(node int, from, to int64, j *job) int32 {
	if i, ok := s.booked.inside(j); ok && s.booked.list[i].procs[node] == 0 {
		return 0
	}
	top := amounts{}
	for at := from; at < to; at = s.booked.next(at) {
		used := s.usedFor(node, at, j)
		top = amounts{max(top.memory, used.memory), max(top.disk, used.disk), max(top.procs, used.procs), max(top.gpus, used.gpus)}
	}
	all, most, n := s.nodes[node], s.nodes[node].procs-top.procs, j.Need
	if n.Whole && top != (amounts{}) || n.Disk > all.disk-top.disk || int32(n.GPUs) > all.gpus-top.gpus {
		return 0
	}
	for left := most; most > 0 && (inCores(most, n) > left || int64(inCores(most, n))*n.Memory > all.memory-top.memory || n.Each > 0 && int(most)%n.Each > 0); {
		most--
	}
	return max(0, most)
}

// usedFor is what is used of a node at a moment, for a job: by what runs, and by reservations that
// are not for it as much as they keep, or as their jobs have where that is more.
func (s *slowPass) usedFor(node int, at int64, j *job) (used amounts) {
	mine, has := s.booked.of[j.seq]
	inside := map[int]amounts{}
	for _, r := range s.runs {
		for _, part := range r.nodes {
			if int(part.node) != node || at >= r.to {
				continue
			}
			take := amounts{int64(part.procs) * r.need.Memory, r.need.Disk, part.procs, int32(r.need.GPUs)}
			i, in := s.booked.of[r.seq]
			if in = in && s.booked.list[i].holds(node, at); in && !(has && i == mine) {
				inside[i] = inside[i].plus(&take)
			} else {
				used = used.plus(&take)
			}
		}
	}
	for i, k := range s.booked.list {
		if k.holds(node, at) && !(has && i == mine) {
			in := inside[i]
			used = used.plus(&amounts{in.memory, in.disk, max(in.procs, k.procs[node]), in.gpus})
		}
	}
	return used
}

// holds tells whether a reservation keeps something of a node at a moment.
func (k *slowBooking) holds(node int, at int64) bool {
	return k.procs[node] > 0 && k.from <= at && at < k.to
}

// booked makes reservations, of whole nodes or of a part of them, for maintenance or for some, of
// which some are flexible; and jobs that name them.
func booked(rng *rand.Rand, s *State) {
	s.Reservations = nil
	unit := s.Jobs[len(s.Jobs)-1].Requested
	for i := range 1 + rng.IntN(3) {
		r := Reservation{Name: fmt.Sprint("r", i), ByName: rng.IntN(3) > 0, Flex: rng.IntN(3) == 0, Each: rng.IntN(3)}
		r.Start = s.Now.Add((unit * time.Duration(rng.IntN(30)-10) / 10).Truncate(time.Second))
		r.End = r.Start.Add((unit * time.Duration(1+rng.IntN(30)) / 10).Truncate(time.Second) + time.Second)
		for n := range s.Nodes {
			if rng.IntN(3) == 0 {
				r.Nodes = append(r.Nodes, s.Nodes[n].Name)
			}
		}
		if rng.IntN(3) > 0 {
			r.Users = []string{"u1", "u2", "u3", "u4", "u5"}[:1+rng.IntN(5)]
		}
		if len(r.Nodes) == 0 || !r.End.After(s.Now) {
			continue
		}
		s.Reservations = append(s.Reservations, r)
	}
	for i := range s.Jobs {
		if j := &s.Jobs[i]; len(s.Reservations) > 0 && rng.IntN(4) == 0 && j.Started.IsZero() {
			r := &s.Reservations[rng.IntN(len(s.Reservations))]
			if j.Reservation = r.Name; len(r.Users) > 0 {
				j.User = r.Users[rng.IntN(len(r.Users))]
			}
		}
	}
}

// TestSlurmBookedRun holds runs of Slurm by nodes beside reservations against slow ones.
func TestSlurmBookedRun(t *testing.T) {
	testbed.Computes(t)
	sum := runsCompared{booked: true}
	sum.first(t, testbed.Seeds(300, 1800))
	sum.run(t, 29061) // jobs wait for some time after others that run
	sum.run(t, 31833)
	t.Logf("%+v", sum)
	if sum.fine < 2000 {
		t.Errorf("only %+v starts compared", sum)
	}
}
