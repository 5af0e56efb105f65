package rank

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// settings are the numbers of the model a configuration may replace: weights
// are plain numbers, times are seconds.
var settings = map[string]func(*Model, float64){
	"wait":            func(m *Model, v float64) { m.WaitWeight = v },
	"run":             func(m *Model, v float64) { m.RunWeight = v },
	"stage_in":        func(m *Model, v float64) { m.StageInWeight = v },
	"drift":           func(m *Model, v float64) { m.Drift = v },
	"near":            func(m *Model, v float64) { m.Near = secondsOf(v) },
	"prior_wait":      func(m *Model, v float64) { m.PriorWait = secondsOf(v) },
	"prior_run":       func(m *Model, v float64) { m.PriorRun = secondsOf(v) },
	"prior_success":   func(m *Model, v float64) { m.PriorSuccess = min(v, 1) },
	"prior_jobs":      func(m *Model, v float64) { m.PriorJobs = v },
	"forecast_error":  func(m *Model, v float64) { m.ForecastError = secondsOf(v) },
	"queue_error":     func(m *Model, v float64) { m.QueueError = secondsOf(v) },
	"counters_error":  func(m *Model, v float64) { m.CountersError = secondsOf(v) },
	"published_error": func(m *Model, v float64) { m.PublishedError = secondsOf(v) },
	"prior_error":     func(m *Model, v float64) { m.PriorError = secondsOf(v) },
	"near_file":       func(m *Model, v float64) { m.NearFile = secondsOf(v) },
	"far_file":        func(m *Model, v float64) { m.FarFile = secondsOf(v) },
	"deploy":          func(m *Model, v float64) { m.Deploy = secondsOf(v) },
	"warning":         func(m *Model, v float64) { m.WarningFactor = min(v, 1) },
}

func secondsOf(v float64) time.Duration { return time.Duration(v * float64(time.Second)) }

// With returns the model with settings replaced. They must be known, finite
// and not negative, and below 1e9.
func (m Model) With(values map[string]float64) (Model, error) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		set, ok := settings[name]
		if !ok {
			known := slices.Sorted(maps.Keys(settings))
			return m, fmt.Errorf("no such weight: %s (known: %s)", name, strings.Join(known, ", "))
		}
		v := values[name]
		if math.IsNaN(v) || v < 0 || v > 1e9 {
			return m, fmt.Errorf("weight %s = %v: must be between 0 and 1e9", name, v)
		}
		set(&m, v)
	}
	return m, nil
}
