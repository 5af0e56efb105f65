package slurm

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"gridbroker/batch"
)

// TestDemands: what jobs ask for of what squeue tells of them in two ways, without a Slurm:
// memory of a processor, where its letter gives that of a node or of a processor, and GPUs of
// the whole job on the nodes that it asks for, or on as few as can be.
func TestDemands(t *testing.T) {
	for _, c := range []struct {
		name     string
		row      map[byte]string
		d        demand
		mem      int64
		gpus     int
		nodes    int
		features string
		alloc    string
	}{
		{"memory of a node", map[byte]string{'C': "4", 'm': "800M"}, demand{tasks: 4}, 200, 0, 0, "", ""},
		{"of two", map[byte]string{'C': "4", 'D': "2", 'm': "800M"}, demand{tasks: 4, nodes: 2}, 400, 0, 2, "", ""},
		{"of a processor", map[byte]string{'C': "4", 'm': "800Mc"}, demand{tasks: 4}, 800, 0, 0, "", ""},
		{"as the longer column has it", map[byte]string{'C': "4", 'm': "800M"}, demand{tasks: 4, memory: 400}, 100, 0, 0, "", ""},
		{"where nodes give none away", map[byte]string{'C': "4", 'm': "800M"}, demand{tasks: 4, memory: 800}, 0, 0, 0, "", "CPUAlloc=1 AllocMem=0"},
		{"and more than one of them has", map[byte]string{'C': "4", 'm': "9000M"}, demand{tasks: 4, memory: 9000}, 2250, 0, 0, "", "CPUAlloc=1 AllocMem=0"},
		{"all of a node's where they do", map[byte]string{'C': "4", 'm': "0"}, demand{tasks: 4, memory: 8000}, 2000, 0, 0, "", "CPUAlloc=1 AllocMem=9"},
		{"with each GPU", map[byte]string{'C': "1", 'b': "gres:gpu:2", 'm': "0"}, demand{tasks: 1, ofGPU: 300, perGPU: 3}, 100, 2, 0, "", "CPUAlloc=1 AllocMem=9"},
		{"of a processor, beside GPUs", map[byte]string{'C': "2", 'b': "gres:gpu:2", 'm': "100M"}, demand{tasks: 2, memory: 200, perGPU: 1}, 100, 2, 0, "", ""},
		{"of a job that has none", map[byte]string{'C': "4", 'm': "0"}, demand{tasks: 4, memory: 400}, 0, 0, 0, "", ""},
		{"five GPUs of the job", map[byte]string{'C': "2"}, demand{tasks: 2, nodes: 1, gpus: 5, types: []string{"gpu:a"}}, 50, 3, 2, "gpu:a", ""},
		{"on the nodes it asks for", map[byte]string{'C': "5", 'D': "5"}, demand{tasks: 5, nodes: 5, gpus: 5}, 100, 1, 5, "", ""},
		{"which come first where it says so of a node", map[byte]string{'C': "1", 'b': "gres:gpu:2"}, demand{tasks: 1, nodes: 1, gpus: 5}, 100, 2, 0, "", ""},
	} {
		j := job(t, c.row)
		x := cluster{asked: map[string]demand{j.ID: c.d}, nodes: records("NodeName=a RealMemory=9000\nNodeName=b RealMemory=8000 " + c.alloc + "\n")}
		x.partsMemory()
		x.remember(&j, entryWith(c.row), largest{gpus: 4})
		if got := strings.Join(j.Features, ","); j.Memory != c.mem || j.GPUs != c.gpus || j.Nodes != c.nodes && c.nodes > 0 || got != c.features {
			t.Errorf("%s: %d MB, %d GPUs, %d nodes, %s; want %+v", c.name, j.Memory, j.GPUs, j.Nodes, got, c)
		}
	}
}

// TestQueueLimits: a partition lets a job have as many processors as its nodes let jobs have,
// where both are bounded.
func TestQueueLimits(t *testing.T) {
	for _, c := range [][3]string{{"4", "6", "4 24"}, {"4", "UNLIMITED", "4 0"}, {"UNLIMITED", "6", "0 0"}, {"1", "1", "1 1"}} {
		q := queue(map[string]string{"PartitionName": "p", "MaxNodes": c[0], "MaxCPUsPerNode": c[1]})
		if got := fmt.Sprint(q.MaxNodes, q.MaxProcs); got != c[2] {
			t.Errorf("%v: %s", c, got)
		}
	}
	q := queue(pairs("PartitionName=p AllowGroups=ALL Default=YES DefaultTime=00:10:00 MaxTime=01:00:00 State=UP"))
	if !q.Default || q.MaxWallTime != time.Hour {
		t.Errorf("%+v", q)
	}
	if q := queue(pairs("PartitionName=p Default=NO MaxTime=UNLIMITED State=UP")); q.Default || q.MaxWallTime != 0 {
		t.Errorf("%+v", q)
	}
}

