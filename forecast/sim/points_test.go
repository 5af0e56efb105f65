package sim_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gridbroker/forecast/managers"
	"gridbroker/forecast/sim/tree"
)

// referencePoint is one setting of a results file with the mean ratio of jobs
// done over the seeds 1 to Seeds, or what is wrong with it.
type referencePoint struct {
	ID      string
	Group   string
	Work    tree.Work
	Config  tree.Config
	Seeds   int
	Metrics struct{ Ratio []float64 } // mean, standard deviation

	file string
	err  error
}

// kind is what a sample has of each: one group of one file in one structure at one size.
func (p *referencePoint) kind() string {
	return fmt.Sprintf("%s %s, %s, %d systems", p.file, p.Group, p.Config.Mode, p.Work.Systems)
}

// cost estimates the work of a run.
func (p *referencePoint) cost() int {
	n := p.Work.Jobs * p.Work.Systems
	if p.Config.Mark == managers.MarkNone {
		n *= 50
	}
	return n
}

// seeds returns how many of a point's seeds are run first: all of them where they are cheap.
func (p *referencePoint) seeds() int {
	const cheap = 70_000
	return min(p.Seeds, max(1, cheap/max(1, p.cost())))
}

// readPoints reads whatever results lie under reference/ of the directory that
// GRID_TESTDATA names, in the order in which it is to be run.
func readPoints(t *testing.T) (points []*referencePoint) {
	t.Helper()
	dir := filepath.Join(os.Getenv("GRID_TESTDATA"), "reference")
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(file) != ".json" {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		more, err := decodePoints(filepath.Base(file), data)
		points = append(points, more...)
		return err
	})
	if os.Getenv("GRID_TESTDATA") == "" || errors.Is(err, fs.ErrNotExist) {
		t.Skip("GRID_TESTDATA names no directory with reference/")
	} else if err != nil {
		t.Fatal(err)
	}
	return spread(points)
}

// whole is a whole number that is written with a fraction of zero.
var whole = regexp.MustCompile(`\b(\d+)\.0+\b`)

// decodePoints takes the metacomputer points out of a list of JSON objects;
// other documents have none. A point that cannot be read does not hide the others.
func decodePoints(name string, data []byte) (points []*referencePoint, err error) {
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
			return nil, nil
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for i, raw := range list {
		var has struct {
			ID           string
			Work, Config json.RawMessage
		}
		if json.Unmarshal(raw, &has) != nil || has.Work == nil || has.Config == nil {
			continue
		}
		p := &referencePoint{file: strings.TrimSuffix(name, ".json")}
		p.err = json.Unmarshal(whole.ReplaceAll(raw, []byte("$1")), p)
		if p.err == nil && (len(p.Metrics.Ratio) == 0 || p.Seeds < 1) {
			p.err = errors.New("a point has a ratio and at least one seed")
		}
		p.ID = cmp.Or(has.ID, fmt.Sprintf("%s, point %d", name, i+1))
		points = append(points, p)
	}
	return points, nil
}

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
	points, err := decodePoints("x.json", []byte(`[
		{"id":"new","extra":1,"work":{"jobs":5,"horizon":20.5,"nodes":[4.0,8],"share":[1],"width":"powers:4","run":"hyper","load":2,"prios":2,"systems":3.0,"colour":"red"},
		 "config":{"mode":"tree","fanout":2,"discipline":"fcfs","mark":"take","later":true},"seeds":2,"metrics":{"ratio":[0.5,0.1],"other":7}},
		{"id":"broken","work":{"jobs":"many"},"config":{}},
		{"params":{},"ratio":1}]`))
	if err != nil || len(points) != 2 {
		t.Fatalf("%d points, %v; want 2", len(points), err)
	}
	if p := points[0]; p.err != nil || p.Work.Systems != 3 || p.Metrics.Ratio[0] != 0.5 {
		t.Errorf("%+v", p)
	} else if _, err := meanRatio(t.Context(), p, 2); err != nil {
		t.Error(err)
	}
	if points[1].err == nil || points[1].ID != "broken" {
		t.Errorf("a broken point reads as %+v", points[1])
	}
	for _, other := range []string{`{"a":1}`, `[1,2]`, `[{"predictor":"x"}]`} {
		if more, err := decodePoints("o.json", []byte(other)); err != nil || len(more) != 0 {
			t.Errorf("%s: %d points, %v", other, len(more), err)
		}
	}
	if _, err := decodePoints("cut.json", []byte(`[{"id":`)); err == nil {
		t.Error("a list that is cut off is no error")
	}
}
