package scheduler

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are what a monitoring system is told.
type Metrics struct {
	registry *prometheus.Registry
	took     *prometheus.HistogramVec
	jobs     *prometheus.GaugeVec
	slots    prometheus.Gauge
	booked   prometheus.Counter
	messages prometheus.Counter
	replans  prometheus.Counter
	off      *prometheus.HistogramVec
	age      *prometheus.GaugeVec
	bare     *prometheus.GaugeVec
	leader   prometheus.Gauge
	ahead    prometheus.Gauge
	ends     *prometheus.GaugeVec
	deltas   *prometheus.CounterVec
	actions  *prometheus.CounterVec
	owed     *prometheus.GaugeVec
	answers  *prometheus.CounterVec
}

func newMetrics() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	name := func(n, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: "grid", Subsystem: "scheduler", Name: n, Help: help}
	}
	histogram := func(n, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "grid", Subsystem: "scheduler", Name: n, Help: help, Buckets: buckets}, labels)
	}
	m.took = histogram("cycle_seconds", "Time of a cycle, by part.", prometheus.ExponentialBuckets(0.0005, 2, 16), "part")
	m.off = histogram("start_offset_seconds", "Start of a job after that booked.", []float64{-60, -10, -1, 1, 5, 15, 60, 300, 1800}, "cluster")
	m.jobs = prometheus.NewGaugeVec(prometheus.GaugeOpts(name("jobs", "Jobs that have not ended.")), []string{"state"})
	m.age = prometheus.NewGaugeVec(prometheus.GaugeOpts(name("schedule_age_seconds", "Age of a cluster's schedule.")), []string{"cluster"})
	m.bare = prometheus.NewGaugeVec(prometheus.GaugeOpts(name("nodes_without_features", "Nodes of a cluster whose features and GPUs do not count, as there are too many.")), []string{"cluster"})
	m.slots = prometheus.NewGauge(prometheus.GaugeOpts(name("slots", "Slots planned with.")))
	m.leader = prometheus.NewGauge(prometheus.GaugeOpts(name("leader", "1 while this replica leads.")))
	m.ahead = prometheus.NewGauge(prometheus.GaugeOpts(name("clock_ahead_seconds", "This machine's clock less that of the database.")))
	m.ends = prometheus.NewGaugeVec(prometheus.GaugeOpts(name("certificate_end_seconds", "Until the first of a kind ends: of the host certificate, the authorities, their revocation lists.")), []string{"kind"})
	m.booked = prometheus.NewCounter(prometheus.CounterOpts(name("bookings_total", "Bookings made.")))
	m.replans = prometheus.NewCounter(prometheus.CounterOpts(name("replans_total", "Bookings not kept.")))
	m.messages = prometheus.NewCounter(prometheus.CounterOpts(name("messages_total", "Messages taken.")))
	m.deltas = prometheus.NewCounterVec(prometheus.CounterOpts(name("deltas_total", "Deltas of agents, by outcome.")), []string{"outcome"})
	m.actions = prometheus.NewCounterVec(prometheus.CounterOpts(name("actions_total", "Actions of the outbox, by verb and outcome.")), []string{"verb", "outcome"})
	m.owed = prometheus.NewGaugeVec(prometheus.GaugeOpts(name("actions_owed", "Actions of the outbox that are to be done by now, or again after they were tried, by verb.")), []string{"verb"})
	m.answers = prometheus.NewCounterVec(prometheus.CounterOpts(name("answers_total", "Requests over HTTP that were answered, by method and code.")), []string{"method", "code"})
	m.registry.MustRegister(m.took, m.off, m.jobs, m.age, m.bare, m.slots, m.leader, m.ahead, m.ends, m.booked, m.replans, m.messages, m.deltas, m.actions, m.owed, m.answers)
	return m
}

// Handler serves them.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// NoteEnds makes what notes for monitors how long it is until the first of a kind of certificate ends.
func NoteEnds(s *Scheduler) func(kind string, left time.Duration) {
	return func(kind string, left time.Duration) { s.meter.ends.WithLabelValues(kind).Set(left.Seconds()) }
}

func (m *Metrics) start(cluster string, off int64) {
	m.off.WithLabelValues(cluster).Observe(float64(off))
}

func (m *Metrics) cycle(w *work) {
	r := w.report
	m.took.WithLabelValues("all").Observe(r.Took.Seconds())
	m.took.WithLabelValues("planning").Observe(r.Planning.Seconds())
	m.slots.Set(float64(r.Slots))
	m.booked.Add(float64(r.Booked))
	m.messages.Add(float64(r.Messages))
	for _, e := range w.log {
		if e.Event == "replan" {
			m.replans.Inc()
		}
	}
	count := map[State]int{Waiting: len(w.mem.jobs.waits()), Booked: 0, Sent: 0, Running: 0, Collecting: 0}
	for _, e := range w.mem.jobs.places() {
		count[e.State]++
	}
	for state, n := range count {
		m.jobs.WithLabelValues(string(state)).Set(float64(n))
	}
	for name, c := range w.mem.clusters {
		if c.gone {
			continue
		}
		m.age.WithLabelValues(name).Set(float64(w.now.Unix() - c.made))
		m.bare.WithLabelValues(name).Set(float64(c.bare))
	}
}
