package agent

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gridbroker/forecast/wire"
)

// Rights is what an account may do at a Slurm cluster, and what the cluster is
// set up for.
type Rights struct {
	User        string
	Level       string // AdminLevel: None, Operator, Administrator; "": not known
	PrivateJobs bool   // others' jobs are hidden from ordinary users
	Accounting  bool
	MinJobAge   time.Duration // for how long ended jobs stay in the queue
	Preemption  string        // PreemptType
	Exempt      time.Duration // PreemptExemptTime
	Partitions  []SlurmPartition
}

// SlurmPartition is a partition as far as guests go.
type SlurmPartition struct {
	Name    string
	Tier    int    // PriorityTier
	Preempt string // PreemptMode
	MaxTime string
	Up      bool
}

// Finding is one thing that was looked at. Bad ones keep the agent from its
// work, the others are good to know.
type Finding struct {
	Bad  bool
	Text string
}

// SlurmRights asks Slurm what an account may do. Nothing is changed by it.
func SlurmRights(ctx context.Context, run func(context.Context, ...string) ([]byte, error), user string) (Rights, error) {
	r := Rights{User: user}
	out, err := run(ctx, "scontrol", "show", "config")
	if err != nil {
		return r, fmt.Errorf("scontrol show config: %w: %.200s", err, out)
	}
	r.config(string(out))
	if out, err = run(ctx, "scontrol", "--oneliner", "show", "partition"); err != nil {
		return r, fmt.Errorf("scontrol show partition: %w: %.200s", err, out)
	}
	r.partitions(string(out))
	if user == "root" {
		r.Level = "Administrator"
	} else if out, err := run(ctx, "sacctmgr", "--noheader", "--parsable2", "show", "user", "name="+user, "format=AdminLevel"); err == nil {
		r.Level = strings.TrimSpace(string(out))
	}
	return r, nil
}

// config reads scontrol show config.
func (r *Rights) config(text string) {
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "PrivateData":
			r.PrivateJobs = slices.Contains(strings.Split(value, ","), "jobs")
		case "AccountingStorageType":
			r.Accounting = strings.HasSuffix(value, "slurmdbd")
		case "MinJobAge":
			seconds, _, _ := strings.Cut(value, " ")
			n, _ := strconv.Atoi(seconds)
			r.MinJobAge = time.Duration(n) * time.Second
		case "PreemptType":
			r.Preemption = value
		case "PreemptExemptTime":
			r.Exempt = slurmTime(value)
		}
	}
}

// slurmTime reads [DAYS-]HH:MM:SS.
func slurmTime(s string) time.Duration {
	days, rest, ok := strings.Cut(s, "-")
	if !ok {
		days, rest = "0", s
	}
	var h, m, sec int
	d, err := strconv.Atoi(days)
	if _, scan := fmt.Sscanf(rest, "%d:%d:%d", &h, &m, &sec); err != nil || scan != nil {
		return 0
	}
	return time.Duration(d*24+h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(sec)*time.Second
}

// partitions reads scontrol --oneliner show partition.
func (r *Rights) partitions(text string) {
	for line := range strings.Lines(text) {
		var p SlurmPartition
		for _, f := range strings.Fields(line) {
			key, value, _ := strings.Cut(f, "=")
			switch key {
			case "PartitionName":
				p.Name = value
			case "PriorityTier":
				p.Tier, _ = strconv.Atoi(value)
			case "PreemptMode":
				p.Preempt = value
			case "MaxTime":
				p.MaxTime = value
			case "State":
				p.Up = value == "UP"
			}
		}
		if p.Name != "" {
			r.Partitions = append(r.Partitions, p)
		}
	}
}

// operator tells whether the account may do what Slurm keeps for operators.
func (r *Rights) operator() bool { return r.Level == "Operator" || r.Level == "Administrator" }

// Check holds the rights against a way of starting guests.
func (r *Rights) Check(way wire.Way, partition string, ttl time.Duration) (list []Finding) {
	say := func(bad bool, format string, args ...any) {
		list = append(list, Finding{bad, fmt.Sprintf(format, args...)})
	}
	level := r.Level
	if level == "" {
		level = "not known to accounting"
	}
	say(false, "account %s: %s", r.User, level)
	switch {
	case r.PrivateJobs && !r.operator():
		say(true, "PrivateData=jobs hides other users' jobs: the forecast would be wrong; let the site make this account an operator")
	case r.PrivateJobs:
		say(false, "PrivateData=jobs, which operators see through")
	}
	if !r.Accounting {
		say(false, "no slurmdbd: ends that are missed in the queue are guessed (they stay there for %v)", r.MinJobAge)
	}
	switch way {
	case wire.Reservation:
		say(!r.operator(), "reservations are for operators")
	case wire.Partition:
		r.checkPartition(partition, ttl, say)
	}
	return list
}

// checkPartition looks at the guests' partition: what keeps local jobs from
// losing more than the TTL.
func (r *Rights) checkPartition(name string, ttl time.Duration, say func(bool, string, ...any)) {
	i := slices.IndexFunc(r.Partitions, func(p SlurmPartition) bool { return p.Name == name })
	if i < 0 {
		say(true, "there is no partition %s", name)
		return
	}
	p := r.Partitions[i]
	say(!p.Up, "partition %s is up", name)
	above := 0
	for _, o := range r.Partitions {
		above += b2i(o.Name != name && o.Tier > p.Tier)
	}
	say(above == 0, "%d of the other %d partitions go before %s (PriorityTier %d)", above, len(r.Partitions)-1, name, p.Tier)
	if r.Preemption != "preempt/partition_prio" || p.Preempt != "REQUEUE" && p.Preempt != "CANCEL" {
		say(false, "guests do not give way (PreemptType %s, PreemptMode %s): local jobs lose at most MaxTime=%s", r.Preemption, p.Preempt, p.MaxTime)
		return
	}
	say(r.Exempt > ttl, "guests give way to local jobs after %v (PreemptExemptTime; the TTL is %v)", r.Exempt, ttl)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
