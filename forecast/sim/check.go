package sim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"gridbroker/batch"
	"gridbroker/rank"
)

// Policies beside those of the broker.
const (
	Independent = "independent" // every job stays at its user's site
	Oracle      = "oracle"      // the start of each job is known at every site, run times included
	Tree        = "tree"        // managers of sites and domains share free processors
	GrAS        = "gras"        // a central scheduler books slots that agents publish; our planner
	GrASPaper   = "gras-paper"  // the same with the published matching
	Stored      = "scheduler"   // the central scheduler whole, its database and its sites' agents included
	Replan      = "replan"      // the hybrid policy; jobs that wait for long are planned anew
)

// own are the policies that are not the broker's.
var own = []string{Independent, Oracle, Tree, GrAS, GrASPaper, Stored, Replan}

// PolicyNames lists the policies that a simulated grid can have: those of the
// broker, and those that are not its.
func PolicyNames() []string { return slices.Concat(rank.Names(), own) }

// Check finds values that make no scenario, and fills in what was left out.
func (s *Scenario) Check() error {
	if err := s.copied(); err != nil {
		return err
	}
	switch {
	case s.Seeds < 1 || s.Seeds > 10_000:
		return wrong("seeds", "%d: want 1 to 10000", s.Seeds)
	case !(s.Network.Loss >= 0 && s.Network.Loss <= 0.99): // what is lost is sent again, until it is not
		return wrong("network.loss", "%g: want a share up to 0.99", s.Network.Loss)
	case !(s.Network.Bandwidth >= 0 && s.Network.Bandwidth < 1e9):
		return wrong("network.bandwidth", "%g: want MB/s", s.Network.Bandwidth)
	}
	if err := s.Jobs.check(); err != nil {
		return err
	}
	if b := s.Network.Bandwidth; b > 0 && s.Jobs.InputMB/b > longest.Seconds() {
		return wrong("network.bandwidth", "%g: %g MB of input would take more than %v", b, s.Jobs.InputMB, longest)
	}
	if err := s.checkPolicies(); err != nil {
		return err
	}
	seen := map[string]bool{}
	for i := range s.Sites {
		path := s.Sites[i].path()
		if err := s.Sites[i].check(path); err != nil {
			return err
		}
		if seen[s.Sites[i].Name] {
			return wrong(path+".name", "a second %q", s.Sites[i].Name)
		}
		seen[s.Sites[i].Name] = true
	}
	s.Follow.Duration = cmp.Or(s.Follow.Duration, 5*time.Minute)
	s.Cycle.Duration = cmp.Or(s.Cycle.Duration, time.Minute)
	s.Replan.Duration = cmp.Or(s.Replan.Duration, 30*time.Minute)
	for i, f := range s.Failures {
		if err := f.check(fmt.Sprint("failure.", i+1), seen); err != nil {
			return err
		}
	}
	return cmp.Or(s.checkWidth(), s.checkTimes())
}

// checkPolicies finds names that are no policies.
func (s *Scenario) checkPolicies() error {
	if len(s.Policies) == 0 {
		return wrong("policies", "none")
	}
	for i, p := range s.Policies {
		if p == "" {
			return wrong("policies", "an empty name")
		}
		if slices.Contains(s.Policies[:i], p) {
			return wrong("policies", "%s is there twice", p)
		}
		_, err := rank.ParsePolicy(p, rank.DefaultModel())
		switch {
		case err == nil || slices.Contains(own, p):
		case strings.HasPrefix(p, "formula:"):
			return wrong("policies", "%w", err)
		default:
			return wrong("policies", "%w; and %s", err, strings.Join(own, ", "))
		}
	}
	return nil
}

// checkWidth finds jobs that no site could run.
func (s *Scenario) checkWidth() error {
	widest := 0
	for i := range s.Sites {
		widest = max(widest, s.Sites[i].Procs)
	}
	if s.Jobs.Trace == "" && s.Jobs.MaxProcs > widest {
		return wrong("jobs.max_procs", "%d: the widest site has %d processors", s.Jobs.MaxProcs, widest)
	}
	return nil
}

// longest bounds the times of a scenario. What is done again and again takes a
// second at least, for that is the simulation's own grain.
const longest = 10 * 365 * 24 * time.Hour

