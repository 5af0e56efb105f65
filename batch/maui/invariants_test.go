package maui

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gridbroker/testdata/testbed"
)

// settings are lines of maui.cfg, of which a world has one of each group.
var settings = [][]string{
	{"BACKFILLPOLICY FIRSTFIT", "BACKFILLPOLICY BESTFIT", "BACKFILLPOLICY GREEDY", "BACKFILLPOLICY PREEMPT", "BACKFILLPOLICY NONE"},
	{"BACKFILLMETRIC PROCS", "BACKFILLMETRIC PROCSECONDS", "BACKFILLMETRIC SECONDS", "BACKFILLMETRIC PESECONDS"},
	{"RESERVATIONPOLICY CURRENTHIGHEST", "RESERVATIONPOLICY HIGHEST", "RESERVATIONPOLICY NEVER"},
	{"RESERVATIONDEPTH[0] 1", "RESERVATIONDEPTH[0] 0", "RESERVATIONDEPTH[0] 3", "RESERVATIONDEPTH[0] 100"},
	{"NODEALLOCATIONPOLICY LASTAVAILABLE", "NODEALLOCATIONPOLICY FIRSTAVAILABLE", "NODEALLOCATIONPOLICY MINRESOURCE", "NODEALLOCATIONPOLICY CPULOAD",
		"NODEALLOCATIONPOLICY FASTEST", "NODEALLOCATIONPOLICY PRIORITY", "NODEALLOCATIONPOLICY MAXBALANCE"},
	{"NODEACCESSPOLICY SHARED", "NODEACCESSPOLICY SHARED", "NODEACCESSPOLICY SINGLEJOB", "NODEACCESSPOLICY SINGLEUSER"},
	{"", "USERCFG[DEFAULT] MAXJOB=2", "USERCFG[DEFAULT] MAXPROC=3,6", "USERCFG[u0] MAXIJOB=1", "GROUPCFG[g] MAXPROC=8", "USERCFG[DEFAULT] MAXPS=3000"},
	{"", preemption},
	{"", "FSPOLICY DEDICATEDPS\nFSINTERVAL 100\nFSWEIGHT 1\nFSUSERWEIGHT 10\nUSERCFG[u0] FSTARGET=50\nUSERCFG[u1] FSTARGET=20-"},
	{"", "SRCFG[s] HOSTLIST=n1 USERLIST=u1 PERIOD=INFINITY", "NODECFG[n2] PARTITION=p", "NODECFG[n0] MAXJOB=1", "RESWEIGHT 1\nPROCWEIGHT 5\nMEMWEIGHT 0.3\nPSWEIGHT 0.01"},
	{"DEFERTIME 0", "DEFERTIME 60", "JOBMAXOVERRUN 10"},
}

// world is a cluster that does what it is told, and checks it.
type world struct {
	*testing.T
	rng    *rand.Rand
	config *Config
	text   string
	nodes  []Node
	jobs   []Job
	left   []int64 // run time to come, by job
	now    int64
	starts int
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{T: t, rng: rand.New(rand.NewPCG(seed, 5)), now: 1_000_000}
	var lines []string
	for _, group := range settings {
		lines = append(lines, group[w.rng.IntN(len(group))])
	}
	w.text = strings.Join(lines, "\n")
	c, warnings, err := ReadConfig(strings.NewReader(w.text))
	if err != nil || len(warnings) > 0 {
		t.Fatal(w.text, err, warnings)
	}
	w.config = c
	for i := range 2 + w.rng.IntN(4) {
		n := Node{Name: fmt.Sprint("n", i), Procs: 1 + w.rng.Int64N(4), Memory: 100 + 100*w.rng.Int64N(3), Disk: 100, Swap: 100}
		if w.rng.IntN(3) == 0 {
			n.Features = []string{"f"}
		}
		if n.Classes = map[string]int64{"b": n.Procs}; w.rng.IntN(6) == 0 {
			n.State = []NodeState{NodeBusy, NodeDraining, NodeDown}[w.rng.IntN(3)]
		}
		if w.rng.IntN(4) == 0 {
			n.Speed = 2
		}
		w.nodes = append(w.nodes, n)
	}
	for i := range 6 + w.rng.IntN(20) {
		j := Job{ID: fmt.Sprint("j", i), User: fmt.Sprint("u", w.rng.IntN(3)), Group: "g", Tasks: 1 + w.rng.Int64N(4), Limit: 20 + w.rng.Int64N(400),
			Queued: w.now - 100 + w.rng.Int64N(500)}
		switch w.rng.IntN(8) {
		case 0:
			j.TaskProcs = 2
		case 1:
			j.Memory = 80
		case 2:
			j.Features = []string{"f"}
		case 3:
			j.Class = "b"
		case 4:
			j.Begin = j.Queued + 50
		case 5:
			j.QOS = "hi"
		case 6:
			j.Hosts = []string{"n0"}
		}
		w.jobs, w.left = append(w.jobs, j), append(w.left, 1+w.rng.Int64N(j.Limit+20))
	}
	return w
}

