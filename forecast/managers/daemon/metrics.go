package daemon

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// figures are a manager's for Prometheus: counters of what it did, and how things
// stand, read when they are asked for.
type figures struct {
	registry *prometheus.Registry
	starts   prometheus.Counter
	messages prometheus.Counter
	ends     *prometheus.GaugeVec
	state    func() State
}

var (
	waitingFigure = prometheus.NewDesc("grid_manager_jobs", "Jobs at this manager.", []string{"state"}, nil)
	linksFigure   = prometheus.NewDesc("grid_manager_links", "Links to other managers.", []string{"role", "up"}, nil)
	cpusFigure    = prometheus.NewDesc("grid_manager_cpus", "Processors of the own system.", []string{"state"}, nil)
)

func newFigures(state func() State) *figures {
	f := &figures{
		registry: prometheus.NewRegistry(), state: state,
		starts:   prometheus.NewCounter(prometheus.CounterOpts{Name: "grid_manager_starts_total", Help: "Jobs that got resources of the own system."}),
		messages: prometheus.NewCounter(prometheus.CounterOpts{Name: "grid_manager_messages_total", Help: "Messages sent to other managers."}),
	}
	f.ends = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "grid_manager_certificate_end_seconds", Help: "Until the first of a kind ends: of the host certificate, the authorities."}, []string{"kind"})
	f.registry.MustRegister(f, f.starts, f.messages, f.ends)
	return f
}

// NoteEnds makes what notes for monitors how long it is until the first of a kind of certificate ends.
func NoteEnds(d *Daemon) func(kind string, left time.Duration) {
	return func(kind string, left time.Duration) { d.figures.ends.WithLabelValues(kind).Set(left.Seconds()) }
}

// Describe implements prometheus.Collector.
func (f *figures) Describe(to chan<- *prometheus.Desc) {
	to <- waitingFigure
	to <- linksFigure
	to <- cpusFigure
}

// Collect implements prometheus.Collector.
func (f *figures) Collect(to chan<- prometheus.Metric) {
	s := f.state()
	gauge := func(what *prometheus.Desc, n int, labels ...string) {
		to <- prometheus.MustNewConstMetric(what, prometheus.GaugeValue, float64(n), labels...)
	}
	gauge(waitingFigure, len(s.Waiting), "waiting")
	gauge(waitingFigure, len(s.Running), "running")
	links := map[[2]string]int{{"child", "yes"}: 0, {"child", "no"}: 0, {"parent", "yes"}: 0, {"parent", "no"}: 0}
	for _, r := range s.Rows {
		up := "no"
		if r.Up {
			up = "yes"
		}
		links[[2]string{r.Role, up}]++
	}
	for labels, n := range links {
		gauge(linksFigure, n, labels[:]...)
	}
	gauge(cpusFigure, s.Free.CPUs, "free")
	gauge(cpusFigure, s.Total.CPUs, "all")
}

// AddFigures adds those of what serves beside a manager.
func AddFigures(d *Daemon, c prometheus.Collector) { d.figures.registry.MustRegister(c) }

// Figures serves the manager's figures to Prometheus: jobs that wait and run,
// links, processors, starts and messages. It tells no names, and asks for no
// certificate.
func (d *Daemon) Figures() http.Handler {
	return promhttp.HandlerFor(d.figures.registry, promhttp.HandlerOpts{})
}
