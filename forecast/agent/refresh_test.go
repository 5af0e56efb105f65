package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/wire"
	"gridbroker/testdata/testbed"
)

// An agent that tells on what was foretold some minutes ago, where nothing has happened, tells and learns what one
// does that foretells it anew. Jobs come, begin, end and are booked at random, and it is quiet for minutes in between.
func TestRefreshTellsAndLearnsAsForetelling(t *testing.T) {
	testbed.Computes(t)
	quick, slow := newScene(t), newScene(t)
	for turn := range 1500 {
		for _, s := range [...]*scene{quick, slow} {
			s.happens(turn)
			if s == slow {
				s.agent.stands = lasting{}
			}
			if err := s.agent.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if is, want := quick.is(t), slow.is(t); is != want {
			t.Fatalf("look %d: the agent is\n%s\nand would be\n%s", turn, is, want)
		}
	}
	if quick.anew == slow.anew || slow.anew-quick.anew < 50 {
		t.Errorf("of 1500 looks %d were foretold anew, of %d", quick.anew, slow.anew)
	}
}

// What was told of a job that waits stays until it is said to.
func TestToldForIsAsLongAsItStays(t *testing.T) {
	testbed.Computes(t)
	rng, bounded := rand.New(rand.NewPCG(9, 9)), 0
	for range 20_000 {
		const now, end = 1000, 22_600
		is := wire.Entry{Task: "1", State: "waiting", Start: now + rng.Int64N(end)}
		was := is
		was.Start = max(now, is.Start+rng.Int64N(1600)-800)
		if !stays(&was, &is, now) {
			was = is
		}
		told, until := is.Start-now <= startSoon, toldFor(&was, &is, now, end)
		if until < math.MaxInt64 && until > 0 {
			bounded++
		}
		for at := int64(now); at < min(until, is.Start); at += 7 {
			if !told && !stays(&was, &is, at) || is.Start >= end {
				t.Fatalf("what is told as %d of a start at %d is to stay until %d, and does not at %d", was.Start, is.Start, until, at)
			}
		}
	}
	if bounded < 1000 {
		t.Errorf("only %d of them were to end", bounded)
	}
}

// scene is an agent, its cluster, and a scheduler that takes what it tells.
type scene struct {
	rng   *rand.Rand
	site  *site
	agent *Agent
	now   time.Time
	quiet int // looks for which nothing happens
	made  int
	told  wire.Set
	seq   uint64
	beats int
	list  []wire.Booking
	anew  int // how often it was foretold
	last  time.Time
}

func newScene(t *testing.T) *scene {
	s := &scene{rng: rand.New(rand.NewPCG(7, 8)), now: time.Unix(1_800_000_000, 0).UTC()}
	s.site = &site{batch.State{Now: s.now, Cluster: "c", Nodes: []batch.Node{{Name: "a", CPUs: 20, Up: true}, {Name: "b", CPUs: 12, Up: true}}}}
	s.agent = &Agent{Conf: Config{Cluster: "c", Scheduler: "http://s", Near: true, Spare: 10, Beside: true, Site: wire.Site{LRMS: "test"}}, Reader: s.site, Link: s,
		Forecast: &batch.Forecaster{Policy: batch.Policy{Name: "easy"}}, Now: func() time.Time { return s.now }, Log: slog.New(slog.DiscardHandler)}
	return s
}

// happens lets a minute go by, after some minutes of which something happens.
func (s *scene) happens(turn int) {
	s.now = s.now.Add(time.Minute)
	s.site.state.Now = s.now
	if at := s.agent.stands.state.Now; at != s.last {
		s.last = at
		s.anew++
	}
	if s.quiet--; s.quiet > 0 {
		return
	}
	s.quiet = s.rng.IntN(20)
	jobs := append([]batch.Job(nil), s.site.state.Jobs...)
	switch k := s.rng.IntN(4); {
	case k == 0 && len(jobs) > 0:
		i := s.rng.IntN(len(jobs))
		jobs = append(jobs[:i], jobs[i+1:]...)
	case k == 1:
		from := s.now.Unix() + int64(s.rng.IntN(900))
		s.list = append(s.list[:max(0, len(s.list)-2):len(s.list)], wire.Booking{Schema: wire.BookingSchema, Job: "j", Key: fmt.Sprint("k", turn), From: from, To: from + 900, Procs: 2, Way: wire.Begin})
	default:
		for range 1 + s.rng.IntN(3) {
			s.made++
			jobs = append(jobs, batch.Job{ID: fmt.Sprint(s.made), User: "u", Procs: 1 + s.rng.IntN(12), Requested: time.Duration(1+s.rng.IntN(300)) * time.Minute, Submitted: s.now})
		}
	}
	s.site.state.Jobs = begin(jobs, s.now)
}

// begin lets jobs start for which there is room on one node, in their order, and those end that are at their limits.
func begin(jobs []batch.Job, now time.Time) (list []batch.Job) {
	free := map[string]int{"a": 20, "b": 12}
	for _, j := range jobs {
		if !j.Started.IsZero() && j.Started.Add(j.Requested).After(now) {
			free[j.Placed[0].Node] -= j.Procs
			list = append(list, j)
		}
	}
	for _, j := range jobs {
		for _, node := range []string{"a", "b"} {
			if j.Started.IsZero() && free[node] >= j.Procs {
				free[node] -= j.Procs
				j.Started, j.Placed = now, []batch.Placement{{Node: node, Procs: j.Procs}}
				list = append(list, j)
			}
		}
		if j.Started.IsZero() {
			list = append(list, j)
		}
	}
	return list
}

// is what is there of the agent and of its scheduler.
func (s *scene) is(t *testing.T) string {
	t.Helper()
	odds, err := json.Marshal(s.agent.slotOdds)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(s.told.Digest(), s.seq, s.beats, s.agent.loss, s.agent.chances, s.agent.until.Unix(), string(odds))
}

func (s *scene) ack() *wire.Ack {
	return &wire.Ack{Schema: wire.AckSchema, Seq: s.seq, Digest: s.told.Digest(), Bookings: s.list}
}

// Delta implements Link.
func (s *scene) Delta(_ context.Context, d *wire.Delta) (*wire.Ack, error) {
	s.seq = d.Seq
	return s.ack(), s.told.Apply(d)
}

// Beat implements Link.
func (s *scene) Beat(context.Context, *wire.Beat) (*wire.Ack, error) {
	s.beats++
	return s.ack(), nil
}

// Have implements Link.
func (s *scene) Have(context.Context) (*wire.Ack, error) { return s.ack(), nil }
