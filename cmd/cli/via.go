package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"gridbroker/broker"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jobs"
	"gridbroker/plugins"
	"gridbroker/rank"
)

// via is the central scheduler, or the tree of managers, that jobs are handed to; "": none.
type via struct {
	url      string
	orDirect bool
}

// caller is a back-end that is a whole service of its own.
type caller interface {
	Call(ctx context.Context, endpoint, op, method, path string, in, out any) error
}

// takesAll tells of a back-end that is a whole service of its own, which takes every job: a scheduler, or a tree of managers.
func takesAll(back plugins.Submitter) bool {
	_, scheduler := back.(caller)
	_, tree := back.(plugins.Assigner)
	return scheduler || tree
}

// schedulerURL is the flag's or the configured scheduler, in its own scheme.
func schedulerURL(flag string, set bool, c config) string {
	raw := c.Scheduler
	if set {
		raw = flag
	}
	return asScheduler(raw)
}

// asScheduler is a scheduler's URL in the form that tells it from a CE's, or those of its replicas,
// with commas between, as one.
func asScheduler(raw string) string {
	first, rest, several := strings.Cut(raw, ",")
	to := oneScheduler(strings.TrimSpace(first))
	if !several {
		return to
	}
	scheme, _, _ := strings.Cut(to, "://")
	others := url.Values{}
	for other := range strings.SplitSeq(rest, ",") {
		other = strings.TrimPrefix(oneScheduler(strings.TrimSpace(other)), scheme+"://")
		others.Add("or", strings.TrimRight(other, "/"))
	}
	return strings.TrimRight(to, "/") + "?" + strings.ReplaceAll(others.Encode(), "%3A", ":")
}

func oneScheduler(raw string) string {
	if rest, ok := strings.CutPrefix(raw, "https://"); ok {
		return "grid://" + rest
	}
	if rest, ok := strings.CutPrefix(raw, "http://"); ok {
		return "grid+http://" + rest
	}
	return raw
}

// prioritise gives all jobs a priority at the scheduler; 0: each its own.
func prioritise(all []*jdl.Job, priority float64) error {
	if priority == 0 {
		return nil
	}
	if err := jdl.CheckPriority(priority); err != nil {
		return usageError(fmt.Errorf("--%w", err))
	}
	for _, j := range all {
		j.SetPriority(priority)
	}
	return nil
}

// resource is the scheduler as something to submit to.
func (v via) resource(ctx context.Context, reg *plugins.Registry) (*glue.Resource, error) {
	back, ok := reg.ForURL(v.url)
	if !ok || !takesAll(back.Submitter) {
		return nil, usageError(fmt.Errorf("--via %s: not a scheduler; want grid://host:port, or tree://host:port of a tree of managers", v.url))
	}
	u, err := url.Parse(v.url)
	if err != nil {
		return nil, usageError(err)
	}
	src, err := back.Submitter.(plugins.SourceOpener).Source(u)
	if err != nil {
		return nil, usageError(fmt.Errorf("--via: %w", err))
	}
	rs, err := src.Resources(ctx)
	if err != nil {
		return nil, err
	}
	return &rs[0], nil
}

// ahead puts the scheduler before all that a plan has found, or with no
// --or-direct in the place of it: which sites will do for a job is for the
// scheduler to find. What it refuses, or where it cannot be reached, goes to the
// next choice, if there is one; an outcome that is not known stops there, as
// everywhere: no job is sent twice.
func (v via) ahead(p *broker.Plan, r *glue.Resource) {
	for i := range p.Jobs {
		j := &p.Jobs[i]
		var next []rank.Ranked
		if v.orDirect {
			next = slices.DeleteFunc(slices.Clone(j.Choices), func(c rank.Ranked) bool { return c.Resource == r })
		}
		j.Choices = append([]rank.Ranked{{Candidate: rank.Candidate{Resource: r, Endpoint: r.Endpoints[0]}}}, next...)
		j.Err = nil
	}
}

// sources are where jobs of this submission are sent anew: the scheduler, and with
// --or-direct where they would have gone without it, too.
func (v via) sources(d *deps, c config, where discovery) []string {
	if !v.orDirect {
		return []string{v.url}
	}
	where.apply(d, c)
	return append([]string{v.url}, where.info...)
}

// schedulerAhead is how jobs that are sent anew go to a scheduler that is among what
// was found for them, as when they were submitted.
func schedulerAhead(reg *plugins.Registry) func(*broker.Plan, []*glue.Resource) {
	return func(p *broker.Plan, found []*glue.Resource) {
		for _, r := range found {
			if len(r.Endpoints) == 0 {
				continue
			}
			back, _ := reg.For(r.Endpoints[0].Interface)
			if takesAll(back) {
				via{url: r.ID, orDirect: len(found) > 1}.ahead(p, r)
				return
			}
		}
	}
}

// choosesSites refuses to name sites to a tree of managers, and checks nothing for a scheduler.
func (v via) choosesSites(reg *plugins.Registry, sites []string) error {
	back, _ := reg.ForURL(v.url)
	if _, tree := back.Submitter.(plugins.Assigner); tree && len(sites) > 0 && !v.orDirect {
		return usageError(errors.New("--site: a tree of managers chooses the site itself; submit without --via"))
	}
	return nil
}

// sayInTree says that jobs which wait in a tree of managers get a place while somebody asks for it.
func sayInTree(d *deps, s *session, rs []*jobs.Outcome) {
	n := 0
	for _, r := range rs {
		back, _ := s.backends.For(r.Handle.Interface)
		if _, tree := back.(plugins.Assigner); tree && !r.Final() && r.Handle.ID != "" {
			n++
		}
	}
	if n == 0 || followed(s) {
		return
	}
	count, them := waits(n)
	sayErr(d, "%s in the tree of managers, which offers %s to systems only while somebody follows: grid watch, or grid follow always", count, them)
}

// sayDirect tells which jobs the scheduler did not take.
func sayDirect(d *deps, v via, rs []*jobs.Outcome) {
	said := map[string]bool{}
	for _, o := range rs {
		r := o.Record
		if r.Handle.Endpoint == "" || r.Handle.Endpoint == v.url || said[r.Handle.Endpoint] {
			continue
		}
		said[r.Handle.Endpoint] = true
		sayErr(d, "%s did not take %s: sent directly to %s; grid log %s tells why", v.url, r.ID, r.At, r.ID)
	}
}

// callScheduler opens the configured or named scheduler for a question.
func callScheduler(ctx context.Context, d *deps, flag string, op, method, path string, in, out any) error {
	c, err := loadConfig(d)
	if err != nil {
		return err
	}
	to := schedulerURL(flag, flag != "", c)
	if to == "" {
		return usageError(errors.New("no scheduler is named: --via grid://host:port, or scheduler = in the configuration file"))
	}
	reg, err := openBackends(d, c)
	if err != nil {
		return err
	}
	defer reg.Close()
	back, ok := reg.ForURL(to)
	call, whole := back.Submitter.(caller)
	if !ok || !whole {
		return usageError(fmt.Errorf("%s: not a scheduler; want grid://host:port", to))
	}
	err = call.Call(ctx, to, op, method, path, in, out)
	if f := findingOf(d, to, err); f != nil {
		return &pointed{err, f}
	}
	return err
}
