package wiki

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/batch/maui"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/rank"
)

// classed is a cluster of two classes: n1 and n2 serve batch, n2 also debug.
func classed(t *testing.T) *Cluster {
	t.Helper()
	n1, n2, n3 := node("n1", 4), node("n2", 4), node("n3", 8)
	n1.Classes, n2.Classes, n3.Classes = map[string]int64{"batch": 4}, map[string]int64{"batch": 4, "debug": 2}, map[string]int64{"batch": 8}
	n1.Features, n2.Disk, n2.Memory, n1.OS, n3.State = []string{"ib", "ssd"}, 5000, 4096, "linux", maui.NodeDown
	c := NewCluster([]Node{n1, n2, n3}, time.Now)
	for i, class := range []string{"batch", "batch", "debug", "batch"} {
		j := job(fmt.Sprint("j", i), 4, 3600)
		j.Class = class
		if err := c.Submit(j, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	held := job("held", 1, 10)
	held.State = maui.JobHeld
	if err := errors.Join(c.Submit(held, 0), c.Start(context.Background(), "j0", []string{"n1", "n1", "n1", "n1"})); err != nil {
		t.Fatal(err)
	}
	return c
}

// opened is the back-end with a key, and the URL of a server of the manager.
func opened(t *testing.T, m Manager, key string) (*backend, string) {
	t.Helper()
	client := serve(t, m, nil)
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := Open(plugins.Config{Now: time.Now, Settings: func(_ string, into any) error {
		into.(*settings).KeyFile = path
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return b.(*backend), "wiki+unix://" + client.Address
}

func resources(t *testing.T, b *backend, raw string) ([]glue.Resource, error) {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	src, err := b.Source(u)
	if err != nil {
		return nil, err
	}
	return src.Resources(t.Context())
}

// TestSource: a resource for each class, with what nodes and jobs say of it.
func TestSource(t *testing.T) {
	b, raw := opened(t, classed(t), "42")
	rs, err := resources(t, b, raw)
	if err != nil || len(rs) != 2 {
		t.Fatal(len(rs), err)
	}
	want := []string{
		"batch free 4 of 8, 1 run on 4, 2 wait, smp 8 memory 4096 disk 5000 tags [ib ssd] linux wait 1h30m0s asked [8]",
		"debug free 2 of 2, 0 run on 0, 1 wait, smp 2 memory 4096 disk 5000 tags []  wait 2h0m0s asked [4]",
	}
	for i, r := range rs {
		got := fmt.Sprintf("%s free %d of %d, %d run on %d, %d wait, smp %d memory %d disk %d tags %v %s wait %v asked %v", r.Queue, r.FreeSlots.V, r.TotalSlots.V,
			r.Running.V, r.UsedSlots.V, r.Waiting.V, r.SMPSize.V, r.MainMemory.V, r.MaxDisk.V, r.RuntimeEnvironments, r.OSName, r.EstimatedWait.V.Round(time.Minute),
			r.Attrs["glue2computingsharerequestedslots"])
		if got != want[i] {
			t.Errorf("%s\nwant %s", got, want[i])
		}
		if e := r.Endpoints[0]; e.URL != raw || e.Interface != glue.InterfaceWIKI || r.Source != raw || r.Serving != glue.Production {
			t.Errorf("%+v", r)
		}
		u, _ := url.Parse(raw)
		if src, _ := b.Source(u); !src.(source).Owns(r.Endpoints[0]) || src.(source).Owns(glue.Endpoint{URL: raw + "x", Interface: glue.InterfaceWIKI}) {
			t.Error("it owns its very URL and nothing else")
		}
	}
}

// TestForecasts: the engine's starts and the lengths of queues; a resource that
// another source described is not asked about.
func TestForecasts(t *testing.T) {
	b, raw := opened(t, classed(t), "42")
	rs, err := resources(t, b, raw)
	if err != nil {
		t.Fatal(err)
	}
	foreign := rs[0]
	foreign.ID, foreign.Source = "other", "ldap://bdii"
	about := []*glue.Resource{&rs[0], &rs[1], &foreign}
	lengths, err := b.QueueLengths(t.Context(), about)
	if err != nil || len(lengths) != 2 || lengths[rs[0].ID].Own.V != 2 || lengths[rs[1].ID].Own.V != 1 || lengths[rs[0].ID].Total() != 3 {
		t.Error(lengths, err)
	}
	j := &jdl.Job{Demand: jdl.Demand{Slots: 4, WallTime: time.Hour}}
	fs, err := b.Forecast(t.Context(), j, about)
	// j0 runs for an hour on n1 and j1 takes n2; j2 asks for more than debug
	// can have beside it: j3 follows on n1, and the job behind after that.
	if got := fs[rs[0].ID].Median.Round(time.Minute); err != nil || got != 2*time.Hour {
		t.Error(got, err)
	}
	if _, ok := fs["other"]; ok || len(fs) == 0 {
		t.Error(fs)
	}
	wide := &jdl.Job{Demand: jdl.Demand{Slots: 400}}
	if fs, err := b.Forecast(t.Context(), wide, about); err != nil || len(fs) != 0 {
		t.Error("a job that never fits has a forecast:", fs, err)
	}
}

// TestForecastOfAnEmptyCluster: a start at once is unsure by a pass of the
// scheduler, not by the half hour of a number of unknown worth, for which
// replanning would never take a job back.
func TestForecastOfAnEmptyCluster(t *testing.T) {
	b, raw := opened(t, NewCluster([]Node{node("n1", 2)}, time.Now), "42")
	rs, err := resources(t, b, raw)
	if err != nil {
		t.Fatal(err)
	}
	fs, err := b.Forecast(t.Context(), &jdl.Job{Demand: jdl.Demand{Slots: 1}}, []*glue.Resource{&rs[0]})
	f, ok := fs[rs[0].ID]
	if err != nil || !ok || f.Median != 0 || f.Source != raw {
		t.Fatal(fs, err)
	}
	p, err := rank.ParsePolicy("hybrid", rank.DefaultModel())
	if err != nil {
		t.Fatal(err)
	}
	cs := []rank.Candidate{{Resource: &rs[0], Forecasts: []rank.Forecast{f}}}
	ranked, _ := p.NewField(&jdl.Job{}, f.Made, cs, rank.NewTally(), nil).Order(rand.New(rand.NewPCG(1, 1)), 0)
	for _, term := range ranked[0].Terms {
		if term.Name == rank.TermForecast && term.Uncertainty > 60 {
			t.Errorf("a start at once is unsure by %.0f s", term.Uncertainty)
		}
	}
}

// TestWithoutClasses: nodes in no class are one resource, or one for each
// partition.
func TestWithoutClasses(t *testing.T) {
	b, raw := opened(t, small(t), "42")
	rs, err := resources(t, b, raw)
	if err != nil || len(rs) != 1 || rs[0].ID != raw || rs[0].Queue != "" || rs[0].TotalSlots.V != 4 || rs[0].Waiting.V != 3 {
		t.Error(rs, err)
	}
	n1, n2 := node("n1", 2), node("n2", 2)
	n1.Partition, n2.Partition = "a", "b"
	c := NewCluster([]Node{n1, n2}, time.Now)
	one, both := job("one", 1, 60), job("both", 1, 60)
	one.Partitions = []string{"b"}
	if err := errors.Join(c.Submit(one, 0), c.Submit(both, 0)); err != nil {
		t.Fatal(err)
	}
	b, raw = opened(t, c, "42")
	rs, err = resources(t, b, raw)
	if err != nil || len(rs) != 2 || rs[0].Waiting.V != 1 || rs[1].Waiting.V != 2 {
		t.Error(rs, err)
	}
}

// TestOtherKey: a key that is not the other side's is a credential error with a
// hint, and the key is not in it.
func TestOtherKey(t *testing.T) {
	for _, key := range []string{"4343", "no number 4343"} {
		b, raw := opened(t, small(t), key)
		_, err := resources(t, b, raw)
		var failed *plugins.Error
		if !errors.As(err, &failed) || failed.Kind != plugins.Credential || !strings.Contains(err.Error(), "key_file of [wiki]") || strings.Contains(err.Error(), "4343") {
			t.Error(err)
		}
	}
	b, raw := opened(t, small(t), "43")
	if pong, err := b.Ping(t.Context(), raw); err != nil || pong.LetIn || !strings.Contains(pong.Said, "another key") {
		t.Error(pong, err)
	}
	b.settings.KeyFile, b.sites = "", map[string]*site{}
	if pong, err := b.Ping(t.Context(), raw); err != nil || pong.LetIn || !strings.Contains(pong.Said, "no checksum") {
		t.Error(pong, err)
	}
	b, raw = opened(t, small(t), "42")
	if pong, err := b.Ping(t.Context(), raw); err != nil || !pong.LetIn || pong.Interface != glue.InterfaceWIKI {
		t.Error(pong, err)
	}
}

// TestNoSubmission: jobs are refused with what to do instead.
func TestNoSubmission(t *testing.T) {
	b, raw := opened(t, small(t), "42")
	got := b.Submit(t.Context(), []plugins.Request{{ID: "a", Endpoint: glue.Endpoint{URL: raw}}, {ID: "b"}}, nil)
	var failed *plugins.Error
	if len(got) != 2 || got[1].ID != "b" || !errors.As(got[0].Err, &failed) || failed.Kind != plugins.Refused || failed.Hint == "" {
		t.Error(got)
	}
	if st := b.Status(t.Context(), []plugins.Handle{{ID: "x"}}); st[0].State != plugins.Unknown || st[0].Err == nil {
		t.Error(st)
	}
}

// TestHostileSource: an answer with too many queues, and one that is larger
// than is read, are errors that name it.
func TestHostileSource(t *testing.T) {
	n := node("n", 1)
	n.Classes = map[string]int64{}
	for i := range maxShares + 1 {
		n.Classes[fmt.Sprint("q", i)] = 1
	}
	b, raw := opened(t, NewCluster([]Node{n}, time.Now), "42")
	if _, err := resources(t, b, raw); err == nil || !strings.Contains(err.Error(), "more than 256 queues") {
		t.Error(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "%08d\n", MaxReply+1)
		conn.Read(make([]byte, 1<<10))
	}()
	_, err = resources(t, b, "wiki://"+l.Addr().String())
	var frame *FrameError
	if !errors.As(err, &frame) || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Error(err)
	}
}

// counted is a batch system that counts how often it is read.
type counted struct {
	mu    sync.Mutex
	reads int
}

func (c *counted) Queue(context.Context) (batch.State, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads++
	return batch.State{Now: time.Now(), Nodes: []batch.Node{{Name: "n1", CPUs: 1, Up: true}}}, nil
}

func (c *counted) Start(context.Context, string, []string) error { return nil }
func (c *counted) Cancel(context.Context, string, string) error  { return nil }
func (c *counted) Suspend(context.Context, string) error         { return nil }
func (c *counted) Resume(context.Context, string) error          { return nil }
func (c *counted) Suspended(string) bool                         { return false }

// TestOneReadAPoll: nodes and jobs of a poll come of one reading; no reading
// answers one question twice, or any after a command.
func TestOneReadAPoll(t *testing.T) {
	reader := &counted{}
	p := &Presented{Reader: reader}
	ask := map[byte]func(){
		'n': func() { p.Nodes(t.Context()) },
		'j': func() { p.Jobs(t.Context()) },
		's': func() { p.Start(t.Context(), "1", nil) },
	}
	for _, c := range []struct {
		asks string
		want int
	}{{"nj", 1}, {"jn", 1}, {"njnj", 2}, {"jjj", 3}, {"nn", 2}, {"nsj", 2}, {"njsnj", 2}} {
		reader.reads = 0
		p.change()
		for i := range len(c.asks) {
			ask[c.asks[i]]()
		}
		if reader.reads != c.want {
			t.Errorf("%s: %d readings, want %d", c.asks, reader.reads, c.want)
		}
	}
}
