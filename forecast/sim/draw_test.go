package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// swfLine is a job of a trace: its number, when it came, how long it ran, on how
// many processors, what its owner asked for, and who that is.
func swfLine(id, submit, run, procs, limit, user int64) string {
	return fmt.Sprintf("%d %d 0 %d %d -1 -1 %d %d -1 1 %d 1 -1 1 -1 -1 -1\n", id, submit, run, procs, procs, limit, user)
}

// withTrace is a scenario of two sites with the jobs of a trace.
func withTrace(t *testing.T, lines string) (*Scenario, error) {
	t.Helper()
	dir := t.TempDir()
	scenario := "[jobs]\ntrace = \"t.swf\"\n[[site]]\nname = \"a\"\nprocs = 4\n[[site]]\nname = \"b\"\nprocs = 8\n"
	for name, text := range map[string]string{"t.swf": "; MaxProcs: 64\n" + lines, "s.toml": scenario} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return loaded(filepath.Join(dir, "s.toml"))
}

// TestTraceWithLies: jobs of a trace that cannot be are left out, each counted
// once, with its reason; those that can be are all played.
func TestTraceWithLies(t *testing.T) {
	good := swfLine(1, 0, 100, 2, 200, 3) + swfLine(2, 10, 100, 8, 50, 4)
	for _, c := range []struct{ what, lines, says string }{
		{"nothing wrong", "", ""},
		{"no run time", swfLine(3, 20, -1, 2, 100, 1) + swfLine(4, 21, 0, 2, 100, 1), "2 of 4 jobs left out: 2 without run time, 0 without processors, 0 wider"},
		{"no processors", swfLine(3, 20, 50, -1, 100, 1), "1 of 3 jobs left out: 0 without run time, 1 without processors, 0 wider"},
		{"wider than any site", swfLine(3, 20, 50, 9, 100, 1), "1 of 3 jobs left out: 0 without run time, 0 without processors, 1 wider than any site, 0 at no time"},
		{"at no time", swfLine(3, -5, 50, 1, 100, 1), "1 of 3 jobs left out: 0 without run time, 0 without processors, 0 wider than any site, 1 at no time"},
		{"without end", swfLine(3, 20, 1e15, 1, 100, 1), "1 of 3 jobs left out: 0 without run time, 0 without processors, 0 wider than any site, 1 at no time"},
		{"words", "one two three\n1 2\n", "2 lines that cannot be read; the first is line 4: "},
		{"longer than anybody may ask for", swfLine(3, 20, 2e10, 1, 100, 1), "1 of 3 jobs left out: 0 without run time, 0 without processors, 0 wider than any site, 1 at no time"},
		{"after we are gone", swfLine(3, 2e10, 20, 1, 100, 1), "1 of 3 jobs left out: 0 without run time, 0 without processors, 0 wider than any site, 1 at no time"},
		{"asked for longer than that", swfLine(3, 20, 50, 1, 9e10, 1), ""},
		{"a user below zero", swfLine(3, 20, 50, 1, 100, -1), ""},
	} {
		s, err := withTrace(t, good+c.lines)
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		says := strings.Join(s.Left(), "\n")
		if (c.says == "") != (says == "") || !strings.Contains(says, c.says) {
			t.Errorf("%s: %q, want %q", c.what, says, c.says)
		}
		s.Jobs.Estimate = 1000 // of what owners ask for, up to what may be asked for
		r, err := s.Play(t.Context(), "random", 1)
		if err != nil || r.Jobs+r.Unplaced != len(drawn(t, s, 1)) || r.Jobs < 2 || r.MeanWait < 0 {
			t.Errorf("%s: %+v %v", c.what, r, err)
		}
	}
	for says, lines := range map[string]string{
		"1 of 1 jobs left out: 0 without run time, 0 without processors, 1 wider": swfLine(1, 0, 100, 9, 100, 1),
		"1 lines that cannot be read; the first is line ":                         "1 0 0\n",
		"it has no lines of jobs":                                                 "; MaxProcs: 4\n",
	} {
		if _, err := withTrace(t, lines); err == nil || !strings.Contains(err.Error(), "s.toml:") || !strings.Contains(err.Error(), "t.swf: "+says) {
			t.Errorf("%v, want the place in the scenario, the file's name and %s", err, says)
		}
	}
}

// TestJournalOfAChangedTrace: runs are kept for the trace they were played on: one
// that differs in a single number, with as many jobs, is another scenario.
func TestJournalOfAChangedTrace(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "journal")
	for i, lines := range []string{
		swfLine(1, 0, 100, 2, 200, 3) + swfLine(2, 10, 100, 4, 200, 4),
		swfLine(1, 0, 100, 2, 200, 3) + swfLine(2, 10, 100, 4, 200, 4),
		swfLine(1, 0, 100, 2, 200, 3) + swfLine(2, 10, 150, 4, 200, 4),
		swfLine(1, 0, 100, 2, 200, 3) + swfLine(2, 11, 100, 4, 200, 4),
		swfLine(1, 0, 100, 2, 200, 3) + swfLine(2, 10, 100, 3, 200, 4),
	} {
		s, err := withTrace(t, lines)
		if err != nil {
			t.Fatal(err)
		}
		j, err := OpenJournal(journal, s)
		if i < 2 && err != nil || i >= 2 && err == nil {
			t.Errorf("trace %d: %v", i, err)
		}
		if err == nil {
			j.Close()
		}
	}
}

