package scheduler

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"gridbroker/forecast/wire"
)

// Row is one node's line of a cluster's chart.
type Row struct {
	Label string
	Up    bool
	Bars  []Bar
}

// Bar is one thing on a node: X and W in percent of the frame, Y and H in
// hundredths of the node's processors, from above.
type Bar struct {
	X, W, Y, H string
	Kind       string // of the style sheet
	Text       string
}

// stretch is a time of something on a node.
type stretch struct {
	node     string
	from, to int64
	cpus     int32
	order    int // what is drawn first has its processors first
	kind     string
	text     string
}

// nodes draws a cluster node by node: local jobs as they were and are foreseen,
// guests, and slots. names tells whose jobs are known to the asker.
func (s sight) nodes(ctx context.Context, f *Frame, c *ClusterInfo, p Person) (rows []Row, err error) {
	var list []stretch
	err = s.read(ctx, func(h handle) error {
		guests, native, err := onNodes{h, f, c.Name}.guestsOf(ctx, p)
		if err != nil {
			return err
		}
		local, err := onNodes{h, f, c.Name}.localOf(ctx, native)
		if err != nil {
			return err
		}
		list = append(guests, local...)
		if f.At < f.Now { // slots are known as they are, not as they were
			return nil
		}
		slots, err := onNodes{h, f, c.Name}.freeOf(ctx)
		list = append(list, slots...)
		return err
	})
	if err != nil {
		return nil, err
	}
	of := map[string][]stretch{}
	for _, v := range list {
		of[v.node] = append(of[v.node], v)
	}
	looks := maxLooks
	for _, n := range c.Site.Nodes {
		rows = append(rows, Row{n.Name, n.Up, f.lanes(of[n.Name], n.CPUs, &looks)})
		delete(of, n.Name) // of nodes of one name the first counts
	}
	slices.SortFunc(rows, func(a, b Row) int { return natural(a.Label, b.Label) })
	return rows, nil
}

// onNodes is a transaction that reads what is on the nodes of a cluster in a frame.
type onNodes struct {
	handle
	f       *Frame
	cluster string
}

// maxShares bounds what is drawn of local jobs, in shares of nodes. Of a node that has more processors so many
// lanes are drawn, and maxLooks bounds, in looks at lanes, what is drawn of all nodes together.
const (
	maxShares = 500_000
	maxLanes  = 1024
	maxLooks  = 50_000_000
)

// localOf reads the site's own jobs of a frame, the ended ones first.
func (h onNodes) localOf(ctx context.Context, guests map[string]bool) (list []stretch, err error) {
	add := func(task, node, spread string, procs int32, from, to int64, kind, said string) {
		if guests[task] || from == 0 || from >= h.f.From+h.f.Span || to <= h.f.From || len(list) > maxShares {
			return
		}
		text := fmt.Sprintf("local job %s, %d processors, %s", task, procs, said)
		for _, s := range wire.Shares(spread, node, procs) {
			list = append(list, stretch{s.Node, from, to, s.CPUs, 0, kind, text})
		}
	}
	err = h.rows(ctx, func(scan func(...any) error) error {
		var task, node, spread string
		var procs int32
		var from, to int64
		err := scan(&task, &node, &spread, &procs, &from, &to)
		add(task, node, spread, procs, from, to, "local", "ended "+clock(to))
		return err
	}, "select task, node, spread, procs, begins, ends from past_job where cluster = $1 and ends > $2 and begins < $3", h.cluster, h.f.From, h.f.From+h.f.Span)
	if err != nil {
		return nil, err
	}
	err = h.rows(ctx, func(scan func(...any) error) error {
		var body []byte
		if err := scan(&body); err != nil {
			return err
		}
		var e wire.Entry
		if err := json.Unmarshal(body, &e); err != nil {
			return err
		}
		to := cmp.Or(e.Completion, h.f.From+h.f.Span)
		switch {
		case e.State == "running":
			add(e.Task, e.Node, e.Spread, e.Procs, e.Start, max(to, h.f.Now), "local", "runs, to "+clock(to)+" at most")
		case h.f.At == h.f.Now:
			add(e.Task, e.Node, e.Spread, e.Procs, e.Start, to, "next", "foreseen from "+clock(e.Start))
		}
		return nil
	}, "select body from local_job where cluster = $1", h.cluster)
	return list, err
}

func clock(t int64) string { return time.Unix(t, 0).UTC().Format("15:04") }

