package glue

import (
	"bytes"
	"time"
)

// glue13 collects the entries of GLUE Schema 1.3 (LDAP rendering).
type glue13 struct {
	d           *Decoder
	ces         slab[part]
	views       slab[part] // by the key of their CE
	subclusters slab[subcluster13]
	clusters    map[key]cluster13
	binds       map[key][]StorageBinding
	services    map[key][]Endpoint             // by what they tell about
	ses         map[string]map[string][]string // GlueSE's attributes, by identifier
	elsewhere   map[string]cluster13           // clusters by a name that only one site has
	ce          ce13                           // the one at hand
	view        view13
}

// ce13 is one GlueCE, a queue.
type ce13 struct {
	r         *Resource
	key       key
	cluster   string
	contacts  []string
	defaultSE string
	condorID  string     // of an HTCondor-CE, among what else is told: host:port/...
	free      Opt[int64] // GlueCEStateFreeCPUs, where FreeJobSlots is missing
}

// view13 is a VO's view of a GlueCE: its own access rules and state.
type view13 struct {
	r       Resource // what the view says itself
	localID string
	free    Opt[int64]
}

// subcluster13 is the environment of some nodes of a cluster.
type subcluster13 struct {
	r    nodes
	key  key // the cluster
	tags []string
}

func (g *glue13) init(d *Decoder) {
	g.d, g.clusters, g.binds = d, map[key]cluster13{}, map[key][]StorageBinding{}
	g.ses, g.services = map[string]map[string][]string{}, map[key][]Endpoint{}
}

// site13 reads the site out of a DN: the innermost Mds-Vo-name that is not one
// of the tree's own.
func (d *Decoder) site13(dn []byte) string {
	return d.pool.str(rdn(dn, "mds-vo-name", "local", "resource", "grid"))
}

// add tells whether the entry is of use.
func (g *glue13) add(k kind, e *Entry) bool {
	site := g.d.site13(e.DN)
	switch k {
	case kindCE:
		var id []byte
		for v := range e.values("glueceuniqueid") {
			id = trimSpace(v)
		}
		return keepPart(g.d, &g.ces, ces13, g.d.keyOf(site, id, e, "glueceuniqueid"), e)
	case kindView:
		var id []byte
		for v := range e.values("gluechunkkey") {
			if ce := foreignKey(v, "glueceuniqueid"); ce != nil {
				id = ce
			}
		}
		return keepPart(g.d, &g.views, views13, g.d.keyOf(site, id, e, "glueceuniqueid"), e)
	case kindSubCluster:
		s := g.subclusters.add()
		s.key.site, s.tags = site, g.d.texts[:0]
		apply(g.d, subclusterAttrs, s, e, &s.r.Attrs)
		g.d.texts, s.tags = s.tags[:0], g.d.lists.one(s.tags)
		if s.key.id == "" {
			s.key.id = g.d.pool.str(rdn(e.DN, "glueclusteruniqueid"))
		}
	case kindCluster:
		var c cluster13
		apply(g.d, clusterAttrs, &c, e, &c.attrs)
		g.clusters[key{site, c.id}] = c
	case kindSE:
		var s se13
		apply(g.d, seAttrs, &s, e, nil)
		g.ses[s.id] = s.attrs
	case kindService13:
		g.addService(site, e)
	case kindBind:
		var b bind13
		apply(g.d, bindAttrs, &b, e, nil)
		k := key{site, b.ce}
		g.binds[k] = append(g.binds[k], StorageBinding{SE: b.se, Mount: b.mount})
	}
	return true
}

// keepPart keeps an entry until it is known what it belongs to. One that nothing
// names is of no use.
func keepPart[T any](d *Decoder, parts *slab[part], table *numbered[T], k key, e *Entry) bool {
	if k.id == "" {
		return false
	}
	*parts.add() = part{k, table.keep(d, e)}
	return true
}

// keyOf names an object by its identifier, or without one by what its DN says.
func (d *Decoder) keyOf(site string, id []byte, e *Entry, attr string) key {
	if len(id) == 0 {
		id = rdn(e.DN, attr)
	}
	return key{site, d.pool.str(id)}
}

