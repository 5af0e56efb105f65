package sim

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"gridbroker/testdata/testbed"
)

func scenario(t *testing.T, name string) *Scenario {
	t.Helper()
	file := filepath.Join("../../testdata/scenarios", name)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse(file, text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func compare(t *testing.T, s *Scenario) *Result {
	t.Helper()
	r, err := s.Compare(context.Background(), Options{Parallel: 2})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// figure returns a figure of a policy.
func (r *Result) figure(policy, name string) Figure {
	for _, p := range r.Policies {
		if p.Policy == policy {
			return p.Figures[name]
		}
	}
	return Figure{}
}

// Live queue lengths pay against a random choice; nobody beats perfect knowledge by much.
func TestHybridAgainstRandom(t *testing.T) {
	testbed.Computes(t)
	s := scenario(t, "hybrid.toml")
	s.Policies, s.Seeds, s.Jobs.Count = []string{"random", "hybrid", "oracle"}, 3, 400
	r := compare(t, s)
	for _, p := range r.Policies {
		t.Logf("%s: %+v", p.Policy, p.Figures["completion_mean"])
	}
	random, hybrid, oracle := r.figure("random", "wait_mean").Mean, r.figure("hybrid", "wait_mean").Mean, r.figure("oracle", "wait_mean").Mean
	if hybrid >= random || oracle > 1.3*hybrid {
		t.Errorf("mean waits: random %.0f, hybrid %.0f, oracle %.0f", random, hybrid, oracle)
	}
}

func TestSameSeedSameBytes(t *testing.T) {
	s := scenario(t, "independent.toml")
	s.Policies, s.Seeds, s.Jobs.Count = []string{"independent", "hybrid"}, 2, 150
	a, _ := json.Marshal(compare(t, s))
	b, _ := json.Marshal(compare(t, s))
	if string(a) != string(b) {
		t.Error("two runs of one scenario differ")
	}
}

// Every job is run once, or told to be unplaced, whatever the policy.
func TestEveryJobIsAccountedFor(t *testing.T) {
	for _, name := range []string{"hybrid.toml", "stale.toml", "independent.toml"} {
		s := scenario(t, name)
		s.Seeds, s.Jobs.Count = 1, 60
		for _, r := range compare(t, s).Runs {
			if r.Jobs+r.Unplaced != 60 || r.MeanWait < 0 || r.Utilisation > 1 {
				t.Errorf("%s, %s: %d jobs ran, %d unplaced, utilisation %g", name, r.Policy, r.Jobs, r.Unplaced, r.Utilisation)
			}
		}
	}
}

func TestMistakesHavePositions(t *testing.T) {
	const good = "[jobs]\ncount = 10\nload = 0.5\n[[site]]\nname = \"a\"\nprocs = 4\n"
	for text, want := range map[string][2]int{
		good + "sped = 2.0\n":            {7, 1},
		"seeds = \"five\"\n" + good:      {1, 9},
		"latency = \"soon\"\n" + good:    {1, 11},
		good + "[[site]]\nprocs = 4\n":   {7, 3},
		"policies = [\"best\"]\n" + good: {1, 1},
		good + "lie = \"yes\"\n":         {7, 1},
		good + "speed = 1000\n":          {7, 1},
		good + "[[failure]]\nkind = \"site\"\nsite = \"b\"\nfor = \"1h\"\n": {9, 1},
		"[jobs\n": {1, 6},
	} {
		_, err := Parse("s.toml", []byte(text))
		var e *PositionError
		if !errors.As(err, &e) || want[0] > 0 && (e.Line != want[0] || e.Column != want[1]) {
			t.Errorf("%q: %v, want a mistake at %v", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("[jobs]\ncount = 10\nload = 0.5\n[[site]]\nname = \"a\"\nprocs = 4\n")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := Parse("s.toml", []byte(text)); err == nil && s.Check() != nil {
			t.Error("a scenario that was read does not hold")
		}
	})
}

// BenchmarkJob is one global job over five sites with local load, by policy.
func BenchmarkJob(b *testing.B) {
	text, err := os.ReadFile("../../testdata/scenarios/hybrid.toml")
	if err != nil {
		b.Fatal(err)
	}
	for _, policy := range []string{"random", "fastest-queue", "hybrid"} {
		b.Run(policy, func(b *testing.B) {
			s, err := Parse("hybrid.toml", text)
			if err != nil {
				b.Fatal(err)
			}
			s.Jobs.Count = b.N
			if _, err := s.Play(context.Background(), policy, 1); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// With failures, lies and lost messages every job still comes to one end under
// every policy, and a run says the same twice.
func TestTroublesLoseNobody(t *testing.T) {
	s := scenario(t, "failures.toml")
	s.Seeds, s.Jobs.Count, s.Policies = 1, 120, append(s.Policies, Independent, Oracle)
	a, b := compare(t, s), compare(t, s)
	for i, r := range a.Runs {
		if r.Jobs+r.Unplaced+r.Failed != 120 || r.MeanWait < 0 || r.Utilisation > 1 {
			t.Errorf("%s: %d ran, %d unplaced, %d failed of 120; utilisation %g", r.Policy, r.Jobs, r.Unplaced, r.Failed, r.Utilisation)
		}
		one, _ := json.Marshal(r)
		two, _ := json.Marshal(b.Runs[i])
		if string(one) != string(two) {
			t.Errorf("%s: two runs of one seed differ", r.Policy)
		}
	}
}

// Guests that take slots which are left free harm local users less than those that queue with them.
func TestSlotsSpareLocalUsers(t *testing.T) {
	s := scenario(t, "gras.toml")
	s.Seeds, s.Jobs.Count, s.Policies = 2, 500, []string{"random", GrASPaper, GrAS}
	slotsAlone(s)
	r := compare(t, s)
	random, ours := r.figure("random", "local_wait_mean").Mean, r.figure(GrAS, "local_wait_mean").Mean
	if ours > random || r.figure(GrAS, "missed").Mean > 0.1 {
		t.Errorf("local users wait %.0f s with slots, %.0f s with direct submission; missed %.2f", ours, random, r.figure(GrAS, "missed").Mean)
	}
	if paper := r.figure(GrASPaper, "unplaced").Mean; paper > 0 {
		t.Errorf("the published matching leaves %g single-processor jobs out", paper)
	}
}

// slotsAlone has no guest wait in a queue.
func slotsAlone(s *Scenario) {
	for i := range s.Sites {
		s.Sites[i].Turns = 0
	}
}

// Jobs that may wait in the sites' queues wait less than those that have slots alone, and
// less than those of a broker that sees an old state.
func TestQueuesBeatWaitingForSlots(t *testing.T) {
	testbed.Computes(t)
	s := scenario(t, "gras-stale.toml")
	s.Seeds, s.Jobs.Count, s.Policies = 3, 700, []string{"hybrid", GrAS}
	r := compare(t, s)
	hybrid, ours := r.figure("hybrid", "wait_mean").Mean, r.figure(GrAS, "wait_mean").Mean
	slotsAlone(s)
	s.Policies = []string{GrAS}
	alone := compare(t, s).figure(GrAS, "wait_mean").Mean
	if ours > 0.7*hybrid || ours > alone {
		t.Errorf("mean waits: %.0f s, %.0f s with slots alone, %.0f s of a broker", ours, alone, hybrid)
	}
}
