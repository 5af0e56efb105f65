package sim

import (
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// colours are told apart by most people (Okabe and Ito 2008), the first is black.
var colours = [...]string{"#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999", "#7A5195", "#5A3E1B"}

// svgMarks are those of the scale of waits, in seconds.
func svgMarks() []tickView {
	return []tickView{{1, "1 s"}, {10, "10 s"}, {60, "1 min"}, {600, "10 min"}, {3600, "1 h"}, {6 * 3600, "6 h"}, {86400, "1 d"},
		{7 * 86400, "1 w"}, {30 * 86400, "30 d"}, {365 * 86400, "1 y"}, {3650 * 86400, "10 y"}}
}

// dashes tell lines apart that have one colour; "" for none.
func dashes(i int) string {
	return [...]string{"", "6 3", "2 2"}[min(i/len(colours), 2)]
}

// gaps are the dashes of lines of which each but the first lets be seen what lies beneath where they are equal.
func gaps(i int) string {
	if i == 0 {
		return ""
	}
	return fmt.Sprintf("%d %d", max(4, 12-2*i), 3+i%3)
}

// WriteSVG writes the distributions of waits of all policies in one picture.
func (r *Result) WriteSVG(out io.Writer) error {
	var b strings.Builder
	most := r.longestWait()
	height := max(400, 60+20*len(r.Policies))
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="640" height="%d" viewBox="0 0 640 %d" font-family="sans-serif" font-size="12">`+"\n", height, height)
	title := r.Scenario.Name + ": " + r.Scenario.Stream()
	if r.Scenario.Jobs.Load > 0 {
		title += fmt.Sprintf(", load %g", r.Scenario.Jobs.Load)
	}
	size := min(15, 1000/float64(max(1, utf8.RuneCountInString(title)))) // so that the title is within the picture
	fmt.Fprintf(&b, "<title>%s</title><rect width=\"640\" height=\"%d\" fill=\"#fff\"/>\n", html.EscapeString(title), height)
	fmt.Fprintf(&b, `<text x="320" y="19" text-anchor="middle" font-size="%.1f">%s</text>`+"\n", size, html.EscapeString(title))
	for k := 0; k <= 4; k++ {
		y := 350 - 80*k
		fmt.Fprintf(&b, `<line x1="50" x2="450" y1="%d" y2="%d" stroke="#ddd"/><text x="44" y="%d" text-anchor="end">%d %%</text>`+"\n", y, y, y+4, 25*k)
	}
	for _, m := range svgMarks() {
		if x := 50 + 400*math.Log(m.At)/math.Log(most); m.At <= most {
			fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="30" y2="350" stroke="#eee"/><text x="%.1f" y="366" text-anchor="middle">%s</text>`+"\n", x, x, x, m.Text)
		}
	}
	b.WriteString(`<text x="250" y="388" text-anchor="middle">wait of global jobs; share of jobs that wait no longer</text>` + "\n")
	for i, p := range r.Policies {
		style := fmt.Sprintf(`stroke="%s"`, colours[i%len(colours)])
		if d := gaps(i); d != "" {
			style += ` stroke-dasharray="` + d + `"`
		}
		var line strings.Builder
		for _, q := range p.ECDF {
			fmt.Fprintf(&line, "%.1f,%.1f ", 50+400*math.Log(max(1, q[0]))/math.Log(most), 350-320*q[1])
		}
		under := 0.4 * float64(min(8, len(r.Policies)-1-i))
		fmt.Fprintf(&b, `<polyline fill="none" %s stroke-width="%.1f" points="%s"/>`+"\n", style, 1.6+under, line.String())
		fmt.Fprintf(&b, `<line x1="465" x2="490" y1="%d" y2="%d" %s stroke-width="3"/><text x="496" y="%d">%s<title>%s</title></text>`+"\n",
			40+20*i, 40+20*i, style, 44+20*i, html.EscapeString(middle(p.Policy, legendWidth)), html.EscapeString(p.Policy))
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(out, b.String())
	return err
}

func (r *Result) longestWait() float64 {
	most := 10.0
	for _, p := range r.Policies {
		if n := len(p.ECDF); n > 0 {
			most = max(most, p.ECDF[n-1][0])
		}
	}
	return most
}

// barView is one job of the picture of the first jobs.
type barView struct{ X, Width, Y, Height, Wait float64 }

// ganttView is the picture of the first jobs of the first seed under a policy.
type ganttView struct {
	Policy       string
	Lanes        []laneView
	Others       string  // what is left out
	Height, Axis float64 // of the lanes; of all
	Bars         []barView
	Hours        []tickView
}

// laneView is a site in the picture: its name as far as there is room for it.
type laneView struct{ Name, Short string }

// A picture has so many lanes, of the sites with most of the jobs, and so much room for
// a name, in the widths of a letter.
const (
	maxLanes  = 12
	laneWidth = 10
)

// middle shortens a name in its middle: those of copies differ at their ends.
func middle(name string, width int) string {
	all, end := runewidth.StringWidth(name), (width-1)/2
	if all <= width {
		return name
	}
	return runewidth.Truncate(name, width-end, "…") + runewidth.TruncateLeft(name, all-end, "")
}

