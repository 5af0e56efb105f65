package rank_test

import (
	"math"
	"testing"

	"gridbroker/jdl"
	"gridbroker/rank"
)

// A formula is refused with an error, or it gives finite scores; it never
// panics and never runs away.
func FuzzFormula(f *testing.F) {
	for _, seed := range []string{"-completion", "orElse(free, 0) * 1e300 * 1e300", "len(1..1000000000)", "tags | map(len(#)) | sum()",
		"site == 'x' ? rank : -wait", "known(rank) ? 1/0 : 0 % 0", "let x = free; x ^ x ^ x", "((((", "memory +"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := rank.ParsePolicy("formula:"+text, rank.DefaultModel())
		if err != nil {
			return
		}
		got, dropped := p.NewField(&jdl.Job{}, now, idle(3), rank.NewTally(), nil).Order(seeded(1), 0)
		if len(got)+len(dropped) != 3 {
			t.Errorf("%d ranked and %d dropped of 3", len(got), len(dropped))
		}
		for _, r := range got {
			if math.IsNaN(r.Score) || math.IsInf(r.Score, 0) {
				t.Errorf("score %v", r.Score)
			}
		}
	})
}
