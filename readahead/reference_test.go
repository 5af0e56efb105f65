package readahead

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
)

type referencePoint struct {
	ID     string  `json:"id"`
	Params Params  `json:"params"`
	Seeds  int     `json:"seeds"`
	With   float64 `json:"with_cache"`
	Ratio  float64 `json:"ratio"`
	No     float64 `json:"without"`
}

// TestReference compares the model with every point of read-ahead results that
// lies under reference/ of the directory that GRID_TESTDATA names.
func TestReference(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(os.Getenv("GRID_TESTDATA"), "reference", "read-ahead*.json"))
	if os.Getenv("GRID_TESTDATA") == "" || len(files) == 0 {
		t.Skip("GRID_TESTDATA names no directory with reference/read-ahead*.json")
	}
	good, exact, all := 0, 0, 0
	for _, file := range files {
		for _, p := range readPoints(t, file) {
			all++
			with, without := meanRun(t, p)
			if sameDigits(with, p.With) && sameDigits(without, p.No) {
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
	}
	fmt.Printf("read-ahead: %d of %d points (ratio within 0.01); %d of %d exact to the digits given\n", good, all, exact, all)
}

// sameDigits compares with a value rounded to five digits, or to one place behind the point.
func sameDigits(got, want float64) bool { return math.Abs(got-want) <= max(0.0501, 5.01e-5*want) }

func readPoints(t *testing.T, file string) []referencePoint {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var points []referencePoint
	if err := json.Unmarshal(data, &points); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return points
}

// meanRun returns the mean times with and without the cache over the point's seeds.
func meanRun(t *testing.T, p referencePoint) (with, without float64) {
	t.Helper()
	for seed := 1; seed <= p.Seeds; seed++ {
		a, err := Model(p.Params, uint64(seed))
		if err != nil {
			t.Fatalf("%s: %v", p.ID, err)
		}
		plain := p.Params
		plain.Cache = false
		b, err := Model(plain, uint64(seed))
		if err != nil {
			t.Fatalf("%s: %v", p.ID, err)
		}
		n := float64(p.Seeds)
		with, without = with+a.Time/n, without+b.Time/n
	}
	return with, without
}
