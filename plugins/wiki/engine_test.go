package wiki

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/batch/maui"
	"gridbroker/plugins"
)

// TestWishes: a policy of the engine starts no job on a node that it does not
// ask for, or before its time.
func TestWishes(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	for _, c := range []struct{ what, nodes, job, want string }{
		{"hosts", "n1 CPROC=2;#n2 CPROC=2;", "HOSTLIST=n2;", "j n2"},
		{"operating system", "n1 CPROC=2;OS=a;#n2 CPROC=2;OS=b;", "ROPSYS=b;", "j n2"},
		{"architecture", "n1 CPROC=2;ARCH=a;#n2 CPROC=2;", "RARCH=b;", ""},
		{"memory of the node", "n1 CPROC=2;CMEMORY=100;#n2 CPROC=2;CMEMORY=200;", "RMEM=150;", "j n2"},
		{"less disk", "n1 CPROC=2;CDISK=100;#n2 CPROC=2;CDISK=50;", "RDISK=60;RDISKCMP=<=;", "j n2"},
		{"a class and a partition", "n1 CPROC=2;CCLASS=[b:2];#n2 CPROC=2;CCLASS=[b:2];PARTITION=p;", "RCLASS=[b:1];PARTITIONMASK=p;", "j n2"},
		{"one of two partitions", "n1 CPROC=2;PARTITION=a;#n2 CPROC=2;PARTITION=p;", "PARTITIONMASK=q:p;", "j n2"},
		{"Maui's name for no partition", "n1 CPROC=2;PARTITION=a;#n2 CPROC=2;CCLASS=[b:2];", "PARTITIONMASK=DEFAULT;", "j n2"},
		{"the only class that jobs name", "n1 CPROC=2;CCLASS=[a:2];#n2 CPROC=2;CCLASS=[b:2];", "RCLASS=[b:1];", "j n2"},
		{"a date", "n1 CPROC=2;", "STARTDATE=1000001;", ""},
		{"processors of a task", "n1 CPROC=3;#n2 CPROC=3;", "TASKS=2;DPROCS=2;", "j n1 n2"},
		{"tasks that share a node", "n1 CPROC=8;", "TASKS=4;DPROCS=2;", "j n1 n1 n1 n1"},
		{"a busy node", "n1 CPROC=2;STATE=Busy;", "", ""},
		{"what others use", "n1 CPROC=2;APROC=1;#n2 CPROC=2;", "TASKS=4;", ""},
	} {
		text := "SC=0 ARG=9#" + strings.ReplaceAll(strings.ReplaceAll(c.nodes, " CPROC", ":STATE=Idle;CPROC"), "Idle;CPROC=2;STATE=", "") + "#j:STATE=Idle;QUEUETIME=5;WCLIMIT=60;" + c.job
		r, err := ParseReply(text)
		if err != nil {
			t.Fatal(err)
		}
		var nodes []Node
		for i := range r.Records[:len(r.Records)-1] {
			nodes = append(nodes, nodeOf(&r.Records[i]))
		}
		jobs := []Job{jobOf(&r.Records[len(r.Records)-1])}
		for _, policy := range []string{"fcfs", "easy", "conservative", "slurm", "maui"} {
			decider, err := NewDecider(policy, nil)
			if err != nil {
				t.Fatal(err)
			}
			actions, err := decider.Decide(now, nodes, jobs)
			var got []string
			for _, a := range actions {
				slices.Sort(a.TaskList)
				got = append(got, a.Job+" "+strings.Join(a.TaskList, " "))
			}
			if text := strings.Join(got, "; "); err != nil || text != c.want && policy != "maui" {
				t.Errorf("%s, %s: started %q, %v; want %q", c.what, policy, text, err, c.want)
			}
		}
	}
}

// stubborn is a cluster that does not start one job.
type stubborn struct {
	*Cluster
	job   string
	err   error
	tries []string
}

func (c *stubborn) Jobs(ctx context.Context, _ time.Time) ([]Job, error) { return c.Cluster.Jobs(ctx) }

func (c *stubborn) Start(ctx context.Context, id string, tasks []string) error {
	c.tries = append(c.tries, id)
	if id == c.job {
		return c.err
	}
	return c.Cluster.Start(ctx, id, tasks)
}

// TestDefer: a job that cannot be started is left alone for a while, and does
// not keep the others waiting, whatever came of its start.
func TestDefer(t *testing.T) {
	refused := &plugins.Error{Kind: plugins.Refused, Err: &StatusError{CodeRefused, "no"}}
	uncertain := &plugins.Error{Kind: plugins.Uncertain, Err: context.DeadlineExceeded}
	for _, c := range []struct {
		err  error
		want string
	}{
		{refused, "a b a"},   // tried again after the minute
		{uncertain, "a b a"}, // nothing is known: so it is left, too
		{nil, "a b"},         // confirmed, but it waits still: two minutes
		{&plugins.Error{Kind: plugins.Unavailable, Err: context.DeadlineExceeded}, "a a a"}, // nothing was sent: the other side is away
	} {
		for _, policy := range []string{"maui", "easy"} {
			clock := time.Unix(1_000_000, 0)
			cluster := &stubborn{Cluster: NewCluster([]Node{node("n", 1)}, func() time.Time { return clock }), job: "a", err: c.err}
			for i, id := range []string{"a", "b"} {
				j := job(id, 1, 30)
				j.Queued = 999_000 + int64(i)*60
				if err := cluster.Submit(j, 30*time.Second); err != nil {
					t.Fatal(err)
				}
			}
			decider, err := NewDecider(policy, nil)
			if err != nil {
				t.Fatal(err)
			}
			l := &Loop{Cluster: cluster, Decider: decider, Now: func() time.Time { return clock }, Defer: time.Minute, Tell: func(Event) {}}
			for range 3 {
				_ = l.Round(t.Context()) // an error ends the round, as the program goes on
				clock = clock.Add(35 * time.Second)
			}
			if got := strings.Join(cluster.tries, " "); got != c.want {
				t.Errorf("%s, %v: started %q, want %q", policy, c.err, got, c.want)
			}
		}
	}
}

// TestManyWishes: what is more than one round can look at waits for the next.
func TestManyWishes(t *testing.T) {
	var jobs []Job
	for i := range maxWishes + 1 {
		j := job(fmt.Sprint("j", i), 1, 60)
		j.Hosts = []string{"n", fmt.Sprint("x", i)}
		jobs = append(jobs, j)
	}
	decider, err := NewDecider("fcfs", nil)
	if err != nil {
		t.Fatal(err)
	}
	actions, err := decider.Decide(time.Now(), []Node{node("n", 1000)}, jobs)
	if err != nil || len(actions) != maxWishes {
		t.Error(len(actions), err)
	}
	last := jobs[maxWishes:]
	if actions, err = decider.Decide(time.Now(), []Node{node("n", 1000)}, last); err != nil || len(actions) != 1 || actions[0].Verb != StartJob || last[0].State != maui.JobIdle {
		t.Error(actions, err)
	}
}