// legendWidth is the room for a policy's name beside a picture, in the widths of a letter.
const legendWidth = 20

// lanes gives the sites that are drawn their lanes, in the scenario's order; -1 to others.
func lanes(bars []Bar, sites int) (lane []int, others int) {
	count, order := make([]int, sites), make([]int, sites)
	for _, b := range bars {
		count[b.Site]++
	}
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return count[b] - count[a] })
	drawn := order[:min(sites, maxLanes)]
	slices.Sort(drawn)
	lane = slices.Repeat([]int{-1}, sites)
	for k, i := range drawn {
		lane[i] = k
	}
	return lane, sites - len(drawn)
}

// gantts draws the first jobs of the first seed, over the same time for every policy: a
// lane per site, a bar per job from its start to its end, with its wait before it.
func (r *Result) gantts() (list []ganttView) {
	var all []Bar
	for i := range r.Policies {
		all = append(all, r.Runs[i*r.Scenario.Seeds].Gantt...)
	}
	from, to := ends(all)
	span := max(1, min(to-from, 48*3600))
	for i, p := range r.Policies {
		if bars := r.Runs[i*r.Scenario.Seeds].Gantt; len(bars) > 0 {
			list = append(list, r.gantt(p.Policy, bars, from, span))
		}
	}
	return list
}

// ends are the first submission and the last end.
func ends(bars []Bar) (from, to int64) {
	for i, b := range bars {
		if i == 0 {
			from, to = b.Submit, b.End
		}
		from, to = min(from, b.Submit), max(to, b.End)
	}
	return from, to
}

// gantt draws the jobs that start within the span from that time on.
func (r *Result) gantt(policy string, bars []Bar, from, span int64) ganttView {
	const width, lane = 620.0, 60.0
	to, scale := from+span, width/float64(span)
	v := ganttView{Policy: policy}
	at, others := lanes(bars, len(r.Scenario.Sites))
	for k, s := range r.Scenario.Sites {
		if at[k] >= 0 {
			v.Lanes = append(v.Lanes, laneView{s.Name, middle(s.Name, laneWidth)})
		}
	}
	if v.Height = lane * float64(len(v.Lanes)); others > 0 {
		v.Others = fmt.Sprintf(", the %d of %d sites with most of them", len(v.Lanes), len(r.Scenario.Sites))
	}
	v.Axis, v.Hours = v.Height+18, hours(span, scale)
	rows := make([][12]int64, len(r.Scenario.Sites))
	for _, b := range bars {
		if b.Start >= to || at[b.Site] < 0 {
			continue
		}
		row := freeRow(&rows[b.Site], b)
		v.Bars = append(v.Bars, barView{X: float64(b.Start-from) * scale, Width: max(1, float64(min(b.End, to)-b.Start)*scale),
			Y: lane*float64(at[b.Site]) + 4 + 4.4*float64(row), Height: 3.6, Wait: float64(b.Start-b.Submit) * scale})
	}
	return v
}

// freeRow finds the row of a lane where a job, its wait included, meets no
// other, else the one that is free first, and takes it.
func freeRow(busy *[12]int64, b Bar) int {
	row := 0
	for k, until := range busy {
		if until <= b.Submit {
			row = k
			break
		}
		if until < busy[row] {
			row = k
		}
	}
	busy[row] = max(busy[row], b.End)
	return row
}

// hours are at most twelve marks on the axis of time; minutes where that is short.
func hours(span int64, scale float64) (ticks []tickView) {
	step := int64(60)
	for _, by := range []int64{5, 2, 3, 2, 2, 3, 2, 2} { // 5, 10, 30 min, 1, 2, 6, 12, 24 h
		if span/step > 12 {
			step *= by
		}
	}
	for at := int64(0); at <= span; at += step {
		text := fmt.Sprintf("%d h", at/3600)
		if step < 3600 {
			text = fmt.Sprintf("%d min", at/60)
		}
		ticks = append(ticks, tickView{float64(at) * scale, text})
	}
	return ticks
}

// classRow is a size of jobs in the table by size.
type classRow struct {
	Name  string
	Cells []classCell
}

// classCell is a mean wait; Best marks the least of those that leave no more undone than others, and what looks like it.
type classCell struct {
	Text string
	Best bool
}

// byClass are the mean waits by size of job.
func (r *Result) byClass() (rows []classRow) {
	for _, c := range classes {
		row, best := classRow{Name: c.name, Cells: make([]classCell, len(r.Policies))}, math.Inf(1)
		for i, p := range r.Policies {
			if f, ok := p.Figures["wait_mean "+c.name]; ok {
				if row.Cells[i].Text = (Column{}).Text(f.Mean); !r.Undone(i) {
					best = min(best, f.Mean)
				}
			}
		}
		for i := range row.Cells {
			row.Cells[i].Best = len(row.Cells) > 1 && !r.Undone(i) && row.Cells[i].Text == Column{}.Text(best)
		}
		if slices.ContainsFunc(row.Cells, func(c classCell) bool { return c.Text != "" }) {
			rows = append(rows, row)
		}
	}
	return rows
}
