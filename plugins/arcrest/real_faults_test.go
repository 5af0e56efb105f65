package arcrest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gridbroker/asked"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/testdata/testbed"
)

func TestRealStranger(t *testing.T) {
	bed := testbed.NeedARC(t)
	b := as(t, bed, "mallory")
	for _, url := range bed.All() {
		err := b.Submit(t.Context(), at(url, shell("m", "exit 0")), nil)[0].Err
		if err == nil || kindOf(t, err) != plugins.Credential || !strings.Contains(err.Error(), "assigned configuration") {
			t.Errorf("%s: %v", url, err)
		}
		pong, err := b.Ping(t.Context(), url)
		if err != nil || pong.LetIn || pong.Said == "" || !strings.Contains(pong.Identity, "Mallory") {
			t.Errorf("%s: %+v, %v", url, pong, err)
		}
	}
}

func TestRealToken(t *testing.T) {
	bed := testbed.NeedARC(t)
	if len(bed.REST11) < 2 {
		t.Skip("there is no ARC 7 in the testbed")
	}
	free, scoped := bed.REST11[0], bed.REST11[1]
	for name, c := range map[string]struct {
		b    *Backend
		url  string
		want plugins.Kind
		said string
	}{
		"another issuer":  {withToken(t, bed, map[string]any{"iss": "https://issuer.example.org/"}), free, plugins.Credential, "assigned configuration"},
		"without a scope": {withToken(t, bed, map[string]any{"scope": "openid"}), scoped, plugins.Credential, "scope"},
		"read only":       {withToken(t, bed, map[string]any{"scope": "compute.read"}), scoped, plugins.Credential, scopeCreate},
	} {
		err := c.b.Submit(t.Context(), at(c.url, shell("tok", "exit 0")), nil)[0].Err
		if err == nil || kindOf(t, err) != c.want || !strings.Contains(err.Error(), c.said) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A hundred jobs in one request; one of them is bad.
func TestRealBulk(t *testing.T) {
	bed := testbed.NeedARC(t)
	for _, url := range append([]string{bed.REST10[2]}, bed.REST11[:min(1, len(bed.REST11))]...) {
		t.Run(url, func(t *testing.T) { t.Parallel(); bulk(t, as(t, bed, "alice"), url) })
	}
}

func bulk(t *testing.T, b *Backend, url string) {
	var reqs []plugins.Request
	for i := range 100 {
		reqs = append(reqs, shell(fmt.Sprintf("bulk%d-%d", time.Now().UnixNano(), i), "sleep 600"))
	}
	reqs[50].Resource = &glue.Resource{Queue: "no-such-queue"}
	var posts atomic.Int32
	ctx := asked.Telling(t.Context(), func(what string) {
		if strings.HasPrefix(what, http.MethodPost) && strings.Contains(what, "jobs?action=new") {
			posts.Add(1)
		}
	})
	var hs []plugins.Handle
	for i, r := range b.Submit(ctx, at(url, reqs...), nil) {
		switch {
		case i == 50 && (r.Err == nil || kindOf(t, r.Err) != plugins.Refused || !strings.Contains(r.Err.Error(), "no-such-queue")):
			t.Errorf("job for an unknown queue: %+v", r)
		case i != 50 && r.Err != nil:
			t.Fatal(r.Err)
		case i != 50:
			hs = append(hs, r.Handle)
		}
	}
	if n := posts.Load(); n != batchesAtOnce {
		t.Errorf("%d requests", n)
	}
	for _, errs := range [][]error{b.Cancel(t.Context(), hs), b.Renew(t.Context(), hs[:3])} {
		if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
			t.Error(errs[i])
		}
	}
	for _, st := range await(t, b, hs) {
		if st.State != plugins.Cancelled {
			t.Fatalf("%+v", st)
		}
	}
	b.Clean(t.Context(), hs)
}

// A CE with a limit on jobs says so, and what does not fit is told from what
// does. (ARC 6.17 does not look at its limit when jobs come through REST.)
func TestRealFull(t *testing.T) {
	bed := testbed.NeedARC(t)
	if len(bed.REST11) < 2 {
		t.Skip("there is no ARC 7 in the testbed")
	}
	fill(t, as(t, bed, "alice"), bed.REST11[1])
}

func fill(t *testing.T, b *Backend, url string) {
	full := 0
	for range 2 {
		for _, r := range submitWaiting(t, b, url, 320) {
			if r.Err == nil {
				continue
			}
			e, ok := r.Err.(*plugins.Error)
			if !ok || e.Kind != plugins.Refused || e.RetryIn == 0 || !strings.Contains(e.Said, "No more jobs") {
				t.Fatalf("%+v", r.Err)
			}
			full++
		}
	}
	if full == 0 {
		t.Error("640 jobs were accepted where 300 fit")
	}
}

// submitWaiting makes jobs that wait for an input file nobody uploads.
func submitWaiting(t *testing.T, b *Backend, url string, n int) []plugins.Result {
	t.Helper()
	s := &submission{res: make([]plugins.Result, n)}
	for i := range n {
		r := shell(fmt.Sprintf("wait%d-%d", time.Now().UnixNano(), i), "exit 0")
		r.Job.InputSandbox = []jdl.InputFile{{Source: "/never", Name: "never.dat"}}
		s.reqs = append(s.reqs, r)
	}
	var err error
	s.c, err = b.client(t.Context(), "submit", url, "")
	check(t, err)
	texts := s.describeAll("")
	all := make([]int, n) // in one request: ARC 7 counts the jobs of a request, and of others only with a delay
	for i := range all {
		all[i] = i
	}
	if _, err := s.make(t.Context(), all, texts); err != nil {
		s.failRest(err)
	}
	var hs []plugins.Handle
	for _, r := range s.res {
		if r.Err == nil {
			hs = append(hs, r.Handle)
		}
	}
	removeLater(t, b, hs)
	return s.res
}
