package plan

import (
	"cmp"
	"math"
	"slices"
)

// Lookahead plans parallel jobs too. Jobs in order (see order) get the slots of
// least expected completion, divided by the chance that the slot is there; a
// slot after this cycle's TMax makes an outlook (Booking.Tentative) that keeps
// its place against jobs further back. Among slots that serve equally soon the
// dearest one that the job outranks is taken, so that cheap ones are left to
// those that can outrank no other. What a job leaves of a slot, in processors or
// in time, serves the next.
//
// Where a cluster lets guests wait in its own queue, and a job is expected to end
// sooner there than in any slot, it is put there at once: who waits for a slot is
// passed meanwhile by all that come to the queue.
//
// Jobs that were passed by MaxBypass times come first, in order of arrival.
type Lookahead struct{}

// Name implements Planner.
func (Lookahead) Name() string { return "lookahead" }

// Plan implements Planner.
func (Lookahead) Plan(jobs []Job, slots []Slot, r *Rules) []Booking {
	p := newIndex(jobs, slots, r)
	order := r.Order
	if order == nil {
		order = Order(jobs, r)
	}
	for _, i := range order {
		p.place(i, !r.passedBy(&jobs[i]))
	}
	for i := range jobs {
		if jobs[i].Queued {
			p.place(int32(i), false)
		}
	}
	return p.bookings
}

// place finds room for one job. Where jobs come by falling priority, slots
// that this one cannot outrank are dropped for good.
func (p *index) place(i int32, falling bool) {
	j := &p.jobs[i]
	if !j.Queued && !p.r.affords(j, p.left[j.User]) {
		return
	}
	turn := turnFor(p, j)
	queues := turn.cluster != none
	b, ok := Booking{}, false
	if p.perJob || !p.misses.hopeless(j) {
		if b, ok = slotsFor(p, j, falling, &turn); !ok && !queues && !j.Queued && len(j.Leads) == 0 {
			p.misses.failed(j)
			p.nowhere.add(j)
		}
	}
	if !ok && queues {
		queue(p, i, turn)
	}
	if !ok {
		return
	}
	b.Job, b.Cluster = i, p.work[b.Parts[0].Slot].Cluster
	_, tmax := p.r.window(j, b.Cluster)
	if b.Tentative = b.From > tmax || 100*b.Chance < float32(j.Least)-0.5; !b.Tentative {
		pay(p, j)
	}
	for k := range b.Parts {
		b.Parts[k].Slot = p.origin(b.Parts[k].Slot)
	}
	p.bookings = append(p.bookings, b)
}

// pay takes a job's fee out of its owner's purse; one that is moved has paid.
func pay(p *index, j *Job) {
	if !j.Queued {
		p.left[j.User] -= p.r.fee(j)
	}
}

// slotsFor finds slots for a job that are better than a turn. Windows are of clusters: who
// takes longer to be brought to one is given what parallel jobs are, by the slots' own times.
func slotsFor(p *index, j *Job, falling bool, than *turn) (b Booking, ok bool) {
	if len(j.Leads) > 0 {
		return p.gangIndex().place(j, than)
	}
	if b, ok = p.single(j, falling, than); !ok && j.Procs > 1 {
		b, ok = p.gangIndex().place(j, than)
	}
	return b, ok
}

// misses are the demands that found nothing in this cycle, and the least of each: of few processors anywhere by wish and
// number, for each job is held against them.
type misses struct {
	narrow [][]ceiling
	others map[demand]ceiling
}

// demand is what decides whether a failure says something of another job.
type demand struct{ wish, procs, nodes int32 }

// narrow is of how many processors a demand is that is found by their number.
const narrow = 64

func (j *Job) narrow() bool { return j.Nodes == 0 && j.Procs >= 0 && j.Procs <= narrow }

// ceiling is the least that found nothing; wall 0: there is none.
type ceiling struct {
	wall, memory int32
	priority     float32
}

func newMisses(wishes int) misses { return misses{make([][]ceiling, wishes), map[demand]ceiling{}} }