// guestsOf reads the bookings of a frame, and by what names the site knows them.
func (h onNodes) guestsOf(ctx context.Context, p Person) (list []stretch, native map[string]bool, err error) {
	native = map[string]bool{}
	err = h.rows(ctx, func(scan func(...any) error) error {
		var text, job []byte
		var owner, state string
		var ends int64
		if err := scan(&text, &state, &ends, &owner, &job); err != nil {
			return err
		}
		var b wire.Booking
		var j Job
		if err := json.Unmarshal(text, &b); err != nil {
			return err
		}
		if err := json.Unmarshal(job, &j); err != nil {
			return err
		}
		if native[j.Handle.ID] = true; state == "missed" {
			return nil
		}
		said := "guest"
		if p.Admin || owner == p.Subject && owner != "" {
			said = strings.TrimSpace("guest " + j.Name + " " + j.ID)
		}
		from, kind := b.From, "guest"
		if j.Booking != nil && j.Booking.Key == b.Key && j.Started > 0 {
			from = j.Started
		} else if state == "open" {
			kind = "booked"
		}
		for _, v := range b.Slots {
			list = append(list, stretch{v.Node, from, max(ends, from+1), v.CPUs, 1, kind, fmt.Sprintf("%s, %s, %s to %s", said, state, clock(from), clock(ends))})
		}
		return nil
	}, `select b.body, b.state, b.ends, q.owner, q.body from booking b join queue q on q.id = b.job
		where b.cluster = $1 and b.begins < $2 and b.ends > $3`, h.cluster, h.f.From+h.f.Span, h.f.From)
	return list, native, err
}

// freeOf reads the slots of a frame.
func (h onNodes) freeOf(ctx context.Context) (list []stretch, err error) {
	end := h.f.From + h.f.Span
	err = h.rows(ctx, func(scan func(...any) error) error {
		v := stretch{order: 3}
		var chance, hold float64
		if err := scan(&v.node, &v.from, &v.to, &v.cpus, &chance, &hold); err != nil {
			return err
		}
		if v.to == 0 {
			v.to = end
		}
		v.from = max(v.from, h.f.Now)
		v.kind = fmt.Sprint("slot s", point{chance: chance}.shade())
		v.text = fmt.Sprintf("%d processors free from %s: %.0f %% sure at the start, %.0f %% for its length", v.cpus, clock(v.from), 100*chance, 100*hold)
		list = append(list, v)
		return nil
	}, "select node, begins, ends, cpus, chance, hold from content where cluster = $1 and begins < $2 and (ends = 0 or ends > $3)", h.cluster, end, h.f.Now)
	return list, err
}

// lanes gives every stretch processors of its node for its time, the lowest that
// nobody has, and draws it there, as long as there are looks left.
func (f *Frame) lanes(list []stretch, cpus int32, looks *int) (bars []Bar) {
	if len(list) == 0 {
		return nil
	}
	cpus, list = laned(max(1, cpus), list)
	slices.SortFunc(list, func(a, b stretch) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.from, b.from), strings.Compare(a.text, b.text))
	})
	type span struct{ from, to int64 }
	taken := make([][]span, cpus)
	free := func(lane int32, s stretch) bool {
		*looks -= 1 + len(taken[lane])
		return !slices.ContainsFunc(taken[lane], func(t span) bool { return s.from < t.to && t.from < s.to })
	}
	for _, s := range list {
		if s.to = min(s.to, f.From+f.Span); s.to <= max(s.from, f.From) {
			continue
		}
		if *looks < 0 {
			break
		}
		left := min(s.cpus, cpus)
		for lane := int32(0); lane < cpus && left > 0; lane++ {
			first := lane
			for lane < cpus && left > 0 && free(lane, s) {
				taken[lane] = append(taken[lane], span{s.from, s.to})
				lane, left = lane+1, left-1
			}
			if lane > first {
				bars = append(bars, f.bar(s, first, lane-first, cpus))
			}
		}
	}
	return bars
}

// laned are a node's processors and what is on them, by lanes where there are too many to draw each.
func laned(cpus int32, list []stretch) (int32, []stretch) {
	if cpus <= maxLanes {
		return cpus, list
	}
	for i := range list {
		list[i].cpus = int32((int64(list[i].cpus)*maxLanes + int64(cpus) - 1) / int64(cpus))
	}
	return maxLanes, list
}

func (f *Frame) bar(s stretch, lane, lanes, cpus int32) Bar {
	from := max(s.from, f.From)
	percent := func(v float64) string { return string(number(nil, v*100)) + "%" }
	return Bar{X: f.percent(from), W: string(hundredths(max(0.1, 100*float64(s.to-from)/float64(f.Span)))) + "%",
		Y: percent(float64(cpus-lane-lanes) / float64(cpus)), H: percent(float64(lanes) / float64(cpus)), Kind: s.kind, Text: s.text}
}

// natural orders names with numbers in them as people do.
func natural(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x > 0 && y > 0 {
			left, right := strings.TrimLeft(a[:x], "0"), strings.TrimLeft(b[:y], "0")
			if c := cmp.Or(cmp.Compare(len(left), len(right)), strings.Compare(left, right)); c != 0 {
				return c
			}
			a, b = a[x:], b[y:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits is how many digits a name begins with.
func digits(s string) int {
	return len(s) - len(strings.TrimLeftFunc(s, unicode.IsDigit))
}
