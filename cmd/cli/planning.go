package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"gridbroker/broker"
	"gridbroker/broker/clock"
	"gridbroker/credential"
	"gridbroker/glue"
	"gridbroker/infosys"
	"gridbroker/jdl"
	"gridbroker/jobs"
	"gridbroker/plugins"
	"gridbroker/rank"
)

// planning holds the flags of the verbs that choose resources.
type planning struct {
	discovery
	sites    []string
	policy   string
	unknown  string
	vo       string
	seed     uint64
	seeded   bool
	anywhere bool
	shown    bool // resources that take no jobs are ranked, too: nothing is sent
}

func (p *planning) register(f *pflag.FlagSet) {
	p.discovery.register(f)
	f.StringArrayVar(&p.sites, "site", nil, "only resources whose name, id, site or host is `NAME` or fits the pattern; may be repeated")
	f.StringVar(&p.policy, "policy", "", "the `policy` by which to rank: hybrid, jdl, fastest-queue, random, paper, forecast, data, or formula:EXPR")
	f.StringVar(&p.unknown, "unknown", "", "`keep|reject` resources that do not publish what the job needs")
	f.StringVar(&p.vo, "vo", "", "as a member of this virtual `organisation` (default: the job's, the credential's, the configured one)")
	f.Uint64Var(&p.seed, "seed", 0, "`number` to draw with among equals (default: another one each time)")
}

// session is what a verb about jobs works with. All of it is there once it is
// open; what is open is closed with it.
type session struct {
	conf     config
	backends *plugins.Registry
	jobs     *jobs.Controller
	history  *lateHistory
	copied   bool // the records are a copy that is thrown away
	sites    siteNames
	ending   []func() // what closing does besides
}

func (s *session) close() {
	for _, end := range s.ending {
		end()
	}
	s.backends.Close()
	s.history.close()
	if s.jobs.Store != nil {
		s.jobs.Store.Close()
	}
}

// needs are what a verb wants of a session beyond back-ends and policy.
type needs struct {
	records  records
	reads    bool     // a copy of the records will do where these cannot be written
	services bool     // to be asked about resources
	learns   bool     // jobs may be seen to end: that is kept for later choices
	scouts   scouting // jobs are sent
}

// records tells whether a verb can go without the job records.
type records int

const (
	noRecords   records = iota
	mayRecords          // a plan that is only shown counts the jobs sent before, if it can
	mustRecords         // a verb about jobs
)

// scouting bounds what resources get that are not known to run jobs.
type scouting struct {
	on     bool
	follow bool // the jobs are waited for
	set    bool // most is in the place of the configured number
	most   int
}

// references are the resources of a snapshot, by reference.
func references(snapshot infosys.Snapshot) []*glue.Resource {
	rs := make([]*glue.Resource, len(snapshot.Resources))
	for i := range rs {
		rs[i] = &snapshot.Resources[i]
	}
	return rs
}

