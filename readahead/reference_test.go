package readahead

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"gridbroker/testdata/reference"
	"gridbroker/testdata/testbed"
)

// referencePoint is one setting of a results file with its mean times, or what is wrong with it.
type referencePoint struct {
	ID     string  `json:"id"`
	Params Params  `json:"params"`
	Seeds  int     `json:"seeds"`
	With   float64 `json:"with_cache"`
	Ratio  float64 `json:"ratio"`
	No     float64 `json:"without"`

	err error
}

// TestReference compares the model with every point of read-ahead results that
// lies under reference/ of the directory that GRID_TESTDATA names.
func TestReference(t *testing.T) {
	testbed.Computes(t)
	good, exact := 0, 0
	points := readPoints(reference.Objects(t, pointKeys...))
	for _, p := range points {
		with, without, err := meanRun(p)
		if err != nil {
			t.Errorf("%s: %v", p.ID, err)
			continue
		}
		if (p.With == 0 || sameDigits(with, p.With)) && (p.No == 0 || sameDigits(without, p.No)) {
			exact++
		} else {
			t.Logf("%s: with %.5g, want %.5g; without %.5g, want %.5g", p.ID, with, p.With, without, p.No)
		}
		if math.Abs(with/without-p.Ratio) <= 0.01*max(1, p.Ratio) {
			good++
		} else {
			t.Errorf("%s: ratio %.4f, want %.4f", p.ID, with/without, p.Ratio)
		}
	}
	fmt.Printf("read-ahead: %d of %d points (ratio within 0.01); %d of %d exact to the digits given\n", good, len(points), exact, len(points))
}

// sameDigits compares with a value rounded to five digits, or to one place behind the point.
func sameDigits(got, want float64) bool { return math.Abs(got-want) <= max(0.0501, 5.01e-5*want) }

// pointKeys are what the read-ahead points have and no others.
var pointKeys = []string{"params"}

// readPoints returns the read-ahead points of the reference. What a point does
// not say has its default. A point that cannot be read does not hide the others.
func readPoints(objects []reference.Object) (points []*referencePoint) {
	for _, o := range objects {
		p := &referencePoint{Params: DefaultParams()}
		p.err = o.Decode(p)
		if p.err == nil && p.Seeds < 1 {
			p.err = errors.New("a point has at least one seed")
		}
		if p.Ratio == 0 && p.With > 0 && p.No > 0 {
			p.Ratio = p.With / p.No
		} else if p.err == nil && p.Ratio == 0 {
			p.err = errors.New("a point has a ratio, or times with and without the cache")
		}
		p.ID = o.ID
		points = append(points, p)
	}
	return points
}

// Points with fields nobody knows and settings that no table has are read; a
// broken one is told and hides no other; lists of other things have none.
func TestDecodePoints(t *testing.T) {
	objects, err := reference.List("x.json", []byte(`[
		{"id":"new","extra":1,"params":{"remote":2.0,"p":0.33,"m":3,"q":2,"ahead":3,"think":7.5,"node_cells":9,"colour":"red"},"seeds":2,"with_cache":1.0,"ratio":0.5},
		{"id":"times","params":{"p":0.5},"seeds":1,"with_cache":17000,"without":34000},
		{"params":{"ops":"many"},"with_cache":1},
		{"work":{},"config":{}}]`), pointKeys...)
	if err != nil || len(objects) != 3 {
		t.Fatalf("%d points, %v; want 3", len(objects), err)
	}
	points := readPoints(objects)
	p := points[0]
	if _, _, err := meanRun(p); err != nil || p.Params.Ahead != 3 || p.Params.Wide != 108 {
		t.Errorf("%+v: %v", p, err)
	}
	if points[1].err != nil || points[1].Ratio != 0.5 {
		t.Errorf("a point without a ratio reads as %+v", points[1])
	}
	if points[2].err == nil || points[2].ID != "x.json, point 3" {
		t.Errorf("a broken point reads as %+v", points[2])
	}
}

// meanRun returns the mean times with and without the cache over the point's seeds.
func meanRun(p *referencePoint) (with, without float64, err error) {
	if p.err != nil {
		return 0, 0, p.err
	}
	for seed := 1; seed <= p.Seeds; seed++ {
		a, err := Model(p.Params, uint64(seed))
		if err != nil {
			return 0, 0, err
		}
		plain := p.Params
		plain.Cache = false
		b, err := Model(plain, uint64(seed))
		if err != nil {
			return 0, 0, err
		}
		n := float64(p.Seeds)
		with, without = with+a.Time/n, without+b.Time/n
	}
	return with, without, nil
}
