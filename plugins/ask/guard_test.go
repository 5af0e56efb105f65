package ask

import (
	"context"
	"errors"
	"testing"

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
	q := Guard{Breaker: oneStrike{}, Interfaces: []string{"x"}}.QueueLengther(s)
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
