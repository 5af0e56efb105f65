package slurm_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/readahead"
	"gridbroker/readahead/httpfile"
)

// Jobs of a cluster whose URL names a read-ahead cache read through it, and
// share its blocks: the origin is asked for each once, however many jobs read.
func TestRealJobsReadThroughTheCache(t *testing.T) {
	b, urls := testbed(t)
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("no curl")
	}
	var gets atomic.Int64
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			gets.Add(1)
		}
		w.Header().Set("ETag", `"one"`)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(strings.Repeat("0123456789", 1000)))
	}))
	defer origin.Close()
	cache, err := readahead.Open(t.TempDir(), readahead.Options{Portion: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close()
	served := httptest.NewServer(&httpfile.Server{Cache: cache, Client: origin.Client(), Origins: []string{origin.URL + "/data/"}, Wait: 10 * time.Second})
	defer served.Close()
	var reqs []plugins.Request
	for i, url := range []string{urls["local"], urls["ssh"]} {
		reqs = append(reqs, request(t, b, url+"?cache="+served.URL, fmt.Sprint("cached-", i), &jdl.Job{
			Executable: "/bin/sh", Args: []string{"-c", `curl -s -r 995-1004 "$GRID_STREAM_EVENTS"; echo; echo "$GRID_STREAM_EVENTS $OTHER"`},
			StdOutput: "o", StdError: "o", Demand: jdl.Demand{WallTime: 5 * time.Minute, Memory: 50},
			Environment: []jdl.EnvVar{{Name: "GRID_STREAM_EVENTS", Value: origin.URL + "/data/a&b.bin"}, {Name: "OTHER", Value: "http://example.org/"}},
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
		if o := out.String(); !strings.HasPrefix(o, "5678901234\n"+served.URL+"/file?url=") || !strings.HasSuffix(o, " http://example.org/\n") {
			t.Errorf("job %d: out = %q", i, o)
		}
	}
	if n := gets.Load(); n < 2 || n > 3 { // two portions, and one that may be fetched ahead
		t.Errorf("the origin was asked %d times for two portions that two jobs read", n)
	}
	for _, err := range b.Clean(t.Context(), hs) {
		if err != nil {
			t.Error(err)
		}
	}
}
