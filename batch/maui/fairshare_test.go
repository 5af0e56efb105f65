package maui

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// sharing is a scheduler with fair share over windows of 100 s.
func sharing(t *testing.T, lines string) *Scheduler {
	t.Helper()
	c, warnings, err := ReadConfig(strings.NewReader("FSPOLICY DEDICATEDPS\nFSINTERVAL 100\nFSDEPTH 3\nFSDECAY 0.5\nFSWEIGHT 1\nFSUSERWEIGHT 1\nFSGROUPWEIGHT 0\nQUEUETIMEWEIGHT 0\n" +
		"ENABLENEGJOBPRIORITY TRUE\n" + lines))
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	return New(c)
}

// sharedNodes are what the jobs of the tests of fair share run on.
var sharedNodes = []Node{{Name: "n1", Procs: 16}, {Name: "n2", Procs: 16}}

// runningFor is a job of a user that runs on so many processors.
func runningFor(user string, procs int64) Job {
	j := Job{ID: "r-" + user, User: user, Group: "g", Tasks: procs, Limit: 1 << 20, Started: 1, State: JobRunning}
	for range procs {
		j.TaskList = append(j.TaskList, map[string]string{"a": "n1", "b": "n2"}[user])
	}
	return j
}

// TestUsageIsWhatRan: the share that a user is told to have used is what his jobs ran,
// second by second, each window counting half of the next, and what is older than the
// windows not at all.
func TestUsageIsWhatRan(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 3))
		s := sharing(t, "USERCFG[DEFAULT] FSTARGET=50\n")
		used := map[string]map[int64]float64{"a": {}, "b": {}} // by window
		for now, last := int64(10_000), int64(0); now < 11_000; last, now = now, now+10*(1+rng.Int64N(9)) {
			var list []Job
			for _, user := range []string{"a", "b"} {
				if rng.IntN(3) > 0 {
					list = append(list, runningFor(user, 1+rng.Int64N(16)))
				}
			}
			// Who is there at a look ran since the last one, and it counts for the window of that.
			for _, j := range list {
				if last > 0 {
					used[j.User][last/100] += float64(j.Tasks * (now - last))
				}
			}
			waiting := Job{ID: "w", User: "a", Group: "g", Tasks: 99, Limit: 10, Queued: now}
			s.Iterate(now, sharedNodes, append(list, waiting))
			sums := map[string]float64{}
			for user, windows := range used {
				for window, x := range windows {
					if age := now/100 - window; age < 3 {
						sums[user] += x * math.Pow(0.5, float64(age))
					}
				}
			}
			want := 0.0
			if total := sums["a"] + sums["b"]; total > 0 {
				want = 50 - sums["a"]/total*100
			}
			if got := fairShareOf(s, "w"); math.Abs(got-want) > 1e-6 {
				t.Fatalf("seed %d at %d: fair share of %g, want %g", seed, now, got, want)
			}
		}
	}
}

// fairShareOf is what fair share adds to the priority of a waiting job.
func fairShareOf(s *Scheduler, id string) float64 {
	for _, p := range s.Priorities() {
		if p.Job == id {
			return p.FS
		}
	}
	return math.NaN()
}

// TestTargets: what a target of a mode does to the priority of who has used 25 and who
// has used 75 percent.
func TestTargets(t *testing.T) {
	for _, c := range []struct {
		target, policy string
		little, much   float64
	}{
		{"50", "DEDICATEDPS", 25, -25},
		{"50+", "DEDICATEDPS", 25, 0},  // a floor lifts only
		{"50-", "DEDICATEDPS", 0, -25}, // a ceiling lowers only
		{"90^", "DEDICATEDPS", 0, 0},   // caps do nothing to priorities
		{"90%", "DEDICATEDPS", 0, 0},
		{"0", "DEDICATEDPS", 0, 0}, // no target
		{"50", "DEDICATEDPS%", 0.5, -0.5},
		{"25", "DEDICATEDPS%", 0, -2},
		{"50+", "DEDICATEDPS%", 0.5, 0},
		{"50", "NONE", 0, 0},
		{"50", "DEDICATEDPES", 25, -25},
	} {
		s := sharing(t, "FSPOLICY "+c.policy+"\nUSERCFG[DEFAULT] FSTARGET="+c.target+"\n")
		list := []Job{
			runningFor("a", 4), runningFor("b", 12),
			{ID: "little", User: "a", Group: "g", Tasks: 99, Limit: 10, Queued: 10_000}, {ID: "much", User: "b", Group: "g", Tasks: 99, Limit: 10, Queued: 10_000},
		}
		s.Iterate(10_000, sharedNodes, list)
		s.Iterate(10_050, sharedNodes, list)
		if little, much := fairShareOf(s, "little"), fairShareOf(s, "much"); math.Abs(little-c.little) > 1e-9 || math.Abs(much-c.much) > 1e-9 {
			t.Errorf("FSTARGET=%s by %s: %g and %g, want %g and %g", c.target, c.policy, little, much, c.little, c.much)
		}
	}
}

// TestCaps: who has used up what a cap allows starts nothing more, others do; beyond
// the windows it is forgotten. ^ is processor seconds, % a share.
func TestCaps(t *testing.T) {
	for _, c := range []struct {
		cap    string
		at     int64
		starts string
	}{
		{"999999^", 10_050, "a b"},
		{"800^", 10_050, "a"}, // b used 12*50 and asks for 201 more than is left, a used 200
		{"801^", 10_050, "a b"},
		{"399^", 10_050, ""},
		{"50%", 10_050, "a"},
		{"95%", 10_050, "a"}, // (600+201)/800 is more than all
		{"101%", 10_050, "a b"},
		{"20%", 10_050, ""},
	} {
		s := sharing(t, "USERCFG[a] FSTARGET="+c.cap+"\nUSERCFG[b] FSTARGET="+c.cap+"\n")
		list := []Job{runningFor("a", 4), runningFor("b", 12)}
		s.Iterate(10_000, sharedNodes, list)
		for i, user := range []string{"a", "b"} {
			list = append(list, Job{ID: user, User: user, Group: "g", Tasks: 1, Limit: 200 + int64(i), Queued: 10_000})
		}
		var got []string
		for _, a := range s.Iterate(c.at, sharedNodes, list) {
			got = append(got, a.Job)
		}
		if text := strings.Join(got, " "); text != c.starts {
			t.Errorf("FSTARGET=%s: %q start, want %q", c.cap, text, c.starts)
		}
	}
}

// TestForgottenUsage: FSDEPTH windows later nothing is left of what was used, and the
// one who used it is as good as anybody.
func TestForgottenUsage(t *testing.T) {
	s := sharing(t, "USERCFG[DEFAULT] FSTARGET=50\n")
	running := []Job{runningFor("b", 12)}
	s.Iterate(10_000, sharedNodes, running)
	s.Iterate(10_090, sharedNodes, running)
	var told []string
	for now := int64(10_095); now < 10_500; now += 100 {
		waiting := []Job{runningFor("a", 1), {ID: "w", User: "b", Group: "g", Tasks: 99, Limit: 10, Queued: now}}
		s.Iterate(now, sharedNodes, waiting)
		told = append(told, fmt.Sprintf("%.1f", fairShareOf(s, "w")))
	}
	if got := strings.Join(told, " "); got[:5] != "-49.5" || !strings.HasSuffix(got, " 50.0") {
		t.Errorf("fair share %s, want it to rise from -49.5 to 50", got)
	}
}
