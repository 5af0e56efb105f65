package slots_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/batch/batchtest"
	"gridbroker/forecast/agent"
	"gridbroker/forecast/scheduler/plan"
	"gridbroker/forecast/wire"
)

// guest is a booked job of one processor.
type guest struct {
	id              string
	turn            int // in which it was booked, and is put in
	from, wall, run int64
	told, chance    float64 // by the agent, and as it was published
	risk            float64
	began           bool
}

// outcome is what came of a replay.
type outcome struct {
	booked, kept int
	told         [11]struct{ n, chance, kept float64 } // by tenth of the chance
	localWait    float64                               // mean, seconds
	idle         float64                               // mean processors idle for half an hour; of the replay without guests
	guests       float64                               // mean processors that guests use
	seen         float64                               // share that local jobs lost, as the agent measured it
	lost         float64                               // mean processors of guests that gave way before they had ended
	gaveWay      int
}

// guestTrial replays a workload on one cluster. A real agent publishes to a scheduler
// of this test; every few minutes the real planner books guests in all that is free some
// time ahead, and they are put in at their time, given up after a minute.
type guestTrial struct {
	procs       int
	lead, cycle int64         // seconds; lead 0: no guests
	sure        uint8         // the least chance booked, in percent
	gives       bool          // guests give way to local jobs, as in a partition of a lower tier of a Slurm
	exempt      time.Duration // for which they do not, from their start
	t           testing.TB

	rng      *rand.Rand
	engine   *batch.Engine
	agent    *agent.Agent
	set      wire.Set
	site     wire.Site
	seq      uint64
	guests   map[string]*guest
	coming   []*guest // by time
	waiting  []*guest // put in, not given up yet
	jobs     map[string]int64
	free     int
	at       int64 // of free
	open     []span
	sum      outcome
	idles    int
	busy     float64 // processor-seconds of guests
	undone   float64 // of these, of such as gave way
	trust    plan.Trust
	turn     int
	started  int
	waitings float64
}

// span is a half hour of which the least free processors are looked for.
type span struct {
	to   int64
	free int
}

// RoundTrip is the scheduler: it keeps the agent's slots and tells it what is booked.
func (g *guestTrial) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/slots") { // a beat changes nothing
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		d, err := wire.DecodeDelta(text, wire.DefaultLimits())
		if err == nil {
			err = g.set.Apply(d)
		}
		if err != nil {
			return nil, err
		}
		if g.seq = d.Seq; d.Site != nil {
			g.site = *d.Site
		}
	}
	ack := wire.Ack{Schema: wire.AckSchema, Seq: g.seq, Digest: g.set.Digest()}
	for _, v := range g.guests {
		ack.Bookings = append(ack.Bookings, wire.Booking{Schema: wire.BookingSchema, Job: v.id, Key: v.id, From: v.from, To: v.from + v.wall, Procs: 1,
			Way: wire.Plain, Slots: []wire.Part{{Node: "cluster", CPUs: 1}}, Running: v.began})
	}
	slices.SortFunc(ack.Bookings, func(a, b wire.Booking) int { return cmp.Compare(g.guests[a.Job].turn, g.guests[b.Job].turn) })
	text, err := json.Marshal(ack)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(text)), Request: r}, err
}

func (g *guestTrial) begin(now int64) {
	g.rng, g.guests, g.jobs, g.free = rand.New(rand.NewPCG(4, 15)), map[string]*guest{}, map[string]int64{}, g.procs
	at := time.Unix(now, 0).UTC()
	policy, queues, way := batch.Policy{Name: "easy"}, []batch.Queue{{Name: "all"}}, wire.Plain
	if g.gives {
		policy = batch.Policy{Name: "slurm", Slurm: batch.Slurm{Preemption: batch.Preemption{Type: "partition_prio", ExemptTime: g.exempt, YoungestFirst: true}}}
		queues, way = []batch.Queue{{Name: "all", Priority: 2}, {Name: "guests", Priority: 1, PreemptMode: batch.PreemptCancel}}, wire.Partition
	}
	var err error
	g.engine, err = batch.NewEngine(batch.State{Now: at, Nodes: []batch.Node{{Name: "cluster", CPUs: g.procs, Up: true}}, Queues: queues}, policy)
	if err != nil {
		g.t.Fatal(err)
	}
	g.engine.Observe(g.happened)
	g.agent = &agent.Agent{Conf: agent.Config{Cluster: "trial", Scheduler: "http://127.0.0.1", TTL: time.Hour, Horizon: 4 * time.Hour, Spare: number(g.t, "GRID_GUEST_SPARE", agent.DefaultSpare),
		Beside: os.Getenv("GRID_GUEST_BESIDE") != "", Site: wire.Site{LRMS: "trial", Start: way}},
		Reader: &reader{g.engine}, Forecast: &batch.Forecaster{Policy: policy, Belief: batch.Estimate{}, Errors: &batch.Errors{}}, HTTP: &http.Client{Transport: g},
		Now: g.engine.Now, Log: slog.New(slog.DiscardHandler)}
}

