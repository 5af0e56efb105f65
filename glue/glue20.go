package glue

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// glue20 collects the entries of GLUE 2.0 (GFD.147), from LDAP or from the
// XML and JSON that ARC renders.
type glue20 struct {
	d          *Decoder
	services   map[key]*service20
	endpoints  slab[endpoint20]
	shares     slab[part]
	managers   slab[manager20]
	envs       slab[env20]
	tags       map[key]*tags20 // by manager
	lastTags   *tags20         // of them, those added to last: a manager's come one after the other
	newTags    []string        // that are to be added to these
	benchmarks slab[benchmark20]
	rules      map[key][]string // mapping policies, by share
	rule       rule20           // the one at hand
	app        app20
}

type service20 struct {
	id, site, kind string
}

type endpoint20 struct {
	e                  Endpoint
	id, service        key
	impl, version      string
	jobs               bool // has a capability to take jobs
	downStart, downEnd time.Time
	downInfo           string
}

type share20 struct {
	r         *Resource
	id        key
	service   string
	name      string
	ceID      string   // published in OtherInfo by CREAM
	condorID  string   // published in OtherInfo by HTCondor-CEs: host:port/...
	endpoints []string // foreign keys
	envs      []string
}

type manager20 struct {
	id                    key
	service               string
	product, version      string
	totalSlots, usedSlots Opt[int64]
	cpus                  Opt[int64]
	attrs                 map[string][]string
}

type env20 struct {
	r         nodes
	id        key
	manager   string
	instances Opt[int64]
}

type benchmark20 struct {
	env       key
	name      string
	value     []byte
	hasParent bool
}

type rule20 struct {
	shares, rules []string
}

func (g *glue20) init(d *Decoder) {
	g.d, g.services, g.tags, g.rules = d, map[key]*service20{}, map[key]*tags20{}, map[key][]string{}
}

// add tells whether the entry is of use.
func (g *glue20) add(k kind, e *Entry) bool {
	d := g.d
	site := d.pool.str(rdn(e.DN, "glue2domainid"))
	switch k {
	case kindService:
		s := &service20{}
		apply(d, serviceAttrs, s, e, nil)
		g.services[key{site, s.id}] = s
	case kindEndpoint:
		p := g.endpoints.add()
		p.id.site, p.service.site = site, site
		apply(d, endpointAttrs, p, e, nil)
	case kindShare:
		var id []byte
		for v := range e.values("glue2shareid") {
			id = v
		}
		return keepPart(d, &g.shares, shares20, d.keyOf(site, id, e, "glue2shareid"), e)
	case kindManager:
		m := g.managers.add()
		m.id.site = site
		apply(d, managerAttrs, m, e, &m.attrs)
	case kindEnvironment:
		v := g.envs.add()
		v.id.site = site
		apply(d, envAttrs, v, e, &v.r.Attrs)
		if v.manager == "" {
			v.manager = d.pool.str(rdn(e.DN, "glue2managerid"))
		}
	default:
		g.addPart(k, site, e)
	}
	return true
}

// addPart takes in what belongs to a manager, to nodes or to a share.
func (g *glue20) addPart(k kind, site string, e *Entry) {
	d := g.d
	switch k {
	case kindApplication:
		a := &g.app
		*a = app20{}
		apply(d, appAttrs, a, e, nil)
		if len(a.manager) == 0 {
			a.manager = rdn(e.DN, "glue2managerid")
		}
		if a.usable() {
			g.tagsOf(site, a.manager)
			g.newTags = append(g.newTags, d.tag(a.name, a.version))
		}
	case kindBenchmark:
		b := g.benchmarks.add()
		b.env.site = site
		apply(d, benchmarkAttrs, b, e, nil)
		if !b.hasParent {
			b.env.id = d.pool.str(rdn(e.DN, "glue2resourceid"))
		}
	case kindMapping:
		p := &g.rule
		p.shares, p.rules = p.shares[:0], p.rules[:0]
		apply(d, mappingAttrs, p, e, nil)
		for _, share := range p.shares {
			k := key{site, share}
			if have := g.rules[k]; have == nil {
				g.rules[k] = d.lists.one(p.rules)
			} else {
				g.rules[k] = d.lists.longer(have, p.rules)
			}
		}
	}
}

