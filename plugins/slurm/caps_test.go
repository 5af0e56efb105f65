package slurm

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestCaps: what a QOS lets have (12 processors in all, two jobs of a user) is known, so that who waits does so for those
// ends only that leave enough, by limits, and passes by others that want more: 947 and 948 before 930. In the 22.05 that was recorded
// 927 and 935 then ended in one second, which let 930 start, and 947 and 948 did when 938 had ended, before 933.
func TestCaps(t *testing.T) {
	want := map[string]string{"947": "[{927 end}]", "948": "[{927 end} {947 end}]", "949": "[{948 end}]", "938": "[{935 end}]", "930": "[{929 end} {938 end}]",
		"933": "[{930 end}]", "950": "[{934 end}]", "941": "[{928 end}]", "942": "[]"}
	for _, j := range taped(t, "testdata/capped").Jobs {
		w, ok := want[j.ID]
		if got := strings.ReplaceAll(fmt.Sprint(j.After), " 0s}", "}"); ok && j.Started.IsZero() && got != w {
			t.Errorf("%s waits for %s, want %s", j.ID, got, w)
		}
		delete(want, j.ID)
	}
	if len(want) > 0 {
		t.Errorf("without %v", want)
	}
}

// TestCapsLeft: who finds enough left waits for nobody, though Slurm has not looked since, and one that wants more than all may
// have never starts; limits that Slurm does not keep to are not asked for.
func TestCapsLeft(t *testing.T) {
	ask := func(_ context.Context, argv ...string) (string, error) {
		if got := strings.Join(argv, " "); got != "sacctmgr --noheader --parsable2 show qos format=Name,GrpTRES,GrpJobs,MaxTRESPU,MaxJobsPU,MaxTRESPA,MaxJobsPA" {
			t.Error(got)
		}
		return "normal||||||\nq|cpu=12,mem=4G,gres/gpu=2,node=9|||2|cpu=30|5\n", nil
	}
	if off := capsOf(t.Context(), ask, settings{"AccountingStorageEnforce": "associations"}); off != nil {
		t.Error(off)
	}
	on := capsOf(t.Context(), ask, settings{"AccountingStorageEnforce": "associations,limits,qos"})
	if got := fmt.Sprint(on); got != "map[q:map[qos and account cpus:30 qos and account jobs:5 qos and user jobs:2 qos cpus:12 qos gpus:2 qos memory:4096 qos nodes:9]]" {
		t.Error(got)
	}
	row := func(id, user, cpus, state string) *entry {
		return entryWith(map[byte]string{'i': id, 'u': user, 'C': cpus, 'T': state, 'q': "q", 'S': "1795235402", 'N': "n1", 'm': "1M", 'r': "Priority"})
	}
	c := cluster{set: set{caps: on}, jobs: []*entry{row("1", "u", "4", "RUNNING"),
		row("2", "u", "9", "PENDING"), row("3", "u", "8", "PENDING"), row("4", "u", "13", "PENDING"), row("5", "v", "1", "PENDING")}}
	want := map[string]string{"2": "[{1 end} {3 end}] false", "3": "[] false", "4": "[] true", "5": "[{1 end}] false"}
	for _, j := range c.state(time.Unix(1795235403, 0), "c").Jobs {
		if got := strings.ReplaceAll(fmt.Sprint(j.After, j.Held), " 0s}", "}"); j.Started.IsZero() && got != want[j.ID] {
			t.Errorf("%s: %s, want %s", j.ID, got, want[j.ID])
		}
	}
}
