package agent

import (
	"context"
	"errors"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/wire"
	"gridbroker/plugins"
	"gridbroker/plugins/forecast"
	"gridbroker/testdata/testbed"
)

// told is a batch system that tells its rules.
type told struct {
	rules plugins.Rules
	err   error
	asked int
}

// Rules implements plugins.RulesReader.
func (r *told) Rules(context.Context) (plugins.Rules, error) {
	r.asked++
	return r.rules, r.err
}

// veiled shows of some users what runs, as nobody's, and not what waits.
type veiled struct{ *cluster }

// Queue implements plugins.QueueReader.
func (v veiled) Queue(ctx context.Context) (batch.State, error) {
	s, err := v.cluster.Queue(ctx)
	jobs := s.Jobs
	s.Jobs = nil
	for _, j := range jobs {
		if j.User == "u0" || j.User == "u5" || j.User == "u9" {
			if j.Started.IsZero() {
				continue
			}
			j.User = ""
		}
		s.Jobs = append(s.Jobs, j)
	}
	return s, err
}

func follower(t *testing.T, policy string, seed uint64) *bettor {
	t.Helper()
	b := &bettor{cluster: clusterOf(t, seed, policy), told: map[string]forecast.Start{}}
	centre := httptest.NewServer(&centre{t: t, jobs: map[string]wire.Entry{}})
	t.Cleanup(centre.Close)
	b.agent = b.hire("", centre.URL)
	return b
}

// An agent at a batch system that does not say its policy finds it out, says how
// sure it is, and knows it still when it is started again.
func TestInferredPolicy(t *testing.T) {
	testbed.Computes(t)
	for _, truth := range []string{"fcfs", "easy", "easy-sjbf"} {
		b := follower(t, truth, 5)
		b.agent.Infer = true
		b.live(200)
		if got := b.agent.Forecast.Policy.Name; got != truth {
			t.Errorf("of %s it is found to be %s: %v", truth, got, b.agent.fit.Weights())
		}
		if text := metrics(t, b.agent); !strings.Contains(text, `grid_agent_policy_weight{policy="`+truth+`"}`) || !strings.Contains(text, "grid_agent_policy_misses 0") {
			t.Errorf("figures of %s:\n%s", truth, text)
		}
		b.agent.Conf.Memory = t.TempDir() + "/memory"
		if err := b.agent.save(true); err != nil {
			t.Fatal(err)
		}
		again := b.hire(b.agent.Conf.Memory, b.agent.Conf.Scheduler)
		again.Infer = true
		if err := again.Step(t.Context()); err != nil || again.Forecast.Policy.Name != truth {
			t.Errorf("started again it takes %s for %s, %v", again.Forecast.Policy.Name, truth, err)
		}
	}
}

// Where the batch system says its rules they are gone by, and asked for again
// after a while; where it hides jobs, or does not answer, the policy is found out.
func TestToldRules(t *testing.T) {
	slurm := batch.Policy{Name: "slurm", Slurm: batch.Slurm{Interval: 7 * time.Second}}
	r := &told{rules: plugins.Rules{Policy: slurm}}
	b := follower(t, "slurm", 5)
	b.agent.Rules = r
	b.live(20)
	if !reflect.DeepEqual(b.agent.Forecast.Policy, slurm) || b.agent.fit != nil || r.asked < 3 {
		t.Errorf("policy %+v, asked %d times", b.agent.Forecast.Policy, r.asked)
	}
	r.rules.Policy.Slurm.Interval = 9 * time.Second
	b.live(20)
	if got := b.agent.Forecast.Policy.Slurm.Interval; got != 9*time.Second {
		t.Errorf("of changed parameters it has %v", got)
	}
	r.rules.Hidden = true
	b.live(20)
	if b.agent.fit == nil {
		t.Error("nothing is found out where jobs are hidden")
	}
	silent := follower(t, "fcfs", 5)
	silent.agent.Rules = &told{err: errors.New("no")}
	silent.live(20)
	if silent.agent.fit == nil {
		t.Error("nothing is found out where the rules are not told")
	}
}

// On a cluster that says it is another and hides a quarter of its users the agent
// finds the policy, and about as many starts lie outside of its quantiles as should;
// doubt goes into what brokers are told.
func TestHiddenUsers(t *testing.T) {
	testbed.Computes(t)
	b := follower(t, "fcfs", 2)
	b.agent.Reader, b.agent.Rules = veiled{b.cluster}, &told{rules: plugins.Rules{Policy: batch.Policy{Name: "slurm"}, Hidden: true}}
	b.live(300)
	if got := b.agent.Forecast.Policy.Name; got != "fcfs" {
		t.Errorf("found %s: %v", got, b.agent.fit.Weights())
	}
	first := b.n
	b.live(450)
	judge(t, b, first)
	other, doubtful := 0, doubts(batch.NewFit(Candidates()...))
	for range 50 {
		j, _ := b.drawn()
		sure, _ := b.agent.odds.Ask(b.agent.live.Fork()(), j, func() bool { return true })
		if unsure, _ := b.agent.odds.Ask(b.agent.live.Fork()(), j, func() bool { return true }, doubtful...); sure != unsure {
			other++
		}
	}
	if other < 25 {
		t.Errorf("of 50 starts %d are told otherwise when nobody knows which policy it is", other)
	}
}
