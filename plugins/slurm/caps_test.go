package slurm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/batch"
)

// TestCaps: what a QOS lets have (12 processors in all, two jobs of a user) is shared by those that run and those that wait, and who wants
// more passes nobody's turn: when 927 and 935 end in one second, as in the 22.05 that was recorded, 930 starts, and when 938 has ended 947 and 948 do, before 933.
func TestCaps(t *testing.T) {
	s := taped(t, "testdata/capped")
	if got := limitsTold(s.Caps); got != "[{qos and user jobs two root 2 false []} {qos cpus cpus 12 true []}]" {
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

// limitsTold and takesTold say what there is, and is taken, of what is not of running jobs' time.
func limitsTold(caps []batch.Cap) string {
	list := make([]string, len(caps))
	for i, c := range caps {
		list[i] = fmt.Sprint("{", c.Name, " ", c.Most, " ", c.Planned, " ", c.Later, "}")
	}
	return fmt.Sprint(list)
}

func takesTold(takes []batch.Take) string {
	list := make([]string, len(takes))
	for i, t := range takes {
		list[i] = fmt.Sprint("{", t.Cap, " ", t.Amount, " ", t.Free, "}")
	}
	return fmt.Sprint(list)
}

// TestCapsLeft: who finds enough left waits for nobody, though Slurm has not looked since, and one that wants more than all may
// have never starts; limits that Slurm does not keep to are not asked for, and those that are enough for all jobs there are not looked at.
func TestCapsLeft(t *testing.T) {
	ask := func(_ context.Context, argv ...string) (string, error) {
		switch got := strings.Join(argv, " "); got {
		case "sacctmgr --noheader --parsable2 show qos format=Name,GrpTRES,GrpJobs,MaxTRESPU,MaxJobsPU,MaxTRESPA,MaxJobsPA,Flags,GrpTRESRunMins,MaxTRESRunMinsPU,MaxTRESRunMinsPA":
			return "normal||||||||||\nq|cpu=12,mem=4G,gres/gpu=2,node=9|||2|cpu=30|5|DenyOnLimit,OverPartQOS|||\n", nil
		case "sacctmgr --noheader --parsable2 show assoc where cluster=c format=Account,User,Partition,ParentName,GrpTRES,GrpJobs,MaxJobs,GrpTRESRunMins":
			return "root||||cpu=200|||\nphys|||root|cpu=100|9|4|\nphys|u||||3|4|\nphys|u|p|||7||\n", nil
		default:
			t.Error(got)
			return "", nil
		}
	}
	if off := capsOf(t.Context(), ask, settings{"AccountingStorageEnforce": "associations"}); off != nil {
		t.Error(off)
	}
	on := capsOf(t.Context(), ask, settings{"AccountingStorageEnforce": "associations,limits,qos", "ClusterName": "c"})
	if got := fmt.Sprint(on.qos, on.first); got != "map[q:map[qos and account cpus:30 qos and account jobs:5 qos and user jobs:2 qos cpus:12 qos gpus:2 qos memory:4096 qos nodes:9]] map[q:true]" {
		t.Error(got)
	}
	if got := fmt.Sprint(on.accounts, on.users, on.parents); got != "map[phys:map[account cpus:100 account jobs:9] root:map[account cpus:200]] map[phys u:map[account and user jobs:3] phys u p:map[account and user jobs:7]] map[phys:root root:]" {
		t.Error(got)
	}
	row := func(id, user, cpus, state string) *entry {
		return entryWith(map[byte]string{'i': id, 'u': user, 'C': cpus, 'T': state, 'q': "q", 'S': "1795235402", 'N': "n1", 'm': "1M", 'r': "Priority"})
	}
	c := cluster{set: set{caps: on}, jobs: []*entry{row("1", "u", "4", "RUNNING"), row("2", "u", "9", "PENDING"), row("5", "v", "1", "PENDING"), row("6", "u", "1", "PENDING")}}
	got := c.state(time.Unix(1795235403, 0), "c")
	if all := limitsTold(got.Caps); all != "[{qos and user jobs q u 2 false []} {qos cpus q 12 true []}]" { // of all else there is enough for all
		t.Error(all)
	}
	for i, want := range []string{"[{qos and user jobs q u 1 false} {qos cpus q 4 false}]", "[{qos and user jobs q u 1 false} {qos cpus q 9 false}]", "[{qos cpus q 1 false}]"} {
		if takes := takesTold(got.Jobs[i].Takes); takes != want {
			t.Errorf("job %d: %s", i, takes)
		}
	}
}

// TestClaims: jobs have the limits of the QOS of their partition, and of accounts above their own. The rows are what a 22.05 said where partition pq has a QOS of six
// processors and one job of a user, all accounts together 24 processors, account phys 7 jobs, QOS normal 8 jobs of a user (so that 42
// runs beside 41, whose user may have one of its account), and QOS high 20 processors (so that 47 runs). The starts are those that came.
func TestClaims(t *testing.T) {
	s := taped(t, "testdata/claims")
	if got := limitsTold(s.Caps); got != "[{account cpus dept 24 true []} {account jobs phys 7 false []} {qos and user jobs normal root 8 false []} {qos and user jobs pqos ann 1 false []} {qos and user jobs pqos root 1 false []} {qos cpus pqos 6 true []}]" {
		t.Error(got)
	}
	for _, j := range s.Jobs { // the QOS of the partition binds 32 in its place
		if take := (batch.Take{Cap: "qos and user jobs normal root", Amount: 1, Free: true}); j.ID == "32" && !slices.Contains(j.Takes, take) {
			t.Errorf("%+v", j.Takes)
		}
	}
	runs := map[string]int{"31": 20, "32": 20, "33": 10, "34": 25, "35": 15, "36": 15, "37": 34, "38": 30, "39": 16, "40": 40, "41": 12, "42": 12, "43": 22, "44": 22, "45": 10, "46": 14, "47": 14}
	for i := range s.Jobs {
		s.Jobs[i].Requested = time.Duration(runs[s.Jobs[i].ID]) * time.Second
	}
	_, starts := foretold(t, s)
	for id, came := range map[string]int{"32": 17, "33": 38, "35": 22, "36": 38, "46": 12} {
		if off := starts[id] - came; off < -2 || off > 2 {
			t.Errorf("%s started after %d s, foretold %d", id, came, starts[id])
		}
	}
}

// TestClaimsOfOnePartition: of limits of one kind the first binds: of the QOS of the partition, or that of the job where it says so, then of the association, which may be
// of one partition. What does not bind a job counts it when it runs.
func TestClaimsOfOnePartition(t *testing.T) {
	c := &caps{qos: map[string]allowance{"own": {"qos jobs": 5, "qos and user cpus": 8}, "part": {"qos jobs": 3}}, first: map[string]bool{},
		accounts: map[string]allowance{"a": {"account jobs": 4, "account nodes": 2}, "b": {"account gpus": 1, "account nodes": 9}},
		users:    map[string]allowance{"a u": {"account and user jobs": 1}, "a u p": {"account and user jobs": 2}}, parents: map[string]string{"a": "b", "b": "a"}}
	told := func(j batch.Job, partition string) (all []string) {
		for _, l := range c.claims(&j, partition)[:8] {
			all = append(all, fmt.Sprint(l.what, " ", l.amount, "/", l.most, " ", l.binds))
		}
		return all
	}
	j := batch.Job{User: "u", Account: "a", QOS: "own", Queue: "p", Procs: 4, Nodes: 2, GPUs: 1}
	want := "[qos jobs part 1/3 true qos jobs own 1/5 false qos and user cpus own u 4/8 true account and user jobs a u p 1/2 true account jobs a 1/4 false account nodes a 2/2 true account nodes b 2/9 true account gpus b 2/1 true]"
	if got := fmt.Sprint(told(j, "part")); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	c.first["own"], j.Queue = true, "other"
	want = "[qos jobs own 1/5 true qos and user cpus own u 4/8 true qos jobs part 1/3 false account and user jobs a u 1/1 true account jobs a 1/4 false account nodes a 2/2 true account nodes b 2/9 true account gpus b 2/1 true]"
	if got := fmt.Sprint(told(j, "part")); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestStillToRun: a limit on what running jobs still have to run (GrpTRESRunMins of a QOS, 20 minutes of processors) binds by what Slurm counted
// of them last, each PriorityCalcPeriod from its start on. The starts are those that came at a 22.05; 41 and 50 want more than there ever is.
func TestStillToRun(t *testing.T) {
	s := taped(t, "testdata/stilltorun")
	runs := map[string]int{"44": 100, "45": 70, "46": 200, "47": 20, "48": 20, "49": 20, "51": 20, "52": 20}
	f := batch.Forecaster{Policy: batch.Policy{Name: "slurm", Slurm: batch.Slurm{Interval: 3e9, Window: 336 * 3600e9, MaxJobTest: 5000}}, Belief: slept{runs, s}}
	out, err := f.Forecast(s)
	if err != nil {
		t.Fatal(err)
	}
	came := map[string]int{"47": 21, "49": 42, "48": 68, "51": 197}
	for _, e := range out.Jobs {
		if at, ok := came[e.ID]; !ok || int(e.Start.Sub(s.Now).Seconds()) < at-2 || int(e.Start.Sub(s.Now).Seconds()) > at+2 {
			t.Errorf("%s starts %v, want %d s", e.ID, e.Start.Sub(s.Now), at)
		}
	}
	refused := ""
	for _, r := range out.Refused {
		refused += r.ID + " " + string(r.Cause) + " "
	}
	if len(out.Jobs) != len(came) || refused != "41 limit 50 limit " {
		t.Errorf("%d start, refused %s", len(out.Jobs), refused)
	}
}

// slept is the belief of who knows for how many seconds jobs sleep; Slurm sees an end a second later.
type slept struct {
	runs map[string]int
	of   batch.State
}

// Run implements batch.Belief.
func (b slept) Run(t *batch.Task, elapsed int64) int64 {
	return max(int64(b.runs[b.of.Jobs[t.ID].ID])+1, elapsed+1)
}

// Learn implements batch.Belief.
func (slept) Learn(*batch.Task) {}

// TestMinutesAsked: limits of running minutes are read of QOS and associations; one of a QOS overrules that of an association of the same kind.
func TestMinutesAsked(t *testing.T) {
	c := &caps{qos: map[string]allowance{}, first: map[string]bool{}, accounts: map[string]allowance{}, users: map[string]allowance{}, parents: map[string]string{}}
	c.readQOS("q|||||||Flags|cpu=10,gres/gpu=2|mem=1G|\nnone|||||||||||\n")
	c.readAssociations("phys||||||4|cpu=5,gres/gpu=1\nphys|u||||||node=3\n")
	if got := fmt.Sprint(c.qos["q"], c.accounts["phys"], c.users["phys u"]); got != "map[qos and user memory seconds:61499 qos cpus seconds:659 qos gpus seconds:179] map[account cpus seconds:359 account gpus seconds:119] map[account and user nodes seconds:239]" {
		t.Error(got)
	}
	said := ""
	for _, l := range c.claims(&batch.Job{Account: "phys", User: "u", QOS: "q", Procs: 2, Memory: 100, Requested: 90 * time.Second}, "") {
		said += fmt.Sprint(l.what, " ", l.amount, " ", l.rate, " ", l.binds, "; ")
	}
	if said != "qos cpus seconds q 180 2 true; qos and user memory seconds q u 18000 200 true; account and user nodes seconds phys u 90 1 true; account cpus seconds phys 180 2 false; " {
		t.Error(said)
	}
}
