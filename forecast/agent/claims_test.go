package agent

import (
	"slices"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/wire"
)

// gap is a bench of which three nodes are in use for the next hour and the fourth is
// free, with a job waiting for all of them that takes two hours.
func gap(t *testing.T) *bench {
	b := crowded(t)
	b.site.state.Jobs = slices.Delete(b.site.state.Jobs, 3, 4)
	return b
}

// starts are when the slots published of each node begin, from now.
func (b *bench) starts(a *Agent) map[string]time.Duration {
	list := map[string]time.Duration{}
	b.step(a)
	b.c.set.All(func(v wire.Slot) {
		from := time.Unix(v.From, 0).Sub(b.now)
		if was, ok := list[v.Node]; !ok || from < was {
			list[v.Node] = from
		}
	})
	return list
}

// While a local job waits for room, no guest is given what is free before it begins:
// it would begin earlier than is foreseen, were it not for the guest. An owner may
// say otherwise, and guests that give way are in nobody's way.
func TestLocalJobsThatWaitClaimTheRoom(t *testing.T) {
	for name, v := range map[string]struct {
		set  func(a *Agent, s *batch.State)
		want time.Duration // of the free node
	}{
		"a job waits":         {func(*Agent, *batch.State) {}, 3 * time.Hour},
		"the owner lets them": {func(a *Agent, _ *batch.State) { a.Conf.Beside = true }, 0},
		"guests give way":     {func(a *Agent, _ *batch.State) { a.Conf.Site.Start = wire.Partition }, 0},
		"nobody waits":        {func(_ *Agent, s *batch.State) { s.Jobs = s.Jobs[:3] }, 0},
		"a held job":          {func(_ *Agent, s *batch.State) { s.Jobs[3].Held = true }, 0},
		"it may begin later":  {func(_ *Agent, s *batch.State) { s.Jobs[3].Begin = s.Now.Add(2 * time.Hour) }, 0},
		"behind another job":  {func(_ *Agent, s *batch.State) { s.Jobs[3].After = []batch.Dependency{{ID: "r0", On: batch.OnEnd}} }, 0},
		"for a reservation":   {func(_ *Agent, s *batch.State) { s.Jobs[3].Reservation = "course" }, 0},
		"another queue":       {func(_ *Agent, s *batch.State) { elsewhere(s, "large") }, 0},
		"this queue, too":     {func(_ *Agent, s *batch.State) { elsewhere(s, "large"); s.Jobs[3].Also = []string{"all"} }, time.Hour},
		"other nodes":         {func(_ *Agent, s *batch.State) { s.Jobs[3].Procs, s.Jobs[3].Features = 24, []string{"fast"}; fast(s) }, 0},
		"its user's limit":    {func(_ *Agent, s *batch.State) { limited(s) }, 0},
	} {
		b := gap(t)
		a := b.agent()
		v.set(a, &b.site.state)
		if got, ok := b.starts(a)["n3"]; !ok || got != v.want {
			t.Errorf("%s: the free node is offered from %v on (%t), want %v", name, got, ok, v.want)
		}
	}
}

// elsewhere makes the three nodes in use those of a queue that the job is for.
func elsewhere(s *batch.State, queue string) {
	s.Queues = append(s.Queues, batch.Queue{Name: queue})
	for i := range s.Nodes {
		s.Nodes[i].Queues = []string{queue, "all"}
	}
	s.Nodes[3].Queues = []string{"all"}
	s.Jobs[3].Queue, s.Jobs[3].Procs = queue, 24
}

func fast(s *batch.State) {
	for i := range 3 {
		s.Nodes[i].Features = []string{"fast"}
	}
}

// limited makes the job one that would fit, were it not for a limit of its queue.
func limited(s *batch.State) {
	s.Jobs[3].Procs, s.Jobs[3].Queue = 8, "small"
	s.Queues = append(s.Queues, batch.Queue{Name: "small", MaxRunning: 1})
	s.Jobs[0].Queue = "small"
}

// A job that is not foreseen to start within the horizon claims the nodes for all of it.
func TestFarJobsClaimTheRoom(t *testing.T) {
	b := gap(t)
	a := b.agent()
	a.Conf.Horizon = 30 * time.Minute
	if got := b.starts(a); len(got) != 0 {
		t.Errorf("%v is offered", got)
	}
}

// What was sent for a booking and waits for its time is no local job.
func TestGuestsClaimNothing(t *testing.T) {
	b := gap(t)
	w := &b.site.state.Jobs[3]
	now := b.now.Unix()
	booking := wire.Booking{From: now - 10, To: now - 10 + int64(w.Requested/time.Second) - 30, Procs: 32, Way: wire.Begin}
	a := b.agent()
	for _, v := range []struct {
		change func(b *wire.Booking)
		want   time.Duration
	}{
		{func(*wire.Booking) {}, 0},
		{func(b *wire.Booking) { b.Running = true }, 3 * time.Hour},
		{func(b *wire.Booking) { b.Procs = 16 }, 3 * time.Hour},
		{func(b *wire.Booking) { b.To -= 60 }, 3 * time.Hour},
	} {
		other := booking
		v.change(&other)
		b.step(a)
		a.bookings([]wire.Booking{other})
		b.now = b.now.Add(time.Second)
		b.site.state.Now = b.now
		if got := b.starts(a)["n3"]; got > v.want || got < v.want-10*time.Second {
			t.Errorf("%+v: from %v on, want %v", other, got, v.want)
		}
	}
}

// Where a batch system tells no wall time, a job of a booking's width may be its guest.
func TestGuestsWithoutWallTime(t *testing.T) {
	b := wire.Booking{From: 100, To: 700, Procs: 4}
	for _, v := range []struct {
		procs int
		wall  time.Duration
		want  bool
	}{{4, 0, true}, {4, 10 * time.Minute, true}, {4, 659 * time.Second, true}, {4, 11 * time.Minute, false}, {4, 9 * time.Minute, false}, {2, 0, false}} {
		if got := isGuest(&batch.Job{Procs: v.procs, Requested: v.wall}, &b); got != v.want {
			t.Errorf("%d processors for %v: %t", v.procs, v.wall, got)
		}
	}
}
