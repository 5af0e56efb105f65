package scheduler

import (
	"math"
	"slices"
	"time"

	"gridbroker/forecast/scheduler/plan"
	"gridbroker/forecast/wire"
)

// inputs is a planning problem, and what its numbers stand for.
type inputs struct {
	rules    plan.Rules
	clusters []*cluster // by number
	jobs     []plan.Job
	slots    []plan.Slot
	of       []*inLine // by place in jobs
	late     []*Job    // whose requirements are yet to be judged: their owner's time for that was over
	refs     []slotRef // by place in slots
	watch    func() time.Time
}

type slotRef struct {
	cluster *cluster
	slot    wire.Deep
}

// paper is where a problem is written, over the one before.
type paper struct {
	jobs   []plan.Job
	of     []*inLine
	slots  []plan.Slot
	refs   []slotRef
	judged []*inLine
}

// problem states what is to be planned: the jobs that wait, and the slots less
// what is booked of them. It is good until the next problem of the memory.
func (c Config) problem(m *memory, now time.Time, budgets []Budget) *inputs {
	on := &m.paper
	in := &inputs{jobs: on.jobs[:0], of: on.of[:0], slots: on.slots[:0], refs: on.refs[:0], watch: c.Stopwatch, rules: plan.Rules{Epoch: now, Horizon: int32(c.Horizon / time.Second), MaxBypass: int32(c.MaxBypass), Free: c.Free}}
	if in.watch == nil {
		in.watch = time.Now
	}
	m.plans++
	m.number()
	for _, name := range m.order {
		in.clusters = append(in.clusters, m.clusters[name])
		in.rules.Clusters = append(in.rules.Clusters, c.planned(m.clusters[name], now.Unix()))
	}
	in.queues(m, now.Unix())
	in.addJobs(m, &c, budgets)
	if len(in.jobs) == 0 {
		return in
	}
	in.rules.Order = plan.Order(in.jobs, &in.rules)
	busy := m.busy(now.Unix())
	for i, name := range m.order {
		in.addSlots(m.clusters[name], uint16(i), busy[name], now.Unix())
	}
	on.slots, on.refs = in.slots, in.refs
	return in
}

// number orders the clusters: the same ones always have the same numbers.
func (m *memory) number() {
	if len(m.order) != len(m.clusters) {
		m.order = m.order[:0]
		for name := range m.clusters {
			m.order = append(m.order, name)
		}
		slices.Sort(m.order)
		m.judgeAnew()
	}
}

// times are T, tmin and tmax of the published cycle for one cluster: T is what
// one cycle, booking and sending take, and T < tmin < tmax < 2T. However long sending
// takes, tmin stays within the time for which the cluster's agent speaks: else nothing
// would be booked there any more, and nobody would see it become faster. A cycle begins
// when there is news, and jobs are sent when it ends: where it is known how long that takes,
// tmin is no more, but in the published matching.
func (c Config) times(at *cluster) (t, tmin, tmax time.Duration) {
	t = c.Cycle + minLead
	t += min(time.Duration(at.launchMS)*time.Millisecond, max(0, time.Duration(at.ttl)*time.Second*3/5-t))
	tmin = t + t/10
	if at.sending > 0 && c.Planner != (plan.Pairwise{}).Name() {
		tmin = min(tmin, at.sending+at.sending/10+leastLead)
	}
	return t, tmin, 2*t - t/10
}

// minLead is the least time from a plan to a start where it is not known how long sending takes,
// leastLead what is added to that where it is.
const (
	minLead   = 4 * time.Second
	leastLead = time.Second
)

// planned is a cluster as planning sees it.
func (c Config) planned(at *cluster, now int64) plan.Cluster {
	_, tmin, tmax := c.times(at)
	p := plan.Cluster{
		TMin: int32(math.Ceil(tmin.Seconds())), TMax: int32(math.Ceil(tmax.Seconds())), Good: seconds(at.made + at.ttl - now),
		MaxGuest: int32(min(at.longest, math.MaxInt32)), Speed: float32(at.site.Speed), OutOfTurn: at.site.OutOfTurn,
		Drained: at.drained || at.gone || at.formulaErr != nil, Local: at.formula,
	}
	for _, v := range at.site.Chances {
		p.Later = append(p.Later, plan.Later{After: seconds(v.Ahead), Start: percent(at.trust.Believe(v.Start, 1))})
	}
	if p.Good > p.TMin {
		p.TMax = min(p.TMax, p.Good)
	}
	p.Memory, p.Classes = at.memory, at.classes
	for _, t := range at.load.Turns {
		p.Turns = append(p.Turns, plan.Turn{Procs: t.Procs, Wall: seconds(t.Wall), From: max(0, seconds(t.From-now))})
	}
	p.Load = plan.Load{Waiting: at.load.Waiting, Running: at.load.Running, CPUs: at.load.CPUs, Busy: at.load.Busy}
	return p
}

// percent is a chance as planning has it.
func percent(chance float64) uint8 { return uint8(math.Round(100 * min(1, chance))) }

// seconds keeps a time within what planning counts in.
func seconds(n int64) int32 { return int32(min(max(n, -math.MaxInt32), math.MaxInt32-1)) }

