package batch_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/testdata/testbed"
)

// TestEarliestIsSubmission asks when a job would start and then really submits
// it, for random scenes, jobs and policies.
func TestEarliestIsSubmission(t *testing.T) {
	testbed.Computes(t)
	starts := 0
	for seed := range uint64(250) {
		rng := rand.New(rand.NewPCG(seed, 23))
		s := scene(rng)
		s.Nodes[0].Queues = []string{"p1", "p2"}
		for _, p := range scenePolicies() {
			f := batch.Forecaster{Policy: p, Belief: batch.NewLastTwo()}
			f.Learn(batch.Job{User: "u1", Requested: time.Hour}, 20*time.Minute)
			before, err := f.Forecast(s)
			if err != nil {
				t.Fatal(err)
			}
			j := sceneJob(rng, s, 99)
			j.ID, j.Submitted, j.Priority = "asked", s.Now, float64(rng.IntN(3))
			got, no := before.Ask(j, 0)
			with := s
			with.Jobs = append(slices.Clone(s.Jobs), j)
			after, err := f.Forecast(with)
			if err != nil {
				t.Fatal(err)
			}
			want := batch.Expected{}
			for _, e := range after.Jobs {
				if e.ID == "asked" {
					want = e
					starts++
				}
			}
			var refused batch.Cause
			for _, r := range after.Refused {
				if r.ID == "asked" {
					refused = r.Cause
				}
			}
			if !got.Start.Equal(want.Start) || !reflect.DeepEqual(got.Placed, want.Placed) || no.Cause != refused {
				t.Fatalf("seed %d, %v: asked %+v %+v, submitted %+v %s; job %+v", seed, p, got, no, want, refused, j)
			}
			if again, err := f.Forecast(s); err != nil || !reflect.DeepEqual(again.Jobs, before.Jobs) {
				t.Fatalf("asking has changed the forecast: %v", err)
			}
		}
	}
	if starts < 1000 {
		t.Errorf("only %d of the jobs asked about start", starts)
	}
}

// TestSlotsAreFree sees on random scenes that no slot overlaps what runs, is
// promised or reserved, and that nothing free is left out.
func TestSlotsAreFree(t *testing.T) {
	testbed.Computes(t)
	for seed := range uint64(150) {
		s := scene(rand.New(rand.NewPCG(seed, 29)))
		s.Nodes[0].Queues = []string{"p1", "p2"}
		for _, p := range scenePolicies() {
			f := batch.Forecaster{Policy: p}
			out, err := f.Forecast(s)
			if err != nil {
				t.Fatal(err)
			}
			slots := out.Slots(48 * time.Hour)
			for i, x := range slots {
				if i > 0 && slots[i-1].Node == x.Node && (slots[i-1].To.IsZero() || slots[i-1].To.After(x.From)) {
					t.Fatalf("seed %d, %v: slots %+v and %+v overlap", seed, p, slots[i-1], x)
				}
				checkSlot(t, s, p, out, x)
			}
		}
	}
}

