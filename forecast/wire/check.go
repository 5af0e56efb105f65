package wire

// check looks at every field of a delta.
func (d *Delta) check(l Limits) error {
	c := &checker{l: l}
	c.name("cluster", d.Cluster, false)
	c.id("seq", d.Seq)
	c.time("made", d.Made, false)
	c.name("booked", d.Booked, true)
	c.between("ttl", float64(d.TTL), 1, maxSpan)
	c.digest("digest", d.Digest)
	if !d.Full {
		c.digest("base", d.Base)
	}
	c.count("put", len(d.Put), l.Slots)
	c.count("drop", len(d.Drop), l.Slots)
	c.count("jobs", len(d.Jobs), l.Jobs)
	c.count("jobs_gone", len(d.JobsGone), l.Jobs)
	c.count("queues", len(d.Queues), l.Nodes)
	if c.err != nil {
		return c.err
	}
	slots, tasks := make(map[uint64]bool, len(d.Put)), make(map[string]bool, len(d.Jobs))
	for i := range d.Put {
		if c.slot(&d.Put[i]); slots[d.Put[i].ID] {
			c.fail("put.id", "%d comes twice", d.Put[i].ID)
		}
		slots[d.Put[i].ID] = true
	}
	for i := range d.Jobs {
		if c.entry(&d.Jobs[i]); tasks[d.Jobs[i].Task] {
			c.fail("jobs.task", "%q comes twice", d.Jobs[i].Task)
		}
		tasks[d.Jobs[i].Task] = true
	}
	for _, id := range d.Drop {
		c.id("drop", id)
	}
	for _, task := range d.JobsGone {
		c.name("jobs_gone", task, false)
	}
	for _, q := range d.Queues {
		c.name("queues.name", q.Name, true)
		c.between("queues.waiting", float64(q.Waiting), 0, maxAmount)
		c.between("queues.running", float64(q.Running), 0, maxAmount)
	}
	c.load(d.Load)
	if d.Full && d.Site == nil {
		c.fail("site", "a full set comes with it")
	}
	c.site(d.Site)
	return c.err
}

func (c *checker) load(l *Load) {
	if l == nil {
		return
	}
	for _, n := range []int{l.Waiting, l.Running, l.CPUs, l.Busy} {
		c.between("load", float64(n), 0, maxAmount)
	}
	c.count("load.turns", len(l.Turns), maxTurns)
	for _, t := range l.Turns {
		c.between("load.turns.procs", float64(t.Procs), 1, 1<<24)
		c.between("load.turns.wall", float64(t.Wall), 1, maxSpan)
		c.time("load.turns.from", t.From, false)
		c.time("load.turns.early", t.Early, true)
		c.time("load.turns.late", t.Late, true)
	}
}

func (c *checker) slot(s *Slot) {
	c.id("put.id", s.ID)
	c.name("put.node", s.Node, false)
	c.name("put.task", s.Task, true)
	c.between("put.cpus", float64(s.CPUs), 1, 1<<20)
	c.between("put.gpus", float64(s.GPUs), 0, 1<<20)
	c.between("put.memory", float64(s.Memory), 0, maxAmount)
	c.time("put.from", s.From, false)
	c.time("put.to", s.To, true)
	c.time("put.latest", s.Latest, true)
	c.between("put.start", s.Start, 0, 1)
	c.between("put.hold", s.Hold, 0, 1)
	c.between("put.priority", s.Priority, -1e15, 1e15)
	if s.To != 0 && s.To <= s.From {
		c.fail("put.to", "the slot ends at %d and begins at %d", s.To, s.From)
	}
}

func (c *checker) entry(e *Entry) {
	c.name("jobs.task", e.Task, false)
	for _, s := range []string{e.Node, e.User, e.Group} {
		c.name("jobs", s, true)
	}
	c.name("jobs.state", e.State, false)
	c.text("jobs.spread", e.Spread, maxSpread)
	c.time("jobs.queued", e.Queued, true)
	c.time("jobs.start", e.Start, true)
	c.time("jobs.completion", e.Completion, true)
	c.between("jobs.procs", float64(e.Procs), 0, 1<<24)
	c.between("jobs.memory", float64(e.Memory), 0, maxAmount)
	c.between("jobs.disk", float64(e.Disk), 0, maxAmount)
	c.between("jobs.priority", e.Priority, -1e15, 1e15)
}

