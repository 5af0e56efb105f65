package agent

import (
	"cmp"
	"math"
	"slices"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/wire"
	"gridbroker/plugins/forecast"
)

// maxStarts bounds the times at which a job is tried in the slots.
const maxStarts = 500

// free gives the slots that a job that nobody has booked may have: less what is
// booked and has not begun. What has begun is in the batch system itself.
func free(a *Agent, now int64) (left, all []wire.Slot) {
	a.mu.Lock()
	defer a.mu.Unlock()
	ahead := make([]wire.Booking, 0, len(a.booked))
	for _, b := range a.booked {
		if b.From > now {
			ahead = append(ahead, b)
		}
	}
	left = wire.Subtract(slices.Clone(a.slots), wire.Uses(ahead))
	for i := range left { // what begins behind a booking is no surer than any slot so far ahead
		if v := &left[i]; v.From > now {
			start, _ := a.chances.at(time.Duration(v.From-now) * time.Second)
			v.Start = min(v.Start, start)
		}
	}
	return left, a.slots
}

// fit finds the first time, not before one given, at which slots are free for all
// of a job and for its length, and the chance that they are when it starts (who has
// started stays): that of the least sure of them, since slots of one cluster come
// and go together.
func fit(slots []wire.Slot, j batch.Job, serves func(node string) bool, from int64) (at int64, chance float64, ok bool) {
	list := make([]wire.Slot, 0, len(slots))
	for _, v := range slots {
		if v.From = max(v.From, from); v.Priority <= 0 && (v.To == 0 || v.To-v.From >= length(j)) && serves(v.Node) {
			list = append(list, v)
		}
	}
	slices.SortFunc(list, func(a, b wire.Slot) int { return cmp.Compare(a.From, b.From) })
	tried := 0
	for i := range list {
		if i+1 < len(list) && list[i+1].From == list[i].From {
			continue
		}
		if chance, ok := fitAt(list[:i+1], j, list[i].From); ok {
			return list[i].From, chance, true
		}
		if tried++; tried == maxStarts {
			break
		}
	}
	return 0, 0, false
}

func length(j batch.Job) int64 { return int64(math.Ceil(j.Requested.Seconds())) }

// fitAt tells whether the slots that have begun at a time hold a job: on one node,
// on as many nodes as it asks for, or wherever processors are.
func fitAt(begun []wire.Slot, j batch.Job, at int64) (chance float64, ok bool) {
	nodes := map[string]*freeNode{}
	for _, v := range begun {
		if v.To != 0 && v.To-at < length(j) {
			continue
		}
		n := nodes[v.Node]
		if n == nil {
			n = &freeNode{chance: 1}
			nodes[v.Node] = n
		}
		n.cpus, n.memory, n.chance = n.cpus+int64(v.CPUs), n.memory+v.Memory, min(n.chance, v.Start)
	}
	if j.Nodes == 0 {
		return anywhere(nodes, int64(j.Procs))
	}
	count := int64(j.Nodes)
	each := (int64(j.Procs) + count - 1) / count
	var fits []float64
	for _, n := range nodes {
		if n.cpus >= each && (n.memory == 0 || n.memory >= j.Memory*each) {
			fits = append(fits, n.chance)
		}
	}
	if int64(len(fits)) < count {
		return 0, false
	}
	slices.SortFunc(fits, func(a, b float64) int { return cmp.Compare(b, a) })
	return fits[count-1], true
}

// freeNode is what is free of a node at once.
type freeNode struct {
	cpus, memory int64
	chance       float64
}

// anywhere takes processors wherever they are, the surest first.
func anywhere(nodes map[string]*freeNode, procs int64) (chance float64, ok bool) {
	list := make([]*freeNode, 0, len(nodes))
	for _, n := range nodes {
		list = append(list, n)
	}
	slices.SortFunc(list, func(a, b *freeNode) int { return cmp.Compare(b.chance, a.chance) })
	for _, n := range list {
		if procs -= n.cpus; procs <= 0 {
			return n.chance, true
		}
	}
	return 0, false
}

// bookedFuture gives a start what the slots tell of it. What is booked keeps a
// job waiting that the queue alone would let start: by as long as it keeps the
// first slots from it. Of a site whose starts nothing was learned from yet the
// slots give the odds, too: with its chance the job starts in the first slots that
// serve, else in the next.
func bookedFuture(a *Agent, s *forecast.Start, state batch.State, j batch.Job) {
	now, serves := state.Now.Unix(), serving(state, j)
	left, all := free(a, now)
	at, chance, ok := fit(left, j, serves, now)
	if was, _, fits := fit(all, j, serves, now); fits {
		end := now + int64(a.Conf.Horizon.Seconds())
		if ok {
			end = at
		}
		delay(s, float64(max(0, end-was)))
	}
	if !ok {
		return
	}
	s.Slot = &forecast.Slot{Wait: float64(at - now), Chance: math.Round(chance*100) / 100}
	if s.Learned >= leastLearned || chance <= 0 || chance >= 1 {
		return
	}
	later := s.Slot.Wait + max(float64(length(j)), 60)
	if next, _, more := fit(left, j, serves, at+1); more && next > at+1 {
		later = float64(next - now)
	}
	near := min(chance, 1-chance) / 2
	s.Quantiles = []forecast.Quantile{{Chance: chance - near, Wait: s.Slot.Wait}, {Chance: chance + near, Wait: later}}
	if s.Median = later; chance >= 0.5 {
		s.Median = s.Slot.Wait
	}
}

// serving tells which nodes a job may use.
func serving(s batch.State, j batch.Job) func(node string) bool {
	serves := make(map[string]bool, len(s.Nodes))
	for _, n := range s.Nodes {
		serves[n.Name] = n.Up && n.GPUs >= j.GPUs && (len(n.Queues) == 0 || slices.Contains(n.Queues, j.Queue)) &&
			!slices.ContainsFunc(j.Features, func(f string) bool { return !n.Has(f) })
	}
	return func(node string) bool { return serves[node] }
}

// delay makes all waits longer.
func delay(s *forecast.Start, seconds float64) {
	s.Median += seconds
	for _, p := range []*float64{s.Low, s.High} {
		if p != nil {
			*p += seconds
		}
	}
	for k := range s.Quantiles {
		s.Quantiles[k].Wait += seconds
	}
}