var serviceAttrs = setters[service20]{
	"glue2serviceid":   func(d *Decoder, s *service20, v []byte) { s.id = d.pool.str(v) },
	"glue2servicetype": func(d *Decoder, s *service20, v []byte) { s.kind = d.pool.str(v) },
	"glue2serviceadmindomainforeignkey": func(d *Decoder, s *service20, v []byte) {
		s.site = d.pool.str(bytes.TrimPrefix(v, []byte("urn:ad:")))
	},
}

var endpointAttrs = setters[endpoint20]{
	"glue2endpointid":                                  func(d *Decoder, p *endpoint20, v []byte) { p.id.id = d.pool.str(v); p.e.ID = p.id.id },
	"glue2endpointurl":                                 func(d *Decoder, p *endpoint20, v []byte) { p.e.URL = d.pool.str(v) },
	"glue2endpointinterfacename":                       func(d *Decoder, p *endpoint20, v []byte) { p.e.Interface = d.pool.str(v) },
	"glue2endpointinterfaceversion":                    func(d *Decoder, p *endpoint20, v []byte) { p.e.Versions = append(p.e.Versions, d.pool.str(v)) },
	"glue2endpointhealthstate":                         func(d *Decoder, p *endpoint20, v []byte) { p.e.Health = d.pool.str(bytes.ToLower(v)) },
	"glue2endpointservingstate":                        func(d *Decoder, p *endpoint20, v []byte) { p.e.Serving = servingState(v) },
	"glue2endpointqualitylevel":                        func(d *Decoder, p *endpoint20, v []byte) { p.e.Quality = d.pool.str(v) },
	"glue2endpointissuerca":                            func(d *Decoder, p *endpoint20, v []byte) { p.e.Issuer = d.pool.str(v) },
	"glue2endpointimplementationname":                  func(d *Decoder, p *endpoint20, v []byte) { p.impl = d.pool.str(v) },
	"glue2endpointimplementationversion":               func(d *Decoder, p *endpoint20, v []byte) { p.version = d.pool.str(v) },
	"glue2endpointcapability":                          func(d *Decoder, p *endpoint20, v []byte) { p.jobs = p.jobs || takesJobs(v) },
	"glue2endpointdowntimestart":                       func(d *Decoder, p *endpoint20, v []byte) { p.downStart = timestamp(v) },
	"glue2endpointdowntimeend":                         func(d *Decoder, p *endpoint20, v []byte) { p.downEnd = timestamp(v) },
	"glue2endpointdowntimeinfo":                        func(d *Decoder, p *endpoint20, v []byte) { p.downInfo = d.pool.str(v) },
	"glue2endpointserviceforeignkey":                   func(d *Decoder, p *endpoint20, v []byte) { p.service.id = d.pool.str(v) },
	"glue2computingendpointcomputingserviceforeignkey": func(d *Decoder, p *endpoint20, v []byte) { p.service.id = d.pool.str(v) },
}

// takesJobs reports whether a capability (GFD.147 Capability_t) is about
// handing in jobs.
func takesJobs(v []byte) bool {
	switch string(v) {
	case "executionmanagement.jobexecution", "executionmanagement.jobcreation":
		return true
	}
	return false
}

