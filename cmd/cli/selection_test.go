package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/plugins"
)

// recorded are the jobs that the selections choose among: a home with six of them, the
// id of the collection that two of them are of, and the name of each by its id.
func recorded(t *testing.T) (dir, parent string, names map[string]string) {
	t.Helper()
	dir, names = t.TempDir(), map[string]string{}
	submit := func(l *liar, jdl string) {
		if err := os.WriteFile(filepath.Join(dir, "j.jdl"), []byte(jdl), 0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{"submit", "j.jdl"}
		if l.says.State != plugins.Queued {
			args = append(args, "--wait")
		}
		if code, out, errs := atLiarIn(t, dir, l, args...); code != 0 && l.says.State == plugins.Queued {
			t.Fatal(out, errs)
		}
	}
	ended := func(code int) *liar {
		state := plugins.Done
		if code != 0 {
			state = plugins.Failed
		}
		return &liar{says: plugins.Status{State: state, Native: "ended", ExitCode: glue.Some(code)}}
	}
	const job = `Executable = "/bin/true"; RetryCount = 0; `
	submit(ended(0), job+`JobName = "scan-1";`)
	submit(ended(3), job+`JobName = "scan-2";`)
	submit(ended(130), job+`JobName = "other";`)
	submit(&liar{says: plugins.Status{State: plugins.Queued, Native: "PD"}}, job+`JobName = "waits";`)
	submit(ended(0), `[ Type = "Collection"; JobName = "Sweep-A"; Nodes = { [ JobName = "left"; `+job+`], [ JobName = "right"; `+job+`] } ]`)
	_, text, _ := atLiarIn(t, dir, ended(0), "list", "--all", "--jq", `.jobs[] | .id + " " + .name + " " + .parent`)
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if names[f[0]] = f[1]; len(f) > 2 {
			parent = f[2]
		}
	}
	if len(names) != 6 {
		t.Fatalf("%d jobs: %s", len(names), text)
	}
	return dir, parent, names
}

// TestSelections: each way to choose jobs chooses the same ones for every verb that
// tells what is recorded, as docs/jobs.md says of it.
func TestSelections(t *testing.T) {
	t.Parallel()
	dir, parent, names := recorded(t)
	asked := &liar{says: plugins.Status{State: plugins.Queued, Native: "PD"}}
	const all = "left other right scan-1 scan-2 waits"
	for _, c := range []struct {
		flags []string
		want  string
	}{
		{[]string{"--all"}, all},
		{[]string{"--state", "done"}, "left right scan-1"},
		{[]string{"--state", "DONE,failed"}, "left other right scan-1 scan-2"},
		{[]string{"--state", "done", "--state", "queued"}, "left right scan-1 waits"},
		{[]string{"--state", "lost"}, ""},
		{[]string{"--since", "1h"}, all},
		{[]string{"--since", "2d"}, all},
		{[]string{"--since", "2001-02-03"}, all},
		{[]string{"--since", "2001-02-03T04:05"}, all},
		{[]string{"--since", "2001-02-03T04:05:06Z"}, all},
		{[]string{"--since", "2199-01-01"}, ""},
		{[]string{"--since", time.Now().Add(2 * time.Hour).Format(time.RFC3339)}, ""},
		{[]string{"--name", "scan-*"}, "scan-1 scan-2"},
		{[]string{"--name", "scan-[2-9]"}, "scan-2"},
		{[]string{"--name", "scan"}, ""},
		{[]string{"--name", "SCAN-1"}, "scan-1"},
		{[]string{"--at", "wood"}, all},
		{[]string{"--at", "de?"}, all},
		{[]string{"--at", "CERN*"}, ""},
		{[]string{"--site", "Wood", "--exit", "3"}, "scan-2"},
		{[]string{"--exit", "0"}, "left right scan-1"},
		{[]string{"--exit", "!=0"}, "other scan-2"},
		{[]string{"--exit", "!0"}, "other scan-2"},
		{[]string{"--exit", "=3"}, "scan-2"},
		{[]string{"--exit", "> 3"}, "other"},
		{[]string{"--exit", ">=3"}, "other scan-2"},
		{[]string{"--exit", "<3"}, "left right scan-1"},
		{[]string{"--exit", "<= 3"}, "left right scan-1 scan-2"},
		{[]string{"--group", "Sweep-A"}, "left right"},
		{[]string{"--group", "sweep-a"}, "left right"},
		{[]string{"--group", "Swee*"}, "left right"},
		{[]string{"--group", parent}, "left right"},
		{[]string{"--group", strings.ToUpper(parent[:len(parent)-2])}, "left right"},
		{[]string{"--group", "scan-1"}, ""},
		{[]string{"--where", `exit_code == 3`}, "scan-2"},
		{[]string{"--where", `exit_code > 2`}, "other scan-2"},
		{[]string{"--where", `name startsWith "scan" && site == "wood"`}, "scan-1 scan-2"},
		{[]string{"--where", `state in ["done", "queued"] and parent == ""`}, "scan-1 waits"},
		{[]string{"--where", `exit_code == nil`}, "waits"},
		{[]string{"--where", `past[0].state == "failed"`}, ""}, // of jobs that have no past it is not true
		{[]string{"--where", "true"}, all},
		{[]string{"--where", "false"}, ""},
		{[]string{"--name", "scan-*", "--exit", "0"}, "scan-1"},
		{[]string{"--state", "failed", "--where", `name == "other"`, "--since", "1h"}, "other"},
	} {
		for _, verb := range []string{"list", "show", "log"} {
			if verb != "list" && c.want == "" {
				continue // told in words, see below
			}
			_, text, errs := atLiarIn(t, dir, asked, append([]string{verb, "--jq", ".jobs[].id"}, c.flags...)...)
			var got []string
			for _, id := range strings.Fields(text) {
				got = append(got, names[id])
			}
			if slices.Sort(got); strings.Join(got, " ") != c.want {
				t.Errorf("grid %s %q: %q, want %q\n%s", verb, c.flags, got, c.want, errs)
			}
		}
	}
}