// TestReadRules: what the configuration leaves to accounting is asked there, and named where
// that tells nothing; jobs are hidden from all but operators.
func TestReadRules(t *testing.T) {
	const weighs = "PrivateData = jobs\nPriorityType = priority/multifactor\nPriorityWeightFairShare = 10\nPriorityWeightQOS = 10\nSelectType = select/cons_tres\n"
	for _, c := range []struct{ config, level, shares, qos, want string }{
		{weighs, "None", "u|0.5\n", "normal|0\nhigh|50\n", "true map[u:0.5] map[high:1 normal:0] []"},
		{weighs, "Operator", "u|0.5\n", "high|50\n", "false map[u:0.5] map[high:1] []"},
		{weighs, "", "u|0.5\n", "high|50\n", "true map[u:0.5] map[high:1] []"},
		{weighs, "None", "", "", "true map[] map[] [PriorityWeightFairShare of jobs still to come: sshare tells no shares PriorityWeightQOS of jobs still to come: sacctmgr tells no QOS]"},
		{weighs, "None", "fails", "fails", "true map[] map[] [PriorityWeightFairShare of jobs still to come: sshare tells no shares PriorityWeightQOS of jobs still to come: sacctmgr tells no QOS]"},
		{"PrivateData = none\n", "None", "fails", "fails", "false map[] map[] []"},
	} {
		ask := func(_ context.Context, argv ...string) (string, error) {
			switch line := strings.Join(argv, " "); {
			case line == "id -un":
				return "me\n", nil
			case line == "scontrol show config":
				return c.config, nil
			case strings.HasPrefix(line, "scontrol"):
				return "PartitionName=p State=UP\n", nil
			case strings.HasSuffix(line, "AdminLevel") && c.level != "":
				return c.level + "\n", nil
			case argv[0] == "sshare" && c.shares != "fails":
				return c.shares, nil
			case strings.HasSuffix(line, "Name,Priority") && c.qos != "fails":
				return c.qos, nil
			}
			return "", context.DeadlineExceeded
		}
		r, _, err := readRules(t.Context(), ask)
		f := r.Policy.Slurm.Multifactor
		if got := fmt.Sprintf("%v %v %v %v", r.Hidden, f.Shares, f.QOSFactors, r.Unmodelled); err != nil || got != c.want {
			t.Errorf("%+v: %s, %v", c, got, err)
		}
	}
	if _, _, err := readRules(t.Context(), func(context.Context, ...string) (string, error) { return "", context.Canceled }); err == nil {
		t.Error("rules of a Slurm that does not answer")
	}
}

// TestOwners: nodes of jobs that share them with their own user's alone are that user's where
// it has jobs that wait, else nobody's as far as nothing runs there, until the last of the jobs ends.
func TestOwners(t *testing.T) {
	now := time.Unix(1795753387, 0)
	run := func(id, user, node string, limit time.Duration) batch.Job {
		return batch.Job{ID: id, User: user, Procs: 2, Started: now.Add(-time.Minute), Requested: limit, Placed: []batch.Placement{{Node: node, Procs: 2}}}
	}
	s := batch.State{Now: now, Nodes: []batch.Node{{Name: "n1", CPUs: 8}, {Name: "n2", CPUs: 8}, {Name: "n3", CPUs: 4}, {Name: "n4", CPUs: 8}},
		Jobs: []batch.Job{run("1", "a", "n1", time.Hour), run("2", "a", "n1", 2*time.Hour), run("3", "b", "n2", time.Hour), run("4", "c", "n3", 0), run("5", "c", "n3", 0), run("6", "d", "n4", time.Hour), {ID: "7", User: "b"}}}
	said := map[string]*entry{}
	for i := range s.Jobs {
		said[s.Jobs[i].ID] = &entry{sharing: "USER"}
	}
	said["6"].sharing = "OK"
	c := cluster{}
	c.owners(&s, said)
	var got []string
	for _, r := range s.Reservations {
		got = append(got, fmt.Sprint(r.Name, " ", r.Nodes, " each ", r.Each, " for ", r.Users, r.ByName, " ", r.End.Sub(now)))
	}
	want := []string{"node n1 [n1] each 4 for [] true 1h59m0s", "node n2 [n2] each 0 for [b] false 59m0s"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
