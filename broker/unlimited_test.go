package broker_test

import (
	"slices"
	"testing"

	"gridbroker/broker"
	"gridbroker/broker/brokertest"
	"gridbroker/glue"
)

// TestQueuesWithoutALimit: a job that asks for an hour of wall time as people with gLite do means a queue that is said to have no
// limit, too, and not one that says nothing; where it is sent that is told.
func TestQueuesWithoutALimit(t *testing.T) {
	rs := []*glue.Resource{
		brokertest.Site("free", func(r *glue.Resource) { r.Unlimited = glue.LimitWallTime }),
		brokertest.Site("mute"),
	}
	job := brokertest.ParseJob(t, "Executable = \"/bin/ls\";\nRequirements = other.GlueCEPolicyMaxWallClockTime >= 60 && other.GLUE2ComputingShareMaxWallTime > 0;")
	for _, unknown := range []broker.Unknown{broker.Keep, broker.RejectUnknown} {
		plan := brokertest.Plan(t, brokertest.New(func(b *broker.Broker) { b.Rules.Unknown = unknown }), rs, job)
		choices := plan.Jobs[0].Choices
		if len(choices) != 1 || choices[0].Resource.ID != "free" {
			t.Fatalf("%s: %d choices, %v", unknown, len(choices), plan.Jobs[0].Err)
		}
		want := []string{
			"GlueCEPolicyMaxWallClockTime (2:16) is 999999999 there, since the queue is said to have no such limit",
			"GLUE2ComputingShareMaxWallTime (2:60) is 999999999 there, since the queue is said to have no such limit",
		}
		if got := broker.FreeAt(job, choices[0].Resource); !slices.Equal(got, want) {
			t.Errorf("told is %q", got)
		}
	}
	if got := broker.FreeAt(brokertest.ParseJob(t, `Executable = "/bin/ls";`), rs[0]); len(got) > 0 {
		t.Errorf("a job that does not ask is told %q", got)
	}
}