// TestSelectionsOfNamedJobs: flags choose among the ids that are named, which come
// from the command line or, for "-", as the first word of each line of standard input;
// what is no id of one job is a mistake.
func TestSelectionsOfNamedJobs(t *testing.T) {
	t.Parallel()
	dir, _, names := recorded(t)
	asked := &liar{says: plugins.Status{State: plugins.Queued, Native: "PD"}}
	var ids []string
	for id := range names {
		ids = append(ids, id)
	}
	for id, name := range names {
		for _, part := range []string{id, strings.ToUpper(id), id[len(id)-8:]} {
			if _, text, errs := atLiarIn(t, dir, asked, "list", part, "--jq", ".jobs[].name"); strings.TrimSpace(text) == "" {
				t.Errorf("%s of %s chooses nothing: %s", part, name, errs)
			}
		}
	}
	for _, c := range []struct {
		flags []string
		want  int
	}{
		{nil, 6}, {[]string{"--exit", "0"}, 3}, {[]string{"--state", "failed"}, 2}, {[]string{"--since", "2199-01-01"}, 0},
		{[]string{"--where", `exit_code != 0`}, 3}, {[]string{"--limit", "2"}, 2},
	} {
		args := append(append([]string{"list", "--jq", ".jobs[].id"}, c.flags...), ids...)
		if _, text, errs := atLiarIn(t, dir, asked, args...); len(strings.Fields(text)) != c.want {
			t.Errorf("%q of all ids: %d jobs, want %d\n%s", c.flags, len(strings.Fields(text)), c.want, errs)
		}
	}
	for _, bad := range []string{"zzzz", "0", ids[0][:1], ids[0] + "x", "*", ids[0][:3]} {
		code, out, errs := atLiarIn(t, dir, asked, "list", bad)
		if code != 2 || out != "" || !strings.Contains(errs, bad) {
			t.Errorf("%q as an id: code %d %q %q", bad, code, out, errs)
		}
	}
}

// TestUnknownIDsAmongOthers: ids that name no job, or several, are named, and every verb
// does its work with the others; those that a part of an id could mean are left alone.
func TestUnknownIDsAmongOthers(t *testing.T) {
	t.Parallel()
	dir, _, names := recorded(t)
	byName := map[string]string{}
	for id, name := range names {
		byName[name] = id
	}
	const gone = "1zzzzzzzzzzzzzz"
	several := byName["left"][:8] // of the same call as right
	for _, c := range []struct{ verb, job string }{
		{"list", "scan-1"}, {"show", "scan-1"}, {"log", "scan-1"}, {"why", "scan-1"}, {"status", "scan-1"}, {"output", "scan-1"},
		{"watch", "scan-1"}, {"resubmit --same", "scan-2"}, {"cancel", "waits"}, {"clean --forget", "scan-1"},
	} {
		l := &liar{says: plugins.Status{State: plugins.Done, Native: "ended", ExitCode: glue.Some(0)}, has: []string{"o"}}
		if c.job == "waits" || c.job == "scan-2" {
			l.says = plugins.Status{State: plugins.Queued, Native: "PD"}
		}
		id, verb := byName[c.job], strings.Fields(c.verb)
		code, out, errs := atLiarIn(t, dir, l, append(verb, gone, id, "no-id", several, id)...)
		if code != 5 {
			t.Errorf("grid %s: code %d\n%s%s", c.verb, code, out, errs)
		}
		if !strings.Contains(out+errs, id) {
			t.Errorf("grid %s has done nothing with the job that is there:\n%s%s", c.verb, out, errs)
		}
		for _, said := range []string{"no job " + gone, "no job no-id", several + " could be "} {
			if strings.Count(errs, "grid: "+said) != 1 {
				t.Errorf("grid %s does not say %q once: %s", c.verb, said, errs)
			}
		}
		if code, out, errs := atLiarIn(t, dir, l, append(verb, gone, "no-id")...); code != 2 || out != "" || !strings.Contains(errs, gone) || !strings.Contains(errs, "no-id") {
			t.Errorf("grid %s of unknown ids alone: code %d %q %q", c.verb, code, out, errs)
		}
	}
	_, text, _ := atLiarIn(t, dir, &liar{}, "list", "--all", "--jq", `.jobs | sort_by(.name)[] | .name + " " + .state + (if .cancelled then "-" else "" end)`)
	if got, want := strings.Join(strings.Fields(text), " "), "left done other failed right done scan-2 accepted waits queued-"; got != want {
		t.Errorf("afterwards %q, want %q", got, want)
	}
}

