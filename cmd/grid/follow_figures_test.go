package main_test

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/testdata/testbed"
)

// Of BenchmarkFollow: a day of 10,000 jobs over 20 computing elements, of which half are out.
const (
	followedCEs   = 20
	followedJobs  = 5000
	followedEvery = 24 * time.Hour / 10_000 // one ends
)

// BenchmarkFollow is grid follow, as it is built, in the middle of a day of 10,000 jobs: 5,000 run at 20 computing
// elements, and one ends every 8.64 s. Four minutes of it are measured, after the first four.
func BenchmarkFollow(b *testing.B) {
	g := newFollowedGrid(b)
	for range b.N {
		g.measure(b, 4*time.Minute)
	}
}

// followedGrid is 20 computing elements of one process. Job k of them all ends k * followedEvery after the beginning.
type followedGrid struct {
	*victim
	began    atomic.Pointer[time.Time] // nil: nothing ends yet
	made     [followedCEs]atomic.Int64
	requests atomic.Int64
	bytes    atomic.Int64
	dialled  atomic.Int64
}

func newFollowedGrid(b *testing.B) *followedGrid {
	ca := testbed.NewCA(b, "Lab CA", time.Now(), nil)
	dir := b.TempDir()
	ca.Install(filepath.Join(dir, "certificates"), credential.NameHash(ca.Cert.RawSubject), "/DC=org/CN=Lab CA")
	alice := ca.Issue("Alice", nil)
	testbed.WriteFile(b, filepath.Join(dir, "proxy"), append(testbed.PEM(alice.Cert), testbed.KeyPEM(b, alice.Key)...), 0o600)
	g := &followedGrid{victim: newVictim(b, "X509_CERT_DIR="+filepath.Join(dir, "certificates"), "X509_USER_PROXY="+filepath.Join(dir, "proxy"))}
	job := filepath.Join(g.dir, "jobs.jdl")
	testbed.WriteFile(b, job, fmt.Appendf(nil, "JobType = \"Parametric\"; Parameters = %d; Executable = \"/bin/true\"; StdOutput = \"out.txt\"; OutputSandbox = {\"out.txt\"};",
		followedJobs/followedCEs), 0o600)
	for i := range followedCEs {
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.answer(i, w, r) }))
		srv.TLS = &tls.Config{Certificates: []tls.Certificate{ca.Server(nil)}, ClientAuth: tls.RequestClientCert}
		srv.Config.ErrorLog = log.New(io.Discard, "", 0)
		srv.Config.ConnState = func(_ net.Conn, is http.ConnState) {
			if is == http.StateNew {
				g.dialled.Add(1)
			}
		}
		srv.StartTLS()
		b.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
		ldif := filepath.Join(g.dir, fmt.Sprintf("ce%d.ldif", i))
		testbed.WriteFile(b, ldif, []byte(strings.ReplaceAll(rogueLDIF, "HERE", srv.URL+"/arex")), 0o600)
		if h := g.grid(0, "submit", "--info", "file:"+ldif, job); h.code != 0 {
			b.Fatalf("submit: %d\n%s", h.code, h.errs)
		}
	}
	return g
}

var followedID = regexp.MustCompile(`<id>(job[0-9]+)</id>`)

// state is that of a job of a computing element.
func (g *followedGrid) state(ce, job int) string {
	if at := g.began.Load(); at != nil && time.Since(*at) > time.Duration((job-1)*followedCEs+ce)*followedEvery {
		return "FINISHED"
	}
	return "RUNNING"
}

func (g *followedGrid) answer(ce int, w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	g.requests.Add(1)
	g.bytes.Add(int64(len(body)))
	var out bytes.Buffer
	action := r.URL.Query().Get("action")
	switch path := r.URL.Path; {
	case path == "/arex/rest":
		fmt.Fprint(&out, "<versions><version>1.0</version></versions>")
	case strings.HasSuffix(path, "/delegations"):
		w.Header().Set("Location", path+"/d1")
		w.WriteHeader(http.StatusCreated)
		out.Write(delegationRequest())
	case strings.Contains(path, "/delegations/"):
	case strings.HasSuffix(path, "/jobs") && action == "new":
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(&out, "<jobs>")
		for range strings.Count(string(body), "<ActivityDescription ") {
			fmt.Fprintf(&out, "<job><status-code>201</status-code><reason>Created</reason><id>job%d</id></job>", g.made[ce].Add(1))
		}
		fmt.Fprint(&out, "</jobs>")
	case strings.HasSuffix(path, "/jobs") && action == "info":
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(&out, "<jobs>")
		for _, id := range followedID.FindAllSubmatch(body, -1) {
			var n int
			fmt.Sscanf(string(id[1]), "job%d", &n)
			state := g.state(ce, n)
			fmt.Fprintf(&out, followedInfo, n, n, n, state, map[string]string{"FINISHED": "<ExitCode>0</ExitCode>"}[state])
		}
		fmt.Fprint(&out, "</jobs>")
	case strings.HasSuffix(path, "/jobs"):
		fmt.Fprint(&out, "<jobs>")
		for n := range int(g.made[ce].Load()) {
			fmt.Fprintf(&out, "<job><id>job%d</id><state>%s</state></job>", n+1, g.state(ce, n+1))
		}
		fmt.Fprint(&out, "</jobs>")
	default:
		http.NotFound(w, r)
		return
	}
	g.bytes.Add(int64(out.Len()))
	_, _ = w.Write(out.Bytes())
}

