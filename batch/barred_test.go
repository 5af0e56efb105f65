package batch_test

import (
	"fmt"
	"testing"
	"time"

	"gridbroker/batch"
)

// TestSlotsOfBarredQueues: slots name no queue that takes none of the reader's jobs, and there are none on nodes that serve no other.
func TestSlotsOfBarredQueues(t *testing.T) {
	s := batch.State{Now: time.Unix(1_000_000, 0), Queues: []batch.Queue{{Name: "p"}, {Name: "theirs", Barred: true}},
		Nodes: []batch.Node{{Name: "a", CPUs: 1, Up: true, Queues: []string{"theirs", "p"}}, {Name: "b", CPUs: 1, Up: true, Queues: []string{"theirs"}}, {Name: "c", CPUs: 1, Up: true}}}
	for want, barred := range map[string]bool{"[a [p] c []]": true, "[a [theirs p] b [theirs] c []]": false} {
		s.Queues[1].Barred = barred
		out, err := (&batch.Forecaster{Policy: batch.Policy{Name: "slurm"}}).Forecast(s)
		if err != nil {
			t.Fatal(err)
		}
		var got []any
		for _, slot := range out.Slots(time.Hour) {
			got = append(got, slot.Node, slot.Queues)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
	if fmt.Sprint(s.Nodes[0].Queues) != "[theirs p]" {
		t.Errorf("the state is changed: %v", s.Nodes[0].Queues)
	}
}
