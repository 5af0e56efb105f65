package glue

import (
	"cmp"
	"slices"
	"strings"
)

// This file tells where shares of GLUE 2.0 take jobs and what they are called.

// addresses20 are the endpoints of shares that name the same ones of a service, and
// what is made of them.
type addresses20 struct {
	named               []string // foreign keys
	endpoints, services []Endpoint
	impl, version       string
	host, port          string // of the best
	last                names20
}

// names20 are the name and the identifier made for a queue of a host.
type names20 struct {
	of         queue20
	name, ceID string
}

// queue20 is what a queue is named by.
type queue20 struct {
	host, port, lrms, name string
	open                   bool // there are endpoints
}

// addressesOf are those of a share. Most shares of a service name the same endpoints:
// they have one list together.
func (j *join20) addressesOf(s *share20, svc *service20) *addresses20 {
	service := key{s.id.site, s.service}
	known := j.addresses[service]
	if known == nil || !slices.Equal(known.named, s.endpoints) {
		known = &addresses20{named: slices.Clone(s.endpoints)}
		j.listEndpoints(known, s, svc)
		if len(known.endpoints) > 0 {
			known.host, known.port = hostPort(known.endpoints[0].URL)
		}
		j.addresses[service] = known
	}
	return known
}

// listEndpoints lists the endpoints that take jobs, best first. ARC 6 names in
// its shares endpoints that are not there and never the REST one: for A-REX
// all endpoints of the service count.
func (j *join20) listEndpoints(a *addresses20, s *share20, svc *service20) {
	var ps []*endpoint20
	for _, id := range a.named {
		if p := j.endpoints[key{s.id.site, id}]; p != nil {
			ps = append(ps, p)
		}
	}
	all := j.ofService[key{s.id.site, s.service}]
	arex := svc != nil && svc.kind == "org.nordugrid.arex"
	if len(ps) == 0 || arex && !slices.ContainsFunc(ps, func(p *endpoint20) bool { return p.e.Interface == InterfaceARCREST }) {
		ps = all
	}
	for _, p := range ps[:min(len(ps), maxLooked)] {
		if p.jobs || forJobs(p.e.Interface) {
			a.endpoints = append(a.endpoints, p.e)
			if a.impl == "" {
				a.impl, a.version = p.impl, p.version
			}
		}
	}
	sortEndpoints(a.endpoints)
	for _, p := range all {
		if isService(p.e.Interface) {
			a.services = append(a.services, p.e)
		}
	}
}

// setEndpoints sets where a share takes jobs; host and port are of the best place.
func (s *share20) setEndpoints(a *addresses20) (host, port string) {
	r := s.r
	r.Endpoints, r.Services, r.Implementation, r.ImplVersion = a.endpoints, a.services, a.impl, a.version
	host, port = a.host, a.port
	if s.condorID != "" && len(r.Endpoints) == 0 {
		r.Endpoints = []Endpoint{condorEndpoint(s.condorID)}
		host, port = hostPort(r.Endpoints[0].URL)
	}
	return cmp.Or(host, hostInID(s.service)), port
}

// identify sets endpoints, host, name and identifiers.
func (j *join20) identify(s *share20, a *addresses20) {
	r := s.r
	host, port := s.setEndpoints(a)
	q := queue20{host, port, r.LRMS, r.Queue, len(r.Endpoints) > 0}
	if a.last.name == "" || a.last.of != q { // most that follow one another are of one queue
		a.last = names20{q, named(host, "/", r.Queue), madeID(r, host, port)}
	}
	r.CE, r.Name = host, a.last.name
	r.CEID = cmp.Or(s.ceID, s.condorID, a.last.ceID)
	r.ID = r.CEID
}

// madeID is the identifier of a share in its usual form: GLUE 2.0 has no GlueCEUniqueID,
// which CREAM and HTCondor publish beside.
func madeID(r *Resource, host, port string) string {
	hostport := host
	if port != "" {
		hostport += ":" + port
	}
	switch {
	case len(r.Endpoints) > 0 && r.Endpoints[0].Interface == InterfaceHTCondorCE:
		return named(hostport, "/", host, "-condor-", r.Queue)
	case strings.HasPrefix(r.Implementation, "nordugrid"):
		return ceUniqueID(hostport, r.LRMS, r.Queue)
	}
	return named(hostport, "/", cmp.Or(strings.ToLower(r.LRMS), "lrms"), "-", r.Queue)
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

// condorEndpoint is the schedd of an HTCondor-CE by the identifier that its
// information provider gives, host:port/name.
func condorEndpoint(id string) Endpoint {
	hostport, _, _ := strings.Cut(id, "/")
	if !strings.Contains(hostport, ":") {
		hostport += ":9619"
	}
	return Endpoint{ID: id, URL: "https://" + hostport, Interface: InterfaceHTCondorCE}
}