// run replays the tasks as of this century.
func (g *guestTrial) run(list []batch.Task) outcome {
	tasks := slices.Clone(list)
	for i := range tasks {
		tasks[i].Submit += 1_800_000_000 - list[0].Submit
	}
	g.begin(tasks[0].Submit)
	cycle := tasks[0].Submit + g.cycle
	for n := 0; n < len(tasks); {
		at := min(tasks[n].Submit, cycle)
		if len(g.coming) > 0 {
			at = min(at, g.coming[0].from)
		}
		if len(g.waiting) > 0 {
			at = min(at, g.waiting[0].from+61)
		}
		if err := g.engine.Advance(time.Unix(at, 0).UTC()); err != nil {
			g.t.Fatal(err)
		}
		switch {
		case len(g.waiting) > 0 && g.waiting[0].from+61 == at:
			g.giveUp()
		case len(g.coming) > 0 && g.coming[0].from == at:
			v := g.coming[0]
			g.coming, g.waiting = g.coming[1:], append(g.waiting, v)
			g.submit(batch.Job{ID: v.id, User: "guest", Queue: g.guestQueue(), Procs: 1, Priority: -1, Requested: time.Duration(v.wall) * time.Second}, at, v.run)
		case tasks[n].Submit == at:
			v := tasks[n]
			n++
			id := fmt.Sprint("l", v.ID)
			g.jobs[id] = at
			g.submit(batch.Job{ID: id, User: fmt.Sprint(v.User), Procs: v.Procs, Requested: time.Duration(v.Limit) * time.Second}, at, v.Run)
		default:
			cycle += g.cycle
			g.look(at)
		}
	}
	last := tasks[len(tasks)-1].Submit - tasks[0].Submit
	o := g.sum
	if g.lead > 0 {
		o.seen = g.measured()
	}
	o.lost = g.undone / float64(max(1, last))
	o.localWait, o.idle, o.guests = g.waitings/float64(max(1, g.started)), o.idle/float64(max(1, g.idles)), g.busy/float64(max(1, last))
	return o
}

// measured is what the agent says that guests cost local jobs.
func (g *guestTrial) measured() (share float64) {
	rec := httptest.NewRecorder()
	g.agent.Meter.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/", nil))
	_, after, _ := strings.Cut(rec.Body.String(), "\ngrid_agent_local_loss ")
	if _, err := fmt.Sscan(after, &share); err != nil {
		g.t.Fatal(err)
	}
	return share
}

func (g *guestTrial) submit(j batch.Job, at, run int64) {
	j.Queue, j.Submitted = cmp.Or(j.Queue, "all"), time.Unix(at, 0).UTC()
	if err := g.engine.Submit(j, time.Duration(run)*time.Second); err != nil {
		g.t.Fatal(err)
	}
}

func (g *guestTrial) guestQueue() string {
	if g.gives {
		return "guests"
	}
	return "all"
}

// giveUp takes out the guest whose minute is over.
func (g *guestTrial) giveUp() {
	v := g.waiting[0]
	g.waiting = g.waiting[1:]
	if v.began {
		return
	}
	g.count(v, false)
	delete(g.guests, v.id)
	if err := g.engine.Cancel(v.id, g.engine.Now()); err != nil {
		g.t.Fatal(err)
	}
}

func (g *guestTrial) count(v *guest, kept bool) {
	g.sum.booked++
	k := &g.sum.told[int(10*v.chance)]
	k.n, k.chance = k.n+1, k.chance+v.chance
	g.trust.Count(v.told, v.risk, kept, v.from)
	if kept {
		g.sum.kept++
		k.kept++
	}
}

