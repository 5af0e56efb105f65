package sim_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gridbroker/forecast/managers"
	"gridbroker/forecast/sim/tree"
	"gridbroker/testdata/reference"
)

// referencePoint is one setting of a results file with the mean ratio of jobs
// done over the seeds 1 to Seeds, or what is wrong with it.
type referencePoint struct {
	ID      string
	Group   string
	Work    tree.Work
	Config  tree.Config
	Seeds   int
	Metrics struct{ Ratio meanAndSpread }

	file string
	err  error
}

// meanAndSpread are a mean and its standard deviation, or a mean alone, as a list or a number.
type meanAndSpread []float64

// UnmarshalJSON reads a number or a list.
func (m *meanAndSpread) UnmarshalJSON(data []byte) error {
	var mean float64
	if err := json.Unmarshal(data, &mean); err == nil {
		*m = meanAndSpread{mean}
		return nil
	}
	return json.Unmarshal(data, (*[]float64)(m))
}

// kind is what a sample has of each: one group of one file in one structure at one size.
func (p *referencePoint) kind() string {
	return fmt.Sprintf("%s %s, %s, %d systems", p.file, p.Group, p.Config.Mode, p.Work.Systems)
}

// cost estimates the work of a run.
func (p *referencePoint) cost() int {
	n := p.Work.Jobs * p.Work.Systems
	if p.Config.Mark == managers.MarkNone && (p.Config.MaxHops == 0 || p.Config.MaxHops > 100) {
		n *= 50
	}
	return n
}

// seeds returns how many of a point's seeds are run first: all of them where they are cheap.
func (p *referencePoint) seeds() int {
	const cheap = 70_000
	return min(p.Seeds, max(1, cheap/max(1, p.cost())))
}

// readPoints returns the metacomputer points of the reference in the order in
// which they are to be run. What a point does not say is as in most of them. One that
// cannot be read does not hide the others.
func readPoints(objects []reference.Object) (points []*referencePoint) {
	for _, o := range objects {
		p := &referencePoint{file: o.File}
		p.Config = tree.Config{Fanout: 2, Discipline: "firstfit", Latency: 100, Handshake: true, Mark: managers.MarkAck} // what a point does not say
		p.Work = tree.Work{Share: []float64{1}, Run: "exp", Prios: 1}
		p.err = o.Decode(p)
		p.Work.Width, p.Work.Run = ours(p.Work.Width), ours(p.Work.Run)
		if p.Work.Systems == 0 && len(p.Work.Nodes) > 1 {
			p.Work.Systems = len(p.Work.Nodes)
		}
		if p.err == nil && (len(p.Metrics.Ratio) == 0 || p.Seeds < 1) {
			p.err = errors.New("a point has a ratio and at least one seed")
		}
		p.ID = o.ID
		points = append(points, p)
	}
	return spread(points)
}

// names are how others may call what a workload is drawn from, by how these begin.
var names = map[string][]string{
	"inverse": {"inv", "1/w", "harm", "recip"}, "powers": {"pow", "2^"}, "uniform": {"uni"}, "hyper": {"hyp"}, "exp": {"exp"}, "const": {"const", "fix"},
}

// ours is what such a name is here.
func ours(name string) string {
	word, arg, there := strings.Cut(name, ":")
	for own, others := range names {
		for _, other := range others {
			if strings.HasPrefix(strings.ToLower(word), other) && there {
				return own + ":" + arg
			} else if strings.HasPrefix(strings.ToLower(word), other) {
				return own
			}
		}
	}
	return name
}

// pointKeys are what the metacomputer points have and no others.
var pointKeys = []string{"work", "config"}

// spread orders points: one of each kind, then the cheaper before the dearer.
// Kinds of which one point costs as much as most others together have no turn of their own.
func spread(points []*referencePoint) []*referencePoint {
	const dear = 1_000_000
	slices.SortStableFunc(points, func(a, b *referencePoint) int { return cmp.Compare(a.cost(), b.cost()) })
	var first, rest []*referencePoint
	seen := map[string]bool{}
	for _, p := range points {
		if k := p.kind(); !seen[k] && p.cost() < dear {
			seen[k] = true
			first = append(first, p)
		} else {
			rest = append(rest, p)
		}
	}
	return append(first, rest...)
}