// openSession opens what a verb needs, without asking anybody.
func openSession(d *deps, p planning, n needs) (*session, error) {
	conf, err := loadConfig(d)
	if err != nil {
		return nil, err
	}
	b, err := newBroker(d, conf, p)
	if err != nil {
		return nil, err
	}
	s := &session{
		conf: conf, backends: b.Registry, history: &lateHistory{deps: d, dir: stateDir(d, conf)},
		jobs: &jobs.Controller{Broker: b, Inputs: filepath.Join(stateDir(d, conf), "inputs"), Origin: origin(d, p),
			Ahead: schedulerAhead(b.Registry), Settle: conf.Settle.Duration},
	}
	if err := s.fit(d, p.info, n); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// newBroker is a broker by configuration and flags, with its back-ends open.
func newBroker(d *deps, conf config, p planning) (*broker.Broker, error) {
	policy, err := policyOf(d, conf, p)
	if err != nil {
		return nil, usageError(err)
	}
	rules, err := rulesOf(d, conf, p)
	if err != nil {
		return nil, usageError(err)
	}
	backends, err := openBackends(d, conf)
	if err != nil {
		return nil, err
	}
	if !p.seeded {
		p.seed = randomSeed()
	}
	return &broker.Broker{Registry: backends, Rules: rules, Policy: policy, Seed: p.seed, Clock: clock.Wall{Time: d.env.Now}, AskFor: conf.Deadline.Duration / 2}, nil
}

// fit opens what is needed besides the back-ends; info are the sources that the
// command names.
func (s *session) fit(d *deps, info []string, n needs) error {
	if n.records != noRecords {
		store, err := openRecords(d, s.conf)
		if err != nil && n.reads && jobs.Unwritable(err) {
			if store, err = openRecordsCopy(d, s.conf, err); err == nil {
				s.copied = true
			}
		}
		switch {
		case err == nil:
			s.jobs.Store = store
		case n.records == mustRecords:
			return err
		case d.verbose > 0:
			sayErr(d, "%s", err)
		}
	}
	if n.services {
		services, err := openServices(d, s.conf, s.backends, s.history.open(), info)
		if err != nil {
			return err
		}
		s.jobs.Services = services
	}
	if n.learns || n.services && s.history.open() != nil {
		s.jobs.Recorders = []plugins.Recorder{s.history}
	}
	if n.scouts.on {
		most := s.conf.Scouts
		if n.scouts.set {
			most = n.scouts.most
		}
		if most > 0 {
			s.jobs.Scouts = jobs.NewScouts(most, n.scouts.follow || followed(s))
		}
	}
	return nil
}

// origin is what the flags say of where to look, good in any directory.
func origin(d *deps, p planning) jobs.Origin {
	from := jobs.Origin{Sites: p.sites, Attributes: p.extra}
	for _, raw := range p.info {
		if path, ok := strings.CutPrefix(raw, "file:"); ok && !strings.HasPrefix(path, "/") {
			raw = "file:" + abs(d, path)
		}
		from.Sources = append(from.Sources, raw)
	}
	return from
}

func randomSeed() uint64 {
	var b [8]byte
	rand.Read(b[:])
	return binary.LittleEndian.Uint64(b[:]) % 1e6 // short enough to be typed again
}

// policy is the one asked for, with the configured weights.
func policyOf(d *deps, c config, p planning) (rank.Policy, error) {
	m, err := rank.DefaultModel().With(c.Weights)
	if err != nil {
		return rank.Policy{}, fmt.Errorf("configuration: %w", err)
	}
	name := c.Policy
	if p.policy != "" {
		name = p.policy
	}
	if name == rank.FormulaName {
		name += ":" + c.Formula
	}
	return rank.ParsePolicy(name, m)
}

func rulesOf(d *deps, c config, p planning) (broker.Rules, error) {
	unknown := c.Unknown
	if p.unknown != "" {
		unknown = p.unknown
	}
	if unknown != string(broker.Keep) && unknown != string(broker.RejectUnknown) {
		return broker.Rules{}, fmt.Errorf("--unknown %s: say keep or reject", unknown)
	}
	r := broker.Rules{Unknown: broker.Unknown(unknown), Sites: p.sites, Identity: identity(d, c), Shown: p.shown}
	if p.anywhere {
		r.Speaks = func(string) bool { return true }
	}
	return r, nil
}

// identity is who the user is by the credential at hand; what is wrong with
// it shows when it is used. The groups of a token (claim wlcg.groups) are read
// as a proxy's attributes. The configured VO counts where the credential names
// none.
func identity(d *deps, c config) broker.Identity {
	id := broker.Identity{VO: c.VO}
	if x, err := credential.FindX509(credentialEnv(d), credential.Options{}); err == nil && x != nil {
		id.Subject, id.FQANs = x.Identity(), x.FQANs()
		id.VO = cmp.Or(x.VO(), id.VO)
	}
	if t, err := credential.FindToken(credentialEnv(d), credential.Options{}); err == nil && t != nil && len(id.FQANs) == 0 {
		id.FQANs = t.Groups()
	}
	return id
}

// memberOf puts --vo in the place of what the jobs say, and warns where the
// credential's attributes are of other VOs.
func memberOf(d *deps, rules broker.Rules, vo string, jobs []*jdl.Job) {
	warned := map[string]bool{}
	for _, job := range jobs {
		if vo != "" {
			job.VO = vo
		}
		if rules.Lacks(job) && !warned[job.VO] {
			warned[job.VO] = true
			sayErr(d, "%s: the credential has no attributes of %s, only %s; sites may refuse it: grid auth proxy --voms %s",
				job.Name, job.VO, strings.Join(rules.Identity.FQANs, ", "), job.VO)
		}
	}
}

// regarding makes a planning ask for the attributes that jobs look at beyond
// the usual.
func (p planning) regarding(jobs []*jdl.Job) planning {
	p.extra = broker.Attributes(jobs)
	return p
}

func credentialEnv(d *deps) credential.Env {
	return credential.Env{Getenv: d.env.Getenv, Home: d.env.Getenv("HOME"), UID: d.env.UID, Now: d.env.Now}
}

// look discovers resources for a session and says which sources failed.
func look(ctx context.Context, d *deps, s *session, where discovery) (infosys.Snapshot, error) {
	snap, err := discover(ctx, d, s.conf, s.backends, where)
	if err != nil {
		return snap, err
	}
	if err := ctx.Err(); err != nil { // for which sources fail, too
		return snap, err
	}
	reportSources(d, snap)
	s.sites.check(d, s.jobs.Rules.Sites, references(snap))
	if f := locked(d, snap); f != nil {
		return snap, &exitError{exitCredential, reported(f)}
	}
	return snap, nil
}

// ago writes how long ago a time is, in its two largest units.
func ago(d *deps, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return span(d.env.Now().Sub(t))
}

// span writes a length of time for people: 45s, 12m, 3h20m, 5d3h.
func span(d time.Duration) string {
	s := int64(d.Round(time.Second) / time.Second)
	sign := ""
	if s < 0 {
		sign, s = "-", -s
	}
	two := func(n int64, unit string, m int64, sub string) string {
		text := sign + strconv.FormatInt(n, 10) + unit
		if m == 0 {
			return text
		}
		return text + strconv.FormatInt(m, 10) + sub
	}
	switch {
	case s < 60:
		return two(s, "s", 0, "")
	case s < 600:
		return two(s/60, "m", s%60, "s")
	case s < 3600:
		return two((s+30)/60, "m", 0, "")
	case s < 86400:
		return two(s/3600, "h", s%3600/60, "m")
	}
	return two(s/86400, "d", s%86400/3600, "h")
}
