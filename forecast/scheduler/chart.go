package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Band is a cluster's part of the overview: its processors over time, from below
// those of local jobs, of guests, and those promised to be free. All but the
// first are paths of a picture of 1000 by 100.
type Band struct {
	Info   ClusterInfo
	CPUs   int64
	Free   int64 // at the time looked at
	Guests int64
	Kept   Kept // of the promises half an hour ahead
	Local  string
	Booked string
	Slots  [shades]string // free, by chance: the surest first
	Truth  string         // in travels: what was in use after the time looked at
	Points string         // per column "local,guests,free,chance", for the pointer
	column []point
}

// point is a cluster in one column; known tells whether anything is.
type point struct {
	local, guests, free float64
	chance              float64
	known, ahead        bool
}

// shades are classes of chance, each from this share on.
const shades = 4

var shadeFrom = [shades]float64{0.95, 0.85, 0.7, 0}

// columns of the overview, at most.
const columns = 288

// bands draws all clusters.
func (f *Frame) bands(clusters []ClusterInfo, was, next map[string][]Sample, now map[string]Sample) []Band {
	list := make([]Band, 0, len(clusters))
	for _, c := range clusters {
		if f.Cluster != "" && f.Cluster != c.Name {
			continue
		}
		b := Band{Info: c, CPUs: int64(c.Load.CPUs)}
		s := now[c.Name]
		b.column = f.points(was[c.Name], s)
		b.draw()
		b.Truth = f.truth(next[c.Name])
		b.Kept = kept(2, was[c.Name])
		if n := len(was[c.Name]); n > 0 && s.Ahead != nil {
			last := was[c.Name][n-1]
			b.CPUs, b.Free, b.Guests = last.CPUs, max(0, last.CPUs-last.Busy), last.Guests
		}
		list = append(list, b)
	}
	return list
}

// points are the columns: up to the time looked at what was, from there on what
// was foreseen at that time.
func (f *Frame) points(was []Sample, now Sample) []point {
	n := f.Columns()
	list := make([]point, n)
	k := 0
	for i := range list {
		t := f.From + (2*int64(i)+1)*f.Span/(2*int64(n))
		if t > f.At {
			list[i] = now.ahead(t)
			continue
		}
		for k+1 < len(was) && was[k+1].At <= t {
			k++
		}
		if k < len(was) && was[k].At <= t && t-was[k].At < 3*sampleStep {
			s := was[k]
			list[i] = point{local: float64(max(0, s.Busy-s.Guests)), guests: float64(s.Guests), known: s.CPUs > 0}.of(s.CPUs)
		}
	}
	return list
}

// ahead is what a sample foresaw of a time.
func (s Sample) ahead(t int64) point {
	k := (t - max(s.At, s.Made)) / sampleStep
	if s.Ahead == nil || k < 0 || k >= int64(min(len(s.Ahead.Free), len(s.Ahead.Sure), len(s.Ahead.Guests))) || s.CPUs == 0 {
		return point{}
	}
	free, guests := float64(s.Ahead.Free[k]), float64(s.Ahead.Guests[k])
	p := point{local: max(0, float64(s.CPUs)-free-guests), guests: guests, free: free, known: true, ahead: true}
	if free > 0 {
		p.chance = float64(s.Ahead.Sure[k]) / free
	}
	return p.of(s.CPUs)
}

// of makes shares of numbers of processors.
func (p point) of(cpus int64) point {
	n := float64(max(1, cpus))
	p.local, p.guests, p.free = min(1, p.local/n), min(1, p.guests/n), min(1, p.free/n)
	return p
}

func (p point) shade() int {
	for k, from := range shadeFrom {
		if p.chance >= from {
			return k
		}
	}
	return shades - 1
}

func (b *Band) draw() {
	zero := func(point) float64 { return 0 }
	local := func(p point) float64 { return p.local }
	booked := func(p point) float64 { return p.local + p.guests }
	top := func(p point) float64 { return p.local + p.guests + p.free }
	all := func(p point) bool { return p.known }
	b.Local, b.Booked = area(b.column, zero, local, all), area(b.column, local, booked, all)
	for k := range shades {
		b.Slots[k] = area(b.column, booked, top, func(p point) bool { return p.ahead && p.shade() == k })
	}
	var text strings.Builder
	for i, p := range b.column {
		if i > 0 {
			text.WriteByte(';')
		}
		if p.known {
			fmt.Fprintf(&text, "%.0f,%.0f,%.0f", 1000*p.local, 1000*p.guests, 1000*p.free)
			if p.ahead {
				fmt.Fprintf(&text, ",%.0f", 100*p.chance)
			}
		}
	}
	b.Points = text.String()
}

