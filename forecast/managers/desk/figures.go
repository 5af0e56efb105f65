package desk

import (
	"github.com/prometheus/client_golang/prometheus"

	"gridbroker/forecast/managers"
)

var (
	jobsFigure  = prometheus.NewDesc("grid_manager_desk_jobs", "Jobs of users at this manager's desk.", []string{"state"}, nil)
	usersFigure = prometheus.NewDesc("grid_manager_desk_users", "Users who have jobs at this manager's desk.", nil, nil)
)

// Describe implements prometheus.Collector.
func (d *Desk) Describe(to chan<- *prometheus.Desc) {
	to <- jobsFigure
	to <- usersFigure
}

// Collect implements prometheus.Collector: jobs by state, and how many users have any. It tells no names.
func (d *Desk) Collect(to chan<- prometheus.Metric) {
	d.mu.Lock()
	defer d.mu.Unlock()
	counts := map[managers.UserState]int{managers.UserWaits: 0, managers.UserAway: 0, managers.UserAssigned: 0, managers.UserClaimed: 0, managers.UserEnded: 0, managers.UserGone: 0}
	for _, j := range d.jobs {
		counts[d.tell(j).State]++
	}
	for is, n := range counts {
		to <- prometheus.MustNewConstMetric(jobsFigure, prometheus.GaugeValue, float64(n), string(is))
	}
	to <- prometheus.MustNewConstMetric(usersFigure, prometheus.GaugeValue, float64(len(d.users)))
}