var shareAttrs = setters[share20]{
	"glue2shareid":            nil,
	"glue2entityname":         func(d *Decoder, s *share20, v []byte) { s.name = d.pool.str(v) },
	"glue2entitycreationtime": func(d *Decoder, s *share20, v []byte) { s.r.Created = timestamp(v) },
	"glue2entityvalidity":     func(d *Decoder, s *share20, v []byte) { s.r.Validity = spanLimit(v, time.Second).V },
	"glue2entityotherinfo": func(d *Decoder, s *share20, v []byte) {
		if id := foreignKey(v, "creamceid"); id != nil {
			s.ceID = d.pool.str(id)
		}
		if id := foreignKey(v, "htcondorceid"); id != nil {
			s.condorID = d.pool.str(id)
		}
		s.r.GPUs = gpusIn(v, s.r.GPUs)
	},
	"glue2shareserviceforeignkey":                       func(d *Decoder, s *share20, v []byte) { s.service = d.pool.str(v) },
	"glue2computingsharecomputingserviceforeignkey":     func(d *Decoder, s *share20, v []byte) { s.service = d.pool.str(v) },
	"glue2shareendpointforeignkey":                      func(d *Decoder, s *share20, v []byte) { s.endpoints = d.appendNew(s.endpoints, v) },
	"glue2computingsharecomputingendpointforeignkey":    func(d *Decoder, s *share20, v []byte) { s.endpoints = d.appendNew(s.endpoints, v) },
	"glue2shareresourceforeignkey":                      func(d *Decoder, s *share20, v []byte) { s.envs = d.appendNew(s.envs, v) },
	"glue2computingshareexecutionenvironmentforeignkey": func(d *Decoder, s *share20, v []byte) { s.envs = d.appendNew(s.envs, v) },
	"glue2computingsharemappingqueue":                   func(d *Decoder, s *share20, v []byte) { s.r.Queue = d.queue(v) },
	"glue2computingshareservingstate":                   func(d *Decoder, s *share20, v []byte) { s.r.Serving = servingState(v) },
	"glue2computingsharerunningjobs":                    func(d *Decoder, s *share20, v []byte) { s.r.Running = count(v) },
	"glue2computingsharewaitingjobs":                    func(d *Decoder, s *share20, v []byte) { s.r.setWaiting(v) },
	"glue2computingsharetotaljobs":                      func(d *Decoder, s *share20, v []byte) { s.r.Total = count(v) },
	"glue2computingsharelocalrunningjobs":               func(d *Decoder, s *share20, v []byte) { s.r.LocalRunning = count(v) },
	"glue2computingsharelocalwaitingjobs":               func(d *Decoder, s *share20, v []byte) { s.r.LocalWaiting = count(v) },
	"glue2computingshareprelrmswaitingjobs":             func(d *Decoder, s *share20, v []byte) { s.r.PreLRMSWaiting = count(v) },
	"glue2computingsharestagingjobs":                    func(d *Decoder, s *share20, v []byte) { s.r.Staging = count(v) },
	"glue2computingsharefreeslots":                      func(d *Decoder, s *share20, v []byte) { s.r.FreeSlots = count(v) },
	"glue2computingshareusedslots":                      func(d *Decoder, s *share20, v []byte) { s.r.UsedSlots = count(v) },
	"glue2computingsharefreeslotswithduration":          func(d *Decoder, s *share20, v []byte) { s.r.FreeFor = freeFor(v) },
	"glue2computingshareestimatedaveragewaitingtime":    func(d *Decoder, s *share20, v []byte) { s.r.setEstimate(v) },
	"glue2computingshareestimatedworstwaitingtime":      func(d *Decoder, s *share20, v []byte) { s.r.WorstWait = span(v, time.Second) },
	"glue2computingsharemaxwalltime": func(d *Decoder, s *share20, v []byte) {
		s.r.setLongest(LimitWallTime, &s.r.MaxWallTime, v, time.Second)
	},
	"glue2computingshareminwalltime":           func(d *Decoder, s *share20, v []byte) { s.r.MinWallTime = span(v, time.Second) },
	"glue2computingsharedefaultwalltime":       func(d *Decoder, s *share20, v []byte) { s.r.DefaultWallTime = spanLimit(v, time.Second) },
	"glue2computingsharemaxcputime":            func(d *Decoder, s *share20, v []byte) { s.r.setLongest(LimitCPUTime, &s.r.MaxCPUTime, v, time.Second) },
	"glue2computingsharedefaultcputime":        func(d *Decoder, s *share20, v []byte) { s.r.DefaultCPUTime = spanLimit(v, time.Second) },
	"glue2computingsharemaxtotaljobs":          func(d *Decoder, s *share20, v []byte) { s.r.setMost(LimitTotal, &s.r.MaxTotal, v) },
	"glue2computingsharemaxrunningjobs":        func(d *Decoder, s *share20, v []byte) { s.r.setMost(LimitRunning, &s.r.MaxRunning, v) },
	"glue2computingsharemaxwaitingjobs":        func(d *Decoder, s *share20, v []byte) { s.r.setMost(LimitWaiting, &s.r.MaxWaiting, v) },
	"glue2computingsharemaxprelrmswaitingjobs": func(d *Decoder, s *share20, v []byte) { s.r.setMost(LimitPreLRMSWaiting, &s.r.MaxPreLRMSWaiting, v) },
	"glue2computingsharemaxuserrunningjobs":    func(d *Decoder, s *share20, v []byte) { s.r.setMost(LimitUserRunning, &s.r.MaxUserRunning, v) },
	"glue2computingsharemaxslotsperjob":        func(d *Decoder, s *share20, v []byte) { s.r.setMost(LimitSlotsPerJob, &s.r.MaxSlotsPerJob, v) },
	"glue2computingsharemaxmainmemory":         func(d *Decoder, s *share20, v []byte) { s.r.setMost(LimitMemory, &s.r.MaxMemory, v) },
	"glue2computingsharemaxvirtualmemory":      func(d *Decoder, s *share20, v []byte) { s.r.setMost(LimitVirtualMemory, &s.r.MaxVirtualMemory, v) },
	"glue2computingsharemaxdiskspace": func(d *Decoder, s *share20, v []byte) {
		s.r.MaxDisk = gigabytes(v)
		s.r.say(LimitDisk, s.r.MaxDisk.OK, endless(v, 5, 1<<40))
	},
	"glue2computingsharepreemption": func(d *Decoder, s *share20, v []byte) { s.r.Preemption = boolean(v) },
}

