package plan

import "math"

// Turn is when a job would start that is put into a cluster's own queue now: of so
// many processors and of so long a wall time, or less.
type Turn struct{ Procs, Wall, From int32 }

// turnWeight is what a completion in a queue's turn counts for, against one of a
// slot: of two that end equally soon the slot is taken, which is promised, and
// keeps no local job waiting.
const turnWeight = 1 / 0.9

// laterWeight is by how much less an outlook must cost than a turn: who waits for a
// slot is passed meanwhile by all that come to the queue, and may find the slot gone.
const laterWeight = 0.7

// A move must gain so many seconds, and a share of the wait that is left: the turn at the old
// place is lost with it, and forecasts err.
const (
	moveGain  = 300
	moveShare = 0.25
)

// MoveGain is by how many seconds sooner a job that waits for its turn must end
// elsewhere to be taken out of its queue, where its turn is so many seconds ahead.
func MoveGain(left int64) int64 { return int64(moveGain + moveShare*float32(left)) }

// held is the turn that a job has, less what a move must gain.
func held(p *index, j *Job) turn {
	left := max(0, j.Due-p.r.Now)
	gain := float32(MoveGain(int64(left)))
	return turn{none, 0, 0, float32(left) + float32(j.Wall)/p.r.Clusters[j.At].speed() - gain, true}
}

// worse tells whether a turn is worse than slots that cost so much; later: that make an
// outlook.
func (t *turn) worse(cost float32, later bool) bool {
	if later && t.held {
		return false
	}
	if later {
		return cost < t.cost*laterWeight
	}
	return cost < t.cost
}

// turnLooks bounds, in turns that are looked at, what a cycle spends on queues.
// Jobs that come after that have slots alone, until the next cycle.
const turnLooks = 20_000_000

// queues is what is left of the clusters' queues while a cycle is planned.
type queues struct {
	open   []int   // clusters that let guests queue
	room   []int32 // by cluster
	behind []int32 // by cluster
	looks  int
}

func newQueues(r *Rules) (q queues) {
	for k := range r.Clusters {
		c := &r.Clusters[k]
		if c.Room <= 0 || len(c.Turns) == 0 || !c.open() {
			continue
		}
		if q.room == nil {
			q.room, q.behind, q.looks = make([]int32, len(r.Clusters)), make([]int32, len(r.Clusters)), turnLooks
		}
		q.open, q.room[k], q.behind[k] = append(q.open, k), c.Room, c.Behind
	}
	return q
}

// turn is the place in a queue in which a job is expected to end first.
type turn struct {
	cluster    int // none: that in which it is
	from, done int32
	cost       float32 // as an offer's
	held       bool    // the job has one already
}

const none = -1

// exists tells whether there is such a turn.
func (t *turn) exists() bool { return t.held || t.cluster != none }

// turnFor finds it.
func turnFor(p *index, j *Job) turn {
	best, weight := turn{cluster: none, cost: float32(math.Inf(1))}, float32(turnWeight)
	if j.Queued {
		best, weight = held(p, j), 1
	}
	if j.Nodes > 0 && j.Procs > 1 { // how they are spread is not foretold
		return best
	}
	for _, k := range p.queues.open {
		c := &p.r.Clusters[k]
		if p.queues.looks -= len(c.Turns); p.queues.looks < 0 {
			break
		}
		if p.queues.room[k] <= 0 || j.Queued && k == int(j.At) || !p.r.queues(j, uint16(k)) {
			continue
		}
		from := c.turn(j)
		if from == Never {
			continue
		}
		tmin, _ := p.r.window(j, uint16(k))
		from = max(tmin, int32(min(int64(from)+int64(p.queues.behind[k]), Never-1)))
		rest := float32(from-p.r.Now) + float32(j.Wall)/c.speed()
		if cost := rest * weight; cost < best.cost {
			best = turn{k, from, int32(min(float32(p.r.Now)+rest, Never/2)), cost, j.Queued}
		}
	}
	return best
}

// turn is when a job of a size may start; Never: that is not told.
func (c *Cluster) turn(j *Job) int32 {
	first := int32(Never)
	for _, t := range c.Turns {
		if t.Procs >= j.Procs && t.Wall >= j.Wall {
			first = min(first, t.From)
		}
	}
	return first
}

// overdue is for how long a turn that does not come as foretold is expected any moment,
// in seconds: or as long as it was foretold to take, where that is more.
const overdue = 600

// Due is when the turn of a job is to be expected that waits in a cluster's queue, in
// seconds from now: it was foretold for from, which may be past, at made. A turn that
// is long overdue is expected when that of a newcomer is.
func (c *Cluster) Due(j *Job, from, made int32) int32 {
	newcomer := c.turn(j)
	switch {
	case from >= 0:
		return min(from, newcomer)
	case newcomer == Never || -from < max(overdue, from-made):
		return 0
	}
	return newcomer
}

// queues tells whether a job may wait in a cluster's queue. The queue chooses the
// nodes: all of them must do for the job.
func (r *Rules) queues(j *Job, cluster uint16) bool {
	c, w := &r.Clusters[cluster], &r.Wishes[j.Wish]
	if !bit(w.Clusters, cluster) || !c.takes(j.Wall) || c.Memory > 0 && j.Memory/max(1, j.Procs) > c.Memory {
		return false
	}
	for k, set := range c.Classes {
		if k >= len(w.Classes) && set != 0 || k < len(w.Classes) && set&^w.Classes[k] != 0 {
			return false
		}
	}
	return r.outranks(j, &Slot{Cluster: cluster})
}

// queue gives a job its place in a cluster's queue. Those that are put there after it
// wait for the work that it brings.
func queue(p *index, i int32, t turn) {
	j := &p.jobs[i]
	p.queues.room[t.cluster]--
	if cpus := p.r.Clusters[t.cluster].Load.CPUs; cpus > 0 {
		p.queues.behind[t.cluster] += int32(min(int64(j.Wall)*int64(j.Procs)/int64(cpus), Never/2-int64(p.queues.behind[t.cluster])))
	}
	pay(p, j)
	p.bookings = append(p.bookings, Booking{Job: i, From: t.from, Done: t.done, Chance: 1, Queued: true, Cluster: uint16(t.cluster)})
}