// fail tells what was wrong in which world.
func (w *world) fail(format string, args ...any) {
	w.Helper()
	w.Fatalf("at %d: %s\n%s\nnodes %+v\njobs %+v", w.now-1_000_000, fmt.Sprintf(format, args...), w.text, w.nodes, w.jobs)
}

// obey does what the scheduler says.
func (w *world) obey(a Action) {
	i := slices.IndexFunc(w.jobs, func(j Job) bool { return j.ID == a.Job })
	j := &w.jobs[i]
	switch a.Verb {
	case "STARTJOB":
		if j.State != JobIdle || j.Begin > w.now || j.Queued > w.now || int64(len(a.TaskList)) != j.Tasks {
			w.fail("%+v of %+v", a, j)
		}
		j.State, j.Started, j.TaskList = JobRunning, w.now, a.TaskList
		w.starts++
		w.suits(j)
	case "SUSPENDJOB":
		if j.State != JobRunning {
			w.fail("%+v of %+v", a, j)
		}
		j.State = JobSuspended
	case "RESUMEJOB":
		if j.State != JobSuspended {
			w.fail("%+v of %+v", a, j)
		}
		j.State = JobRunning
	case "CANCELJOB":
		w.left[i] = 0
	}
}

// suits checks that a job runs where it asked to.
func (w *world) suits(j *Job) {
	for _, name := range j.TaskList {
		i := slices.IndexFunc(w.nodes, func(n Node) bool { return n.Name == name })
		if i < 0 || w.nodes[i].State == NodeDown || w.nodes[i].State == NodeDraining || w.nodes[i].State == NodeBusy ||
			len(j.Features) > 0 && !slices.Contains(w.nodes[i].Features, j.Features[0]) || len(j.Hosts) > 0 && name != j.Hosts[0] {
			w.fail("%s runs on %s", j.ID, name)
		}
		if len(w.config.Standing) > 0 && name == "n1" && j.User != "u1" {
			w.fail("%s of %s runs on what is kept for u1", j.ID, j.User)
		}
	}
}

// room checks that no node has more than it can hold, and no credential.
func (w *world) room(began map[string]bool) {
	use, jobs, owners := map[string][2]int64{}, map[string]int{}, map[string]string{}
	procs, count := map[string]int64{}, map[string]int64{}
	for i := range w.jobs {
		j := &w.jobs[i]
		if j.State != JobRunning {
			continue
		}
		each := max(1, j.TaskProcs)
		procs[j.User], procs["g"], count[j.User] = procs[j.User]+j.Tasks*each, procs["g"]+j.Tasks*each, count[j.User]+1
		for _, n := range j.TaskList {
			use[n] = [2]int64{use[n][0] + each, use[n][1] + j.Memory}
		}
		for _, n := range slices.Compact(slices.Sorted(slices.Values(j.TaskList))) {
			if jobs[n]++; w.config.Access == "SINGLEJOB" && jobs[n] > 1 || w.config.Access == "SINGLEUSER" && owners[n] != "" && owners[n] != j.User {
				w.fail("%s is not alone on %s", j.ID, n)
			}
			owners[n] = j.User
		}
	}
	for _, n := range w.nodes {
		if use[n.Name][0] > n.Procs || use[n.Name][1] > n.Memory {
			w.fail("%s: %v used", n.Name, use[n.Name])
		}
		if most := w.config.Nodes[n.Name].MaxJobs; most > 0 && jobs[n.Name] > most {
			w.fail("%s: %d jobs", n.Name, jobs[n.Name])
		}
	}
	limits := w.config.Users.find("DEFAULT").Active.Hard
	for _, j := range w.jobs {
		if !began[j.ID] {
			continue
		}
		if most := limits[limitJobs]; most > 0 && count[j.User] > most {
			w.fail("%s: %d jobs", j.User, count[j.User])
		}
		if most := limits[limitProcs]; most > 0 && procs[j.User] > most {
			w.fail("%s: %d processors", j.User, procs[j.User])
		}
		if most := w.config.Groups.find("g").Active.Hard[limitProcs]; most > 0 && procs["g"] > most {
			w.fail("the group: %d processors", procs["g"])
		}
	}
}

