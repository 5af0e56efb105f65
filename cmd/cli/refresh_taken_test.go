package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gridbroker/plugins/all"
)

// A change that the scheduler has accepted and its leader has refused, as the job was booked meanwhile, is told as refused; one
// that it has taken in is done.
func TestRefreshTellsWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		event, said string
		code        int
	}{{"refreshed", "priority 5, before 1", 0}, {"refresh refused", "the job does not wait any more", 1}} {
		desk, asked := &frontDesk{taken: map[string]bool{}}, 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodPatch:
				asked = 1
				w.WriteHeader(http.StatusNoContent)
			case strings.HasSuffix(r.URL.Path, "/log") && r.URL.Query().Get("after") == "0":
				fmt.Fprint(w, `{"entries": [{"id": 6, "event": "submitted"}]}`)
			case strings.HasSuffix(r.URL.Path, "/log") && r.URL.Query().Get("after") == "6": // an answer has a thousand at most
				fmt.Fprint(w, `{"entries": [{"id": 7, "event": "refreshed"}, {"id": 8, "event": "refresh refused", "said": "long ago"}]}`)
			case strings.HasSuffix(r.URL.Path, "/log") && (asked == 0 || asked == 1 || r.URL.Query().Get("after") == "9"):
				if asked == 1 { // the next cycle is yet to come
					asked++
				}
				fmt.Fprint(w, `{"entries": []}`)
			case strings.HasSuffix(r.URL.Path, "/log"):
				fmt.Fprintf(w, `{"entries": [{"id": 9, "event": %q, "said": %q}]}`, c.event, c.said)
			default:
				desk.ServeHTTP(w, r)
			}
		}))
		defer server.Close()
		dir := t.TempDir()
		file := filepath.Join(dir, "job.jdl")
		if err := os.WriteFile(file, []byte(`Executable = "/bin/true";`), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, out, errs := oneShotWith(t, dir, all.Backends(), "submit", "--via", server.URL, file); code != 0 {
			t.Fatalf("submit: code %d\n%s%s", code, out, errs)
		}
		code, out, errs := oneShotWith(t, dir, all.Backends(), "refresh", "--all", "--priority", "5")
		if code != c.code || strings.Contains(out+errs, "does not wait any more") != (c.code != 0) || strings.Contains(out+errs, "long ago") {
			t.Errorf("%s: code %d, want %d\n%s%s", c.event, code, c.code, out, errs)
		}
	}
}
