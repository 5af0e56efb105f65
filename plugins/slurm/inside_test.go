package slurm

import (
	"os"
	"path/filepath"
	"testing"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
)

// A job that asks for an environment VEE-... never runs outside of it: on a node
// without grid-launch, without a definition, or with one of another environment
// it fails as the site's fault, also where the cluster publishes the tag. A tag
// of software that is simply there keeps nobody from running.
func TestNothingRunsOutside(t *testing.T) {
	l := newLab(t)
	bin := t.TempDir()
	program := filepath.Join(bin, "grid-launch") // knows no tag; whoever is put inside all the same would run
	if err := os.WriteFile(program, []byte("#!/bin/sh\n[ \"$1\" = which ] && exit\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	node := filepath.Join(bin, "node.json")
	if err := os.WriteFile(node, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	known := "?launcher=" + program + "&node=" + node
	var reqs []plugins.Request
	marks := t.TempDir()
	cases := []struct {
		id, query, tag string
		runs           bool
	}{
		{"a", "?node=" + node, "VEE-Debian11", false}, {"b", "?launcher=" + program, "VEE-Debian11", false}, {"c", known, "VEE-Debian11", false},
		{"d", known, "vee-debian11", false}, {"e", "", "ROOT-6.32", true}, {"f", known, "ROOT-6.32", true},
	}
	for _, c := range cases {
		reqs = append(reqs, plugins.Request{ID: c.id, Endpoint: glue.Endpoint{URL: l.url + c.query}, Resource: &glue.Resource{RuntimeEnvironments: []string{c.tag}},
			Job: &jdl.Job{Executable: "/bin/sh", Args: []string{"-c", ": >" + filepath.Join(marks, c.id)}, Demand: jdl.Demand{Slots: 1, RuntimeEnvironments: []string{c.tag}}}})
	}
	hs := l.submit(reqs)
	l.outcomes(len(reqs))
	l.write("forgotten", "")
	for i, st := range l.Status(t.Context(), hs) {
		_, err := os.Stat(filepath.Join(marks, cases[i].id))
		if ran := err == nil; ran != cases[i].runs {
			t.Errorf("%s on a node %q: ran outside %v; %+v", cases[i].tag, cases[i].query, ran, st)
		}
		if !cases[i].runs && (st.State != plugins.Failed || st.Fault == plugins.JobsFault) {
			t.Errorf("%s: %+v", cases[i].tag, st)
		}
	}
}
