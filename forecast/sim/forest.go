package sim

import (
	"container/heap"
	"context"
	"strconv"
	"time"

	"gridbroker/forecast/managers"
)

// forest is the tree of managers over the sites: the managers' own code with
// the rules of those that serve, and links of the scenario's latency.
type forest struct {
	*grid
	managers []*managers.Manager // sites first, then domains
	peers    [][]int             // by manager and neighbour
	links    []map[int]managers.Neighbour
	posts    posts
	count    int
	lengths  []int  // by manager: jobs that wait there
	waiting  int    // jobs that wait anywhere
	events   alarms // of sites
	ticks    alarms // of managers
}

// post is a message on its way.
type post struct {
	at, order int64
	from, to  int
	message   managers.Message
}

type posts []post

func (p posts) Len() int { return len(p) }
func (p posts) Less(i, j int) bool {
	return p[i].at < p[j].at || p[i].at == p[j].at && p[i].order < p[j].order
}
func (p posts) Swap(i, j int) { p[i], p[j] = p[j], p[i] }

// Push adds a message.
func (p *posts) Push(x any) { *p = append(*p, x.(post)) }

// Pop removes the last message.
func (p *posts) Pop() any {
	old := *p
	last := old[len(old)-1]
	*p = old[:len(old)-1]
	return last
}

// fanout is how many children a domain of the tree has.
const fanout = 4

func newForest(g *grid) *forest {
	f := &forest{grid: g}
	rules := managers.Serving()
	rules.Interval, rules.MaxAge = 1, 24*3600
	for _, c := range g.sites {
		f.add(managers.NewManager(rules, managers.Resources{CPUs: c.Procs}))
		f.events.set(f.events.add(), 0)
	}
	level := make([]int, len(g.sites))
	for i := range level {
		level[i] = i
	}
	for len(level) > 1 {
		var up []int
		for at := 0; at < len(level); at += fanout {
			d := f.add(managers.NewDomain(rules))
			for _, child := range level[at:min(at+fanout, len(level))] {
				f.link(child, d, managers.Parent)
				f.link(d, child, managers.Child)
			}
			up = append(up, d)
		}
		level = up
	}
	for i := range f.managers {
		for k := range f.peers[i] {
			f.apply(i, f.managers[i].Up(0, managers.Neighbour(k)))
		}
	}
	return f
}

func (f *forest) add(m *managers.Manager) int {
	f.managers = append(f.managers, m)
	f.peers = append(f.peers, nil)
	f.links = append(f.links, map[int]managers.Neighbour{})
	f.lengths = append(f.lengths, 0)
	f.ticks.add()
	return len(f.managers) - 1
}

func (f *forest) link(at, to int, role managers.Role) {
	f.links[at][to] = f.managers[at].AddLink(role)
	f.peers[at] = append(f.peers[at], to)
}

// wake is the next message, interval or event at a site; where no job waits
// sites are looked at when the next one comes.
func (f *forest) wake() int64 {
	at := f.ticks.next()
	if len(f.posts) > 0 {
		at = min(at, f.posts[0].at)
	}
	if f.waiting > 0 {
		at = min(at, f.events.next())
	}
	return max(at, f.now)
}

func (f *forest) arrive(_ context.Context, number int) error {
	j := f.job(number)
	need := managers.Resources{CPUs: j.procs}
	if !f.managers[j.home].Possible(need) {
		f.unplaced(number)
		return nil
	}
	if err := f.look(); err != nil {
		return err
	}
	f.run.Messages++
	job := managers.Job{ID: managers.ID(strconv.Itoa(number)), Need: need, Submitted: j.submit, Attempt: j.tries}
	f.apply(j.home, f.managers[j.home].Submit(f.now, job))
	return nil
}

func (f *forest) turn(context.Context) error {
	if err := f.look(); err != nil {
		return err
	}
	for who, ok := f.ticks.due(f.now); ok; who, ok = f.ticks.due(f.now) {
		f.apply(who, f.managers[who].Tick(f.now))
	}
	for len(f.posts) > 0 && f.posts[0].at <= f.now {
		p := heap.Pop(&f.posts).(post)
		if out, err := f.managers[p.to].Handle(f.now, f.links[p.to][p.from], p.message); err == nil {
			f.apply(p.to, out)
		}
	}
	return nil
}

// struck lets a site be looked at to which something has happened.
func (f *forest) struck(c *site) { f.events.set(c.number, f.now) }

// look lets the sites advance at which something happens and tells their
// managers what is free, as their agents do.
func (f *forest) look() error {
	for i, ok := f.events.due(f.now); ok; i, ok = f.events.due(f.now) {
		c := f.sites[i]
		if err := c.advance(f.now); err != nil {
			return err
		}
		f.events.set(i, c.next())
		free := max(0, c.Procs-c.busy-c.asked-f.comingTo(c))
		switch {
		case !c.takes():
			free = 0
		case c.Lie == "idle":
			free = c.Procs
		case c.Lie == "full":
			free = 0
		}
		if m := f.managers[i]; m.Free().CPUs != free {
			f.apply(i, m.Resize(f.now, managers.Resources{CPUs: c.Procs}, managers.Resources{CPUs: free}))
		}
	}
	return nil
}

// comingTo counts processors of assigned jobs that are on their way.
func (f *forest) comingTo(c *site) (n int) {
	for _, a := range c.coming {
		n += a.job.procs
	}
	return n
}

// apply does what a manager decided.
func (f *forest) apply(who int, out *managers.Out) {
	for _, s := range out.Starts {
		number, _ := strconv.Atoi(string(s.Job.ID))
		f.send(number, f.sites[who], time.Time{})
		f.events.set(who, f.sites[who].next())
	}
	for _, s := range out.Sends {
		f.run.Messages++
		f.count++
		at := f.now + int64(f.scenario.Latency.Seconds())
		heap.Push(&f.posts, post{at: at, order: int64(f.count), from: who, to: f.peers[who][s.To], message: s.Message})
	}
	m := f.managers[who]
	f.waiting += m.Len() - f.lengths[who]
	f.lengths[who] = m.Len()
	if at := m.Wake(); at > 0 {
		f.ticks.set(who, max(at, f.now+1))
	}
}