// foreignKey returns the value of a "Name=value" key when the name is want
// (lower-cased); the value may hold anything.
func foreignKey(b []byte, want string) []byte {
	name, value, ok := cutByte(b, '=')
	if !ok || !foldEqual(trimSpace(name), want) {
		return nil
	}
	return trimSpace(value)
}

// cluster13 is what only a GlueCluster tells.
type cluster13 struct {
	id, site string
	attrs    map[string][]string
}

var clusterAttrs = setters[cluster13]{
	"glueclusteruniqueid": func(d *Decoder, c *cluster13, v []byte) { c.id = d.pool.str(v) },
	"glueforeignkey": func(d *Decoder, c *cluster13, v []byte) {
		if s := foreignKey(v, "gluesiteuniqueid"); s != nil {
			c.site = d.pool.str(s)
		}
	},
}

type bind13 struct{ ce, se, mount string }

var bindAttrs = setters[bind13]{
	"gluecesebindceuniqueid": func(d *Decoder, b *bind13, v []byte) { b.ce = d.pool.str(v) },
	"gluecesebindseuniqueid": func(d *Decoder, b *bind13, v []byte) { b.se = d.pool.str(v) },
	"gluecesebindmountinfo":  func(d *Decoder, b *bind13, v []byte) { b.mount = d.pool.str(v) },
}

type se13 struct {
	id    string
	attrs map[string][]string
}

// seAttrs are kept as published, under the names jobs ask for them by.
var seAttrs = func() setters[se13] {
	table := setters[se13]{"glueseuniqueid": func(d *Decoder, s *se13, v []byte) { s.id = d.pool.str(v) }}
	for _, name := range []string{"GlueSEStatus", "GlueSEArchitecture", "GlueSEImplementationName", "GlueSESizeTotal", "GlueSESizeFree"} {
		table[string(lowerInto(nil, name))] = func(d *Decoder, s *se13, v []byte) {
			if s.attrs == nil {
				s.attrs = map[string][]string{}
			}
			s.attrs[name] = append(s.attrs[name], d.pool.str(v))
		}
	}
	return table
}()

