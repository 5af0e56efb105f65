package cli_test

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/cmd/cli"
	"gridbroker/plugins"
	"gridbroker/plugins/all"
)

// frontDesk answers as a scheduler does, with a fault.
type frontDesk struct {
	fault string
	taken map[string]bool // by key
	state plugins.State   // of all that was taken; "": queued
}

func (f *frontDesk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Jobs []struct{ Key string }
		Keys []string
		IDs  []string
	}
	text, _ := io.ReadAll(r.Body)
	json.Unmarshal(text, &in)
	hangUp := func() {
		c, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			c.Close()
		}
	}
	type job struct {
		Key     string        `json:"key"`
		ID      string        `json:"id"`
		Plugins plugins.State `json:"plugins"`
	}
	out := map[string]any{}
	switch {
	case r.URL.Path == "/v1/jobs/status":
		var list []job
		for _, k := range append(in.Keys, in.IDs...) {
			if key := strings.TrimPrefix(k, "s"); f.taken[key] {
				list = append(list, job{key, "s" + key, cmp.Or(f.state, plugins.Queued)})
			}
		}
		out["jobs"] = list
	case f.fault == "says no":
		http.Error(w, `{"detail": "closed on Sundays"}`, http.StatusForbidden)
		return
	case f.fault == "is overloaded":
		http.Error(w, `{"detail": "the database does not answer"}`, http.StatusServiceUnavailable)
		return
	default:
		var list []job
		for _, j := range in.Jobs {
			f.taken[j.Key] = f.fault != "dies before it takes it"
			list = append(list, job{j.Key, "s" + j.Key, plugins.Queued})
		}
		if f.fault != "" {
			hangUp()
			return
		}
		out["jobs"] = list
	}
	json.NewEncoder(w).Encode(out)
}

// What the scheduler did not take is sent directly and said; where it is not
// known whether it took a job, that is sent nowhere else, and asked for again under its
// key alone, which a scheduler takes once.
func TestOrDirect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault  string
		code   int
		direct bool
	}{
		{"", 0, false},
		{"says no", 0, true},
		{"is overloaded", 0, true},
		{"is not there", 0, true},
		{"dies after it took it", 6, false},
		{"dies before it takes it", 6, false},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			desk := &frontDesk{fault: c.fault, taken: map[string]bool{}}
			server := httptest.NewServer(desk)
			defer server.Close()
			if c.fault == "is not there" {
				server.Close()
			}
			tower := &bell{rung: map[string]bool{}}
			home := t.TempDir()
			run := func(args ...string) (int, string) {
				var out bytes.Buffer
				env := cli.Env{In: strings.NewReader(""), Out: &out, Err: &out, Dir: home, Now: time.Now, UID: os.Getuid(), Exe: "/nonexistent",
					Getenv:   func(name string) string { return map[string]string{"HOME": home}[name] },
					Backends: append(all.Backends(), tower.describe())}
				return cli.Main(t.Context(), env, args), out.String()
			}
			if err := os.WriteFile(filepath.Join(home, "job.jdl"), []byte(`Executable = "/bin/true"; JobName = "peal";`), 0o600); err != nil {
				t.Fatal(err)
			}
			code, said := run("submit", "--via", server.URL, "--or-direct", "--info", "bell:one", filepath.Join(home, "job.jdl"))
			if code != c.code || len(tower.rung) > 0 != c.direct {
				t.Errorf("exit code %d, want %d; sent directly: %v, want %v\n%s", code, c.code, len(tower.rung) > 0, c.direct, said)
			}
			if strings.Contains(said, "sent directly to") != c.direct {
				t.Errorf("direct: %v, and it said\n%s", c.direct, said)
			}
			for range 2 { // looked up, and still nowhere twice
				run("status", "--all")
			}
			if len(tower.rung) > 0 && len(desk.taken) > 0 || len(tower.rung) > 1 || len(desk.taken) > 1 {
				t.Errorf("rung %v, at the scheduler %v", tower.rung, desk.taken)
			}
			_, list := run("list")
			if want := map[bool]string{true: "belfry", false: "grid+http"}[c.direct]; !strings.Contains(list, want) {
				t.Error(fmt.Sprintf("want %s:\n", want), list)
			}
		})
	}
}

