package wiki

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gridbroker/batch/maui"
)

// crashing is a world whose server and scheduler are killed now and then: no
// clock runs on its own.
type crashing struct {
	t       *testing.T
	dir     string
	clock   atomic.Int64
	nodes   []Node
	cluster *Cluster
	stop    func()
	client  *Client
	mu      sync.Mutex // guards starts: a server that is being killed may still start a job
	starts  map[string]int
}

// started returns how many times the job was started.
func (w *crashing) started(id string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.starts[id]
}

// seen returns how many jobs were started at all.
func (w *crashing) seen() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.starts)
}

func (w *crashing) now() time.Time { return time.Unix(w.clock.Load(), 0) }

// boot starts a server over the journal.
func (w *crashing) boot() {
	w.cluster = NewCluster(w.nodes, w.now)
	if _, err := w.cluster.Journal(filepath.Join(w.dir, "journal")); err != nil {
		w.t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	s := &Server{Manager: counting{w.cluster, w}, Key: NewKey(7), Now: w.now, Began: w.now(), Timeout: 2 * time.Second}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	w.stop = func() { cancel(); <-ended; w.cluster.Close() }
	w.client = &Client{Network: "tcp", Address: l.Addr().String(), Key: NewKey(7), Now: w.now, Timeout: 2 * time.Second}
}

// counting counts the starts that succeed.
type counting struct {
	*Cluster
	w *crashing
}

func (c counting) Start(ctx context.Context, id string, tasks []string) error {
	err := c.Cluster.Start(ctx, id, tasks)
	if err == nil {
		c.w.mu.Lock()
		defer c.w.mu.Unlock()
		c.w.starts[id]++
	}
	return err
}

// losing is a connection that breaks before the answer.
type losing struct{ net.Conn }

func (c losing) Read([]byte) (int, error) { c.Close(); return 0, net.ErrClosed }

// TestCrashes: whoever is killed, and whatever answer is lost, every job
// starts exactly once.
func TestCrashes(t *testing.T) {
	for _, policy := range []string{"maui", "easy", "conservative", "slurm"} {
		t.Run(policy, func(t *testing.T) { testCrashes(t, policy) })
	}
}

func testCrashes(t *testing.T, policy string) {
	rng := rand.New(rand.NewPCG(1, 2))
	w := &crashing{t: t, dir: t.TempDir(), starts: map[string]int{}, nodes: []Node{node("n1", 4), node("n2", 4), node("n3", 2)}}
	w.clock.Store(1_000_000)
	w.boot()
	defer func() { w.stop() }()
	const jobs = 40
	for i := range jobs {
		j := Job{Job: maui.Job{ID: fmt.Sprint("j", i), User: "anna", Group: "users", Tasks: 1 + rng.Int64N(6), Limit: 20 + rng.Int64N(60), Queued: 1_000_000 + int64(i)*3}}
		if err := w.cluster.Submit(j, time.Duration(10+rng.Int64N(j.Limit))*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.Background()
	loop := func() *Loop {
		decider, err := NewDecider(policy, nil)
		if err != nil {
			t.Fatal(err)
		}
		return &Loop{Cluster: w.client, Decider: decider, Now: w.now, Tell: func(Event) {}}
	}
	l := loop()
	for round := 0; w.seen() < jobs && round < 1000; round++ {
		w.clock.Add(5)
		w.client.Dial = nil
		switch rng.IntN(6) {
		case 0: // the server is killed
			w.stop()
			w.boot()
			l = loop()
		case 1: // the scheduler is killed
			l = loop()
		case 2: // an answer is lost
			left := rng.IntN(5)
			w.client.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
				if left--; left == 0 && err == nil {
					conn = losing{conn}
				}
				return conn, err
			}
		}
		l.Cluster = w.client
		_ = l.Round(ctx) // the next one sees what became of it
	}
	for i := range jobs {
		if n := w.started(fmt.Sprint("j", i)); n != 1 {
			t.Errorf("job j%d was started %d times", i, n)
		}
	}
}

// TestTornJournal: a line that was not finished was not answered.
func TestTornJournal(t *testing.T) {
	c := NewCluster([]Node{node("n1", 2)}, time.Now)
	path := filepath.Join(t.TempDir(), "journal")
	if _, err := c.Journal(path); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := c.Submit(job(fmt.Sprint("j", i), 1, 100), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Start(context.Background(), "j0", []string{"n1"}); err != nil {
		t.Fatal(err)
	}
	c.journal.file.Write([]byte(`{"at":"2026-01-01T00:00:00Z","do":"start","id":"j1","ta`))
	c.Close()
	for range 2 {
		again := NewCluster([]Node{node("n1", 2)}, time.Now)
		n, err := again.Journal(path)
		if err != nil || n != 3 {
			t.Fatal(n, err)
		}
		list, _ := again.Jobs(context.Background())
		states := []maui.JobState{list[0].State, list[1].State, list[2].State}
		if !slices.Equal(states, []maui.JobState{maui.JobRunning, maui.JobIdle, maui.JobIdle}) {
			t.Error(states)
		}
		again.Close()
	}
}

// TestDryRun starts nothing and tells what the site starts.
func TestDryRun(t *testing.T) {
	c := small(t)
	var told []string
	decider, _ := NewDecider("maui", nil)
	l := &Loop{Cluster: serve(t, c, nil), Decider: decider, Dry: true, Now: time.Now, Tell: func(e Event) { told = append(told, e.By+" "+e.Job) }}
	if err := l.Round(context.Background()); err != nil {
		t.Fatal(err)
	}
	c.Start(context.Background(), "j2", []string{"n1", "n1"})
	if err := l.Round(context.Background()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"plan j0", "plan j1", "site j2", "plan j0"}; !slices.Equal(told, want) {
		t.Errorf("%q, want %q", told, want)
	}
	jobs, _ := c.Jobs(context.Background())
	if jobs[0].State != maui.JobIdle {
		t.Error("a dry run started a job")
	}
}