// round is one iteration and what comes of it; false: nothing is left.
func (w *world) round(s, twin *Scheduler) bool {
	list := slices.DeleteFunc(slices.Clone(w.jobs), func(j Job) bool { return j.Queued > w.now })
	nodes := slices.Clone(w.nodes)
	actions := s.Iterate(w.now, nodes, list)
	if other := twin.Iterate(w.now, nodes, list); !reflect.DeepEqual(actions, other) || !reflect.DeepEqual(s.Reservations(), twin.Reservations()) {
		w.fail("the same twice: %+v, then %+v", actions, other)
	}
	began := map[string]bool{}
	for _, a := range actions {
		w.obey(a)
		began[a.Job] = a.Verb == "STARTJOB"
	}
	w.room(began)
	step := 1 + w.rng.Int64N(30)
	w.now += step
	for i := range w.jobs {
		if w.jobs[i].State == JobRunning {
			w.left[i] -= step
		}
	}
	var jobs []Job
	var left []int64
	for i := range w.jobs {
		if w.left[i] > 0 {
			jobs, left = append(jobs, w.jobs[i]), append(left, w.left[i])
		}
	}
	w.jobs, w.left = jobs, left
	return len(jobs) > 0
}

// TestInvariants: whatever is configured, jobs start once, when and where they
// may, nodes hold no more than they can, hard limits hold, and the same input has
// the same answer.
func TestInvariants(t *testing.T) {
	testbed.Computes(t)
	worlds, rounds, starts := uint64(150), 0, 0
	if testing.Short() {
		worlds = 30
	}
	for seed := range worlds {
		w := newWorld(t, seed)
		s, twin := New(w.config), New(w.config)
		for range 100 {
			if rounds++; !w.round(s, twin) {
				break
			}
		}
		starts += w.starts
	}
	t.Logf("%d iterations of %d worlds, %d starts", rounds, worlds, starts)
	if starts < int(worlds) {
		t.Errorf("%d starts in %d worlds", starts, worlds)
	}
}

// preemption is what has a preemptor hi and a preemptee lo.
const preemption = "PREEMPTPOLICY SUSPEND\nQOSWEIGHT 1\nQOSCFG[hi] PRIORITY=1000 QFLAGS=PREEMPTOR\nQOSCFG[lo] QFLAGS=PREEMPTEE\nUSERCFG[DEFAULT] QLIST=hi,lo QDEF=lo\n"

// TestPreemption: nobody is suspended for a job that cannot start then, and
// nobody resumed where only a part of it has room.
func TestPreemption(t *testing.T) {
	running := func(id string, tasks int64, on ...string) Job {
		return Job{ID: id, User: "u", Tasks: tasks, Limit: 100, Started: 990, State: JobRunning, TaskList: on}
	}
	high := func(tasks, memory int64, hosts ...string) Job {
		return Job{ID: "h", User: "u", QOS: "hi", Tasks: tasks, Memory: memory, Limit: 100, Queued: 900, Hosts: hosts}
	}
	suspended := running("s", 3, "n1", "n1", "n2")
	suspended.State = JobSuspended
	nodes := []Node{{Name: "n1", Procs: 3, Memory: 100, State: NodeRunning}, {Name: "n2", Procs: 3, Memory: 100, State: NodeRunning}}
	for _, c := range []struct {
		what, config string
		jobs         []Job
		want         string
	}{
		{"room after all", "", []Job{running("r", 3, "n1", "n1", "n1"), running("q", 3, "n2", "n2", "n2"), high(2, 0)}, "SUSPENDJOB r; STARTJOB h"},
		{"not enough memory", "", []Job{running("r", 3, "n1", "n1", "n1"), running("q", 3, "n2", "n2", "n2"), high(4, 60)}, ""},
		{"hosts that do not suffice", "", []Job{running("r", 3, "n1", "n1", "n1"), running("q", 3, "n2", "n2", "n2"), high(2, 0, "n1")}, ""},
		{"nodes for one user", "NODEACCESSPOLICY SINGLEUSER", []Job{running("r", 2, "n1", "n1"), {ID: "o", User: "v", QOS: "hi", Tasks: 1, Limit: 100, Started: 990,
			State: JobRunning, TaskList: []string{"n1"}}, running("q", 3, "n2", "n2", "n2"), high(1, 0)}, "SUSPENDJOB q; STARTJOB h"},
		{"as many as before", "", []Job{suspended, running("r", 1, "n1")}, "RESUMEJOB s"},
		{"one task too many", "", []Job{suspended, running("r", 2, "n1", "n1")}, ""},
		{"nor does it count as waiting", "USERCFG[DEFAULT] MAXIJOB=1", []Job{{ID: "w", User: "u", Tasks: 9, Limit: 100, Queued: 1}, suspended}, "RESUMEJOB s"},
	} {
		config, _, err := ReadConfig(strings.NewReader(preemption + c.config))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range New(config).Iterate(1000, nodes, c.jobs) {
			got = append(got, a.Verb+" "+a.Job)
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s: %q, want %q", c.what, text, c.want)
		}
	}
}
