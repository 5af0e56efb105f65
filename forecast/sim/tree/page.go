package tree

import (
	_ "embed" // the page
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"gridbroker/forecast/managers/chart"
)

//go:embed page.html
var pageText string

// stepView is a line of the job's way.
type stepView struct {
	Number   int
	At       string
	Text     string
	Manager  string
	Duration string // until the next
}

// rowView is a line of the tables.
type rowView struct {
	Name, Above, Free, Waiting string
	OnWay                      bool
	Rows                       []string
}

// WriteHTML writes the view as one page that needs nothing else.
func (v *View) WriteHTML(out io.Writer) error {
	page, err := chart.Parse(pageText)
	if err != nil {
		return err
	}
	drawing := v.drawing()
	return page.Execute(out, map[string]any{
		"View": v, "At": units(v.At), "Run": units(v.Job.Run), "Latency": units(v.Config.Latency), "Home": v.Managers[v.Job.Home].Name,
		"Drawing": drawing, "Steps": v.steps(), "Tables": v.tables(drawing.Spots),
	})
}

func units(ticks int64) string {
	return strconv.FormatFloat(float64(ticks)/TicksPerUnit, 'f', 1, 64)
}

// drawing is the tree with the job's way.
func (v *View) drawing() *chart.Drawing {
	d := chart.Draw(fmt.Sprintf("the tree of managers and the way of job %d", v.Job.ID), v.shown())
	way := make([]chart.Hop, len(v.Way))
	for i, st := range v.Way {
		way[i] = chart.Hop{From: st.Manager, To: st.To}
	}
	d.Go(way)
	return d
}

// shown are the managers as they are drawn.
func (v *View) shown() []chart.Manager {
	spots := make([]chart.Manager, len(v.Managers))
	for i, m := range v.Managers {
		spots[i] = chart.Manager{Name: m.Name, Parent: m.Parent, System: m.System, Dead: m.Dead, Text: fmt.Sprintf("%s: %d wait", m.Name, m.Waiting)}
		if m.System {
			spots[i].Text = fmt.Sprintf("%s: %d of %d nodes free, %d wait", m.Name, m.Free, m.Nodes, m.Waiting)
		}
	}
	for _, st := range v.Way {
		spots[st.Manager].Marked = true
	}
	return spots
}

func (v *View) steps() (list []stepView) {
	for i, st := range v.Way {
		s := stepView{Number: i + 1, At: units(st.At), Manager: v.Managers[st.Manager].Name, Text: st.What}
		if st.To >= 0 {
			s.Text += " to " + v.Managers[st.To].Name
		}
		if i+1 < len(v.Way) {
			s.Duration = units(v.Way[i+1].At - st.At)
		}
		list = append(list, s)
	}
	return list
}

func (v *View) tables(spots []chart.Spot) (list []rowView) {
	for i, m := range v.Managers {
		r := rowView{Name: m.Name, Waiting: strconv.Itoa(m.Waiting), OnWay: spots[i].Marked}
		if m.System {
			r.Free = fmt.Sprintf("%d of %d", m.Free, m.Nodes)
		}
		if m.Parent >= 0 {
			r.Above = v.Managers[m.Parent].Name
		}
		for _, row := range m.Rows {
			free := strings.Trim(fmt.Sprint(row.Free), "[]")
			if free == "" {
				free = "none"
			}
			r.Rows = append(r.Rows, v.Managers[row.Neighbour].Name+": "+free)
		}
		list = append(list, r)
	}
	slices.SortStableFunc(list, func(a, b rowView) int { // those on the way first
		switch {
		case a.OnWay && !b.OnWay:
			return -1
		case b.OnWay && !a.OnWay:
			return 1
		}
		return 0
	})
	return list
}