// area is the path of all between two heights, where of has it. Columns of equal
// heights are drawn as one.
func area(list []point, low, high func(point) float64, of func(point) bool) string {
	var path []byte
	x := func(i int) float64 { return 1000 * float64(i) / float64(len(list)) }
	for i := 0; i < len(list); {
		from, a, b := i, height(low(list[i])), height(high(list[i]))
		for i++; i < len(list) && of(list[i]) == of(list[from]) && height(low(list[i])) == a && height(high(list[i])) == b; {
			i++
		}
		if !of(list[from]) || a == b {
			continue
		}
		path = number(append(path, 'M'), x(from))
		path = number(append(path, ' '), 100-b)
		path = number(append(path, 'H'), x(i))
		path = number(append(path, 'V'), 100-a)
		path = append(number(append(path, 'H'), x(from)), 'z')
	}
	return string(path)
}

// height is a share in hundredths, to half a one.
func height(v float64) float64 { return float64(int(200*v+0.5)) / 2 }

func number(to []byte, v float64) []byte {
	return strconv.AppendFloat(to, float64(int64(10*v+0.5))/10, 'f', -1, 64)
}

// truth is a line along what was in use after the time looked at.
func (f *Frame) truth(next []Sample) string {
	var path []byte
	word := byte('M')
	for _, s := range next {
		if s.At < f.At || s.At > f.From+f.Span || s.CPUs == 0 {
			continue
		}
		path = number(append(path, word), float64(1000*(s.At-f.From))/float64(f.Span))
		path = number(append(path, ' '), 100-height(float64(s.Busy)/float64(s.CPUs)))
		word = 'L'
	}
	return string(path)
}

// Kept is how promises of free processors came out.
type Kept struct {
	Lead     int64   // seconds
	Made     int     // times looked at
	Promised float64 // processors, over all times
	Came     float64 // of them
	Apart    float64 // differences, as shares of the processors there are
}

// Share is the part of the promised processors that were free.
func (k Kept) Share() float64 { return k.Came / max(1e-9, k.Promised) }

// Off is the mean difference, as a share of all processors.
func (k Kept) Off() float64 { return k.Apart / float64(max(1, k.Made)) }

// kept holds the promises of a lead against what came.
func kept(lead int, clusters ...[]Sample) Kept {
	k := Kept{Lead: leads[lead]}
	for _, list := range clusters {
		later := 0
		for _, s := range list {
			for later < len(list) && list[later].At < s.At+k.Lead {
				later++
			}
			if later == len(list) || list[later].At != s.At+k.Lead || s.CPUs == 0 {
				continue
			}
			free := float64(list[later].CPUs - list[later].Busy)
			k.Made++
			k.Promised, k.Came = k.Promised+s.In[lead], k.Came+min(free, s.In[lead])
			k.Apart += max(free-s.In[lead], s.In[lead]-free) / float64(s.CPUs)
		}
	}
	return k
}

// Truth is the forecast of the whole grid against what came.
type Truth struct {
	Free, Promised string // paths of 1000 by 100: what was free, what was promised half an hour before
	Leads          []Kept
	From, To       int64
}

// against sums up the clusters.
func against(samples map[string][]Sample, from, to int64) Truth {
	t := Truth{From: from, To: to}
	lists := make([][]Sample, 0, len(samples))
	cpus, free, promised := map[int64]float64{}, map[int64]float64{}, map[int64]float64{}
	for _, list := range samples {
		lists = append(lists, list)
		for _, s := range list {
			cpus[s.At] += float64(s.CPUs)
			free[s.At] += float64(s.CPUs - s.Busy)
			promised[s.At+leads[2]] += s.In[2]
		}
	}
	for k := range leads {
		t.Leads = append(t.Leads, kept(k, lists...))
	}
	top := 0.01 // of the picture: a little more than was ever free
	for at, n := range cpus {
		top = max(top, free[at]/n*1.1, promised[at]/n*1.1)
	}
	line := func(of map[int64]float64) string {
		var path []byte
		word := byte('M')
		for at := from - from%sampleStep; at <= to; at += sampleStep {
			n, v := cpus[at], of[at]
			if _, there := of[at]; n == 0 || !there || at < from {
				continue
			}
			path = number(append(path, word), float64(1000*(at-from))/float64(max(1, to-from)))
			path = number(append(path, ' '), 100-100*min(1, v/n/top))
			word = 'L'
		}
		return string(path)
	}
	t.Free, t.Promised = line(free), line(promised)
	return t
}

