package slurm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gridbroker/plugins"
)

// rights is what an account may do at a Slurm cluster, and what the cluster is
// set up for.
type rights struct {
	user        string
	level       string // AdminLevel: None, Operator, Administrator; "": not known
	privateJobs bool   // others' jobs are hidden from ordinary users
	accounting  bool
	minJobAge   time.Duration // for how long ended jobs stay in the queue
	preemption  string        // PreemptType
	exempt      time.Duration // PreemptExemptTime
	parts       []guestPartition
}

// guestPartition is a partition as far as guests go.
type guestPartition struct {
	name    string
	tier    int    // PriorityTier
	preempt string // PreemptMode
	maxTime string
	up      bool
}

// CheckGuests implements plugins.GuestChecker.
func (q *Queue) CheckGuests(ctx context.Context, g plugins.Guests) ([]plugins.GuestFinding, error) {
	r, err := rightsOf(ctx, q.site.Command)
	if err != nil {
		return nil, err
	}
	return r.check(g), nil
}

// accountOf names the account that runs commands there.
func accountOf(ctx context.Context, run func(context.Context, ...string) (string, error)) (string, error) {
	name, err := run(ctx, "id", "-un")
	return strings.TrimSpace(name), err
}

// rightsOf asks Slurm what the account that runs commands there may do.
func rightsOf(ctx context.Context, run func(context.Context, ...string) (string, error)) (rights, error) {
	user, err := accountOf(ctx, run)
	if err != nil {
		return rights{}, err
	}
	r := rights{user: user}
	out, err := run(ctx, "scontrol", "show", "config")
	if err != nil {
		return r, err
	}
	r.config(out)
	if out, err = run(ctx, "scontrol", "--oneliner", "show", "partition"); err != nil {
		return r, err
	}
	r.partitions(out)
	if r.user == "root" {
		r.level = "Administrator"
	} else if out, err := run(ctx, "sacctmgr", "--noheader", "--parsable2", "show", "user", "name="+r.user, "format=AdminLevel"); err == nil {
		r.level = strings.TrimSpace(out) // without accounting there are no levels
	}
	return r, nil
}

// config reads scontrol show config.
func (r *rights) config(text string) {
	c := config(text)
	r.privateJobs = slices.Contains(strings.Split(c["PrivateData"], ","), "jobs")
	r.accounting = strings.HasSuffix(c["AccountingStorageType"], "slurmdbd")
	seconds, _, _ := strings.Cut(c["MinJobAge"], " ")
	r.minJobAge = time.Duration(atoi(seconds)) * time.Second
	r.preemption = c["PreemptType"]
	r.exempt, _ = duration(c["PreemptExemptTime"])
}

// partitions reads scontrol --oneliner show partition.
func (r *rights) partitions(text string) {
	for _, p := range records(text) {
		r.parts = append(r.parts, guestPartition{p["PartitionName"], atoi(p["PriorityTier"]), p["PreemptMode"], p["MaxTime"], p["State"] == "UP"})
	}
}

// operator tells whether the account may do what Slurm keeps for operators.
func (r *rights) operator() bool { return r.level == "Operator" || r.level == "Administrator" }

// check holds the rights against a way of starting guests.
func (r *rights) check(g plugins.Guests) (list []plugins.GuestFinding) {
	say := func(bad bool, format string, args ...any) {
		list = append(list, plugins.GuestFinding{Bad: bad, Text: fmt.Sprintf(format, args...)})
	}
	level := r.level
	if level == "" {
		level = "not known to accounting"
	}
	say(false, "account %s: %s", r.user, level)
	switch {
	case r.privateJobs && !r.operator():
		say(true, "PrivateData=jobs hides other users' jobs: the forecast would be wrong; let the site make this account an operator")
	case r.privateJobs:
		say(false, "PrivateData=jobs, which operators see through")
	}
	if !r.accounting {
		say(false, "no slurmdbd: ends that are missed in the queue are guessed (they stay there for %v)", r.minJobAge)
	}
	if g.Reservations {
		say(!r.operator(), "reservations are for operators")
	}
	if g.Partition != "" {
		r.checkPartition(g.Partition, g.TTL, say)
	}
	return list
}

// checkPartition looks at the guests' partition: what keeps local jobs from
// losing more than the TTL.
func (r *rights) checkPartition(name string, ttl time.Duration, say func(bool, string, ...any)) {
	i := slices.IndexFunc(r.parts, func(p guestPartition) bool { return p.name == name })
	if i < 0 {
		say(true, "there is no partition %s", name)
		return
	}
	p := r.parts[i]
	say(!p.up, "partition %s is up", name)
	above := 0
	for _, o := range r.parts {
		if o.name != name && o.tier > p.tier {
			above++
		}
	}
	say(above == 0, "%d of the other %d partitions go before %s (PriorityTier %d)", above, len(r.parts)-1, name, p.tier)
	if r.preemption != "preempt/partition_prio" || p.preempt != "REQUEUE" && p.preempt != "CANCEL" {
		say(false, "guests do not give way (PreemptType %s, PreemptMode %s): local jobs lose at most MaxTime=%s", r.preemption, p.preempt, p.maxTime)
		return
	}
	say(r.exempt > ttl, "guests give way to local jobs after %v (PreemptExemptTime; the TTL is %v)", r.exempt, ttl)
	if stay := r.notAbove(p); len(stay) > 0 {
		say(false, "guests do not give way to jobs of %s, whose PriorityTier is not above theirs: these lose at most MaxTime=%s", strings.Join(stay, ", "), p.maxTime)
	}
}

// notAbove names the other partitions that do not go before one, in order.
func (r *rights) notAbove(p guestPartition) (names []string) {
	for _, o := range r.parts {
		if o.name != p.name && o.tier <= p.tier {
			names = append(names, o.name)
		}
	}
	slices.Sort(names)
	return names
}