var shares20 = numberOf(shareAttrs)

// appendNew appends v unless it is there.
func (d *Decoder) appendNew(list []string, v []byte) []string {
	for _, s := range list {
		if s == string(v) {
			return list
		}
	}
	return append(list, d.pool.str(v))
}

// freeFor decodes FreeSlotsWithDuration: "slots[:seconds] ...".
func freeFor(v []byte) []SlotsFor {
	var out []SlotsFor
	for word := range strings.FieldsSeq(string(v)) {
		n, secs, timed := strings.Cut(word, ":")
		slots, err := strconv.ParseInt(n, 10, 64)
		if err != nil || isPlaceholder(slots, 5) {
			continue
		}
		f := SlotsFor{Slots: slots}
		if timed {
			f.Duration = span([]byte(secs), time.Second).V
		}
		out = append(out, f)
	}
	return out
}

var managerAttrs = setters[manager20]{
	"glue2managerid":                                  func(d *Decoder, m *manager20, v []byte) { m.id.id = d.pool.str(v) },
	"glue2managerproductname":                         func(d *Decoder, m *manager20, v []byte) { m.product = d.word(v) },
	"glue2managerproductversion":                      func(d *Decoder, m *manager20, v []byte) { m.version = d.word(v) },
	"glue2managerserviceforeignkey":                   func(d *Decoder, m *manager20, v []byte) { m.service = d.pool.str(v) },
	"glue2computingmanagercomputingserviceforeignkey": func(d *Decoder, m *manager20, v []byte) { m.service = d.pool.str(v) },
	"glue2computingmanagertotalslots":                 func(d *Decoder, m *manager20, v []byte) { m.totalSlots = limit(v) },
	"glue2computingmanagertotallogicalcpus":           func(d *Decoder, m *manager20, v []byte) { m.cpus = limit(v) },
	"glue2computingmanagerslotsusedbylocaljobs":       func(d *Decoder, m *manager20, v []byte) { addTo(&m.usedSlots, count(v)) },
	"glue2computingmanagerslotsusedbygridjobs":        func(d *Decoder, m *manager20, v []byte) { addTo(&m.usedSlots, count(v)) },
}

