package scheduler

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Frame is what the page looks at: a stretch of time, seen from one moment of
// it, of all clusters or one. Times are seconds of Unix time.
type Frame struct {
	From, Span, Now int64
	At              int64 // what was known then; Now unless somebody travels
	Cluster         string
	Find            string // a part of clusters' names
	Page            int64  // of those found, from 0 on
	moved           bool   // From was asked for
}

// The shortest and longest frames.
const (
	minSpan = 1800
	maxSpan = 2 * 86400
	daySpan = 86400
)

// frameOf reads the query. The default is a day, a quarter of it ahead.
func frameOf(q url.Values, now int64) *Frame {
	f := &Frame{Span: daySpan, Now: now, At: now, Cluster: q.Get("cluster"), Find: q.Get("find")}
	ask := func(name string, low, high int64, to *int64) bool {
		n, err := strconv.ParseInt(q.Get(name), 10, 64)
		if err != nil || n < low || n > high {
			return false
		}
		*to = n
		return true
	}
	ask("page", 0, 1<<16, &f.Page)
	ask("span", minSpan, maxSpan, &f.Span)
	ask("at", now-daySpan, now, &f.At)
	f.From = f.At - f.Span*3/4
	f.moved = ask("from", now-maxSpan, now+daySpan, &f.From)
	return f
}

// Columns is how many parts the overview has: none shorter than a minute.
func (f *Frame) Columns() int { return int(min(columns, f.Span/60)) }

// Travels tells whether the past is looked at as it was.
func (f *Frame) Travels() bool { return f.At < f.Now }

// Back is how many minutes before now the moment looked at is.
func (f *Frame) Back() int64 { return (f.Now - f.At) / 60 }

// link is another frame.
func (f *Frame) link(change func(*Frame)) string {
	g := *f
	change(&g)
	q := url.Values{}
	if g.Span != daySpan {
		q.Set("span", fmt.Sprint(g.Span))
	}
	if g.moved {
		q.Set("from", fmt.Sprint(g.From))
	}
	if g.Travels() {
		q.Set("at", fmt.Sprint(g.At))
	}
	if g.Cluster != "" {
		q.Set("cluster", g.Cluster)
	}
	if g.Find != "" {
		q.Set("find", g.Find)
	}
	if g.Page > 0 {
		q.Set("page", fmt.Sprint(g.Page))
	}
	if len(q) == 0 {
		return "/"
	}
	return "/?" + q.Encode()
}

// Earlier moves back by half a frame.
func (f *Frame) Earlier() string {
	return f.link(func(g *Frame) { g.From, g.moved = g.From-g.Span/2, true })
}

// Later moves on by half a frame.
func (f *Frame) Later() string {
	return f.link(func(g *Frame) { g.From, g.moved = g.From+g.Span/2, true })
}

// In shows half of the time, about the same middle.
func (f *Frame) In() string { return f.zoom(max(minSpan, f.Span/2)) }

// Out shows twice the time.
func (f *Frame) Out() string { return f.zoom(min(maxSpan, f.Span*2)) }

func (f *Frame) zoom(span int64) string {
	return f.link(func(g *Frame) {
		if g.moved {
			g.From += (g.Span - span) / 2
		}
		g.Span = span
	})
}

// Live is the frame that moves on with time.
func (f *Frame) Live() string {
	return f.link(func(g *Frame) { g.At, g.moved = g.Now, false })
}

// Before is what was known an hour before.
func (f *Frame) Before() string {
	return f.link(func(g *Frame) { g.At = max(g.Now-daySpan+60, g.At-3600) })
}

// Only shows one cluster; "" all.
func (f *Frame) Only(cluster string) string {
	return f.link(func(g *Frame) { g.Cluster = cluster })
}

// onPage is how many clusters are shown at once.
const onPage = 50

// choose picks the clusters that are shown, and counts those that are found.
func (f *Frame) choose(all []Member) (names []string, found int) {
	for _, m := range all {
		if f.Cluster != "" && m.Name != f.Cluster || !strings.Contains(strings.ToLower(m.Name), strings.ToLower(f.Find)) {
			continue
		}
		if int64(found)/onPage == f.Page || f.Cluster != "" {
			names = append(names, m.Name)
		}
		found++
	}
	return names, found
}

// Clusters shows another part of those found.
func (f *Frame) Clusters(by int64) string {
	return f.link(func(g *Frame) { g.Page = max(0, g.Page+by) })
}

// Spans are the lengths to choose from.
func (f *Frame) Spans() (list []Choice) {
	for _, hours := range []int64{1, 6, 12, 24, 48} {
		list = append(list, Choice{fmt.Sprint(hours, " h"), f.zoom(hours * 3600), f.Span == hours*3600})
	}
	return list
}

// Choice is one of several links.
type Choice struct {
	Text, Link string
	Chosen     bool
}

// X is where a time is, in percent; "" where it is outside.
func (f *Frame) X(t int64) string {
	if t < f.From || t > f.From+f.Span {
		return ""
	}
	return f.percent(t)
}

// Mark is where the moment looked at is, in thousandths; "" where it is outside.
func (f *Frame) Mark() string {
	if f.X(f.At) == "" {
		return ""
	}
	return string(number(nil, 1000*float64(f.At-f.From)/float64(f.Span)))
}

func (f *Frame) percent(t int64) string {
	return string(hundredths(100*float64(t-f.From)/float64(f.Span))) + "%"
}

func hundredths(v float64) []byte {
	return strconv.AppendFloat(nil, float64(int64(100*v+0.5))/100, 'f', -1, 64)
}

// Tick is one mark of the time axis.
type Tick struct {
	X, Text string
	Day     bool
}

// Ticks are the hours or parts of them in the frame.
func (f *Frame) Ticks() (list []Tick) {
	step := int64(300)
	for _, s := range []int64{600, 900, 1800, 3600, 2 * 3600, 3 * 3600, 6 * 3600} {
		if f.Span/step > 9 {
			step = s
		}
	}
	for t := f.From - f.From%step + step; t < f.From+f.Span; t += step {
		at := time.Unix(t, 0).UTC()
		tick := Tick{f.percent(t), at.Format("15:04"), at.Hour() == 0 && at.Minute() == 0}
		if tick.Day {
			tick.Text = at.Format("Mon 2")
		}
		list = append(list, tick)
	}
	return list
}
