package cli

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"gridbroker/batch"
)

// figures are what grid sim queue draws of its runs.
type figures struct {
	trace  string
	load   float64
	format string
	size   figureSize
	runs   []*queueRun
}

// title says what a figure is of.
func (f figures) title(what string) string {
	s := fmt.Sprintf("%s: %s", what, filepath.Base(f.trace))
	if f.load != 1 {
		s += fmt.Sprintf(", load × %g", f.load)
	}
	if len(f.runs) == 1 {
		s += ", " + f.runs[0].Policy
	}
	return s
}

func (f figures) names() (list []string) {
	for _, r := range f.runs {
		list = append(list, r.Policy)
	}
	return list
}

// save draws four figures into a directory: the distribution of waits, of all
// jobs and by width, utilisation over time, and the policies side by side.
func (f figures) save(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, figure := range []struct {
		name, title string
		names       []string
		draw        func() ([][]*plot.Plot, error)
	}{
		{"waits", "Waits", f.names(), f.waits}, {"widths", "Waits by processors, share of jobs that waited no longer", f.names(), f.widths},
		{"utilisation", "Utilisation", nil, f.utilisation}, {"policies", "Mean and 95th percentile of the wait", nil, f.policies},
	} {
		grid, err := figure.draw()
		if err == nil {
			err = saveFigure(filepath.Join(dir, figure.name+"."+f.format), f.format, f.size, f.title(figure.title), figure.names, grid)
		}
		if err != nil {
			return fmt.Errorf("figure %s: %w", figure.name, err)
		}
	}
	return nil
}

// waits draws the share of the jobs that waited no longer than x.
func (f figures) waits() ([][]*plot.Plot, error) {
	var curves []curve
	for _, r := range f.runs {
		curves = append(curves, curve{r.Policy, distribution(r.summary.Waits())})
	}
	p, err := ecdf("", curves, f.longest())
	return [][]*plot.Plot{{p}}, err
}

// longest is the longest wait of all runs.
func (f figures) longest() float64 {
	most := 60.0
	for _, r := range f.runs {
		most = math.Max(most, float64(r.All.MaxWait))
	}
	return most
}

// widths draws the same by width, a small figure each.
func (f figures) widths() ([][]*plot.Plot, error) {
	classes := f.runs[0].Classes
	columns := int(math.Ceil(math.Sqrt(float64(len(classes)))))
	grid := make([][]*plot.Plot, (len(classes)+columns-1)/columns)
	for i := range grid {
		grid[i] = make([]*plot.Plot, columns)
	}
	for i, c := range classes {
		var curves []curve
		for _, r := range f.runs {
			curves = append(curves, curve{r.Policy, distribution(r.summary.WaitsOf(c.Name))})
		}
		p, err := ecdf(widthTitle(c), curves, f.longest())
		if err != nil {
			return nil, err
		}
		if p.Y.Label.Text = ""; i%columns == 0 {
			p.Y.Label.Text = "share of jobs"
		}
		if i+columns < len(classes) {
			p.X.Label.Text = ""
		}
		grid[i/columns][i%columns] = p
	}
	return grid, nil
}

func widthTitle(c batch.Class) string {
	if c.Name == "1" {
		return "1 processor (" + counted(c.Jobs, "job") + ")"
	}
	return c.Name + " processors (" + counted(c.Jobs, "job") + ")"
}

// distribution is the share of waits of at most x, in up to 400 points; waits
// of less than a second stand at one second.
func distribution(waits []int64) (xy plotter.XYs) {
	const points = 400
	for k := range points + 1 {
		if len(waits) == 0 {
			break
		}
		at := k * (len(waits) - 1) / points
		xy = append(xy, plotter.XY{X: math.Max(1, float64(waits[at])), Y: float64(at+1) / float64(len(waits))})
	}
	return xy
}

func ecdf(title string, curves []curve, longest float64) (*plot.Plot, error) {
	p := newFigure(title, "wait", "share of jobs that waited no longer")
	p.Title.TextStyle.Font.Size = vg.Points(10)
	p.X.Scale, p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogScale{}, durations{}, shares{4}
	err := addCurves(p, curves)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 1, longest*1.2, 0, 1.02
	return p, err
}

