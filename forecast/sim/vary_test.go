package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
)

// One value changes, the scenario that it came from does not, and a value that
// makes no sense is refused by name.
func TestWith(t *testing.T) {
	s := scenario(t, "hybrid.toml")
	before, _ := json.Marshal(s)
	for key, check := range map[string]func(*Scenario) bool{
		"load=0.7":       func(c *Scenario) bool { return c.Jobs.Load == 0.7 },
		"estimate=3":     func(c *Scenario) bool { return c.Jobs.Estimate == 3 },
		"refresh=2h":     func(c *Scenario) bool { return c.Sites[2].Refresh.Hours() == 2 },
		"local-load=0.1": func(c *Scenario) bool { return c.Sites[0].LocalLoad == 0.1 && c.Sites[2].LocalLoad == 0.1 },
		"spread=4": func(c *Scenario) bool {
			return c.Sites[0].Speed == 0.5 && c.Sites[1].Speed == 1 && c.Sites[2].Speed == 2
		},
		"max-procs=4": func(c *Scenario) bool { return c.Jobs.MaxProcs == 4 },
		"loss=0.1":    func(c *Scenario) bool { return c.Network.Loss == 0.1 },
	} {
		name, value, _ := strings.Cut(key, "=")
		if c, err := s.With(name, value); err != nil || !check(c) {
			t.Errorf("%s: %v", key, err)
		}
	}
	if after, _ := json.Marshal(s); !bytes.Equal(before, after) {
		t.Error("the scenario itself has changed")
	}
	for _, bad := range [][2]string{{"load", "x"}, {"load", "-1"}, {"load", "NaN"}, {"refresh", "soon"}, {"spread", "0.5"}, {"colour", "red"}, {"max-procs", "1.5"}} {
		var field *FieldError
		if _, err := s.With(bad[0], bad[1]); !errors.As(err, &field) {
			t.Errorf("%s=%s: %v", bad[0], bad[1], err)
		}
	}
}

// The winner is who waits least by more than the seeds differ; the oracle takes no part.
func TestWinner(t *testing.T) {
	s := &Scenario{Policies: []string{"a", "b", Oracle}, Seeds: 3}
	waits := map[string][]float64{"a": {100, 200, 300}, "b": {90, 191, 289}, Oracle: {1, 1, 1}}
	result := func() *Result {
		var runs []*Run
		for _, p := range s.Policies {
			for _, w := range waits[p] {
				runs = append(runs, &Run{Policy: p, MeanWait: w})
			}
		}
		return s.summarise(runs)
	}
	if w := result().Winner(); w != (Winner{"b", true, "a"}) {
		t.Errorf("%+v: b waits 9 to 11 seconds less on the same jobs", w)
	}
	waits["b"] = []float64{90, 260, 200}
	if w := result().Winner(); w != (Winner{"b", false, "a"}) {
		t.Errorf("%+v: b is less by chance", w)
	}
}

// Who leaves many jobs undone has the least wait of those that ran, and does not win by that.
func TestWinnerRunsTheJobs(t *testing.T) {
	s := &Scenario{Policies: []string{"a", "b", "c"}, Seeds: 1}
	for undone, want := range []string{"b", "b", "a"} {
		r := s.summarise([]*Run{
			{Policy: "a", Jobs: 100, MeanWait: 100, Classes: []Class{{classes[0].name, 9, 100, 1}}},
			{Policy: "b", MeanWait: 50, Failed: 1, Unplaced: undone - 1, Classes: []Class{{classes[0].name, 9, 50, 1}}},
			{Policy: "c", Jobs: 100, MeanWait: 300, Classes: []Class{{classes[0].name, 9, 300, 1}}},
		}) // of a trace, whose jobs the scenario does not count
		if w := r.Winner(); w.Policy != want {
			t.Errorf("%d undone: %+v", undone, w)
		}
		if rows := r.byClass(); len(rows) != 1 || rows[0].Cells[0].Best != (want == "a") || rows[0].Cells[1].Best != (want == "b") {
			t.Errorf("%d undone: %+v", undone, rows)
		}
		r.Policies[1].Figures["wait_mean"] = Figure{Mean: 50, Diff: -50, DiffHalf: 1}
		if class := r.cells(r.Policies[1], 1)[0].Class; (class == "better") != (want == "b") || class == "worse" {
			t.Errorf("%d undone: the wait of those that ran is %q", undone, class)
		}
	}
}

// A variation plays every value with the same seeds; its report is whole and well-formed.
func TestVary(t *testing.T) {
	s := scenario(t, "hybrid.toml")
	s.Policies, s.Seeds, s.Jobs.Count, s.Name = []string{"random", "hybrid"}, 2, 60, "a < b"
	plain := func(*Scenario, string) (Options, error) { return Options{Parallel: 2}, nil }
	v, err := s.Vary(context.Background(), "load", []string{"0.2", "0.8"}, plain)
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Points) != 2 || v.Points[1].Result.Scenario.Jobs.Load != 0.8 || v.Points[0].Winner.Policy == "" {
		t.Errorf("%+v", v)
	}
	var page bytes.Buffer
	if err := v.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	if n := strings.Count(text, "<polyline"); n != 2+2*4 {
		t.Errorf("%d lines drawn, want one per policy and two in each of four small pictures", n)
	}
	if strings.Contains(text, "a < b") || strings.Contains(text, "NaN") || strings.Contains(text, "Inf") || strings.Contains(text, "ZgotmplZ") {
		t.Error("unescaped text or no number in the page")
	}
	for _, picture := range regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(text, -1) {
		svg := xml.NewDecoder(strings.NewReader(picture))
		for {
			if _, err := svg.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err, picture)
			}
		}
	}
}
