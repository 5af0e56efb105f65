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

// A job that a silent broker was granted has its resources for as long as it may run, also after a crash of the manager; the
// broker is not asked any more about it once they are free again.
func TestOffersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newGrove(t, newAuthority(t), []int{-1}, []int{4})
		none := &deaf{}
		ctx, cancel := context.WithCancel(t.Context())
		j := jobsOf(1)[0]
		j.Broker, j.Need.Wall = "https://ui.example:7600", 600
		dir := t.TempDir()
		k, held, err := openKeeper(dir)
		if err == nil {
			held[j.ID] = &assignment{Job: j, Granted: true} // which a crash leaves
			err = errors.Join(k.put(held, held[j.ID]), k.close())
		}
		if err != nil {
			t.Fatal(err)
		}
		d, err := New(ctx, Config{Name: f.configs[0].Name, System: "here", Total: managers.Resources{CPUs: 4}, Dir: dir, Client: &http.Client{Transport: none}})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { defer close(ended); d.Run() }()
		time.Sleep(5 * time.Minute)
		if s := d.State(); len(s.Running) != 1 || s.Free.CPUs != 3 {
			t.Errorf("a granted job of 10 minutes after five: %v have resources, %v are free", s.Running, s.Free)
		}
		time.Sleep(time.Hour)
		before := none.asked.Load()
		time.Sleep(time.Hour)
		if s := d.State(); len(s.Running) > 0 || s.Free.CPUs != 4 || before == 0 || none.asked.Load() != before {
			t.Errorf("%v have resources; asked %d times, and %d times in the next hour", s.Running, before, none.asked.Load()-before)
		}
		cancel()
		<-ended
	})
}
