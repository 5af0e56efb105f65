package wiki

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/batch/maui"
	"gridbroker/plugins"
	"gridbroker/testdata/testbed"
)

// serve starts a server before a cluster and returns a client of it.
func serve(t testing.TB, c Manager, change func(*Server)) *Client {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "wiki.sock"))
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Manager: c, Key: NewKey(42), Auth: "grid", Now: time.Now}
	if change != nil {
		change(s)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return &Client{Network: "unix", Address: l.Addr().String(), Key: s.Key, Now: time.Now, Timeout: 5 * time.Second}
}

func node(name string, procs int64) Node {
	return Node{Node: maui.Node{Name: name, Procs: procs, Memory: 1024}, Free: -1}
}

func job(id string, tasks, limit int64) Job {
	return Job{Job: maui.Job{ID: id, User: "anna", Group: "users", Tasks: tasks, Limit: limit, Queued: time.Now().Unix()}}
}

func small(t testing.TB) *Cluster {
	t.Helper()
	c := NewCluster([]Node{node("n1", 2), node("n2", 2)}, time.Now)
	for i := range 3 {
		if err := c.Submit(job(fmt.Sprint("j", i), 2, 100), 0); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func TestVerbs(t *testing.T) {
	client, ctx := serve(t, small(t), nil), context.Background()
	steps := []struct {
		what string
		do   func() error
		want int // status; 0: success
	}{
		{"start", func() error { return client.Start(ctx, "j0", []string{"n1", "n1"}) }, 0},
		{"start again", func() error { return client.Start(ctx, "j0", []string{"n2", "n2"}) }, CodeRefused},
		{"full node", func() error { return client.Start(ctx, "j1", []string{"n1", "n2"}) }, CodeNoResources},
		{"unknown node", func() error { return client.Start(ctx, "j1", []string{"n9", "n2"}) }, CodeRefused},
		{"unknown job", func() error { return client.Start(ctx, "j9", []string{"n2", "n2"}) }, CodeRefused},
		{"suspend", func() error { return client.Suspend(ctx, "j0") }, 0},
		{"take its place", func() error { return client.Start(ctx, "j1", nil) }, 0},
		{"no room", func() error { return client.Resume(ctx, "j0") }, CodeNoResources},
		{"cancel", func() error { return client.Cancel(ctx, "j1", "ADMIN") }, 0},
		{"resume", func() error { return client.Resume(ctx, "j0") }, 0},
		{"requeue", func() error { return client.tell(ctx, RequeueJob, "j0") }, 0},
		{"modify", func() error { return client.tell(ctx, ModifyJob, "j2", Param{"TIMELIMIT", "5"}) }, 0},
		{"signal", func() error { return client.tell(ctx, SignalJob, "j2", Param{"ACTION", "signal"}, Param{"VALUE", "9"}) }, CodeFormat},
	}
	for _, s := range steps {
		err := s.do()
		var status *StatusError
		got := 0
		if errors.As(err, &status) {
			got = status.Code
		} else if err != nil {
			t.Fatalf("%s: %v", s.what, err)
		}
		if got != s.want {
			t.Errorf("%s: %v, want status %d", s.what, err, s.want)
		}
	}
	state, err := client.Queue(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(state.Nodes) != 2 || len(state.Jobs) != 2 || state.Jobs[1].Requested != 5*time.Minute {
		t.Errorf("%+v", state)
	}
}

// TestReplay sends a recorded command once more.
func TestReplay(t *testing.T) {
	c := small(t)
	s := &Server{Manager: c, Key: NewKey(42), Auth: "grid", Now: time.Now}
	body := NewKey(42).Sign(time.Now(), "root", "CMD=STARTJOB ARG=j0 TASKLIST=n1:n1")
	ctx := context.Background()
	if got := s.Answer(ctx, nil, body); !bytes.Contains(got, []byte("SC=0")) {
		t.Fatalf("%s", got)
	}
	if err := c.Requeue(ctx, "j0"); err != nil {
		t.Fatal(err)
	}
	if got := s.Answer(ctx, nil, body); !bytes.Contains(got, []byte("SC=-350")) {
		t.Errorf("a replayed start: %s", got)
	}
	for off, said := range map[time.Duration]string{-time.Hour: "is 1h0m0s behind", 10 * time.Minute: "is 10m0s ahead of"} {
		s.Now = func() time.Time { return time.Unix(1_800_000_000, 0) }
		stale := NewKey(42).Sign(s.Now().Add(off), "root", "CMD=GETJOBS ARG=0:ALL")
		if got := s.Answer(ctx, nil, stale); !bytes.Contains(got, []byte("SC=-350")) || !bytes.Contains(got, []byte("the clock of who sent it "+said+" that of who refuses it")) {
			t.Errorf("a message of a clock that is %v off: %s", off, got)
		}
	}
	s.Now = time.Now
	other := NewKey(43).Sign(time.Now(), "root", "CMD=GETJOBS ARG=0:ALL")
	if got := s.Answer(ctx, nil, other); !bytes.Contains(got, []byte("SC=-422")) {
		t.Errorf("another key: %s", got)
	}
}

// TestFaults sends what is broken and then, each time, what is not: the link
// recovers.
func TestFaults(t *testing.T) {
	client := serve(t, small(t), func(s *Server) { s.Timeout, s.Most = 300*time.Millisecond, 4 })
	for name, bytes := range map[string]string{
		"nothing": "", "half a header": "0000", "no number": "12x45678\nCMD=GETJOBS", "half a body": "00000100\nCK=", "oversized": "99999999\n",
		"garbage": "\x00\xff\x00\xff\x00\xff\x00\xff\x00\xff\x00", "unknown verb": "00000010\nCMD=MAKEUP", "wrong checksum": "00000046\nCK=0000000000000000 TS=1 AUTH=x DT=CMD=GETJOBS",
	} {
		conn, err := net.Dial(client.Network, client.Address)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, bytes)
		conn.SetReadDeadline(time.Now().Add(2 * time.Second))
		answer, _ := io.ReadAll(conn)
		conn.Close()
		if !strings.Contains(string(answer), "SC=-") {
			t.Errorf("%s: answered %q", name, answer)
		}
		if _, err := client.Jobs(context.Background(), time.Time{}); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
	}
}

// TestLostAnswer: the command was sent, no answer came. That is uncertain, and
// the next poll shows what became of it.
func TestLostAnswer(t *testing.T) {
	c := small(t)
	client := serve(t, c, nil)
	client.MaxSize = 10 // every answer is too large
	err := client.Start(context.Background(), "j0", []string{"n1", "n1"})
	var e *plugins.Error
	if !errors.As(err, &e) || e.Kind != plugins.Uncertain {
		t.Fatalf("%v", err)
	}
	client.MaxSize = 0
	jobs, err := client.Jobs(context.Background(), time.Time{})
	if err != nil || jobs[0].State != maui.JobRunning {
		t.Errorf("%v %v", jobs, err)
	}
}

// TestSince asks for what changed.
func TestSince(t *testing.T) {
	clock := time.Unix(1000, 0)
	c := NewCluster([]Node{node("n1", 4)}, func() time.Time { return clock })
	for i := range 3 {
		j := job(fmt.Sprint("j", i), 1, 100)
		j.Queued = 1000
		if err := c.Submit(j, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	clock = clock.Add(time.Minute)
	if err := c.Start(context.Background(), "j1", []string{"n1"}); err != nil {
		t.Fatal(err)
	}
	s := &Server{Manager: c, Now: time.Now}
	r, err := s.jobs(context.Background(), "1030:ALL")
	if err != nil || len(r.Records) != 1 || r.Records[0].ID != "j1" {
		t.Errorf("%v %v", r, err)
	}
	clock = clock.Add(2 * time.Minute)
	r, err = s.jobs(context.Background(), "0:j1:j2")
	if err != nil || len(r.Records) != 2 || r.Records[0].Get("STATE") != "Completed" {
		t.Errorf("%v %v", r, err)
	}
}

func TestEscapes(t *testing.T) {
	in := Reply{Query: true, Records: []Record{{"a:1#2", []Field{{"STATE", "Idle"}, {"IWD", `/tmp/a;b#c:d\e`}, {"TASKLIST", "n1:n2"}}}}}
	out, err := ParseReply(in.String())
	if err != nil || len(out.Records) != 1 || out.Records[0].ID != "a:1#2" || out.Records[0].Get("IWD") != `/tmp/a;b#c:d\e` || out.Records[0].Get("TASKLIST") != "n1:n2" {
		t.Errorf("%q: %+v %v", in.String(), out, err)
	}
}

func TestTaskList(t *testing.T) {
	testbed.Computes(t)
	got, err := taskList("n[0-2]*2:n9")
	if err != nil || strings.Join(got, " ") != "n0 n0 n1 n1 n2 n2 n9" {
		t.Errorf("%v %v", got, err)
	}
	wide := "n[" + strings.Repeat("0-1048575,", 1000) + "0]"
	long := "n[0-1048575]" + strings.Repeat("x", 1<<19)
	many := strings.Repeat("n[0-999]"+strings.Repeat("x", 1<<10)+":", 1<<9)
	for _, endless := range []string{"n[0-99999999]", "n*9223372036854775807", "n[0-1]*9223372036854775807", "n[0-1]*4611686018427387904", wide, long, many} {
		if list, err := taskList(endless); err == nil {
			t.Errorf("%.40q was taken as %d tasks", endless, len(list))
		}
	}
}

func TestKeyIsHidden(t *testing.T) {
	k := NewKey(123456)
	if s := fmt.Sprintf("%v %+v %#v %s", k, struct{ K Key }{k}, k, k); strings.Contains(s, "123456") || strings.Contains(s, "1e240") {
		t.Error(s)
	}
	if _, err := ParseKey("98765432198765"); err == nil || strings.Contains(err.Error(), "987654") {
		t.Error(err)
	}
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte("00000021\nCMD=GETJOBS ARG=0:ALL"))
	f.Add([]byte("     305 CK=86fdb173bebde7b3 TS=1 AUTH=a DT=SC=0 ARG=0#"))
	f.Fuzz(func(t *testing.T, b []byte) {
		body, err := ReadFrame(bytes.NewReader(b), 1<<16)
		if err != nil {
			return
		}
		if len(body) > len(b) {
			t.Errorf("%d bytes out of %d", len(body), len(b))
		}
		m, err := ParseMessage(body)
		if err != nil {
			return
		}
		// What is signed anew is read as it was, and one bit that changed is noticed.
		again := NewKey(42).Sign(m.Time, m.Auth, m.Data)
		rules := Rules{Key: NewKey(42), Now: time.Now}
		got, err := rules.Open(again)
		if m.Time.IsZero() {
			return
		}
		if err != nil || !got.Signed || got.Data != m.Data || got.Auth != m.Auth || !got.Time.Equal(m.Time) {
			t.Errorf("%q: %+v, %v", again, got, err)
		}
		again[len(again)-1] ^= 1
		if _, err := rules.Open(again); err == nil {
			t.Errorf("%q was taken though a bit of it changed", again)
		}
	})
}

func FuzzRequest(f *testing.F) {
	f.Add(`CMD=STARTJOB ARG=j1 TASKLIST=n[0-3]*2:n9`)
	f.Add(`CMD=CANCELJOB ARG=j2 TYPE=ADMIN COMMENT="a b"`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRequest(text)
		if err != nil {
			return
		}
		if written := r.String(); !strings.Contains(text, `"`) {
			if again, err := ParseRequest(written); err != nil || !reflect.DeepEqual(again, r) {
				t.Errorf("%q: %+v, then %+v, %v", text, r, again, err)
			}
		}
		// Whatever is asked, a server answers with one message that can be read.
		s := &Server{Manager: small(t), Now: time.Now}
		answer := bytes.NewReader(s.Answer(t.Context(), nil, []byte("DT="+text)))
		body, err := ReadFrame(answer, MaxReply)
		if err != nil || answer.Len() != 0 {
			t.Fatalf("%q: %d bytes left, %v", text, answer.Len(), err)
		}
		m, err := ParseMessage(body)
		if err != nil {
			t.Fatalf("%q: %q: %v", text, body, err)
		}
		if _, err := ParseReply(m.Data); err != nil {
			t.Errorf("%q: %q: %v", text, m.Data, err)
		}
	})
}

func FuzzReply(f *testing.F) {
	f.Add("SC=0 ARG=2#n1:STATE=Idle;CPROC=2;#n2:STATE=Busy;")
	f.Add("SC=0 ARG=2\nn1 STATE=Idle;CPROC=2;\n")
	f.Add("SC=0;RESPONSE=done")
	f.Add("SC=0 ARG=1#n1:STATE=Idle;CPROC=2;SPEED=Inf;CPULOAD=NaN;")
	f.Add("SC=0 ARG=4#n1:STATE=Idle;CPROC=9223372036854775807;APROC=3;CCLASS=[b:2];SPEED=1e-300;#j1:STATE=Running;TASKLIST=n1:n1;STARTTIME=9223372036854775807;WCLIMIT=9;#" +
		"n2:STATE=Running;CPROC=2;CMEMORY=4;FEATURE=a:b;#j2:STATE=Idle;TASKS=4611686018427387904;DPROCS=4;WCLIMIT=999999999999;UNAME=u;RCLASS=[b:1];QUEUETIME=5;")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseReply(text)
		if err != nil {
			return
		}
		again, err := ParseReply(r.String())
		if err != nil {
			t.Fatalf("%q: %v", r.String(), err)
		}
		if r.Query && len(again.Records) != len(r.Records) {
			t.Errorf("%q: %d records, then %d", text, len(r.Records), len(again.Records))
		}
		// Writing takes out what would break a message; written once more it stays.
		if last, err := ParseReply(again.String()); err != nil || !reflect.DeepEqual(last, again) {
			t.Errorf("%q: %+v, then %+v, %v", text, again, last, err)
		}
		var nodes []Node
		var jobs []Job
		for i := range r.Records {
			if n, j := nodeOf(&r.Records[i]), jobOf(&r.Records[i]); i%2 == 0 {
				nodes = append(nodes, n)
			} else {
				jobs = append(jobs, j)
			}
		}
		hostile(t, nodes, jobs)
	})
}

