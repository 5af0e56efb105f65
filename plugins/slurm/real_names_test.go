package slurm_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
)

// Another user's jobs by the name of one that our submission left no number of are not taken for ours, by an account
// to which accounting shows everybody's.
func TestRealNamesOfOthers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("to be another user takes root")
	}
	c := testbed(t)
	at, id := glue.Endpoint{URL: c.urls["local"], Interface: glue.InterfaceSlurm}, fmt.Sprintf("n%d", time.Now().UnixNano())
	theirs := func() {
		cmd := exec.Command("sbatch", "--parsable", "--job-name="+id, "--output=/dev/null", "--chdir=/tmp", "--wrap=true")
		cmd.Env = append(os.Environ(), "SLURM_CONF="+c.conf)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	theirs()
	r := c.Submit(t.Context(), []plugins.Request{request(t, c.Backend, at.URL, id, &jdl.Job{Executable: "true"})}, nil)[0]
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	defer c.Clean(t.Context(), []plugins.Handle{r.Handle})
	theirs()
	waitFinal(t, c.Backend, []plugins.Handle{r.Handle}) // it writes its number itself, too
	kept, err := filepath.Glob(filepath.Join(strings.TrimPrefix(at.URL, "slurm:"), "batches", "*", "*.id"))
	if err != nil || len(kept) != 1 {
		t.Fatal(kept, err)
	}
	if err := os.Remove(kept[0]); err != nil {
		t.Fatal(err)
	}
	known := func() string {
		return c.command(t, "sacct", "--noheader", "--parsable2", "--allocations", "--allusers", "--format=JobID,User", "--name="+id)
	}
	for end := time.Now().Add(time.Minute); strings.Count(known(), "\n") < 3; time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("accounting does not know all three jobs: %s", known())
		}
	}
	found, err := c.Find(t.Context(), at, []string{id})
	if err != nil || found[id] != r.Handle {
		t.Errorf("found %v, %v; ours is %v, and there are\n%s", found, err, r.Handle, known())
	}
}
