package scheduler

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"testing"
	"time"
)

// The overview of a second is drawn once for all who look, and who waits for
// his turn goes away with his request.
func TestOverviewIsDrawnOnceForAll(t *testing.T) {
	d := newDay(t, 2, 4, 1, 6*time.Hour)
	members, err := d.store.Members(t.Context(), d.now.Unix())
	if err != nil {
		t.Fatal(err)
	}
	c := &charts{turn: make(chan struct{}, 1)}
	look := func(query string) *Band {
		q, _ := url.ParseQuery(query)
		o, _, err := c.get(t.Context(), sight{d.store}, frameOf(q, d.now.Unix()), members)
		if err != nil || len(o.Bands) != 2 {
			t.Errorf("%d bands (%v)", len(o.Bands), err)
			return nil
		}
		return &o.Bands[0]
	}
	var wait sync.WaitGroup
	first := look("")
	for range 8 {
		wait.Go(func() {
			if look("") != first {
				t.Error("drawn again")
			}
		})
	}
	wait.Wait()
	if look("span=3600") == first {
		t.Error("another frame is the same drawing")
	}
	c.turn <- struct{}{} // somebody is at it
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, _, err := c.get(ctx, sight{d.store}, frameOf(nil, d.now.Unix()), members); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting in vain: %v", err)
	}
}
