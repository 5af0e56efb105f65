package plan

import (
	"math"
	"math/rand/v2"
	"testing"
)

// However wrong an agent is, what is published with bookings comes to be within 3 % of
// what is kept in every tenth; what it tells well is left alone.
func TestTrustCalibrates(t *testing.T) {
	for name, truth := range map[string]func(float64) float64{
		"right":    func(told float64) float64 { return told },
		"too high": func(told float64) float64 { return 0.8 * told },
		"too low":  func(told float64) float64 { return 1 - 0.1*(1-told) },
		"no idea":  func(float64) float64 { return 0.9 },
	} {
		r := rand.New(rand.NewPCG(3, 15))
		var trust Trust
		var of [11]struct{ n, told, kept float64 }
		for n := range 100_000 {
			told := r.Float64()
			published := trust.Believe(told)
			kept := r.Float64() < truth(told)
			trust.Count(told, kept, int64(n)*bunch)
			if n < 10_000 { // until then it learns
				continue
			}
			k := &of[int(10*published)]
			k.n, k.told = k.n+1, k.told+published
			if kept {
				k.kept++
			}
		}
		for i, k := range of {
			if k.n > 1000 && math.Abs(k.told-k.kept) > 0.03*k.n {
				t.Errorf("%s, tenth %d: %.3f told, %.3f kept of %.0f", name, i, k.told/k.n, k.kept/k.n, k.n)
			}
		}
	}
	if got := new(Trust).Believe(0.7); math.Abs(got-0.7) > 1e-12 {
		t.Errorf("before anything is known: %v", got)
	}
}

// One bad hour of chances that are seldom told is no reason to tell them apart from
// what many others came to; what is long known is told for itself.
func TestTrustWantsEnough(t *testing.T) {
	var trust Trust
	for n := range int64(4000) {
		trust.Count(0.92, n%10 != 0, n/40*bunch)
	}
	for range 40 {
		trust.Count(0.62, false, 0)
	}
	if got := trust.Believe(0.62); got < 0.85 {
		t.Errorf("after one bad hour %.3f, of nine in ten kept", got)
	}
	for n := range int64(2 * telling) {
		trust.Count(0.62, n%2 == 0, n*bunch)
		trust.Count(0.92, n%10 != 0, n*bunch)
	}
	if low, high := trust.Believe(0.62), trust.Believe(0.92); low > 0.53 || high < 0.89 {
		t.Errorf("of a half and nine tenths: %.3f, %.3f", low, high)
	}
}
