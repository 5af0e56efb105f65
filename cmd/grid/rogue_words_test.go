package main_test

import (
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// lies are what a computing element may make of its list of jobs.
var lies = map[string]func(items []string) []string{
	"none of them":         func([]string) []string { return nil },
	"one is left out":      func(i []string) []string { return i[1:] },
	"each twice":           func(i []string) []string { return slices.Concat(i, i) },
	"in another order":     func(i []string) []string { return append(slices.Clone(i[1:]), i[0]) },
	"the first for all":    func(i []string) []string { return slices.Repeat(i[:1], len(i)) },
	"codes of 0":           changed(`<status-code>\d+`, "<status-code>0"),
	"codes below 0":        changed(`<status-code>\d+`, "<status-code>-1"),
	"codes without end":    changed(`<status-code>\d+`, "<status-code>20200000000000000000000"),
	"no codes":             changed(`<status-code>\d+</status-code>`, ""),
	"ids of others":        changed(`job(\d)`, "other$1"),
	"ids that climb":       changed(`job(\d)`, "../../job$1"),
	"ids of nothing":       changed(`<id>[^<]*`, "<id>"),
	"two ids":              changed(`<id>`, "<id>job9</id><id>"),
	"jobs in jobs":         changed(`</job>`, "<job><id>job1</id></job></job>"),
	"states of the future": changed(`FINISHED`, "TELEPORTED"),
}

func changed(old, new string) func([]string) []string {
	pattern := regexp.MustCompile(old)
	return func(items []string) (out []string) {
		for _, i := range items {
			out = append(out, pattern.ReplaceAllString(i, new))
		}
		return out
	}
}

// heldBack is an answer that does not leave yet.
type heldBack struct {
	http.ResponseWriter
	code int
	text strings.Builder
}

func (k *heldBack) WriteHeader(code int)        { k.code = code }
func (k *heldBack) Write(b []byte) (int, error) { return k.text.Write(b) }

var oneJob = regexp.MustCompile(`<job>.*?</job>`)

// lies has it answer about jobs as an A-REX does, and change that.
func (ce *rogueCE) lies(lie func([]string) []string) {
	ce.turns(func(w http.ResponseWriter, r *http.Request, body string) bool {
		if !strings.HasSuffix(r.URL.Path, "/jobs") {
			return false
		}
		k := &heldBack{ResponseWriter: w, code: http.StatusOK}
		ce.answer(k, r, body)
		text := k.text.String()
		if items := oneJob.FindAllString(strings.ReplaceAll(text, "\n", " "), -1); len(items) > 0 {
			text = "<jobs>" + strings.Join(lie(items), "") + "</jobs>"
		}
		w.WriteHeader(k.code)
		_, _ = io.WriteString(w, text)
		return true
	})
}

// TestLiesAboutJobs: whatever a computing element says of how many jobs it has, by which names, codes and states: no verb
// fails by it in a way of its own or waits for long, and no two jobs are ever one there.
func TestLiesAboutJobs(t *testing.T) {
	t.Parallel()
	for name, lie := range lies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ce := newRogueCE(t)
			ce.file("job.jdl", `JobType = "parametric"; Parameters = 8; Executable = "/bin/true"; StdOutput = "out.txt"; OutputSandbox = {"*"}; RetryCount = 0;`)
			verb := func(args ...string) harm {
				t.Helper()
				h := ce.grid(0, args...)
				if !slices.Contains([]int{0, 1, 3, 5, 6}, h.code) || strings.Contains(h.errs, "goroutine ") || strings.Contains(h.errs, "internal error") || h.took > 30*time.Second {
					t.Errorf("grid %s: exit code %d after %s\n%s%s", strings.Join(args, " "), h.code, h.took, h.out, h.errs)
				}
				return h
			}
			distinct := func(when string) {
				t.Helper()
				seen := map[string]bool{}
				for _, id := range strings.Fields(verb("list", "--all", "--jq", ".jobs[].handle.id // empty").out) {
					if seen[id] {
						t.Errorf("%s: two jobs are %s there", when, id)
					}
					seen[id] = true
				}
			}
			ce.lies(lie)
			verb("submit", "--info", "file:ce.ldif", "job.jdl")
			distinct("submitted")
			ce.turns(nil)
			verb("submit", "--no-cache", "--info", "file:ce.ldif", "job.jdl")
			ce.lies(lie)
			for _, args := range []string{"status", "cancel", "output", "clean"} {
				verb(args, "--all")
			}
			distinct("at the end")
		})
	}
}
