package broker_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"gridbroker/broker"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/rank"
	"gridbroker/testdata/testbed"
)

// TestManyDifferentJobs: a plan of more different jobs than compete at a time
// says of each what a plan of that job alone says, though it forgets the
// matches in between; and it spreads all of them.
func TestManyDifferentJobs(t *testing.T) {
	testbed.Computes(t)
	rs := bigGrid(12444)
	var jobs []*jdl.Job
	for i := range 11 {
		jobs = append(jobs, newJob(t, fmt.Sprintf("[Rank = other.GlueCEStateFreeJobSlots + %d; Requirements =\n other.GlueHostMainMemoryRAMSize > %d]", i, i)))
	}
	jobs = append(jobs, newJob(t, "[Requirements =\n other.GlueHostMainMemoryRAMSize > 99000]"))
	p := plan(t, newBroker(), rs, jobs...)
	placed := map[*glue.Resource]int{}
	for i := range jobs {
		j := &p.Jobs[i]
		if len(j.Choices) > 0 {
			placed[j.Choices[0].Resource]++
		}
		if i%5 != 0 && i != 11 {
			continue
		}
		alone := plan(t, newBroker(), rs, jobs[i]).Jobs[0]
		if j.Match.Matching() != alone.Match.Matching() || len(j.Match.Rejected()) != len(alone.Match.Rejected()) {
			t.Errorf("job %d: %d of %d match, alone %d", i, j.Match.Matching(), len(rs), alone.Match.Matching())
		}
		if !reflect.DeepEqual(j.Match.Explain(nil), alone.Match.Explain(nil)) {
			t.Errorf("job %d is explained otherwise", i)
		}
	}
	none, ok := errors.AsType[*broker.NoMatchError](p.Jobs[11].Err)
	if !ok || none.Error() != "job: none of 12444 resources matches; most fail on requirements (12444)" || len(none.Explanation().Nearest) == 0 {
		t.Errorf("nothing matches: %v", p.Jobs[11].Err)
	}
	for r, n := range placed {
		if n > 7 {
			t.Errorf("%s has %d jobs of %d", r.ID, n, len(jobs))
		}
	}
}

// TestPlanIsInterrupted: a plan of very many jobs ends soon after its context.
func TestPlanIsInterrupted(t *testing.T) {
	rs, jobs := bigGrid(12444), manyDifferent(1000)
	ctx, cancel := context.WithCancel(t.Context())
	var at time.Duration
	time.AfterFunc(100*time.Millisecond, func() { at = testbed.Processor(t); cancel() })
	_, err := newBroker().Plan(ctx, jobs, rs)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v: it was to be interrupted", err)
	}
	<-ctx.Done()
	late := testbed.Processor(t) - at
	if most := testbed.Paced(t, time.Second); late > most {
		t.Errorf("it went on for %s of processor time, %s are allowed", late, most)
	}
}

// TestPaperSumsOverTheBatchSystem: the published formula counts what waits in
// all queues of a batch system, those that the job does not fit among them.
func TestPaperSumsOverTheBatchSystem(t *testing.T) {
	queue := func(id, ce, name string, waiting int64, hours int) *glue.Resource {
		return site(id, func(r *glue.Resource) {
			r.Site, r.CE, r.Queue, r.Waiting, r.MaxWallTime = "S", ce, name, glue.Some(waiting), glue.Some(time.Duration(hours)*time.Hour)
		})
	}
	rs := []*glue.Resource{queue("a-short", "a", "short", 1000, 1), queue("a-long", "a", "long", 0, 99), queue("b-long", "b", "long", 1, 99)}
	p := plan(t, newBroker(func(b *broker.Broker) { b.Policy.Name = rank.Paper }), rs, stored(t, `Executable = "/bin/ls"; WallTime = "50h";`))
	for _, c := range p.Jobs[0].Choices {
		want := map[string]float64{"a-long": 1000, "b-long": 1}[c.Resource.ID]
		if c.Terms[0].Raw != want {
			t.Errorf("%s: N is %v, want %v", c.Resource.ID, c.Terms[0].Raw, want)
		}
	}
	if len(p.Jobs[0].Choices) != 2 {
		t.Errorf("%d choices", len(p.Jobs[0].Choices))
	}
}
