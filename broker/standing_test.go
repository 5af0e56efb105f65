package broker

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gridbroker/broker/clock"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/rank"
	"gridbroker/testdata/testbed"
)

// A standing planner chooses as one that begins anew each time, while records
// change, time passes, downtimes come and go, and jobs want different things.
func TestStandingPlansAreTheSame(t *testing.T) {
	testbed.Computes(t)
	for _, policy := range []string{rank.Random, rank.Hybrid, rank.Paper, rank.FastestQueue, rank.Metacluster} {
		t.Run(policy, func(t *testing.T) { standingPlans(t, policy, 60, 1000) })
	}
	t.Run("few", func(t *testing.T) { standingPlans(t, rank.Hybrid, 5, 200) })
}

func standingPlans(t *testing.T, policy string, resources, least int) {
	rng := rand.New(rand.NewPCG(7, 11))
	p, err := rank.ParsePolicy(policy, rank.DefaultModel())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	b := &Broker{Policy: p, Clock: clock.Set(func() time.Time { return now }), Alternatives: 1000}
	rs := make([]*glue.Resource, resources)
	for i := range rs {
		rs[i] = drawnResource(rng, i, now)
	}
	s, chosen := b.Standing(), 0
	for n := range 300 {
		now = now.Add(time.Duration(rng.IntN(600)) * time.Second)
		for range rng.IntN(5) {
			i := rng.IntN(len(rs))
			rs[i] = drawnResource(rng, i, now)
		}
		job := drawnJob(t, rng)
		b.Seed = uint64(n)
		got, err1 := s.Plan(t.Context(), job, rs)
		want, err2 := b.Plan(t.Context(), []*jdl.Job{job}, rs)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		g, w := summary(got), summary(want)
		if g != w {
			t.Fatalf("plan %d:\n%s\nwant\n%s", n, g, w)
		}
		chosen += len(got.Jobs[0].Choices)
	}
	if chosen < least {
		t.Errorf("only %d choices in all", chosen)
	}
}

func summary(p *Plan) (text string) {
	for _, c := range p.Jobs[0].Choices {
		text += fmt.Sprintf("%s %.6g %v\n", c.Resource.ID, c.Score, c.Terms)
	}
	for _, r := range p.Jobs[0].Match.Rejected() {
		text += fmt.Sprintf("not %s: %s\n", r.Resource.ID, r.Filter)
	}
	return text
}

func drawnResource(rng *rand.Rand, i int, now time.Time) *glue.Resource {
	r := &glue.Resource{
		ID: fmt.Sprintf("r%d", i*7919%60), Name: fmt.Sprintf("ce%d", i), CE: fmt.Sprintf("ce%d", i), Queue: "batch", Serving: glue.Production,
		Endpoints:  []glue.Endpoint{{URL: fmt.Sprintf("https://ce%d", i), Interface: glue.InterfaceARCREST}},
		TotalSlots: glue.Some(int64(64)), FreeSlots: glue.Some(int64(rng.IntN(65))), Waiting: glue.Some(int64(rng.IntN(20))),
		MaxSlotsPerJob: glue.Some(int64(8 << rng.IntN(4))), MaxWaiting: glue.Some(int64(18)), Created: now, Validity: time.Hour,
	}
	if rng.IntN(4) == 0 {
		r.MaxWallTime = glue.Some(time.Duration(1+rng.IntN(20)) * time.Hour)
	}
	if rng.IntN(8) == 0 {
		r.Serving = glue.Draining
	}
	if rng.IntN(6) == 0 {
		from := now.Add(time.Duration(rng.IntN(20)) * time.Hour)
		r.Endpoints[0].Downtimes = []glue.Downtime{{Start: from, End: from.Add(2 * time.Hour)}}
	}
	return r
}

func drawnJob(t *testing.T, rng *rand.Rand) *jdl.Job {
	t.Helper()
	text := fmt.Sprintf(`Executable = "x"; CPUNumber = %d; WallTime = %d;`, 1+rng.IntN(40), 600*(1+rng.IntN(100)))
	switch rng.IntN(5) {
	case 0:
		text += fmt.Sprintf(` Requirements = other.GlueCEStateFreeCPUs > %d && other.GlueCEInfoTotalCPUs > 9;`, 10*rng.IntN(6))
	case 1:
		text += ` Requirements = other.GlueCEStateFreeCPUs >= CPUNumber;`
	case 2:
		text += fmt.Sprintf(` Requirements = regexp("%d", other.GlueCEUniqueID);`, rng.IntN(6))
	}
	job, err := jdl.ParseJob("job", []byte(text), jdl.WithoutFiles())
	if err != nil {
		t.Fatal(err)
	}
	return job
}