// Overview is what the page shows of the clusters that a frame is of.
type Overview struct {
	Bands              []Band
	Found              int   // by the frame; some of them are shown
	CPUs, Free, Guests int64 // of all clusters
}

// First and Last are the places of those shown among those found, from 1 on.
func (o Overview) First(f *Frame) int { return int(f.Page)*onPage + 1 }

// Last is the place of the last one shown.
func (o Overview) Last(f *Frame) int { return int(f.Page)*onPage + len(o.Bands) }

// sight is a database as the page looks at it.
type sight struct{ *Store }

// chart reads what the overview shows of a frame.
func (s sight) chart(ctx context.Context, f *Frame, members []Member) (o Overview, err error) {
	names, found := f.choose(members)
	o.Found = found
	names = append(names, "") // none named would be all
	clusters, err := s.Clusters(ctx, time.Unix(f.Now, 0), names...)
	if err != nil {
		return o, err
	}
	for i := range clusters {
		clusters[i].Gone = slices.ContainsFunc(members, func(m Member) bool { return m.Gone && m.Name == clusters[i].Name })
	}
	err = s.read(ctx, func(h handle) error {
		was, err := past{h}.samples(ctx, min(f.From, f.Now-86400)-3*sampleStep, f.Now, names...)
		if err != nil {
			return err
		}
		now, err := past{h}.foreseen(ctx, f.At, names...)
		if err != nil {
			return err
		}
		before, after := map[string][]Sample{}, map[string][]Sample{}
		for name, list := range was {
			for i, v := range list {
				if v.At > f.At {
					before[name], after[name] = list[:i], list[i:]
					break
				}
				before[name] = list[:i+1]
			}
		}
		o.Bands = f.bands(clusters, before, after, now)
		for name, s := range now {
			if f.Cluster == "" || f.Cluster == name {
				o.CPUs, o.Free, o.Guests = o.CPUs+s.CPUs, o.Free+max(0, s.CPUs-s.Busy), o.Guests+s.Guests
			}
		}
		return nil
	})
	return o, err
}

// truth holds the forecasts of the last day against what came.
func (s sight) truth(ctx context.Context, now int64) (t Truth, err error) {
	err = s.read(ctx, func(h handle) error {
		was, err := past{h}.samples(ctx, now-86400, now)
		t = against(was, now-86400, now)
		return err
	})
	return t, err
}

// charts draws overviews one after the other, and one for all who look at the
// same within a second: a page that many keep open, or ask for in haste, takes
// no more than one processor from the planning. What forecasts were worth is
// worked out anew once a minute.
type charts struct {
	turn   chan struct{} // of one place
	frame  Frame         // of the last one
	drawn  Overview
	minute int64 // of truth
	truth  Truth
}

func (c *charts) get(ctx context.Context, s sight, f *Frame, members []Member) (o Overview, t Truth, err error) {
	end, err := c.take(ctx)
	if err != nil {
		return o, t, err
	}
	defer end()
	if c.minute != f.Now/60 {
		if t, err = s.truth(ctx, f.Now); err != nil {
			return o, t, err
		}
		c.truth, c.minute = t, f.Now/60
	}
	if c.frame != *f {
		if o, err = s.chart(ctx, f, members); err != nil {
			return o, t, err
		}
		c.frame, c.drawn = *f, o
	}
	return c.drawn, c.truth, nil
}

// take waits for the turn to draw.
func (c *charts) take(ctx context.Context) (end func(), err error) {
	select {
	case c.turn <- struct{}{}:
		return func() { <-c.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// nodes draws one cluster node by node, in its turn.
func (c *charts) nodes(ctx context.Context, s sight, f *Frame, of *ClusterInfo, p Person) ([]Row, error) {
	end, err := c.take(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	return s.nodes(ctx, f, of, p)
}
