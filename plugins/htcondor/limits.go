package htcondor

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gridbroker/batch"
	"gridbroker/plugins/remote"
)

// limits keeps what the negotiator says of the concurrency limits that jobs name, and of the quotas of their accounting groups. It is safe for concurrent use.
type limits struct {
	mu   sync.Mutex
	most map[string]int64 // by name
	next time.Time        // when it is asked again
}

// limitsFor is how long its answer is gone by, and mostLimits how many names it is asked for.
const (
	limitsFor  = 10 * time.Minute
	mostLimits = 100
)

// take is a part of what a concurrency limit gives, or of the quota of a group that takes nothing beyond it.
type take struct {
	name string
	part int64
}

// ofGroup begins the names of groups' quotas, which are of processors.
const ofGroup = "quota of "

// takes reads a job's ConcurrencyLimits: names, each with how much it takes; 1 where it does not say.
func takes(j ad) (list []take) {
	for word := range strings.FieldsFuncSeq(j.text("ConcurrencyLimits"), func(c rune) bool { return c == ',' || c == ' ' }) {
		name, part, told := strings.Cut(word, ":")
		t := take{strings.ToUpper(name), 1}
		if n, err := strconv.ParseFloat(part, 64); told && err == nil && n > 1 && n < most {
			t.part = int64(n)
		}
		if plainLimit(name) {
			list = append(list, t)
		}
	}
	if group := j.text("AcctGroup"); plainLimit(group) {
		list = append(list, take{ofGroup + strings.ToLower(group), max(1, j.amount("RequestCpus"))})
	}
	return list
}

// plainLimit tells whether a word is a name as HTCondor has them for limits.
func plainLimit(name string) bool {
	return remote.Plain(name) && !strings.ContainsAny(name, "-/:,=+@")
}

// throttle lets as many jobs run at once as a concurrency limit or quota gives them, of a job's the one that lets the fewest. Jobs that
// take different parts of one limit are taken to take the greatest each.
func (l *limits) throttle(ctx context.Context, s *site, st *batch.State, jobs []ad) error {
	greatest, of := map[string]int64{}, map[string][]take{}
	for _, j := range jobs {
		list := takes(j)
		for _, t := range list {
			if _, known := greatest[t.name]; known || len(greatest) < mostLimits {
				greatest[t.name] = max(greatest[t.name], t.part)
			}
		}
		id := jobID(j)
		cluster, _, _ := strings.Cut(id, ".")
		of[id], of[cluster] = list, list
	}
	if len(greatest) == 0 {
		return nil
	}
	given, err := l.ask(ctx, s, slices.Sorted(maps.Keys(greatest)))
	for i := range st.Jobs {
		list, there := of[st.Jobs[i].ID]
		if !there { // it is still to be made, like the others of its cluster
			cluster, _, _ := strings.Cut(st.Jobs[i].ID, ".")
			list = of[cluster]
		}
		for _, t := range list {
			if all, known := given[t.name]; known {
				bound(&st.Jobs[i], t, all, greatest[t.name])
			}
		}
	}
	return err
}

// bound bounds how many jobs run beside one that takes a part of a limit, if that is one.
func bound(b *batch.Job, t take, all, greatest int64) {
	at := int(all / greatest)
	switch {
	case all == maxUnmaterialised:
	case t.part > all && !strings.HasPrefix(t.name, ofGroup):
		b.Unfit = "it takes more of the concurrency limit " + t.name + " than there is"
	case b.ArrayLimit == 0 || at < b.ArrayLimit:
		b.Array, b.ArrayLimit = "limit "+t.name, max(1, at)
	}
}

// ask asks the negotiator for the limits and quotas of some names; one that it has not defined gives any number.
func (l *limits) ask(ctx context.Context, s *site, names []string) (map[string]int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := s.Options.Now()
	known := !slices.ContainsFunc(names, func(n string) bool { _, ok := l.most[n]; return !ok })
	if known && now.Before(l.next) {
		return l.most, nil
	}
	groups := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.HasPrefix(n, ofGroup) })
	all := map[string]int64{}
	for _, ask := range []struct {
		names []string
		of    func(context.Context, *site, []string, map[string]int64) error
	}{{slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(groups, n) }), askLimits}, {groups, askQuotas}} {
		if len(ask.names) == 0 {
			continue
		}
		err := ask.of(ctx, s, ask.names, all)
		if _, refused := errors.AsType[*remote.ExitError](err); err != nil && !refused {
			return nil, err
		}
	}
	for _, n := range names {
		if _, told := all[n]; !told {
			all[n] = maxUnmaterialised
		}
	}
	l.most, l.next = all, now.Add(limitsFor)
	return all, nil
}

// askLimits asks for concurrency limits.
func askLimits(ctx context.Context, s *site, names []string, all map[string]int64) error {
	argv := slices.Concat([]string{"condor_config_val"}, s.pool, []string{"-negotiator", "CONCURRENCY_LIMIT_DEFAULT"})
	for _, n := range names {
		argv = append(argv, n+"_LIMIT")
		group, _, _ := strings.Cut(n, ".")
		argv = append(argv, "CONCURRENCY_LIMIT_DEFAULT_"+group)
	}
	text, err := s.Command(ctx, argv...)
	if err == nil {
		maps.Copy(all, limitsIn(text, names))
	}
	return err
}

// askQuotas asks for the quotas of groups. A group that takes what others leave has none here, and one that is not told has that of the group above.
func askQuotas(ctx context.Context, s *site, names []string, all map[string]int64) error {
	text, err := s.Command(ctx, slices.Concat([]string{"condor_userprio"}, s.pool,
		[]string{"-allusers", "-constraint", "IsAccountingGroup", "-autoformat", "Name", "SubtreeQuota", "SurplusPolicy"})...)
	if err != nil {
		return err
	}
	told := map[string]int64{}
	for line := range strings.Lines(text) {
		w := strings.Fields(line)
		if len(w) != 3 {
			continue
		}
		quota, err := strconv.ParseFloat(w[1], 64)
		if err != nil || !(quota >= 0) || quota > maxUnmaterialised || w[2] != "no" {
			quota = maxUnmaterialised
		}
		told[ofGroup+strings.ToLower(w[0])] = int64(quota)
	}
	for _, n := range names {
		for of := n; ; of = of[:strings.LastIndexByte(of, '.')] {
			if quota, known := told[of]; known {
				all[n] = quota
				break
			}
			if !strings.Contains(of, ".") {
				break
			}
		}
	}
	return nil
}

// limitsIn reads the answer: a line for each word asked for, the default's first.
func limitsIn(text string, names []string) map[string]int64 {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) != 1+2*len(names) {
		return nil
	}
	m := map[string]int64{}
	for i, n := range names {
		m[n] = maxUnmaterialised
		of := []string{lines[1+2*i], lines[0]}
		if strings.Contains(n, ".") { // those of a group have a default of their own
			of = []string{lines[1+2*i], lines[2+2*i], lines[0]}
		}
		for _, l := range of {
			if v, err := strconv.ParseFloat(strings.TrimSpace(l), 64); err == nil && v >= 0 {
				m[n] = int64(min(v, maxUnmaterialised))
				break
			}
		}
	}
	return m
}
