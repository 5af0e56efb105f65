package batch

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// Who follows pictures that say where nothing is new foretells what one foretells who compares all of them, whatever
// happens between them, and learns the same.
func TestMarkedPicturesAreAsCompared(t *testing.T) {
	for _, policy := range []string{"easy", "conservative", "slurm"} {
		for seed := range uint64(4) {
			rng := rand.New(rand.NewPCG(seed, 17))
			start := time.Unix(1_700_000_000, 0).UTC()
			e, err := NewEngine(State{Now: start, Nodes: []Node{{Name: "a", CPUs: 8, Up: true}, {Name: "b", CPUs: 8, Up: true}}}, Policy{Name: policy})
			if err != nil {
				t.Fatal(err)
			}
			events := uint64(1)
			e.Observe(func(Event) { events++ })
			var lives [2]*Live
			for i := range lives {
				f := &Forecaster{Policy: Policy{Name: policy}, Belief: NewLastTwo(), Errors: &Errors{}}
				if lives[i], err = f.Live(e.State()); err != nil {
					t.Fatal(err)
				}
			}
			quiet := 0
			for look := range 60 {
				at := e.Now().Add(time.Duration(1+rng.IntN(400)) * time.Second)
				if rng.IntN(3) == 0 {
					limit := time.Duration(60+rng.IntN(3000)) * time.Second
					j := Job{ID: fmt.Sprint(look), User: fmt.Sprint("u", rng.IntN(3)), Procs: 1 + rng.IntN(8), Requested: limit, Submitted: at}
					if err := e.Submit(j, time.Duration(1+rng.Int64N(int64(limit)))); err != nil {
						t.Fatal(err)
					}
				}
				was := events
				e.Advance(at)
				if was == events {
					quiet++
				}
				var said [2]string
				for i, l := range lives {
					s := e.State()
					if i == 1 {
						s.Mark = events
					}
					did, err := l.Sync(s)
					if err != nil {
						t.Fatal(err)
					}
					learned, err := l.Memory()
					if err != nil {
						t.Fatal(err)
					}
					said[i] = fmt.Sprint(did, l.Now(), l.State().Jobs, l.Near(time.Hour).Slots(time.Hour), l.Starts(0), string(learned))
				}
				if said[0] != said[1] {
					t.Fatalf("%s, seed %d, look %d: compared\n%s\nby marks\n%s", policy, seed, look, said[0], said[1])
				}
			}
			if quiet < 5 {
				t.Errorf("%s, seed %d: only %d looks had nothing new", policy, seed, quiet)
			}
		}
	}
}

// A picture of a mark that was taken in is not looked at; one that was refused has to be.
func TestRefusedPicturesLeaveNoMark(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	s := State{Now: now, Nodes: []Node{{Name: "a", CPUs: 4, Up: true}}, Mark: 1}
	l, err := (&Forecaster{Policy: Policy{Name: "easy"}}).Live(s)
	if err != nil {
		t.Fatal(err)
	}
	look := func(mark uint64, ids ...string) (Synced, error) {
		s.Now, s.Mark, s.Jobs = s.Now.Add(time.Second), mark, nil
		for _, id := range ids {
			s.Jobs = append(s.Jobs, Job{ID: id, Procs: 1, Requested: time.Hour, Submitted: now})
		}
		return l.Sync(s)
	}
	if did, err := look(1, "a"); err != nil || did.Submitted != 1 {
		t.Fatal("the first picture was not looked at", did, err)
	}
	if did, err := look(1, "a", "b"); err != nil || did != (Synced{}) || !l.Now().Equal(s.Now) {
		t.Error("a picture of the same mark was looked at, or time stood still", did, err)
	}
	if _, err := look(2, "a", "a"); err == nil {
		t.Error("a job twice was taken")
	} else if _, is := errors.AsType[*TwiceError](err); !is {
		t.Error(err)
	}
	if did, err := look(2, "a", "b"); err != nil || did.Submitted != 1 {
		t.Error("after a picture that was refused the next one of its mark was not looked at", did, err)
	}
	if did, err := look(0, "a"); err != nil || did.Cancelled != 1 {
		t.Error("a picture without a mark was not looked at", did, err)
	}
	if did, err := look(0, "a", "b"); err != nil || did.Submitted != 1 {
		t.Error("a second one was not", did, err)
	}
}