// TestForesee holds the starts under several beliefs against the forecasts that each
// of them alone makes, for what waits and for a job asked about.
func TestForesee(t *testing.T) {
	testbed.Computes(t)
	starts := 0
	for seed := range uint64(80) {
		rng := rand.New(rand.NewPCG(seed, 31))
		s := scene(rng)
		for _, p := range scenePolicies() {
			members := []batch.Belief{batch.Estimate{}, batch.NewLastTwo()}
			f := batch.Forecaster{Policy: p}
			out, err := f.Forecast(s)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, j := range s.Jobs {
				ids = append(ids, j.ID)
			}
			asked := sceneJob(rng, s, 99)
			asked.ID, asked.Submitted = "asked", s.Now
			about, no := out.AskAbout(func(*batch.Similar) []batch.Belief { return members }, asked, func() bool { return true })
			list := out.Foresee(func(*batch.Similar) []batch.Belief { return members }, ids)
			for n, b := range members {
				alone := batch.Forecaster{Policy: p, Belief: b}
				want, err := alone.Forecast(s)
				if err != nil {
					t.Fatal(err)
				}
				if len(list) != len(want.Jobs) {
					t.Fatalf("seed %d, %v: %d jobs foreseen, %d start", seed, p, len(list), len(want.Jobs))
				}
				at := map[string]int64{}
				for _, e := range want.Jobs {
					at[e.ID] = e.Start.Unix()
				}
				for _, j := range list {
					if starts++; s.Now.Unix()+j.Waits[n] != at[j.Job.ID] {
						t.Fatalf("seed %d, %v: job %s is foreseen in %d s, forecast for %d", seed, p, j.Job.ID, j.Waits[n], at[j.Job.ID])
					}
				}
				if e, why := want.Ask(asked, 0); why.Cause != no.Cause || why.Cause == "" && s.Now.Unix()+about.Waits[n] != e.Start.Unix() {
					t.Fatalf("seed %d, %v: asked: %+v %+v, want %+v %+v", seed, p, about, no, e, why)
				}
			}
		}
	}
	if starts < 1000 {
		t.Errorf("only %d starts compared", starts)
	}
}

func checkSlot(t *testing.T, s batch.State, policy batch.Policy, out *batch.Forecast, x batch.Slot) {
	t.Helper()
	var node batch.Node
	for _, n := range s.Nodes {
		if n.Name == x.Node {
			node = n
		}
	}
	known := map[string]batch.Job{}
	for _, j := range s.Jobs {
		known[j.ID] = j
	}
	cpus, gpus, memory, disk := node.CPUs, node.GPUs, node.Memory, node.Disk
	for _, e := range out.Jobs {
		for _, p := range e.Placed {
			if j := known[e.ID]; p.Node == x.Node && e.Start.Before(x.From.Add(time.Second)) && e.End.After(x.From) {
				cpus, gpus, memory, disk = cpus-p.Procs, gpus-j.GPUs, memory-j.Memory*int64(p.Procs), disk-j.Disk
			}
		}
	}
	for _, j := range s.Jobs {
		for _, p := range j.Placed {
			if p.Node == x.Node && runsUntil(s, policy, j).After(x.From) {
				cpus -= p.Procs
			}
		}
	}
	if !node.Up || x.CPUs > max(cpus, 0) || x.GPUs > gpus || x.Memory > memory || x.Disk > disk || x.CPUs < 1 {
		t.Fatalf("slot %+v of %+v: %d CPUs, %d GPUs, %d MB, %d MB disk are free", x, node, cpus, gpus, memory, disk)
	}
	for _, r := range s.Reservations {
		if slices.Contains(r.Nodes, x.Node) && r.Start.Before(x.From.Add(time.Second)) && r.End.After(x.From) {
			t.Fatalf("slot %+v lies in %+v", x, r)
		}
	}
}

// runsUntil is when a running job ends: under Slurm's rules with its reservation.
func runsUntil(s batch.State, p batch.Policy, j batch.Job) time.Time {
	end := j.Started.Add(j.Requested)
	for _, r := range s.Reservations {
		if p.Name == "slurm" && r.Name == j.Reservation && !r.Flex && r.End.Before(end) {
			end = r.End
		}
	}
	return end
}