var ceAttrs = setters[ce13]{
	"glueceuniqueid":              nil,
	"gluecename":                  func(d *Decoder, c *ce13, v []byte) { c.r.Queue = d.queue(v) },
	"gluecehostingcluster":        func(d *Decoder, c *ce13, v []byte) { c.setCluster(d.pool.str(v), false) },
	"glueceinfohostname":          func(d *Decoder, c *ce13, v []byte) { c.r.CE = d.host(v) },
	"glueceinfodefaultse":         func(d *Decoder, c *ce13, v []byte) { c.defaultSE = d.pool.str(v) },
	"glueceinfolrmstype":          func(d *Decoder, c *ce13, v []byte) { c.r.LRMS = d.word(v) },
	"glueceinfolrmsversion":       func(d *Decoder, c *ce13, v []byte) { c.r.LRMSVersion = d.word(v) },
	"glueceinfototalcpus":         func(d *Decoder, c *ce13, v []byte) { c.r.TotalSlots = limit(v) },
	"glueceinfocontactstring":     func(d *Decoder, c *ce13, v []byte) { c.contacts = append(c.contacts, d.pool.str(v)) },
	"glueceimplementationname":    func(d *Decoder, c *ce13, v []byte) { c.r.Implementation = d.pool.str(v) },
	"glueceimplementationversion": func(d *Decoder, c *ce13, v []byte) { c.r.ImplVersion = d.pool.str(v) },
	"glueceaccesscontrolbaserule": func(d *Decoder, c *ce13, v []byte) { c.r.Access = append(c.r.Access, d.accessRule(v)) },
	"glueforeignkey": func(d *Decoder, c *ce13, v []byte) {
		if id := foreignKey(v, "glueclusteruniqueid"); id != nil {
			c.setCluster(d.pool.str(id), true)
		}
	},
	"gluececapability":                       func(d *Decoder, c *ce13, v []byte) { c.tell(d, v) },
	"glue2entityotherinfo":                   func(d *Decoder, c *ce13, v []byte) { c.tell(d, v) },
	"gluecestatestatus":                      func(d *Decoder, c *ce13, v []byte) { c.r.Serving = servingState(v) },
	"gluecestaterunningjobs":                 func(d *Decoder, c *ce13, v []byte) { c.r.Running = count(v) },
	"gluecestatewaitingjobs":                 func(d *Decoder, c *ce13, v []byte) { c.r.setWaiting(v) },
	"gluecestatetotaljobs":                   func(d *Decoder, c *ce13, v []byte) { c.r.Total = count(v) },
	"gluecestatefreejobslots":                func(d *Decoder, c *ce13, v []byte) { c.r.FreeSlots = count(v) },
	"gluecestatefreecpus":                    func(d *Decoder, c *ce13, v []byte) { c.free = count(v) },
	"gluecestateestimatedresponsetime":       func(d *Decoder, c *ce13, v []byte) { c.r.setEstimate(v) },
	"gluecestateworstresponsetime":           func(d *Decoder, c *ce13, v []byte) { c.r.WorstWait = span(v, time.Second) },
	"gluecepolicymaxwallclocktime":           func(d *Decoder, c *ce13, v []byte) { c.r.setLongest(LimitWallTime, &c.r.MaxWallTime, v, time.Minute) },
	"gluecepolicymaxobtainablewallclocktime": func(d *Decoder, c *ce13, v []byte) { c.obtainable(LimitWallTime, &c.r.MaxWallTime, v) },
	"gluecepolicymaxcputime":                 func(d *Decoder, c *ce13, v []byte) { c.r.setLongest(LimitCPUTime, &c.r.MaxCPUTime, v, time.Minute) },
	"gluecepolicymaxobtainablecputime":       func(d *Decoder, c *ce13, v []byte) { c.obtainable(LimitCPUTime, &c.r.MaxCPUTime, v) },
	"gluecepolicymaxtotaljobs":               func(d *Decoder, c *ce13, v []byte) { c.r.setMost(LimitTotal, &c.r.MaxTotal, v) },
	"gluecepolicymaxrunningjobs":             func(d *Decoder, c *ce13, v []byte) { c.r.setMost(LimitRunning, &c.r.MaxRunning, v) },
	"gluecepolicymaxwaitingjobs":             func(d *Decoder, c *ce13, v []byte) { c.r.setMost(LimitWaiting, &c.r.MaxWaiting, v) },
	"gluecepolicymaxslotsperjob":             func(d *Decoder, c *ce13, v []byte) { c.r.setMost(LimitSlotsPerJob, &c.r.MaxSlotsPerJob, v) },
	"gluecepolicyassignedjobslots":           func(d *Decoder, c *ce13, v []byte) { c.r.AssignedSlots = limit(v) },
	"gluecepolicypriority":                   func(d *Decoder, c *ce13, v []byte) { c.r.Priority = count(v) },
	"gluecepolicypreemption":                 func(d *Decoder, c *ce13, v []byte) { c.r.Preemption = boolean(v) },
}

// setCluster notes the cluster; the foreign key is the better word.
func (c *ce13) setCluster(id string, better bool) {
	if c.cluster == "" || better {
		c.cluster = id
	}
}

// tell reads Name=value pairs that no attribute has.
func (c *ce13) tell(d *Decoder, v []byte) {
	if id := foreignKey(v, "htcondorceid"); id != nil {
		c.condorID = d.pool.str(id)
	}
}

// obtainable takes the second name of a limit, which counts where the first tells none.
func (c *ce13) obtainable(l Limits, d *Opt[time.Duration], v []byte) {
	if !d.OK {
		c.r.setLongest(l, d, v, time.Minute)
	}
}

var viewAttrs = setters[view13]{
	"gluevoviewlocalid":                func(d *Decoder, w *view13, v []byte) { w.localID = d.pool.str(v) },
	"glueceaccesscontrolbaserule":      func(d *Decoder, w *view13, v []byte) { w.r.Access = append(w.r.Access, d.accessRule(v)) },
	"gluecestaterunningjobs":           func(d *Decoder, w *view13, v []byte) { w.r.Running = count(v) },
	"gluecestatewaitingjobs":           func(d *Decoder, w *view13, v []byte) { w.r.setWaiting(v) },
	"gluecestatetotaljobs":             func(d *Decoder, w *view13, v []byte) { w.r.Total = count(v) },
	"gluecestatefreejobslots":          func(d *Decoder, w *view13, v []byte) { w.r.FreeSlots = count(v) },
	"gluecestatefreecpus":              func(d *Decoder, w *view13, v []byte) { w.free = count(v) },
	"gluecestateestimatedresponsetime": func(d *Decoder, w *view13, v []byte) { w.r.setEstimate(v) },
	"gluecestateworstresponsetime":     func(d *Decoder, w *view13, v []byte) { w.r.WorstWait = span(v, time.Second) },
	"gluechunkkey":                     nil,
}

