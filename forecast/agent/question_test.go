package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/plugins/forecast"
)

// A question says whose job it is: of a reservation it is told who may use it.
func TestQuestionsOfAUser(t *testing.T) {
	b := newBench(t)
	b.site.state.Reservations = []batch.Reservation{{
		Name: "course", Nodes: []string{"n0", "n1", "n2", "n3"}, Users: []string{"alice"}, Groups: []string{"course"}, Accounts: []string{"lab"},
		Start: b.now.Add(-time.Hour), End: b.now.Add(5 * time.Hour),
	}}
	a := b.agent()
	if err := a.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, v := range []struct {
		q    forecast.Question
		want float64
	}{
		{forecast.Question{}, 5 * 3600}, {forecast.Question{User: "bob", Group: "b", Account: "a"}, 5 * 3600},
		{forecast.Question{User: "alice"}, 0}, {forecast.Question{Group: "course"}, 0}, {forecast.Question{Account: "lab"}, 0},
	} {
		v.q.Schema, v.q.Procs, v.q.WallTime, v.q.Queues = forecast.Schema, 8, 600, []string{"all"}
		answer, err := a.Answer(v.q)
		if err != nil || len(answer.Starts) != 1 || answer.Starts[0].Median < v.want*0.9 || answer.Starts[0].Median > v.want*1.1 {
			t.Errorf("%+v: %+v, %v; want a wait of %g s", v.q, answer.Starts, err, v.want)
		}
	}
}

// A question costs a second and a run of the schedule, however much it asks; the
// same question again costs nothing.
func TestQuestionsHaveABudget(t *testing.T) {
	b := newBench(t)
	b.site.state.Queues = nil
	for i := range 50 {
		b.site.state.Queues = append(b.site.state.Queues, batch.Queue{Name: fmt.Sprint("q", i)})
	}
	a := b.agent()
	if err := a.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	q := forecast.Question{Schema: forecast.Schema, Procs: 8, WallTime: 600}
	if answer, err := a.Answer(q); err != nil || len(answer.Starts) != 50 {
		t.Fatalf("while no time goes by: %d of 50 queues, %v", len(answer.Starts), err)
	}
	looks := 0
	a.Now = func() time.Time {
		looks++
		return b.now.Add(time.Duration(looks) * 100 * time.Millisecond)
	}
	q.WallTime = 1200
	answer, err := a.Answer(q)
	if n := len(answer.Starts); err != nil || n < 1 || n > 10 || looks > 20 {
		t.Errorf("where every look at the clock takes a tenth of a second: %d queues after %d looks, %v", n, looks, err)
	}
	q.WallTime, q.Queues, looks = 600, []string{"q7"}, 0
	if answer, err := a.Answer(q); err != nil || len(answer.Starts) != 1 || looks > 1 {
		t.Errorf("asked again: %d queues after %d looks, %v", len(answer.Starts), looks, err)
	}
}

// Questions without end from one address keep nobody else from an answer, and
// what an asker has left behind is not worked out.
func TestFloodOfQuestions(t *testing.T) {
	b := newBench(t)
	a := b.agent()
	if err := a.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	a.Now = func() time.Time { // each look at the clock takes a while, and so does each question
		time.Sleep(50 * time.Millisecond)
		return b.now.Add(time.Since(began))
	}
	server := httptest.NewServer(a.Handler())
	defer server.Close()
	ask := func(ctx context.Context, from string, wall int) error {
		c := &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext, DisableKeepAlives: true}}
		body := fmt.Sprintf(`{"schema":%q,"procs":8,"wall_time":%d,"queues":["all"]}`, forecast.Schema, wall)
		req, err := http.NewRequestWithContext(ctx, "POST", server.URL+"/forecast", strings.NewReader(body))
		if err != nil {
			return err
		}
		resp, err := c.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != 200 {
			return errors.New(resp.Status)
		}
		return nil
	}
	alone := time.Now()
	if err := ask(t.Context(), "127.0.0.1", 500); err != nil {
		t.Fatal(err)
	}
	one := time.Since(alone)
	ctx, cancel := context.WithCancel(t.Context())
	var flood sync.WaitGroup
	for i := range 60 {
		flood.Go(func() { ask(ctx, "127.0.0.2", 600+i) })
	}
	time.Sleep(100 * time.Millisecond)
	since := time.Now()
	if err := ask(t.Context(), "127.0.0.1", 5000); err != nil {
		t.Error(err)
	}
	if took := time.Since(since); took > 6*one+time.Second {
		t.Errorf("one question takes %v, beside a flood %v", one, took)
	}
	cancel()
	flood.Wait()
	since = time.Now()
	if err := ask(t.Context(), "127.0.0.2", 7000); err != nil {
		t.Error(err)
	}
	if took := time.Since(since); took > 6*one+time.Second {
		t.Errorf("one question takes %v, after an abandoned flood %v", one, took)
	}
}
