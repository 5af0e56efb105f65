package slurm_test

import (
	"testing"
	"time"

	"gridbroker/plugins"
)

// The rules are those of slurm.conf, by either way of asking.
func TestRealRules(t *testing.T) { clusters(t, rules) }

func rules(t *testing.T, c *cluster) {
	for way, url := range c.urls {
		q, err := c.QueueReader(url)
		if err != nil {
			t.Fatal(err)
		}
		r, err := q.(plugins.RulesReader).Rules(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", way, err)
		}
		s := r.Policy.Slurm
		if r.Policy.Name != "slurm" || s.Builtin || s.Interval != 3*time.Second || s.Window != 14*24*time.Hour || s.Resolution != time.Minute ||
			s.MaxJobTest != 5000 || s.Multifactor.Age != 1000 || s.Multifactor.Partition != 1000 || s.Multifactor.MaxAge != 7*24*time.Hour {
			t.Errorf("%s: %+v", way, r.Policy)
		}
		if len(r.Unmodelled) > 0 || r.Hidden {
			t.Errorf("%s: left out %q, hidden %v", way, r.Unmodelled, r.Hidden)
		}
		state, err := q.Queue(t.Context())
		if err != nil || state.Queues[0].Factor != 1 {
			t.Errorf("%s: %+v, %v", way, state.Queues, err)
		}
	}
}
