package sim

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/agent"
	"gridbroker/forecast/scheduler/plan"
	"gridbroker/forecast/wire"
)

// central keeps jobs in a global queue and books the slots that the sites'
// agents publish, with the real planner, in cycles.
type central struct {
	*grid
	planner plan.Planner
	piece   int64 // processors of the slots that the planner is given: the published matching divides none
	queue   []int // jobs, in order of arrival
	widest  int
	at      int64
	late    map[string]time.Time // by attempt: when its slot begins
	slots   [][]plan.Slot        // by site, as its agent published them last
	turns   [][]wire.Turn        // the same of its queue
	queued  []map[int]waitsFor   // by site: jobs that wait in its queue
	looked  []int64              // by site: when that was
	known   []int                // by site: what had happened there by then
}

// waitsFor is what a job in a site's queue was told: its turn, and when that was.
type waitsFor struct {
	id         string
	turn, sent int64
}

// horizon is how far ahead agents look.
const horizon = 4 * time.Hour

// missedAfter is by how much a booked job may begin late before its booking counts as missed.
const missedAfter = time.Minute

func newCentral(g *grid) *central {
	n := len(g.sites)
	c := &central{grid: g, planner: plan.Lookahead{}, at: never, piece: math.MaxUint16, widest: g.jobs.widest, late: map[string]time.Time{},
		slots: make([][]plan.Slot, n), turns: make([][]wire.Turn, n), looked: make([]int64, n), known: make([]int, n)}
	if g.policy == GrASPaper {
		c.planner, c.piece = plan.Pairwise{}, 1
	}
	for i, s := range g.sites {
		s.begun = c.begun
		c.looked[i] = -1
		c.queued = append(c.queued, map[int]waitsFor{})
	}
	return c
}

func (c *central) wake() int64 { return c.at }

func (c *central) arrive(_ context.Context, number int) error {
	c.run.Messages++
	if j := c.job(number); !slices.ContainsFunc(c.sites, func(s *site) bool { return min(int64(s.Procs), c.piece) >= int64(j.procs) }) {
		c.unplaced(number)
		return nil
	}
	c.queue = append(c.queue, number)
	if c.at == never {
		cycle := int64(c.scenario.Cycle.Seconds())
		c.at = (c.now/cycle + 1) * cycle
	}
	return nil
}

// turn is one cycle.
func (c *central) turn(context.Context) error {
	rules := &plan.Rules{Epoch: c.Now(), Horizon: int32(horizon.Seconds()), Free: true, MaxBypass: 200}
	var slots []plan.Slot
	for i, s := range c.sites {
		if err := c.publishSlots(i, s); err != nil {
			return err
		}
		cycle := int32(c.scenario.Cycle.Seconds())
		rules.Clusters = append(rules.Clusters, plan.Cluster{
			TMin: int32(c.scenario.Latency.Seconds()) + 4, TMax: 2*cycle + 4, Good: math.MaxInt32, Speed: float32(s.Speed), Drained: !s.takes(),
			Load: plan.Load{CPUs: s.Procs},
		})
		if c.policy == GrAS {
			c.addTurns(i, &rules.Clusters[i])
		}
		slots = append(slots, shifted(c.slots[i], c.now)...)
	}
	plan.Clip(slots, rules)
	planned, jobs := c.ask(rules)
	var err error
	taken := map[int]bool{}
	for _, b := range c.planner.Plan(jobs, slots, rules) {
		if b.Tentative {
			continue
		}
		number := planned[b.Job]
		switch j := &jobs[b.Job]; {
		case j.Queued:
			err = errors.Join(err, c.recall(number, int(j.At)))
			continue
		case b.Queued:
			c.enqueue(number, int(b.Cluster), b.From)
		default:
			c.book(number, c.sites[b.Cluster], max(b.From, 0))
		}
		taken[number] = true
	}
	c.queue = slices.DeleteFunc(c.queue, func(n int) bool { return taken[n] })
	if len(taken) == 0 && c.stuck() {
		for _, number := range c.queue {
			c.unplaced(number)
		}
		c.queue = nil
	}
	c.at += int64(c.scenario.Cycle.Seconds())
	if len(c.queue) == 0 && !slices.ContainsFunc(c.queued, func(of map[int]waitsFor) bool { return len(of) > 0 }) {
		c.at = never
	}
	return err
}

