package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/agent"
	"gridbroker/forecast/wire"
)

// day is a grid of clusters as the batch engine runs them, with a day behind
// them: what the page is looked at with.
type day struct {
	t      testing.TB
	now    time.Time
	store  *Store
	s      *Scheduler
	server *httptest.Server
	admin  string // token
}

const dayStart = 1_800_014_400

// newDay runs clusters of so many nodes of 16 processors, of so many different
// kinds, for a day and a half. Forecasts of the past are made every so often.
func newDay(t testing.TB, clusters, nodes, kinds int, every time.Duration) *day {
	d := &day{t: t, now: time.Unix(dayStart, 0).UTC(), admin: "of the administrator"}
	conf := Config{Name: "page", Cycle: 5 * time.Second, Budget: 100_000, Clusters: map[string]ClusterConfig{}}
	names := []string{"abisko", "birch.physics.northern-university.example.org", "cedar", "dune", "elbe", "fjord", "gobi", "heron", "isar", "juniper", "kolyma", "lena", "moss", "neva", "onega", "pine", "quartz", "rhine", "spruce", "tundra"}
	for _, name := range names[:clusters] {
		conf.Clusters[name] = ClusterConfig{Agents: []string{"agent"}, Interface: "sim", Endpoint: "sim:" + name}
	}
	seal, err := NewSeal(NewKey())
	if err != nil {
		t.Fatal(err)
	}
	if d.store, err = OpenStore("sqlite:"+t.TempDir()+"/day.db", seal); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.store.Close() })
	if _, err := d.store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.s = New(conf, d.store, nil, func() time.Time { return d.now }, slog.New(slog.DiscardHandler))
	door := &Door{Clusters: conf.Clusters, Tokens: []TokenUser{{SHA256: HashToken("agent"), Subject: "agent"}, {SHA256: HashToken(d.admin), Subject: "the operator", Admin: true}}}
	api := &API{S: d.s, Door: door, Log: slog.New(slog.DiscardHandler), Public: true, Rate: 1e6}
	handler := api.Handler()
	d.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" && r.URL.Query().Get("public") == "" {
			r.Header.Set("Authorization", "Bearer "+d.admin) // a browser shows no token
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(d.server.Close)
	lived := make([]*dayHistory, min(kinds, clusters))
	for i := range lived {
		lived[i] = d.live(nodes, uint64(i), every)
	}
	for i, name := range names[:clusters] {
		d.publish(name, lived[i%len(lived)])
	}
	d.guests(clusters)
	return d
}

// multiply makes so many clusters of each one, alike but for their names.
func (d *day) multiply(times int) {
	d.t.Helper()
	for _, name := range slices.Collect(maps.Keys(d.s.conf.Clusters)) {
		for k := range times {
			d.s.conf.Clusters[fmt.Sprint(name, "-", k)] = d.s.conf.Clusters[name]
		}
	}
	for _, table := range []struct{ name, columns string }{
		{"cluster", "seq, digest, made, ttl, seen, resync, drained, hits, misses, launch_ms, site, queues, load"},
		{"sample", "at, made, cpus, busy, guests, in5, in15, in30, in60, ahead"},
		{"content", "id, node, cpus, gpus, memory, begins, ends, latest, chance, hold, priority, task"},
	} {
		key := "name"
		if table.name != "cluster" {
			key = "cluster"
		}
		_, err := d.store.db.ExecContext(d.t.Context(), fmt.Sprintf(`with recursive k(n) as (select 1 union all select n + 1 from k where n < %d)
			insert into %s (%s, %s) select %s || '-' || n, %s from %s, k`, times-1, table.name, key, table.columns, key, table.columns, table.name))
		if err != nil {
			d.t.Fatal(table.name, err)
		}
	}
}

// live is a day and a half of a cluster.
func (d *day) live(nodes int, seed uint64, every time.Duration) *dayHistory {
	r := rand.New(rand.NewPCG(seed, 5))
	begin := d.now.Add(-36 * time.Hour)
	state := batch.State{Now: begin, Cluster: "here"}
	for i := range nodes {
		state.Nodes = append(state.Nodes, batch.Node{Name: fmt.Sprintf("n%d", i+1), CPUs: 16, Memory: 64 << 10, Up: r.IntN(120) > 0})
	}
	e, err := batch.NewEngine(state, batch.Policy{Name: "easy"})
	if err != nil {
		d.t.Fatal(err)
	}
	h := &dayHistory{d: d, e: e, nodes: nodes, running: map[string]batch.Job{}}
	e.Observe(h.event)
	f := &batch.Forecaster{Policy: batch.Policy{Name: "easy"}}
	load := 0.55 + 0.3*r.Float64()
	for at, next, n := begin, begin, 0; at.Before(d.now); at = at.Add(sampleStep * time.Second) {
		for ; next.Before(at); n++ {
			j, run := dayJob(r, next, n, nodes)
			if err := e.Submit(j, run); err != nil {
				d.t.Fatal(err)
			}
			hour := float64(next.Unix()%86400) / 3600
			rate := load * float64(nodes) * 16 / 470_000 * (1 + 0.5*math.Sin((hour-8)/24*2*math.Pi)) // jobs per second
			next = next.Add(time.Duration(r.ExpFloat64() / rate * float64(time.Second)))
		}
		if err := e.Advance(at); err != nil {
			d.t.Fatal(err)
		}
		if at.After(d.now.Add(-25 * time.Hour)) {
			h.sample(f, at, every)
		}
	}
	if err := e.Advance(d.now); err != nil {
		d.t.Fatal(err)
	}
	return h
}

