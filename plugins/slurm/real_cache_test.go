package slurm_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/testdata/testbed/origin"
)

// Jobs of a cluster whose URL names a read-ahead cache read through it, and
// share its blocks: the origin is asked for each once, however many jobs read.
func TestRealJobsReadThroughTheCache(t *testing.T) {
	c := testbed(t)
	b := c.Backend
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	o := origin.Serve(t)
	var reqs []plugins.Request
	for i, url := range []string{c.urls["local"], c.urls["ssh"]} {
		reqs = append(reqs, request(t, b, url+"?cache="+o.Cache, fmt.Sprint("cached-", i), &jdl.Job{
			Executable: "/bin/sh", Args: []string{"-c", origin.Script},
			StdOutput: "o", StdError: "o", Demand: jdl.Demand{WallTime: 5 * time.Minute, Memory: 50},
			Environment: []jdl.EnvVar{{Name: "GRID_STREAM_EVENTS", Value: o.File}, {Name: "OTHER", Value: "http://example.org/"}},
		}))
	}
	var hs []plugins.Handle
	for _, req := range reqs {
		r := b.Submit(t.Context(), []plugins.Request{req}, nil)[0]
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		hs = append(hs, r.Handle)
	}
	for i, st := range waitFinal(t, b, hs) {
		var out bytes.Buffer
		if _, err := b.Peek(t.Context(), hs[i], "o", 0, &out); err != nil || st.ExitCode != glue.Some(0) {
			t.Errorf("job %d: exit %v, %v", i, st.ExitCode, err)
		}
		o.CheckRead(t, out.String(), "http://example.org/", true)
	}
	o.CheckShared(t)
	for _, err := range b.Clean(t.Context(), hs) {
		if err != nil {
			t.Error(err)
		}
	}
}
