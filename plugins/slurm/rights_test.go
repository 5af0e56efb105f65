package slurm

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"gridbroker/plugins"
)

func TestGuestRights(t *testing.T) {
	const partitions = `PartitionName=short AllowGroups=ALL MaxTime=01:00:00 PreemptMode=OFF PriorityJobFactor=1 PriorityTier=10 State=UP
PartitionName=guests AllowGroups=ALL MaxTime=00:30:00 PreemptMode=REQUEUE PriorityTier=1 State=UP
PartitionName=long AllowGroups=ALL MaxTime=3-00:00:00 PreemptMode=REQUEUE PriorityTier=1 State=UP
PartitionName=high MaxTime=1 PreemptMode=REQUEUE PriorityTier=20 State=DOWN
`
	for name, c := range map[string]struct {
		level, private, preempt string
		reservations            bool
		partition               string
		bad                     string // in a bad finding; "": none is
		good                    string
	}{
		"begin needs nothing":         {"None", "none", "preempt/none", false, "", "", "account alice: None"},
		"hidden jobs":                 {"None", "jobs,usage", "preempt/none", false, "", "hides other users' jobs", ""},
		"hidden jobs, operator":       {"Operator", "jobs,usage", "preempt/none", false, "", "", "operators see through"},
		"reservation of an operator":  {"Operator", "none", "preempt/none", true, "", "", "reservations"},
		"reservation of a user":       {"None", "none", "preempt/none", true, "", "are for operators", ""},
		"guests give way":             {"None", "none", "preempt/partition_prio", false, "guests", "", "give way to local jobs after 2m0s"},
		"not to all of them":          {"None", "none", "preempt/partition_prio", false, "guests", "", "do not give way to jobs of long, whose PriorityTier is not above theirs: these lose at most MaxTime=00:30:00"},
		"guests do not":               {"None", "none", "preempt/none", false, "guests", "", "at most MaxTime=00:30:00"},
		"no partition":                {"None", "none", "preempt/none", false, "other", "no partition other", ""},
		"a partition above the local": {"None", "none", "preempt/partition_prio", false, "high", "0 of the other 3", ""},
	} {
		run := func(_ context.Context, argv ...string) (string, error) {
			switch strings.Join(argv, " ") {
			case "id -un":
				return "alice\n", nil
			case "scontrol show config":
				return "AccountingStorageType   = accounting_storage/slurmdbd\nMinJobAge               = 300 sec\nPreemptExemptTime       = 00:02:00\nPreemptType  = " + c.preempt + "\nPrivateData  = " + c.private + "\n", nil
			case "scontrol --oneliner show partition":
				return partitions, nil
			case "sacctmgr --noheader --parsable2 show user name=alice format=AdminLevel":
				return c.level + "\n", nil
			}
			return "", errors.New("what is " + strings.Join(argv, " "))
		}
		r, err := rightsOf(t.Context(), run)
		if err != nil {
			t.Fatal(name, err)
		}
		bad, good := "", ""
		for _, f := range r.check(plugins.Guests{Reservations: c.reservations, Partition: c.partition, TTL: 2 * time.Minute}) {
			if f.Bad {
				bad += f.Text + "\n"
			} else {
				good += f.Text + "\n"
			}
		}
		if (c.bad == "") != (bad == "") || !strings.Contains(bad, c.bad) || !strings.Contains(good, c.good) {
			t.Errorf("%s: bad %q, good %q", name, bad, good)
		}
		if r.minJobAge != 5*time.Minute || !r.accounting {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
