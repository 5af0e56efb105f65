package cli

import (
	"fmt"
	"math"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// plotRuns draws three figures into a directory: the distribution of waits,
// utilisation over time, and the policies side by side.
func plotRuns(dir, format string, runs []*queueRun) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, figure := range []struct {
		name string
		draw func([]*queueRun) (*plot.Plot, error)
	}{
		{"waits", plotWaits}, {"utilisation", plotUtilisation}, {"policies", plotPolicies},
	} {
		p, err := figure.draw(runs)
		if err != nil {
			return fmt.Errorf("figure %s: %w", figure.name, err)
		}
		if err := p.Save(18*vg.Centimeter, 11*vg.Centimeter, filepath.Join(dir, figure.name+"."+format)); err != nil {
			return err
		}
	}
	return nil
}

// plotWaits draws the part of the jobs that waited no longer than x.
func plotWaits(runs []*queueRun) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = "Waits", "wait (s, one second or less at the left)", "part of the jobs"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Legend.Left, p.Legend.Top = true, true
	for i, r := range runs {
		waits := r.summary.Waits()
		var xy plotter.XYs
		const points = 400
		for k := range points + 1 {
			at := k * (len(waits) - 1) / points
			xy = append(xy, plotter.XY{X: math.Max(1, float64(waits[at])), Y: float64(at+1) / float64(len(waits))})
		}
		if err := addLine(p, i, r.Policy, xy); err != nil {
			return nil, err
		}
	}
	p.Add(plotter.NewGrid())
	return p, nil
}

// plotUtilisation draws the mean utilisation of each of up to 200 stretches.
func plotUtilisation(runs []*queueRun) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = "Utilisation", "days since the first submission", "part of the processors in use"
	p.Y.Min, p.Y.Max = 0, 1
	for i, r := range runs {
		hourly := r.summary.Hourly()
		stretch := max(1, len(hourly)/200)
		var xy plotter.XYs
		for at := 0; at+stretch <= len(hourly); at += stretch {
			sum := 0.0
			for _, u := range hourly[at : at+stretch] {
				sum += u
			}
			xy = append(xy, plotter.XY{X: float64(at) / 24, Y: sum / float64(stretch)})
		}
		if err := addLine(p, i, r.Policy, xy); err != nil {
			return nil, err
		}
	}
	p.Add(plotter.NewGrid())
	return p, nil
}

func addLine(p *plot.Plot, i int, name string, xy plotter.XYs) error {
	if len(xy) == 0 {
		return nil
	}
	line, err := plotter.NewLine(xy)
	if err != nil {
		return err
	}
	line.Color, line.Width = plotutil.Color(i), vg.Points(1.5)
	p.Add(line)
	p.Legend.Add(name, line)
	return nil
}

// plotPolicies draws mean and 95th percentile of the wait side by side.
func plotPolicies(runs []*queueRun) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.Y.Label.Text = "Policies", "wait (hours)"
	var mean, p95 plotter.Values
	var names []string
	for _, r := range runs {
		mean, p95 = append(mean, r.All.MeanWait/3600), append(p95, r.All.P95Wait/3600)
		names = append(names, r.Policy)
	}
	width := vg.Points(22)
	for i, set := range []struct {
		name   string
		values plotter.Values
	}{{"mean", mean}, {"95th percentile", p95}} {
		bars, err := plotter.NewBarChart(set.values, width)
		if err != nil {
			return nil, err
		}
		bars.Color, bars.Offset = plotutil.Color(i), width*vg.Length(2*i-1)/2
		p.Add(bars)
		p.Legend.Add(set.name, bars)
	}
	p.Legend.Top = true
	p.NominalX(names...)
	return p, nil
}
