package htcondor_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
)

// The figures of docs/benchmarks.md, see testdata/testbed/condor/bench.sh. Every
// job asks for the whole of the largest slot, so that at most one of them runs
// while submission and status are measured.

func benchRequests(url string, n int) []plugins.Request {
	var reqs []plugins.Request
	stamp := time.Now().UnixNano()
	for i := range n {
		job := &jdl.Job{Executable: "/bin/echo", Args: []string{"job", fmt.Sprint(i)}, StdOutput: "out",
			Demand: jdl.Demand{Slots: 8, Memory: 15_000, WallTime: time.Duration(i+1) * time.Second}}
		reqs = append(reqs, plugins.Request{ID: fmt.Sprintf("bench%d-%d", stamp, i), Job: job, Endpoint: glue.Endpoint{URL: url}})
	}
	return reqs
}

func (p *pool) bulk(b *testing.B, n int) []plugins.Handle {
	b.Helper()
	var hs []plugins.Handle
	for _, r := range p.Submit(b.Context(), benchRequests(p.urls["ssh"], n), nil) {
		if r.Err != nil {
			b.Fatal(r.Err)
		}
		hs = append(hs, r.Handle)
	}
	return hs
}

// BenchmarkBulk submits 1,000 different jobs over one SSH connection, and 20 by
// "ssh host condor_submit" for each; compare ns/job.
func BenchmarkBulk(b *testing.B) {
	p := newPool(b)
	if _, err := p.Ping(b.Context(), p.urls["ssh"]); err != nil {
		b.Fatal(err)
	}
	b.Run("grid", func(b *testing.B) {
		var took time.Duration
		for b.Loop() {
			start := time.Now()
			hs := p.bulk(b, 1000)
			took += time.Since(start)
			b.StopTimer()
			for part := range slices.Chunk(hs, 500) {
				p.Clean(b.Context(), part)
			}
			b.StartTimer()
		}
		b.ReportMetric(took.Seconds()/float64(b.N), "s/1000-jobs")
		b.ReportMetric(float64(took.Nanoseconds())/float64(b.N)/1000, "ns/job")
	})
	b.Run("ssh-condor_submit", func(b *testing.B) {
		const n = 20
		var took time.Duration
		for b.Loop() {
			start := time.Now()
			for range n {
				p.ssh(b, "executable = /bin/sleep\narguments = 1\nhold = true\nMy.BenchPeer = true\nqueue\n", "condor_submit", "-terse", "-")
			}
			took += time.Since(start)
		}
		p.ssh(b, "", "condor_rm", "-constraint", "BenchPeer")
		b.ReportMetric(float64(took.Nanoseconds())/float64(b.N)/n, "ns/job")
	})
}

// ssh runs a command as a user would.
func (p *pool) ssh(b *testing.B, in string, argv ...string) string {
	b.Helper()
	cmd := exec.Command("ssh", append([]string{"-F", filepath.Join(p.env["GRID_CONDOR_SSH"], "config"), "-o", "LogLevel=ERROR", "condorlab"}, argv...)...)
	cmd.Stdin = strings.NewReader(in)
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("%v: %v %s", argv, err, out)
	}
	return string(out)
}

// BenchmarkStatus asks about 1,000 jobs over the connection that is open, and
// by one condor_q with the same attributes over a connection kept open by ssh.
func BenchmarkStatus(b *testing.B) {
	p := newPool(b)
	hs := p.bulk(b, 1000)
	defer p.Clean(b.Context(), hs)
	b.Run("grid", func(b *testing.B) {
		for b.Loop() {
			for _, st := range p.Status(b.Context(), hs) {
				if st.Err != nil {
					b.Fatal(st.Err)
				}
			}
		}
	})
	b.Run("condor_q", func(b *testing.B) {
		control := filepath.Join(b.TempDir(), "c")
		kept := []string{"-F", filepath.Join(p.env["GRID_CONDOR_SSH"], "config"), "-o", "LogLevel=ERROR", "-o", "ControlMaster=auto", "-o", "ControlPersist=60", "-o", "ControlPath=" + control, "condorlab"}
		defer exec.Command("ssh", append(kept[:len(kept)-1:len(kept)-1], "-O", "exit", "condorlab")...).Run()
		ask := append(kept, "condor_q", "-json", "-attributes", peerAttributes, "-constraint", "'GridBrokerId isnt undefined'")
		exec.Command("ssh", ask...).Run()
		for b.Loop() {
			if out, err := exec.Command("ssh", ask...).Output(); err != nil || len(out) < 1000 {
				b.Fatal(err, len(out))
			}
		}
	})
}

// peerAttributes are those that the back-end asks for.
const peerAttributes = "GridBrokerId,ClusterId,ProcId,JobStatus,LastJobStatus,HoldReasonCode,HoldReasonSubCode,HoldReason,ExitBySignal,ExitCode,ExitSignal," +
	"EnteredCurrentStatus,QDate,JobStartDate,JobCurrentStartDate,CompletionDate,NumJobStarts,RemoteHost,LastRemoteHost,RemoteWallClockTime,RemoteUserCpu," +
	"RemoteSysCpu,MemoryUsage,ResidentSetSize,RemoveReason,StageInFinish,StageInStart"
