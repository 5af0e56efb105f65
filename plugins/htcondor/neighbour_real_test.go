package htcondor_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/plugins"
	"gridbroker/plugins/htcondor"
	"gridbroker/plugins/remote"
)

// neighbour runs a command of the pool as another of its users.
func (p *pool) neighbour(t *testing.T, in string, argv ...string) string {
	t.Helper()
	cmd := exec.Command("chroot", append([]string{"--userspec=nobody:nogroup", p.env["GRID_CONDOR_TREE"], "/usr/bin/env",
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/tmp", "CONDOR_CONFIG=/etc/condor-pool.conf"}, argv...)...)
	cmd.Stdin = strings.NewReader(in)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", argv, err, out)
	}
	return string(out)
}

// A neighbour calls a job of his by an expression that becomes several lines, one of them as if his job were one that the user's
// submission left no number of: what is found is the user's own, also where the pool shows everybody all jobs.
func TestNeighboursNameOfSeveralLines(t *testing.T) {
	p := newPool(t)
	id := fmt.Sprintf("n%d", time.Now().UnixNano())
	held := sh("true")
	held.Demand.Memory = 16000 // it waits
	rs := p.Submit(t.Context(), []plugins.Request{{ID: id, Endpoint: glue.Endpoint{URL: p.urls["local"]}, Job: held}}, nil)
	if rs[0].Err != nil {
		t.Fatal(rs[0].Err)
	}
	own := rs[0].Handle
	defer p.Clean(t.Context(), []plugins.Handle{own})
	base := strings.TrimPrefix(p.urls["local"], "condor:")
	kept, err := filepath.Glob(base + "/batches/*/*.id")
	if err != nil || len(kept) != 1 {
		t.Fatal(kept, err)
	}
	for _, name := range append(kept, base+"/jobs/"+id+"/events") {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	owner := strings.TrimSpace(p.tool(t, "", "condor_q", "-allusers", strings.Split(own.ID, "/")[0], "-af", "Owner"))
	said := p.neighbour(t, fmt.Sprintf("executable=/bin/true\nshould_transfer_files=NO\nhold=true\nMy.GridBrokerId=%q\n"+
		"My.JobBatchName=formatTime(0,\"x%%n999999 %s %s%%nx\")\nqueue\n", id, id, owner), "condor_submit", "-")
	defer p.neighbour(t, "", "condor_rm", "-constraint", fmt.Sprintf("Owner is \"nobody\" && GridBrokerId is %q", id))
	all := htcondor.New(htcondor.Options{Options: remote.Options{Home: t.TempDir(),
		Environ: []string{"PATH=" + p.env["GRID_CONDOR_BIN"] + ":" + os.Getenv("PATH"), "_condor_CONDOR_Q_ONLY_MY_JOBS=False"}}})
	defer all.Close()
	found, err := all.Find(t.Context(), glue.Endpoint{URL: p.urls["local"]}, []string{id})
	if err != nil || found[id] != own {
		t.Errorf("found %v, %v; it is %v; the neighbour: %s", found, err, own, said)
	}
}
