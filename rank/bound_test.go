package rank_test

import (
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/rank"
)

// A bound is as sure as the pass of a scheduler at least: "at once" of a scheduler is
// no guess of half an hour, or replanning would never believe it.
func TestAtMost(t *testing.T) {
	for _, c := range []struct{ wait, least, most time.Duration }{
		{0, 15 * time.Second, time.Minute},
		{-time.Hour, 15 * time.Second, time.Minute}, // a start that is over is one at once
		{time.Hour, 20 * time.Minute, 30 * time.Minute},
	} {
		f := rank.AtMost(now, now.Add(5*time.Minute), c.wait)
		if f.Made != now || f.GoodUntil != now.Add(5*time.Minute) || f.Median != max(0, c.wait) || f.Low > f.Median || f.High < f.Median {
			t.Errorf("%v: %+v", c.wait, f)
		}
		cs := []rank.Candidate{{Resource: &glue.Resource{ID: "a"}, Forecasts: []rank.Forecast{f}}}
		for _, term := range order(t, "hybrid", &jdl.Job{}, cs, seeded(1))[0].Terms {
			told := time.Duration(term.Uncertainty * float64(time.Second))
			if term.Name == rank.TermForecast && (told < c.least || told > c.most) {
				t.Errorf("%v: unsure by %v, want %v to %v", c.wait, told, c.least, c.most)
			}
		}
	}
}
