package slurm

import (
	"context"
	"slices"
	"strings"
	"time"

	"gridbroker/glue"
)

// rule is what an association or a QOS lets a user have; zero fields are no
// limits (sacctmgr(1)).
type rule struct {
	account, partition string
	qos                []string
	wall               time.Duration
	jobs, submit, cpus int64
}

// rules are what tells which partitions let a user in, and within which limits:
// who it is, its groups, its associations, and the QOS by name. Without
// accounting there are none of the last two.
type rules struct {
	user         string
	groups       []string
	associations []rule
	qos          map[string]rule
}

const (
	assocFields = "account,partition,qos,maxwall,maxjobs,maxsubmit,maxtresperjob"
	qosFields   = "name,maxwall,maxjobsperuser,maxsubmitjobsperuser,maxtresperjob"
)

// rules asks who the user is, and the accounting what limits it has. The latter
// are left out where it does not answer: limits then show themselves when a job
// is refused.
func (s *site) rules(ctx context.Context) (rules, error) {
	user, err := s.account(ctx)
	if err != nil {
		return rules{}, err
	}
	groups, err := s.Command(ctx, "id", "-Gn")
	if err != nil {
		return rules{}, err
	}
	all := rules{user: user, groups: strings.Fields(groups)}
	s.mu.Lock()
	silent := s.acctOff || s.Options.Now().Before(s.acctDown)
	s.mu.Unlock()
	if silent || all.user == "" {
		return all, nil
	}
	assoc, err := s.Command(ctx, "sacctmgr", "--noheader", "--parsable2", "show", "assoc", "where", "user="+all.user, "format="+assocFields)
	if err != nil {
		s.noAccounting(ctx, err)
		return all, nil
	}
	qos, err := s.Command(ctx, "sacctmgr", "--noheader", "--parsable2", "show", "qos", "format="+qosFields)
	if err == nil {
		all.limited(assoc, qos)
	}
	return all, nil
}

// limited reads what sacctmgr says of associations and QOS.
func (all *rules) limited(assoc, qos string) {
	all.qos = map[string]rule{}
	for _, f := range rows(assoc, "|", 7) {
		r := limitsOf(f[3:])
		r.account, r.partition, r.qos = f[0], f[1], list(f[2])
		all.associations = append(all.associations, r)
	}
	for _, f := range rows(qos, "|", 5) {
		all.qos[f[0]] = limitsOf(f[1:])
	}
}

// limitsOf reads wall time, running jobs, jobs and TRES.
func limitsOf(f []string) rule {
	r := rule{jobs: int64(atoi(f[1])), submit: int64(atoi(f[2]))}
	r.wall, _ = duration(f[0])
	for tres := range strings.SplitSeq(f[3], ",") {
		if n, ok := strings.CutPrefix(tres, "cpu="); ok {
			r.cpus = int64(atoi(n))
		}
	}
	return r
}

// tighter takes the smaller of two limits, of which 0 is none.
func tighter[N int64 | time.Duration](a, b N) N {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// within is a rule under another one.
func (r rule) within(o rule) rule {
	r.wall, r.jobs, r.submit, r.cpus = tighter(r.wall, o.wall), tighter(r.jobs, o.jobs), tighter(r.submit, o.submit), tighter(r.cpus, o.cpus)
	return r
}

// looser takes the larger of two limits, of which 0 is none.
func looser[N int64 | time.Duration](a, b N) N {
	if a == 0 || b == 0 {
		return 0
	}
	return max(a, b)
}

// lets reports whether a partition lets in any job of the user: by the groups,
// which root need not be in, and by one of the associations and QOS where there
// are any.
func (all rules) lets(p map[string]string) bool {
	return (all.user == "root" || all.grouped(p["AllowGroups"])) && (len(all.associations) == 0 || len(all.usable(p)) > 0)
}

// grouped reports whether the user is in one of the groups that are allowed.
func (all rules) grouped(allowed string) bool {
	return open(allowed) || slices.ContainsFunc(all.groups, func(g string) bool { return listed(allowed, g) })
}

// usable are the associations that let the user into a partition, each within
// the most generous of its QOS that the partition takes.
func (all rules) usable(p map[string]string) []rule {
	var out []rule
	for _, a := range all.associations {
		if a.partition != "" && a.partition != p["PartitionName"] || !named(p["AllowAccounts"], a.account) || listed(p["DenyAccounts"], a.account) {
			continue
		}
		if len(a.qos) == 0 {
			out = append(out, a)
			continue
		}
		for _, q := range a.qos {
			q = strings.TrimLeft(q, "+-")
			if named(p["AllowQos"], q) && !listed(p["DenyQos"], q) {
				out = append(out, a.within(all.qos[q]))
			}
		}
	}
	return out
}

// named reports whether a list lets a name in.
func named(allowed, name string) bool { return open(allowed) || listed(allowed, name) }

// open reports whether a list lets everybody in: ALL, or none.
func open(allowed string) bool { return allowed == "" || strings.EqualFold(allowed, "ALL") }

func listed(names, name string) bool { return slices.Contains(list(names), name) }

// apply puts a user's limits into a partition's resource: the most generous
// way in counts. Whom the partition does not let in finds it closed.
func (all rules) apply(r *glue.Resource, p map[string]string) {
	if !all.lets(p) {
		r.Serving = glue.Closed
	}
	ways := all.usable(p)
	if len(ways) == 0 {
		return
	}
	best := ways[0]
	for _, w := range ways[1:] {
		best.wall, best.jobs, best.submit, best.cpus = looser(best.wall, w.wall), looser(best.jobs, w.jobs), looser(best.submit, w.submit), looser(best.cpus, w.cpus)
	}
	if q, ok := all.qos[p["QoS"]]; ok { // the partition's own limits
		best = best.within(q)
	}
	if best.wall > 0 {
		r.MaxWallTime = glue.Some(tighter(r.MaxWallTime.V, best.wall))
		r.Unlimited &^= glue.LimitWallTime | glue.LimitCPUTime
	}
	if best.jobs > 0 {
		r.MaxUserRunning = glue.Some(best.jobs)
	}
	if best.cpus > 0 {
		r.MaxSlotsPerJob = glue.Some(tighter(r.MaxSlotsPerJob.V, best.cpus))
		r.Unlimited &^= glue.LimitSlotsPerJob
	}
}
