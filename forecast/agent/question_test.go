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
	"sync/atomic"
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
	var looks, come, cost atomic.Int64
	a.Now = func() time.Time { // each look at the clock takes a while, and so does each question
		looks.Add(1)
		time.Sleep(50 * time.Millisecond)
		return b.now.Add(time.Since(began))
	}
	handler := a.Handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		come.Add(1)
		before := looks.Load()
		handler.ServeHTTP(w, r)
		if r.Header.Get("Counted") != "" {
			cost.Store(looks.Load() - before)
		}
	}))
	defer server.Close()
	ask := func(ctx context.Context, from string, wall int, counted string) error {
		c := &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext, DisableKeepAlives: true}}
		body := fmt.Sprintf(`{"schema":%q,"procs":8,"wall_time":%d,"queues":["all"]}`, forecast.Schema, wall)
		req, err := http.NewRequestWithContext(ctx, "POST", server.URL+"/forecast", strings.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Counted", counted)
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
	// costs is how often the agent looked at its clock from a question's coming to its answer.
	costs := func(from string, wall int) int64 {
		t.Helper()
		if err := ask(t.Context(), from, wall, "yes"); err != nil {
			t.Error(err)
		}
		return cost.Load()
	}
	one := costs("127.0.0.1", 500)
	ctx, cancel := context.WithCancel(t.Context())
	var flood sync.WaitGroup
	for i := range 60 {
		flood.Go(func() { ask(ctx, "127.0.0.2", 600+i, "") })
	}
	for come.Load() < 31 {
		time.Sleep(time.Millisecond)
	}
	if n := costs("127.0.0.1", 5000); n > 12*one {
		t.Errorf("one question costs %d looks, beside a flood %d", one, n)
	}
	cancel()
	flood.Wait()
	if n := costs("127.0.0.2", 7000); n > 12*one {
		t.Errorf("one question costs %d looks, after an abandoned flood %d", one, n)
	}
	t.Log(one, cost.Load())
}

// Two questions of one address are worked on at a time, the next when one of them is answered; another address does not
// wait for them.
func TestTwoQuestionsOfAnAddress(t *testing.T) {
	b := newBench(t)
	a := b.agent()
	if err := a.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	var under atomic.Int64
	gate := make(chan struct{})
	a.Now = func() time.Time { // where each question stops
		under.Add(1)
		<-gate
		return b.now
	}
	handler := a.Handler()
	var all sync.WaitGroup
	ask := func(from string) {
		body := fmt.Sprintf(`{"schema":%q,"procs":8,"wall_time":500,"queues":["all"]}`, forecast.Schema)
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/forecast", strings.NewReader(body))
		r.RemoteAddr = from + ":1234"
		w := httptest.NewRecorder()
		if handler.ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", from, w.Code, w.Body)
		}
	}
	reach := func(n int64) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); under.Load() < n && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		}
		time.Sleep(50 * time.Millisecond) // in which one more would come
		if got := under.Load(); got != n {
			t.Errorf("%d are worked on, not %d", got, n)
		}
	}
	for range 4 {
		all.Go(func() { ask("192.0.2.1") })
	}
	reach(2)
	all.Go(func() { ask("192.0.2.2") })
	reach(3)
	close(gate)
	all.Wait()
}
