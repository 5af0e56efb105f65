package ask

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"gridbroker/glue"
	"gridbroker/rank"
)

// oneStrike opens after one failure.
type oneStrike map[string]error

func (o oneStrike) Open(service string) error { return o[service] }

func (o oneStrike) Done(service string, err error) {
	if err != nil {
		o[service] = err
	}
}

// slow answers for one endpoint and not for another.
type slow struct{ asked map[string]int }

func (s *slow) Name() string { return "slow" }

func (s *slow) QueueLengths(_ context.Context, rs []*glue.Resource) (map[string]rank.QueueLength, error) {
	url := rs[0].Endpoints[0].URL
	s.asked[url]++
	if url == "x:dead" {
		return nil, errors.New("no answer")
	}
	return map[string]rank.QueueLength{rs[0].ID: {Source: url}}, nil
}

func TestGuard(t *testing.T) {
	at := func(id, url, iface string) *glue.Resource {
		return &glue.Resource{ID: id, Endpoints: []glue.Endpoint{{URL: url, Interface: iface}}}
	}
	s := &slow{asked: map[string]int{}}
	q := Guard{Breaker: oneStrike{}, Interfaces: []string{"x"}, Timeout: time.Minute}.QueueLengther(s)
	for _, url := range []string{"x:dead", "x:alive"} { // one after the other: the stand-ins count without a lock
		for range 3 {
			got, err := q.QueueLengths(t.Context(), []*glue.Resource{at("r", url, "x"), at("other", "y:", "y")})
			if (url == "x:dead") != (err != nil) || (url == "x:alive") != (got["r"].Source == url) {
				t.Errorf("%s: %v %v", url, got, err)
			}
		}
	}
	if s.asked["x:dead"] != 1 || s.asked["x:alive"] != 3 || s.asked["y:"] != 0 {
		t.Errorf("asked %v", s.asked)
	}
}

// silent answers nothing until its time is over, and then tells no more than that what it asked was ended.
type silent struct{ slow }

func (s *silent) QueueLengths(ctx context.Context, rs []*glue.Resource) (map[string]rank.QueueLength, error) {
	s.asked[rs[0].Endpoints[0].URL]++
	<-ctx.Done()
	return nil, errors.New("squeue: signal: killed")
}

// A back-end's endpoint that is silent is named, counted, and then left alone; one that nobody waits for any more is not counted.
func TestGuardOfTheSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &silent{slow{map[string]int{}}}
		q := Guard{Breaker: oneStrike{}, Interfaces: []string{"x"}, Timeout: 7 * time.Second}.QueueLengther(s)
		about := []*glue.Resource{{ID: "r", Endpoints: []glue.Endpoint{{URL: "x:silent", Interface: "x"}}}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for _, c := range []struct {
			ctx   context.Context
			takes time.Duration
			said  string
		}{
			{ctx, time.Second, "squeue: signal: killed"},
			{t.Context(), 7 * time.Second, "x:silent: no answer within 7s"},
			{t.Context(), 0, "x:silent: not asked: x:silent: no answer within 7s"},
		} {
			began := time.Now()
			_, err := q.QueueLengths(c.ctx, about)
			if took := time.Since(began); took != c.takes || err == nil || err.Error() != c.said {
				t.Errorf("after %v: %v, want %s", took, err, c.said)
			}
		}
		if s.asked["x:silent"] != 2 {
			t.Errorf("asked %d times", s.asked["x:silent"])
		}
	})
}
