package glue

import (
	"bytes"
	"cmp"
	"strings"
	"time"
)

// nordugrid collects the entries of ARC's own schema, below
// Mds-Vo-name=local,o=grid (nordugrid-cluster, nordugrid-queue).
type nordugrid struct {
	d        *Decoder
	clusters map[string]*ngCluster
	queues   []ngQueue
}

type ngCluster struct {
	name, contact, lrms, version, site string
	r                                  Resource // what queues may leave to the cluster
	tags                               []string
}

type ngQueue struct {
	r        Resource
	cluster  string
	from, to time.Time
}

func (g *nordugrid) init(d *Decoder) { g.d, g.clusters = d, map[string]*ngCluster{} }

// add tells whether the entry is of use.
func (g *nordugrid) add(k kind, e *Entry) bool {
	cluster := g.d.pool.str(bytes.ToLower(rdn(e.DN, "nordugrid-cluster-name")))
	switch k {
	case kindNGCluster:
		c := &ngCluster{name: cluster}
		apply(g.d, ngClusterAttrs, c, e, &c.r.Attrs)
		g.clusters[cluster] = c
	case kindNGQueue:
		q := ngQueue{cluster: cluster}
		apply(g.d, ngQueueAttrs, &q, e, &q.r.Attrs)
		g.queues = append(g.queues, q)
	}
	return true
}

var ngClusterAttrs = setters[ngCluster]{
	"nordugrid-cluster-contactstring":      func(d *Decoder, c *ngCluster, v []byte) { c.contact = d.pool.str(v) },
	"nordugrid-cluster-lrms-type":          func(d *Decoder, c *ngCluster, v []byte) { c.lrms = d.pool.str(v) },
	"nordugrid-cluster-lrms-version":       func(d *Decoder, c *ngCluster, v []byte) { c.version = d.pool.str(v) },
	"nordugrid-cluster-owner":              func(d *Decoder, c *ngCluster, v []byte) { c.site = d.pool.str(v) },
	"nordugrid-cluster-runtimeenvironment": func(d *Decoder, c *ngCluster, v []byte) { c.tags = append(c.tags, d.pool.str(v)) },
	"nordugrid-cluster-totalcpus":          func(d *Decoder, c *ngCluster, v []byte) { c.r.TotalSlots = limit(v) },
	"nordugrid-cluster-middleware": func(d *Decoder, c *ngCluster, v []byte) {
		if version, ok := bytes.CutPrefix(v, []byte("nordugrid-arc-")); ok {
			c.r.Implementation, c.r.ImplVersion = "nordugrid-arc", d.pool.str(version)
		}
	},
	"nordugrid-cluster-acl":          func(d *Decoder, c *ngCluster, v []byte) { c.r.Access = append(c.r.Access, d.accessRule(v)) },
	"nordugrid-cluster-architecture": func(d *Decoder, c *ngCluster, v []byte) { c.r.Platform = d.platform(v) },
	"nordugrid-cluster-opsys":        func(d *Decoder, c *ngCluster, v []byte) { c.r.setOpsys(d.pool.str(v)) },
	"nordugrid-cluster-nodecpu":      func(d *Decoder, c *ngCluster, v []byte) { c.r.setNodeCPU(d.pool.str(v)) },
	"nordugrid-cluster-nodememory":   func(d *Decoder, c *ngCluster, v []byte) { c.r.MainMemory = limit(v) },
	"nordugrid-cluster-nodeaccess":   func(d *Decoder, c *ngCluster, v []byte) { c.r.setNodeAccess(v) },
}

var ngQueueAttrs = setters[ngQueue]{
	"nordugrid-queue-name":          func(d *Decoder, q *ngQueue, v []byte) { q.r.Queue = d.pool.str(v) },
	"nordugrid-queue-status":        func(d *Decoder, q *ngQueue, v []byte) { q.r.Serving = servingState(v) },
	"nordugrid-queue-running":       func(d *Decoder, q *ngQueue, v []byte) { q.r.UsedSlots = count(v) },
	"nordugrid-queue-gridrunning":   func(d *Decoder, q *ngQueue, v []byte) { q.r.Running = count(v) },
	"nordugrid-queue-gridqueued":    func(d *Decoder, q *ngQueue, v []byte) { q.r.Waiting = count(v) },
	"nordugrid-queue-localqueued":   func(d *Decoder, q *ngQueue, v []byte) { q.r.LocalWaiting = count(v) },
	"nordugrid-queue-prelrmsqueued": func(d *Decoder, q *ngQueue, v []byte) { q.r.PreLRMSWaiting = count(v) },
	"nordugrid-queue-maxrunning":    func(d *Decoder, q *ngQueue, v []byte) { q.r.setMost(LimitRunning, &q.r.MaxRunning, v) },
	"nordugrid-queue-maxqueuable":   func(d *Decoder, q *ngQueue, v []byte) { q.r.setMost(LimitWaiting, &q.r.MaxWaiting, v) },
	"nordugrid-queue-maxuserrun":    func(d *Decoder, q *ngQueue, v []byte) { q.r.setMost(LimitUserRunning, &q.r.MaxUserRunning, v) },
	"nordugrid-queue-maxcputime":    func(d *Decoder, q *ngQueue, v []byte) { q.r.setLongest(LimitCPUTime, &q.r.MaxCPUTime, v, time.Minute) },
	"nordugrid-queue-maxwalltime": func(d *Decoder, q *ngQueue, v []byte) {
		q.r.setLongest(LimitWallTime, &q.r.MaxWallTime, v, time.Minute)
	},
	"nordugrid-queue-minwalltime": func(d *Decoder, q *ngQueue, v []byte) { q.r.MinWallTime = span(v, time.Minute) },
	"nordugrid-queue-defaultwalltime": func(d *Decoder, q *ngQueue, v []byte) {
		q.r.DefaultWallTime = spanLimit(v, time.Minute)
	},
	"nordugrid-queue-totalcpus":    func(d *Decoder, q *ngQueue, v []byte) { q.r.TotalSlots = limit(v) },
	"nordugrid-queue-nodecpu":      func(d *Decoder, q *ngQueue, v []byte) { q.r.setNodeCPU(d.pool.str(v)) },
	"nordugrid-queue-nodememory":   func(d *Decoder, q *ngQueue, v []byte) { q.r.MainMemory = limit(v) },
	"nordugrid-queue-architecture": func(d *Decoder, q *ngQueue, v []byte) { q.r.Platform = d.platform(v) },
	"nordugrid-queue-opsys":        func(d *Decoder, q *ngQueue, v []byte) { q.r.setOpsys(d.pool.str(v)) },
	"nordugrid-queue-acl":          func(d *Decoder, q *ngQueue, v []byte) { q.r.Access = append(q.r.Access, d.accessRule(v)) },
	"nordugrid-queue-benchmark": func(d *Decoder, q *ngQueue, v []byte) {
		if name, value, ok := bytes.Cut(v, []byte("@")); ok {
			(*benchmarks)(&q.r.Benchmarks).set(d.pool.str(bytes.ToLower(name)), value)
		}
	},
	"mds-validfrom": func(d *Decoder, q *ngQueue, v []byte) { q.from = timestamp(v) },
	"mds-validto":   func(d *Decoder, q *ngQueue, v []byte) { q.to = timestamp(v) },
}