// checkTimes finds times that cannot be.
func (s *Scenario) checkTimes() error {
	type length struct {
		path  string
		value Duration
		least time.Duration
	}
	all := []length{
		{"latency", s.Latency, 0}, {"jobs.max_run", s.Jobs.MaxRun, 0},
		{"follow", s.Follow, time.Second}, {"cycle", s.Cycle, time.Second}, {"replan", s.Replan, time.Second},
	}
	for i := range s.Sites {
		all = append(all, length{s.Sites[i].path() + ".refresh", s.Sites[i].Refresh, 0}, length{s.Sites[i].path() + ".agent", s.Sites[i].Agent, 0})
	}
	for i, f := range s.Failures {
		path := fmt.Sprint("failure.", i+1)
		all = append(all, length{path + ".from", f.From, 0}, length{path + ".for", f.For, time.Second})
	}
	for _, l := range all {
		if l.value.Duration < l.least || l.value.Duration > longest {
			return wrong(l.path, "%v: want a time of %v to %v", l.value, l.least, longest)
		}
		if l.value.Duration != 0 && l.value.Duration < time.Second {
			return wrong(l.path, "%v: want none, or a second and more, which is the grain of the simulation", l.value)
		}
	}
	return nil
}

// check finds mistakes and fills in what was left out.
func (j *Jobs) check() error {
	j.Users = cmp.Or(j.Users, 10)
	j.Estimate = cmp.Or(j.Estimate, 1)
	switch {
	case j.Trace == "" && (j.Count < 1 || j.Count > maxTrace) || j.Count < 0:
		return wrong("jobs.count", "%d: want 1 to %d", j.Count, int(maxTrace))
	case j.Trace == "" && j.Load == 0:
		return wrong("jobs.load", "0, or left out: say how much of all sites' node time global jobs ask for, such as 0.5")
	case j.Trace == "" && !(j.Load > 0 && j.Load <= 10) || !(j.Load >= 0 && j.Load <= 10):
		return wrong("jobs.load", "%g: want a number up to 10", j.Load)
	case j.MaxProcs < 0:
		return wrong("jobs.max_procs", "%d: below zero", j.MaxProcs)
	case j.Users < 1 || j.Users > 1e6:
		return wrong("jobs.users", "%d: want 1 to 1000000", j.Users)
	case !(j.InputMB >= 0 && j.InputMB < 1e9):
		return wrong("jobs.input_mb", "%g: want a size", j.InputMB)
	case j.Retries < 0 || j.Retries > 1000:
		return wrong("jobs.retries", "%d: want 0 to 1000", j.Retries)
	case !(j.Estimate > 0 && j.Estimate <= 1000):
		return wrong("jobs.estimate", "%g: want a factor up to 1000", j.Estimate)
	}
	return nil
}

func (f *Failure) check(path string, sites map[string]bool) error {
	switch {
	case f.Kind != SiteFails && f.Kind != ServiceFails && f.Kind != BlackHole && f.Kind != Credential:
		return wrong(path+".kind", "%q: want %s, %s, %s or %s", f.Kind, SiteFails, ServiceFails, BlackHole, Credential)
	case f.Site != "" && !sites[f.Site]:
		return wrong(path+".site", "no site is called %q", f.Site)
	}
	return nil
}

// check finds mistakes and fills in what was left out.
func (s *Site) check(path string) error {
	s.Scheduler = cmp.Or(s.Scheduler, "easy")
	s.Speed = cmp.Or(s.Speed, 1)
	s.Home = cmp.Or(s.Home, 1)
	p := batch.Policy{Name: s.Scheduler}
	switch {
	case s.Name == "":
		return &FieldError{path + ".name", errors.New("none")}
	case len(s.Name) > 255 || strings.ContainsFunc(s.Name, func(r rune) bool { return r == '/' || !unicode.IsPrint(r) }):
		return wrong(path+".name", "%q: want at most 255 bytes that can be printed, and no slash: it is a host's in URLs", s.Name)
	case s.Procs < 1 || s.Procs > 1<<24:
		return wrong(path+".procs", "%d: want 1 to %d", s.Procs, 1<<24)
	case !(s.Speed >= 0.01 && s.Speed <= 100):
		return wrong(path+".speed", "%g: want 0.01 to 100", s.Speed)
	case !(s.LocalLoad >= 0 && s.LocalLoad <= 10):
		return wrong(path+".local_load", "%g: want 0 to 10", s.LocalLoad)
	case !(s.Home >= 0 && s.Home < 1e9):
		return wrong(path+".home", "%g: want a weight", s.Home)
	case s.Turns < 0 || s.Turns > 1<<24:
		return wrong(path+".turns", "%d: want 0 to %d", s.Turns, 1<<24)
	case s.Lie != "" && s.Lie != "idle" && s.Lie != "full":
		return wrong(path+".lie", "%q: want idle or full", s.Lie)
	}
	if err := p.Check(); err != nil {
		return &FieldError{path + ".scheduler", err}
	}
	return nil
}