// of is the least of a job's demand that found nothing.
func (m *misses) of(j *Job) ceiling {
	if !j.narrow() {
		return m.others[demand{j.Wish, j.Procs, j.Nodes}]
	}
	if of := m.narrow[j.Wish]; of != nil {
		return of[j.Procs]
	}
	return ceiling{}
}

// hopeless tells whether a job that asked for no more and could outrank as much
// has found nothing in this cycle.
func (m *misses) hopeless(j *Job) bool {
	c := m.of(j)
	return c.wall > 0 && j.Wall >= c.wall && j.Memory >= c.memory && j.Priority <= c.priority
}

func (m *misses) failed(j *Job) {
	if c := m.of(j); c.wall > 0 && (j.Wall > c.wall || j.Memory > c.memory) {
		return
	}
	c := ceiling{j.Wall, j.Memory, j.Priority}
	if !j.narrow() {
		m.others[demand{j.Wish, j.Procs, j.Nodes}] = c
		return
	}
	of := &m.narrow[j.Wish]
	if *of == nil {
		*of = make([]ceiling, narrow+1)
	}
	(*of)[j.Procs] = c
}

// single finds one slot for all of a job.
func (p *index) single(j *Job, falling bool, than *turn) (b Booking, ok bool) {
	if j.Nodes > 1 {
		return b, false
	}
	need := region[sizeClass(j.Procs)][lengthClass(j.Wall)]
	rooms := p.rooms[j.Wish]
	cost := p.costs[:len(rooms)]
	for k, room := range rooms {
		cost[k] = p.cost(room, p.window(room, p.soonest[room.at], need), j)
	}
	for {
		best := cheapest(cost)
		if best < 0 {
			return b, false
		}
		room := rooms[best]
		w := cost[best].window
		seconds, later := cost[best].seconds, w >= windows/2
		if later && than.exists() { // these windows are long: the slot may begin at its end
			seconds = p.cost(room, w+1, j).seconds
		}
		if !than.worse(seconds, later) {
			return b, false
		}
		if b, ok = p.take(j, room, w, need, falling); ok {
			return b, true
		}
		cost[best] = p.cost(room, p.window(room, w+1, need), j)
	}
}

// offer is what a room costs at its first window that may serve.
type offer struct {
	seconds float32
	window  int32
}

func cheapest(cost []offer) int {
	best, least := -1, float32(math.Inf(1))
	for k := range cost {
		if cost[k].seconds < least {
			best, least = k, cost[k].seconds
		}
	}
	return best
}

// cost is the expected time to completion of a job that begins with a window.
func (p *index) cost(room room, w int32, j *Job) offer {
	if w >= windows {
		return offer{float32(math.Inf(1)), w}
	}
	wait := max(0, p.ahead.bounds[w]-p.r.Now)
	return offer{(float32(wait) + float32(j.Wall)/room.speed) * room.weight, w}
}

// window is the first one from w on in which a room has slots of the sizes
// needed.
func (p *index) window(room room, w int32, need uint64) int32 {
	for base := room.at * windows; w < windows; w++ {
		if p.masks[base+w]&need != 0 {
			return w
		}
	}
	return windows
}

// Order is the places of jobs in the order in which Lookahead serves them: first those that were passed by too often,
// by arrival, without those that wait in queues; then by falling priority, among equals by who has used least of
// his budget, then by arrival.
func Order(jobs []Job, r *Rules) []int32 {
	var first, rest []int32
	for _, i := range byPriority(jobs) {
		switch {
		case jobs[i].Queued:
		case r.passedBy(&jobs[i]):
			first = append(first, i)
		default:
			rest = append(rest, i)
		}
	}
	slices.SortStableFunc(first, func(a, b int32) int { return cmp.Compare(jobs[a].Seq, jobs[b].Seq) })
	fair(jobs, rest, r)
	return append(first, rest...)
}

// passedBy tells whether a job was passed by too often.
func (r *Rules) passedBy(j *Job) bool { return r.MaxBypass > 0 && j.Bypassed >= r.MaxBypass }