// stuck says whether nothing will ever change any more: what is not booked now never will be.
func (c *central) stuck() bool {
	if c.next < c.jobs.count || len(c.again) > 0 || len(c.troubles) > 0 {
		return false
	}
	for i, s := range c.sites {
		if s.next() != never || c.now < c.looked[i]+int64(s.looks().Seconds()) {
			return false
		}
	}
	return true
}

// maxPlanned bounds the jobs of one cycle; the first come first.
const maxPlanned = 2000

// ask lists the queue for the planner.
func (c *central) ask(r *plan.Rules) (numbers []int, jobs []plan.Job) {
	numbers = c.queue[:min(len(c.queue), maxPlanned)]
	users := map[int]int32{}
	all := make([]uint64, len(c.sites)/64+1)
	for i := range all {
		all[i] = math.MaxUint64
	}
	r.Wishes = []plan.Wish{{Clusters: all, Classes: []uint64{1}}}
	of := func(n int) plan.Job {
		j := c.job(n)
		u, known := users[j.user]
		if !known {
			u = int32(len(users))
			users[j.user] = u
			r.Users = append(r.Users, plan.User{Weight: 1})
		}
		return plan.Job{Seq: int64(n), Priority: 1, Wall: int32(min(j.limit, math.MaxInt32)), Procs: int32(j.procs), User: u}
	}
	for _, n := range numbers {
		jobs = append(jobs, of(n))
	}
	numbers = numbers[:len(numbers):len(numbers)]
	for i, list := range c.queued {
		for _, n := range slices.Sorted(maps.Keys(list)) {
			j, told := of(n), list[n]
			j.Queued, j.At = true, uint16(i)
			j.Due = r.Clusters[i].Due(&j, int32(told.turn-c.now), int32(told.sent-c.now))
			numbers, jobs = append(numbers, n), append(jobs, j)
		}
	}
	return numbers, jobs
}

// publishSlots lets a site's agent publish its slots, as often as the site does.
func (c *central) publishSlots(i int, s *site) error {
	if err := s.advance(c.now); err != nil {
		return err
	}
	if s.down || s.mute || c.looked[i] >= 0 && c.now < c.looked[i]+int64(s.looks().Seconds()) {
		return nil
	}
	if c.looked[i] >= 0 && c.known[i] == s.events && c.now < c.looked[i]+int64(horizon.Seconds())/4 {
		return nil // nothing new, and enough of it is still to come
	}
	c.looked[i], c.known[i] = c.now, s.events
	c.run.Messages++
	f := &batch.Forecaster{Policy: batch.Policy{Name: s.Scheduler}, Belief: batch.Estimate{}}
	c.slots[i] = c.slots[i][:0]
	state := s.engine.State()
	offer := s.owner().Offer(state, s.engine.Near(f, horizon), guestsIn(state))
	for _, v := range agent.Gaps(offer, c.Now(), agent.DefaultChances()) {
		to := int64(plan.Never)
		if v.To != 0 {
			to = v.To - epoch.Unix()
		}
		for cpus := int64(v.CPUs); cpus > 0; cpus -= c.piece {
			c.slots[i] = append(c.slots[i], plan.Slot{
				From: int32(v.From - epoch.Unix()), To: int32(min(to, plan.Never)), Node: int32(i), Cluster: uint16(i),
				CPUs: uint16(min(cpus, c.piece)), Start: uint8(100 * v.Start), Hold: uint8(100 * v.Hold),
			})
		}
	}
	c.askTurns(i, f)
	if s.Lie == "idle" {
		c.slots[i] = []plan.Slot{{To: plan.Never, Node: int32(i), Cluster: uint16(i), CPUs: uint16(min(s.Procs, math.MaxUint16)), Start: 100, Hold: 100}}
	} else if s.Lie == "full" {
		c.slots[i], c.turns[i] = nil, nil
	}
	return nil
}

// owner is how a site's agent is run: as grid agent run does where nothing is said.
func (c *site) owner() *agent.Config {
	return &agent.Config{Cluster: c.Name, Turns: c.Turns, Horizon: horizon, Spare: agent.DefaultSpare, Site: wire.Site{LRMS: "slurm", Speed: c.Speed}}
}

