package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// grid is the truth that the LDIF files tell.
type grid struct {
	now   time.Time
	sites []*site
}

type site struct {
	name, country, ngi string
	ses                []string
	ces                []*ce
}

// ce is a computing element in front of a cluster of equal nodes.
type ce struct {
	site                        *site
	host, style, lrms, lrmsVer  string
	port                        int
	nodes, cores, ram           int64 // ram in MB of a node
	os, osRelease, osName       string
	cpuVendor, cpuModel         string
	mhz                         int64
	hs06                        float64
	tags                        []string
	vos                         []string
	queues                      []*queue
	staleGlue2                  bool // the GLUE 2.0 records are two days old
	lowerVO                     bool // rules say vo: instead of VO:
	noSubCluster, dangling, off bool // off: the endpoint is closed
}

// queue is what jobs are sent to: one GlueCE.
type queue struct {
	ce                        *ce
	name                      string
	serving                   string // GLUE 2.0 ServingState_t
	wall, cpu                 int64  // minutes; placeholders where the limit is not known
	wall2                     int64  // what GLUE 2.0 says, in minutes, where that differs; else 0
	slots, run, wait, free    int64
	response                  int64 // seconds
	vos                       []string
	fqan                      string // an FQAN let in besides; "": none
	dead                      bool   // the dynamic provider gives its placeholders
	noViews, noFree, negative bool
	wrongTotal                int64 // added to TotalJobs
	limitKnown                bool
}

// Rates of what is spoilt.
const (
	rateDead     = 0.03
	rateNoViews  = 0.04
	rateNoFree   = 0.05
	rateNegative = 0.02
	rateTotal    = 0.04
	rateNoLimit  = 0.10
	rateStale    = 0.02
	rateLowerVO  = 0.15
	rateNoSub    = 0.04
	rateDangling = 0.02
	rateOff      = 0.03
	rateConflict = 0.02
)

// placeholders are limits that mean "none" or "not known".
var placeholders = []int64{999999999, 2147483647, 0, 99999}

var countries = []struct{ code, name, ngi string }{
	{"at", "Austria", "NGI_ACONET"}, {"br", "Brazil", "ROC_LA"}, {"de", "Germany", "NGI_DE"}, {"es", "Spain", "NGI_IBERGRID"},
	{"fi", "Finland", "NGI_NDGF"}, {"fr", "France", "NGI_FRANCE"}, {"it", "Italy", "NGI_IT"}, {"nl", "Netherlands", "NGI_NL"},
	{"pl", "Poland", "NGI_PL"}, {"se", "Sweden", "NGI_NDGF"}, {"tw", "Taiwan", "AsiaPacific"}, {"uk", "United Kingdom", "NGI_UK"},
}

var organisations = []struct {
	name   string
	chance float64
}{
	{"ops", 0.97}, {"dteam", 0.85}, {"biomed", 0.45}, {"atlas", 0.40}, {"cms", 0.35}, {"lhcb", 0.33}, {"alice", 0.25},
	{"edu.example.org", 0.25}, {"esr", 0.22}, {"enmr.eu", 0.20}, {"ilc", 0.17}, {"astro.example.org", 0.12}, {"belle", 0.10},
	{"auger", 0.07}, {"virgo", 0.06}, {"dune", 0.05},
}

var systems = []struct{ name, release, code, family string }{
	{"CentOS", "7.9.2009", "Core", "linux"}, {"AlmaLinux", "9.4", "Seafoam Ocelot", "linux"},
	{"RockyLinux", "9.3", "Blue Onyx", "linux"}, {"Debian", "12.5", "bookworm", "linux"},
}

var processors = []struct {
	vendor, model string
	mhz           int64
	hs06          float64
	cores         int64
}{
	{"GenuineIntel", "Intel(R) Xeon(R) CPU E5-2650 v4 @ 2.20GHz", 2200, 9.97, 24},
	{"GenuineIntel", "Intel(R) Xeon(R) Silver 4214 CPU @ 2.20GHz", 2200, 11.22, 48},
	{"AuthenticAMD", "AMD EPYC 7452 32-Core Processor", 2350, 14.1, 128},
	{"GenuineIntel", "Intel(R) Xeon(R) CPU L5520 @ 2.27GHz", 2270, 7.83, 8},
}

var managers = map[string]string{"slurm": "22.05.8", "pbs": "torque_6.1.2", "sge": "8.1.9", "lsf": "10.1", "condor": "9.0.17"}

var queueNames = []string{"short", "long", "prod", "grid", "mcore", "gpu", "cert", "express", "infinite", "backfill"}

// newGrid draws a grid.
func newGrid(seed, epoch uint64, n int, now time.Time, clean bool) *grid {
	g := &grid{now: now}
	for i := range n {
		d := &dice{Rand: rand.New(rand.NewPCG(seed, uint64(i))), state: rand.New(rand.NewPCG(seed^epoch<<32, uint64(i))), clean: clean}
		g.sites = append(g.sites, d.site(i))
	}
	return g
}

// dice draws what stays from one stream and what changes with the epoch from
// another.
type dice struct {
	*rand.Rand
	state *rand.Rand
	clean bool
}

func (d *dice) chance(p float64) bool { return d.Float64() < p }

