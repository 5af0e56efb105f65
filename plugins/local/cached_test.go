package local_test

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/plugins/local"
	"gridbroker/testdata/testbed/origin"
)

// Two jobs of a site that read one remote file in place share its blocks: the
// origin is asked for each once. Without a cache the address stays as it was.
func TestJobsReadThroughTheCache(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	o := origin.Serve(t)
	b := newBackend(t, local.Site{Name: "cached", Cache: o.Cache}, local.Site{Name: "bare"})
	job := func() *jdl.Job {
		j := shell(origin.Script)
		j.Environment = []jdl.EnvVar{{Name: "GRID_STREAM_EVENTS", Value: o.File}, {Name: "OTHER", Value: "http://example.org/"}}
		return j
	}
	for i := range 2 {
		h := submit(t, b, request("cached", fmt.Sprint("c", i), job()))[0]
		if st := wait(t, b, h, plugins.State.Final); st.State != plugins.Done || st.ExitCode != glue.Some(0) {
			t.Fatalf("state %s, exit %v, %s", st.State, st.ExitCode, st.Reason)
		}
		o.CheckRead(t, fetched(t, b, h, "out"), "http://example.org/", true)
	}
	o.CheckShared(t)
	h := submit(t, b, request("bare", "b1", job()))[0]
	wait(t, b, h, plugins.State.Final)
	o.CheckRead(t, fetched(t, b, h, "out"), "http://example.org/", false)
}

func TestWrongCachesAreRefused(t *testing.T) {
	for _, address := range []string{"127.0.0.1:8470", "ftp://a/", "http://user@a/", "http://a/?x=1", "http:///"} {
		if _, err := local.New(local.Options{Dir: t.TempDir(), Sites: []local.Site{{Name: "a", Cache: address}}, Now: time.Now, CPUs: 1}); err == nil {
			t.Errorf("%s was taken for a cache", address)
		}
	}
}