// TestSync follows an engine by pictures alone, taken at random times: the model
// is that of the picture, and so are slots.
func TestSync(t *testing.T) {
	testbed.Computes(t)
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 31))
		s := scene(rng)
		s.Nodes[0].Queues = []string{"p1", "p2"}
		p := scenePolicies()[int(seed)%len(scenePolicies())]
		e, err := batch.NewEngine(s, p)
		if err != nil {
			t.Fatal(err)
		}
		f := batch.Forecaster{Policy: p, Belief: batch.NewHistory(), Errors: &batch.Errors{}}
		live, err := f.Live(e.State())
		if err != nil {
			t.Fatal(err)
		}
		for i := range 30 {
			at := e.Now().Add(time.Duration(rng.IntN(4000)) * time.Second)
			j := sceneJob(rng, s, 0)
			j.ID, j.Submitted, j.After = fmt.Sprint("new", i), at, nil
			e.Submit(j, time.Duration(1+rng.Int64N(int64(j.Requested)))) // some are refused
			e.Advance(at)
			if _, err := live.Sync(e.State()); err != nil {
				t.Fatal(err)
			}
			picture, placed := e.State(), map[string][]batch.Placement{}
			for _, j := range live.State().Jobs {
				placed[j.ID] = j.Placed
			}
			for i := range picture.Jobs { // where nobody says the model keeps them where they were
				picture.Jobs[i].Placed = placed[picture.Jobs[i].ID]
			}
			want, err := f.Forecast(picture)
			if err != nil {
				t.Fatal(err)
			}
			if a, b := fmt.Sprint(live.Starts(0)), fmt.Sprint(want.Jobs); a != b {
				t.Fatalf("seed %d: %s, want %s", seed, a, b)
			}
			accounted(t, fmt.Sprint("seed ", seed), e.State(), live.Starts(0), live.Refused())
			if a, b := fmt.Sprint(live.Near(24*time.Hour).Slots(24*time.Hour)), fmt.Sprint(want.Slots(24*time.Hour)); a != b {
				t.Fatalf("seed %d: slots %s, want %s", seed, a, b)
			}
		}
	}
}

// TestMemory: a Live that was stopped goes on as if it had not been.
func TestMemory(t *testing.T) {
	for _, name := range []string{"estimate", "last-two", "history"} {
		make := func() (*batch.Forecaster, *batch.Live) {
			belief, err := batch.NewBelief(name)
			if err != nil {
				t.Fatal(err)
			}
			f := &batch.Forecaster{Policy: batch.Policy{Name: "easy"}, Belief: belief, Errors: &batch.Errors{}}
			live, err := f.Live(busyState(60, 30, 100, false))
			if err != nil {
				t.Fatal(err)
			}
			return f, live
		}
		_, live := make()
		w := &world{t: t, rng: rand.New(rand.NewPCG(1, 1)), now: live.Now(), kind: "pool", live: live}
		for i := range 150 {
			if len(live.State().Jobs) > 0 {
				w.step(i)
			}
		}
		live.Starts(0)
		kept, err := live.Memory()
		w.must(err)
		f, again := make()
		_, err = again.Sync(live.State())
		w.must(err)
		w.must(again.Recall(kept))
		if a, b := fmt.Sprint(live.Starts(0)), fmt.Sprint(again.Starts(0)); a != b {
			t.Errorf("%s: foretold %s\nbefore it was stopped %s", name, b, a)
		}
		if twice, err := again.Memory(); err != nil || !bytes.Equal(twice, kept) {
			t.Errorf("%s: memory is %d bytes, was %d, error %v", name, len(twice), len(kept), err)
		}
		other := batch.Forecaster{Belief: batch.Perfect{}}
		if err := other.UnmarshalJSON(kept); err == nil {
			t.Errorf("%s: another belief took the memory", name)
		}
		if err := f.UnmarshalJSON([]byte(`{"schema":"x"}`)); err == nil {
			t.Error("a document of another schema was taken")
		}
	}
}

// TestSnapshots reads forecasts while events go on; for the race detector.
func TestSnapshots(t *testing.T) {
	f := batch.Forecaster{Policy: batch.Policy{Name: "easy"}, Belief: batch.NewHistory(), Errors: &batch.Errors{}}
	live, err := f.Live(busyState(60, 30, 100, true))
	if err != nil {
		t.Fatal(err)
	}
	latest := make(chan func() *batch.Forecast, 1)
	w := &world{t: t, rng: rand.New(rand.NewPCG(1, 1)), now: live.Now(), kind: "nodes", live: live}
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for whole := range latest {
				s := whole()
				s.Slots(time.Hour)
				if len(s.Earliest([]batch.Size{{Procs: 2, Duration: time.Hour, User: "new"}})) != 1 {
					t.Error("no answer")
				}
			}
		})
	}
	for i := range 60 {
		w.step(i)
		latest <- live.Fork()
	}
	close(latest)
	readers.Wait()
}
