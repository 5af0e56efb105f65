package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gridbroker/testdata/testbed"
)

// passing is a DAG whose second node takes a large file and a directory of the first.
const passing = `[ Type = "dag";
	Nodes = [
		make = [ Executable = "/bin/sh"; Arguments = "-c 'head -c 40000000 /dev/zero > big; echo end >> big; mkdir -p plots/deep; echo one > plots/1; echo two > plots/deep/2'"; OutputSandbox = {"big", "plots/"}; ];
		use = [ Executable = "/bin/sh"; Arguments = "-c 'wc -c < big; tail -n 1 big | tr -d \\\\000; cat plots/1 plots/deep/2; echo'"; StdOutput = "seen";
			InputSandbox = {root.nodes.make.description.OutputSandbox}; ];
	];
	Dependencies = {{make, use}};
]`

// passes runs the DAG at a place, from file to file.
func (u *user) passes(url string) {
	u.t.Helper()
	u.grid(0, "submit", "--wait", "--deadline", "60s", "--scouts", "0", "--info", url, u.write("pass.jdl", passing))
	u.insist("output", "--where", "node == 'use'", "--dir", "got")
	found, err := filepath.Glob(filepath.Join(u.dir, "got", "*", "seen"))
	if err != nil || len(found) != 1 {
		u.t.Fatal(found, err)
	}
	text, err := os.ReadFile(found[0])
	if err != nil || strings.Join(strings.Fields(string(text)), " ") != "40000004 end one two" {
		u.t.Errorf("%v: %q", err, text)
	}
	u.insist("clean", "--all", "--yes")
}

// A large file and a directory go from node to node of a DAG at a real A-REX of either version.
func TestHandOverARC(t *testing.T) {
	t.Parallel()
	bed := testbed.NeedARC(t)
	for _, url := range []string{bed.REST10[0], bed.REST11[0]} {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			newUser(t, bed).passes(url)
		})
	}
}

// The same at a real Slurm over SSH.
func TestHandOverSlurm(t *testing.T) {
	t.Parallel()
	conf := filepath.Join(testbed.Dir(), "slurm", "slurm.conf")
	if out, err := (&exec.Cmd{Path: "/usr/bin/sinfo", Args: []string{"sinfo"}, Env: []string{"SLURM_CONF=" + conf}}).CombinedOutput(); err != nil {
		t.Skipf("no Slurm here: %v %s", err, out)
	}
	config, err := os.ReadFile(filepath.Join(testbed.Dir(), "slurm", "ssh", "config"))
	if err != nil {
		t.Fatal(err)
	}
	base, err := os.MkdirTemp(filepath.Join(testbed.Dir(), "slurm", "job"), "pass")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	dir := testbed.Home(t)
	u := &user{t, dir, map[string]string{"HOME": dir, "PATH": os.Getenv("PATH"), "GRID_STATE_DIR": filepath.Join(dir, "state")}}
	if err := os.Mkdir(filepath.Join(dir, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	u.write(".ssh/config", string(config))
	u.passes("slurm+ssh://gridlab" + base)
}