// followedInfo is as much as A-REX 7.0 tells of a job that runs.
const followedInfo = `<job><status-code>200</status-code><reason>OK</reason><id>job%d</id><info_document><ComputingActivity BaseType="Activity" CreationTime="2026-11-21T03:33:19Z" Validity="600">
<ID>urn:caid:ce1.example.org:org.nordugrid.arcrest:job%d</ID><Name>analysis</Name><OtherInfo>SubmittedVia=org.nordugrid.arcrest</OtherInfo><Type>single</Type><IDFromEndpoint>urn:idfe:job%d</IDFromEndpoint>
<LocalIDFromManager>53010</LocalIDFromManager><JobDescription>nordugrid:xrsl</JobDescription><State>nordugrid:INLRMS:R</State><State>file:inlrms</State><State>arcrest:%s</State>%s<WaitingPosition>0</WaitingPosition>
<Owner>/DC=org/CN=Alice</Owner><LocalOwner>arctest</LocalOwner><RequestedSlots>1</RequestedSlots><RequestedApplicationEnvironment>APPS/HEP/ATLAS-23.0.1</RequestedApplicationEnvironment><StdIn>/dev/null</StdIn>
<StdOut>out.txt</StdOut><StdErr>/dev/null</StdErr><ExecutionNode>vm</ExecutionNode><Queue>long</Queue><UsedTotalWallTime>5</UsedTotalWallTime><UsedTotalCPUTime>0</UsedTotalCPUTime><UsedMainMemory>5</UsedMainMemory>
<SubmissionTime>2026-11-21T03:32:32Z</SubmissionTime><ProxyExpirationTime>2026-12-21T03:18:43Z</ProxyExpirationTime><SubmissionHost>127.0.0.1</SubmissionHost><OtherMessages>LRMS: Running under fork</OtherMessages>
<Associations><ComputingShareID>urn:ogf:ComputingShare:ce1.example.org:long</ComputingShareID></Associations></ComputingActivity></info_document></job>
`

// measure follows for a time, and then for as long again, of which it tells the cost.
func (g *followedGrid) measure(b *testing.B, d time.Duration) {
	began := time.Now()
	g.began.Store(&began)
	cmd := exec.CommandContext(b.Context(), program(b), "follow")
	cmd.Dir, cmd.Env, cmd.Stderr = g.dir, g.env, os.Stderr
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	peak := watchMemory(cmd.Process.Pid)
	time.Sleep(d)
	cpu, asked, dialled, read := processorOf(b, cmd.Process.Pid), g.requests.Load(), g.dialled.Load(), g.bytes.Load()
	time.Sleep(d)
	cpu, asked, dialled, read = processorOf(b, cmd.Process.Pid)-cpu, g.requests.Load()-asked, g.dialled.Load()-dialled, g.bytes.Load()-read
	_ = cmd.Process.Signal(os.Interrupt)
	_ = cmd.Wait()
	b.ReportMetric(100*cpu.Seconds()/d.Seconds(), "%core")
	b.ReportMetric(float64(<-peak)/(1<<20), "MB")
	b.ReportMetric(float64(asked)/d.Minutes()/followedCEs, "requests/min/CE")
	b.ReportMetric(float64(dialled)/d.Minutes()/followedCEs, "connections/min/CE")
	b.ReportMetric(float64(read)/d.Minutes()/1e6, "MB/min")
}

// processorOf is the processor time that a process has taken, of /proc/PID/stat in hundredths of a second.
func processorOf(b *testing.B, pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')'):]))
	var user, system int64
	if _, err := fmt.Sscan(fields[12]+" "+fields[13], &user, &system); err != nil {
		b.Fatal(err)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}
