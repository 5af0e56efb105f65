package daemon

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gridbroker/forecast/managers"
)

// deaf is a network on which nobody answers.
type deaf struct{ asked atomic.Int32 }

// RoundTrip implements http.RoundTripper.
func (d *deaf) RoundTrip(*http.Request) (*http.Response, error) {
	d.asked.Add(1)
	return nil, errors.New("connection refused")
}

// A broker is not asked any more about a job whose resources are free again, as it was silent for too long.
func TestOffersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newGrove(t, newAuthority(t), []int{-1}, []int{4})
		none := &deaf{}
		ctx, cancel := context.WithCancel(t.Context())
		d, err := New(ctx, Config{Name: f.configs[0].Name, System: "here", Total: managers.Resources{CPUs: 4}, Dir: t.TempDir(), Client: &http.Client{Transport: none}})
		if err != nil {
			t.Fatal(err)
		}
		j := jobsOf(1)[0]
		j.Broker, j.Need.Wall = "https://ui.example:7600", 600
		d.held[j.ID] = &assignment{Job: j, Granted: true} // as one that a crash left
		ended := make(chan struct{})
		go func() { defer close(ended); d.Run() }()
		time.Sleep(time.Hour)
		before := none.asked.Load()
		time.Sleep(time.Hour)
		if s := d.State(); len(s.Running) > 0 || before == 0 || none.asked.Load() != before {
			t.Errorf("%v have resources; asked %d times, and %d times in the next hour", s.Running, before, none.asked.Load()-before)
		}
		cancel()
		<-ended
	})
}
