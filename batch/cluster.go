package batch

import (
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

// cluster is a machine made from a State, with the names that belong to its
// numbers.
type cluster struct {
	*Machine
	state  State
	rules  Policy
	at     []int32 // place in the machine by place in state.Jobs; -1: not there
	refuse []Refusal
	users  *names
	nodes  upNodes
	needs  map[wish]*Need
	kinds  numbers[wish]
	empty  *nodePlan // the nodes with nothing on them
	ranks  []int64   // see number; while the machine is set up
	// standings are how jobs take and give way, by queue and QOS.
	standings standings
	// crowded: more runs on some node than it has processors.
	crowded bool
	arrays  map[string]int  // see array
	parts   numbers[string] // of arrays
	takings numbers[string] // see caps.takes
	order   numbers[string] // see line
	named   named
	ids     map[string]int // see byID; made when first asked for
}

// names numbers strings, each by the same number for ever.
type names struct{ number map[string]int64 }

func (n *names) of(s string) int64 {
	if n.number == nil {
		n.number = map[string]int64{}
	}
	id, ok := n.number[s]
	if !ok {
		h := fnv.New64a()
		h.Write([]byte(s))
		id = int64(h.Sum64() >> 1)
		n.number[s] = id
	}
	return id
}

// unlimited is the limit planned with where neither job nor queue names one.
const unlimited = 30 * 24 * time.Hour

// newCluster sets the machine up as the state says: running jobs running,
// reservations held, waiting jobs in the queue. Nothing is started: what the
// policy starts at once is in the first step forward. Always: plan by nodes even
// where nothing in the state asks for it.
func newCluster(s State, p Policy, users *names, always bool) (*cluster, error) {
	c := &cluster{state: s, users: users, rules: p, standings: standings{}, Machine: &Machine{now: s.Now.Unix()}}
	if err := p.Check(); err != nil {
		return nil, err
	}
	c.nodes = newUpNodes(s.Nodes)
	c.procs = c.nodes.procs()
	c.policy, c.following, c.gates.kills = p.build(), true, p.Name == "slurm" && p.Slurm.KillInvalid
	c.jobs = make([]job, 0, len(s.Jobs)+64)
	c.queues, c.caps = s.throttles(), s.caps()
	if always || s.byNode(p) {
		nodes := c.nodes.plan(c.now)
		c.plan = nodes
		c.keep(nodes)
	} else {
		c.plan = newPool(c.now, c.procs)
	}
	c.at = slices.Repeat([]int32{-1}, len(s.Jobs))
	c.ranks = byID(&s, p)
	c.seq = int64(len(c.ranks))
	for _, i := range c.runs() {
		c.run(i)
	}
	c.policy.resume(c.Machine)
	c.reserve()
	c.enqueue()
	c.ranks = nil
	return c, nil
}

// byID numbers the jobs of a state of which some may have to wait again: by their IDs.
func byID(s *State, p Policy) []int64 {
	if p.Name != "slurm" || p.Slurm.Preemption.Type == "" {
		return nil
	}
	order := make([]int, len(s.Jobs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return compareIDs(s.Jobs[a].ID, s.Jobs[b].ID) })
	ranks := make([]int64, len(order))
	for i, at := range order {
		ranks[at] = int64(i + 1)
	}
	return ranks
}

// number is a job's among all: by when it came where they have no ranks.
func number(c *cluster, i int) int64 {
	if i < len(c.ranks) {
		return c.ranks[i]
	}
	c.seq++
	return c.seq
}

// byNode tells whether jobs or queues care which node they get.
func (s *State) byNode(p Policy) bool {
	if p.Name == "slurm" {
		return true // places are of whole nodes
	}
	for _, n := range s.Nodes {
		if len(n.Queues) > 0 && len(s.Queues) > 1 {
			return true
		}
	}
	if s.shared() || slices.ContainsFunc(s.Reservations, func(r Reservation) bool { return len(r.Nodes) > 0 }) {
		return true
	}
	return slices.ContainsFunc(s.Jobs, func(j Job) bool {
		return j.Started.IsZero() && j.placed()
	})
}

// placed tells whether it matters to a job which nodes it gets.
func (j *Job) placed() bool {
	return (j.Nodes > 0 || j.MaxNodes > 0 || j.Each > 1) && j.Procs > 1 || j.Core > 1 || j.Memory > 0 || j.Disk > 0 || j.GPUs > 0 || len(j.Features) > 0 || j.Exclusive || len(j.Within) > 0 || len(j.Without) > 0
}

// limit is the wall time planned with, in seconds.
func (c *cluster) limit(j *Job) int64 {
	limit := j.Requested
	if limit <= 0 {
		q, _ := c.state.queue(j.Queue)
		limit = q.MaxWallTime
	}
	if limit <= 0 {
		limit = unlimited
	}
	return max(1, int64(limit/time.Second))
}

// task is what the engine is told of a job; its ID is the place in state.Jobs.
func (c *cluster) task(i int) Task {
	j := &c.state.Jobs[i]
	q, place := c.state.queue(j.Queue)
	part := int32(place + 1)
	if j.ArrayLimit > 0 {
		place = c.array(j)
	}
	takes, kind := c.caps.takes(j, &c.takings)
	t := Task{
		ID: int64(i), Submit: j.Submitted.Unix(), Limit: c.limit(j), Procs: max(1, j.Procs), User: c.users.of(j.User),
		Queue: place, Need: c.need(j), line: c.line(j), part: part, array: arrayNumber(&c.parts, j), ages: j.Eligible || c.rules.Slurm.Multifactor.AccrueAlways, standing: c.standings.of(&c.rules, j, &q), takes: takes, kind: kind,
	}
	if least := j.least(t.Limit); c.rules.Name == "slurm" && least < t.Limit {
		t.Limit, t.Most = least, t.Limit
	}
	if j.Started.IsZero() && !j.Deadline.IsZero() {
		t.Latest = j.Deadline.Unix() - t.Limit
	}
	return t
}

// least is the least limit that will do for a job that waits.
func (j *Job) least(limit int64) int64 {
	if least := int64(j.Least / time.Second); j.Started.IsZero() && least > 0 {
		return min(least, limit)
	}
	return limit
}

// arrayNumber is the number of a job's array, from 1; 0: it is of none.
func arrayNumber(of *numbers[string], j *Job) int32 {
	if j.Array == "" {
		return 0
	}
	return int32(of.of(j.Array))
}

// tier is by how much a queue's priority outweighs any job's own.
const tier = 1e10

func (s *State) queue(name string) (Queue, int) {
	for i, q := range s.Queues {
		if q.Name == name {
			return q, i
		}
	}
	return Queue{}, -1
}

func (s *State) throttles() throttles {
	list := make(throttles, len(s.Queues))
	for i, q := range s.Queues {
		list[i].most = q.MaxRunning
	}
	return list
}

// array is the place of the throttle of an array, which stands in for that of
// its queue.
func (c *cluster) array(j *Job) int {
	i, ok := c.arrays[j.Array]
	if !ok {
		if c.arrays == nil {
			c.arrays = map[string]int{}
		}
		i = len(c.queues)
		c.arrays[j.Array] = i
		c.queues = append(c.queues, throttle{})
	}
	c.queues[i].most = j.ArrayLimit
	return i
}

// wish is what decides a Need: equal wishes share one.
type wish struct {
	nodes, most     int
	each, core      int
	gpus            int
	memory, disk    int64
	keeps           int64
	queue, features string
	named           int
	access          int32
	inside, whole   bool
	apart           bool
}

// need lists what a job asks of nodes and the nodes that could serve it.
func (c *cluster) need(j *Job) *Need {
	nodes, byNode := c.plan.(*nodePlan)
	if !byNode {
		return nil
	}
	access := c.state.access(j, c.now)
	w := wish{j.Nodes, j.MaxNodes, j.Each, j.Core, j.GPUs, j.Memory, j.Disk, j.keeps(), j.Queue, strings.Join(j.Features, "\x00"), c.named.of(j), access, c.state.inside(j, access), j.Exclusive, j.Reservation != ""}
	if len(j.Also) > 0 {
		w.queue += "\x00" + strings.Join(j.Also, "\x00")
	}
	if n, ok := c.needs[w]; ok {
		return n
	}
	n := &Need{Nodes: j.Nodes, Each: j.Each, Core: j.Core, Memory: w.memory, Keeps: w.keeps, Disk: j.Disk, GPUs: j.GPUs, Whole: j.Exclusive, id: len(c.needs) + 1, access: w.access}
	q, _ := c.state.queue(j.Queue)
	n.Spread = q.Spread
	if n.MaxNodes = q.MaxNodes; j.MaxNodes > 0 && (n.MaxNodes == 0 || j.MaxNodes < n.MaxNodes) {
		n.MaxNodes = j.MaxNodes
	}
	n.kind = c.kinds.of(w.anyNumber())
	served, named := *j, c.nodes.named(j)
	served.Within, served.Without = nil, nil
	for i := range c.nodes.up {
		_, _, kept := nodes.nodes[i].kept(w.access)
		if (named == nil || named[i]) && c.nodes.at(i).serves(&served) && (!w.inside || kept) {
			n.allow(int32(i))
		}
	}
	n.serve = append(n.serve, make([]uint64, (len(c.nodes.up)+64)/64-len(n.serve))...)
	n.apart, n.named = w.apart, len(j.Within) > 0
	n.around = c.nodes.around(j, n)
	nodes.sets.classify(nodes, n)
	if w.inside && w.access > 0 {
		r := c.state.Reservations[w.access-1]
		n.from, n.to, n.cut = r.Start.Unix(), r.End.Unix(), c.rules.Name == "slurm"
	}
	if c.needs == nil {
		c.needs = map[wish]*Need{}
	}
	c.needs[w] = n
	return n
}

// anyNumber is the wish that differs in the number of nodes alone.
func (w wish) anyNumber() wish {
	w.nodes = 0
	return w
}

func (n *Node) serves(j *Job) bool {
	if len(n.Queues) > 0 && j.Queue != "" && !slices.Contains(n.Queues, j.Queue) &&
		!slices.ContainsFunc(j.Also, func(q string) bool { return slices.Contains(n.Queues, q) }) {
		return false
	}
	if len(j.Within) > 0 && !slices.Contains(j.Within, n.Name) || slices.Contains(j.Without, n.Name) {
		return false
	}
	return !slices.ContainsFunc(j.Features, func(f string) bool { return !n.Has(f) })
}

// Has tells whether a node has a feature, or one of several that "|" parts.
func (n *Node) Has(feature string) bool {
	for f := range strings.SplitSeq(feature, "|") {
		if slices.Contains(n.Features, f) {
			return true
		}
	}
	return false
}