// maxSpread bounds the list of one job's nodes, in bytes.
const maxSpread = 1 << 20

// maxEndpoint bounds the URL that jobs are sent to, in bytes.
const maxEndpoint = 2048

// maxFunction bounds the owner's formula, in bytes.
const maxFunction = 4096

func (c *checker) site(s *Site) {
	if s == nil {
		return
	}
	for _, v := range []string{s.LRMS, s.Interface, s.Queue, s.Partition, s.Agent} {
		c.name("site", v, true)
	}
	c.text("site.endpoint", s.Endpoint, maxEndpoint)
	c.count("site.function", len(s.Function), maxFunction)
	c.way("site.start", s.Start)
	c.between("site.max_guest", float64(s.MaxGuest), 0, maxSpan)
	c.between("site.speed", s.Speed, 0, 1e6)
	c.between("site.turns", float64(s.Turns), 0, 1<<24)
	c.count("site.nodes", len(s.Nodes), c.l.Nodes)
	c.count("site.users", len(s.Users), c.l.Users)
	c.count("site.vos", len(s.VOs), c.l.Users)
	c.count("site.chances", len(s.Chances), maxChances)
	c.count("site.walls", len(s.Walls), c.l.Nodes)
	if c.err != nil {
		return
	}
	for queue, wall := range s.Walls {
		c.name("site.walls", queue, true)
		c.between("site.walls", float64(wall), 0, maxSpan)
	}
	for _, u := range s.Users {
		c.name("site.users", u, false)
	}
	for _, v := range s.VOs {
		c.name("site.vos", v, false)
	}
	for i, v := range s.Chances {
		c.between("site.chances.ahead", float64(v.Ahead), 0, maxSpan)
		c.between("site.chances.start", v.Start, 0, 1)
		if i > 0 && v.Ahead <= s.Chances[i-1].Ahead {
			c.fail("site.chances.ahead", "%d s come after %d s", v.Ahead, s.Chances[i-1].Ahead)
		}
	}
	for i := range s.Nodes {
		c.node(&s.Nodes[i])
	}
}

// maxTurns bounds the sizes of jobs that a site tells turns of.
const maxTurns = 1000

// maxChances bounds the times ahead that a site tells chances of.
const maxChances = 100

func (c *checker) node(n *Node) {
	c.name("site.nodes.name", n.Name, false)
	c.between("site.nodes.cpus", float64(n.CPUs), 0, 1<<20)
	c.between("site.nodes.gpus", float64(n.GPUs), 0, 1<<20)
	c.between("site.nodes.memory", float64(n.Memory), 0, maxAmount)
	c.between("site.nodes.disk", float64(n.Disk), 0, maxAmount)
	c.count("site.nodes.features", len(n.Features), 1000)
	for _, f := range n.Features {
		c.name("site.nodes.features", f, false)
	}
}

func (c *checker) booking(b *Booking) {
	c.name("bookings.job", b.Job, false)
	c.name("bookings.key", b.Key, false)
	c.time("bookings.from", b.From, false)
	c.time("bookings.to", b.To, false)
	c.between("bookings.procs", float64(b.Procs), 1, 1<<24)
	c.count("bookings.slots", len(b.Slots), c.l.Nodes)
	if b.Way != InTurn {
		c.way("bookings.way", b.Way)
	}
	for _, p := range b.Slots {
		c.id("bookings.slots.slot", p.Slot)
		c.name("bookings.slots.node", p.Node, false)
		c.between("bookings.slots.cpus", float64(p.CPUs), 1, 1<<20)
	}
	if b.To <= b.From {
		c.fail("bookings.to", "the booking ends before it begins")
	}
}
