package main_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// TestNobodyIsSentOn: a computing element and a scheduler, who are shown a credential, send nobody on to another place with it,
// whatever is asked.
func TestNobodyIsSentOn(t *testing.T) {
	t.Parallel()
	sent := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	}
	ask := func(v *victim, commands ...[]string) {
		for _, args := range commands {
			if h := v.grid(0, args...); h.code == 0 && args[0] != "status" { // which tells what was known
				t.Errorf("%v: exit code 0 and %.300s", args, h.out+h.errs)
			}
		}
	}
	t.Run("computing element", func(t *testing.T) {
		t.Parallel()
		ce := newRogueCE(t)
		ce.submitted()
		before := len(ce.seen)
		ce.turns(func(w http.ResponseWriter, r *http.Request, _ string) bool { sent(w, r); return true })
		ask(ce.victim, []string{"status", "--all"}, []string{"cancel", "--all"}, []string{"output", "--all"}, []string{"ping", ce.url}, []string{"submit", "--info", "file:ce.ldif", "job.jdl"})
		if all := strings.Join(ce.seen, " "); len(ce.seen) < before+4 || strings.Contains(all, "elsewhere") {
			t.Errorf("it was asked %s", all)
		}
	})
	t.Run("scheduler", func(t *testing.T) {
		t.Parallel()
		var asked, elsewhere atomic.Int32
		v, addr := newPlain(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/elsewhere":
				elsewhere.Add(1)
			case asked.Add(1) == 1:
				io.WriteString(w, `{"jobs":[{"key":"`+keyOf(r)+`","id":"1"}]}`)
			default:
				sent(w, r)
			}
		}))
		v.env = append(v.env, "BEARER_TOKEN=some-token")
		v.write("job.jdl", `Executable = "/bin/true";`)
		at := "grid+http://" + addr
		if h := v.grid(0, "submit", "--via", at, "job.jdl"); h.code != 0 {
			t.Fatalf("%d %s", h.code, h.errs)
		}
		ask(v, []string{"status", "--all"}, []string{"cancel", "--all"}, []string{"output", "--all"}, []string{"ping", at}, []string{"submit", "--via", at, "job.jdl"})
		if asked.Load() < 5 || elsewhere.Load() > 0 {
			t.Errorf("it was asked %d times, and elsewhere %d times", asked.Load(), elsewhere.Load())
		}
	})
}