func addTo(sum *Opt[int64], n Opt[int64]) {
	if n.OK {
		*sum = Some(sum.V + n.V)
	}
}

var envAttrs = setters[env20]{
	"glue2resourceid":                                     func(d *Decoder, x *env20, v []byte) { x.id.id = d.pool.str(v) },
	"glue2resourcemanagerforeignkey":                      func(d *Decoder, x *env20, v []byte) { x.manager = d.pool.str(v) },
	"glue2executionenvironmentcomputingmanagerforeignkey": func(d *Decoder, x *env20, v []byte) { x.manager = d.pool.str(v) },
	"glue2entityotherinfo":                                func(_ *Decoder, x *env20, v []byte) { x.r.GPUs = gpusIn(v, x.r.GPUs) },
	"glue2executionenvironmentplatform":                   func(d *Decoder, x *env20, v []byte) { x.r.Platform = d.platform(v) },
	"glue2executionenvironmenttotalinstances":             func(d *Decoder, x *env20, v []byte) { x.instances = limit(v) },
	"glue2executionenvironmentlogicalcpus":                func(d *Decoder, x *env20, v []byte) { x.r.LogicalCPUs = limit(v) },
	"glue2executionenvironmentphysicalcpus":               func(d *Decoder, x *env20, v []byte) { x.r.PhysicalCPUs = limit(v) },
	"glue2executionenvironmentcpuvendor":                  func(d *Decoder, x *env20, v []byte) { x.r.CPUVendor = d.pool.str(v) },
	"glue2executionenvironmentcpumodel":                   func(d *Decoder, x *env20, v []byte) { x.r.CPUModel = d.pool.str(v) },
	"glue2executionenvironmentcpuclockspeed":              func(d *Decoder, x *env20, v []byte) { x.r.CPUClock = limit(v) },
	"glue2executionenvironmentmainmemorysize":             func(d *Decoder, x *env20, v []byte) { x.r.MainMemory = limit(v) },
	"glue2executionenvironmentvirtualmemorysize":          func(d *Decoder, x *env20, v []byte) { x.r.VirtualMemory = limit(v) },
	"glue2executionenvironmentosfamily":                   func(d *Decoder, x *env20, v []byte) { x.r.OSFamily = d.pool.str(v) },
	"glue2executionenvironmentosname":                     func(d *Decoder, x *env20, v []byte) { x.r.OSName = d.pool.str(v) },
	"glue2executionenvironmentosversion":                  func(d *Decoder, x *env20, v []byte) { x.r.OSVersion = d.pool.str(v) },
	"glue2executionenvironmentconnectivityin":             func(d *Decoder, x *env20, v []byte) { x.r.ConnectivityIn = boolean(v) },
	"glue2executionenvironmentconnectivityout":            func(d *Decoder, x *env20, v []byte) { x.r.ConnectivityOut = boolean(v) },
}

var benchmarkAttrs = setters[benchmark20]{
	"glue2benchmarktype":  func(d *Decoder, b *benchmark20, v []byte) { b.name = d.pool.str(v) },
	"glue2benchmarkvalue": func(d *Decoder, b *benchmark20, v []byte) { b.value = bytes.Clone(v) },
	"glue2benchmarkexecutionenvironmentforeignkey": func(d *Decoder, b *benchmark20, v []byte) {
		b.env.id, b.hasParent = d.pool.str(v), true
	},
}

var mappingAttrs = setters[rule20]{
	"glue2policyrule":                   func(d *Decoder, p *rule20, v []byte) { p.rules = append(p.rules, d.accessRule(v)) },
	"glue2mappingpolicyshareforeignkey": func(d *Decoder, p *rule20, v []byte) { p.shares = append(p.shares, d.pool.str(v)) },
}
