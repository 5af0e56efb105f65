package history

import (
	"math"
	"testing"
	"time"

	"gridbroker/jdl"
	"gridbroker/rank"
)

// asks is a job of a kind of its own that asks for a wall time.
func asks(program string, wall time.Duration) *jdl.Job {
	return &jdl.Job{Executable: program, Demand: jdl.Demand{WallTime: wall}}
}

func (b *bench) usage() rank.Usage {
	b.t.Helper()
	u, err := b.Usage(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return u
}

// Whoever asks for ten times what he needs does so for kinds of jobs, too, and at
// resources, that he never used.
func TestUsualShare(t *testing.T) {
	b := newBench(t)
	if u := b.usage(); u.Jobs != 0 {
		t.Errorf("no job has ended: %+v", u)
	}
	fast := resource("fast")
	fast.Benchmarks = map[string]float64{"hep-spec06": 20} // twice the reference: asks for half
	for i := range 45 {
		b.run(asks(string(rune('A'+i)), 10*time.Hour), fast, 0, 30*time.Minute, 0)
	}
	want := (45*0.1 + 5) / 50
	if u := b.usage(); math.Abs(u.Share()-want) > 1e-9 {
		t.Errorf("%+v, want a share of %v", u, want)
	}
	if h := b.of(asks("never seen", time.Hour), resource("new")); h.RunTime.OK {
		t.Errorf("%+v", h)
	}
}

// What says nothing of how much is used: jobs that ask for nothing, fail at once, or
// end too soon to be true. And nobody uses more than he asked for.
func TestNoShare(t *testing.T) {
	b := newBench(t)
	b.run(asks("a", 0), resource("a"), 0, time.Hour, 0)
	b.run(asks("b", time.Hour), resource("a"), 0, time.Second, 1)
	if u := b.usage(); u.Jobs != 0 {
		t.Errorf("%+v", u)
	}
	b.run(asks("c", time.Hour), resource("a"), 0, 3*time.Hour, 0)
	if u := b.usage(); u.Jobs != 1 || u.Share() != 1 {
		t.Errorf("%+v", u)
	}
}
