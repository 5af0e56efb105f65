package glue

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// join13 is the objects of glue13 by the keys that point to them.
type join13 struct {
	g     *glue13
	now   time.Time
	kinds map[key]*nodes // by cluster
	views map[key][]published
}

func (g *glue13) index(now time.Time) *join13 {
	g.findElsewhere()
	own := *g
	j := &join13{g: &own, now: now, kinds: g.environments(), views: map[key][]published{}}
	for v := range g.views.take() {
		j.views[v.key] = append(j.views[v.key], v.text)
	}
	return j
}

// entry is a CE with its views. One that was published twice has them once.
func (j *join13) entry(p *part) ceOf {
	views := j.views[p.key]
	delete(j.views, p.key)
	return ceOf{j, p, views}
}

// ceOf is a CE and its views, of which no resources are made yet.
type ceOf struct {
	j     *join13
	p     *part
	views []published
}

// resources joins a CE with its cluster, subcluster and VO views: it gives one
// resource for itself and one for each view.
func (e *ceOf) resources(own *room, out []*Resource) []*Resource {
	g, d := e.j.g, e.j.g.d
	ce := own.next()
	g.ce = ce13{r: ce, key: e.p.key}
	ce.Access = d.texts[:0]
	ces13.apply(d, &g.ce, e.p.text, &ce.Attrs)
	d.texts, ce.Access = ce.Access[:0], d.lists.one(ce.Access)
	g.finish(&g.ce, e.j.kinds)
	ce.Source, ce.Fetched = d.source, e.j.now
	out = append(out, ce)
	for _, text := range e.views {
		g.view = view13{r: Resource{Access: d.texts[:0]}}
		v := &g.view
		views13.apply(d, v, text, &v.r.Attrs)
		d.texts, v.r.Access = v.r.Access[:0], d.lists.one(v.r.Access)
		if vo := v.vo(); vo != "" {
			r := own.next()
			v.complete(r, ce, vo)
			out = append(out, r)
			ce.addView(r)
		}
	}
	return out
}

// Numbers of the attributes that a queue is known by.
var hostOfCE, nameOfCE = ces13.number["glueceinfohostname"], ces13.number["gluecename"]

// queue is the host and the queue of a CE, as resources will have them.
func (j *join13) queue(p *part) (host, queue string) {
	p.text.each(func(number int, v []byte) {
		switch number {
		case hostOfCE:
			host = j.g.d.host(v)
		case nameOfCE:
			queue = j.g.d.queue(v)
		}
	})
	if host == "" {
		host = hostIn(p.key.id)
	}
	if queue == "" {
		queue = queueInID(p.key.id)
	}
	return host, queue
}

// findElsewhere lists the clusters whose name only one site has.
func (g *glue13) findElsewhere() {
	sites := map[string]int{}
	for k := range g.clusters {
		sites[k.id]++
	}
	g.elsewhere = map[string]cluster13{}
	for k, c := range g.clusters {
		if sites[k.id] == 1 {
			g.elsewhere[k.id] = c
		}
	}
}

// environments picks for each cluster the subcluster with the most CPUs: one
// resource stands for one kind of node. A cluster whose name only one site has
// is found without the site, too.
func (g *glue13) environments() map[key]*nodes {
	best := map[key]*nodes{}
	for s := range g.subclusters.take() {
		s.r.tags = newTagList(s.tags)
		if b := best[s.key]; b == nil || s.r.LogicalCPUs.V > b.LogicalCPUs.V {
			best[s.key] = &s.r
		}
	}
	sites := map[string]int{} // how many have a cluster of that name
	for k := range best {
		sites[k.id]++
	}
	for k, r := range maps.Clone(best) {
		if sites[k.id] == 1 {
			best[key{"", k.id}] = r
		}
	}
	return best
}

// finish fills in a CE's identity, endpoint and nodes.
func (g *glue13) finish(c *ce13, kinds map[key]*nodes) {
	r := c.r
	r.Schema, r.ID, r.CEID, r.Cluster = "glue1.3", c.key.id, c.key.id, c.cluster
	cluster := g.cluster(c)
	r.Site = cmp.Or(c.key.site, cluster.site)
	r.Attrs = mergedAttrs(r.Attrs, cluster.attrs)
	if r.CE == "" {
		r.CE = hostIn(c.key.id)
	}
	if r.Queue == "" {
		r.Queue = queueInID(c.key.id)
	}
	r.Name = named(r.CE, "/", r.Queue)
	if !r.FreeSlots.OK {
		r.FreeSlots = c.free
	}
	r.dropPlaceholderState()
	r.Endpoints = []Endpoint{c.endpoint()}
	if c.condorID != "" {
		r.Endpoints = []Endpoint{condorEndpoint(c.condorID)}
	}
	r.Services = g.servicesOf(c)
	r.CloseSEs = g.close(c)
	r.raiseTotal()
	env := kinds[key{c.key.site, c.cluster}]
	if env == nil {
		env = kinds[key{"", c.cluster}]
	}
	if env != nil {
		r.setNodes(env)
	}
}