var ces13, views13 = numberOf(ceAttrs), numberOf(viewAttrs)

var subclusterAttrs = setters[subcluster13]{
	"gluechunkkey": func(d *Decoder, s *subcluster13, v []byte) {
		if id := foreignKey(v, "glueclusteruniqueid"); id != nil {
			s.key.id = d.pool.str(id)
		}
	},
	"gluesubclusterlogicalcpus":        func(d *Decoder, s *subcluster13, v []byte) { s.r.LogicalCPUs = limit(v) },
	"gluesubclusterphysicalcpus":       func(d *Decoder, s *subcluster13, v []byte) { s.r.PhysicalCPUs = limit(v) },
	"gluehostarchitectureplatformtype": func(d *Decoder, s *subcluster13, v []byte) { s.r.Platform = d.platform(v) },
	"gluehostarchitecturesmpsize":      func(d *Decoder, s *subcluster13, v []byte) { s.r.SMPSize = limit(v) },
	"gluehostmainmemoryramsize":        func(d *Decoder, s *subcluster13, v []byte) { s.r.MainMemory = limit(v) },
	"gluehostmainmemoryvirtualsize":    func(d *Decoder, s *subcluster13, v []byte) { s.r.VirtualMemory = limit(v) },
	"gluehostoperatingsystemname":      func(d *Decoder, s *subcluster13, v []byte) { s.r.OSName = d.pool.str(v) },
	"gluehostoperatingsystemrelease":   func(d *Decoder, s *subcluster13, v []byte) { s.r.OSVersion = d.pool.str(v) },
	"gluehostoperatingsystemversion":   func(d *Decoder, s *subcluster13, v []byte) { s.r.OSCodename = d.pool.str(v) },
	"gluehostprocessormodel":           func(d *Decoder, s *subcluster13, v []byte) { s.r.CPUModel = d.pool.str(v) },
	"gluehostprocessorvendor":          func(d *Decoder, s *subcluster13, v []byte) { s.r.CPUVendor = d.pool.str(v) },
	"gluehostprocessorclockspeed":      func(d *Decoder, s *subcluster13, v []byte) { s.r.CPUClock = limit(v) },
	"gluehostprocessorotherdescription": func(d *Decoder, s *subcluster13, v []byte) {
		if value, name, ok := benchmarkIn(v); ok {
			s.r.Benchmarks.set(name, value)
		}
		s.r.GPUs = gpusIn(v, s.r.GPUs)
	},
	"gluehostnetworkadapterinboundip":               func(d *Decoder, s *subcluster13, v []byte) { s.r.ConnectivityIn = boolean(v) },
	"gluehostnetworkadapteroutboundip":              func(d *Decoder, s *subcluster13, v []byte) { s.r.ConnectivityOut = boolean(v) },
	"gluehostbenchmarksi00":                         func(d *Decoder, s *subcluster13, v []byte) { s.r.Benchmarks.set("specint2000", v) },
	"gluehostbenchmarksf00":                         func(d *Decoder, s *subcluster13, v []byte) { s.r.Benchmarks.set("specfp2000", v) },
	"gluehostapplicationsoftwareruntimeenvironment": func(d *Decoder, s *subcluster13, v []byte) { s.tags = append(s.tags, d.pool.str(v)) },
}

// benchmarkIn reads "Cores=8,Benchmark=9.97-HEP-SPEC06", the way the EGI
// profile of GLUE 1.3 publishes a benchmark.
func benchmarkIn(v []byte) (value []byte, name string, ok bool) {
	_, rest, ok := bytes.Cut(v, []byte("Benchmark="))
	if !ok {
		return nil, "", false
	}
	rest, _, _ = bytes.Cut(rest, []byte{','})
	value, unit, ok := bytes.Cut(rest, []byte{'-'})
	return value, string(unit), ok
}
