package cli

import (
	"fmt"
	"net/http"
	"slices"

	"gridbroker/broker"
	"gridbroker/credential"
	"gridbroker/plugins"
	"gridbroker/plugins/ask"
	"gridbroker/plugins/forecast"
	"gridbroker/plugins/history"
	"gridbroker/plugins/monitor"
	"gridbroker/plugins/queuelen"
)

// services opens what is asked about resources that passed the filters. What
// the registry knows of silent services and of past errors is used where h is
// not nil.
func newServices(d *deps, c config, b *plugins.Registry, h *history.Registry) (broker.Services, error) {
	within := c.Deadline.Duration * 7 / 16 // who is silent is told apart from who was asked too late: the term of all is half
	client := &ask.Client{HTTP: ask.Bound(transport(d), named(c), func() (*credential.Trust, error) { return serviceTrust(d) }), Timeout: within}
	if h != nil {
		client.Breaker = h.Services()
	}
	var s broker.Services
	lengths := &queuelen.Client{Ask: client, Now: d.env.Now}
	starts := &forecast.Client{Ask: client, Now: d.env.Now}
	var err error
	if lengths.Subjects, err = subjects(c.Services.QueueLengths, queuelen.Schemes); err != nil {
		return s, fmt.Errorf("queue_lengths: %w", err)
	}
	if starts.Subjects, err = subjects(c.Services.Forecasts, forecast.Schemes); err != nil {
		return s, fmt.Errorf("forecasts: %w", err)
	}
	s.QueueLengthers, s.Forecasters = []plugins.QueueLengther{lengths}, []plugins.Forecaster{starts}
	addBackends(&s, b, client)
	if h != nil {
		for i, f := range s.Forecasters {
			s.Forecasters[i] = forecast.Corrected{Forecaster: f, Correct: h.Correct}
		}
		s.Historians, s.Estimators = []plugins.Historian{h}, []plugins.Estimator{h}
	}
	for _, raw := range c.Services.Monitors {
		m, err := monitor.Open(raw, monitor.Options{Ask: client, Now: d.env.Now})
		if err != nil {
			return s, fmt.Errorf("monitors: %w", err)
		}
		s.Monitors = append(s.Monitors, m)
	}
	return s, nil
}

// named lists the services and sources that the user has named: their hosts are
// asked wherever they are.
func named(c config) []string {
	all := slices.Concat(c.Sources, c.Services.Monitors)
	for _, entry := range slices.Concat(c.Services.QueueLengths, c.Services.Forecasts) {
		if subject, err := ask.ParseSubject(entry, slices.Concat(queuelen.Schemes, forecast.Schemes)...); err == nil {
			all = append(all, subject.URL)
		}
	}
	return all
}

// trust are the authorities that services are believed by.
func serviceTrust(d *deps) (*credential.Trust, error) {
	set, err := trusting(credentialSet(d))
	if err != nil {
		return nil, err
	}
	return set.Trust, nil
}

// transport is that of services that tell about resources: no credential is
// sent to them.
func transport(d *deps) *credential.Transport {
	t := credential.Wary(http.DefaultTransport.(*http.Transport).Clone())
	t.MaxIdleConnsPerHost = 4
	return t
}

func subjects(entries, schemes []string) ([]ask.Subject, error) {
	var all []ask.Subject
	for _, e := range entries {
		s, err := ask.ParseSubject(e, schemes...)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// addBackends adds what the back-ends themselves tell about their resources;
// endpoints that do not answer are left alone for a while, as services are, where
// there is a breaker.
func addBackends(s *broker.Services, b *plugins.Registry, as *ask.Client) {
	for _, back := range b.All() {
		guard := ask.Guard{Breaker: as.Breaker, Interfaces: back.Interfaces, Timeout: as.Timeout}
		if q, ok := back.Submitter.(plugins.QueueLengther); ok {
			if as.Breaker != nil {
				q = guard.QueueLengther(q)
			}
			s.QueueLengthers = append(s.QueueLengthers, q)
		}
		if f, ok := back.Submitter.(plugins.Forecaster); ok {
			if as.Breaker != nil {
				f = guard.Forecaster(f)
			}
			s.Forecasters = append(s.Forecasters, f)
		}
	}
}