// guestsIn are the bookings of the global jobs that wait at a site, as its agent is told.
func guestsIn(s batch.State) (list []wire.Booking) {
	for i := range s.Jobs {
		if j := &s.Jobs[i]; j.ID[0] == 'g' && j.Started.IsZero() {
			list = append(list, wire.Booking{Procs: int32(j.Procs), To: int64(j.Requested / time.Second)})
		}
	}
	return list
}

// shifted returns slots with their times counted from now; those that are over are left out.
func shifted(slots []plan.Slot, now int64) (list []plan.Slot) {
	for _, v := range slots {
		v.From = int32(max(0, int64(v.From)-now))
		if v.To != plan.Never {
			if int64(v.To) <= now {
				continue
			}
			v.To = int32(int64(v.To) - now)
		}
		list = append(list, v)
	}
	return list
}

// book sends a job ahead to its slot.
func (c *central) book(number int, s *site, from int32) {
	begin := c.Now().Add(time.Duration(from) * time.Second)
	if from == 0 {
		begin = time.Time{}
	}
	c.run.Booked++
	c.run.Messages += 2
	id, _ := c.send(number, s, begin)
	c.late[id] = c.Now().Add(time.Duration(from) * time.Second).Add(c.scenario.Latency.Duration).Add(missedAfter)
}

// askTurns lets a site's agent tell when the turn of jobs would come in its queue, as
// wide as jobs of this run are.
func (c *central) askTurns(i int, f *batch.Forecaster) {
	s := c.sites[i]
	if c.policy != GrAS || s.Turns == 0 {
		return
	}
	c.turns[i] = agent.Turns(c.Now(), min(c.widest, s.Procs), 0, func(procs int, wall time.Duration) (time.Time, bool) {
		if s.Lie == "idle" {
			return c.Now(), true
		}
		at := s.engine.Earliest(f, []batch.Size{{Procs: procs, Limit: wall}})[0]
		return at, !at.IsZero()
	})
}

// addTurns tells the planner when jobs would start that are put into a site's queue.
func (c *central) addTurns(i int, to *plan.Cluster) {
	s := c.sites[i]
	to.Room = int32(s.Turns - len(c.queued[i]))
	for _, t := range c.turns[i] {
		to.Turns = append(to.Turns, plan.Turn{Procs: t.Procs, Wall: int32(t.Wall), From: int32(max(0, t.From-epoch.Unix()-c.now))})
	}
	behind := int64(0)
	for n, told := range c.queued[i] {
		if told.sent+int64(c.scenario.Latency.Seconds()) >= c.looked[i] {
			j := c.job(n)
			behind += j.limit * int64(j.procs)
		}
	}
	to.Behind = int32(behind / int64(s.Procs))
}

// enqueue sends a job to a site for its turn there.
func (c *central) enqueue(number, at int, turn int32) {
	c.run.Messages++
	id, _ := c.send(number, c.sites[at], time.Time{})
	c.queued[at][number] = waitsFor{id, c.now + int64(turn), c.now}
}

// recall takes a job out of a site's queue; it is planned anew in the next cycle. One
// that has started since, as another was taken out before it, stays.
func (c *central) recall(number, at int) error {
	s := c.sites[at]
	told, waits := c.queued[at][number]
	if !waits {
		return nil
	}
	c.run.Messages += 2
	c.run.Moved++
	delete(c.queued[at], number)
	i, _ := slices.BinarySearch(c.queue, number)
	c.queue = slices.Insert(c.queue, i, number)
	if k := slices.IndexFunc(s.coming, func(a arrival) bool { return a.id == told.id }); k >= 0 {
		s.coming = slices.Delete(s.coming, k, k+1)
		return nil
	}
	return s.engine.Cancel(told.id, c.Now())
}

// begun counts bookings that were missed.
func (c *central) begun(number int, id string, s *site, start time.Time) {
	delete(c.queued[s.number], number)
	if limit, ok := c.late[id]; ok && start.After(limit) {
		c.run.Missed++
	}
	delete(c.late, id)
}