// publish makes a cluster of such a past.
func (d *day) publish(name string, h *dayHistory) {
	h.write(name)
	ag := &agent.Agent{Conf: agent.Config{Cluster: name, Scheduler: d.server.URL, TTL: 10 * time.Minute, Site: wire.Site{Start: wire.Begin, LRMS: "slurm"}},
		Reader: h, Forecast: &batch.Forecaster{Policy: batch.Policy{Name: "easy"}}, HTTP: d.server.Client(), Token: func() (string, error) { return "agent", nil },
		Now: func() time.Time { return d.now }, Log: slog.New(slog.DiscardHandler)}
	if err := ag.Step(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
}

// dayJob is a job as clusters see them: some ask for half a node, some for many.
func dayJob(r *rand.Rand, at time.Time, n, nodes int) (batch.Job, time.Duration) {
	procs := 16 * (1 + int(r.ExpFloat64()*float64(nodes)/60))
	guest := r.IntN(3) == 0
	if guest {
		procs = 16 << r.IntN(4)
	} else if r.IntN(5) == 0 {
		procs = 4 << r.IntN(3)
	}
	run := time.Duration(min(20*3600, 180+r.ExpFloat64()*6000)) * time.Second
	limit := run + time.Duration(r.ExpFloat64()*float64(run)*0.6)
	id := fmt.Sprint(100_000 + n)
	if guest {
		id = "9" + id
	}
	return batch.Job{ID: id, Procs: min(procs, nodes*8), Requested: limit.Round(time.Minute) + time.Minute, Submitted: at, User: "u"}, run
}

// Queue implements plugins.QueueReader.
func (h *dayHistory) Queue(context.Context) (batch.State, error) { return h.e.State(), nil }

// dayHistory writes down what a cluster did.
type dayHistory struct {
	d       *day
	e       *batch.Engine
	nodes   int
	running map[string]batch.Job
	used    int
	guests  int
	ahead   Ahead
	made    time.Time
	samples []Sample
	past    []wire.Entry
}

func isGuest(id string) bool { return len(id) == 7 && id[0] == '9' }

func (h *dayHistory) event(e batch.Event) {
	switch e.Kind {
	case batch.Started:
		h.running[e.Job.ID] = e.Job
		h.used += e.Job.Procs
		h.guests += e.Job.Procs * b2i(isGuest(e.Job.ID))
	case batch.Ended:
		j := h.running[e.Job.ID]
		delete(h.running, e.Job.ID)
		h.used -= j.Procs
		h.guests -= j.Procs * b2i(isGuest(j.ID))
		entry := wire.Entry{Task: j.ID, Start: j.Started.Unix(), Completion: e.At.Unix(), Procs: int32(j.Procs)}
		for i, p := range j.Placed {
			entry.Node = j.Placed[0].Node
			if i > 0 {
				entry.Spread += ","
			}
			entry.Spread += fmt.Sprintf("%s=%d", p.Node, p.Procs)
		}
		h.past = append(h.past, entry)
	}
}

// sample is what the leader would have written.
func (h *dayHistory) sample(f *batch.Forecaster, at time.Time, every time.Duration) {
	if at.Sub(h.made) >= every {
		free, sure := newSteps(at.Unix()), newSteps(at.Unix())
		for _, s := range h.e.Near(f, 6*time.Hour).Slots(6 * time.Hour) {
			from, to := s.From.Unix(), int64(0)
			if !s.To.IsZero() {
				to = s.To.Unix()
			}
			free.add(from, to, float64(s.CPUs))
			ahead := s.From.Sub(at).Minutes()
			sure.add(from, to, float64(s.CPUs)*(0.6+0.39*math.Exp(-ahead/90)))
		}
		h.ahead, h.made = Ahead{free.sums(), sure.sums(), make([]int32, aheadSteps)}, at
	}
	s := Sample{At: at.Unix() - at.Unix()%sampleStep, Made: at.Unix(), CPUs: int64(16 * h.nodes), Busy: int64(h.used), Guests: int64(h.guests)}
	shift := int(at.Sub(h.made) / (sampleStep * time.Second))
	cut := func(list []int32) []int32 { return list[min(shift, len(list)):] }
	s.Ahead = &Ahead{cut(h.ahead.Free), cut(h.ahead.Sure), cut(h.ahead.Guests)}
	for k, lead := range leads {
		if at := int(lead / sampleStep); at < len(s.Ahead.Sure) {
			s.In[k] = float64(s.Ahead.Sure[at])
		}
	}
	h.samples = append(h.samples, s)
}

func (h *dayHistory) write(name string) {
	t := h.d.t
	for i := range h.samples {
		h.samples[i].Cluster = name
	}
	err := h.d.store.tx(t.Context(), func(db handle) error {
		if err := (past{db}).saveSamples(t.Context(), h.samples); err != nil {
			return err
		}
		var jobs []jobRow
		var booked []bookingRow
		for _, e := range h.past {
			if isGuest(e.Task) {
				jobs, booked = h.guest(name, jobs, booked, e, Done, "ended")
			} else if _, err := db.exec(t.Context(), "insert into past_job values ($1, $2, $3, $4, $5, $6, $7)", name, e.Task, e.Node, e.Spread, e.Procs, e.Start, e.Completion); err != nil {
				return err
			}
		}
		for _, j := range h.running {
			if isGuest(j.ID) {
				e := wire.Entry{Task: j.ID, Start: j.Started.Unix(), Completion: j.Started.Add(j.Requested).Unix(), Procs: int32(j.Procs), Node: j.Placed[0].Node}
				jobs, booked = h.guest(name, jobs, booked, e, Running, "open")
			}
		}
		if _, err := (queueTable{db.statements}).insert(t.Context(), jobs); err != nil {
			return err
		}
		return db.bookings.book(t.Context(), booked, 0)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (h *dayHistory) guest(name string, jobs []jobRow, booked []bookingRow, e wire.Entry, state State, closed string) ([]jobRow, []bookingRow) {
	j := &Job{ID: "s" + name + e.Task, Owner: "alice", Key: name + e.Task, Name: "muon tracks " + e.Task[3:], State: state, Procs: e.Procs, Wall: int32(e.Completion - e.Start),
		Priority: 1, Started: e.Start, SeenRun: e.Start, Tries: 1}
	j.Handle.ID = e.Task
	j.Booking = &Place{Key: j.request(), Cluster: name, From: e.Start, To: e.Completion}
	row, err := rowOf(j)
	if err != nil {
		h.d.t.Fatal(err)
	}
	body := wire.Booking{Schema: wire.BookingSchema, Job: j.ID, Key: j.request(), From: e.Start, To: e.Completion, Procs: e.Procs, Way: wire.Begin}
	for _, s := range e.Shares() {
		body.Slots = append(body.Slots, wire.Part{Node: s.Node, CPUs: s.CPUs})
		j.Booking.Parts = append(j.Booking.Parts, Share{Node: s.Node, CPUs: s.CPUs})
	}
	if row.Body, err = json.Marshal(j); err != nil {
		h.d.t.Fatal(err)
	}
	return append(jobs, row), append(booked, bookingRow{j.request(), j.ID, name, e.Start, e.Completion, e.Procs, body})
}

// guests hands in jobs and plans them.
func (d *day) guests(clusters int) {
	r := rand.New(rand.NewPCG(3, 3))
	users := []string{"alice", "bob", "carol", "/DC=org/DC=example/OU=Physics/CN=Dave of the Northern University"}
	for i := range 60 * clusters {
		procs, wall := 1<<r.IntN(9), 600*(1+r.IntN(80))
		if r.IntN(60) == 0 {
			procs = 6_000
		}
		text := fmt.Sprintf("[ Executable = \"/bin/true\"; JobName = \"%s %d\"; CPUNumber = %d; WallTime = %d; Requirements = true; ]",
			[]string{"b tagging", "shower simulation", "lattice QCD", "track fit"}[r.IntN(4)], i, procs, wall)
		got, err := d.s.Submit(d.t.Context(), Person{Subject: users[r.IntN(4)]}, []Submission{{Key: fmt.Sprint(i), JDL: text, Priority: float64(1 + r.IntN(9))}})
		if err != nil || got[0].Error != "" {
			d.t.Fatal(err, got)
		}
	}
	epoch, err := takeOver(d.t.Context(), d.store, "page")
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := d.s.Cycle(d.t.Context(), epoch); err != nil {
		d.t.Fatal(err)
	}
	err = d.store.tx(d.t.Context(), func(h handle) error {
		_, err := h.exec(d.t.Context(), "update cluster set hits = 400 + length(name) * 13, misses = length(name) * 2")
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
}
