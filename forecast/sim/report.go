package sim

import (
	_ "embed" // the report's page
	"encoding/csv"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed report.html
var reportPage string

// Column is a figure as tables show it.
type Column struct {
	Name, Title string
	Percent     bool
	Lower       bool // is better
}

// Columns lists the figures of tables.
func Columns() []Column {
	return []Column{
		{"wait_mean", "mean wait s", false, true}, {"wait_median", "median s", false, true}, {"wait_p95", "p95 s", false, true},
		{"bounded_slowdown_mean", "slowdown", false, true}, {"completion_mean", "completion s", false, true},
		{"utilisation", "used %", true, false}, {"local_wait_mean", "local wait s", false, true}, {"fairness", "fair %", true, false},
		{"messages", "messages", false, true},
	}
}

// Rare lists figures that tables show where some policy has them.
func Rare() []Column {
	return []Column{
		{"unplaced", "unplaced", false, true}, {"failed", "failed", false, true}, {"again", "sent again", false, true},
		{"moved", "moved", false, true}, {"missed", "missed %", true, true},
	}
}

// Shown are the columns of a result's tables.
func (r *Result) Shown() []Column {
	list := Columns()
	for _, c := range Rare() {
		for _, p := range r.Policies {
			if p.Figures[c.Name].Mean != 0 {
				list = append(list, c)
				break
			}
		}
	}
	return list
}

// Text writes a value of the column.
func (c Column) Text(x float64) string {
	if c.Percent {
		x *= 100
	}
	if math.Abs(x) < 100 {
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'f', 0, 64)
}

// HalfText writes half of an interval of the column; "" where one seed tells none.
func (r *Result) HalfText(c Column, half float64) string {
	if r.Scenario.Seeds == 1 {
		return ""
	}
	return c.Text(half)
}

// WriteCSV writes one line for each policy and figure.
func (r *Result) WriteCSV(out io.Writer) error {
	w := csv.NewWriter(out)
	if err := w.Write([]string{"policy", "figure", "mean", "half_interval", "difference", "difference_half_interval"}); err != nil {
		return err
	}
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 8, 64) }
	for _, p := range r.Policies {
		for _, name := range slices.Sorted(maps.Keys(p.Figures)) {
			f := p.Figures[name]
			if err := w.Write([]string{p.Policy, name, number(f.Mean), number(f.Half), number(f.Diff), number(f.DiffHalf)}); err != nil {
				return err
			}
		}
	}
	w.Flush()
	return w.Error()
}

type cellView struct{ Mean, Half, Diff, DiffHalf, Class string }

type rowView struct {
	Policy string
	Cells  []cellView
}

type plotView struct{ Policy, First, Base, Line string }

// WriteHTML writes a report that is one file and needs nothing else.
func (r *Result) WriteHTML(out io.Writer) error {
	page, err := template.New("report").Funcs(template.FuncMap{
		"lane": func(i int) int { return 60 * i }, "minus": func(x, w float64) float64 { return max(0, x-w) },
		"spoken": spoken, "counted": counted,
	}).Parse(reportPage)
	if err != nil {
		return err
	}
	most := r.longestWait()
	var rows []rowView
	var plots []plotView
	for i, p := range r.Policies {
		rows = append(rows, rowView{p.Policy, r.cells(p, i)})
		plots = append(plots, plotView{
			p.Policy, r.Policies[0].Policy, polyline(r.Policies[0].ECDF, most), polyline(p.ECDF, most),
		})
	}
	return page.Execute(out, map[string]any{
		"Scenario": r.Scenario, "Policies": r.Policies, "Columns": r.Shown(), "Rows": rows, "Plots": plots,
		"Classes": r.byClass(), "Gantts": r.gantts(), "Waits": waitTicks(most), "Left": r.Scenario.Left(),
	})
}

// counted writes a number of things.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// spoken writes a length of time as people say it: 1 h 30 min.
func spoken(d Duration) string {
	var parts []string
	left := d.Duration
	for _, u := range []struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}} {
		if n := left / u.length; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, u.name))
			left -= n * u.length
		}
	}
	if left > 0 || len(parts) == 0 {
		parts = append(parts, fmt.Sprintf("%g s", left.Seconds()))
	}
	return strings.Join(parts, " ")
}

// cells are a policy's figures and their differences to those of the first one. Where it
// leaves jobs undone no figure of those that ran is called better.
func (r *Result) cells(p Compared, at int) (list []cellView) {
	for _, c := range r.Shown() {
		f := p.Figures[c.Name]
		v := cellView{Mean: c.Text(f.Mean), Half: r.HalfText(c, f.Half)}
		if at > 0 {
			v.Diff, v.DiffHalf = c.Text(f.Diff), r.HalfText(c, f.DiffHalf)
			if f.Significant() {
				if v.Class = "worse"; (f.Diff < 0) == c.Lower {
					v.Class = "better"
				}
				if v.Class == "better" && r.Undone(at) {
					v.Class = ""
				}
			}
		}
		list = append(list, v)
	}
	return list
}

// waitTicks are marks on the logarithmic scale of waits from 1 s to most, far enough apart to be read.
func waitTicks(most float64) (ticks []tickView) {
	for _, t := range []tickView{{1, "1 s"}, {60, "1 min"}, {3600, "1 h"}, {24 * 3600, "1 d"}, {30 * 24 * 3600, "30 d"}, {365 * 24 * 3600, "1 y"}} {
		if t.At <= most {
			ticks = append(ticks, tickView{onScale(t.At, most), t.Text})
		}
	}
	return ticks
}

// onScale is the place of a wait on the scale from 1 s to most.
func onScale(wait, most float64) float64 { return 30 + 220*math.Log(max(1, wait))/math.Log(most) }

// polyline draws a distribution of waits over a logarithmic scale from 1 s to most.
func polyline(points [][2]float64, most float64) string {
	var b strings.Builder
	for _, p := range points {
		fmt.Fprintf(&b, "%.1f,%.1f ", onScale(p[0], most), 130-120*p[1])
	}
	return b.String()
}
