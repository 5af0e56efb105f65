package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gridbroker/forecast/wire"
)

// Group is a cluster's part of the chart.
type Group struct {
	Cluster string
	Nodes   int
	Whole   bool // a line per node; else one for all
	Rows    []Row
}

// Row is one node's line.
type Row struct {
	Label string
	Bars  []Bar
}

// Bar is one thing in a line; X and W are thousandths of the frame.
type Bar struct {
	X, W    int64
	Kind    string // local, slot, guest
	Opacity string
	Title   string
}

// maxRows is up to how many nodes a cluster is shown node by node unasked, and
// columns is how finely others are shown.
const (
	maxRows = 24
	columns = 72
)

// gantt reads what is known of a frame.
func (s *Store) gantt(ctx context.Context, f Frame, clusters []ClusterInfo) (groups []Group, err error) {
	err = s.read(ctx, func(h handle) error {
		for i := range clusters {
			c := &clusters[i]
			if f.Cluster != "" && f.Cluster != c.Name {
				continue
			}
			g, err := h.group(ctx, f, c, f.Cluster == c.Name || len(c.Site.Nodes) <= maxRows && len(clusters) <= 10)
			if err != nil {
				return err
			}
			groups = append(groups, g)
		}
		return nil
	})
	return groups, err
}

// busyTime is a stretch of something on a node.
type busyTime struct {
	node     string
	from, to int64
	cpus     int32
	kind     string
	chance   float64
	title    string
}

func (h handle) group(ctx context.Context, f Frame, c *ClusterInfo, whole bool) (Group, error) {
	g := Group{Cluster: c.Name, Nodes: len(c.Site.Nodes), Whole: whole}
	list, err := h.stretches(ctx, f, c)
	if err != nil {
		return g, err
	}
	if !whole {
		g.Rows = []Row{summary(f, c, list)}
		return g, nil
	}
	rows := map[string]*Row{}
	for _, n := range c.Site.Nodes {
		rows[n.Name] = &Row{Label: n.Name}
	}
	for _, b := range list {
		if row := rows[b.node]; row != nil {
			if bar, ok := b.bar(f); ok {
				row.Bars = append(row.Bars, bar)
			}
		}
	}
	for _, n := range c.Site.Nodes {
		g.Rows = append(g.Rows, *rows[n.Name])
	}
	slices.SortFunc(g.Rows, func(a, b Row) int { return strings.Compare(a.Label, b.Label) })
	return g, nil
}

// stretches lists local jobs, slots and bookings of a cluster: those drawn first
// lie below.
func (h handle) stretches(ctx context.Context, f Frame, c *ClusterInfo) (list []busyTime, err error) {
	end := f.From + f.Span
	err = h.rows(ctx, func(scan func(...any) error) error {
		b := busyTime{kind: "slot"}
		if err := scan(&b.node, &b.from, &b.to, &b.cpus, &b.chance); err != nil {
			return err
		}
		if b.to == 0 {
			b.to = end
		}
		b.from = max(b.from, f.Now)
		b.title = fmt.Sprintf("%d free, chance %.0f %%", b.cpus, 100*b.chance)
		list = append(list, b)
		return nil
	}, "select node, begins, ends, cpus, chance from content where cluster = $1 and begins < $2 and (ends = 0 or ends > $3)", c.Name, end, f.From)
	if err != nil {
		return nil, err
	}
	err = h.rows(ctx, func(scan func(...any) error) error {
		var body []byte
		if err := scan(&body); err != nil {
			return err
		}
		var e wire.Entry
		if err := json.Unmarshal(body, &e); err != nil || e.Start == 0 || e.Start > end {
			return err
		}
		to := e.Completion
		if to == 0 {
			to = end
		}
		list = append(list, busyTime{e.Node, e.Start, to, e.Procs, "local", 1, "local job " + e.Task + ", " + e.State})
		return nil
	}, "select body from local_job where cluster = $1", c.Name)
	if err != nil {
		return nil, err
	}
	err = h.rows(ctx, func(scan func(...any) error) error {
		var body []byte
		var b wire.Booking
		var state string
		var ends int64
		if err := scan(&body, &state, &ends); err != nil {
			return err
		}
		if err := json.Unmarshal(body, &b); err != nil {
			return err
		}
		for _, p := range b.Slots {
			list = append(list, busyTime{p.Node, b.From, max(ends, b.From+1), p.CPUs, "guest", 1, "guest, " + state})
		}
		return nil
	}, "select body, state, ends from booking where cluster = $1 and begins < $2 and ends > $3", c.Name, end, f.From)
	return list, err
}

func (b busyTime) bar(f Frame) (Bar, bool) {
	from, to := max(b.from, f.From), min(b.to, f.From+f.Span)
	if to <= from {
		return Bar{}, false
	}
	x := (from - f.From) * 1000 / f.Span
	return Bar{X: x, W: max(2, (to-f.From)*1000/f.Span-x), Kind: b.kind, Opacity: fmt.Sprintf("%.2f", b.chance), Title: b.title}, true
}

// summary is a whole cluster in one line: the deeper the shade, the more of it
// is free, in use, or booked.
func summary(f Frame, c *ClusterInfo, list []busyTime) Row {
	total := 0.0
	for _, n := range c.Site.Nodes {
		total += float64(n.CPUs)
	}
	sums := map[string]*[columns]float64{"local": {}, "slot": {}, "guest": {}}
	for _, b := range list {
		for k := range columns {
			at := f.From + (2*int64(k)+1)*f.Span/(2*columns)
			if b.from <= at && at < b.to {
				sums[b.kind][k] += float64(b.cpus) * b.chance
			}
		}
	}
	row := Row{Label: fmt.Sprintf("%d nodes", len(c.Site.Nodes))}
	for _, kind := range []string{"slot", "local", "guest"} {
		for k, sum := range sums[kind] {
			if sum > 0 && total > 0 {
				x := int64(k) * 1000 / columns
				row.Bars = append(row.Bars, Bar{X: x, W: int64(k+1)*1000/columns - x, Kind: kind, Opacity: fmt.Sprintf("%.2f", min(1, sum/total)),
					Title: fmt.Sprintf("%.0f of %.0f processors: %s", sum, total, kind)})
			}
		}
	}
	return row
}
