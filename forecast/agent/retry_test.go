package agent

import (
	"errors"
	"net/http"
	"testing"
	"time"
)

// nowhere is the way to a scheduler that is not there.
type nowhere struct{}

func (nowhere) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("connection refused")
}

// However long a scheduler was away, it hears of the cluster soon after it is back.
func TestSchedulerIsBack(t *testing.T) {
	b := gap(t)
	a := b.agent()
	b.step(a)
	there := a.HTTP
	a.HTTP = &http.Client{Transport: nowhere{}}
	for range 20 * 60 {
		b.now = b.now.Add(time.Second)
		b.site.state.Now = b.now
		a.Step(t.Context()) // which may fail
	}
	a.HTTP = there
	before := b.c.beats + b.c.deltas
	for waited := time.Duration(0); b.c.beats+b.c.deltas == before; waited += time.Second {
		if waited > 11*time.Second {
			t.Fatalf("nothing is told for %v", waited)
		}
		b.now = b.now.Add(time.Second)
		b.site.state.Now = b.now
		b.step(a)
	}
}
