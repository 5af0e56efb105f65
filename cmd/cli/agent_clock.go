package cli

import (
	"errors"
	"net/http"
	"time"

	"gridbroker/credential"
)

// clockWatch sees by the dates of a scheduler's answers how this machine's clock stands to that of the scheduler.
type clockWatch struct {
	http.RoundTripper
	now  func() time.Time
	last *credential.Clocks // nil: no answer had a date
}

// RoundTrip implements http.RoundTripper.
func (w *clockWatch) RoundTrip(req *http.Request) (*http.Response, error) {
	began := time.Now()
	resp, err := w.RoundTripper.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if c := credential.ClocksByAnswer(resp, w.now, time.Since(began)); c != nil {
		w.last = c
	}
	return resp, nil
}

// watchClock has a client look at the clock of whoever it asks. A nil client asks nobody.
func watchClock(client *http.Client, now func() time.Time) *clockWatch {
	w := &clockWatch{now: now}
	if client != nil {
		w.RoundTripper, client.Transport = client.Transport, w
	}
	return w
}

// check tells of clocks that differ: slots would begin at other times than the scheduler thinks, and
// of an agent whose clock is a minute ahead, or a TTL behind, nothing is taken.
func (w *clockWatch) check(l *checklist, scheduler string) {
	if w.last.Ahead() != 0 {
		l.try(errors.New(w.last.Finding(scheduler).What+"; set it by NTP"), "have the time of %s", scheduler)
	}
}
