package cli_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The name of a cluster or job on the command line is one part of what a scheduler is asked for, whatever stands in it.
func TestNamesForTheScheduler(t *testing.T) {
	t.Parallel()
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.RequestURI
		io.WriteString(w, `{"text":["none"]}`)
	}))
	defer server.Close()
	for _, c := range [][2]string{
		{"drain", "POST /v1/clusters/a%2F..%2F..%2Fjobs%3Fall=1%23x/drain"},
		{"explain", "GET /v1/jobs/a%2F..%2F..%2Fjobs%3Fall=1%23x/why"},
	} {
		asked = ""
		args := []string{"scheduler", c[0], "--via", server.URL, "a/../../jobs?all=1#x"}
		code, out, errs := oneShot(t, args...)
		if code != 0 || asked != c[1] {
			t.Errorf("grid %s: code %d, asked for %s, want %s\n%s%s", strings.Join(args, " "), code, asked, c[1], out, errs)
		}
	}
}
