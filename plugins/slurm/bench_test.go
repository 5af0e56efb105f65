package slurm_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/jdl"
	"gridbroker/plugins"
	bed "gridbroker/testdata/testbed"
)

// BenchmarkBulk submits 500 jobs over SSH: with the back-end (equal options:
// one array; options of their own: 500 calls of sbatch in one command), and by
// "ssh host sbatch" for each, with a connection each and over one kept open.
// Compare ns/op; every job sleeps for nothing in a partition that is down, so
// that only submission is measured.
func BenchmarkBulk(b *testing.B) {
	for _, kind := range []string{"array", "singles"} {
		b.Run(kind, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				bulk(b, kind == "singles", fmt.Sprintf("bb%s%d-%d", kind, i, time.Now().UnixNano()))
			}
		})
	}
	for _, kept := range []bool{false, true} {
		b.Run(fmt.Sprintf("ssh-sbatch/kept=%v", kept), func(b *testing.B) {
			for b.Loop() {
				oneByOne(b, kept)
			}
		})
	}
}

const bulkJobs = 500

func bulk(b *testing.B, singles bool, prefix string) {
	b.StopTimer()
	c := testbed(b)
	back := c.Backend
	var reqs []plugins.Request
	for i := range bulkJobs {
		job := &jdl.Job{Executable: "/bin/echo", Args: []string{"job", fmt.Sprint(i)}, StdOutput: "out"}
		if singles {
			job.Demand.Memory = int64(100 + i)
		}
		req := request(b, back, c.urls["ssh"], fmt.Sprintf("%s-%d", prefix, i), job)
		req.Resource.Queue = "closed"
		reqs = append(reqs, req)
	}
	b.StartTimer()
	results := back.Submit(b.Context(), reqs, nil)
	b.StopTimer()
	var hs []plugins.Handle
	for _, r := range results {
		if r.Err != nil {
			b.Fatal(r.Err)
		}
		hs = append(hs, r.Handle)
	}
	back.Clean(b.Context(), hs)
	b.StartTimer()
}

// oneByOne is what a user's loop does, without any description of the job
// travelling beside the command.
func oneByOne(b *testing.B, kept bool) {
	b.StopTimer()
	c := testbed(b)
	top := bed.Dir()
	argv := []string{"-F", filepath.Join(top, "slurm/ssh/config"), "-o", "LogLevel=ERROR"}
	control := filepath.Join(b.TempDir(), "c")
	if kept {
		argv = append(argv, "-o", "ControlMaster=auto", "-o", "ControlPersist=30", "-o", "ControlPath="+control)
		defer exec.Command("ssh", append(argv, "-O", "exit", "gridlab")...).Run()
	}
	b.StartTimer()
	for i := range bulkJobs {
		out, err := exec.Command("ssh", append(argv, "gridlab", "sbatch", "--parsable", "-p", "closed", "-J", "onebyone", "-o", "/dev/null", "--wrap", fmt.Sprintf("'echo job %d'", i))...).Output()
		if err != nil || strings.TrimSpace(string(out)) == "" {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	c.command(b, "scancel", "--name=onebyone")
	b.StartTimer()
}
