package remote

import (
	"slices"
	"strings"
	"testing"

	"gridbroker/jdl"
	"gridbroker/plugins"
)

// TestNamesAtTheHead: the names of a job's files are read back from the head of words.sh as they were given, whatever the
// job's own words below them look like.
func TestNamesAtTheHead(t *testing.T) {
	for _, job := range []jdl.Job{
		{Executable: "/bin/true"},
		{Executable: "/bin/true", StdOutput: "out", StdError: "err"},
		{Executable: "/bin/true", StdError: "e r r"},
		{Executable: "/bin/true", StdOutput: "#output x", OutputSandbox: []jdl.OutputFile{{Name: "*.root"}, {Name: "a b/#c"}, {Name: "é"}, {Name: "sent", DestURL: "https://se/x"}}},
		{Executable: "/bin/echo", Args: []string{"\n#output passwd\n#stdout passwd"}, StdOutput: "same", StdError: "same"},
	} {
		given := namesOf(&job)
		text := words(plugins.Request{ID: "a", Job: &job}, Nodes{})
		got, ok := parseNames(text)
		if !ok || got.stdout != job.StdOutput || got.stderr != job.StdError || !slices.Equal(got.outputs, given.outputs) {
			t.Errorf("%+v: %+v, %v", given, got, ok)
		}
		if _, below, _ := strings.Cut(text, "job_inside()"); strings.HasPrefix(below, "#") {
			t.Errorf("words begin too late: %s", text)
		}
	}
	if got, ok := parseNames("job_run() {\n:\n}\n#stdout x\n"); ok || got.stdout != "" {
		t.Errorf("words of an older program: %+v, %v", got, ok)
	}
}
