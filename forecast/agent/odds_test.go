package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/wire"
	"gridbroker/plugins/forecast"
	"gridbroker/testdata/testbed"
)

// cluster is a busy one in virtual time, whose users ask for far more time than
// they need, each by a factor of its own. It is its own batch system and accounting.
type cluster struct {
	t      *testing.T
	rng    *rand.Rand
	engine *batch.Engine
	now    time.Time
	ended  []batch.Ending
	n      int
	next   time.Time // when the next job is submitted
	came   map[string]time.Time
}

func newCluster(t *testing.T, seed uint64) *cluster { return clusterOf(t, seed, "easy") }

func clusterOf(t *testing.T, seed uint64, policy string) *cluster {
	c := &cluster{t: t, rng: rand.New(rand.NewPCG(seed, 1)), now: time.Unix(1_800_000_000, 0).UTC(), came: map[string]time.Time{}}
	s := batch.State{Now: c.now, Queues: []batch.Queue{{Name: "all"}}}
	for i := range 4 {
		s.Nodes = append(s.Nodes, batch.Node{Name: fmt.Sprint("n", i), CPUs: 16, Up: true})
	}
	e, err := batch.NewEngine(s, batch.Policy{Name: policy})
	if err != nil {
		t.Fatal(err)
	}
	started := map[string]time.Time{}
	e.Observe(func(v batch.Event) {
		switch v.Kind {
		case batch.Submitted:
			c.came[v.Job.ID] = v.At
		case batch.Started:
			started[v.Job.ID] = v.At
		case batch.Ended, batch.TimedOut, batch.Cancelled:
			c.ended = append(c.ended, batch.Ending{ID: v.Job.ID, Started: started[v.Job.ID], Ended: v.At, Cancelled: v.Kind == batch.Cancelled, Failed: v.Kind == batch.TimedOut || v.Kind == batch.NodeLost})
		}
	})
	c.engine, c.next = e, c.now
	return c
}

// Queue implements plugins.QueueReader.
func (c *cluster) Queue(context.Context) (batch.State, error) { return c.engine.State(), nil }

// Endings implements Accountant.
func (c *cluster) Endings(_ context.Context, since time.Time) (list []batch.Ending, _ error) {
	for _, e := range c.ended {
		if !e.Ended.Before(since) {
			list = append(list, e)
		}
	}
	return list, nil
}

// drawn is a job that will be submitted now, and how long it will run.
func (c *cluster) drawn() (batch.Job, time.Duration) {
	user := c.rng.IntN(12)
	limit := time.Duration(1+c.rng.IntN(8)) * time.Hour
	run := time.Duration(float64(limit) * (0.03 + 0.9*float64(user)/12*c.rng.Float64()))
	c.n++
	return batch.Job{ID: fmt.Sprint(c.n), User: fmt.Sprint("u", user), Queue: "all", Procs: 1 << c.rng.IntN(5), Requested: limit, Submitted: c.now}, run
}

// bettor follows the cluster through an agent and keeps what it says of each job
// against what comes.
type bettor struct {
	*cluster
	agent *Agent
	told  map[string]forecast.Start
}

func (b *bettor) hire(file, scheduler string) *Agent {
	return &Agent{Conf: Config{Cluster: "c", Scheduler: scheduler, Memory: file, Site: wire.Site{LRMS: "test"}}, Reader: b.cluster, Account: b.cluster,
		Forecast: &batch.Forecaster{Policy: batch.Policy{Name: "easy"}, Errors: &batch.Errors{}}, HTTP: http.DefaultClient,
		Now: func() time.Time { return b.now }, Log: slog.New(slog.DiscardHandler)}
}

// ask asks an agent as a broker does.
func (b *bettor) ask(a *Agent, j batch.Job) []byte {
	b.t.Helper()
	q, err := json.Marshal(forecast.Question{Schema: forecast.Schema, Procs: j.Procs, WallTime: j.Requested.Seconds(), Queues: []string{j.Queue}})
	if err != nil {
		b.t.Fatal(err)
	}
	w := httptest.NewRecorder()
	a.Handler().ServeHTTP(w, httptest.NewRequest("POST", "/forecast", bytes.NewReader(q)))
	if w.Code != http.StatusOK {
		b.t.Fatalf("%d %s", w.Code, w.Body)
	}
	return w.Body.Bytes()
}