// happened follows what starts and ends.
func (g *guestTrial) happened(e batch.Event) {
	at := e.At.Unix()
	g.settle(at)
	v := g.guests[e.Job.ID]
	switch e.Kind {
	case batch.Started:
		g.free -= e.Job.Procs
		if v != nil {
			v.began = true
			g.count(v, at-v.from <= 60)
		} else if submitted, ok := g.jobs[e.Job.ID]; ok {
			g.started++
			g.waitings += float64(at - submitted)
			delete(g.jobs, e.Job.ID)
		}
	case batch.Preempted: // planned again as another: its work is lost
		g.free += e.Job.Procs
		g.undone += float64(at - e.Job.Started.Unix())
		g.sum.gaveWay++
		delete(g.guests, v.id)
	case batch.Ended, batch.TimedOut:
		g.free += e.Job.Procs
		if v != nil {
			g.busy += float64(at - e.Job.Started.Unix())
			delete(g.guests, v.id)
		}
	}
}

// settle tells the open half hours what was free until a time.
func (g *guestTrial) settle(at int64) {
	if at == g.at {
		return
	}
	g.at = at
	kept := g.open[:0]
	for _, s := range g.open {
		if s.free = min(s.free, g.free); s.to <= at {
			g.sum.idle += float64(s.free)
			g.idles++
			continue
		}
		kept = append(kept, s)
	}
	g.open = kept
}

// look is one cycle: the agent looks and publishes, the planner books.
func (g *guestTrial) look(at int64) {
	g.settle(at)
	if g.lead == 0 {
		g.open = append(g.open, span{at + 1800, g.free})
		return
	}
	if err := g.agent.Step(g.t.Context()); err != nil {
		g.t.Fatal(err)
	}
	var ahead []wire.Use
	for _, v := range g.guests {
		if !v.began {
			ahead = append(ahead, wire.Use{From: v.from, To: v.from + v.wall, CPUs: 1})
		}
	}
	slices.SortFunc(ahead, func(a, b wire.Use) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	var list []wire.Slot
	g.set.All(func(v wire.Slot) { list = append(list, v) })
	slices.SortFunc(list, func(a, b wire.Slot) int { return cmp.Compare(a.ID, b.ID) })
	busy := map[string][]wire.Use{"cluster": ahead}
	g.book(at, wire.Deepen(wire.Subtract(list, busy), busy, at+g.lead, g.procs))
}

// book gives guests of five to thirty minutes all that begins within a cycle after the lead.
func (g *guestTrial) book(at int64, free []wire.Deep) {
	rules := &plan.Rules{Horizon: 4 * 3600, Free: true, Users: []plan.User{{Weight: 1}}, Wishes: []plan.Wish{{Clusters: []uint64{1}, Classes: []uint64{1}}},
		Clusters: []plan.Cluster{{TMin: int32(g.lead), TMax: int32(g.lead + g.cycle - 1), Good: math.MaxInt32, MaxGuest: int32(g.site.MaxGuest)}}}
	for _, v := range g.site.Chances {
		rules.Clusters[0].Later = append(rules.Clusters[0].Later, plan.Later{After: int32(v.Ahead), Start: percent(g.trust.Believe(v.Start, 1))})
	}
	var slots []plan.Slot
	for _, v := range free {
		to := int64(plan.Never)
		if v.To != 0 {
			to = v.To - at
		}
		slots = append(slots, plan.Slot{From: int32(v.From - at), To: int32(min(to, plan.Never)), CPUs: uint16(v.CPUs), Start: percent(g.trust.Believe(min(v.Start, g.site.StartChance(max(v.From-at, g.lead))), v.Risk))})
	}
	jobs := make([]plan.Job, g.procs)
	for i := range jobs {
		jobs[i] = plan.Job{Seq: int64(i), Priority: 1, Wall: 300 + g.rng.Int32N(1501), Procs: 1, Least: g.sure}
	}
	for _, b := range (plan.Lookahead{}).Plan(jobs, slots, rules) {
		if b.Tentative {
			continue
		}
		wall := int64(jobs[b.Job].Wall)
		g.turn++
		v := &guest{id: fmt.Sprint("g", at, "-", b.Job), turn: g.turn, from: at + int64(b.From), wall: wall, run: max(1, int64(float64(wall)*(0.3+0.7*g.rng.Float64())))}
		of := free[b.Parts[0].Slot]
		v.told, v.risk = min(of.Start, g.site.StartChance(int64(b.From))), of.Risk
		v.chance = g.trust.Believe(v.told, v.risk)
		g.guests[v.id] = v
		k, _ := slices.BinarySearchFunc(g.coming, v, func(a, b *guest) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.turn, b.turn)) })
		g.coming = slices.Insert(g.coming, k, v)
	}
}

