package cli

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"gridbroker/jobs"
)

// followFigures are those of grid follow for Prometheus.
type followFigures struct {
	registry *prometheus.Registry
	jobs     *prometheus.GaugeVec
	changes  *prometheus.CounterVec
	passes   *prometheus.CounterVec
	took     prometheus.Histogram
	last     prometheus.Gauge
}

func newFollowFigures() *followFigures {
	f := &followFigures{
		registry: prometheus.NewRegistry(),
		jobs:     prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "grid_follow_jobs", Help: "Jobs that are followed."}, []string{"state"}),
		changes:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "grid_follow_changes_total", Help: "Changes of jobs, by the state they came to."}, []string{"state"}),
		passes:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "grid_follow_passes_total", Help: "Looks at all jobs."}, []string{"outcome"}),
		took:     prometheus.NewHistogram(prometheus.HistogramOpts{Name: "grid_follow_pass_seconds", Help: "Time of one look at all jobs.", Buckets: prometheus.ExponentialBuckets(0.01, 2, 14)}),
		last:     prometheus.NewGauge(prometheus.GaugeOpts{Name: "grid_follow_last_success_timestamp_seconds", Help: "When a look last went well."}),
	}
	f.registry.MustRegister(f.jobs, f.changes, f.passes, f.took, f.last,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return f
}

func (f *followFigures) handler() http.Handler {
	return promhttp.HandlerFor(f.registry, promhttp.HandlerOpts{})
}

// changed counts a job that came to a state.
func (f *followFigures) changed(o *jobs.Outcome) { f.changes.WithLabelValues(string(o.State)).Inc() }

// passed tells of one look, begun at a time and ended now.
func (f *followFigures) passed(os []*jobs.Outcome, began, now time.Time, err error) {
	f.took.Observe(now.Sub(began).Seconds())
	outcome := "failed"
	if err == nil {
		outcome = "done"
		f.last.Set(float64(now.Unix()))
	}
	f.passes.WithLabelValues(outcome).Inc()
	f.jobs.Reset()
	for _, o := range os {
		f.jobs.WithLabelValues(string(o.State)).Inc()
	}
}