// live lets so many jobs come, a look every two minutes; one in twenty is cancelled some time
// later.
func (b *bettor) live(jobs int) {
	b.t.Helper()
	cancel := map[string]time.Time{}
	for end := b.n + jobs; b.n < end; b.now = b.now.Add(2 * time.Minute) {
		if err := b.engine.Advance(b.now); err != nil {
			b.t.Fatal(err)
		}
		for id, at := range cancel {
			if !at.After(b.now) {
				_ = b.engine.Cancel(id, b.now) // it may have ended
				delete(cancel, id)
			}
		}
		if err := b.agent.Step(b.t.Context()); err != nil {
			b.t.Fatal(err)
		}
		for ; !b.next.After(b.now); b.next = b.next.Add(time.Duration(b.rng.ExpFloat64() * float64(7*time.Minute))) {
			j, run := b.drawn()
			var answer forecast.Answer
			if err := json.Unmarshal(b.ask(b.agent, j), &answer); err != nil || len(answer.Starts) != 1 {
				b.t.Fatal(answer, err)
			}
			b.told[j.ID] = answer.Starts[0]
			if err := b.engine.Submit(j, run); err != nil {
				b.t.Fatal(err)
			}
			if b.rng.IntN(20) == 0 {
				cancel[j.ID] = b.now.Add(time.Duration(b.rng.IntN(60)) * time.Minute)
			}
		}
	}
}

// TestOdds asks an agent about each job just before it is submitted, over HTTP as
// brokers do, and holds the quantiles against the starts that came: below the 10 %
// and above the 90 % quantile lie about as many as should of the jobs that
// waited, and the median is nearer than the replay with the limits. An agent that was started
// again from its memory says the same to the last byte.
func TestOdds(t *testing.T) {
	testbed.Computes(t)
	c := newCluster(t, 2)
	centre := httptest.NewServer(&centre{t: t, jobs: map[string]wire.Entry{}})
	defer centre.Close()
	b := &bettor{cluster: c, told: map[string]forecast.Start{}}
	file := t.TempDir() + "/memory"
	b.agent = b.hire("", centre.URL)
	b.live(500)
	b.agent.Conf.Memory = file
	if err := b.agent.save(true); err != nil {
		t.Fatal(err)
	}
	again := b.hire(file, centre.URL)
	for _, a := range []*Agent{b.agent, again} {
		if err := a.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		j, _ := c.drawn()
		if before, after := b.ask(b.agent, j), b.ask(again, j); !bytes.Equal(before, after) {
			t.Fatalf("before the agent was started again: %s\nafter: %s", before, after)
		}
	}
	b.agent, again.Conf.Memory = again, ""
	first := b.n
	b.live(700)
	judge(t, b, first)
	if text := metrics(t, b.agent); !strings.Contains(text, "grid_agent_starts_learned 1") {
		t.Error(text)
	}
}

func judge(t *testing.T, b *bettor, first int) {
	t.Helper()
	below, above, n := 0, 0, 0
	ours, wait := 0.0, 0.0
	for _, e := range b.ended {
		told, asked := b.told[e.ID]
		var id int
		fmt.Sscan(e.ID, &id)
		if !asked || id <= first || e.Started.IsZero() {
			continue
		}
		waited := max(0, e.Started.Sub(b.came[e.ID]).Seconds())
		if waited == 0 && *told.High < 240 {
			continue
		}
		n++
		wait += waited
		ours += abs(waited - told.Median)
		switch {
		case waited+120 < *told.Low: // looks are two minutes apart
			below++
		case waited-120 > *told.High:
			above++
		}
		if len(told.Quantiles) != 7 || told.Learned < 200 {
			t.Fatalf("job %s: %+v", e.ID, told)
		}
	}
	t.Logf("%d jobs that waited or were told to, %.1f %% below, %.1f %% above, error of the median %.0f %% of the wait",
		n, 100*float64(below)/float64(n), 100*float64(above)/float64(n), 100*ours/wait)
	if n < 200 || float64(below) > 0.16*float64(n) || float64(above) > 0.16*float64(n) || float64(below+above) < 0.06*float64(n) || ours > 0.6*wait {
		t.Errorf("of %d jobs %d below, %d above, error %.0f s of %.0f s", n, below, above, ours, wait)
	}
}