// A scheduler's job that failed is sent anew to that scheduler, though it was there
// before, and neither to this machine nor past the scheduler.
func TestResubmitThroughTheScheduler(t *testing.T) {
	for _, more := range [][]string{nil, {"--or-direct", "--info", "bell:one"}} {
		desk := &frontDesk{taken: map[string]bool{}}
		server := httptest.NewServer(desk)
		defer server.Close()
		tower := &bell{rung: map[string]bool{}}
		home := t.TempDir()
		run := func(args ...string) string {
			var out bytes.Buffer
			env := cli.Env{In: strings.NewReader(""), Out: &out, Err: &out, Dir: home, Now: time.Now, UID: os.Getuid(), Exe: "/nonexistent",
				Getenv:   func(name string) string { return map[string]string{"HOME": home}[name] },
				Backends: append(all.Backends(), tower.describe())}
			if code := cli.Main(t.Context(), env, args); code != 0 {
				t.Logf("%v: exit code %d\n%s", args, code, out.String())
			}
			return out.String()
		}
		if err := os.WriteFile(filepath.Join(home, "job.jdl"), []byte(`Executable = "/bin/true"; Requirements = other.GlueHostArchitecturePlatformType == "s390x";`), 0o600); err != nil {
			t.Fatal(err)
		}
		run(append([]string{"submit", "--via", server.URL, "job.jdl"}, more...)...)
		desk.state = plugins.Failed
		run("status", "--all")
		desk.state = ""
		run("resubmit", "--all")
		if said := run("list"); len(desk.taken) != 2 || len(tower.rung) > 0 || !strings.Contains(said, "grid+http") {
			t.Errorf("%v: at the scheduler %v, rung %v\n%s", more, desk.taken, tower.rung, said)
		}
	}
}

// Who follows from cron renews credentials as often as he says, and at once with one that
// lives longer than the last; not each time.
func TestFollowOnceRenews(t *testing.T) {
	server := httptest.NewServer(&frontDesk{taken: map[string]bool{}})
	defer server.Close()
	home, now := t.TempDir(), time.Now()
	token := func(life time.Duration) string {
		part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
		return part(`{"alg":"none"}`) + "." + part(fmt.Sprintf(`{"iss":"https://iam.example.org","sub":"alice","exp":%d}`, now.Add(life).Unix())) + ".x"
	}
	bearer := token(24 * time.Hour)
	run := func(args ...string) string {
		var out bytes.Buffer
		env := cli.Env{In: strings.NewReader(""), Out: &out, Err: &out, Dir: home, Now: func() time.Time { return now }, UID: os.Getuid(), Exe: "/nonexistent",
			Getenv: func(name string) string { return map[string]string{"HOME": home, "BEARER_TOKEN": bearer}[name] }, Backends: all.Backends()}
		if code := cli.Main(t.Context(), env, args); code != 0 {
			t.Errorf("%v: exit code %d\n%s", args, code, out.String())
		}
		return out.String()
	}
	if err := os.WriteFile(filepath.Join(home, "job.jdl"), []byte(`Executable = "/bin/true";`), 0o600); err != nil {
		t.Fatal(err)
	}
	run("submit", "--via", server.URL, filepath.Join(home, "job.jdl"))
	for i, c := range []struct {
		what  string
		later time.Duration
		life  time.Duration // of the credential; 0: the one before
		want  int
	}{
		{"the first", time.Minute, 0, 1}, {"soon after", time.Minute, 0, 1}, {"an hour later", time.Hour, 0, 2},
		{"a new credential", time.Minute, 48 * time.Hour, 3}, {"the same", time.Minute, 0, 3},
	} {
		if now = now.Add(c.later); c.life > 0 {
			bearer = token(c.life)
		}
		said := run("follow", "--once", "--replan", "0")
		if n := strings.Count(run("log", "--all"), "delegated credential renewed"); n != c.want {
			t.Fatalf("%d, %s: renewed %d times, want %d\n%s", i, c.what, n, c.want, said)
		}
	}
}
