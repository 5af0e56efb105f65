package scheduler

import (
	"strings"
	"testing"
	"time"

	"gridbroker/forecast/wire"
)

// A job that asks for more wall time than the queue allows to which it would be sent is not booked there: a batch system takes it, and
// never starts it. Where the operator names another queue, or the guests have a partition of their own, that one's limit counts.
func TestQueuesThatAllowTooLittle(t *testing.T) {
	site := func(change func(*wire.Site)) func(*wire.Delta) {
		return func(d *wire.Delta) {
			d.Site.Walls = map[string]int64{"": 3600, "short": 3600, "long": 6000}
			change(d.Site)
		}
	}
	for name, v := range map[string]struct {
		queue  string // of the operator of the scheduler
		site   func(*wire.Site)
		booked bool
	}{
		"no queue is named":      {"", func(*wire.Site) {}, false},
		"the operator's":         {"long", func(*wire.Site) {}, true},
		"the agent's":            {"", func(s *wire.Site) { s.Queue = "long" }, true},
		"without a limit":        {"endless", func(*wire.Site) {}, true},
		"the guests' partition":  {"long", func(s *wire.Site) { s.Start, s.Partition = wire.Partition, "short" }, false},
		"longest guest":          {"long", func(s *wire.Site) { s.MaxGuest = 3600 }, false},
		"no queue has any limit": {"", func(s *wire.Site) { s.Walls = nil }, true},
	} {
		f := newFront(t, func(c *Config, _ *API) {
			to := c.Clusters["c0"]
			to.Queue = v.queue
			c.Clusters["c0"] = to
		})
		l := f.led()
		f.s.setLead(l.Epoch)
		id := f.submit("alice", "k", `[ Executable = "/bin/true"; WallTime = 5400; ]`).ID
		if r := f.asked(t.Context(), "agent0", "POST", "/v1/clusters/c0/slots", f.delta("c0", 3, site(v.site))); r.Code != 200 {
			t.Fatal(r.Body)
		}
		f.now = f.now.Add(time.Second)
		if _, err := f.s.Cycle(t.Context(), l.Epoch); err != nil {
			t.Fatal(err)
		}
		why := f.asked(t.Context(), "alice", "GET", "/v1/jobs/"+id+"/why", nil).Body.String()
		if booked := strings.Contains(why, `"state":"booked"`); booked != v.booked || !booked && !strings.Contains(why, "no cluster will do; c0: wall time: want 1h30m, have 1h") {
			t.Errorf("%s: booked: %v, %s", name, booked, why)
		}
	}
}

// Who asks for more memory than any node has is told how much there is, and nothing of the one processor that all have.
func TestMoreMemoryThanAnyNodeHas(t *testing.T) {
	f := newFront(t, nil)
	l := f.led()
	f.s.setLead(l.Epoch)
	id := f.submit("alice", "k", `[ Executable = "/bin/true"; Requirements = other.GlueHostMainMemoryRAMSize >= 900000; ]`).ID
	for i, cluster := range []string{"c0", "c1"} {
		text := f.delta(cluster, 3, func(d *wire.Delta) {
			for n := range d.Site.Nodes {
				d.Site.Nodes[n].Memory = int64(1000 * (1 + i))
			}
		})
		if r := f.asked(t.Context(), "agent"+cluster[1:], "POST", "/v1/clusters/"+cluster+"/slots", text); r.Code != 200 {
			t.Fatal(r.Body)
		}
	}
	f.now = f.now.Add(time.Second)
	if _, err := f.s.Cycle(t.Context(), l.Epoch); err != nil {
		t.Fatal(err)
	}
	why := f.asked(t.Context(), "alice", "GET", "/v1/jobs/"+id+"/why", nil).Body.String()
	if want := `"it asks for 900000 MB of memory, and no cluster has such a node: the one with the most, of c1, has 2000 MB"`; !strings.Contains(why, want) {
		t.Error(why)
	}
}
