package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"gonum.org/v1/plot/plotter"

	"gridbroker/batch"
)

// TestStretches: a replay of two minutes is drawn to its end, and the last hour, which is cut, at what was used of it.
func TestStretches(t *testing.T) {
	for _, c := range []struct {
		hourly    []float64
		end, unit float64
		want      plotter.XYs
	}{
		{nil, 0, 60, nil},
		{[]float64{0.025}, 120, 60, plotter.XYs{{X: 0, Y: 0.75}, {X: 2, Y: 0.75}}},
		{[]float64{1, 0.25}, 5400, 3600, plotter.XYs{{X: 0, Y: 1}, {X: 1, Y: 0.5}, {X: 1.5, Y: 0.5}}},
		{slices.Repeat([]float64{0.5}, 401), 401 * 3600, 3600, nil},
	} {
		got := stretches(c.hourly, c.end, c.unit)
		if len(c.hourly) > 200 {
			if n := len(got); n > 201 || got[n-1].X != 401 || got[n-1].Y != 0.5 {
				t.Errorf("%d stretches that end with %v", n, got[n-1])
			}
			continue
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v until %g: %v, want %v", c.hourly, c.end, got, c.want)
		}
	}
}

// TestPanelsKeepApart: the small figures of six policies lie below each other, whatever the size asked for.
func TestPanelsKeepApart(t *testing.T) {
	f := figures{trace: "t.swf", load: 1, format: "svg", size: figureSize{8, 6}}
	dir := drawn(t, &f, []string{"fcfs", "easy", "conservative", "easy-sjbf", "maui", "slurm"})
	svg, err := os.ReadFile(filepath.Join(dir, "utilisation.svg"))
	if err != nil {
		t.Fatal(err)
	}
	var ys []float64
	for _, m := range regexp.MustCompile(`y="(-?[0-9.]+)"[^>]*>[a-z-]+: 50.0 % in all`).FindAllSubmatch(svg, -1) {
		y, _ := strconv.ParseFloat(string(m[1]), 64)
		ys = append(ys, y)
	}
	if len(ys) != 6 {
		t.Fatalf("%d titles in\n%s", len(ys), svg)
	}
	step := ys[1] - ys[0]
	for i := 1; i < len(ys); i++ {
		if between := ys[i] - ys[i-1]; step < 30 || between < 0.9*step {
			t.Errorf("the titles are at %v", ys)
		}
	}
}

// TestTextsFit: each text of a figure has the width that was left for it, in whatever font it is shown, and that is
// within the figure: a title that is long, too.
func TestTextsFit(t *testing.T) {
	f := figures{trace: "a-trace-of-a-cluster-with-a-long-name-1996-2.1-cln.swf.gz", load: 0.8, format: "svg", size: figureSize{12, 9}}
	dir := drawn(t, &f, []string{"conservative", "m&m <i>"})
	for _, name := range []string{"waits", "widths", "utilisation", "policies"} {
		svg, err := os.ReadFile(filepath.Join(dir, name+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		number := func(pattern string, in []byte) float64 {
			m := regexp.MustCompile(pattern).FindSubmatch(in)
			if m == nil {
				t.Fatalf("%s: no %s in %s", name, pattern, in)
			}
			v, err := strconv.ParseFloat(string(m[1]), 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		width := number(`<svg width="([0-9.]+)pt"`, svg) / number(`<g transform="scale\(([0-9.]+),`, svg[bytes.Index(svg, []byte("translate")):])
		texts := regexp.MustCompile(`<text[^>]*>[^<]*</text>`).FindAll(svg, -1)
		if len(texts) < 8 {
			t.Errorf("%s: %d texts", name, len(texts))
		}
		for _, text := range texts {
			if bytes.Contains(text, []byte("rotate")) {
				continue
			}
			if long := number(`textLength="([0-9.]+)"`, text); number(` x="(-?[0-9.]+)"`, text)+long > width+1 {
				t.Errorf("%s: of %.0f points: %s", name, width, text)
			}
		}
	}
}

// drawn is the directory with the figures of policies under which one and the same job ran.
func drawn(t *testing.T, f *figures, policies []string) (dir string) {
	t.Helper()
	for _, name := range policies {
		s := batch.NewSummary(4)
		s.Add(batch.Start{Task: batch.Task{ID: 1, Run: 90, Limit: 90, Procs: 2}})
		f.runs = append(f.runs, &queueRun{Policy: name, Makespan: s.Makespan(), Utilisation: s.Utilisation(), All: s.Total(), Classes: s.Classes(), summary: s})
	}
	dir = t.TempDir()
	if err := f.save(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}
