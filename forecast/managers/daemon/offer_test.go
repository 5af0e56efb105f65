package daemon

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
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
			held[j.Key()] = &assignment{Job: j, Granted: true} // which a crash leaves
			err = errors.Join(k.put(held, held[j.Key()]), k.close())
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

// roundTrip is a network of one answer.
type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// An offer of an attempt that has no resources here any more is not made, and what a broker says of one takes
// nothing from the next attempt, which came meanwhile.
func TestOffersAreOfTheirAttempt(t *testing.T) {
	job := managers.Key{Broker: "https://ui.example:1", ID: "j"}
	first := assignment{Job: managers.Job{ID: job.ID, Broker: job.Broker, Attempt: 1}}
	next := &assignment{Job: first.Job}
	next.Job.Attempt = 2
	for name, c := range map[string]struct {
		held, meanwhile *assignment
		asked           int
	}{
		"over before it is made": {next, next, 0},
		"over while it is made":  {&first, next, 1},
		"it is held":             {&first, &first, 1},
	} {
		d, asked := lonely(t), 0
		d.held[job] = c.held
		d.config.Client = &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			asked++
			d.mu.Lock()
			defer d.mu.Unlock()
			d.held[job] = c.meanwhile
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"granted":false,"ended":true}`))}, nil
		})}
		d.offer(first)
		if got := d.held[job]; asked != c.asked || (got == next) != (c.meanwhile == next) || c.meanwhile == &first && got != nil {
			t.Errorf("%s: asked %d times, and %+v has its resources", name, asked, got)
		}
	}
}

// What a silent broker was only offered is not taken back as what it was granted is: it may be granting it.
func TestOnlyGrantedJobsAreOverdue(t *testing.T) {
	d := lonely(t)
	const broker = "https://ui.example:1"
	d.brokers[broker] = &acquaintance{heard: time.Now().Add(-2 * maxHold)}
	d.brokers["https://heard.example:1"] = &acquaintance{heard: time.Now()}
	for id, a := range map[managers.ID]*assignment{
		"granted": {Job: managers.Job{Broker: broker}, Granted: true},
		"offered": {Job: managers.Job{Broker: broker}},
		"heard":   {Job: managers.Job{Broker: "https://heard.example:1"}, Granted: true},
		"unknown": {Job: managers.Job{Broker: "https://unknown.example:1"}, Granted: true},
	} {
		a.Job.ID = id
		d.held[a.Job.Key()] = a
	}
	if list := overdue(d); len(list) != 1 || list[0].ID != "granted" {
		t.Errorf("overdue are %v", list)
	}
}