// percent is a chance as plans have it.
func percent(chance float64) uint8 { return uint8(math.Round(100 * chance)) }

// reader shows an agent the engine as it is.
type reader struct{ engine *batch.Engine }

// Queue implements plugins.QueueReader.
func (r *reader) Queue(context.Context) (batch.State, error) { return r.engine.State(), nil }

// replay is a trial of a lead, in seconds; 0: without guests.
func replay(t testing.TB, tasks []batch.Task, procs int, lead int64) outcome {
	return (&guestTrial{t: t, procs: procs, lead: lead, cycle: 300, sure: uint8(number(t, "GRID_GUEST_SURE", 0))}).run(tasks)
}

// share is the part of the bookings that were kept.
func (o outcome) share() float64 { return float64(o.kept) / float64(max(1, o.booked)) }

// calibrated tells by how much the chance published is off, at most, in a tenth that
// has a hundredth of the bookings.
func (o outcome) calibrated() (worst float64) {
	for _, k := range o.told {
		if k.n >= float64(o.booked)/100 {
			worst = max(worst, math.Abs(k.chance-k.kept)/k.n)
		}
	}
	return worst
}

// Guests that are booked in all that is free start when they were told to.
func TestGuestsStartWhenTold(t *testing.T) {
	var list []batch.Task
	for v := range tasks(80, false) {
		list = append(list, v)
	}
	if o := replay(t, list, 32, 900); o.booked < 500 || o.share() < 0.9 {
		t.Errorf("%d of %d", o.kept, o.booked)
	}
}

// onTraces runs a part of a test on the first jobs of each real trace.
func onTraces(t *testing.T, part func(t *testing.T, list []batch.Task, procs int)) {
	dir := os.Getenv("GRID_TESTDATA")
	if dir == "" || os.Getenv("GRID_LONG") == "" {
		t.Skip("GRID_LONG and GRID_TESTDATA, with traces/, are not set")
	}
	for _, name := range []string{"KTH-SP2-1996-2.1-cln", "CTC-SP2-1996-3.1-cln", "SDSC-SP2-1998-4.2-cln"} {
		t.Run(name, func(t *testing.T) {
			list, procs := batchtest.Load(t, filepath.Join(dir, "traces", name+".swf.gz"))
			part(t, list[:min(number(t, "GRID_GUEST_JOBS", 5000), len(list))], procs)
		})
	}
}

// The same on real traces, held to what was reached. GRID_GUEST_JOBS is of how many jobs of each,
// GRID_GUEST_SURE the least chance, in percent, that is booked.
func TestGuestsOnTraces(t *testing.T) {
	onTraces(t, func(t *testing.T, list []batch.Task, procs int) {
		plain := replay(t, list, procs, 0)
		for lead, least := range map[int64]float64{300: 0.98, 900: 0.96, 1800: 0.93, 3600: 0.85} {
			o := replay(t, list, procs, lead)
			t.Logf("%d min ahead: %.4f of %d bookings kept; chance off by %.3f at most; guests use %.1f of %.1f processors idle; local wait %.0f s, %.0f s without",
				lead/60, o.share(), o.booked, o.calibrated(), o.guests, plain.idle, o.localWait, plain.localWait)
			o.tell(t)
			if lead == 3600 && number(t, "GRID_GUEST_SURE", 0) >= 86 {
				least = 0.91
			}
			off := 0.03
			if lead > 900 { // what agents learn lags behind by the time ahead
				off = 0.1
			}
			if o.share() < least || o.calibrated() > off {
				t.Errorf("%d min ahead: %.4f kept, want %.2f; the chance told is off by %.3f", lead/60, o.share(), least, o.calibrated())
			}
		}
	})
}