// spoil is chance for what must not happen on a clean grid.
func (d *dice) spoil(p float64) bool { return d.chance(p) && !d.clean }

func pick[T any](d *dice, list []T) T { return list[d.IntN(len(list))] }

func (d *dice) site(i int) *site {
	c := pick(d, countries)
	s := &site{name: fmt.Sprintf("%s-SITE-%04d", strings.ToUpper(c.code), i), country: c.name, ngi: c.ngi}
	domain := fmt.Sprintf("s%04d.%s.example.org", i, c.code)
	for n := range d.IntN(3) {
		s.ses = append(s.ses, fmt.Sprintf("se%02d.%s", n+1, domain))
	}
	for n := range 1 + d.IntN(4) {
		s.ces = append(s.ces, d.ce(s, n+1, domain))
	}
	return s
}

func (d *dice) ce(s *site, n int, domain string) *ce {
	cpu, system := pick(d, processors), pick(d, systems)
	c := &ce{site: s, nodes: 1 << d.IntN(8), cores: cpu.cores, ram: cpu.cores * pick(d, []int64{2000, 3000, 4000, 8000}),
		os: system.name, osRelease: system.release, osName: system.code,
		cpuVendor: cpu.vendor, cpuModel: cpu.model, mhz: cpu.mhz, hs06: cpu.hs06}
	switch x := d.Float64(); {
	case x < 0.45:
		c.style, c.host, c.port, c.lrms = "CREAM", "cream", 8443, pick(d, []string{"pbs", "sge", "lsf", "slurm"})
	case x < 0.75:
		c.style, c.host, c.port, c.lrms = "ARC", "arc", 2811, pick(d, []string{"slurm", "sge", "condor"})
	default:
		c.style, c.host, c.port, c.lrms = "HTCondorCE", "htc", 9619, "condor"
	}
	c.host = fmt.Sprintf("%s%02d.%s", c.host, n, domain)
	c.lrmsVer = managers[c.lrms]
	for _, o := range organisations {
		if d.chance(o.chance) {
			c.vos = append(c.vos, o.name)
		}
	}
	if len(c.vos) == 0 {
		c.vos = []string{"ops"}
	}
	c.tags = d.tags(c.vos)
	c.staleGlue2, c.lowerVO = d.spoil(rateStale), d.spoil(rateLowerVO)
	c.noSubCluster, c.dangling, c.off = d.spoil(rateNoSub), d.spoil(rateDangling), d.spoil(rateOff)
	for i, q := range d.Perm(len(queueNames))[:1+d.IntN(7)] {
		c.queues = append(c.queues, d.queue(c, queueNames[q], i))
	}
	return c
}

// tags are runtime environments: the middleware's releases and what the VOs
// have installed.
func (d *dice) tags(vos []string) []string {
	tags := []string{"LCG-2", "GLITE-3_1_0", "GLITE-3_2_0", "R-GMA", "MPI-START", "OPENMPI-4.1.4"}
	for _, vo := range vos {
		for i := range d.IntN(14) {
			tags = append(tags, fmt.Sprintf("VO-%s-soft-%d.%d.%d", vo, 20+i, d.IntN(10), d.IntN(10)))
		}
	}
	if d.chance(0.07) {
		tags = append(tags, "VEE-WindowsXP")
	}
	return tags
}

func (d *dice) queue(c *ce, name string, i int) *queue {
	q := &queue{ce: c, name: name, serving: "production", limitKnown: true,
		wall: pick(d, []int64{60, 720, 1440, 2880, 4320, 10080}), slots: max(1, c.nodes*c.cores/int64(1+d.IntN(4)))}
	q.cpu = q.wall * 2 / 3
	switch x := d.Float64(); {
	case x < 0.04:
		q.serving = "draining"
	case x < 0.07:
		q.serving = "closed"
	case x < 0.10:
		q.serving = "queueing"
	}
	for _, vo := range c.vos {
		if vo == "ops" || d.chance(0.4) {
			q.vos = append(q.vos, vo)
		}
	}
	if len(q.vos) == 0 {
		q.vos = c.vos[:1]
	}
	if d.chance(0.15) {
		q.fqan = "VOMS:/" + q.vos[len(q.vos)-1] + "/Role=production"
	}
	d.dirt(q)
	d.load(q)
	return q
}

// dirt spoils a queue's records.
func (d *dice) dirt(q *queue) {
	q.dead, q.noViews = d.spoil(rateDead), d.spoil(rateNoViews)
	q.noFree, q.negative = d.spoil(rateNoFree), d.spoil(rateNegative)
	if d.spoil(rateTotal) {
		q.wrongTotal = 1 + d.Int64N(9)
	}
	if d.spoil(rateNoLimit) {
		q.wall, q.limitKnown = pick(d, placeholders), false
		q.cpu = q.wall
	} else if d.spoil(rateConflict) {
		q.wall2 = q.wall + 30
	}
}

// load draws the dynamic state.
func (d *dice) load(q *queue) {
	q.run = d.state.Int64N(q.slots + 1)
	q.free = q.slots - q.run
	if d.state.Float64() < 0.3 {
		q.run, q.free, q.wait = q.slots, 0, d.state.Int64N(4*q.slots+1)
		if q.wait > 30000 {
			q.wait = 30000
		}
		q.response = 60 * (1 + d.state.Int64N(600))
	}
}
