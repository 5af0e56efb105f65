package glue

import (
	"cmp"
	"slices"
	"strings"
)

// resources joins shares with the endpoints, manager, nodes, tags and rules of
// their service.
func (g *glue20) resources(own *room) []*Resource {
	j := g.index()
	out := make([]*Resource, 0, g.shares.n)
	type queue struct{ site, service, name string }
	groups := map[queue][]*Resource{}
	s := &share20{} // one for all: it is of use for a moment
	for p := range g.shares.take() {
		*s = share20{r: own.next(), id: p.key, endpoints: s.endpoints[:0], envs: s.envs[:0]}
		shares20.apply(g.d, s, p.text, &s.r.Attrs)
		j.finish(s)
		q := queue{s.id.site, s.service, s.r.Queue}
		groups[q] = append(groups[q], s.r)
		out = append(out, s.r)
	}
	for _, group := range groups {
		if len(group) > 1 {
			markViews(group)
		}
	}
	return out
}

// markViews tells the VOs' views among the shares of one queue from the share
// as a whole, and gives the views the jobs that the CE holds back: ARC counts
// them on the whole share only.
func markViews(group []*Resource) {
	var whole *Resource
	for _, r := range group {
		if vo := onlyVO(r.Access); vo != "" {
			r.ViewOf, r.ID = vo, named(r.CEID, "#", vo)
		} else {
			whole = r
		}
	}
	if whole == nil {
		return
	}
	for _, r := range group {
		whole.addView(r)
		raise(&r.PreLRMSWaiting, whole.PreLRMSWaiting)
		raise(&r.Staging, whole.Staging)
	}
}

func raise(dst *Opt[int64], to Opt[int64]) {
	if to.OK && (!dst.OK || dst.V < to.V) {
		*dst = to
	}
}

// onlyVO returns the VO that all rules are about, or "".
func onlyVO(rules []string) string {
	vo := ""
	for _, rule := range rules {
		switch v := VOOf(rule); {
		case v == "" || vo != "" && v != vo:
			return ""
		default:
			vo = v
		}
	}
	return vo
}

// join20 is the objects of glue20 by the keys that point to them.
type join20 struct {
	g          *glue20
	endpoints  map[key]*endpoint20
	ofService  map[key][]*endpoint20
	managers   map[key]*manager20 // by service: the one with the most slots
	envs       map[key]*env20
	ofManager  map[key][]*env20
	benchmarks map[key][]*benchmark20
	tags       map[key]*tagList
	addresses  map[key]*addresses20 // by service: those of the share before
}

func (g *glue20) index() *join20 {
	j := &join20{g: g, endpoints: map[key]*endpoint20{}, ofService: map[key][]*endpoint20{},
		managers: map[key]*manager20{}, envs: map[key]*env20{}, ofManager: map[key][]*env20{},
		benchmarks: map[key][]*benchmark20{}, tags: map[key]*tagList{}, addresses: map[key]*addresses20{}}
	for p := range g.endpoints.take() {
		p.finish()
		j.endpoints[p.id] = p
		j.ofService[p.service] = append(j.ofService[p.service], p)
	}
	for m := range g.managers.take() {
		k := key{m.id.site, m.service}
		if have := j.managers[k]; have == nil || m.totalSlots.V > have.totalSlots.V {
			j.managers[k] = m
		}
	}
	for b := range g.benchmarks.take() {
		j.benchmarks[b.env] = append(j.benchmarks[b.env], b)
	}
	g.keepTags()
	for k, t := range g.tags {
		j.tags[k] = newTagList(t.names)
	}
	for x := range g.envs.take() {
		j.finishEnv(x)
		j.envs[x.id] = x
		k := key{x.id.site, x.manager}
		j.ofManager[k] = append(j.ofManager[k], x)
	}
	return j
}

