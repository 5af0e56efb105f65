package predict

import (
	"math"
	"testing"
)

// The quantiles of a mixture are those of the distributions that it is of, each
// with its chance: its chance at them says so, and they lie no nearer together than
// where only one policy is believed.
func TestMixed(t *testing.T) {
	var base [nLevels]float64
	for k, p := range levels {
		base[k] = 7 + 0.5*probit(p)
	}
	o := Outlook{Waits: make([]int64, members)}
	for i := range o.Waits {
		o.Waits[i] = int64(unscale(7))
	}
	d := spread(base)
	if mixed(d, &o) != d {
		t.Error("without a doubt it is another")
	}
	for _, shift := range []float64{-7, -3, -0.5, 0.5, 3} {
		for _, chance := range []float64{0.05, 0.3, 0.5} {
			o.Others = []Other{{int64(unscale(7 + shift)), chance}}
			m := mixed(d, &o)
			at := d.at
			for k := range at {
				at[k] += shift
			}
			other := spread(at)
			for k, p := range levels {
				x := unscale(m.at[k])
				if got := (1-chance)*d.Chance(x) + chance*other.Chance(x); math.Abs(got-p) > 0.02 && m.at[k] > 0.01 && math.Abs(m.at[k]-m.at[max(0, k-1)]) > 0.02 {
					t.Errorf("shift %v, chance %v: level %v has chance %.3f", shift, chance, p, got)
				}
			}
			if was, is := d.at[nLevels-2]-d.at[1], m.at[nLevels-2]-m.at[1]; is < was-0.01 {
				t.Errorf("shift %v, chance %v: width %.3f, was %.3f", shift, chance, is, was)
			}
		}
	}
}
