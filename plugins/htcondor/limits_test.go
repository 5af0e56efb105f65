package htcondor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gridbroker/batch"
)

// TestConcurrencyLimits: of jobs that take a part of what a concurrency limit gives, or of the quota of a group that takes nothing beyond it, so many run at once as it gives, those that run already included; a limit that the
// negotiator does not define is its default, and who takes more than there is does not start. What the negotiator says is as a 23.9 says it.
func TestConcurrencyLimits(t *testing.T) {
	slots := "["
	for i := range 9 {
		slots += fmt.Sprintf(`{"Name":"slot%d@node","State":"Unclaimed","TotalSlotCpus":1,"TotalSlotMemory":1000,"Cpus":1,"Memory":1000},`, i+1)
	}
	slots = slots[:len(slots)-1] + "]"
	jobs := func(asks string, n int) string {
		text := `[{"ClusterId":9,"ProcId":0,"JobStatus":1,"JobUniverse":5,"RequestCpus":1,"QDate":1796068000,"AllowedJobDuration":100}`
		for i := range n {
			state := `"JobStatus":1`
			if i == 0 {
				state = `"JobStatus":2,"JobCurrentStartDate":1796068020,"RemoteHost":"slot1@node"`
			}
			text += fmt.Sprintf(`,{"ClusterId":2,"ProcId":%d,%s,"JobUniverse":5,"RequestCpus":1,"QDate":1796068000,"AllowedJobDuration":100,%s}`, i, state, asks)
		}
		return text + "]"
	}
	now := time.Unix(1796068020, 0)
	const any = "2308032\n"
	for _, c := range []struct{ limits, says, want string }{
		{"lica", any + "2\nNot defined\n", "map[0:2 100:2]"}, // one that has no limit, and one beside the one that runs
		{"lica:2", any + "5\nNot defined\n", "map[0:2 100:2]"},
		{"lica", any + "Not defined\nNot defined\n", "map[0:4]"},
		{"lica", "1\nNot defined\nNot defined\n", "map[0:1 100:1 200:1 300:1]"},
		{"big.sw", any + "Not defined\n3\n", "map[0:3 100:1]"},
		{"lica,licb:2", any + "3\nNot defined\n4\nNot defined\n", "map[0:2 100:2]"},
		{"lica:3", any + "2\nNot defined\n", "map[0:1]"},
		{"group Group_A", "", "map[0:2 100:2]"},
		{"group group_a.cms", "", "map[0:2 100:2]"},                                                                         // of the group above
		{"group group_b", "", "map[0:4]"},                                                                                   // it takes what others leave
		{`lica","TotalSubmitProcs":6,"JobMaterializeNextProcId":4,"x":"`, any + "2\nNot defined\n", "map[0:2 100:2 200:2]"}, // two are still to be made
		{"group group_x", "", "map[0:4]"},
	} {
		asks := `"ConcurrencyLimits":"` + c.limits + `"`
		if group, ok := strings.CutPrefix(c.limits, "group "); ok {
			asks = `"AcctGroup":"` + group + `"`
		}
		q := poolOf(slots, jobs(asks, 4), now)
		q.site.Machine.(neighbours)["condor_config_val"] = c.says
		q.site.Machine.(neighbours)["condor_userprio"] = "<none> 16.0 byquota\ngroup_a 2.0 no\ngroup_b 2.0 byquota\n"
		s, err := q.Queue(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		f := batch.Forecaster{Policy: batch.Policy{Name: "fcfs"}}
		out, err := f.Forecast(s)
		if err != nil {
			t.Fatal(err)
		}
		starts := map[int]int{}
		for _, j := range out.Jobs {
			starts[int(j.Start.Sub(now).Seconds())]++
		}
		if got := fmt.Sprint(starts); got != c.want {
			t.Errorf("%s, %q: starts %s, want %s", c.limits, c.says, got, c.want)
		}
	}
}
