package tree

import (
	_ "embed" // the page
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
)

//go:embed page.html
var pageText string

// spot is a manager in the drawing.
type spot struct {
	X, Y                float64
	Name, Text          string
	System, Dead, OnWay bool
	Drawn               bool
	Below               string // what is below it and not drawn
	Parent, depth       int
}

// edge is a link of the drawing, or a step of the job over one.
type edge struct {
	X1, Y1, X2, Y2 float64
	Text           string // numbers of the steps
}

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
	page, err := template.New("tree").Parse(pageText)
	if err != nil {
		return err
	}
	spots, width, height := v.spots()
	var links []edge
	for _, s := range spots {
		if s.Parent >= 0 && s.Drawn {
			p := spots[s.Parent]
			links = append(links, edge{X1: s.X, Y1: s.Y, X2: p.X, Y2: p.Y})
		}
	}
	return page.Execute(out, map[string]any{
		"View": v, "At": units(v.At), "Run": units(v.Job.Run), "Latency": units(v.Config.Latency), "Home": v.Managers[v.Job.Home].Name, "Width": width, "Height": height,
		"Folded": slices.ContainsFunc(spots, func(s spot) bool { return s.Below != "" }), "Spots": spots, "Links": links, "Moves": v.moves(spots), "Steps": v.steps(), "Tables": v.tables(spots),
	})
}

func units(ticks int64) string {
	return strconv.FormatFloat(float64(ticks)/TicksPerUnit, 'f', 1, 64)
}

// drawnWhole is how many systems a tree has at most that is drawn whole.
const drawnWhole = 32

// spots places the managers: systems side by side at the bottom, every domain over the
// middle of its own. Of a large tree domains that the job never came to are drawn without
// what is below them.
func (v *View) spots() (spots []spot, width, height float64) {
	spots = make([]spot, len(v.Managers))
	d := drawing{spots: spots, children: make([][]int, len(v.Managers)), below: make([]int, len(v.Managers)), near: make([]bool, len(v.Managers))}
	for _, st := range v.Way {
		spots[st.Manager].OnWay = true
	}
	for i, m := range v.Managers {
		s := spot{Name: m.Name, Parent: m.Parent, System: m.System, Dead: m.Dead, OnWay: spots[i].OnWay}
		s.Text = fmt.Sprintf("%s: %d wait", m.Name, m.Waiting)
		if m.System {
			s.Text = fmt.Sprintf("%s: %d of %d nodes free, %d wait", m.Name, m.Free, m.Nodes, m.Waiting)
		}
		spots[i] = s
		if m.Parent >= 0 {
			d.children[m.Parent] = append(d.children[m.Parent], i)
		}
	}
	for i, m := range v.Managers {
		if m.Parent < 0 {
			d.count(i)
			d.systems += d.below[i]
		}
	}
	for i, m := range v.Managers {
		if m.Parent < 0 {
			d.place(i, 0)
		}
	}
	return spots, 2*edgeX + across*float64(max(0, d.column-1)), 2*edgeY + down*float64(d.deepest)
}

// Distances in a drawing.
const across, down, edgeX, edgeY = 34.0, 74.0, 40.0, 34.0

// drawing places managers one after the other.
type drawing struct {
	spots                    []spot
	children                 [][]int
	below                    []int  // how many systems there are from each on
	near                     []bool // whether the job was there, or below
	systems, column, deepest int
}

// count fills in what is below a manager.
func (d *drawing) count(i int) {
	d.near[i] = d.spots[i].OnWay
	if d.spots[i].System {
		d.below[i] = 1
	}
	for _, c := range d.children[i] {
		d.count(c)
		d.below[i] += d.below[c]
		d.near[i] = d.near[i] || d.near[c]
	}
}

// place gives a manager and all below it their places.
func (d *drawing) place(i, depth int) {
	s, children := &d.spots[i], d.children[i]
	s.depth, d.deepest = depth, max(d.deepest, depth)
	s.Drawn, s.Y = true, edgeY+down*float64(depth)
	if len(children) > 0 && d.systems > drawnWhole && !d.near[i] {
		s.Below = fmt.Sprintf("(%d)", d.below[i])
		children = nil
	}
	for _, c := range children {
		d.place(c, depth+1)
	}
	if n := len(children); n > 0 {
		s.X = (d.spots[children[0]].X + d.spots[children[n-1]].X) / 2
		return
	}
	s.X = edgeX + across*float64(d.column)
	d.column++
}

// moves are the links that the job went over, each with the numbers of its steps.
func (v *View) moves(spots []spot) (list []edge) {
	at := map[[2]int]int{}
	for i, st := range v.Way {
		if st.To < 0 {
			continue
		}
		k, known := at[[2]int{st.Manager, st.To}]
		if !known {
			a, b := spots[st.Manager], spots[st.To]
			k = len(list)
			at[[2]int{st.Manager, st.To}] = k
			side := 4.0 // to and fro do not cover each other
			if a.Y < b.Y {
				side = -4
			}
			list = append(list, edge{X1: a.X + side, Y1: a.Y, X2: b.X + side, Y2: b.Y})
		}
		if n := len(list[k].Text); n < 12 {
			list[k].Text = strings.TrimSpace(list[k].Text + " " + strconv.Itoa(i+1))
		} else if !strings.HasSuffix(list[k].Text, "…") {
			list[k].Text += " …"
		}
	}
	return list
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

func (v *View) tables(spots []spot) (list []rowView) {
	for i, m := range v.Managers {
		r := rowView{Name: m.Name, Waiting: strconv.Itoa(m.Waiting), OnWay: spots[i].OnWay}
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
