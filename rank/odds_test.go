package rank

import (
	"testing"
	"time"
)

// What is left of a wait is the mean of what is left of its quantiles, not less
// than nothing for any of them.
func TestExpectedWait(t *testing.T) {
	f := Forecast{Low: time.Minute, Median: 10 * time.Minute, High: time.Hour}
	near := func(name string, got, want float64) {
		t.Helper()
		if got < want-0.5 || got > want+0.5 {
			t.Errorf("%s: %.1f s, want %.1f", name, got, want)
		}
	}
	near("three quantiles", f.expected(0, 1), 0.3*60+0.4*600+0.3*3600)
	near("ten minutes later", f.expected(10*time.Minute, 1), 0.3*3000)
	near("twice as long as foretold", f.expected(0, 2), 2*(0.3*60+0.4*600+0.3*3600))
	f.Quantiles = []Quantile{{0.25, 0}, {0.5, 10 * time.Minute}, {0.75, 20 * time.Minute}}
	near("quantiles given", f.expected(0, 1), 0.25*600+0.375*1200)
	one := Forecast{Low: time.Minute, Median: time.Minute, High: time.Minute}
	near("one number", one.expected(30*time.Second, 1), 30)
	r := Ranked{Terms: []Term{{Weight: 1}, {Weight: 0.2, Quantiles: []Quantile{{0.5, 1}}}, {Weight: 0.5, Quantiles: []Quantile{{0.5, 2}}}}}
	if q := r.StartOdds(); len(q) != 1 || q[0].Wait != 2 {
		t.Errorf("the odds of the forecast with the most weight: %v", q)
	}
}