// hostile is what a resource manager may say: whatever it is, schedulers and
// the summary of queues come to an end.
func hostile(t *testing.T, nodes []Node, jobs []Job) {
	t.Helper()
	now := time.Unix(1_000_000, 0)
	for _, policy := range []string{"maui", "easy"} {
		decider, err := NewDecider(policy, nil)
		if err != nil {
			t.Fatal(err)
		}
		decider.Decide(now, nodes, jobs)
		decider.Decide(now.Add(time.Minute), nodes, jobs)
	}
	if list, err := sharesOf(nodes); err == nil {
		count(list, &reading{at: now, nodes: nodes, jobs: jobs})
		for _, sh := range list {
			r := sh.resource(&site{url: "wiki://h:1", client: &Client{Address: "h:1"}}, now)
			if speed := r.Benchmarks["hep-spec06"]; math.IsInf(speed, 0) || r.FreeSlots.V < 0 || r.TotalSlots.V < 0 || r.Waiting.V < 0 || r.UsedSlots.V < 0 || r.EstimatedWait.V < 0 {
				t.Errorf("%+v", r)
			}
		}
	}
}

// TestAbsurd: what no cluster has is held, and does not take the scheduler's
// memory, however large the nodes are said to be.
func TestAbsurd(t *testing.T) {
	for _, fields := range []string{"TASKS=1099511627776", "TASKS=99999999999999999999", "TASKS=2;DPROCS=4611686018427387904", "TASKS=1048576;DPROCS=2"} {
		r, err := ParseReply("SC=0 ARG=2#n:STATE=Idle;CPROC=9223372036854775807;#j:STATE=Idle;UNAME=u;WCLIMIT=9223372036854775807;" + fields + ";")
		if err != nil {
			t.Fatal(err)
		}
		n, j := nodeOf(&r.Records[0]), jobOf(&r.Records[1])
		if j.State != maui.JobHeld {
			t.Errorf("%s: state %v, want held", fields, j.State)
		}
		decider, _ := NewDecider("maui", nil)
		if got, err := decider.Decide(time.Unix(1_000_000, 0), []Node{n}, []Job{j}); err != nil || len(got) != 0 {
			t.Errorf("%s: %d actions, %v", fields, len(got), err)
		}
	}
}

