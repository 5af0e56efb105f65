package sim

import (
	"cmp"
	_ "embed" // the page of a variation
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
)

//go:embed vary.html
var varyPage string

// curveView is one policy in the picture of waits by value: Name, shortened to the room there is, stands at
// At beside the end of its line.
type curveView struct {
	Policy, Name, Colour, Dashes, Line string
	At                                 float64
	Dots                               []dotView
}

// dotView is a mean with its interval.
type dotView struct {
	X, Y, Low, High float64
	Text            string
}

// tickView is a mark on an axis.
type tickView struct {
	At   float64
	Text string
}

// varyRow is one value in the table: each policy's wait, the winner's marked.
type varyRow struct {
	Value, Class string // Class is the winner's: better where it is sure, else least
	Cells        []varyCell
	Winner       Winner
}

type varyCell struct{ Mean, Half, Class string }

// smallView is the distribution of waits of one policy at one value.
type smallView struct{ Line, Base string }

// WriteHTML writes a report that is one file and needs nothing else.
func (v *Variation) WriteHTML(out io.Writer) error {
	page, err := template.New("vary").Funcs(template.FuncMap{"counted": counted, "last": func(d []dotView) dotView { return d[len(d)-1] }}).Parse(varyPage)
	if err != nil {
		return err
	}
	s := v.Points[0].Result.Scenario
	curves, ticks := v.curves()
	return page.Execute(out, map[string]any{
		"Scenario": s, "Key": v.Key, "Meaning": v.meaning(), "Rows": v.rows(), "Curves": curves, "Y": ticks, "X": v.values(),
		"Small": v.small(), "Policies": v.Points[0].Result.Policies, "Left": s.Left(),
	})
}

func (v *Variation) meaning() string {
	for _, k := range Keys() {
		if k[0] == v.Key {
			return k[1]
		}
	}
	return v.Key
}

func (v *Variation) rows() (rows []varyRow) {
	for _, p := range v.Points {
		row := varyRow{Value: p.Value, Class: "least", Winner: p.Winner}
		if p.Winner.Sure {
			row.Class = "better"
		}
		for _, c := range p.Result.Policies {
			f, class := c.Figures["wait_mean"], ""
			if c.Policy == p.Winner.Policy {
				class = row.Class
			}
			row.Cells = append(row.Cells, varyCell{Column{}.Text(f.Mean), p.Result.HalfText(Column{}, f.Half), class})
		}
		rows = append(rows, row)
	}
	return rows
}

// The picture of waits by value: its frame within the drawing.
const (
	varyLeft, varyRight = 70.0, 560.0
	varyTop, varyFoot   = 15.0, 315.0
)

func (v *Variation) x(i int) float64 {
	return varyLeft + 20 + (varyRight-varyLeft-40)*float64(i)/float64(max(1, len(v.Points)-1))
}

func (v *Variation) values() (ticks []tickView) {
	for i, p := range v.Points {
		ticks = append(ticks, tickView{v.x(i), p.Value})
	}
	return ticks
}

// curves draws every policy's mean wait with its interval over a logarithmic scale.
func (v *Variation) curves() (curves []curveView, ticks []tickView) {
	low, high := math.Inf(1), 1.0
	for _, p := range v.Points {
		for _, c := range p.Result.Policies {
			mean, half := max(1, c.Figures["wait_mean"].Mean), c.Figures["wait_mean"].Half
			low, high = min(low, max(1, mean-half, mean/3)), max(high, mean+half)
		}
	}
	low, high = math.Log10(low)-0.1, math.Log10(high)+0.1
	y := func(wait float64) float64 {
		at := (math.Log10(max(1, wait)) - low) / (high - low)
		return varyFoot - (varyFoot-varyTop)*min(1, max(0, at))
	}
	for _, m := range marksWithin(math.Pow(10, low), math.Pow(10, high)) {
		ticks = append(ticks, tickView{y(m.At), m.Text})
	}
	for k, policy := range v.Points[0].Result.Policies {
		c := curveView{Policy: policy.Policy, Name: middle(policy.Policy, legendWidth), Colour: colours[k%len(colours)], Dashes: dashes(k)}
		var line strings.Builder
		for i, p := range v.Points {
			f := p.Result.Policies[k].Figures["wait_mean"]
			x := v.x(i) + 3*(float64(k)-float64(len(p.Result.Policies)-1)/2) // beside the others
			fmt.Fprintf(&line, "%.1f,%.1f ", x, y(f.Mean))
			c.Dots = append(c.Dots, dotView{x, y(f.Mean), y(f.Mean - f.Half), y(f.Mean + f.Half),
				fmt.Sprintf("%s, %s %s: %s ± %s s", c.Policy, v.Key, p.Value, Column{}.Text(f.Mean), Column{}.Text(f.Half))})
		}
		c.Line = line.String()
		curves = append(curves, c)
	}
	nameBeside(curves)
	return curves, ticks
}

// marksWithin are the marks of a scale of waits from low to high, in seconds: finer ones where few of the usual lie there.
func marksWithin(low, high float64) []tickView {
	outside := func(m tickView) bool { return m.At < low || m.At > high }
	marks := slices.DeleteFunc(svgMarks(), outside)
	if len(marks) > 2 {
		return marks
	}
	marks = nil
	for _, u := range []struct {
		seconds float64
		name    string
		counts  []float64
	}{
		{1, "s", []float64{1, 2, 3, 5, 10, 15, 30}}, {60, "min", []float64{1, 2, 3, 5, 10, 15, 30}}, {3600, "h", []float64{1, 2, 4, 8, 16}}, {86400, "d", []float64{1, 2, 4, 8, 15, 30}},
	} {
		for _, n := range u.counts {
			marks = append(marks, tickView{n * u.seconds, fmt.Sprintf("%g %s", n, u.name)})
		}
	}
	return slices.DeleteFunc(marks, outside)
}

// nameHeight is the room for a name beside the picture.
const nameHeight = 14.0

// nameBeside puts the names of curves beside their ends, in the order of these, and moves them apart where they
// would lie on each other: down from the top, then up from the foot of the drawing.
func nameBeside(curves []curveView) {
	order := make([]*curveView, len(curves))
	for i := range curves {
		order[i] = &curves[i]
		order[i].At = order[i].Dots[len(order[i].Dots)-1].Y
	}
	slices.SortStableFunc(order, func(a, b *curveView) int { return cmp.Compare(a.At, b.At) })
	for i, least := 0, 0.0; i < len(order); i++ {
		order[i].At = max(order[i].At, least)
		least = order[i].At + nameHeight
	}
	for i, most := len(order)-1, varyFoot; i >= 0; i-- {
		order[i].At = min(order[i].At, most)
		most = order[i].At - nameHeight
	}
}

// small draws the distribution of waits of every policy (columns) at every
// value (rows), with that of the first policy beside it.
func (v *Variation) small() (rows [][]smallView) {
	most := 10.0
	for _, p := range v.Points {
		most = max(most, p.Result.longestWait())
	}
	for _, p := range v.Points {
		var row []smallView
		for _, c := range p.Result.Policies {
			row = append(row, smallView{polyline(c.ECDF, most), polyline(p.Result.Policies[0].ECDF, most)})
		}
		rows = append(rows, row)
	}
	return rows
}