// utilisation draws the mean of each of up to 200 stretches, a small figure for
// each policy.
func (f figures) utilisation() ([][]*plot.Plot, error) {
	longest := int64(1)
	for _, r := range f.runs {
		longest = max(longest, r.Makespan)
	}
	unit, name := 60.0, "minutes"
	switch {
	case longest >= 3*86400:
		unit, name = 86400, "days"
	case longest >= 3*3600:
		unit, name = 3600, "hours"
	}
	var grid [][]*plot.Plot
	for i, r := range f.runs {
		p := newFigure(fmt.Sprintf("%s: %.1f %% in all", r.Policy, 100*r.Utilisation), "", "")
		p.Title.TextStyle.Font.Size = vg.Points(10)
		p.Y.Tick.Marker = shares{1}
		if i < len(f.runs)-1 {
			p.HideX()
		}
		if xy := stretches(r.summary.Hourly(), float64(r.Makespan), unit); len(xy) > 0 {
			line, err := plotter.NewLine(xy)
			if err != nil {
				return nil, err
			}
			line.Color, line.FillColor, line.Width = palette(i), palette(i), vg.Points(0.5)
			line.StepStyle = plotter.PostStep
			p.Add(line)
		}
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, float64(longest)/unit, 0, 1.02
		grid = append(grid, []*plot.Plot{p})
	}
	grid[len(grid)-1][0].X.Label.Text = name + " since the first submission"
	return grid, nil
}

// stretches are the means of up to 200 stretches of hours, until the end in
// seconds, where the last one is cut.
func stretches(hourly []float64, end, unit float64) (xy plotter.XYs) {
	stretch := max(1, (len(hourly)+199)/200)
	for at := 0; at < len(hourly) && 3600*float64(at) < end; at += stretch {
		used := 0.0
		for _, u := range hourly[at:min(at+stretch, len(hourly))] {
			used += 3600 * u
		}
		from := 3600 * float64(at)
		xy = append(xy, plotter.XY{X: from / unit, Y: used / math.Min(3600*float64(stretch), end-from)})
	}
	if n := len(xy); n > 0 {
		xy = append(xy, plotter.XY{X: end / unit, Y: xy[n-1].Y})
	}
	return xy
}

// policies draws mean and 95th percentile of the wait, with their values.
func (f figures) policies() ([][]*plot.Plot, error) {
	var row []*plot.Plot
	for k, what := range []struct {
		name  string
		value func(batch.Class) float64
	}{
		{"mean", func(c batch.Class) float64 { return c.MeanWait }},
		{"95th percentile", func(c batch.Class) float64 { return c.P95Wait }},
	} {
		p := newFigure(what.name, "", "")
		p.Title.TextStyle.Font.Size = vg.Points(10)
		most := 0.0
		for i, r := range f.runs {
			v := what.value(r.All)
			most = math.Max(most, v)
			if err := bar(p, i, len(f.runs)-1-i, v); err != nil {
				return nil, err
			}
		}
		names := f.names()
		slices.Reverse(names)
		p.NominalY(names...)
		p.Y.Min, p.Y.Max = -0.6, float64(len(f.runs))-0.4
		p.X.Min, p.X.Max = 0, math.Max(1, most*1.3)
		p.X.Tick.Marker = evenDurations{}
		if p.X.Label.Text = "wait"; k > 0 {
			p.HideY()
		}
		row = append(row, p)
	}
	return [][]*plot.Plot{row}, nil
}

// bar draws the bar of run i at a height, with its value beside it.
func bar(p *plot.Plot, i, height int, v float64) error {
	bars, err := plotter.NewBarChart(plotter.Values{v}, vg.Points(18))
	if err != nil {
		return err
	}
	bars.XMin, bars.Color, bars.LineStyle.Width, bars.Horizontal = float64(height), palette(i), 0, true
	labels, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: v, Y: float64(height)}}, Labels: []string{roughly(v)}})
	if err != nil {
		return err
	}
	sans(&labels.TextStyle[0], 9)
	labels.TextStyle[0].YAlign = draw.YCenter
	labels.Offset.X = vg.Points(4)
	p.Add(bars, labels)
	return nil
}

// evenDurations marks a linear axis of seconds in five steps or fewer.
type evenDurations struct{}

// Ticks implements plot.Ticker.
func (evenDurations) Ticks(_, most float64) (list []plot.Tick) {
	step := 1.0
	for _, s := range []float64{1, 5, 15, 60, 300, 900, 3600, 2 * 3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400, 4 * 86400, 7 * 86400, 14 * 86400, 30 * 86400, 90 * 86400, 365 * 86400} {
		if step = s; most/s <= 5 {
			break
		}
	}
	for v := 0.0; v <= most && len(list) < 50; v += step {
		list = append(list, plot.Tick{Value: v, Label: roughly(v)})
	}
	return list
}

// roughly writes a length of time as people say it.
func roughly(s float64) string {
	switch {
	case s == 0:
		return "0"
	case s < 60:
		return fmt.Sprintf("%.3g s", s)
	case s < 3600:
		return fmt.Sprintf("%.3g min", s/60)
	case s < 86400:
		return fmt.Sprintf("%.3g h", s/3600)
	}
	return fmt.Sprintf("%.3g d", s/86400)
}
