package broker_test

import (
	"strings"
	"testing"

	"gridbroker/broker"
	"gridbroker/broker/brokertest"
	"gridbroker/glue"
)

func tagged(tags ...string) func(*glue.Resource) {
	return func(r *glue.Resource) { r.RuntimeEnvironments = tags }
}

// Where an environment is cached the job starts sooner: that ranks, and is never required. Which clause asked, where it
// is, where it could be deployed and in what time is told.
func TestEnvironmentsRankByWhatIsCached(t *testing.T) {
	rs := []*glue.Resource{
		brokertest.Site("cold", tagged("VEE-Debian11")), brokertest.Site("warm", tagged("VEE-Debian11", "VEE-Debian11.cached")),
		brokertest.Site("other", tagged("VEE-Debian12.cached", "VEE-Debian12")), brokertest.Site("bare"),
	}
	job := brokertest.ParseJob(t, "Executable = \"/bin/ls\";\nRequirements = Member(\"VEE-Debian11\", other.GlueHostApplicationSoftwareRunTimeEnvironment);")
	for seed := range uint64(20) {
		plan := brokertest.Plan(t, brokertest.New(func(b *broker.Broker) { b.Seed = seed }), rs, job)
		best := plan.Jobs[0].Choices
		if len(best) != 2 || best[0].Resource.ID != "warm" {
			t.Fatalf("seed %d: %d choices, the best %s", seed, len(best), best[0].Resource.ID)
		}
		if seed > 0 {
			continue
		}
		x := plan.Jobs[0].Match.Explain(nil).Environments
		want := "VEE-Debian11 (Requirements, 2:16): cached at warm; deployed when asked for at cold, in about 1m30s"
		if len(x) != 1 || x[0].String() != want {
			t.Errorf("explained as %v", x)
		}
		for i, want := range []string{"was cached there already", "is deployed there when the job comes, in about 1m30s"} {
			if got := broker.EnvironmentsAt(job, &best[i]); len(got) != 1 || !strings.HasSuffix(got[0], want) {
				t.Errorf("choice %d: %q", i, got)
			}
		}
	}
}

func TestEnvironmentVersionsAndNowhere(t *testing.T) {
	rs := []*glue.Resource{
		brokertest.Site("old", tagged("APPS/ATLAS-1.9")), brokertest.Site("new", tagged("apps/atlas-1.10")),
	}
	job := brokertest.ParseJob(t, `Executable = "/bin/ls"; RunTimeEnvironment = "APPS/ATLAS >= 1.10";`)
	plan := brokertest.Plan(t, brokertest.New(), rs, job)
	if c := plan.Jobs[0].Choices; len(c) != 1 || c[0].Resource.ID != "new" {
		t.Errorf("%d choices", len(c))
	}
	job = brokertest.ParseJob(t, `Executable = "/bin/ls"; RunTimeEnvironment = "APPS/ATLAS >= 2";`)
	plan = brokertest.Plan(t, brokertest.New(), rs, job)
	if err := plan.Jobs[0].Err; err == nil || !strings.HasSuffix(err.Error(), "APPS/ATLAS>=2 (RunTimeEnvironment, 1:47): published nowhere") {
		t.Errorf("%v", err)
	}
}

// A queue of which several VOs have views is told once: five names are those of five queues.
func TestEnvironmentsNameAQueueOnce(t *testing.T) {
	view := func(id, vo string, tags ...string) *glue.Resource {
		return brokertest.Site(id, func(r *glue.Resource) { r.Name, r.ViewOf, r.RuntimeEnvironments = "ce/long", vo, tags })
	}
	rs := []*glue.Resource{view("bare", ""), view("atlas", "atlas", "A"), view("cms", "cms", "A"), brokertest.Site("other", tagged("A"))}
	job := brokertest.ParseJob(t, `Executable = "/bin/ls"; RunTimeEnvironment = "A";`)
	x := brokertest.Plan(t, brokertest.New(), rs, job).Jobs[0].Match.Explain(nil).Environments
	if len(x) != 1 || x[0].String() != "A (RunTimeEnvironment, 1:47): installed at ce/long, other" {
		t.Errorf("explained as %v", x)
	}
}
