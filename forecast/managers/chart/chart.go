// Package chart draws trees of managers, simulated and real ones.
package chart

import (
	_ "embed" // the drawing's text
	"fmt"
	"html/template"
	"strconv"
	"strings"
)

//go:embed chart.html
var text string

// Parse reads a page that shows drawings: in it {{template "chart" .}} is a Drawing, {{template "style"}} what goes with it.
func Parse(page string) (*template.Template, error) {
	t, err := template.New("page").Parse(text)
	if err != nil {
		return nil, err
	}
	return t.Parse(page)
}

// Manager is one manager of a tree.
type Manager struct {
	Name   string // short, beside it
	Text   string // its state
	Parent int    // number of the manager above it, -1 for none
	System bool   // else it is a domain's
	Dead   bool
	Marked bool
}

// Drawing is a tree as it is drawn.
type Drawing struct {
	Label         string // what it shows, for who cannot see it
	Spots         []Spot
	Links, Moves  []Edge
	Width, Height float64
	Folded        bool // not all of it is drawn
}

// Spot is a manager in the drawing.
type Spot struct {
	Manager
	X, Y  float64
	Drawn bool
	Below string // what is below it and not drawn
}

// Edge is a link of the drawing, or a step over one.
type Edge struct {
	X1, Y1, X2, Y2 float64
	Text           string // numbers of the steps
}

// drawnWhole is how many systems a tree has at most that is drawn whole.
const drawnWhole = 32

// Draw places the managers: systems side by side at the bottom, every domain over the
// middle of its own. Of a large tree domains without marked managers are drawn without
// what is below them.
func Draw(label string, list []Manager) *Drawing {
	d := placing{spots: make([]Spot, len(list)), children: make([][]int, len(list)), below: make([]int, len(list)), near: make([]bool, len(list))}
	for i, m := range list {
		d.spots[i].Manager = m
		if m.Parent >= 0 {
			d.children[m.Parent] = append(d.children[m.Parent], i)
		}
	}
	for i, m := range list {
		if m.Parent < 0 {
			d.count(i)
			d.systems += d.below[i]
		}
	}
	for i, m := range list {
		if m.Parent < 0 {
			d.place(i, 0)
		}
	}
	out := &Drawing{Label: label, Spots: d.spots, Width: 2*edgeX + across*float64(max(0, d.column-1)), Height: 2*edgeY + down*float64(d.deepest)}
	for _, s := range d.spots {
		out.Folded = out.Folded || s.Below != ""
		if s.Parent >= 0 && s.Drawn {
			p := d.spots[s.Parent]
			out.Links = append(out.Links, Edge{X1: s.X, Y1: s.Y, X2: p.X, Y2: p.Y})
		}
	}
	return out
}

// Hop is a job's step from one manager to another, by their numbers.
type Hop struct{ From, To int }

// Go draws a job's way: the links that it went over, each with the numbers of its steps. Steps that lead nowhere (To
// below 0) count, and are not drawn.
func (d *Drawing) Go(way []Hop) {
	at := map[Hop]int{}
	for i, h := range way {
		if h.To < 0 {
			continue
		}
		k, known := at[h]
		if !known {
			a, b := d.Spots[h.From], d.Spots[h.To]
			k = len(d.Moves)
			at[h] = k
			side := 4.0 // to and fro do not cover each other
			if a.Y < b.Y {
				side = -4
			}
			d.Moves = append(d.Moves, Edge{X1: a.X + side, Y1: a.Y, X2: b.X + side, Y2: b.Y})
		}
		if n := len(d.Moves[k].Text); n < 12 {
			d.Moves[k].Text = strings.TrimSpace(d.Moves[k].Text + " " + strconv.Itoa(i+1))
		} else if !strings.HasSuffix(d.Moves[k].Text, "…") {
			d.Moves[k].Text += " …"
		}
	}
}

// Distances in a drawing.
const across, down, edgeX, edgeY = 34.0, 74.0, 40.0, 34.0

// placing places managers one after the other.
type placing struct {
	spots                    []Spot
	children                 [][]int
	below                    []int  // how many systems there are from each on
	near                     []bool // whether it is marked, or one below
	systems, column, deepest int
}

// count fills in what is below a manager.
func (d *placing) count(i int) {
	d.near[i] = d.spots[i].Marked
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
func (d *placing) place(i, depth int) {
	s, children := &d.spots[i], d.children[i]
	d.deepest = max(d.deepest, depth)
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
