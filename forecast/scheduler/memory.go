package scheduler

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"gridbroker/forecast/scheduler/plan"
	"gridbroker/forecast/wire"
	"gridbroker/glue"
	"gridbroker/jdl"
)

// memory is what the leader keeps of the database: it can be thrown away and
// read again at any time.
type memory struct {
	epoch     int64
	expires   authorities
	sampled   int64 // when the history was last written
	explained int64 // and why jobs wait
	clusters  map[string]*cluster
	jobs      line // those that are not final
	classes   map[string]uint16
	features  []nodeClass
	named     int              // features in all of these
	forgetAt  int              // when there are more, classes are forgotten that no node has any more
	nodes     int32            // numbers given so far
	wishes    map[string]*wish // where jobs may run, by what of them and of clusters' sites decides it
	judged    int              // how often all of these were forgotten, as a site has changed
	plans     int              // problems stated
	paper     paper            // the last one
	order     []string         // names of clusters by their number in plans
}

// anyToPlan tells whether any job waits, or may be moved.
func (m *memory) anyToPlan() bool {
	return len(m.jobs.waits()) > 0 || slices.ContainsFunc(m.jobs.places(), func(e *inLine) bool { return e.movable() })
}

// cluster is one site in memory.
type cluster struct {
	name         string
	site         wire.Site
	way          wire.Way // in which guests get their slots there
	load         wire.Load
	set          *wire.Set
	listed       []wire.Slot // its slots by ID, as planning goes through them; nil: they have changed
	seq          int64
	made, ttl    int64
	drained      bool
	gone         bool // taken out of the configuration: its jobs are followed to their ends, it gets no others
	hits, misses int64
	trust        plan.Trust
	launchMS     int64         // what the site takes to answer a launch, smoothed: the table keeps it for who leads next
	sending      time.Duration // from when jobs are to be sent until they are there, this replica's own time included; 0: none was since it leads
	formula      *plan.Formula
	formulaErr   error
	number       map[string]int32  // of nodes
	class        map[string]uint16 // of nodes
	classes      []uint64          // bit set: those of its nodes
	bare         int               // nodes whose features and GPUs do not count
	memory       int32             // MB of its largest node; 0: not known
	cpus         int64             // of all its nodes
	largest      int32             // processors of its largest node
	longest      int64             // wall time of a guest, in seconds; 0: no limit
	resource     *glue.Resource
	changed      bool      // counters are to be saved
	stored       int64     // made, as the table has it
	torn         bool      // the agent was asked for a full set
	mark         wire.Mark // of the bookings, as of the last cycle that did anything
	booked       []*Job    // whose bookings these are, in no order
}

func newMemory(epoch int64) *memory {
	return &memory{epoch: epoch, clusters: map[string]*cluster{}, jobs: newLine(), classes: map[string]uint16{}, wishes: map[string]*wish{}}
}

// load reads everything, but for slots that are among those given. After an error it is what was read until then.
func (h handle) load(ctx context.Context, epoch int64, conf Config, known *arrivals) (*memory, error) {
	m := newMemory(epoch)
	if err := m.loadClusters(ctx, h, "", conf, known); err != nil {
		return m, err
	}
	list, err := h.queue.open(ctx)
	for _, j := range list {
		m.jobs.enter(j)
	}
	if err == nil {
		m.expires, err = h.wallet.expiries(ctx)
	}
	return m, err
}

// loadClusters reads one cluster, or with "" all of them, and their slots, unless they are among those given.
func (m *memory) loadClusters(ctx context.Context, h handle, one string, conf Config, known *arrivals) error {
	list, err := h.clusters.read(ctx, one)
	if err == nil && one != "" && len(list) == 0 {
		err = fmt.Errorf("cluster %s: %w", one, ErrNoCluster)
	}
	for _, r := range list {
		if err == nil {
			err = m.loadCluster(ctx, h, r, conf, known)
		}
	}
	return err
}

func (m *memory) loadCluster(ctx context.Context, h handle, r clusterRow, conf Config, known *arrivals) (err error) {
	c := r.cluster
	_, there := conf.Clusters[c.name]
	c.gone, c.stored = !there, c.made
	if c.set = known.take(c.name, r.digest); c.set == nil {
		if c.set, err = h.clusters.slots(ctx, c.name); err != nil {
			return err
		}
	}
	m.clusters[c.name] = c
	m.settle(c, c.site, conf)
	return nil
}