// Points of other names, with fields nobody knows and numbers of other sizes
// are read; a broken one is told and hides no other; lists of other things have none.
func TestDecodePoints(t *testing.T) {
	objects, err := reference.List("x.json", []byte(`[
		{"id":"new","extra":1,"work":{"jobs":5,"horizon":20.5,"nodes":[4.0,8],"share":[1],"width":"powers:4","run":"hyper","load":2,"prios":2,"systems":3.0,"colour":"red"},
		 "config":{"mode":"tree","fanout":2,"discipline":"fcfs","mark":"take","later":true},"seeds":2,"metrics":{"ratio":[0.5,0.1],"other":7}},
		{"id":"plain","work":{"jobs":5,"horizon":20,"nodes":8,"share":[1],"width":"one","run":"exp","load":1,"systems":1},
		 "config":{"mode":"independent","discipline":"fcfs","coalesce":null},"seeds":1,"metrics":{"ratio":0.25}},
		{"id":"short","work":{"jobs":5,"horizon":20,"nodes":[8,4],"width":"one","load":1},"config":{"mode":"tree"},"seeds":1,"metrics":{"ratio":0.25}},
		{"id":"e","work":{"jobs":1e1,"horizon":2.0e1,"nodes":8,"width":"pow2:4","run":"exponential","load":1,"systems":2},"config":{"mode":"tree","latency":1E2},
		 "seeds":1,"metrics":{"ratio":[0.25,NaN],"wait":[Infinity,-Infinity]}},
		{"id":"broken","work":{"jobs":"many"},"config":{}},
		{"params":{},"ratio":1}]`), pointKeys...)
	if err != nil || len(objects) != 5 {
		t.Fatalf("%d points, %v; want 5", len(objects), err)
	}
	points := map[string]*referencePoint{}
	for _, p := range readPoints(objects) {
		points[p.ID] = p
	}
	if p := points["new"]; p == nil || p.err != nil || p.Work.Systems != 3 || p.Metrics.Ratio[0] != 0.5 {
		t.Errorf("%+v", p)
	} else if _, err := meanRatio(t.Context(), p, 2); err != nil {
		t.Error(err)
	}
	if p := points["plain"]; p == nil || p.err != nil || p.Metrics.Ratio[0] != 0.25 {
		t.Errorf("a mean alone reads as %+v", p)
	}
	if p := points["short"]; p == nil || p.err != nil || p.Work.Systems != 2 {
		t.Errorf("a point that says little reads as %+v", p)
	} else if _, err := meanRatio(t.Context(), p, 1); err != nil {
		t.Error(err)
	}
	if p := points["e"]; p == nil || p.err != nil || p.Work.Jobs != 10 || p.Config.Latency != 100 || p.Work.Width != "powers:4" || p.Work.Run != "exp" {
		t.Errorf("numbers with exponents read as %+v", p)
	} else if _, err := meanRatio(t.Context(), p, 1); err != nil {
		t.Error(err)
	}
	if lines, err := reference.List("l.json", []byte("{\"work\":{},\"config\":{}}\n{\"work\":{},\"config\":{}}\n"), pointKeys...); err != nil || len(lines) != 2 {
		t.Errorf("a point in each line: %d, %v", len(lines), err)
	}
	if p := points["broken"]; p == nil || p.err == nil {
		t.Errorf("a broken point reads as %+v", p)
	}
	for _, other := range []string{`[1,2]`, `[{"predictor":"x"}]`} {
		if more, err := reference.List("o.json", []byte(other), pointKeys...); err != nil || len(more) != 0 {
			t.Errorf("%s: %d points, %v", other, len(more), err)
		}
	}
	half, err := reference.List("h.json", []byte("\uFEFF"+`[{"work":{}}]`), pointKeys...)
	if err != nil || len(half) != 1 || half[0].Lacks != "config" {
		t.Errorf("half of a point: %+v, %v", half, err)
	}
	if _, err := reference.List("o.json", []byte(`{"a":1}`), pointKeys...); err == nil || !strings.Contains(err.Error(), "no list") {
		t.Errorf("what is no list: %v", err)
	}
	if _, err := reference.List("cut.json", []byte(`[{"id":`)); err == nil {
		t.Error("a list that is cut off is no error")
	}
}