// large is a cluster with many jobs.
func large(b *testing.B, nodes, jobs int) *Cluster {
	b.Helper()
	var list []Node
	for i := range nodes {
		list = append(list, node(fmt.Sprintf("node%04d", i), 16))
	}
	c := NewCluster(list, time.Now)
	for i := range jobs {
		if err := c.Submit(job(fmt.Sprint("job", i), 1+int64(i%8), 3600), 0); err != nil {
			b.Fatal(err)
		}
	}
	return c
}

// BenchmarkGetJobs answers GETJOBS of 10,000 jobs, and reads the answer.
func BenchmarkGetJobs(b *testing.B) {
	s := &Server{Manager: large(b, 1000, 10000), Key: NewKey(42), Auth: "grid", Now: time.Now}
	ask := NewKey(42).Sign(time.Now(), "root", "CMD=GETJOBS ARG=0:ALL")
	var answer []byte
	b.Run("answer", func(b *testing.B) {
		before := testbed.Processor(b).Seconds()
		for b.Loop() {
			answer = s.Answer(context.Background(), nil, ask)
		}
		b.ReportMetric((testbed.Processor(b).Seconds()-before)*1000/float64(b.N), "cpu-ms/op")
	})
	b.Run("read", func(b *testing.B) {
		before := testbed.Processor(b).Seconds()
		defer func() { b.ReportMetric((testbed.Processor(b).Seconds()-before)*1000/float64(b.N), "cpu-ms/op") }()
		for b.Loop() {
			body, err := ReadFrame(bytes.NewReader(answer), MaxReply)
			if err != nil {
				b.Fatal(err)
			}
			m, err := Rules{Key: NewKey(42), Window: time.Hour, Now: time.Now}.Open(body)
			if err != nil {
				b.Fatal(err)
			}
			r, err := ParseReply(m.Data)
			if err != nil || len(r.Records) != 10000 {
				b.Fatal(len(r.Records), err)
			}
			for i := range r.Records {
				jobOf(&r.Records[i])
			}
		}
	})
}