func (in *inputs) addJobs(m *memory, c *Config, budgets []Budget) {
	now, sure := in.rules.Epoch.Unix(), percent(c.Sure)
	list := m.jobs.toPlan(func(j *Job) bool { return j.movable() && m.clusters[j.Booking.Cluster] != nil })
	for i, b := range budgets {
		if o := m.jobs.owners[b.User]; o != nil {
			o.in, o.number = m.plans, int32(i)
		}
		in.rules.Users = append(in.rules.Users, plan.User{Name: b.User, Left: b.Left, Weight: b.Given, Used: b.Used})
	}
	in.of, in.jobs = slices.Grow(in.of, len(list)), slices.Grow(in.jobs, len(list))
	for _, e := range in.judged(m, list) {
		p := e.planned
		p.User, p.Wish = in.user(e.owner, m.plans), in.number(e.wish, m.plans)
		if sure > 0 && now-e.Submitted < int64(c.Patience/time.Second) {
			p.Least = sure
		}
		if e.slow {
			p.Leads = in.leads(e.Job)
		}
		in.of, in.jobs = append(in.of, e), append(in.jobs, p)
		if e.in == hasPlace {
			in.inQueue(e.Job, now)
		}
	}
	m.paper.of, m.paper.jobs = in.of, in.jobs
}

// user is the place of an owner in the rules of this problem.
func (in *inputs) user(o *owner, problem int) int32 {
	if o.in != problem {
		o.in, o.number = problem, int32(len(in.rules.Users))
		in.rules.Users = append(in.rules.Users, plan.User{Name: o.name})
	}
	return o.number
}

// number is the place of a wish in the rules of this problem, which have those of its jobs and no others.
func (in *inputs) number(w *wish, problem int) int32 {
	if w.in != problem {
		w.in, w.number = problem, int32(len(in.rules.Wishes))
		in.rules.Wishes = append(in.rules.Wishes, w.Wish)
	}
	return w.number
}

// judgeTime is how long the requirements of one user's jobs are judged in a
// cycle. What was judged is remembered: the next cycle goes on.
const judgeTime = 200 * time.Millisecond

// judged are the jobs that may be planned, of which it is known where they may run.
// Requirements may be made to take long; who has such waits for it, and nobody else
// does.
func (in *inputs) judged(m *memory, all []*inLine) []*inLine {
	if len(m.wishes) > 4*len(m.jobs.of)+1000 { // of jobs that have gone
		m.judgeAnew()
	}
	now, spent := in.rules.Epoch.Unix(), map[string]time.Duration{}
	list, authorized := slices.Grow(m.paper.judged[:0], len(all)), m.authorized()
	for _, e := range all {
		if e.stands || authorized && m.expired(e.Job, now) != nil {
			continue
		}
		if !m.knows(e, now) {
			if spent[e.owner.name] >= judgeTime {
				in.late = append(in.late, e.Job)
				continue
			}
			began := in.watch()
			m.judge(e, now)
			spent[e.owner.name] += in.watch().Sub(began)
		}
		list = append(list, e)
	}
	m.paper.judged = list
	return list
}

func (in *inputs) addSlots(c *cluster, number uint16, busy map[string][]wire.Use, now int64) {
	if !wire.Usable(c.made, c.ttl, now) || c.drained || c.gone || c.set.Len() == 0 {
		return
	}
	list := c.slots()
	in.refs, in.slots = slices.Grow(in.refs, len(list)), slices.Grow(in.slots, len(list))
	first := now + int64(in.rules.Clusters[number].TMin)
	for _, v := range wire.Deepen(wire.Subtract(list, busy), busy, first, c.load.CPUs) {
		node, known := c.number[v.Node]
		if !known || v.To != 0 && v.To <= now {
			continue
		}
		to := int32(plan.Never)
		if v.To != 0 {
			to = seconds(v.To - now)
		}
		chance := min(v.Start, c.site.StartChance(max(v.From, first)-now)) // of what is behind a booking, too
		in.refs = append(in.refs, slotRef{c, v})
		in.slots = append(in.slots, plan.Slot{From: seconds(v.From - now), To: to, Node: node, Memory: int32(min(v.Memory, math.MaxInt32)),
			Priority: float32(v.Priority), Cluster: number, CPUs: uint16(min(v.CPUs, math.MaxUint16)), Class: c.class[v.Node],
			Start: percent(c.trust.Believe(chance, v.Risk)), Hold: percent(v.Hold)})
	}
}

// busy lists the bookings that the sites' schedules do not show: from the time
// they are made until the agent has seen the job run.
func (m *memory) busy(now int64) map[string]map[string][]wire.Use {
	all := map[string]map[string][]wire.Use{}
	for _, e := range m.jobs.places() {
		j := e.Job
		if j.Booking == nil {
			continue
		}
		c := m.clusters[j.Booking.Cluster]
		if c == nil || j.State == Collecting || j.State == Running && c.made > j.SeenRun+settleTime {
			continue
		}
		nodes := all[c.name]
		if nodes == nil {
			nodes = map[string][]wire.Use{}
			all[c.name] = nodes
		}
		// A late one holds its place for as long as it would run from now on.
		from := max(j.Booking.From, min(now, j.Booking.From))
		to := j.Booking.To
		if j.State != Running && now > j.Booking.From {
			to = now + int64(j.Wall)
		}
		for _, p := range j.Booking.Parts {
			nodes[p.Node] = append(nodes[p.Node], wire.Use{Slot: p.Slot, From: from, To: to, CPUs: p.CPUs})
		}
	}
	return all
}

// settleTime is how long after a job was seen running its site's schedule is
// sure to show it, in seconds.
const settleTime = 3

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
