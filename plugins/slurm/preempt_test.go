package slurm

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"gridbroker/batch"
)

// TestPreemptionRules: what scontrol and sacctmgr say of who gives way becomes rules,
// and what is not modelled is named.
func TestPreemptionRules(t *testing.T) {
	for _, c := range []struct {
		name, config, qos string
		want              batch.Preemption
		left              []string
	}{
		{"none", "PreemptType = preempt/none\nPreemptMode = OFF\n", "", batch.Preemption{}, nil},
		{"by partition", "PreemptType = preempt/partition_prio\nPreemptMode = REQUEUE\nPreemptExemptTime = 00:00:30\nSchedulerParameters = preempt_youngest_first\n", "",
			batch.Preemption{Type: "partition_prio", ExemptTime: 30 * time.Second, YoungestFirst: true}, nil},
		{"newer names", "PreemptType = preempt/partition_prio\nPreemptMode = CANCEL\nPreemptExemptTime = 00:00:00\nPreemptParameters = youngest_first,strict_order,reorder_count=3\n", "",
			batch.Preemption{Type: "partition_prio", YoungestFirst: true}, []string{"PreemptParameters=reorder_count=3", "PreemptParameters=strict_order"}},
		{"suspension", "PreemptType = preempt/partition_prio\nPreemptMode = GANG,SUSPEND\n", "", batch.Preemption{Type: "partition_prio"}, nil},
		{"suspension by QOS", "PreemptType = preempt/qos\nPreemptMode = GANG,SUSPEND\n", "a|0||cluster|00:00:00\nb|0||requeue|00:00:00\n",
			batch.Preemption{Type: "qos", QOS: map[string]batch.PreemptQOS{"a": {}, "b": {Mode: batch.PreemptRequeue}}}, []string{"PreemptMode=GANG,SUSPEND"}},
		{"by QOS", "PreemptType = preempt/qos\nPreemptMode = REQUEUE\n", "normal|0||cluster|00:00:00\nhigh|100|normal,low|cluster|00:00:00\nlow|0||cancel|00:01:00\n",
			batch.Preemption{Type: "qos", QOS: map[string]batch.PreemptQOS{
				"normal": {Mode: batch.PreemptRequeue}, "high": {Priority: 100, Over: []string{"normal", "low"}, Mode: batch.PreemptRequeue},
				"low": {Mode: batch.PreemptCancel, GraceTime: time.Minute},
			}}, nil},
		{"QOS that nobody tells of", "PreemptType = preempt/qos\nPreemptMode = REQUEUE\n", "", batch.Preemption{}, []string{"PreemptType=preempt/qos: sacctmgr tells no QOS"}},
	} {
		ask := func(_ context.Context, argv ...string) (string, error) {
			if argv[0] == "scontrol" {
				return c.config + "SelectType = select/cons_tres\n", nil
			}
			return c.qos, nil
		}
		r, _, err := readRules(t.Context(), ask)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(r.Unmodelled)
		if got := r.Policy.Slurm.Preemption; !reflect.DeepEqual(got, c.want) || !slices.Equal(r.Unmodelled, c.left) {
			t.Errorf("%s: %+v, left out %q; want %+v, %q", c.name, got, r.Unmodelled, c.want, c.left)
		}
	}
}

// TestPreemptMode: a partition tells what becomes of its jobs.
func TestPreemptMode(t *testing.T) {
	for text, want := range map[string]batch.PreemptMode{"OFF": "", "REQUEUE": batch.PreemptRequeue, "CANCEL": batch.PreemptCancel, "GANG,SUSPEND": batch.PreemptSuspend, "GANG": "", "": ""} {
		q := queue(map[string]string{"PartitionName": "p", "State": "UP", "PriorityTier": "3", "PreemptMode": text, "GraceTime": "45"})
		if q.PreemptMode != want || q.GraceTime != 45*time.Second || q.Priority != 3 {
			t.Errorf("%q: %+v, want %q", text, q, want)
		}
	}
}