// BenchmarkStart sends STARTJOBs, each over a connection of its own.
func BenchmarkStart(b *testing.B) {
	c := large(b, 1000, 0)
	client := serve(b, c, nil)
	i := 0
	for b.Loop() {
		id := fmt.Sprint("s", i)
		if err := c.Submit(job(id, 1, 100), time.Nanosecond); err != nil {
			b.Fatal(err)
		}
		if err := client.Start(context.Background(), id, []string{fmt.Sprintf("node%04d", i%1000)}); err != nil {
			b.Fatal(err)
		}
		i++
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "starts/s")
}

// TestNothingBesideTheChecksum: who has seen one signed message, and puts before its time what its checksum is not of, is neither
// obeyed by a server nor believed by a client.
func TestNothingBesideTheChecksum(t *testing.T) {
	forged := func(seen []byte, words string) []byte {
		return slices.Concat(seen[:len("CK=0123456789abcdef ")], []byte(words+" "), seen[len("CK=0123456789abcdef "):])
	}
	c, key := small(t), NewKey(42)
	s := &Server{Manager: c, Key: key, Auth: "grid", Now: time.Now}
	seen := key.Sign(time.Now(), "root", "CMD=GETJOBS ARG=0:ALL")
	for _, words := range []string{"DT=CMD=CANCELJOB ARG=j0 TYPE=ADMIN", "CMD=CANCELJOB ARG=j0 TYPE=ADMIN", "AUTH=x DT=CMD=GETNODES ARG=0:ALL", "AUTH=mallory", "X=1"} {
		if got := s.Answer(t.Context(), nil, forged(seen, words)); !bytes.Contains(got, []byte("SC=-422")) {
			t.Errorf("%s: %s", words, got)
		}
	}
	if jobs, err := c.Jobs(t.Context()); err != nil || slices.ContainsFunc(jobs, func(j Job) bool { return j.Gone }) {
		t.Errorf("a job was cancelled: %+v %v", jobs, err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			ReadFrame(conn, MaxRequest)
			old := key.Sign(time.Now().Add(-24*time.Hour), "grid", "SC=-1 RESPONSE=no")
			message, _ := AppendFrame(nil, '\n', forged(old, "DT=SC=0 ARG=1#evil:STATE=Idle;"))
			conn.Write(message)
			conn.Close()
		}
	}()
	client := &Client{Network: "tcp", Address: l.Addr().String(), Key: key, Now: time.Now}
	if r, err := client.Do(t.Context(), &Request{Verb: GetNodes, Arg: "0:ALL"}); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("a client believes %+v, %v", r, err)
	}
}
