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
			told, risk := r.Float64(), 0.5+r.Float64()
			published := trust.Believe(told, risk)
			kept := r.Float64() < truth(max(0, 1-risk*(1-told)))
			trust.Count(told, risk, kept, int64(n)*bunch)
			if n < 20_000 { // until then it learns
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
	if plain, deep := new(Trust).Believe(0.7, 1), new(Trust).Believe(0.7, 1.5); math.Abs(plain-0.7) > 1e-12 || math.Abs(deep-0.55) > 1e-12 {
		t.Errorf("before anything is known: %v, %v", plain, deep)
	}
}

// One bad hour of a chance that is seldom told is no reason to tell it apart from what
// many others came to; what is long known is told for itself.
func TestTrustWantsEnough(t *testing.T) {
	var trust Trust
	for n := range int64(4000) {
		trust.Count(0.9, 1, n%10 != 0, n/40*bunch)
	}
	for range 40 {
		trust.Count(0.62, 1, false, 0)
	}
	if got := trust.Believe(0.62, 1); got < 0.55 {
		t.Errorf("after one bad hour of 0.62 told %.3f", got)
	}
	for n := range int64(1500) {
		trust.Count(0.62, 1, n%4 == 0, n*bunch)
		trust.Count(0.9, 1, n%10 != 0, n*bunch)
	}
	if low, high := trust.Believe(0.62, 1), trust.Believe(0.9, 1); math.Abs(low-0.25) > 0.05 || math.Abs(high-0.9) > 0.03 {
		t.Errorf("of a quarter and nine tenths: %.3f, %.3f", low, high)
	}
}
