package wiki

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/batch/maui"
	"gridbroker/glue"
	"gridbroker/plugins/plugintest"
	"gridbroker/testdata/testbed"
)

// TestGPUsAndSpeed: GPUs and SPEED come through the wire, to the engine and into
// what is published.
func TestGPUsAndSpeed(t *testing.T) {
	slow, fast := node("n1", 4), node("n2", 4)
	slow.Speed, fast.Speed, fast.GPUs = 1.5, 3, 2
	c := NewCluster([]Node{slow, fast}, time.Now)
	asks := job("a", 2, 600)
	asks.GPUs, asks.TasksPerNode = 1, 2
	if err := c.Submit(asks, 0); err != nil {
		t.Fatal(err)
	}
	b, raw := opened(t, c, "42")
	if r := plugintest.Only(t, b, raw); r.GPUs != glue.Some[int64](2) || r.Benchmarks["hep-spec06"] != 15 {
		t.Errorf("published: %v GPUs, %v", r.GPUs, r.Benchmarks)
	}
	s, _ := b.site(raw)
	nodes, err := s.client.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := s.client.Jobs(t.Context(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if st := StateOf("x", time.Now(), nodes, jobs); st.Nodes[1].GPUs != 2 || st.Jobs[0].GPUs != 2 {
		t.Errorf("for the engine: %+v", st)
	}
	actions, err := Maui{maui.New(maui.NewConfig())}.Decide(time.Now(), nodes, jobs)
	if err != nil || len(actions) != 1 || !reflect.DeepEqual(actions[0].TaskList, []string{"n2", "n2"}) {
		t.Errorf("started: %v, %v", actions, err)
	}
	for text, want := range map[string]int64{"gpu:2": 2, "gpu:a100:4,gpu:k80:1": 5, "disk:5": 0, "gpu": 1, "gpu:x": 0, "gpu:-1": 0, "GPUS:3": 3} {
		if got := gpus(text); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

// TestPresentedGPUs: GPUs are asked for by the node, and what a task asks for binds.
func TestPresentedGPUs(t *testing.T) {
	j := presentedJob(&batch.Job{ID: "1", Procs: 8, Nodes: 2, GPUs: 2, Memory: 100})
	if j.Tasks != 2 || j.TaskProcs != 4 || j.GPUs != 2 || j.Memory != 400 {
		t.Errorf("%+v", j)
	}
	if j := presentedJob(&batch.Job{ID: "1", Procs: 3, Nodes: 2, GPUs: 2}); j.Tasks != 3 || j.GPUs != 2 {
		t.Errorf("%+v", j)
	}
}

// TestTooMuchToSumUp: an answer whose tasks and queues multiply is refused before
// it takes long, one that is merely large is not.
func TestTooMuchToSumUp(t *testing.T) {
	testbed.Computes(t)
	classes := map[string]int64{}
	for i := range maxShares {
		classes[fmt.Sprint("c", i)] = 1
	}
	r := &reading{at: time.Now()}
	for i := range 2000 {
		n := node(fmt.Sprint("n", i), 1)
		n.Classes = classes
		r.nodes = append(r.nodes, n)
	}
	all := make([]string, 0, 2*len(r.nodes))
	for i := range r.nodes {
		all = append(all, r.nodes[i].Name, r.nodes[i].Name)
	}
	add := func(n int) {
		for i := range n {
			j := job(fmt.Sprint("j", i), 1, 10)
			j.State, j.TaskList = maui.JobRunning, all
			r.jobs = append(r.jobs, j)
		}
	}
	sum := func() error {
		list, err := sharesOf(r.nodes)
		if err != nil {
			t.Fatal(err)
		}
		err = count(list, r)
		if err == nil && (list[0].running != int64(len(r.jobs)) || list[0].used != int64(len(all)*len(r.jobs))) {
			t.Errorf("%d run on %d slots", list[0].running, list[0].used)
		}
		return err
	}
	add(3)
	if err := sum(); err != nil {
		t.Error(err)
	}
	add(10000)
	if err := sum(); err == nil || !strings.Contains(err.Error(), "too many") {
		t.Error(err)
	}
}

// TestPresentedQueues: a node that names no queue serves all of them, so that a
// job of one of them starts there.
func TestPresentedQueues(t *testing.T) {
	now := time.Now()
	p := &Presented{Reader: stated{batch.State{
		Now: now, Nodes: []batch.Node{{Name: "n", CPUs: 2, Up: true}}, Queues: []batch.Queue{{Name: "q"}},
		Jobs: []batch.Job{{ID: "1", Queue: "q", Procs: 1, User: "u", Submitted: now}},
	}}}
	nodes, err := p.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := p.Jobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := (Maui{maui.New(maui.NewConfig())}).Decide(now, nodes, jobs); err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

// stated is a batch system that is in one state.
type stated struct{ batch.State }

func (s stated) Queue(context.Context) (batch.State, error) { return s.State, nil }