// setOpsys takes "debian-12" apart.
func (r *Resource) setOpsys(s string) {
	name, version, _ := strings.Cut(s, "-")
	r.OSName, r.OSVersion = name, version
	if strings.Contains(strings.ToLower(s), "linux") || linuxes[strings.ToLower(name)] {
		r.OSFamily = "linux"
	}
}

var linuxes = map[string]bool{
	"debian": true, "ubuntu": true, "centos": true, "rhel": true, "redhat": true, "fedora": true,
	"almalinux": true, "rocky": true, "scientificlinux": true, "suse": true, "alma": true,
}

// setNodeCPU takes "model @ 2000 MHz" apart.
func (r *Resource) setNodeCPU(s string) {
	model, clock, ok := strings.Cut(s, " @ ")
	r.CPUModel = model
	if mhz, is := strings.CutSuffix(clock, " MHz"); ok && is {
		r.CPUClock = limit([]byte(mhz))
	}
}

func (r *Resource) setNodeAccess(v []byte) {
	switch string(bytes.ToLower(v)) {
	case "inbound":
		r.ConnectivityIn = Some(true)
	case "outbound":
		r.ConnectivityOut = Some(true)
	}
}

// resources joins queues with their cluster.
func (g *nordugrid) resources(own *room) []*Resource {
	tags := map[string]*tagList{}
	for name, c := range g.clusters {
		tags[name] = newTagList(c.tags)
	}
	out := make([]*Resource, 0, len(g.queues))
	for i := range g.queues {
		q := &g.queues[i]
		c := g.clusters[q.cluster]
		if c == nil {
			c = &ngCluster{name: q.cluster}
		}
		q.finish(c, tags[c.name])
		r := own.next()
		*r = q.r
		out = append(out, r)
	}
	return out
}

func (q *ngQueue) finish(c *ngCluster, tags *tagList) {
	r := &q.r
	r.Schema, r.Site, r.CE = "nordugrid", c.site, c.name
	r.LRMS, r.LRMSVersion = c.lrms, c.version
	r.Implementation, r.ImplVersion = cmp.Or(c.r.Implementation, "nordugrid-arc"), c.r.ImplVersion
	if r.Access == nil {
		r.Access = c.r.Access
	}
	if tags != nil {
		r.RuntimeEnvironments, r.tags = tags.names, tags
	}
	fill := filler{dst: r, src: &c.r}
	fill.environment()
	if !r.TotalSlots.OK {
		r.TotalSlots = c.r.TotalSlots
	}
	r.Endpoints = c.endpoints(r.Serving)
	if r.TotalSlots.OK && r.UsedSlots.OK {
		r.FreeSlots = Some(max(0, r.TotalSlots.V-r.UsedSlots.V))
	}
	if !q.from.IsZero() && q.to.After(q.from) {
		r.Created, r.Validity = q.from, q.to.Sub(q.from)
	}
	host, port := hostPort(c.contact)
	host = cmp.Or(host, c.name)
	r.CEID = ceUniqueID(host+":"+cmp.Or(port, "2811"), r.LRMS, r.Queue)
	r.ID, r.Name = r.CEID, named(host, "/", r.Queue)
}

func (c *ngCluster) endpoints(serving ServingState) []Endpoint {
	if c.contact == "" {
		return nil
	}
	e := Endpoint{ID: c.contact, URL: c.contact, Interface: "org.nordugrid.gridftpjob", Serving: serving}
	if strings.HasPrefix(c.contact, "https://") {
		e.Interface = InterfaceARCREST
	}
	return []Endpoint{e}
}
