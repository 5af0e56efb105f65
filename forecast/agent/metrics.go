package agent

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"gridbroker/batch"
)

// Metrics are an agent's figures for Prometheus.
type Metrics struct {
	registry            *prometheus.Registry
	looks, deltas, jobs *prometheus.CounterVec
	lookTime, sentBytes prometheus.Histogram
	slots, waiting      prometheus.Gauge
	running, bookings   prometheus.Gauge
	leftOut             prometheus.Gauge
	published           prometheus.Gauge
	unaccounted         prometheus.Counter
	learned, open       prometheus.Gauge
	drifts              prometheus.Gauge
	policies            *prometheus.GaugeVec
	misses              prometheus.Gauge
	loss                prometheus.Gauge
	ends                *prometheus.GaugeVec
}

// NewMetrics makes them.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry:    prometheus.NewRegistry(),
		looks:       prometheus.NewCounterVec(prometheus.CounterOpts{Name: "grid_agent_looks_total", Help: "Looks at the batch system."}, []string{"outcome"}),
		deltas:      prometheus.NewCounterVec(prometheus.CounterOpts{Name: "grid_agent_deltas_total", Help: "Deltas sent to the scheduler."}, []string{"kind", "outcome"}),
		jobs:        prometheus.NewCounterVec(prometheus.CounterOpts{Name: "grid_agent_jobs_total", Help: "What happened to local jobs between looks."}, []string{"event"}),
		lookTime:    prometheus.NewHistogram(prometheus.HistogramOpts{Name: "grid_agent_look_seconds", Help: "Time of one look at the batch system.", Buckets: prometheus.ExponentialBuckets(0.01, 2, 12)}),
		sentBytes:   prometheus.NewHistogram(prometheus.HistogramOpts{Name: "grid_agent_delta_bytes", Help: "Compressed size of deltas.", Buckets: prometheus.ExponentialBuckets(256, 4, 10)}),
		slots:       prometheus.NewGauge(prometheus.GaugeOpts{Name: "grid_agent_slots", Help: "Slots published."}),
		waiting:     prometheus.NewGauge(prometheus.GaugeOpts{Name: "grid_agent_local_waiting", Help: "Local jobs that wait."}),
		running:     prometheus.NewGauge(prometheus.GaugeOpts{Name: "grid_agent_local_running", Help: "Local jobs that run."}),
		bookings:    prometheus.NewGauge(prometheus.GaugeOpts{Name: "grid_agent_bookings", Help: "Bookings of the scheduler at this cluster."}),
		leftOut:     prometheus.NewGauge(prometheus.GaugeOpts{Name: "grid_agent_bookings_left_out", Help: "Bookings of the scheduler that are not believed: more than the cluster can have."}),
		published:   prometheus.NewGauge(prometheus.GaugeOpts{Name: "grid_agent_published_timestamp_seconds", Help: "When the scheduler last took a delta."}),
		unaccounted: prometheus.NewCounter(prometheus.CounterOpts{Name: "grid_agent_accounting_failures_total", Help: "Accounting did not answer."}),
		learned:     prometheus.NewGauge(prometheus.GaugeOpts{Name: "grid_agent_starts_learned", Help: "Starts of local jobs that the odds were learned from."}),
		open:        prometheus.NewGauge(prometheus.GaugeOpts{Name: "grid_agent_starts_promised", Help: "Local jobs foretold that have not started yet."}),
		drifts:      prometheus.NewGauge(prometheus.GaugeOpts{Name: "grid_agent_drifts", Help: "How often waits were found to come otherwise than before, of the last hundred times."}),
	}
	m.policies = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "grid_agent_policy_weight", Help: "How likely the batch system decides by a policy, where that is found out."}, []string{"policy"})
	m.misses = prometheus.NewGauge(prometheus.GaugeOpts{Name: "grid_agent_policy_misses", Help: "Share of local starts that the policy taken foretells otherwise than they come."})
	m.loss = prometheus.NewGauge(prometheus.GaugeOpts{Name: "grid_agent_local_loss", Help: "How much longer local jobs waited than without guests, as a share."})
	m.ends = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "grid_agent_certificate_end_seconds", Help: "Until the first of a kind ends: of the host certificate, the authorities, their revocation lists."}, []string{"kind"})
	m.registry.MustRegister(m.ends, m.loss, m.policies, m.misses, m.learned, m.open, m.drifts, m.looks, m.deltas, m.jobs, m.lookTime, m.sentBytes, m.slots, m.waiting, m.running, m.bookings, m.leftOut, m.published, m.unaccounted)
	return m
}

// Handler serves them.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// NoteEnd notes how long it is until the first of a kind of certificate ends.
func (m *Metrics) NoteEnd(kind string, left time.Duration) {
	m.ends.WithLabelValues(kind).Set(left.Seconds())
}

// synced counts what happened between two looks.
func (m *Metrics) synced(d batch.Synced) {
	for _, e := range [...]struct {
		event string
		n     int
	}{{"submitted", d.Submitted}, {"started", d.Started}, {"ended", d.Ended}, {"cancelled", d.Cancelled}, {"requeued", d.Requeued}, {"missed", d.Missed}} {
		m.jobs.WithLabelValues(e.event).Add(float64(e.n))
	}
}

// odds tells how much was learned.
func (m *Metrics) odds(learned int64, open, drifts int) {
	m.learned.Set(float64(learned))
	m.open.Set(float64(open))
	m.drifts.Set(float64(drifts))
}

// fitted tells how likely each policy is.
func (m *Metrics) fitted(f *batch.Fit) {
	weights := map[string]float64{}
	for _, w := range f.Weights() {
		weights[w.Policy.Name] += w.Weight
	}
	for name, w := range weights {
		m.policies.WithLabelValues(name).Set(w)
	}
	share, _ := f.Misses()
	m.misses.Set(share)
}
