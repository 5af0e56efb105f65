package main_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pkg/sftp"
)

// endlessLog is the log of every job at a login.
type endlessLog struct{ lyingFiles }

// Fileread implements sftp.FileReader.
func (l endlessLog) Fileread(r *sftp.Request) (io.ReaderAt, error) {
	if strings.HasSuffix(r.Filepath, "/log") || strings.HasSuffix(r.Filepath, "/events") {
		return endlessFile{}, nil
	}
	return l.lyingFiles.Fileread(r)
}

// TestEndlessLogs: of a log that a computing element, a cluster or a scheduler gives of a job there are 16 MiB shown, of those of
// many jobs as many in a document, and nothing more is taken into memory.
func TestEndlessLogs(t *testing.T) {
	t.Parallel()
	const said = "there is more than the 16 MiB that are shown"
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		r := newRogueLogin(t)
		r.write("job.jdl", `Executable = "/bin/true"; RetryCount = 0;`)
		if h := r.grid(0, "submit", "--info", r.url("slurm"), "job.jdl"); h.code != 0 {
			t.Fatalf("%d %s", h.code, h.errs)
		}
		r.serves(sftp.Handlers{FileGet: endlessLog{}, FileList: lyingFiles{}})
		for _, form := range []string{"--json", "-v"} {
			h := r.grid(0, "log", "--all", form)
			r.bounded(h, "")
			if !strings.Contains(h.out+h.errs, said) {
				t.Errorf("%d %.300s\n%s", h.code, h.out, h.errs)
			}
		}
	})
	t.Run("computing element", func(t *testing.T) {
		t.Parallel()
		ce := newRogueCE(t)
		ce.file("job.jdl", `JobType = "parametric"; Parameters = 3; Executable = "/bin/true"; RetryCount = 0;`)
		ce.submitted()
		page := strings.Repeat(strings.Repeat("x", 99)+"\n", 150_000)
		ce.turns(func(w http.ResponseWriter, r *http.Request, _ string) bool {
			if strings.HasSuffix(r.URL.Path, "/errors") {
				_, _ = io.WriteString(w, page)
				return true
			}
			return false
		})
		h := ce.grid(0, "log", "--all", "--json")
		ce.bounded(h, "")
		if strings.Count(h.out, said) != 2 {
			t.Errorf("%d, %d bytes", h.code, len(h.out))
		}
		if h = ce.grid(0, "log", "--all"); len(h.out) < 3*len(page) {
			t.Errorf("%d, %d bytes\n%.300s", h.code, len(h.out), h.errs)
		}
		ce.boundedBy(h, "", harmMemory)
	})
	t.Run("scheduler", func(t *testing.T) {
		t.Parallel()
		var rogue atomic.Bool
		v, addr := newPlain(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case !rogue.Load():
				_, _ = io.WriteString(w, `{"jobs":[{"key":"`+keyOf(r)+`","id":"1"}]}`)
			case strings.HasSuffix(r.URL.Path, "/status"):
				_, _ = io.WriteString(w, `{"jobs":[{"id":"1","plugins":"queued","state":"waits\u001b[31m"}]}`)
			case strings.HasSuffix(r.URL.Path, "/why"):
				_, _ = io.WriteString(w, `{"text":["`+strings.Repeat(`x \u001b]0;title\u0007`, 10_000)+`"`+strings.Repeat(`,"a reason\u009b31m"`, 140_000)+`]}`)
			default:
				_, _ = io.WriteString(w, `{"entries":[{"said":"x\u001b[31m\n2026 forged"}`+strings.Repeat(`,{"event":"`+strings.Repeat("x", 90)+`"}`, 60_000)+`]}`)
			}
		}))
		v.env = append(v.env, "BEARER_TOKEN=some-token")
		v.write("job.jdl", `Executable = "/bin/true";`)
		if h := v.grid(0, "submit", "--via", "grid+http://"+addr, "job.jdl"); h.code != 0 {
			t.Fatalf("%d %s", h.code, h.errs)
		}
		rogue.Store(true)
		for _, args := range [][]string{{"why", "--all"}, {"why", "--all", "--json"}, {"log", "--all"}, {"log", "--all", "--json"}, {"show", "--all"}} {
			h := v.grid(0, args...)
			v.bounded(h, "")
			if args[0] == "why" && len(h.out) > 100<<10 {
				t.Errorf("%q: %d bytes", args, len(h.out))
			}
			if strings.ContainsAny(h.out, "\x1b\a\u009b") || strings.Contains(h.out, "\n2026 forged") {
				t.Errorf("%q: control characters", args)
			}
		}
	})
}
