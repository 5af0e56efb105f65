package local_test

import (
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
	"gridbroker/plugins/local"
	"gridbroker/readahead"
	"gridbroker/readahead/httpfile"
)

// Two jobs of a site that read one remote file in place share its blocks: the
// origin is asked for each once. Without a cache the address stays as it was.
func TestJobsReadThroughTheCache(t *testing.T) {
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
	b := newBackend(t, local.Site{Name: "cached", Cache: served.URL}, local.Site{Name: "bare"})
	job := func() *jdl.Job {
		j := shell(`curl -s -r 995-1004 "$GRID_STREAM_EVENTS"; echo; echo "$GRID_STREAM_EVENTS $OTHER"`)
		j.Environment = []jdl.EnvVar{{Name: "GRID_STREAM_EVENTS", Value: origin.URL + "/data/a&b.bin"}, {Name: "OTHER", Value: "http://example.org/"}}
		return j
	}
	for i := range 2 {
		h := submit(t, b, request("cached", fmt.Sprint("c", i), job()))[0]
		if st := wait(t, b, h, plugins.State.Final); st.State != plugins.Done || st.ExitCode != glue.Some(0) {
			t.Fatalf("state %s, exit %v, %s", st.State, st.ExitCode, st.Reason)
		}
		if out := fetched(t, b, h, "out"); !strings.HasPrefix(out, "5678901234\n"+served.URL+"/file?url=") || !strings.HasSuffix(out, " http://example.org/\n") {
			t.Errorf("out = %q", out)
		}
	}
	asked := gets.Load()
	if asked < 2 || asked > 3 { // two portions, and one that may be fetched ahead
		t.Errorf("the origin was asked %d times for two portions that two jobs read", asked)
	}
	h := submit(t, b, request("bare", "b1", job()))[0]
	wait(t, b, h, plugins.State.Final)
	if out := fetched(t, b, h, "out"); !strings.HasPrefix(out, "5678901234\n"+origin.URL+"/data/a&b.bin ") {
		t.Errorf("without a cache: out = %q", out)
	}
}

func TestWrongCachesAreRefused(t *testing.T) {
	for _, address := range []string{"127.0.0.1:8470", "ftp://a/", "http://user@a/", "http://a/?x=1", "http:///"} {
		if _, err := local.New(local.Options{Dir: t.TempDir(), Sites: []local.Site{{Name: "a", Cache: address}}, Now: time.Now, CPUs: 1}); err == nil {
			t.Errorf("%s was taken for a cache", address)
		}
	}
}