// TestThousandsOfUnknownIDs: of a list of ids that are another machine's some are named, and how many more there are.
func TestThousandsOfUnknownIDs(t *testing.T) {
	t.Parallel()
	dir, _, names := recorded(t)
	ids := []string{"list"}
	for n := range 2000 {
		ids = append(ids, fmt.Sprintf("1zzzzzzzzzz%04d", n))
	}
	for id := range names {
		for _, c := range []struct {
			words []string
			code  int
		}{{ids, 2}, {append(ids, id), 5}} {
			code, out, errs := atLiarIn(t, dir, &liar{}, c.words...)
			if n := strings.Count(errs, "no job "); code != c.code || n != 20 || !strings.Contains(errs, "and 1980 more that were not found") || strings.Contains(out, id) != (code == 5) {
				t.Errorf("%d ids: code %d, %d are named: %.500s", len(c.words), code, n, errs)
			}
		}
		break
	}
}

// TestListsAsCSVAndColumns: what is listed for a spreadsheet has a line for each job and a
// field for each column, whatever is in the names; sorted as was said.
func TestListsAsCSVAndColumns(t *testing.T) {
	t.Parallel()
	dir, _, _ := recorded(t)
	asked := &liar{says: plugins.Status{State: plugins.Queued, Native: "PD"}}
	for flags, want := range map[string]string{
		"--sort name --columns name":                    "name left other right scan-1 scan-2 waits",
		"--sort -name --columns name --limit 2":         "name waits scan-2",
		"--sort exit --columns exit --name scan*":       "exit 0 3",
		"--sort -exit --columns exit,name --name scan*": "exit,name 3,scan-2 0,scan-1",
	} {
		_, text, errs := atLiarIn(t, dir, asked, append([]string{"list", "--all", "-o", "csv"}, strings.Fields(flags)...)...)
		if got := strings.Join(strings.Fields(text), " "); got != want {
			t.Errorf("%s: %q, want %q\n%s", flags, got, want, errs)
		}
	}
	_, text, _ := atLiarIn(t, dir, asked, "list", "--all", "-o", "csv")
	width := -1
	for line := range strings.Lines(text) {
		if n := strings.Count(line, ","); width >= 0 && n != width {
			t.Errorf("%d fields and %d in one table: %s", width+1, n+1, text)
		} else {
			width = n
		}
	}
	if n := strings.Count(text, "\n"); n != 7 {
		t.Errorf("%d lines, want a heading and six jobs\n%s", n, text)
	}
}

// TestJQOfEveryVerb: a program for jq works on the JSON of any verb: what it finds is
// printed a line each, texts without quotes; one that fails prints nothing but says so, and one
// that is none is a mistake of the call.
func TestJQOfEveryVerb(t *testing.T) {
	t.Parallel()
	dir, _, _ := recorded(t)
	asked := &liar{says: plugins.Status{State: plugins.Queued, Native: "PD"}}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"list", "--all", "--jq", ".jobs | length"}, 0, "6\n"},
		{[]string{"list", "--all", "--jq", ".schema"}, 0, "grid.list/"},
		{[]string{"list", "--name", "scan-*", "--jq", ".jobs[].name"}, 0, "scan-1\nscan-2\n"},
		{[]string{"list", "--name", "scan-1", "--jq", `.jobs[] | [.name, .exit_code]`}, 0, `["scan-1",0]` + "\n"},
		{[]string{"list", "--all", "--jq", "empty"}, 0, ""},
		{[]string{"list", "--all", "--jq", ".jobs[].nothing"}, 0, strings.Repeat("null\n", 6)},
		{[]string{"show", "--name", "scan-2", "--jq", ".jobs[0].exit_code"}, 0, "3\n"},
		{[]string{"store", "check", "--jq", ".schema"}, 0, "grid.store.check/"},
		{[]string{"config", "show", "--jq", ".schema"}, 0, "grid.config.show/"},
		{[]string{"resources", "--jq", ".resources[0].site"}, 0, "wood\n"},
		{[]string{"list", "--all", "--jq", ".jobs | keys_of"}, 2, ""},
		{[]string{"list", "--all", "--jq", ".jobs["}, 2, ""},
		{[]string{"list", "--all", "--jq", `.jobs[0].name + 1`}, 1, ""},
		{[]string{"list", "--all", "--jq", `error("no")`}, 1, ""},
	} {
		code, out, errs := atLiarIn(t, dir, asked, c.args...)
		if code != c.code || !strings.HasPrefix(out, c.want) || c.want == "" && out != "" || (code != 0) != strings.Contains(errs, "--jq") {
			t.Errorf("grid %s: code %d, want %d\n%q, want %q\n%s", fmt.Sprintf("%q", c.args), code, c.code, out, c.want, errs)
		}
	}
}
