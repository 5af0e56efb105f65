package maui

import (
	"fmt"
	"strings"
	"testing"
)

// scene is a cluster with jobs and what Maui is to tell it in its first iteration.
type scene struct {
	rule, config string
	nodes        string // name procs [ATTRIBUTE=VALUE]..., parted by ;
	jobs         string // id tasks limit [ATTRIBUTE=VALUE]..., parted by ;
	want         string
}

// ruleNow is the time of the iteration; all jobs wait since 100 s before, unless they say otherwise.
const ruleNow = 1_000_000

func (s *scene) play(t *testing.T) {
	c, warnings, err := ReadConfig(strings.NewReader(strings.ReplaceAll(s.config, "; ", "\n")))
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	var nodes []Node
	for line := range strings.SplitSeq(s.nodes, "; ") {
		f := strings.Fields(line)
		n := Node{Name: f[0], Memory: 1024, Disk: 1000, Swap: 1000}
		fmt.Sscan(f[1], &n.Procs)
		for _, a := range f[2:] {
			switch key, value, _ := strings.Cut(a, "="); key {
			case "PARTITION":
				n.Partition = value
			case "FEATURE":
				n.Features = []string{value}
			case "CCLASS":
				n.Classes = Classes(value)
			case "SPEED":
				fmt.Sscan(value, &n.Speed)
			default:
				t.Fatalf("%q", a)
			}
		}
		nodes = append(nodes, n)
	}
	var jobs []Job
	for line := range strings.SplitSeq(s.jobs, "; ") {
		f := strings.Fields(line)
		j := Job{ID: f[0], User: "u", Group: "g", Queued: ruleNow - 100}
		fmt.Sscan(f[1], &j.Tasks)
		fmt.Sscan(f[2], &j.Limit)
		for _, a := range f[3:] {
			if key, value, _ := strings.Cut(a, "="); !SetField(&j, key, value) {
				t.Fatalf("%q", a)
			}
		}
		if len(j.TaskList) > 0 {
			j.State = JobRunning
		}
		jobs = append(jobs, j)
	}
	m := New(c)
	var got []string
	for _, a := range m.Iterate(ruleNow, nodes, jobs) {
		got = append(got, strings.TrimSuffix(strings.ToLower(a.Verb), "job")+" "+a.Job+" "+strings.Join(a.TaskList, ":"))
	}
	for _, r := range m.Reservations() {
		got = append(got, fmt.Sprintf("keep %s at %d %s", r.Job, r.From-ruleNow, strings.Join(r.TaskList, ":")))
	}
	if text := strings.Join(got, "; "); text != s.want {
		t.Errorf("%s\n%s\nnodes %s\njobs  %s\ngot   %s\nwant  %s", s.rule, s.config, s.nodes, s.jobs, text, s.want)
	}
}

