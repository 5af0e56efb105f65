package broker_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gridbroker/broker"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/rank"
)

// silent counts questions and answers none of them.
type silent struct {
	mu        sync.Mutex
	forecasts int
	lengths   []int // resources asked about
}

func (s *silent) Name() string { return "silent" }

func (s *silent) Forecast(ctx context.Context, _ *jdl.Job, _ []*glue.Resource) (map[string]rank.Forecast, error) {
	s.mu.Lock()
	s.forecasts++
	s.mu.Unlock()
	<-ctx.Done()
	return nil, ctx.Err()
}

func (s *silent) QueueLengths(ctx context.Context, rs []*glue.Resource) (map[string]rank.QueueLength, error) {
	s.mu.Lock()
	s.lengths = append(s.lengths, len(rs))
	s.mu.Unlock()
	<-ctx.Done()
	return nil, ctx.Err()
}

// Many kinds of jobs and silent services: one deadline for all, and what
// holds for every job is asked once.
func TestSilentServicesCostOneDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &silent{}
		b := newBroker(func(b *broker.Broker) {
			b.AskFor = 4 * time.Second
			b.Services = broker.Services{Forecasters: []plugins.Forecaster{s}, QueueLengthers: []plugins.QueueLengther{s}}
		})
		var jobs []*jdl.Job
		for i := range 40 {
			jobs = append(jobs, stored(t, fmt.Sprintf(`Executable = "/bin/true"; Requirements = other.GlueCEUniqueID != "%d";`, i)))
		}
		begin := time.Now()
		p, err := b.Plan(context.Background(), jobs, []*glue.Resource{site("a"), site("b")})
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took != b.AskFor {
			t.Errorf("took %s, want %s", took, b.AskFor)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.forecasts > 8 || fmt.Sprint(s.lengths) != "[2]" {
			t.Errorf("%d forecasts asked for at once, queue lengths of %v resources", s.forecasts, s.lengths)
		}
		if len(p.Services) != 2 || p.Services[0].Error == "" || p.Services[1].Error == "" {
			t.Errorf("outcomes %+v", p.Services)
		}
		for _, j := range p.Jobs {
			if len(j.Choices) != 2 {
				t.Fatalf("job has %d choices: %v", len(j.Choices), j.Err)
			}
		}
	})
}

// tardy names its host when its term is over, as services over the network do.
type tardy struct{ takes time.Duration }

func (tardy) Name() string { return "tardy" }

func (s tardy) QueueLengths(ctx context.Context, _ []*glue.Resource) (map[string]rank.QueueLength, error) {
	<-ctx.Done()
	time.Sleep(s.takes) // a machine that is busy
	return nil, fmt.Errorf("http://queues.example.org/: %w", context.Cause(ctx))
}

// Who did not answer is named, though the term of all services was over meanwhile and the machine is busy;
// a service that does not heed its term is waited for no longer than a second more.
func TestSilentHostsAreNamed(t *testing.T) {
	for takes, want := range map[time.Duration]string{
		0:                      "http://queues.example.org/: no answer in time",
		900 * time.Millisecond: "http://queues.example.org/: no answer in time",
		time.Minute:            "no answer in time",
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBroker(func(b *broker.Broker) {
				b.AskFor = 4 * time.Second
				b.Services.QueueLengthers = []plugins.QueueLengther{tardy{takes}}
			})
			begin := time.Now()
			p := plan(t, b, []*glue.Resource{site("a")}, newJob(t, "[]"))
			if took := time.Since(begin); took != b.AskFor+min(takes, time.Second) {
				t.Errorf("%s: took %s", takes, took)
			}
			if len(p.Services) != 1 || p.Services[0].Error != want {
				t.Errorf("%s: %+v", takes, p.Services)
			}
			time.Sleep(takes)
		})
	}
}

// Who gives up waiting for a plan waits for no service that has something to say of it.
func TestInterruptedPlansWaitForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(func(b *broker.Broker) {
			b.AskFor = 4 * time.Second
			b.Services.QueueLengthers = []plugins.QueueLengther{tardy{time.Minute}}
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		_, _ = b.Plan(ctx, []*jdl.Job{newJob(t, "[]")}, []*glue.Resource{site("a")})
		if took := time.Since(begin); took != time.Second {
			t.Errorf("took %s", took)
		}
		time.Sleep(time.Minute)
	})
}

// counter tells the lengths of queues.
type counter map[string]rank.QueueLength

func (counter) Name() string { return "counter" }

func (c counter) QueueLengths(context.Context, []*glue.Resource) (map[string]rank.QueueLength, error) {
	return c, nil
}

// TestQueueLengthsCount: what a queue-length service says of a resource is heard, of two that speak of one the first.
func TestQueueLengthsCount(t *testing.T) {
	said := func(jobs int64) rank.QueueLength {
		return rank.QueueLength{Source: "counter", Lengths: []int64{jobs}, At: start}
	}
	b := newBroker(func(b *broker.Broker) {
		b.Services.QueueLengthers = []plugins.QueueLengther{counter{"a": said(5000), "b": said(10), "elsewhere": said(1)}, counter{"b": said(9000)}}
	})
	p := plan(t, b, []*glue.Resource{site("a"), site("b")}, newJob(t, "[]"))
	for place, want := range []struct {
		id   string
		jobs int64
	}{{"b", 10}, {"a", 5000}} {
		got := p.Jobs[0].Choices[place]
		if got.Resource.ID != want.id || got.Queue == nil || got.Queue.Total() != want.jobs {
			t.Errorf("place %d: %s with %+v, want %s with %d jobs", place, got.Resource.ID, got.Queue, want.id, want.jobs)
		}
	}
}