// settle takes in what a site publishes of itself, which nobody changes.
func (m *memory) settle(c *cluster, site wire.Site, conf Config) {
	c.site, c.way = site, conf.Clusters[c.name].way(&site)
	c.formula, c.formulaErr = nil, nil
	if c.site.Function != "" {
		c.formula, c.formulaErr = plan.CompileFormula(c.site.Function)
	}
	c.number, c.memory, c.cpus, c.largest = map[string]int32{}, 0, 0, 0
	for i := range c.site.Nodes {
		n := &c.site.Nodes[i]
		c.number[n.Name] = m.nodes
		c.memory = max(c.memory, int32(min(n.Memory, math.MaxInt32)))
		c.cpus, c.largest = c.cpus+int64(n.CPUs), max(c.largest, n.CPUs)
		m.nodes++
	}
	if m.classify(c); m.named > m.forgetAt {
		m.forgetClasses()
	}
	c.longest = longestGuest(conf.Clusters[c.name], &c.site)
	c.resource = c.describe(conf.Clusters[c.name])
	m.judgeAnew()
}

// asBefore tells whether a site publishes nothing new of what settle looks at: chances, for one, change often.
func asBefore(was, is *wire.Site) bool {
	a, b := *was, *is
	for _, s := range [...]*wire.Site{&a, &b} {
		s.Chances, s.Turns, s.Speed, s.OutOfTurn, s.Agent = nil, 0, 0, false, ""
	}
	return reflect.DeepEqual(a, b)
}

// describe is the cluster as requirements of jobs see it.
func (c *cluster) describe(to ClusterConfig) *glue.Resource {
	r := &glue.Resource{ID: c.name, CEID: c.name, Name: c.name, Site: c.name, CE: c.name, Queue: queueFor(to, &c.site), LRMS: c.site.LRMS, Serving: glue.Production}
	r.Endpoints = []glue.Endpoint{{URL: to.Endpoint, Interface: to.Interface, Health: "ok", Serving: glue.Production}}
	total, memory, seen := int64(0), int64(0), map[string]bool{}
	for _, n := range c.site.Nodes {
		total += int64(n.CPUs)
		memory = max(memory, n.Memory)
		for _, f := range n.Features {
			if !seen[f] && len(seen) < maxFeatures {
				seen[f] = true
				r.RuntimeEnvironments = append(r.RuntimeEnvironments, f)
			}
		}
	}
	r.TotalSlots = glue.Some(total)
	if memory > 0 {
		r.MainMemory = glue.Some(memory)
	}
	if c.longest > 0 {
		r.MaxWallTime = glue.Some(time.Duration(c.longest) * time.Second)
	}
	return r
}

// longestGuest is the longest wall time of a guest, in seconds, 0: no limit: no longer than the site's owner says, or than the
// queue allows that guests are sent to. A batch system takes a job that asks for more, too, and never starts it.
func longestGuest(to ClusterConfig, site *wire.Site) int64 {
	most := site.MaxGuest
	if wall := site.Walls[queueFor(to, site)]; wall > 0 && (most == 0 || wall < most) {
		most = wall
	}
	return most
}

// lets tells whether the owner of a cluster lets somebody in: as a subject, as a member of a VO or group.
func lets(site *wire.Site, subject, vo string, fqans []string) bool {
	if len(site.Users) == 0 && len(site.VOs) == 0 {
		return true
	}
	if slices.Contains(site.Users, subject) {
		return true
	}
	for _, rule := range site.VOs {
		if rule == vo || rule == "VO:"+vo {
			return true
		}
		for _, f := range fqans {
			if f == rule || strings.HasPrefix(f, rule+"/") {
				return true
			}
		}
	}
	return false
}

// classesFor are the nodes that have the features, or one whose version is within a wish's bounds, and GPUs.
func (m *memory) classesFor(j *Job) []uint64 {
	set := make([]uint64, len(m.features)/64+1)
	wishes := make([]jdl.EnvironmentWish, 0, len(j.Tags))
	for _, tag := range j.Tags {
		wishes = append(wishes, jdl.ParseEnvironmentWish(tag))
	}
	for i, class := range m.features {
		ok := class.gpus >= j.GPUs
		for _, wish := range wishes {
			ok = ok && slices.ContainsFunc(class.features, wish.Meets)
		}
		if ok {
			set[i/64] |= 1 << (i % 64)
		}
	}
	return set
}
