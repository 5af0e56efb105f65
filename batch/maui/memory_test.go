package maui

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"gridbroker/testdata/testbed"
)

const remembering = `RESERVATIONPOLICY HIGHEST
RESERVATIONDEPTH 2
BACKFILLPOLICY FIRSTFIT
FSPOLICY DEDICATEDPS
FSINTERVAL 100
FSDEPTH 3
FSDECAY 0.5
FSWEIGHT 100
FSUSERWEIGHT 10
FSGROUPWEIGHT 3
BYPASSWEIGHT 1000
SERVICEWEIGHT 1
USERCFG[u0] FSTARGET=10
USERCFG[u1] FSTARGET=60
`

// TestMemory: a scheduler that is replaced by a new one with its memory between
// any two iterations decides as one that is not.
func TestMemory(t *testing.T) {
	testbed.Computes(t)
	started, differs := 0, 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 2))
		nodes, jobs := crowd(rng)
		for i := range jobs {
			jobs[i].User = fmt.Sprint("u", rng.IntN(3))
		}
		fresh := func() *Scheduler {
			c, warnings, err := ReadConfig(strings.NewReader(remembering))
			if err != nil || len(warnings) > 0 {
				t.Fatal(err, warnings)
			}
			return New(c)
		}
		steady, restarted, forgetful := fresh(), fresh(), fresh()
		for now := int64(1000); now < 3000; now += 40 {
			want := steady.Iterate(now, nodes, jobs)
			if got := restarted.Iterate(now, nodes, jobs); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d at %d: %v, want %v", seed, now, got, want)
			}
			if !reflect.DeepEqual(forgetful.Iterate(now, nodes, jobs), want) {
				differs++
			}
			text, err := restarted.Memory()
			if err != nil {
				t.Fatal(err)
			}
			restarted, forgetful = fresh(), fresh()
			if err := restarted.Recall(text); err != nil {
				t.Fatal(err)
			}
			started += len(want)
			jobs = happen(jobs, want, now, rng)
		}
	}
	if started < 100 || differs == 0 {
		t.Errorf("%d starts, %d of them otherwise without memory: too few to tell", started, differs)
	}
}

// happen does what was decided; jobs at the end of their limits, and some
// others, are gone.
func happen(jobs []Job, actions []Action, now int64, rng *rand.Rand) (left []Job) {
	for _, a := range actions {
		for i := range jobs {
			if jobs[i].ID == a.Job && a.Verb == "STARTJOB" {
				jobs[i].State, jobs[i].Started, jobs[i].TaskList = JobRunning, now, a.TaskList
			}
		}
	}
	for _, j := range jobs {
		if j.State != JobRunning || now < j.Started+j.Limit && rng.IntN(8) > 0 {
			left = append(left, j)
		}
	}
	return left
}

func TestRecallRefuses(t *testing.T) {
	for _, text := range []string{"", "{", `{"schema":"other"}`, `{"schema":"grid.maui-memory/v1","used":[{"kind":"planet"}]}`} {
		if New(NewConfig()).Recall([]byte(text)) == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
