package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"gridbroker/forecast/wire"
)

func TestSlurmRights(t *testing.T) {
	const partitions = `PartitionName=short AllowGroups=ALL MaxTime=01:00:00 PreemptMode=OFF PriorityJobFactor=1 PriorityTier=10 State=UP
PartitionName=guests AllowGroups=ALL MaxTime=00:30:00 PreemptMode=REQUEUE PriorityTier=1 State=UP
PartitionName=high MaxTime=1 PreemptMode=REQUEUE PriorityTier=20 State=DOWN
`
	for name, c := range map[string]struct {
		level, private, preempt string
		way                     wire.Way
		partition               string
		bad                     string // in a bad finding; "": none is
		good                    string
	}{
		"begin needs nothing":         {"None", "none", "preempt/none", wire.Begin, "", "", "account alice: None"},
		"hidden jobs":                 {"None", "jobs,usage", "preempt/none", wire.Begin, "", "hides other users' jobs", ""},
		"hidden jobs, operator":       {"Operator", "jobs,usage", "preempt/none", wire.Begin, "", "", "operators see through"},
		"reservation of an operator":  {"Operator", "none", "preempt/none", wire.Reservation, "", "", "reservations"},
		"reservation of a user":       {"None", "none", "preempt/none", wire.Reservation, "", "are for operators", ""},
		"guests give way":             {"None", "none", "preempt/partition_prio", wire.Partition, "guests", "", "give way to local jobs after 2m0s"},
		"guests do not":               {"None", "none", "preempt/none", wire.Partition, "guests", "", "at most MaxTime=00:30:00"},
		"no partition":                {"None", "none", "preempt/none", wire.Partition, "other", "no partition other", ""},
		"a partition above the local": {"None", "none", "preempt/partition_prio", wire.Partition, "high", "0 of the other 2", ""},
	} {
		run := func(_ context.Context, argv ...string) ([]byte, error) {
			switch strings.Join(argv, " ") {
			case "scontrol show config":
				return []byte("AccountingStorageType   = accounting_storage/slurmdbd\nMinJobAge               = 300 sec\nPreemptExemptTime       = 00:02:00\nPreemptType  = " + c.preempt + "\nPrivateData  = " + c.private + "\n"), nil
			case "scontrol --oneliner show partition":
				return []byte(partitions), nil
			case "sacctmgr --noheader --parsable2 show user name=alice format=AdminLevel":
				return []byte(c.level + "\n"), nil
			}
			return nil, errors.New("what is " + strings.Join(argv, " "))
		}
		r, err := SlurmRights(t.Context(), run, "alice")
		if err != nil {
			t.Fatal(name, err)
		}
		bad, good := "", ""
		for _, f := range r.Check(c.way, c.partition, 2*time.Minute) {
			if f.Bad {
				bad += f.Text + "\n"
			} else {
				good += f.Text + "\n"
			}
		}
		if (c.bad == "") != (bad == "") || !strings.Contains(bad, c.bad) || !strings.Contains(good, c.good) {
			t.Errorf("%s: bad %q, good %q", name, bad, good)
		}
		if r.MinJobAge != 5*time.Minute || !r.Accounting {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if d := slurmTime("1-02:03:04"); d != 26*time.Hour+3*time.Minute+4*time.Second {
		t.Error(d)
	}
}