// cluster is the one that a CE names: of its own site, else the only one of
// that name, since some sites publish CE and cluster under two site names.
func (g *glue13) cluster(c *ce13) cluster13 {
	if cl, ok := g.clusters[key{c.key.site, c.cluster}]; ok {
		return cl
	}
	return g.elsewhere[c.cluster]
}

// close lists the storage elements bound to a CE: the default one first, the
// others by name.
func (g *glue13) close(c *ce13) []StorageBinding {
	ses := g.binds[c.key]
	if c.defaultSE != "" && !slices.ContainsFunc(ses, func(b StorageBinding) bool { return b.SE == c.defaultSE }) {
		ses = append(ses, StorageBinding{SE: c.defaultSE})
	}
	for i := range ses {
		ses[i].Attrs = g.ses[ses[i].SE]
	}
	slices.SortStableFunc(ses, func(a, b StorageBinding) int {
		switch c.defaultSE {
		case a.SE:
			return -1
		case b.SE:
			return 1
		}
		return strings.Compare(a.SE, b.SE)
	})
	return ses
}

// queueInID takes the queue out of an identifier, where nothing else names it:
// host:port/jobmanager-LRMS-queue and the like, host:port/host-condor[-queue].
func queueInID(id string) string {
	_, tail, _ := strings.Cut(id, "/")
	if _, queue, ok := strings.Cut(tail, "-condor-"); ok {
		return queue
	}
	parts := strings.SplitN(tail, "-", 3)
	return parts[len(parts)-1]
}

// endpoint makes the endpoint out of contact string and identifier; GLUE 1.3
// has no interface names, so the form of the identifier tells.
func (c *ce13) endpoint() Endpoint {
	e := Endpoint{ID: c.key.id, URL: "https://" + strings.SplitN(c.key.id, "/", 2)[0], Serving: c.r.Serving}
	if len(c.contacts) > 0 {
		e.URL = c.contacts[0]
	}
	if words := strings.Fields(e.URL); len(words) == 3 && words[0] == "condor" { // the schedd's name and its collector
		e.URL, e.Interface = condorEndpoint(words[2]).URL, InterfaceHTCondorCE
		return e
	}
	_, tail, _ := strings.Cut(c.key.id, "/")
	switch {
	case strings.HasPrefix(tail, "nordugrid-") && strings.HasPrefix(e.URL, "https://"):
		e.Interface = InterfaceARCREST
	case strings.HasPrefix(tail, "nordugrid-"):
		e.Interface = "org.nordugrid.gridftpjob"
	case strings.HasPrefix(tail, "cream-"):
		e.Interface = "org.glite.ce.CREAM"
	case strings.HasPrefix(tail, "jobmanager-"):
		e.Interface = "org.globus.gram"
	case strings.Contains(tail, "-condor"):
		e.Interface = InterfaceHTCondorCE
	}
	return e
}

// complete makes r a VO's view of a CE whole: the CE with the view's own access
// rules and state. What the view does not publish is the CE's. DENY rules of
// the CE hold for its views too.
func (v *view13) complete(r, ce *Resource, vo string) {
	own := &v.r
	*r = *ce
	r.ViewOf, r.Views = vo, nil
	r.deadEstimate = own.deadEstimate && !ce.live()
	r.ID = named(ce.ID, "#", v.localID)
	r.Access = own.Access
	for _, rule := range ce.Access {
		if strings.HasPrefix(rule, "DENY:") {
			r.Access = append(r.Access, rule)
		}
	}
	r.StateIsPlaceholder = own.StateIsPlaceholder || ce.StateIsPlaceholder
	r.EstimatedWaitIsPlaceholder = own.EstimatedWaitIsPlaceholder || ce.EstimatedWaitIsPlaceholder
	if !own.FreeSlots.OK {
		own.FreeSlots = v.free
	}
	override(&r.Running, own.Running)
	override(&r.Waiting, own.Waiting)
	override(&r.Total, own.Total)
	override(&r.FreeSlots, own.FreeSlots)
	override(&r.EstimatedWait, own.EstimatedWait)
	override(&r.WorstWait, own.WorstWait)
	r.dropPlaceholderState()
	r.Attrs = mergedAttrs(own.Attrs, ce.Attrs)
}

func override[T any](dst *Opt[T], v Opt[T]) {
	if v.OK {
		*dst = v
	}
}

// vo is the VO the view is for: of its rules, else its name.
func (v *view13) vo() string {
	for _, rule := range v.r.Access {
		if vo := VOOf(rule); vo != "" {
			return vo
		}
	}
	return v.localID
}
