package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gridbroker/forecast/managers"
	"gridbroker/testdata/testbed"
)

// processConfig is what a manager process of the test gets on its standard input.
type processConfig struct {
	Name, Listen, Parent, System, Dir string
	CPUs                              int
	CA, Cert, Key                     []byte
	Beat                              time.Duration
}

const testBeat = 500 * time.Millisecond

func testRules() managers.Rules {
	return managers.Rules{Pool: true, Silent: true, Alongside: true, Paced: true, Coarse: true, Interval: 100, MaxAge: 30_000, MaxHops: 60}
}

// TestMain makes this binary a manager when it is asked to be one.
func TestMain(m *testing.M) {
	if os.Getenv("GRID_TEST_MANAGER") == "" {
		os.Exit(m.Run())
	}
	if err := managerProcess(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func managerProcess() error {
	var c processConfig
	if err := json.NewDecoder(os.Stdin).Decode(&c); err != nil {
		return err
	}
	cfg, err := tlsConfig(c.CA, c.Cert, c.Key)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	d, err := New(context.Background(), Config{
		Name: c.Name, Parent: c.Parent, System: c.System, Total: managers.Resources{CPUs: c.CPUs}, Rules: testRules(),
		Dir: c.Dir, Client: Client(cfg), Authorities: believed(cfg), Beat: c.Beat, Log: log,
	})
	if err != nil {
		return err
	}
	if _, err := testServer(c.Listen, cfg, d.Handler()); err != nil {
		return err
	}
	go io.Copy(io.Discard, os.Stdin)
	d.Run()
	select {}
}

// forest is a tree of manager processes.
type forest struct {
	trunk
	procs []*exec.Cmd
}

// newForest starts managers; parents[i] is the number of i's parent, -1 for the root. cpus 0 makes a domain.
func newForest(t *testing.T, ca *authority, parents, cpus []int) *forest {
	t.Helper()
	f := &forest{trunk: trunk{t: t}, procs: make([]*exec.Cmd, len(parents))}
	cert, key := ca.issue(t)
	cfg, err := tlsConfig(ca.cert.Raw, cert, key)
	if err != nil {
		t.Fatal(err)
	}
	client := Client(cfg)
	f.state = func(i int) (s State, err error) {
		resp, err := client.Get(f.configs[i].Name + "/v1/state")
		if err != nil {
			return s, err
		}
		defer resp.Body.Close()
		return s, json.NewDecoder(resp.Body).Decode(&s)
	}
	for i, addr := range testbed.FreeAddresses(t, len(parents)) {
		f.plant(ca, addr, parents[i], cpus[i], testBeat)
	}
	t.Cleanup(func() {
		for i := range f.procs {
			f.kill(i)
		}
	})
	return f
}

func (f *forest) start(i int) {
	f.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GRID_TEST_MANAGER=1", "GOMAXPROCS=1")
	log, err := os.OpenFile(f.logOf(i), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		f.t.Fatal(err)
	}
	defer log.Close()
	if cmd.Stderr = log; os.Getenv("GRID_TEST_LOG") != "" {
		cmd.Stderr = os.Stderr
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	if err := json.NewEncoder(in).Encode(f.configs[i]); err != nil {
		f.t.Fatal(err)
	}
	f.procs[i] = cmd
}

// logOf is the file of a manager's messages.
func (f *trunk) logOf(i int) string { return f.configs[i].Dir + ".log" }

// tellRoots shows what managers without a parent said last.
func (f *trunk) tellRoots() {
	for i := range f.configs {
		if s, err := f.state(i); err != nil || s.Parent != "" {
			continue
		}
		text, err := os.ReadFile(f.logOf(i))
		lines := strings.Split(string(text), "\n")
		f.t.Logf("manager %d, %s, parent %s, %v:\n%s", i, f.configs[i].Name, f.configs[i].Parent, err, strings.Join(lines[max(0, len(lines)-20):], "\n"))
	}
}

// kill is kill -9.
func (f *forest) kill(i int) {
	if p := f.procs[i]; p != nil {
		p.Process.Signal(syscall.SIGCONT)
		p.Process.Kill()
		p.Wait()
		f.procs[i] = nil
	}
}

// wrong tells what is not right at rest: links missing, tables that do not agree, resources not free.
func (f *trunk) wrong() string {
	states := map[string]State{}
	roots := 0
	for i := range f.configs {
		s, err := f.state(i)
		if err != nil {
			return err.Error()
		}
		states[s.Name] = s
		if s.Parent == "" {
			roots++
		}
		if s.Free != s.Total || len(s.Waiting)+len(s.Running) > 0 {
			return fmt.Sprintf("manager %d: free %v of %v, waiting %v, running %v", i, s.Free, s.Total, s.Waiting, s.Running)
		}
	}
	if roots != 1 {
		return fmt.Sprintf("%d roots", roots)
	}
	for _, s := range states {
		for _, row := range s.Rows {
			if !row.Up || s.Total.CPUs > 0 {
				continue
			}
			for _, theirs := range states[row.Neighbour].Rows {
				if theirs.Neighbour == s.Name && !theirs.Told.Equal(row.Rooms) {
					return fmt.Sprintf("%s: row %v of %s, told %v", s.Name, row.Rooms, row.Neighbour, theirs.Told)
				}
			}
		}
	}
	return ""
}

func (f *trunk) settle(within time.Duration) {
	f.t.Helper()
	what := ""
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(300 * time.Millisecond) {
		if what = f.wrong(); what == "" {
			return
		}
	}
	f.tellRoots()
	f.t.Fatalf("not at rest: %s", what)
}

// proxy passes connections on until it is cut.
type proxy struct {
	l     net.Listener
	to    string
	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

func newProxy(t *testing.T, to string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{l: l, to: to}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			a, err := l.Accept()
			if err != nil {
				return
			}
			b, err := net.Dial("tcp", to)
			p.mu.Lock()
			if err != nil || p.cut {
				a.Close()
			} else {
				p.conns = append(p.conns, a, b)
				go io.Copy(a, b)
				go io.Copy(b, a)
			}
			p.mu.Unlock()
		}
	}()
	return p
}

func (p *proxy) setCut(cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = cut
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

// Thirty managers and ten systems as processes; any of them are killed, paused
// and cut off while 500 jobs come in at one leaf: every job runs exactly once,
// and the tables are right at rest.
func TestThirtyProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	ca := newAuthority(t)
	parents, cpus := []int{-1, 0, 0, 0, 1, 1, 2, 2, 3, 3}, make([]int, 30)
	for k := range 10 {
		parents = append(parents, 4+k*6/10)
	}
	for k := range 10 {
		parents = append(parents, 10+k)
		cpus[20+k] = 4 + k%3
	}
	f := newForest(t, ca, parents, cpus)
	wire := newProxy(t, f.configs[15].Listen)
	f.configs[25].Parent = "https://" + wire.l.Addr().String()
	for i := range f.configs {
		f.start(i)
	}
	f.settle(3 * time.Minute)
	b, ran := testBroker(t, ca, f.configs[20].Name)
	jobs := make([]managers.Job, 500)
	for i := range jobs {
		jobs[i] = managers.Job{ID: managers.ID(fmt.Sprintf("job-%d", i)), Need: managers.Resources{CPUs: 1 + i%4}}
	}
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.havoc(wire, stop)
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	failed := b.Run(ctx, jobs)
	close(stop)
	<-done
	for id, err := range failed {
		t.Errorf("%s: %v", id, err)
	}
	ran.mu.Lock()
	where := map[string]int{}
	for _, j := range jobs {
		if n := len(ran.by[j.ID]); n != 1 {
			t.Errorf("%s ran %d times: %v", j.ID, n, ran.by[j.ID])
		} else {
			where[ran.by[j.ID][0]]++
		}
	}
	ran.mu.Unlock()
	if len(where) < 5 {
		t.Errorf("jobs of one leaf ran on few systems only: %v", where)
	}
	t.Logf("jobs by system: %v", where)
	f.settle(3 * time.Minute)
}

// havoc kills, pauses and cuts off managers, root and entry included, then restores all.
func (f *forest) havoc(wire *proxy, stop chan struct{}) {
	pause := func(d time.Duration) bool {
		select {
		case <-stop:
			return false
		case <-time.After(d):
			return true
		}
	}
	for round := 0; pause(time.Second); round++ {
		victims := [][]int{{0}, {5, 22}, {20}, {1, 14}, {27}, {10, 0}}[round%6]
		for _, v := range victims {
			f.kill(v)
		}
		stopped := 11 + round%4
		if f.procs[stopped] != nil {
			f.procs[stopped].Process.Signal(syscall.SIGSTOP)
		}
		wire.setCut(round%2 == 0)
		pause(3 * time.Second)
		if f.procs[stopped] != nil {
			f.procs[stopped].Process.Signal(syscall.SIGCONT)
		}
		for _, v := range victims {
			f.start(v)
		}
		pause(2 * time.Second)
	}
	wire.setCut(false)
}

// record tells where jobs ran.
type record struct {
	mu sync.Mutex
	by map[managers.ID][]string
}

func testBroker(t *testing.T, ca *authority, manager string) (*Broker, *record) {
	t.Helper()
	return testBrokerAt(t, ca, testbed.FreeAddress(t), manager)
}

// testBrokerAt is testBroker of an address.
func testBrokerAt(t *testing.T, ca *authority, addr, manager string) (*Broker, *record) {
	t.Helper()
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	cert, key := ca.issueAt(t, net.ParseIP(host), time.Hour)
	cfg, err := tlsConfig(ca.cert.Raw, cert, key)
	if err != nil {
		t.Fatal(err)
	}
	b, ran := newBroker(addr, manager, Client(cfg), cfg.Certificates[0])
	s, err := testServer(addr, cfg, b.Handler())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return b, ran
}

// A manager that would become its own ancestor is refused.
func TestLoopIsRefused(t *testing.T) {
	ca := newAuthority(t)
	f := newForest(t, ca, []int{-1, 0, 1}, []int{0, 0, 2})
	f.configs[0].Parent = f.configs[1].Name // the root is to be the child of its child
	for i := range f.configs {
		f.start(i)
	}
	f.settle(3 * time.Minute)
	time.Sleep(4 * testBeat)
	if what := f.wrong(); what != "" {
		t.Error(what)
	}
}
