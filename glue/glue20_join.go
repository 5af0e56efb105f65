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
		*s = share20{r: own.next(), id: p.key}
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
}

func (g *glue20) index() *join20 {
	j := &join20{g: g, endpoints: map[key]*endpoint20{}, ofService: map[key][]*endpoint20{},
		managers: map[key]*manager20{}, envs: map[key]*env20{}, ofManager: map[key][]*env20{},
		benchmarks: map[key][]*benchmark20{}, tags: map[key]*tagList{}}
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
	j.setEndpoints(s, svc)
	j.identify(s)
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

// setEndpoints lists the endpoints that take jobs, best first. ARC 6 names in
// its shares endpoints that are not there and never the REST one: for A-REX
// all endpoints of the service count.
func (j *join20) setEndpoints(s *share20, svc *service20) {
	var ps []*endpoint20
	for _, id := range s.endpoints {
		if p := j.endpoints[key{s.id.site, id}]; p != nil {
			ps = append(ps, p)
		}
	}
	arex := svc != nil && svc.kind == "org.nordugrid.arex"
	if len(ps) == 0 || arex && !slices.ContainsFunc(ps, func(p *endpoint20) bool { return p.e.Interface == InterfaceARCREST }) {
		ps = j.ofService[key{s.id.site, s.service}]
	}
	for _, p := range ps[:min(len(ps), maxLooked)] {
		if p.jobs || forJobs(p.e.Interface) {
			s.r.Endpoints = append(s.r.Endpoints, p.e)
			if s.r.Implementation == "" {
				s.r.Implementation, s.r.ImplVersion = p.impl, p.version
			}
		}
	}
	if s.condorID != "" && len(s.r.Endpoints) == 0 {
		s.r.Endpoints = []Endpoint{condorEndpoint(s.condorID)}
	}
	sortEndpoints(s.r.Endpoints)
	for _, p := range j.ofService[key{s.id.site, s.service}] {
		if isService(p.e.Interface) {
			s.r.Services = append(s.r.Services, p.e)
		}
	}
}

// condorEndpoint is the schedd of an HTCondor-CE by the identifier that its
// information provider gives, host:port/name.
func condorEndpoint(id string) Endpoint {
	hostport, _, _ := strings.Cut(id, "/")
	if !strings.Contains(hostport, ":") {
		hostport += ":9619"
	}
	return Endpoint{ID: id, URL: "https://" + hostport, Interface: InterfaceHTCondorCE}
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

// identify sets host, name and identifiers. GLUE 2.0 has no GlueCEUniqueID:
// CREAM publishes it beside, for the others it is made up in their usual form.
func (j *join20) identify(s *share20) {
	r := s.r
	host, port := "", ""
	if len(r.Endpoints) > 0 {
		host, port = hostPort(r.Endpoints[0].URL)
	}
	if host == "" {
		host = hostInID(s.service)
	}
	hp := host
	if port != "" {
		hp = host + ":" + port
	}
	r.CE, r.Name = host, named(host, "/", r.Queue)
	switch {
	case s.ceID != "" || s.condorID != "":
		r.CEID = cmp.Or(s.ceID, s.condorID)
	case len(r.Endpoints) > 0 && r.Endpoints[0].Interface == InterfaceHTCondorCE:
		r.CEID = named(hp, "/", host, "-condor-", r.Queue)
	case strings.HasPrefix(r.Implementation, "nordugrid"):
		r.CEID = ceUniqueID(hp, r.LRMS, r.Queue)
	default:
		r.CEID = named(hp, "/", cmp.Or(strings.ToLower(r.LRMS), "lrms"), "-", r.Queue)
	}
	r.ID = r.CEID
}

// hostInID finds a host name in a service's identifier:
// urn:ogf:ComputingService:HOST:arex, HOST_ComputingElement, HOST/....
func hostInID(id string) string {
	if len(id) > 4 && strings.EqualFold(id[:4], "urn:") {
		return hostIn(id)
	}
	end := strings.IndexAny(id, "_/:")
	if end < 0 {
		end = len(id)
	}
	return hostName(id[:end])
}
