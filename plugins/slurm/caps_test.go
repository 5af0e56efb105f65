package slurm

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestCaps: what a QOS lets have (12 processors in all, two jobs of a user) is shared by those that run and those that wait, and who wants
// more passes nobody's turn: when 927 and 935 end in one second, as in the 22.05 that was recorded, 930 starts, and when 938 has ended 947 and 948 do, before 933.
func TestCaps(t *testing.T) {
	s := taped(t, "testdata/capped")
	if got := fmt.Sprint(s.Caps); got != "[{qos and user jobs two root 2 false []} {qos cpus cpus 12 true []}]" {
		t.Error(got)
	}
	has := map[string]int{}
	for _, j := range s.Jobs {
		if j.Held || len(j.After) > 0 {
			t.Errorf("%s waits for %v, held %v", j.ID, j.After, j.Held)
		}
		for _, take := range j.Takes {
			if has[take.Cap]++; take.Amount != 1 && take.Amount != j.Procs {
				t.Errorf("%s takes %v", j.ID, take)
			}
		}
	}
	t.Log(has)
}

// TestCapsLeft: who finds enough left waits for nobody, though Slurm has not looked since, and one that wants more than all may
// have never starts; limits that Slurm does not keep to are not asked for, and those that are enough for all jobs there are not looked at.
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
	c := cluster{set: set{caps: on}, jobs: []*entry{row("1", "u", "4", "RUNNING"), row("2", "u", "9", "PENDING"), row("5", "v", "1", "PENDING"), row("6", "u", "1", "PENDING")}}
	got := c.state(time.Unix(1795235403, 0), "c")
	if all := fmt.Sprint(got.Caps); all != "[{qos and user jobs q u 2 false []} {qos cpus q 12 true []}]" { // of all else there is enough for all
		t.Error(all)
	}
	for i, want := range []string{"[{qos and user jobs q u 1} {qos cpus q 4}]", "[{qos and user jobs q u 1} {qos cpus q 9}]", "[{qos cpus q 1}]"} {
		if takes := fmt.Sprint(got.Jobs[i].Takes); takes != want {
			t.Errorf("job %d: %s", i, takes)
		}
	}
}
