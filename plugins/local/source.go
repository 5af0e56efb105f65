package local

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"

	"gridbroker/glue"
	"gridbroker/infosys"
	"gridbroker/plugins"
)

// Source publishes the sites of this machine as resources.
type Source struct {
	backend *Backend
	only    string // name of the one site; "": all
}

var (
	_ infosys.Source = (*Source)(nil)
	_ infosys.Owner  = (*Source)(nil)
)

// Source opens "local:" (all sites) or "local:NAME".
func (b *Backend) Source(u *url.URL) (plugins.Source, error) {
	if u.Opaque != "" {
		if _, err := b.site(EndpointURL(u.Opaque)); err != nil {
			return nil, err
		}
	}
	return &Source{b, u.Opaque}, nil
}

// Name implements infosys.Source.
func (s *Source) Name() string { return "local:" + s.only }

// Local implements infosys.Local: there is nothing to cache.
func (s *Source) Local() bool { return true }

// Owns implements infosys.Owner: the sites of this machine, or the one named.
func (s *Source) Owns(e glue.Endpoint) bool {
	name, isLocal := strings.CutPrefix(e.URL, EndpointURL(""))
	return isLocal && e.Interface == glue.InterfaceLocal && s.backend.sites[name] != nil && (s.only == "" || s.only == name)
}

// Resources implements infosys.Source. A site of which something cannot be read keeps
// none of the others away.
func (s *Source) Resources(context.Context) ([]glue.Resource, error) {
	var rs []glue.Resource
	var errs []error
	for _, conf := range s.backend.opts.Sites {
		if s.only != "" && conf.Name != s.only {
			continue
		}
		r, err := s.backend.sites[conf.Name].resource()
		if err != nil {
			errs = append(errs, fmt.Errorf("site %s: %w", conf.Name, err))
		}
		if r.ID == "" {
			continue
		}
		r.Source = s.Name()
		rs = append(rs, r)
	}
	return rs, errors.Join(errs...)
}

// benchmarkPerSpeed is the HEP-SPEC06 of one slot at speed 1.0: that of a
// common core, so that local sites compare with published ones.
const benchmarkPerSpeed = 10.0

// resource describes the site. With an error it has no ID, or lacks what the error tells
// of.
func (s *site) resource() (glue.Resource, error) {
	running, used, waiting, err := s.counts()
	if err != nil {
		return glue.Resource{}, err
	}
	state := glue.Production
	if s.Disabled {
		state = glue.Draining
	}
	tags, broken := tags(s)
	now := s.now()
	r := glue.Resource{
		ID: EndpointURL(s.Name), Name: s.Name, Site: s.Name, CE: s.Name + ".localhost", Queue: s.Name, LRMS: "fork",
		Implementation: "gridbroker", Schema: "self", Created: now, Fetched: now,
		Serving: state, Access: s.Access,
		Endpoints: []glue.Endpoint{{
			ID: EndpointURL(s.Name), URL: EndpointURL(s.Name), Interface: glue.InterfaceLocal, Health: "ok", Serving: state,
		}},
		Running: glue.Some(running), Waiting: glue.Some(waiting), Total: glue.Some(running + waiting),
		UsedSlots: glue.Some(used), TotalSlots: glue.Some(int64(s.Slots)), FreeSlots: glue.Some(max(0, int64(s.Slots)-used)),
		MaxSlotsPerJob: glue.Some(int64(s.Slots)),
		Platform:       runtime.GOARCH, OSFamily: runtime.GOOS,
		LogicalCPUs: glue.Some(int64(s.Slots)), SMPSize: glue.Some(int64(s.Slots)),
		Benchmarks:          map[string]float64{"hep-spec06": benchmarkPerSpeed * s.Speed},
		RuntimeEnvironments: tags,
		GPUs:                glue.Some[int64](0), // jobs are given none
		ConnectivityOut:     glue.Some(true),     // what whoever submits has
		MaxWallTime:         glue.Some(s.MaxWall),
		MaxCPUTime:          glue.Some(s.MaxWall),
	}
	if s.Memory > 0 {
		r.MainMemory = glue.Some(s.Memory)
	}
	return r, broken
}

// counts reads the queue: running and waiting jobs, and the slots in use.
func (s *site) counts() (running, used, waiting int64, err error) {
	queued, err := s.names("queue")
	if err != nil {
		return 0, 0, 0, err
	}
	started, err := s.names("running")
	if err != nil {
		return 0, 0, 0, err
	}
	for _, id := range started {
		var sp spec
		if readJSON(filepath.Join(s.job(id), "spec.json"), &sp) != nil {
			continue
		}
		if st, err := s.settle(id); err == nil && !st.State.Final() {
			running++
			used += int64(sp.Slots)
		}
	}
	return running, used, int64(len(queued)), nil
}