// finishEnv turns the numbers of one instance into those of all, and adds
// benchmarks and tags.
func (j *join20) finishEnv(x *env20) {
	x.r.SMPSize = x.r.LogicalCPUs
	if x.instances.OK {
		x.r.LogicalCPUs.V *= x.instances.V
		x.r.PhysicalCPUs.V *= x.instances.V
	}
	for _, b := range j.benchmarks[x.id] {
		x.r.Benchmarks.set(b.name, b.value)
	}
	x.r.tags = j.tags[key{x.id.site, x.manager}]
}

func (p *endpoint20) finish() {
	if !p.downStart.IsZero() && !p.downEnd.IsZero() {
		p.e.Downtimes = []Downtime{{Start: p.downStart, End: p.downEnd, Info: p.downInfo}}
	}
}

// finish fills in a share's identity, endpoints, manager and nodes.
func (j *join20) finish(s *share20) {
	r, g := s.r, j.g
	service := key{s.id.site, s.service}
	r.Schema, r.Site = "glue2.0", s.id.site
	svc := g.services[service]
	if svc != nil && (r.Site == "" || strings.HasPrefix(r.Site, "urn:ad:")) {
		r.Site = svc.site
	}
	r.Access = g.rules[s.id]
	if r.Queue == "" {
		r.Queue = lastOfURN(cmp.Or(s.name, s.id.id))
	}
	if m := j.managers[service]; m != nil {
		r.LRMS, r.LRMSVersion, r.TotalSlots = m.product, m.version, m.totalSlots
		if !r.TotalSlots.OK {
			r.TotalSlots = m.cpus
		}
		r.Attrs = mergedAttrs(r.Attrs, m.attrs)
		if env := j.environment(s, m); env != nil {
			r.setNodes(&env.r)
		}
	} else if env := j.environment(s, nil); env != nil {
		r.setNodes(&env.r)
	}
	r.dropPlaceholderState()
	r.raiseTotal()
	j.identify(s, j.addressesOf(s, svc))
}

// environment picks the nodes of a share: those it names, else its manager's;
// of several the kind with the most CPUs.
func (j *join20) environment(s *share20, m *manager20) *env20 {
	var best *env20
	consider := func(x *env20) {
		if x != nil && (best == nil || x.r.LogicalCPUs.V > best.r.LogicalCPUs.V) {
			best = x
		}
	}
	for _, id := range s.envs {
		consider(j.envs[key{s.id.site, id}])
	}
	if best == nil && m != nil {
		for _, x := range j.ofManager[m.id] {
			consider(x)
		}
	}
	return best
}

// jobInterfaces are interfaces that take jobs, in the order of preference.
var jobInterfaces = []string{
	InterfaceARCREST, InterfaceHTCondorCE,
	"org.ogf.glue.emies.activitycreation", "org.glite.ce.CREAM", "org.nordugrid.gridftpjob", "org.globus.gram",
}

func interfaceOrder(name string) int {
	if i := slices.Index(jobInterfaces, name); i >= 0 {
		return i
	}
	return len(jobInterfaces)
}

// forJobs reports whether an interface's name says so by itself. Names that
// this program made up are among them, so that it is seen who claims them.
func forJobs(name string) bool {
	own := strings.HasPrefix(strings.ToLower(name), "org.gridbroker.")
	return own && !isService(name) || interfaceOrder(name) < len(jobInterfaces)
}

func isService(name string) bool {
	return name == InterfaceQueues || name == InterfaceEcho || name == InterfaceForecast
}

// healthOrder puts healthy endpoints first.
var healthOrder = map[string]int{"ok": 0, "warning": 1, "": 2, "unknown": 2, "other": 2, "critical": 3}

func sortEndpoints(es []Endpoint) {
	slices.SortStableFunc(es, func(a, b Endpoint) int {
		return cmp.Or(
			cmp.Compare(interfaceOrder(a.Interface), interfaceOrder(b.Interface)),
			cmp.Compare(healthOrder[a.Health], healthOrder[b.Health]),
			cmp.Compare(a.URL, b.URL))
	})
}