// TestRules holds rules of Maui 3.3.1 that no recorded scene shows: those of the
// administrator's guide, and where its conduct is known to differ that.
func TestRules(t *testing.T) {
	const two, eight = "n1 1; n2 1", "n1 1; n2 1; n3 1; n4 1; n5 1; n6 1; n7 1; n8 1"
	for _, s := range []scene{
		// limits
		{"a group's processors", "GROUPCFG[g] MAXPROC=2", eight, "a 2 10; b 1 10", "start a n8:n7"},
		{"its soft limit in the walk, its hard one in the last pass", "GROUPCFG[g] MAXPROC=2,3", eight, "a 2 10; b 1 10; c 1 10", "start a n8:n7; start b n6"},
		{"an account's jobs", "ACCOUNTCFG[x] MAXJOB=1", eight, "a 1 10 ACCOUNT=x; b 1 10 ACCOUNT=x; c 1 10", "start a n8; start c n6"}, // b loses its reservation of n7 only then
		{"the account that a user has by default", "ACCOUNTCFG[x] MAXJOB=1; USERCFG[u] ADEF=x", eight, "a 1 10; b 1 10; c 1 10 UNAME=v", "start a n8; start c n6"},
		{"a class's processors", "CLASSCFG[x] MAXPROC=1", "n1 2 CCLASS=[x:2]", "a 1 10 RCLASS=[x:1]; b 1 10 RCLASS=[x:1]", "start a n1"},
		{"DEFAULT is for who says nothing", "USERCFG[DEFAULT] MAXJOB=1; USERCFG[v] MAXJOB=2", eight, "a 1 10; b 1 10; c 1 10 UNAME=v; d 1 10 UNAME=v", "start a n8; start c n6; start d n5"},
		{"a QOS overrides", "USERCFG[DEFAULT] MAXJOB=1 QLIST=q; QOSCFG[q] OMAXJOB=2", eight, "a 1 10 QOS=q; b 1 10 QOS=q; c 1 10 QOS=q", "start a n8; start b n7"},
		{"a QOS that takes no notice of the limit of jobs", "USERCFG[DEFAULT] MAXJOB=1 QLIST=q; QOSCFG[q] QFLAGS=IGNJOBPERUSER", eight, "a 1 10 QOS=q; b 1 10 QOS=q; c 1 10", "start a n8; start b n7"},
		{"nor of any limit of users", "USERCFG[DEFAULT] MAXPROC=1 QLIST=q; QOSCFG[q] QFLAGS=IGNUSER", eight, "a 1 10 QOS=q; b 2 10 QOS=q", "start a n8; start b n7:n6"},
		{"nor of waiting ones", "USERCFG[DEFAULT] MAXIJOB=1 QLIST=q; QOSCFG[q] QFLAGS=IGNJOBQUEUEDPERUSER", eight, "a 1 10; b 1 10; c 1 10 QOS=q", "start a n8; start c n7"},
		{"the system's limit of one job", "SYSTEMMAXPROCPERJOB 1", eight, "a 2 10; b 1 10", "start b n8"},
		{"a QOS that takes no notice of it", "SYSTEMMAXPROCPERJOB 1; USERCFG[u] QLIST=q; QOSCFG[q] QFLAGS=IGNMAXPROC", eight, "a 2 10 QOS=q; b 2 10", "start a n8:n7"},
		{"the least limit of a class", "CLASSCFG[x] MIN.WCLIMIT=20", "n1 2 CCLASS=[x:2]", "a 1 10 RCLASS=[x:1]; b 1 20 RCLASS=[x:1]", "start b n1"},
		// QOS
		{"QOS of user and group add up", "USERCFG[u] QLIST=p; GROUPCFG[g] QLIST=q", two, "a 1 10 QOS=p; b 1 10 QOS=q", "start a n2; start b n1"},
		{"a list marked ^ counts alone", "USERCFG[u] QLIST=^p; GROUPCFG[g] QLIST=q", two, "a 1 10 QOS=q; b 1 10 QOS=p", "start b n2"},
		{"of lists marked & what is in both", "USERCFG[u] QLIST=p,q&; GROUPCFG[g] QLIST=q,r&", two, "a 1 10 QOS=p; b 1 10 QOS=q", "start b n2"},
		{"who may not use DEFAULT has the first that it may", "USERCFG[u] QLIST=^p; QOSCFG[p] OMAXJOB=1; USERCFG[DEFAULT] MAXJOB=9", two, "a 1 10; b 1 10", "start a n2"},
		{"the system's list and default", "SYSCFG QLIST=p QDEF=p; QOSCFG[p] OMAXJOB=1; USERCFG[DEFAULT] MAXJOB=9", two, "a 1 10; b 1 10", "start a n2"},
		{"a default that is not allowed is passed over", "USERCFG[u] QDEF=p; GROUPCFG[g] QLIST=q QDEF=q; QOSCFG[q] OMAXJOB=1; USERCFG[DEFAULT] MAXJOB=9", two, "a 1 10; b 1 10", "start a n2"},
		// priorities
		{"a component's cap", "QOSWEIGHT 1; QOSCFG[p] PRIORITY=500; QOSCFG[q] PRIORITY=900; USERCFG[DEFAULT] QLIST=p,q; CREDCAP 400", "n1 1", "a 1 10 QOS=p; b 1 10 QOS=q", "start a n1; keep b at 10 n1"},
		{"without it", "QOSWEIGHT 1; QOSCFG[p] PRIORITY=500; QOSCFG[q] PRIORITY=900; USERCFG[DEFAULT] QLIST=p,q", "n1 1", "a 1 10 QOS=p; b 1 10 QOS=q", "start b n1; keep a at 10 n1"},
		{"a target of queue time counts as reached at once", "TARGETQUEUETIMEWEIGHT 1; QOSCFG[p] QTTARGET=1:00:00; USERCFG[u] QLIST=p; PROCWEIGHT 1000; RESWEIGHT 1", "n1 4", "a 4 10; b 1 10 QOS=p", "start b n1; keep a at 10 n1:n1:n1:n1"},
		{"a user's running jobs", "UJOBWEIGHT -10; QUEUETIMEWEIGHT 100", two, "r 1 50 TASKLIST=n1 STARTTIME=999990; a 1 10; b 1 10 UNAME=v", "start b n2; keep a at 10 n2"},
		{"memory asked for", "RESWEIGHT 1; MEMWEIGHT 10", "n1 1", "a 1 10 DMEM=10; b 1 10 DMEM=20", "start b n1; keep a at 10 n1"},
		// time
		{"not before its date, and nothing is kept for it", "BACKFILLPOLICY FIRSTFIT", "n1 1", "a 1 10 STARTDATE=1000005; b 1 100", "start b n1"},
		{"a reservation slides with what is left of a limit", "BACKFILLPOLICY FIRSTFIT", two, "r 1 60 TASKLIST=n1 STARTTIME=999990; a 2 10; b 1 50; c 1 51", "start b n2; keep a at 50 n2:n1"},
		{"a limit that is not said", "BACKFILLPOLICY FIRSTFIT", two, "r 1 0 TASKLIST=n1 STARTTIME=999900; a 2 10", "keep a at 8639899 n2:n1"},
		{"that of its class", "CLASSCFG[x] DEFAULT.WCLIMIT=1:00", "n1 1 CCLASS=[x:1]; n2 1 CCLASS=[x:1]", "r 1 0 TASKLIST=n1 STARTTIME=999990 RCLASS=[x:1]; a 2 10 RCLASS=[x:1]", "keep a at 50 n2:n1"},
		// nodes
		{"a partition's nodes only", "BACKFILLPOLICY FIRSTFIT", "n1 1; n2 1 PARTITION=p", "a 2 10; b 1 10 PARTITIONMASK=p; c 1 10 PARTITIONMASK=DEFAULT", "start c n1; start b n2"},
		{"no job of several partitions", "NODECFG[n2] PARTITION=p", two, "a 2 10; b 1 10", "start b n1"},
		{"features of a class", "CLASSCFG[x] DEFAULT.FEATURES=f", "n1 1 FEATURE=f CCLASS=[x:1]; n2 1 CCLASS=[x:1]", "a 1 10 RCLASS=[x:1]; b 1 10", "start a n1; start b n2"},
		{"kept for a user", "SRCFG[s] HOSTLIST=n2 USERLIST=v PERIOD=INFINITY", two, "a 1 10; b 1 10 UNAME=v; c 1 10", "start a n1; start b n2; keep c at 10 n1"},
		{"processors of a task", "BACKFILLPOLICY FIRSTFIT", "n1 3; n2 3", "a 2 10 DPROCS=2; b 1 10 DPROCS=2; c 2 10", "start a n2:n1; start c n2:n1; keep b at 10 n2"},
		{"limits go by the speed of the slowest node", "NODEALLOCATIONPOLICY FIRSTAVAILABLE", "n1 1 SPEED=2", "a 1 100; b 1 10", "start a n1; keep b at 50 n1"},
		{"not those of jobs that ran before", "NODEALLOCATIONPOLICY FIRSTAVAILABLE", "n1 1 SPEED=2", "a 1 100 TASKLIST=n1 STARTTIME=1000000; b 1 10", "keep b at 100 n1"},
		{"unless so configured", "USEMACHINESPEED TRUE", "n1 1 SPEED=2", "a 1 100 TASKLIST=n1 STARTTIME=1000000; b 1 10", "keep b at 50 n1"},
		{"FASTEST", "NODEALLOCATIONPOLICY FASTEST", "n1 1 SPEED=2; n2 1; n3 1 SPEED=3", "a 2 60", "start a n3:n1"},
		{"PRIORITY", "NODEALLOCATIONPOLICY PRIORITY; NODECFG[n2] PRIORITY=5", eight, "a 1 60", "start a n2"},
		{"a node's most jobs", "NODECFG[n1] MAXJOB=1", "n1 4", "a 1 60; b 1 60", "start a n1; keep b at 60 n1"},
		{"nodes of one user", "NODEACCESSPOLICY SINGLEUSER", "n1 4", "a 1 60; b 1 60 UNAME=v; c 1 60", "start a n1; start c n1; keep b at 60 n1"},
		// reservations
		{"by queue time", "RESERVATIONTHRESHOLDTYPE QUEUETIME; RESERVATIONTHRESHOLDVALUE 200", two, "r 1 60 TASKLIST=n1 STARTTIME=1000000; a 2 10; b 1 500", "start b n2"},
		{"by expansion", "RESERVATIONTHRESHOLDTYPE XFACTOR; RESERVATIONTHRESHOLDVALUE 5", two, "r 1 60 TASKLIST=n1 STARTTIME=1000000; a 2 10; b 1 500", "keep a at 60 n2:n1"},
		{"a QOS without", "USERCFG[u] QLIST=q; QOSCFG[q] QFLAGS=NORESERVATION", two, "r 1 60 TASKLIST=n1 STARTTIME=1000000; a 2 10 QOS=q; b 1 500", "start b n2"},
	} {
		t.Run(s.rule, s.play)
	}
}