func abs(v float64) float64 { return max(v, -v) }

// The chances of slots follow what became of those published: on a cluster whose
// free node is always taken when a slot on it begins, they fall; on one where nothing comes,
// they rise; and they are kept.
func TestSlotOdds(t *testing.T) {
	testbed.Computes(t)
	for n, taken := range []bool{true, true, false} {
		b := newBench(t)
		b.site.state.Nodes = b.site.state.Nodes[:1]
		a := b.agent()
		a.Conf.Memory = ""
		for i := range 600 {
			b.now = b.now.Add(time.Minute)
			b.site.state.Now, b.site.state.Jobs = b.now, nil
			if taken && i%2 == 1 { // one that was not there when the slot was published
				b.site.state.Jobs = []batch.Job{{ID: fmt.Sprint(i), Queue: "all", Procs: 8, Requested: time.Minute, Submitted: b.now,
					Started: b.now, Placed: []batch.Placement{{Node: "n0", Procs: 8}}}}
				if n == 0 { // some batch systems do not say where
					b.site.state.Jobs[0].Placed = nil
				}
			}
			if err := a.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		text, err := json.Marshal(a.slotOdds)
		if err != nil {
			t.Fatal(err)
		}
		kept, again := &slotOdds{}, newSlotOdds(a.Conf.Chances)
		if err := json.Unmarshal(text, kept); err != nil {
			t.Fatal(err)
		}
		again.recall(kept)
		start, hold := again.chances(b.now).at(0)
		if prior := DefaultChances(); taken && (hold > 0.3 || start > 0.5) || !taken && (hold <= prior.Hold[0] || start < prior.Start[0]-0.01) {
			t.Errorf("taken %v: start %.2f, hold %.2f; %+v", taken, start, hold, again.Tallies)
		}
	}
}

// Slots that guests have were free, those in which a booked guest found no room were
// not: both are learned.
func TestGuestsTellOfSlots(t *testing.T) {
	began := time.Unix(1_800_000_000, 0)
	from := began.Add(5 * time.Minute)
	slot := []wire.Slot{{Node: "n", CPUs: 2, From: from.Unix(), To: from.Add(time.Hour).Unix()}}
	job := func(id string, procs int) batch.Job {
		return batch.Job{ID: id, Procs: procs, Started: began, Placed: []batch.Placement{{Node: "n", Procs: procs}}}
	}
	begun := func(id string, procs int) batch.Job {
		j := job(id, procs)
		j.Started = from.Add(time.Second)
		return j
	}
	for name, c := range map[string]struct {
		jobs    []batch.Job
		running bool
		want    tally
	}{
		"guests run":              {[]batch.Job{job("local", 2), job("guest", 2)}, true, tally{1, 1, 1}},
		"one that is not told of": {[]batch.Job{job("local", 2), begun("guest", 2)}, false, tally{1, 1, 1}},
		"they find no room":       {[]batch.Job{job("local", 4)}, false, tally{N: 1}},
		"another takes it":        {[]batch.Job{job("local", 1), begun("other", 3)}, false, tally{N: 1}},
	} {
		o := newSlotOdds(DefaultChances())
		o.watch(slot, began)
		booked := []wire.Booking{{From: from.Unix(), To: from.Add(time.Hour).Unix(), Procs: 2, Running: c.running, Slots: []wire.Part{{Node: "n", CPUs: 2}}}}
		for at := from.Add(time.Second); at.Before(from.Add(slotWatched + 2*time.Minute)); at = at.Add(time.Minute) {
			state := batch.State{Now: at, Nodes: []batch.Node{{Name: "n", CPUs: 4, Up: true}}, Jobs: c.jobs}
			o.look(state, begunNow(booked, state, at), at)
		}
		if o.Tallies[1] != c.want {
			t.Errorf("%s: %+v", name, o.Tallies)
		}
	}
}