// tell logs how each tenth of the chances told came out.
func (o outcome) tell(t *testing.T) {
	for i, k := range o.told {
		if k.n > 0 {
			t.Logf("chance told from %d %%: of %.0f bookings %.3f told, %.3f kept", 10*i, k.n, k.chance/k.n, k.kept/k.n)
		}
	}
}

// number is what a variable of the environment says instead of a default.
func number(t testing.TB, name string, def int) int {
	n, err := strconv.Atoi(cmp.Or(os.Getenv(name), strconv.Itoa(def)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Local jobs wait at most 3 % longer over ten shaken traces. GRID_GUEST_TIMES=60,60 is
// another cycle than five minutes, and another time ahead; GRID_GUEST_SPARE
// and GRID_GUEST_BESIDE are what an owner may say, GRID_GUEST_SEEDS how many traces.
func TestGuestsHardlyDelayLocalJobs(t *testing.T) {
	cycle, lead := guestTimes(t)
	onTraces(t, func(t *testing.T, list []batch.Task, procs int) {
		if more, _ := shakenTraces(t, list, guestTrial{procs: procs, lead: lead, cycle: cycle}); more > 0.03 {
			t.Errorf("local jobs wait %+.1f %%", 100*more)
		}
	})
}

// Guests that give way to local jobs, as in a partition of a lower tier of a Slurm, fill what is
// idle with jobs that are done, and delay nobody. GRID_GUEST_EXEMPT is for how many seconds of
// its run a guest does not give way.
func TestGuestsThatGiveWayDelayNobody(t *testing.T) {
	cycle, lead := guestTimes(t)
	exempt := time.Duration(number(t, "GRID_GUEST_EXEMPT", 0)) * time.Second
	onTraces(t, func(t *testing.T, list []batch.Task, procs int) {
		more, filled := shakenTraces(t, list, guestTrial{procs: procs, lead: lead, cycle: cycle, gives: true, exempt: exempt})
		if more > 0.01 && exempt == 0 || filled < 0.85 {
			t.Errorf("local jobs wait %+.1f %%, %.0f %% of what is idle is filled", 100*more, 100*filled)
		}
	})
}

// guestTimes are the seconds between cycles, and by which they book ahead.
func guestTimes(t *testing.T) (cycle, lead int64) {
	cycle, lead = 300, 300
	if text := os.Getenv("GRID_GUEST_TIMES"); text != "" {
		if _, err := fmt.Sscanf(text, "%d,%d", &cycle, &lead); err != nil {
			t.Fatal(err)
		}
	}
	return cycle, lead
}

// shakenTraces replays a workload with each submission moved by up to an hour, with guests and
// without, and tells how much longer local jobs waited and how much of what was idle was filled
// by guests that were done.
func shakenTraces(t *testing.T, list []batch.Task, trial guestTrial) (more, filled float64) {
	var with, without, seen float64
	seeds := number(t, "GRID_GUEST_SEEDS", 10)
	for seed := range uint64(seeds) {
		shaken := slices.Clone(list)
		r := rand.New(rand.NewPCG(seed, 3))
		for i := range shaken {
			shaken[i].Submit += r.Int64N(7200) - 3600
		}
		slices.SortStableFunc(shaken, func(a, b batch.Task) int { return cmp.Compare(a.Submit, b.Submit) })
		guests, none := trial, trial
		guests.t, none.t, none.lead, none.cycle = t, t, 0, 300
		o, alone := guests.run(shaken), none.run(shaken)
		a, b := o.localWait, alone.localWait
		t.Logf("shaken by %d: %.0f s with guests, %.0f s without: %+.1f %% (the agent saw %+.1f), %.3f kept, %.1f of %.1f filled, %.1f lost by %d of %d that gave way", seed, a, b, 100*(a/b-1), 100*o.seen, o.share(),
			o.guests, alone.idle, o.lost, o.gaveWay, o.booked)
		with, without, filled, seen = with+a, without+b, filled+o.guests/alone.idle, seen+o.seen
	}
	n := float64(seeds)
	more, filled = with/without-1, filled/n
	t.Logf("a cycle of %d s, %d s ahead: %.0f s with guests, %.0f s without: %+.1f %% (the agents saw %+.1f), idle filled %.0f %%",
		trial.cycle, trial.lead, with/n, without/n, 100*more, 100*seen/n, 100*filled)
	return more, filled
}