// TestNetworksThatCannotBe: input that would arrive after all time, and messages
// that are lost for ever, are mistakes of the scenario.
func TestNetworksThatCannotBe(t *testing.T) {
	const head = "[jobs]\ncount = 10\nload = 0.5\ninput_mb = 100\n[[site]]\nname = \"a\"\nprocs = 4\n[network]\n"
	for line, want := range map[string]string{
		"bandwidth = 1e-300": "s.toml:9:1: network.bandwidth: 1e-300: 100 MB of input would take more than",
		"bandwidth = 1e-7":   "s.toml:9:1: network.bandwidth: 1e-07: 100 MB",
		"loss = 0.9999999":   "s.toml:9:1: network.loss: 0.9999999: want a share up to 0.99",
		"bandwidth = 1e-5":   "",
		"loss = 0.99":        "",
	} {
		s, err := Parse("s.toml", []byte(head+line+"\n"))
		if want != "" {
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: %v, want %s", line, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if r, err := s.Play(t.Context(), "random", 1); err != nil || r.Jobs != 10 || r.MeanWait <= 0 {
			t.Errorf("%s: %+v %v", line, r, err)
		}
	}
}

// TestDrawnJobs: a seed's jobs come in order, within the bounds that the scenario
// has, ask for its load, and are the same twice.
func TestDrawnJobs(t *testing.T) {
	for _, load := range []float64{0.1, 0.5, 2} {
		s := parsed(t, fmt.Sprintf("[jobs]\ncount = 500\nload = %g\nmax_procs = 8\nmax_run = \"2h\"\nestimate = 3.0\nusers = 7\n", load)+
			"[[site]]\nname = \"a\"\nprocs = 16\nspeed = 2.0\nhome = 3.0\n[[site]]\nname = \"b\"\nprocs = 32\n")
		for seed := range uint64(5) {
			jobs := drawn(t, s, seed)
			if !reflect.DeepEqual(jobs, drawn(t, s, seed)) || reflect.DeepEqual(jobs, drawn(t, s, seed+1)) {
				t.Fatalf("seed %d: drawn twice they differ, or two seeds do not", seed)
			}
			area, homes := 0.0, [2]int{}
			for i, j := range jobs {
				if j.procs < 1 || j.procs > 8 || j.run < 1 || j.run > 7200 || j.limit < 60 || j.limit > 3*7200 || j.user < 0 || j.user > 6 {
					t.Fatalf("seed %d: %+v", seed, j)
				}
				if i > 0 && j.submit < jobs[i-1].submit {
					t.Fatalf("seed %d: job %d comes before the one before it", seed, i)
				}
				area += float64(j.run) * float64(j.procs)
				homes[j.home]++
			}
			span := float64(jobs[len(jobs)-1].submit - jobs[0].submit)
			if got := area / span / (16*2 + 32); math.Abs(got-load) > 0.01*load {
				t.Errorf("seed %d: they ask for %.3f of the grid, want %g", seed, got, load)
			}
			if share := float64(homes[0]) / 500; math.Abs(share-0.75) > 0.1 {
				t.Errorf("seed %d: %.2f of the users are at home at the site of three quarters", seed, share)
			}
		}
	}
}

// TestAlarms: whoever has the earliest time is due, each once, by the last time
// that he asked for; equal times in the order of the numbers.
func TestAlarms(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var a alarms
	want := map[int]int64{}
	for range 20 {
		a.add()
	}
	if _, ok := a.due(math.MaxInt64 - 1); ok || a.next() != never {
		t.Fatal("due before anybody asked")
	}
	for range 500 {
		who, at := rng.IntN(20), rng.Int64N(15)
		if a.set(who, at); rng.IntN(5) == 0 {
			a.set(who, never)
			at = never
		}
		if delete(want, who); at != never {
			want[who] = at
		}
	}
	var times []int64
	for _, at := range want {
		times = append(times, at)
	}
	slices.Sort(times)
	lastAt, lastWho := int64(-1), -1
	for _, at := range times {
		if a.next() != at {
			t.Fatalf("next at %d, want %d", a.next(), at)
		}
		if _, ok := a.due(at - 1); ok {
			t.Fatal("due before its time")
		}
		who, ok := a.due(at)
		if !ok || want[who] != at || at == lastAt && who < lastWho {
			t.Fatalf("%d is due at %d (%v), who asked for %d", who, at, ok, want[who])
		}
		lastAt, lastWho = at, who
	}
	if who, ok := a.due(never); ok {
		t.Errorf("%d is due once more", who)
	}
}

// TestSpeeds: a job takes no less than a second anywhere, and half of its time at
// twice the speed.
func TestSpeeds(t *testing.T) {
	for _, c := range []struct {
		run, limit int64
		speed      float64
		want       [2]time.Duration
	}{
		{100, 300, 1, [2]time.Duration{100 * time.Second, 300 * time.Second}},
		{100, 300, 2, [2]time.Duration{50 * time.Second, 150 * time.Second}},
		{100, 300, 0.5, [2]time.Duration{200 * time.Second, 600 * time.Second}},
		{1, 60, 100, [2]time.Duration{time.Second, time.Second}},
	} {
		run, limit := (&job{run: c.run, limit: c.limit}).at(c.speed)
		if run != c.want[0] || limit != c.want[1] {
			t.Errorf("%d s of %d at speed %g: %v of %v, want %v", c.run, c.limit, c.speed, run, limit, c.want)
		}
	}
}

// loaded is the scenario in a file.
func loaded(file string) (*Scenario, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return Load(file, in)
}
