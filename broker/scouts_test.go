package broker_test

import (
	"strings"
	"testing"
	"time"

	"gridbroker/broker"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/plugins/history"
)

// A thousand jobs, and the best resource by far ends each at once with a bad
// code: it gets five. With bans from history the same, whoever comes next.
func TestBlackHole(t *testing.T) {
	b, f := rig(t)
	past, err := history.Open(t.TempDir(), func() time.Time { return start })
	if err != nil {
		t.Fatal(err)
	}
	defer past.Close()
	b.Services.Historians, b.Services.Recorders = []plugins.Historian{past}, []plugins.Recorder{past}
	b.Scouts = broker.NewScouts(5)
	f.status = func(h plugins.Handle) plugins.Status {
		st := plugins.Status{State: plugins.Done, ExitCode: glue.Some(0), Started: start, Ended: start.Add(time.Hour)}
		if strings.Contains(h.Endpoint, "hole") {
			st.ExitCode, st.Ended = glue.Some(127), start.Add(time.Second)
		}
		return st
	}
	hole := site("hole")
	hole.FreeSlots, hole.TotalSlots, hole.Waiting = glue.Some[int64](5000), glue.Some[int64](5000), glue.Some[int64](0)
	found := []*glue.Resource{hole, site("a"), site("b")}
	sweep, err := jdl.ParseJobs("sweep.jdl", []byte(`JobType = "Parametric"; Executable = "/bin/true"; Arguments = "_PARAM_"; Parameters = 1000;`), jdl.WithDefaults(jdl.Defaults{}))
	if err != nil {
		t.Fatal(err)
	}
	rs := submit(t, b, found, sweep)
	wait(t, b, rs, found...)
	lost, well := 0, 0
	for _, r := range rs {
		if r.Failure() {
			lost++
		} else if r.Final() {
			well++
		}
	}
	if len(rs) != 1000 || lost > 5 || lost+well != 1000 || lost == 0 {
		t.Errorf("%d jobs: %d lost to a black hole, %d well", len(rs), lost, well)
	}
	b.Scouts = nil
	p := plan(t, b, found, stored(t, `Executable = "/bin/true";`))
	for _, c := range p.Jobs[0].Choices {
		if c.Resource.ID == hole.ID {
			t.Error("the next call would use it again")
		}
	}
}
